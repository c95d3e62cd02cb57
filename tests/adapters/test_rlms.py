"""A recursive language model of the library's own, over our environment and a server that plays the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

rlm = pytest.importorskip("rlm", reason="rlms is not installed")

from safeexec.adapters.rlms import SafeEnv  # noqa: E402
from tests.alone import answering  # noqa: E402

BLOCKS = [
    "print(len(context)); r = llm_query('hello')\nprint(r)",
    "import subprocess",
    "answer['content'] = str(context.count('a')); answer['ready'] = True",
]


@pytest.fixture
def server() -> Iterator[str]:
    replies = iter([f"```repl\n{block}\n```" for block in BLOCKS])

    class Model(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"][-1]["content"]
            text = "a sub answer" if asked == "hello" else next(replies)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
            data = json.dumps({**answer, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with answering(HTTPServer(("127.0.0.1", 0), Model)) as place:
        yield f"http://{place}/v1"


def test_a_long_context_is_read_and_the_answer_is_found(server: str) -> None:
    model = {"model_name": "m", "api_key": "k", "base_url": server}
    reader = rlm.RLM(backend="openai", backend_kwargs=model, persistent=True)
    with SafeEnv("standard") as environment:
        environment.attach(reader)
        assert reader.completion("banana" * 1000).response == "3000"
        assert environment.execute_code("print(r, context_0 == context)").stdout == "a sub answer True\n"


def test_blocks_tools_and_answers() -> None:
    with SafeEnv("standard", custom_tools={"twice": lambda x: 2 * x, "limit": 7}) as environment:
        environment.load_context({"rows": [1, 2]})
        done = environment.execute_code("print(twice(limit), context['rows'])")
        assert (done.stdout, done.final_answer) == ("14 [1, 2]\n", None)
        assert "refused" in environment.execute_code("import subprocess").stderr
        assert environment.execute_code("llm_query('x')").locals["limit"] == "7"
        assert environment.execute_code("answer = {'content': 5, 'ready': True}").final_answer == "5"
        assert environment.execute_code("answer").final_answer is None


def test_names_of_its_own_and_a_model_that_would_close_it() -> None:
    with pytest.raises(ValueError, match="reserved"):
        SafeEnv("standard", custom_tools={"llm_query": len})
    with SafeEnv("standard") as environment, pytest.raises(ValueError, match="persistent=True"):
        environment.attach(rlm.RLM(backend="openai", backend_kwargs={"model_name": "m", "api_key": "k"}))
