"""A sandbox of a server is used like one here, over a pipe and over HTTP: the same names, results and exceptions."""

from __future__ import annotations

import ast
import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec import (
    Allow,
    AsyncSandbox,
    CheckpointError,
    Display,
    PolicyError,
    RecordingError,
    Result,
    Sandbox,
    SandboxError,
    SessionBusy,
    SessionClosed,
    StepFailed,
    WorkspaceError,
    async_connect,
    connect,
)
from safeexec.api import aio, blocking
from safeexec.remote.connect import AsyncRemoteSandbox, RemoteSandbox
from safeexec.remote.methods import MAX_FILE, MAX_MESSAGE
from safeexec.remote.sandbox import RemoteSandboxCore
from safeexec.remote.session import RemoteSessionCore
from tests.footprint import until
from tests.remote.commands import WAYS, is_busy, served
from tests.servers.serving import needs_server

ENDLESS = "while True: pass"
PICTURE = """
class Picture:
    def _repr_mimebundle_(self, **_):
        return {"image/png": b"\\x89PNG\\r\\n\\x1a\\n" + bytes(range(256)), "text/html": "<b>é</b>"}
display(Picture())
"""
Address = dict[str, Any]


@pytest.fixture(scope="module", params=WAYS)
def address(request: pytest.FixtureRequest) -> Iterator[Address]:
    """How the server of the module is reached."""
    with served(request.param, "confined-python") as address:
        yield address


@pytest.fixture(scope="module")
def there(address: Address) -> Iterator[Sandbox]:
    with connect(**address) as sandbox:
        yield sandbox


@pytest.mark.parametrize(("api", "there"), [("Sandbox", RemoteSandboxCore), ("Session", RemoteSessionCore)])
def test_the_cores_have_all_that_the_apis_use(api: str, there: type) -> None:
    """By the same names, and taking what they are given."""
    for module in (blocking, aio):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ClassDef) and node.name.removeprefix("Async") == api:
                for call in (found for found in ast.walk(node) if isinstance(found, ast.Call)):
                    *core, name = ast.unparse(call.func).split(".")
                    if core[:2] == ["self", "_core"]:
                        assert all(isinstance(getattr(there, part), property) for part in core[2:])
                        given = {one.arg: None for one in call.keywords if one.arg is not None}
                        inspect.signature(getattr(there, name)).bind(None, *call.args, **given)


def test_it_is_a_sandbox(there: Sandbox) -> None:
    assert isinstance(there, Sandbox) and there.policy.name == "confined-python"
    assert any(row.active for row in there.protection)
    result = there.run("import sys; print(input(), sys.argv[1]); (1, {2: b'x'}, {3})", stdin=["a"], argv=["p", "q"])
    assert isinstance(result, Result) and result.check() is result
    assert (result.stdout, result.value) == ("a q\n", (1, {2: b"x"}, {3}))
    assert [result.value for result in there.map(["1", {"source": "input()", "stdin": b"two"}])] == [1, "two"]
    assert sorted(number for number, _ in there.map_as_completed(["1", "2", "3"])) == [0, 1, 2]
    assert there.check("def").error is not None
    assert there.run("a + b", namespace={"a": (1,), "b": (2,)}).value == (1, 2)
    assert repr(there) == "<RemoteSandbox 'confined-python', open>"
    assert "confined-python" in there.card() and there.max_sessions is None
    for kind in (RemoteSandbox, AsyncRemoteSandbox):
        assert "Connect to the server" in (inspect.getdoc(kind.open) or "")


def test_a_tool_of_the_server_waits_for_its_client() -> None:
    """That the policy holds for an approval."""
    files = {
        "shop.yaml": "extends: standard\ntools: {approval: [pay]}\n",
        "shop.py": "def pay(amount: int, to: bytes = b'') -> bytes: return to\n",
    }
    with (
        served("pipe", "shop.yaml", "--tools", "shop:pay", files=files) as address,
        connect(**address) as there,
        there.session(label="user-7") as session,
    ):
        assert session.run("pay(3)").outcome == "waiting"
        (waits,) = there.waiting()
        assert (waits.tool, waits.arguments, waits.label) == ("pay", {"amount": 3}, "user-7") and waits.session
        assert session.answer(Allow(arguments={"to": b"Eve"})).value == b"Eve"


def test_half_of_a_character_costs_its_own_call_and_not_the_connection(there: Sandbox) -> None:
    """No JSON carries it; what it comes to is what it comes to here."""
    with there.session() as session:
        session.run("x = 1")
        result = session.run("'\ud800'")
        assert result.outcome == "error" and result.error is not None and result.error.type == "UnicodeEncodeError"
        for what, call in {
            "stdin": lambda: session.run("1", stdin="\ud800"),
            r"argv\[0\]": lambda: session.run("1", argv=["\ud800"]),
            "the call": lambda: there.session(label="\ud800"),
            "": lambda: session.checkpoint("\ud800"),
        }.items():
            with pytest.raises(ValueError, match=f"^{what}.*half of a character"):
                call()
        with pytest.raises(SandboxError, match="the most that is sent"):
            session.run("#" + "x" * MAX_MESSAGE)
        assert session.get("x") == 1
    assert there.check("'\ud800'").outcome == "error"
    assert [result.outcome for result in there.map(["1", "'\ud800'", "2"])] == ["ok", "error", "ok"]
    assert there.run("chr(0xd800)").value == "\ud800"


def test_a_command_is_a_list() -> None:
    with pytest.raises(TypeError, match=r"command=\['safeexec', 'serve', '--stdio'\]"):
        connect(command="safeexec serve --stdio")


@needs_server
def test_the_token_may_be_the_password_in_the_address(address: Address) -> None:
    if "url" in address:
        address = address["url"].replace("//", f"//any:{address['token']}@")
        with connect(address) as sandbox:
            assert sandbox.run("1").value == 1


def test_a_session_keeps_its_state_and_goes_back(there: Sandbox, tmp_path: Path) -> None:
    with there.session(checkpoints="idle", memory_mb=512, namespace={"z": {1}}) as session:
        assert session.run("z.pop()", namespace={"q": 1}, wait=5.0).value == 1
        assert repr(session) == "<Session of 'confined-python', over a connection>"
        with pytest.raises(SandboxError, match="only the server knows"):
            session.untold_cpu
        for name in ("z", "q"):
            del session.namespace[name]
        assert "".join(session.stream("print('a')\nprint('b')")) == "a\nb\n"  # in one piece or two
        assert session.policy.limits.memory_mb == 512
        assert session.run("x = 1").changes.created == ("x",)
        session.namespace["y"] = {"k": (1, 2.5, b"z")}
        assert session.get("y") == {"k": (1, 2.5, b"z")} and session.get("none", 7) == 7
        assert [row.name for row in session.variables()] == ["x", "y"] and list(session.namespace) == ["x", "y"]
        session.checkpoint("here")
        assert "here" in [row.name for row in session.checkpoints()]
        del session.namespace["y"]
        session.run("x = 2")
        assert session.rollback("here") == []
        left, right = session.branch(2, checkpoints="off")
        assert left.run("x, y['k'][0]").value == (1, 1) and right.get("x") == 1
        with pytest.raises(CheckpointError):
            left.rollback()
        assert {row.name for row in session.protection if row.active} >= {"seccomp"}
        left.close()
        right.close()
        assert session.save(tmp_path / "state") == {}
        session.drop("here")
        assert "confined-python" in session.card()
    with there.restore(tmp_path / "state") as again:
        assert again.get("x") == 1


def test_files_and_displays_are_bytes_and_one_that_changes_is_told_as_such(there: Sandbox) -> None:
    with there.session() as session:
        session.write_file("in.bin", bytes(range(256)))
        assert session.run("data = open('in.bin', 'rb').read(); data").value == bytes(range(256))
        assert session.read_file("in.bin") == bytes(range(256))
        assert session.list_files() == ["in.bin"] and session.workspace is None
        seen: list[Display] = []
        (display,) = session.run(PICTURE, on_display=seen.append).displays
        assert display.png == b"\x89PNG\r\n\x1a\n" + bytes(range(256)) and display.html == "<b>é</b>"
        assert [dict(shown) for shown in seen] == [dict(display)]
    with there.session() as session:
        source = "handle = display('one', display_id='d')\nhandle.update('two')"
        seen: list[Display] = []
        result = session.run(source, on_display=seen.append)
        assert [(shown.display_id, shown.update) for shown in seen] == [("d", False), ("d", True)], result
        assert [(shown.display_id, shown.update) for shown in result.displays] == [
            (shown.display_id, shown.update) for shown in displays_here(source)
        ]
        seen.clear()
        result = session.run("display(1)\ndisplay(2, clear=True)", on_display=seen.append)
        assert [dict(shown) for shown in seen] == [{"text/plain": "1"}, {}, {"text/plain": "2"}]
        assert [shown["text/plain"] for shown in result.displays] == ["2"]


def displays_here(source: str) -> tuple[Display, ...]:
    with Sandbox("confined-python", spare=0) as sandbox:
        return sandbox.run(source).displays


def test_output_is_heard_in_the_callers_thread_and_what_a_listener_raises_stops_the_step(there: Sandbox) -> None:
    heard: list[tuple[str, str, int]] = []

    def hear(stream: str) -> Callable[[str], None]:
        return lambda text: heard.append((stream, text, threading.get_ident()))

    source = "import sys\nprint('a')\nprint('b', file=sys.stderr)"
    with there.session() as session:
        session.run(source, on_stdout=hear("out"), on_stderr=hear("err"), on_output=hear("both"))
    me = threading.get_ident()
    assert sorted(heard) == [("both", "a\n", me), ("both", "b\n", me), ("err", "b\n", me), ("out", "a\n", me)]

    def fails(_: str) -> None:
        raise LookupError("enough")

    with there.session() as session:
        with pytest.raises(LookupError, match="enough"):
            session.run(f"x = 1\nprint('now')\n{ENDLESS}", timeout=100, on_output=fails)
        assert session.get("x") is None


def test_misuse_raises_the_same_classes(there: Sandbox) -> None:
    with there.session() as session:
        for error, wrong in (
            (PolicyError, lambda: session.run("1", timeout=-1)),
            (PolicyError, lambda: there.session(memory_mb=1 << 19)),
            (CheckpointError, lambda: session.rollback("nothing")),
            (CheckpointError, lambda: session.drop("nothing")),
            (WorkspaceError, lambda: session.read_file("../x")),
            (WorkspaceError, lambda: session.read_file("in.bin", max_bytes=1)),
            (KeyError, lambda: session.namespace.pop("nothing")),
            (ValueError, lambda: session.set("no name", 1)),
            (TypeError, lambda: session.set("x", object())),
            (TypeError, lambda: session.run(b"1")),  # type: ignore[arg-type]
            (ValueError, lambda: session.branch(0)),
            (StepFailed, lambda: session.run("1 / 0").check()),
            (SandboxError, lambda: session.command(["ls"])),
            (CheckpointError, lambda: there.session(template="t")),
            (SandboxError, lambda: there.session(files={"a": b"1"})),  # type: ignore[call-arg]
            (SandboxError, lambda: there.session_for("ada")),
            (SandboxError, there.stored),
            (SandboxError, lambda: there.forget("ada")),
            (RecordingError, lambda: there.restore("state", record=True)),
            (TypeError, lambda: session.run("1", argv="p")),
            (SandboxError, lambda: session.write_file("x", bytes(MAX_FILE + 1))),
        ):
            with pytest.raises(error) as raised:
                wrong()  # type: ignore[no-untyped-call]
            assert type(raised.value) in (error, PolicyError)
        assert session.run("1 + 1").value == 2
    for late in (lambda: session.run("1"), lambda: session.get("x"), lambda: session.read_file("x")):
        with pytest.raises(SessionClosed):
            late()
    session.close()


def test_sessions_are_counted_over_a_pipe(there: Sandbox, address: Address) -> None:
    if "url" in address:
        with pytest.raises(SandboxError, match="over a pipe alone"):
            there.stats()
        return
    with there.session(label="ada"), there.session():
        counted = there.stats()
        assert {label: row.open for label, row in counted.by_label.items()} == {"ada": 1, None: 1}
        assert counted.idle == counted.open == 2


def test_two_sessions_run_side_by_side_and_one_is_cancelled(there: Sandbox) -> None:
    with there.session() as first, there.session() as second:
        results: list[Result] = []
        runs = [
            threading.Thread(target=lambda at=at: results.append(at.run(ENDLESS, timeout=100, wait=60)))  # type: ignore[misc]
            for at in (first, second)
        ]
        for run in runs:
            run.start()
        until(lambda: is_busy(first) and is_busy(second))
        for at in (first, second):
            until(at.cancel)
        for run in runs:
            run.join()
        assert [result.outcome for result in results] == ["cancelled", "cancelled"]
        assert first.run("1").value == second.run("1").value == 1


async def test_on_an_event_loop(address: Address) -> None:
    async with async_connect(**address) as sandbox:
        assert isinstance(sandbox, AsyncSandbox)
        assert (await sandbox.run("input()", stdin="a")).value == "a"
        async with sandbox.session() as session:
            await session.set("x", b"1")
            begun = asyncio.Event()
            program = f"x = 2\nprint('begun')\n{ENDLESS}"
            endless = asyncio.create_task(session.run(program, timeout=100, on_output=lambda _: begun.set()))
            await begun.wait()
            with pytest.raises(SessionBusy):
                await session.write_file("x", b"")
            endless.cancel()
            with pytest.raises(asyncio.CancelledError):
                await endless
            assert await session.get("x") == b"1"
            stream = session.stream("print('a')\nprint('b')\nx")
            assert "".join([text async for text in stream]) == "a\nb\n" and stream.result.value == b"1"
            async for _ in session.stream(f"print('a')\n{ENDLESS}", timeout=100):
                break
            (branch,) = await session.branch()
            assert await branch.get("x") == b"1"
        assert [result.value async for result in sandbox.map(["1", "2"])] == [1, 2]
        with pytest.raises(SandboxError, match="plugin"):
            await sandbox.plugin("x = 1")
        assert sandbox.policy.name == "confined-python"
        assert repr(sandbox) == "<AsyncRemoteSandbox 'confined-python', open>"
    again = await async_connect(**address)
    assert (await again.run("1")).ok
    await again.close()


def test_a_policy_is_asked_for_by_its_name_and_what_was_closed_opens_again(address: Address) -> None:
    with connect(**address, policy="calculator") as sandbox:
        assert sandbox.policy.name == "calculator" and sandbox.run("import os").outcome == "rejected"
        with pytest.raises(WorkspaceError):
            sandbox.session().write_file("x", b"")
    with pytest.raises(PolicyError, match="no policy is called 'nope' here"):
        connect(**address, policy="nope")
    sandbox = connect(**address)
    session = sandbox.session()
    sandbox.close()
    sandbox.close()
    with pytest.raises(SandboxError):
        sandbox.run("1")
    with pytest.raises(SandboxError):
        session.run("1")
    session.close()
    assert sandbox.reopen().run("1").value == 1
    sandbox.close()


def test_a_query_gives_a_table(address: Address) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pandas")
    with connect(**address, policy="data-analysis") as sandbox, sandbox.session() as session:
        assert session.sql("select 40 + 2 as answer", name="table").ok
        moved: list[tuple[str, float, float | None]] = []
        result = session.run("int(table.answer[0])", on_progress=lambda *seen: moved.append(seen))
        assert result.value == 42 and moved == []
