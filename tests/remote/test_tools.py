"""Host tools of a client: guest code at a server calls them over the connection, and they are checked and run here."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec import (
    Allow,
    Deny,
    Later,
    Policy,
    ProtocolError,
    Sandbox,
    SandboxClosed,
    StepWaiting,
    ToolError,
    async_connect,
    connect,
    tool,
)
from safeexec.protocol.arguments import encode_arguments
from safeexec.remote import calls, container
from safeexec.results.jsonable import to_base64
from tests.recordings.test_waits import Desk
from tests.remote.commands import WAYS, command, served
from tests.remote.test_container import ENGINE, REAL
from tests.remote.test_servers import RESULT, liar

NOW = "2040-01-01T00:00:00Z"
MAIN = threading.main_thread()


def price(item: str, count: int = 1) -> float:
    """The price of some of an item."""
    if item == "gold":
        raise LookupError("no gold here")
    assert threading.current_thread() is MAIN
    return 2.5 * count


def echo(*values: Any, **named: Any) -> Any:
    return [list(values), named]


def order(item: str) -> str:
    return f"ordered {item}"


async def later(number: int) -> int:
    await asyncio.sleep(0.01)
    return number + 1


ASKED: list[Any] = []


def approval(name: str, arguments: dict[str, Any]) -> Any:
    ASKED.append((name, arguments))
    if arguments["item"] == "bombs":
        return Deny("nobody may have those")
    return Allow({"item": "tea"}) if arguments["item"] == "coffee" else True


TOOLS = [price, echo, order, later]
POLICY = "extends: calculator\ntools: {approval: [order], max_calls: 5}"


@pytest.fixture(scope="module", params=[*WAYS, "container"])
def there(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    given: dict[str, Any] = {"tools": TOOLS, "approval": approval}
    if request.param != "container":
        with (
            served(request.param, "asking.yaml", files={"asking.yaml": POLICY}) as address,
            connect(**address, **given) as sandbox,
        ):
            yield sandbox
    else:
        with pytest.MonkeyPatch.context() as patch:
            if not REAL:
                patch.setenv("SAFEEXEC_ENGINE", ENGINE)
                patch.setenv("PYTHONPATH", ":".join(sys.path))
            policy = Policy.from_yaml(POLICY, name="asking")
            with Sandbox(policy, engine="container", **given) as sandbox:
                yield sandbox
            while container._started:
                container._started.pop().close()


def test_a_step_calls_tools_of_the_client(there: Sandbox) -> None:
    with there.session() as session:
        result = session.run("price('tea', count=4) + price(item='milk')")
        assert result.value == 12.5
        assert [(call.tool, call.outcome, call.step) for call in result.tool_calls] == [("price", "ok", 1)] * 2
        held = {"a": (1, 2), 3: {4, 5}, "b": b"\x00\xff"}
        assert session.run(f"echo({held!r}, None, key=1.5)").value == [[held, None], {"key": 1.5}]
        assert session.run("later(41)").value == 42
        assert session.run("price.__doc__").value == "The price of some of an item."
        session.checkpoint("after")
        session.run("later(1)").check()
        assert [call.tool for call in session.rollback("after")] == ["later"]
        assert "price(item: str, count: int = 1) -> float" in session.card()


def test_what_goes_wrong_in_a_call_is_told_as_here(there: Sandbox) -> None:
    with Sandbox(there.policy, tools=TOOLS, approval=approval) as sandbox:
        for source in (
            "price('gold')",
            "price('tea', 'many')",
            "price()",
            "price(price)",
            "echo(object())",
            "for _ in range(9): echo()",
            "order('bombs')",
            "try: price('gold')\nexcept LookupError as error: print(error)",
        ):
            mine, theirs = sandbox.run(source), there.run(source)
            assert (theirs.outcome, theirs.stdout) == (mine.outcome, mine.stdout)
            assert [(call.tool, call.outcome, call.message) for call in theirs.tool_calls] == [
                (call.tool, call.outcome, call.message) for call in mine.tool_calls
            ]
            if mine.error is not None and theirs.error is not None:
                assert (theirs.error.type, theirs.error.message) == (mine.error.type, mine.error.message)


def test_approvals_are_asked_where_the_tools_are_and_output_is_heard_around_calls(there: Sandbox) -> None:
    ASKED.clear()
    assert there.run("[order('milk'), order('coffee')]").value == ["ordered milk", "ordered tea"]
    assert ASKED == [("order", {"item": "milk"}), ("order", {"item": "coffee"})]
    denied = there.run("order('bombs')")
    assert denied.error is not None and "nobody may have those" in denied.error.message
    heard: list[str] = []
    with there.session() as session:
        session.run("print('a')\nprice('tea')\nprint('b')", on_output=heard.append).check()
    assert "".join(heard) == "a\nb\n"


def test_branches_and_restored_sessions_have_the_tools(there: Sandbox, tmp_path: Path) -> None:
    with there.session() as session:
        session.run("x = price('tea')").check()
        (branch,) = session.branch(1)
        with branch:
            assert branch.run("price('tea') + x").value == 5
        session.save(tmp_path / "state")
    with there.restore(tmp_path / "state") as again:
        assert again.run("price('tea') + x").value == 5


def test_an_interrupt_in_a_tool_stops_the_step(there: Sandbox) -> None:
    def interrupted(name: str, arguments: dict[str, Any]) -> Any:
        raise KeyboardInterrupt

    toolbox = there._core.toolbox
    with there.session() as session:
        session.run("x = 1").check()
        toolbox.approval = interrupted
        try:
            with pytest.raises(KeyboardInterrupt):
                session.run("x = 2\norder('milk')\nwhile True: pass", timeout=60)
        finally:
            toolbox.approval = approval
        assert session.get("x") == 1


async def test_on_an_event_loop() -> None:
    async def hold(seconds: float) -> None:
        waiting.set()
        await asyncio.sleep(seconds)

    waiting = asyncio.Event()
    reached = async_connect(command=command("calculator"), tools=[later, hold])
    async with reached as sandbox, sandbox.session() as session:
        assert (await session.run("sum(later(n) for n in range(4))")).value == 10
        step = asyncio.create_task(session.run("x = 5\nhold(3600)"))
        await waiting.wait()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert await session.get("x", "none") == "none"


def test_tools_that_cannot_be_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    path.write_text("extends: standard\ntools: {allow: none}")
    with pytest.raises(ToolError, match="does not allow the tool 'price'"):
        connect(command=command(str(path)), tools=[price])
    with pytest.raises(ToolError, match="follows the steps"):
        connect(command=command("calculator"), tools=[tool(effect="deferred")(order)])
    with pytest.raises(ToolError, match="follows the steps"):
        Sandbox("standard", tools=[tool(effect="deferred")(order)], engine="container").open()


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_of_a_client_is_put_off(way: str) -> None:
    desk = Desk()
    desk.said = Later("ask Ann", seconds=60)
    files = {"paying.yaml": "extends: standard\ntools: {approval: [pay]}"}
    with (
        served(way, "paying.yaml", files=files) as address,
        connect(**address, tools=[desk.pay, desk.book], approval=desk.approval) as there,
        there.session() as session,
    ):
        result = session.run("print('pays')\npaid = pay(2, b'\\xff')\npaid")
        waits = result.waiting_for
        assert (result.outcome, desk.done) == ("waiting", []) and waits is not None
        assert (waits.tool, waits.asked, waits.note) == ("pay", "approval", "ask Ann")
        assert 0 < (waits.until - waits.since).total_seconds() < 61
        assert session.waiting_for is not None and session.waiting_for.until == waits.until
        with pytest.raises(StepWaiting, match="session waits"):
            session.run("1")
        heard: list[str] = []
        assert session.answer(Allow({"to": b"Eve"}), on_output=heard.append).value == "2 to b'Eve'"
        assert heard == ["pays\n"]
        assert session.run("pay(3) + pay(4)").outcome == "waiting"
        result = session.answer(True)  # to the first; the second waits for itself
        assert (result.outcome, desk.done) == ("waiting", [("pay", 2, b"Eve"), ("pay", 3, "shop")])
        assert session.answer(True).value == "3 to shop4 to shop"
        session.run("pay(5)")
        denied = session.answer(Deny("too much")).error
        assert denied is not None and (denied.type, denied.message) == ("PermissionError", "pay(): too much")
        waits = session.run("room = book('Monday')\nroom").waiting_for
        assert waits is not None and (waits.asked, waits.note) == ("tool", "no rooms on Monday yet")
        assert session.answer("room 7").value == "room 7"
        session.run("book('Tuesday')")
        assert session.answer(Allow()).outcome == "waiting", "it was called again, and has put itself off again"
        assert session.cancel_waiting() == there.waiting() == []
        with pytest.raises(StepWaiting, match="no step"):
            session.answer(True)
        refused = there.run("pay(6)")
        assert refused.error is not None and "cannot wait here" in refused.error.message
        assert [one.outcome for one in refused.tool_calls] == ["refused"]
        assert desk.done[2:] == [("pay", 4, "shop")]


def test_an_answer_counts_for_no_other_call() -> None:
    policy = Policy.load("standard").replace(tools={"approval": ["pay"]})
    waits = {"tool": "pay", "arguments": {"amount": 1}, "asked": "approval", "since": NOW, "until": NOW}
    pays = call(tool="pay", arguments=to_base64(encode_arguments((1000,), {}, max_bytes=99, max_depth=9).data))
    pays["params"]["allowed"] = True
    desk = Desk()
    desk.said = Deny("no")
    answers = {"session_waiting_for": [{"result": {"waiting_for": waits}}]}
    lies = liar(policy, **answers, session_answer=[pays, {"result": RESULT}])
    with connect(command=lies, tools=[desk.pay], approval=desk.approval) as sandbox:
        sandbox.session().answer(Allow())
    assert desk.done == []


def call(**told: Any) -> dict[str, Any]:
    asked = {"call": 1, "tool": "price", "step": 1, "arguments": "kpGjdGVhgA==", "seconds": None, "session": "S"}
    return {"method": "session.tool", "params": {**asked, **told}}


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"tool": "__import__"}, "which this step cannot make"),
        ({"arguments": "%%"}, "shape"),
        ({"seconds": "long"}, "shape"),
        ({"arguments": "A" * 5000}, "more than limits.value_kb"),
    ],
)
def test_a_server_that_lies_calls_nothing(told: dict[str, Any], error: str) -> None:
    policy = Policy.load("standard").replace(value_kb=1)
    called: list[str] = []

    def price(item: str) -> None:
        called.append(item)

    with connect(command=liar(policy, session_run=[call(**told), {"result": RESULT}]), tools=[price]) as sandbox:
        session = sandbox.session()
        with pytest.raises(ProtocolError, match=error):
            session.run("1")
    assert not called


@pytest.mark.parametrize("told", ["tool", "output"])
def test_a_server_that_never_stops_talking_is_given_up(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy.load("standard")
    called: list[str] = []

    def price(item: str) -> None:
        called.append(item)

    event = call()
    if told == "output":
        event = {"method": "session.output", "params": {"text": "x", "stream": "stdout", "session": "S"}}
    with connect(command=liar(policy, session_run=event), tools=[price]) as sandbox:
        session = sandbox.session()
        monkeypatch.setattr(calls, "PATIENCE_SECONDS", 1.0 - policy.limits.max_wall_seconds)
        with pytest.raises((SandboxClosed, ProtocolError)):
            session.run("1")
    assert len(called) <= policy.tools.max_calls
