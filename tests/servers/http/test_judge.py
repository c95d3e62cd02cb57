"""The judge, as reward clients call it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.alone import ran
from tests.servers.serving import Server, clients, needs_server, serving

pytestmark = needs_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--policy", "confined-python") as server:
        yield server


@pytest.fixture
def judge(server: Server) -> Iterator[Any]:
    with server.client() as client:

        def call(path: str, **body: Any) -> Any:
            answer = client.post(path, json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

        yield call


PROGRAMS: dict[str, tuple[dict[str, Any], str, str, int | None, str]] = {
    "output": ({"code": "print('a'); 5"}, "Success", "Finished", 0, "a\n"),
    "input()": ({"code": "print(input())", "stdin": "1\n2\n"}, "Success", "Finished", 0, "1\n"),
    "sys.stdin": ({"code": "import sys; print(sys.stdin.read())", "stdin": "1\n2"}, "Success", "Finished", 0, "1\n2\n"),
    "exit 0": ({"code": "import sys; print('x'); sys.exit(0)"}, "Success", "Finished", 0, "x\n"),
    "exit 3": ({"code": "import sys; print('x'); sys.exit(3)"}, "Failed", "Finished", 3, "x\n"),
    "an exception": ({"code": "print('x'); 1/0"}, "Failed", "Finished", 1, "x\n"),
    "no input": ({"code": "input()"}, "Failed", "Finished", 1, ""),
    "a syntax error": ({"code": "def f(:"}, "Failed", "Finished", 1, ""),
    "a timeout": ({"code": "while True: pass", "run_timeout": 0.3}, "Failed", "TimeLimitExceeded", None, ""),
    "too much memory": ({"code": "x = 'x' * (900 << 20)", "memory_limit_MB": 100}, "Failed", "Finished", 1, ""),
    "an end at once": ({"code": "import os; os._exit(3)"}, "Failed", "Finished", 3, ""),
    "a crash": ({"code": "import os; os.abort()"}, "Failed", "Finished", 1, ""),
    "it is the main program": ({"code": "print(__name__)"}, "Success", "Finished", 0, "__main__\n"),
    "lone surrogates": ({"code": "print('\\ud800')"}, "Failed", "Finished", 1, ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(judge: Any, name: str) -> None:
    body, status, ran, code, stdout = PROGRAMS[name]
    told = judge("/run_code", **body)
    result = told["run_result"]
    assert (told["status"], result["status"], result["return_code"], result["stdout"]) == (status, ran, code, stdout)
    assert told.keys() == {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
    assert told["compile_result"] is None
    assert result["execution_time"] >= 0


def test_programs_share_nothing_an_error_has_its_traceback_and_another_language_is_named(judge: Any) -> None:
    judge("/run_code", code="x = 1; open('left', 'w').write('x')")
    told = judge("/run_code", code="import os; print(os.listdir(), 'x' in globals())")
    assert told["run_result"]["stdout"] == "[] False\n"
    told = judge("/run_code", code="def f():\n    return 1 / 0\nf()")["run_result"]["stderr"]
    assert told.startswith("Traceback (most recent call last):")
    assert "ZeroDivisionError: division by zero\nhint: " in told
    assert "SyntaxError" in judge("/run_code", code="def f(:")["run_result"]["stderr"]
    told = judge("/run_code", code="int main() {}", language="cpp")
    assert (told["status"], told["run_result"]) == ("SandboxError", None)
    assert "cpp" in told["message"]


def test_files_go_in_and_out_but_for_those_that_do_not_fit(judge: Any) -> None:
    data = base64.b64encode(b"\x00\xff").decode()
    code = "open('out/b', 'wb').write(open('in/a', 'rb').read() * 2)"
    files = {"in/a": data, "out/empty": None}
    told = judge("/run_code", code=code, files=files, fetch_files=["out/b", "../x", "none"])
    assert told["files"] == {"out/b": base64.b64encode(b"\x00\xff\x00\xff").decode()}
    code = "open('a', 'wb').write(bytes(20 << 20)); open('b', 'w').write('b')"
    told = judge("/run_code", code=code, fetch_files=["a", "./a", "././a", "b"])
    assert told["status"] == "Success" and told["files"].keys() == {"a", "b"}


def test_a_thousand_files_are_fetched_at_most(server: Server) -> None:
    with server.client() as client:
        answer = client.post("/run_code", json={"code": "1", "fetch_files": ["a"] * 1001})
        assert (answer.status_code, answer.json()["type"]) == (422, "InvalidArguments")
        assert "length <= 1000" in answer.json()["message"]


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", "", ".", "a\0b"])
def test_no_file_leaves_the_workspace(server: Server, name: str) -> None:
    with server.client() as client:
        answer = client.post("/run_code", json={"code": "1", "files": {name: "YQ=="}})
        assert (answer.status_code, answer.json()["type"]) == (422, "WorkspaceError")


VERL = """
import json, sys
from importlib.util import find_spec
from types import ModuleType
# The packages above it import torch and ray; the client itself needs requests alone.
for name, path in (("verl", ""), ("verl.utils", "/utils"), ("verl.utils.reward_score", "/utils/reward_score")):
    root = find_spec("verl").submodule_search_locations[0] if name == "verl" else root
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [root + path]
from verl.utils.reward_score.sandbox_fusion import compute_score
url, cases = sys.argv[1], json.loads(sys.stdin.read())
told = []
for completion, tests, timeout in cases:
    score, metadata = compute_score(url, None, 1024, completion, tests, timeout=timeout)
    told.append([score, [row["status"] for row in metadata]])
print(json.dumps(told))
"""
ADDS = {"fn_name": "add", "inputs": ["1\n2", '"a"\n"b"'], "outputs": ["3", "ab"]}
NOTHING = {"inputs": [""], "outputs": [""]}
CASES: list[tuple[str, dict[str, Any], float, float, list[str]]] = [
    ("print(int(input()) * 2)", {"inputs": ["1\n", "2\n"], "outputs": ["2", "5"]}, 5, 0.5, ["success", "wrong_answer"]),
    ("def add(a, b):\n    return a + b", ADDS, 5, 1.0, ["success", "success"]),
    ("while True: pass", NOTHING, 1, 0.0, ["timeout"]),
    ("1/0", NOTHING, 5, 0.0, ["runtime_error"]),
]
"""Each program with its tests, the seconds that it has, its score, and what is said of each test."""


def test_verls_own_client(server: Server, tmp_path: Path) -> None:
    """In the interpreter that `SAFEEXEC_TESTS_CLIENTS` names: verl and E2B's SDKs need libraries that ours exclude."""
    url = f"http://any:{server.token}@127.0.0.1:{server.port}/run_code"
    cases = json.dumps([(f"```python\n{program}\n```", tests, seconds) for program, tests, seconds, _, _ in CASES])
    done = ran([clients(), "-c", VERL, url], input=cases, check=True, cwd=tmp_path)
    assert json.loads(done.stdout.splitlines()[-1]) == [[score, told] for *_, score, told in CASES]
