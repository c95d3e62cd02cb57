"""The MCP server, by the protocol's own client: over HTTP and standard streams, in today's revision and before it."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import json
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

pytest.importorskip("mcp", reason="mcp is not installed (pip install 'safeexec[mcp]')")

import httpx
import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, ElicitResult, ImageContent

from safeexec import Policy
from safeexec.remote.methods import PARSE, REQUEST
from safeexec.servers.mcp import McpServer, RunningStep
from tests.alone import importing, ran
from tests.footprint import gone, pause, until
from tests.servers.pipes import PATIENCE, Pipes
from tests.servers.serving import JSON, STOP_SECONDS, Server, start

POLICY = """
extends: standard
builtins: {add: [open]}
imports: {os: all}
filesystem: {workspace: read-write}
limits: {open_files: 64}
tools: {allow: [price, order, later], approval: [order], timeout_seconds: 5}
"""
TOOLS = '''
def price(item: str) -> int: return len(item)
def order(item: str) -> str: return f"bought {item}"
def sell() -> None: ...

calls = 0

def later() -> str:
    """It puts itself off, every other time."""
    global calls
    calls += 1
    if calls % 2:
        from safeexec import Later
        raise Later("not yet")
    return "now"
'''
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
"""What a client of an earlier revision begins with."""
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
DEADLINE = 180.0
OWN = "a-token-of-my-own"
Call = Callable[..., Awaitable[CallToolResult]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a policy and the host tools that it allows."""
    directory = tmp_path_factory.mktemp("home")
    (directory / "server.yaml").write_text(POLICY)
    (directory / "shop.py").write_text(TOOLS)
    (directory / "token").write_text(f"{OWN}\n")
    return directory


SERVED = ["--policy", "server.yaml", "--tools", "shop:price", "shop:order", "shop:later"]
COMMAND = [sys.executable, "-m", "safeexec", "mcp", *SERVED]


@contextmanager
def started(home: Path) -> Iterator[Server]:
    """A server on a port of its own. What it writes on stderr must be nothing."""
    with (home / "stderr").open("w+") as errors:
        server = start("--http", "--token-file", "token", *SERVED, command="mcp", stderr=errors, cwd=home)
        try:
            yield server
        finally:
            server.process.kill()
            server.process.communicate()
    assert "Traceback" not in (home / "stderr").read_text()


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with started(home) as server:
        yield server


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=DEADLINE) as client:
        yield client


@asynccontextmanager
async def connected(server: Server, mode: str = "auto", **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=DEADLINE) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode, **options) as client,
    ):
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def step(client: Client, code: str, session: str | None = None, **more: Any) -> dict[str, Any]:
    return await told(client, "run_python", code=code, **more, **({} if session is None else {"session_id": session}))


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Why a call is an error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    (text,) = result.content
    assert "Traceback" not in text.text
    return str(text.text)


both = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture(params=["auto", "legacy", "auto, stdio", "legacy, stdio"])
def reached(request: pytest.FixtureRequest, server: Server, home: Path) -> Callable[..., Any]:
    """Connect by either transport, in either revision."""
    mode, _, over_pipes = request.param.partition(", ")
    return partial(stdio, home, mode=mode) if over_pipes else partial(connected, server, mode)


async def endless(client: Client, session: str | None = None) -> tuple[Awaitable[Any], asyncio.Task[CallToolResult]]:
    """A call of a step that sets x to 2 and has no end: what to await for its beginning, and the call."""
    began: asyncio.Future[tuple[float, str | None]] = asyncio.get_running_loop().create_future()

    async def progress(done: float, of: float | None, message: str | None) -> None:
        if not began.done():
            began.set_result((done, message))

    arguments = {"code": "x = 2\nprint('begun')\nwhile True: pass", "timeout": 60}
    arguments |= {} if session is None else {"session_id": session}
    call = client.call_tool("run_python", arguments, progress_callback=progress)
    return began, asyncio.create_task(call)


# What it offers


@both
async def test_tools_are_declared_with_schemas_and_short_descriptions(server: Server, mode: str) -> None:
    async with connected(server, mode) as client:
        assert (client.protocol_version == "2026-07-28") is (mode == "auto")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        names = "run_python list_variables checkpoint rollback branch files answer cancel_waiting close"
        assert list(tools) == names.split()
        for tool in tools.values():
            assert 20 < len(tool.description) <= 2000
        card = tools["run_python"].description
        assert "price(item: str) -> int" in card and "memory" in card
        assert tools["run_python"].input_schema["required"] == ["code"]
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())


async def test_a_long_card_is_cut_to_what_clients_show() -> None:
    many = [eval(f"lambda a{i}: a{i}") for i in range(300)]
    for number, function in enumerate(many):
        function.__name__ = f"tool_{number}"
    policy = Policy.load("standard").replace(tools={"allow": "all"})
    (tool, *_) = await McpServer(policy, many).protocol.list_tools()
    assert 1500 < len(tool.description) <= 2000
    assert "tool_299" in tool.description


@both
async def test_a_step_is_told_as_text_and_as_structure(server: Server, mode: str) -> None:
    async with connected(server, mode) as client:
        result = await client.call_tool("run_python", {"code": "x = {'a': [1, 2.5]}\nprint('hello')\nx"})
        answer = result.structured_content
        assert answer["observation"] == result.content[0].text
        assert "hello" in answer["observation"]
        assert answer["value"] == {"a": [1, 2.5]}
        assert (answer["outcome"], answer["state"], answer["error"]) == ("ok", "kept", None)
        assert answer["changes"] == {"created": ["x"], "changed": [], "deleted": []}
        session = answer["session_id"]
        assert result.content[-1].text == f"session_id: {session}", "some clients show a model the text alone"
        assert len(session) >= 20
        answer = await step(client, "x['b'] = 3\ny = 1\ny / 0", session)
        assert answer["outcome"] == "error"
        assert answer["error"] == answer["error"] | {"type": "ZeroDivisionError", "line": 3, "rule": None}
        assert answer["error"]["hint"] in answer["observation"]
        assert (await step(client, "len(x)", session))["value"] == 2
        answer = await step(client, "import subprocess", session)
        assert answer["outcome"] == "rejected"
        assert answer["error"]["rule"] and answer["error"]["hint"]
        answer = await step(client, "open('note.txt', 'w').write('hi')", session)
        assert answer["files"] == [{"name": "note.txt", "change": "created", "size": 2}]
        answer = await step(client, "x = None\nwhile True: pass", session, timeout=0.2)
        assert (answer["outcome"], answer["state"]) == ("timeout", "restored")
        assert (await step(client, "len(x)", session))["value"] == 2


async def test_programs_read_what_they_are_given_and_a_large_value_does_not_flood_a_model(server: Server) -> None:
    async with connected(server) as client:
        code = "import sys\nsys.stdin.read()"
        for text in ('{"a": 1}', "[1, 2]", "plain"):
            assert (await step(client, code, stdin=text))["value"] == text
        assert (await step(client, "1", None, stdin=None, timeout=None))["value"] == 1
    async with connected(server) as client:
        answer = await step(client, "list(range(100_000))")
        assert isinstance(answer["value"], str) and len(json.dumps(answer)) < 40_000
        assert (await step(client, "list(range(1000))"))["value"] == list(range(1000))
        strange = "range(10 ** 30)", "'\\ud800'", "{'\\ud800': 1}", "float('nan')", "10 ** 5000", "b'x'"
        for code in (*strange, "globals()['\\ud800'] = 1"):
            await step(client, code)


async def test_what_a_step_tells_while_the_client_reads_is_passed_on_though_it_ends_then() -> None:
    told: list[str] = []
    done = CallToolResult(content=[])

    class Context:
        request_context = SimpleNamespace(request=None)

        async def report_progress(self, count: int, message: str) -> None:
            told.append(message)
            if message == "first":
                running.notify("last")
                at_end.set()
                await running.task

    async def work(step: RunningStep) -> CallToolResult:
        step.notify("first")
        await at_end.wait()
        return done

    at_end = asyncio.Event()
    running = RunningStep(work)
    assert await McpServer._attend(cast(McpServer, None), running, cast(Any, Context())) is done
    assert told == ["first", "last"]


@pytest.mark.modules("matplotlib", "tqdm")
async def test_plots_are_images_and_progress_bars_are_progress() -> None:
    arguments = ["-m", "safeexec", "mcp", "--policy", "data-analysis"]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
        at_end = asyncio.Event()

        async def progress(_: float, of: float | None, message: str | None) -> None:
            if message == "load 3 of 3":
                at_end.set()

        code = "from tqdm import tqdm\nfor _ in tqdm('abc', 'load', mininterval=0): pass"
        await client.call_tool("run_python", {"code": code}, progress_callback=progress)
        await at_end.wait()  # the client's library may answer the call before it calls back
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
        text, image, _ = (await client.call_tool("run_python", {"code": code})).content
        assert isinstance(image, ImageContent) and image.mime_type == "image/png"
        assert base64.b64decode(image.data).startswith(b"\x89PNG")
        assert "picture" in text.text


async def test_states_of_a_session(server: Server) -> None:
    async with connected(server) as client:
        session = (await step(client, "x = 1"))["session_id"]

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, {"session_id": session, **arguments})
            assert json.loads(result.content[0].text) == result.structured_content, result
            assert result.structured_content["session_id"] == session
            return dict(result.structured_content)

        await call("checkpoint", name="one")
        await step(client, "x = 2", session)
        await step(client, "x = 3", session)
        await call("rollback")
        assert (await step(client, "x", session))["value"] == 2
        left, right = (await call("branch", n=2))["session_ids"]
        await step(client, "x = 'left'", left)
        assert (await step(client, "x", right))["value"] == 2
        await call("rollback", name="one")
        assert (await step(client, "x", session))["value"] == 1
        (variable,) = (await call("list_variables"))["variables"]
        assert variable == {"name": "x", "type": "int", "shape": "", "size": 28, "text": "1"}
        assert "no checkpoint" in await refused(client, "rollback", session_id=session, name="two")
        assert "name" in await refused(client, "checkpoint", session_id=session, name="")
        for n in (0, 9, 10**30, "x"):
            await refused(client, "branch", session_id=session, n=n)
        await call("close")
        assert "was closed" in await refused(client, "run_python", session_id=session, code="1")
        assert (await step(client, "x", left))["value"] == "left"


async def test_files_and_the_resource(server: Server) -> None:
    async with connected(server) as client:
        session = (await step(client, "pass"))["session_id"]

        files = partial(told, client, "files", session_id=session)
        assert (await files(op="list"))["files"] == []
        await files(op="write", path="some data.csv", content="a,b\n1,é\n")
        await files(op="write", path="raw", content="AP8=", encoding="base64")
        assert (await files(op="list"))["files"] == ["raw", "some data.csv"]
        assert (await step(client, "open('some data.csv').read()", session))["value"] == "a,b\n1,é\n"
        assert (await files(op="read", path="some data.csv"))["content"] == "a,b\n1,é\n"
        assert (await files(op="read", path="raw"))["content"] == "AP8="
        assert (await files(op="read", path="raw"))["encoding"] == "base64"
        for data, encoding in (("\x1b[1mbold\x1b[0m text", "utf-8"), ("\x01" * 100, "base64")):
            await files(op="write", path="controls", content=data)
            assert (await files(op="read", path="controls"))["encoding"] == encoding
        for path in ("../raw", "/etc/passwd", "nothing", "", "a\0b"):
            await refused(client, "files", session_id=session, op="read", path=path)
        await refused(client, "files", session_id=session, op="write", path="../x", content="")
        wrong = {"op": "write", "path": "x", "content": "?", "encoding": "base64"}
        assert "content is not base64" in await refused(client, "files", session_id=session, **wrong)
        await refused(client, "files", session_id=session, op="remove", path="raw")
        assert [str(resource.uri) for resource in (await client.list_resources()).resources] == ["safeexec://policy"]
        (content,) = (await client.read_resource("safeexec://policy")).contents
        assert "Imports: " in content.text and "order(item: str) -> str" in content.text
        await step(client, "open('large', 'wb').write(bytes(5_000_000))", session)
        assert "5000000 bytes" in await refused(client, "files", session_id=session, op="read", path="large")


# While a step runs


async def test_progress_is_told_and_a_cancelled_call_stops_the_step_and_undoes_it(reached: Callable[..., Any]) -> None:
    async with reached() as client:
        session = (await step(client, "x = 1"))["session_id"]
        began, call = await endless(client, session)
        assert await began == (1.0, "begun\n") and not call.done()
        call.cancel()
        await asyncio.wait({call})
        assert (await step(client, "x", session))["value"] == 1


@both
async def test_a_client_that_leaves_stops_its_step(server: Server, mode: str) -> None:
    async with connected(server, mode) as client:
        session = (await step(client, "x = 1"))["session_id"]
        body = {"code": "x = 2\nprint('begun')\nwhile True: pass", "session_id": session, "timeout": 60}
        async with raw_call(server, mode, body) as lines:
            async for line in lines:
                if "notifications/progress" in line:
                    break
        assert (await step(client, "x", session))["value"] == 1


@asynccontextmanager
async def raw_call(server: Server, mode: str, arguments: dict[str, Any]) -> AsyncIterator[AsyncIterator[str]]:
    """A call by plain HTTP: the lines of its answer. The connection is closed at the end, without a word."""
    url, accept = f"{server.url}/mcp", {"Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(headers=accept | {"X-API-Key": server.token}, timeout=DEADLINE) as http:
        headers, meta = {}, {"progressToken": 1}
        if mode == "legacy":
            answer = await http.post(url, json=message("initialize", HELLO))
            headers = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await http.post(url, json=ready, headers=headers)
        else:
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_python"}
            meta |= META
        body = message("tools/call", {"name": "run_python", "arguments": arguments, "_meta": meta})
        async with http.stream("POST", url, json=body, headers=headers) as answer:
            assert answer.status_code == 200
            yield answer.aiter_lines()


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def test_a_client_that_does_not_read_or_floods_holds_up_nobody(server: Server) -> None:
    async with connected(server) as client:
        session = (await step(client, "x = 1"))["session_id"]
        body = {"code": "x = 2\nfor _ in range(2000): print('o' * 100)", "session_id": session}
        async with raw_call(server, "auto", body):
            assert (await step(client, "x", session))["value"] == 2
    async with connected(server) as client:
        calls = [client.call_tool("run_python", {"code": str(number)}) for number in range(100)]
        answers = await asyncio.gather(*calls)
        for number, answer in enumerate(answers):
            if answer.is_error:
                assert "32 at most" in answer.content[0].text
            else:
                assert answer.structured_content["value"] == number
        assert sum(answer.is_error for answer in answers) < 100
        assert (await step(client, "1"))["value"] == 1


async def test_two_clients_on_one_session_take_turns(server: Server) -> None:
    async with connected(server) as client:
        session = (await step(client, "import time\nx = 0"))["session_id"]
        async with connected(server, "legacy") as other:
            code = "y = x\ntime.sleep(0.05)\nx = y + 1\nx"
            answers = await asyncio.gather(*(step(one, code, session) for one in (client, other) * 4))
            assert sorted(answer["value"] for answer in answers) == list(range(1, 9))
            began, running = await endless(other, session)
            waiting = asyncio.create_task(refused(other, "run_python", session_id=session, code="x"))
            await began
            await told(client, "close", session_id=session)
            assert "session was closed" in (await running).content[0].text
            assert "closed" in await waiting


# Approval

YES = {"approval": ElicitResult(action="accept", content={})}


def person(answers: list[str]) -> tuple[list[str], Any]:
    """The questions that a person was asked, and a client's callback by which they give these answers in turn."""
    questions: list[str] = []

    async def callback(_: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action=answers.pop(0), content={})

    return questions, callback


async def test_a_person_is_asked_before_a_tool_is_called(reached: Callable[..., Any]) -> None:
    questions, callback = person(["accept", "decline", "cancel", "accept", "decline", "accept"])
    async with reached(elicitation_callback=callback) as client:
        answer = await step(client, "print('before')\nprice('pear'), order('pear')")
        assert answer["value"] == [4, "bought pear"] and "before" in answer["observation"]
        answer = await step(client, "x = order('fig')", answer["session_id"])
        assert answer["error"]["type"] == "PermissionError"
        answer = await step(client, "try: order('nut')\nexcept PermissionError as e: print(e)", answer["session_id"])
        assert "did not allow it" in answer["observation"]
        code = "got = []\nfor item in 'abc':\n    try: got.append(order(item))\n"
        code += "    except PermissionError: got.append(0)\ngot"
        assert (await step(client, code))["value"] == ["bought a", 0, "bought c"]
    assert len(questions) == 6
    assert all(item in question for item, question in zip(("'pear'", "'fig'", "'nut'"), questions, strict=False))


@both
async def test_a_session_can_be_closed_while_a_person_is_asked(server: Server, mode: str) -> None:
    async def callback(*_: Any) -> ElicitResult:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    asked = asyncio.Event()
    async with connected(server, mode, elicitation_callback=callback) as client:
        session = (await step(client, "pass"))["session_id"]
        call = asyncio.create_task(step(client, "order('pear')", session))
        await asked.wait()
        await told(client, "close", session_id=session)
        call.cancel()
        await asyncio.wait({call})
        assert "was closed" in await refused(client, "run_python", session_id=session, code="1")


async def test_a_step_waits_for_a_person_who_takes_longer_and_goes_on_or_is_given_up(server: Server) -> None:
    arguments: dict[str, Any] = {"code": "x = x + price('fig')\ngot = order('pear')\ngot"}
    questions, callback = person(["accept"])
    async with connected(server, elicitation_callback=callback) as client:
        session = (await step(client, "x = 1"))["session_id"]
        arguments["session_id"] = session
        call = client.session.call_tool
        first = await call("run_python", arguments, allow_input_required=True)
        assert first.request_state
        message = await refused(client, "run_python", code="x", session_id=session)
        assert "step 2 of this session waits: order('pear') waits for an approval" in message
        assert (await told(client, "list_variables", session_id=session))["variables"][0]["text"] == "1"
        late = await call("run_python", arguments, input_responses=YES, request_state=first.request_state)
        assert late.structured_content["value"] == "bought pear", "its session is where it was: the step goes on"
        assert (await step(client, "x", session))["value"] == 4
        again = await call("run_python", arguments, input_responses=YES, request_state=first.request_state)
        assert again.is_error and "no step waits" in again.content[0].text
        with pytest.raises(MCPError, match="requestState"):
            await call("run_python", arguments, request_state="v1.guessed")
        await call("run_python", arguments, allow_input_required=True)
        assert (await told(client, "answer", session_id=session))["value"] == "bought pear"
        await call("run_python", arguments, allow_input_required=True)
        await told(client, "cancel_waiting", session_id=session)
        assert (await step(client, "x", session))["value"] == 7
        assert "no step of this session waits" in await refused(client, "answer", session_id=session)
    assert len(questions) == 1


@pytest.mark.parametrize("way", ["cancel_waiting", "rollback", "answer", "the next question", "another"])
async def test_an_answer_counts_for_the_call_that_was_asked_about_alone(server: Server, way: str) -> None:
    _, callback = person([])
    async with connected(server, elicitation_callback=callback) as client:
        call = client.session.call_tool
        session = (await step(client, "x = 1"))["session_id"]
        of = {"session_id": session}
        twice = {"code": "order('pear'), order('ALL THE GOLD')", **of}
        gold = {"code": "order('ALL THE GOLD')", **of}
        pear = twice if way == "the next question" else {"code": "order('pear')", **of}
        first = await call("run_python", pear, allow_input_required=True)
        if way in ("answer", "the next question"):  # the same call is asked about again, and answered
            again = await call("answer", of, allow_input_required=True)
            given = {"input_responses": YES, "request_state": again.request_state, "allow_input_required": True}
            done = await call("answer", of, **given)
        else:
            await told(client, "cancel_waiting", **of)
        if way == "rollback":
            await told(client, "rollback", **of)
        if way == "another":
            assert (await step(client, "later()", session))["outcome"] == "waiting"
        else:
            second = done if way == "the next question" else await call("run_python", gold, allow_input_required=True)
            assert "ALL THE GOLD" in second.input_requests["approval"].params.message
        late = await call("run_python", pear, input_responses=YES, request_state=first.request_state)
        assert late.is_error and "counts for nothing" in late.content[0].text, late
        if way == "another":
            assert (await told(client, "answer", **of))["value"] == "now"
            return
        asker = ("answer", of) if way == "the next question" else ("run_python", gold)
        right = await call(*asker, input_responses=YES, request_state=second.request_state)
        assert "bought ALL THE GOLD" in str(right.structured_content["value"]), "the new question stands"


@both
async def test_a_client_that_cannot_ask_is_refused_and_a_tool_puts_itself_off(server: Server, mode: str) -> None:
    async with connected(server, mode) as client:
        answer = await step(client, "order('pear')")
        assert answer["error"]["type"] == "PermissionError"
        assert "cannot ask" in answer["error"]["message"]
        answer = await step(client, "print('once more')\nlater()")
        assert (answer["outcome"], answer["state"]) == ("waiting", "restored")
        assert answer["waiting_for"] == {"tool": "later", "asked": "tool", "note": "not yet"}
        assert "not yet" in answer["observation"]
        assert (await told(client, "answer", session_id=answer["session_id"]))["value"] == "now"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("run_python", {"source": "1"}, "run_python has no argument 'source'; its arguments are code, session_id"),
        ("run_python", {"code": "1", "y" * 10_000: 1}, "run_python has no argument 'yyy"),
        ("run_python", {}, "run_python: code: Field required"),
        ("run_python", {"code": "1", "timeout": "soon"}, "run_python: timeout: Input should be a valid number"),
        ("branch", {"n": 100}, "branch: session_id: Field required; n: Input should be less than or equal to 8"),
        ("files", {"session_id": "x", "op": "delete"}, "files: op: Input should be 'list', 'read' or 'write'"),
        ("files", {"session_id": "x", "op": "write", "content": {"a": 1}}, "files: content: Input should be a valid"),
    ],
)
async def test_wrong_arguments_are_one_line(server: Server, tool: str, arguments: dict[str, Any], told: str) -> None:
    async with connected(server) as client:
        message = await refused(client, tool, **arguments)
        assert message.startswith(told) and len(message) < 200 and "pydantic" not in message


# Sessions that come and go


async def test_only_handles_that_were_given_out_are_good(server: Server) -> None:
    async with connected(server) as client:
        session = (await step(client, "x = 1"))["session_id"]
        assert "no session" in await refused(client, "list_variables", session_id="")
        for guess in ("guess", session[:-1], session + "=", session.swapcase(), "../" + session, "\0", "x" * 100_000):
            for tool, more in (("run_python", {"code": "1"}), ("list_variables", {}), ("close", {})):
                told = await refused(client, tool, session_id=guess, **more)
                assert "gave out no such session_id" in told and len(told) < 400


async def test_idle_sessions_and_too_many_of_them_are_closed_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    from safeexec.servers import mcp

    monkeypatch.setattr(mcp, "IDLE_SECONDS", 2.0)
    monkeypatch.setattr(mcp, "MAX_SESSIONS", 3)

    server = mcp.McpServer("calculator")
    await server.open()
    async with Client(server.protocol) as client:
        old = (await step(client, "x = 1"))["session_id"]
        kept = [(await step(client, "1"))["session_id"] for _ in range(3)]
        assert "3 others were used since" in await refused(client, "run_python", session_id=old, code="1")
        assert "3" in await refused(client, "branch", session_id=kept[0], n=4)
        await asyncio.to_thread(until, lambda: not server._sandbox._core.sessions.of_callers())
        for _ in range(2):
            assert "without use" in await refused(client, "run_python", session_id=kept[2], code="1")
    await server.close()


# Invalid input


async def test_a_program_of_ten_megabytes_is_refused_by_the_policy(reached: Callable[..., Any]) -> None:
    async with reached() as client:
        answer = await client.call_tool("run_python", {"code": "x = 1\n" * (10_000_000 // 6)})
        assert "step_source_kb" in answer.content[0].text
        assert (await step(client, "1"))["value"] == 1


def stdio(home: Path, **options: Any) -> Client:
    program, *arguments = COMMAND
    return Client(StdioServerParameters(command=program, args=arguments, cwd=home, env=importing()), **options)


NAMES = st.sampled_from(["run_python", "list_variables", "rollback", "branch", "files", "code", "session_id", "op"])
PARAMS = {
    "name": NAMES | JSON,
    "uri": st.sampled_from(["safeexec://policy", "safeexec://none"]) | JSON,
    "arguments": st.dictionaries(NAMES, JSON) | JSON,
    "requestState": JSON,
    "inputResponses": JSON,
    "_meta": st.just(META) | JSON,
}
BODY = {
    "jsonrpc": st.just("2.0") | JSON,
    "id": st.integers() | st.text() | JSON,
    "method": st.sampled_from(["tools/call", "tools/list", "resources/read", "ping", "x"]) | JSON,
    "params": st.fixed_dictionaries({}, optional=PARAMS) | JSON,
}


@settings(max_examples=60)
@given(
    body=st.fixed_dictionaries({}, optional=BODY) | JSON,
    version=st.sampled_from([None, "2026-07-28", "2025-06-18", "1"]),
)
def test_any_message_is_answered_in_words(server: Server, http: httpx.Client, body: Any, version: str | None) -> None:
    headers = {"X-API-Key": server.token, "Accept": "application/json, text/event-stream"}
    headers |= {"Content-Type": "application/json"} | ({} if version is None else {"MCP-Protocol-Version": version})
    if isinstance(body, dict) and isinstance(body.get("method"), str) and body["method"].isprintable():
        headers["Mcp-Method"] = body["method"].strip()
    try:
        answer = http.post(f"{server.url}/mcp", content=json.dumps(body), headers=headers)
    except (httpx.LocalProtocolError, UnicodeEncodeError):
        return
    assert answer.status_code in (200, 202, 400, 404, 406)
    assert "Traceback" not in answer.text and "safeexec/" not in answer.text


# HTTP


def test_only_the_token_lets_in(server: Server) -> None:
    """What else is none: `http/test_app.py`, of the same code."""

    def status(path: str = "/mcp", **headers: str) -> int:
        given = {"Accept": "application/json, text/event-stream", **headers}
        return httpx.post(f"{server.url}{path}", json=message("ping", {}), headers=given).status_code

    assert server.token == OWN
    for headers in ({}, {"Authorization": OWN}, {"Authorization": f"Bearer {OWN[:-1]}"}):
        assert status(**headers) == status("/", **headers) == status(f"/mcp?token={OWN}", **headers) == 401
    known = {"Authorization": f"bearer {OWN}"}
    assert status(**known) == 400  # let in: no session of the earlier protocol
    assert status("/other", **known) == 404
    assert status(**known, Host="evil.example") == 421
    assert status(**known, Origin="http://evil.example") == 403
    assert psutil.Process(server.process.pid).net_connections()[0].laddr.ip == "127.0.0.1"


@pytest.mark.parametrize(
    ("number", "mode"), [(signal.SIGTERM, "auto"), (signal.SIGTERM, "legacy"), (signal.SIGINT, "auto")]
)
async def test_told_to_end_it_stops_its_steps_and_leaves_nothing(home: Path, number: signal.Signals, mode: str) -> None:
    with started(home) as server:
        async with connected(server, mode) as client:
            began, call = await endless(client)
            await began
            children = psutil.Process(server.process.pid).children(recursive=True)
            server.process.send_signal(number)
            assert "stopped" in (await call).content[0].text
        assert server.process.wait(STOP_SECONDS) == 0
        assert len(children) > 2
        gone(children)
        assert server.process.stdout and server.process.stdout.read() == ""
    assert (home / "stderr").read_text() == ""


def runs(process: psutil.Process) -> bool:
    """Whether it has not ended. Its parent may not have seen that yet."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_sandbox_that_died_is_opened_anew(home: Path) -> None:
    with started(home) as server:
        async with connected(server) as client:
            session = (await step(client, "x = 1"))["session_id"]
            dead = psutil.Process(server.process.pid).children(recursive=True)
            for process in dead:
                with suppress(psutil.NoSuchProcess):  # the zygote is among them, and its children end with it
                    process.kill()
            until(lambda: not any(map(runs, dead)))
            assert "Traceback" not in await refused(client, "run_python", session_id=session, code="x")
            assert (await step(client, "1"))["value"] == 1


# The standard streams


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    """A client that has begun."""
    with Pipes("--policy", "calculator", command=[sys.executable, "-m", "safeexec", "mcp"]) as pipes:
        assert "result" in pipes.call("initialize", **HELLO)
        yield pipes


LIST = json.dumps(message("tools/list", {})).encode() + b"\n"


def fill(pipes: Pipes) -> None:
    """Ask for more answers than there is room for, and take none."""
    pipes.write(LIST * 40)
    poller = select.poll()
    poller.register(pipes.output, select.POLLIN)
    assert poller.poll(PATIENCE * 1000)
    until(lambda: unread(pipes) > 40_000)


def unread(pipes: Pipes) -> int:
    """Bytes in the pipe that the client reads."""
    return int.from_bytes(fcntl.ioctl(pipes.output, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_client_that_writes_and_reads_nothing_is_waited_for(pipes: Pipes) -> None:
    """Its requests stay in the pipe: what is made of them would fill the server."""
    written = pipes.fill(LIST, 5000, most=400_000)
    for _ in range(written // len(LIST)):
        assert "tools" in pipes.read()["result"]


def test_no_answer_stands_inside_of_another(pipes: Pipes) -> None:
    """However slowly they are read: the errors of what is no message come between the others."""
    fill(pipes)
    wrong = json.dumps({"jsonrpc": "2.0", "id": "w" * 900}).encode() + b"\n"
    writer = threading.Thread(target=pipes.write, args=(wrong * 20,))
    writer.start()
    said = b""
    while said.count(b"\n") < 60:
        pause()
        said += os.read(pipes.output.fileno(), 4096)
    writer.join()
    told = [json.loads(line) for line in said.splitlines()]
    assert [sum(part in one for one in told) for part in ("result", "error")] == [40, 20]


def test_who_takes_no_answers_is_not_waited_for_at_the_end(pipes: Pipes) -> None:
    fill(pipes)
    assert pipes.end() == (0, b"")


@pytest.mark.parametrize("deep", [900, 10_000])
def test_a_message_that_is_nested_too_deeply_is_answered(pipes: Pipes, deep: int) -> None:
    """At whichever reader it fails: nobody waits for what was passed by."""
    pipes.write(b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": %s}}\n' % (b"[" * deep + b"]" * deep))
    assert pipes.read()["error"]["code"] == PARSE


def test_a_message_ends_at_the_end_of_its_line_alone(pipes: Pipes) -> None:
    inner = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}'
    pipes.write(b'{"jsonrpc": "2.0", "method": "x", "params": {"a":\r%s\r}}\n' % inner)
    pipes.write(b'{"jsonrpc": "2.0",\r"id": 8, "method": "ping"}\n')
    assert pipes.read() == {"jsonrpc": "2.0", "id": 8, "result": {}}


@pytest.mark.parametrize("how", ["end of input", signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_that_ends_with_steps_running_leaves_no_process(pipes: Pipes, how: Any) -> None:
    def call(tool: str, **arguments: Any) -> Any:
        return pipes.result("tools/call", name=tool, arguments=arguments)["structuredContent"]

    session = call("run_python", code="1")["session_id"]
    for each in (session, *call("branch", session_id=session, n=2)["session_ids"]):
        endless = {"session_id": each, "code": "print('begun')\nwhile True: pass"}
        pipes.send("tools/call", name="run_python", arguments=endless, _meta={"progressToken": 1})
        while "begun" not in str(pipes.read()):
            pass
    family = pipes.family()
    assert len(family) > 4
    if how == "end of input":
        pipes.input.close()
    else:
        pipes.process.send_signal(how)
    status = pipes.process.wait(STOP_SECONDS)
    gone(family)
    assert how == signal.SIGKILL or (status, pipes.errors.read()) == (0, b"")


@pytest.mark.parametrize(
    ("line", "identity", "told"),
    [
        ('{"jsonrpc": "2.0", "id": %s, "method": "ping"}' % ("1" * 8_000_000), None, "`$.id`"),
        ('{"jsonrpc": "2.0", "id": "%s", "method": "ping"}' % ("x" * 2_000), None, "`$.id`"),
        ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, "`$.id`"),
        ('{"jsonrpc": "2.0", "id": 5}', 5, "neither a method"),
        ('{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": [1]}', None, "`$.params`"),
        ('[{"jsonrpc": "2.0", "id": 5, "method": "ping"}]', None, "array"),
        ("no JSON", None, "malformed"),
    ],
)
def test_a_message_that_nobody_can_read_is_answered(
    home: Path, server: Server, http: httpx.Client, line: str, identity: int | None, told: str
) -> None:
    """The same on both ways."""
    done = ran(COMMAND, cwd=home, input=f"{line}\n\n", check=True)
    (answer,) = map(json.loads, done.stdout.splitlines())
    posted = http.post(f"{server.url}/mcp", content=line, headers={"X-API-Key": server.token})
    assert (posted.status_code, posted.json()) == (400, answer)
    assert answer["id"] == identity and told in answer["error"]["message"] and len(done.stdout) < 1_000
    assert answer["error"]["code"] == (PARSE if line == "no JSON" else REQUEST)


def test_standard_output_carries_the_protocol_alone(home: Path) -> None:
    """A host tool that prints, and messages that are none: the client hears only answers."""
    (home / "noisy.py").write_text("print('imported')\ndef price(item): print('called'); return 1\n")
    body = f"no JSON\n\n[]\n{json.dumps(message('tools/list', {}))}\n"
    command = [*COMMAND[:4], "--policy", "server.yaml", "--tools", "noisy:price"]
    done = ran(command, cwd=home, input=body)
    for line in done.stdout.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert done.returncode == 0 and "Traceback" not in done.stderr


# The command


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--policy", "none such"], "none such"),
        (["--tools", "shop"], "a function of a module, as shop:FUNCTION"),
        (["--tools", "no_module_of_this_name:f"], "no_module_of_this_name"),
        (["--policy", "server.yaml", "--tools", "shop:sell"], "does not allow the tool 'sell'"),
        (["--http", "--port", "99999"], "port"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(home: Path, arguments: list[str], told: str) -> None:
    done = ran([sys.executable, "-m", "safeexec", "mcp", *arguments], cwd=home, input="")
    assert done.returncode == 2
    assert told in done.stderr and "Traceback" not in done.stderr
