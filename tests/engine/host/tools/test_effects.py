"""Effects of tools that follow the session: deferred ones, undone ones, those of which nobody knows."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, product
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from safeexec import (
    Allow,
    AsyncSandbox,
    CheckpointError,
    Deny,
    PendingCall,
    Policy,
    Recording,
    Result,
    Sandbox,
    Session,
    StepFailed,
    Timeline,
    ToolError,
    replay,
    tool,
)
from safeexec.engine.host.session.history import History, State
from safeexec.engine.host.session.tool_log import ToolLog
from safeexec.engine.host.tools.effects import follow_effects
from safeexec.engine.host.tools.tool import tools_from
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import Core, drive
from safeexec.engine.recordings import format as form
from safeexec.results import ToolCallRecord
from safeexec.toolkit import limited

Told = list[tuple[Any, ...]]
STANDARD = Policy.load("standard")


@pytest.fixture
def told() -> Told:
    """What the tools really did."""
    return []


@pytest.fixture
def sandbox(told: Told) -> Iterator[Sandbox]:
    @tool(effect="deferred")
    def send(to: str, text: str = "") -> None:
        told.append(("send", to, text))
        if to == "nobody":
            raise ValueError("there is no such person")

    def cancel(seat: str, row: int) -> None:
        told.append(("cancel", seat))
        if row == 13:
            raise OSError("the line is dead")

    @tool
    def plain(row: int) -> int:
        return row + 1

    @tool(undo=cancel)
    def book(row: int) -> str:
        told.append(("book", row))
        if row < 0:
            raise ValueError("no such row")
        return f"seat {row}"

    with Sandbox("standard", tools=[send, book], spare=0) as opened:
        yield opened


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    with sandbox.session() as opened:
        yield opened


def test_a_deferred_call_is_carried_out_when_its_step_has_ended_well(session: Session, told: Told) -> None:
    result = session.run("got = send('Ada', text='hi')\nsend('Eve')\ngot is None")
    assert result.value is True and len(result.tool_calls) == 2
    assert told == [("send", "Ada", "hi"), ("send", "Eve", "")]
    assert session.pending() == [] and result.notes == ()


def test_a_failed_step_leaves_it_pending_and_a_rollback_drops_it(session: Session, told: Told) -> None:
    session.run("x = 1")
    session.run("send('Ada')\n1 / 0")
    (waiting,) = session.pending()
    assert isinstance(waiting, PendingCall)
    assert (waiting.tool, waiting.arguments, waiting.step) == ("send", {"to": "Ada"}, 2)
    session.rollback()
    assert session.pending() == [] and told == []
    session.run("send('Eve')\n1 / 0")
    session.run("x = 2")
    assert told == [("send", "Eve", "")], "a step that ends well keeps what the one before it left"


def test_a_step_that_is_undone_has_no_effect(session: Session, told: Told) -> None:
    assert session.run("send('Ada')\n1 / 0", atomic=True).state == "restored"
    assert session.run("send('Ada')\nbook(1)\nwhile True: pass", timeout=0.3).state == "restored"
    assert session.pending() == []
    assert told == [("book", 1), ("cancel", "seat 1")]


def test_a_wrong_call_is_told_at_once(session: Session, told: Told) -> None:
    for source in ("send()", "send(3)", "send('a', 'b', 'c')"):
        error = session.run(source).error
        assert error is not None and error.type == "TypeError" and "send()" in error.message
    assert told == [] and session.pending() == []


def test_a_failure_is_told_in_the_notes(session: Session, told: Told) -> None:
    result = session.run("send('nobody')\nsend('Ada')")
    assert result.notes == ("send('nobody') failed: ValueError: there is no such person",)
    assert told[-1] == ("send", "Ada", "")


def test_compensations_run_in_reverse_order_and_a_failure_is_told(session: Session, told: Told) -> None:
    session.run("x = 1")
    session.checkpoint("here")
    session.run("book(1)\nbook(13)")
    session.run("try:\n    book(-1)\nexcept ValueError:\n    pass\nbook(2)")
    del told[:]
    left = session.rollback("here")
    assert told == [("cancel", "seat 2"), ("cancel", "seat 13"), ("cancel", "seat 1")]
    assert [call.tool for call in left] == ["book", "book"], "the failed one, and the one that was not undone"
    assert "book(13) could not be undone: OSError: the line is dead" in session.run("x").notes


def test_in_a_branch_deferred_calls_wait_until_it_is_adopted(session: Session, told: Told) -> None:
    session.run("x = 1")
    one, other = session.branch(2)
    one.run("send('one')")
    other.run("send('other')\nbook(5)")
    assert told == [("book", 5)] and [call.arguments["to"] for call in one.pending()] == ["one"]
    assert one.adopt() == []
    assert told[-1] == ("send", "one", "")
    one.run("send('again')")
    assert told[-1] == ("send", "again", ""), "it is no branch any more"
    other.rollback()
    assert told[-1] == ("cancel", "seat 5") and other.pending() == []
    one.close()
    other.close()
    assert ("send", "other", "") not in told


def test_an_approval_sees_all_of_them_at_once(told: Told) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def approve(name: str, arguments: dict[str, Any]) -> bool | Deny:
        asked.append((name, arguments))
        return Deny("not today") if len(asked) == 1 else True

    @tool(effect="deferred")
    def pay(amount: int) -> None:
        told.append(("pay", amount))

    policy = Policy.load("standard").replace(tools={"approval": ["pay"]})
    with Sandbox(policy, tools=[pay], approval=approve, spare=0) as sandbox, sandbox.session() as session:
        result = session.run("pay(1); pay(2)")
        assert asked == [
            ("pending", {"calls": [{"tool": "pay", "arguments": {"amount": n}} for n in (1, 2)]}),
        ]
        assert result.notes == ("2 deferred calls were not approved: not today",) and told == []
        assert session.run("pay(3)").notes == () and told == [("pay", 3)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ValueError("boom"), "the approval raised ValueError: boom"),
        (SystemExit(1), "the approval raised ToolError: the approval of deferred calls: SystemExit: 1"),
        (Allow(arguments={"to": "Eve"}), "the approval edited their arguments, which only one of a single call may"),
        ("yes", "the approval of deferred calls answered an object of type str; it answers"),
    ],
)
def test_whatever_is_no_clear_yes_drops_the_deferred_calls(told: Told, answer: Any, reason: str) -> None:
    @tool(effect="deferred")
    def send(to: str) -> None:
        told.append(to)

    def approve(name: str, arguments: dict[str, Any]) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    policy = STANDARD.replace(tools={"approval": ["send"]})
    with Sandbox(policy, tools=[send], approval=approve, spare=0) as sandbox, sandbox.session() as session:
        result = session.run("x = 1\nsend('Ada')")
        assert result.ok and result.notes[0].startswith(f"1 deferred calls were not approved: {reason}")
        assert session.pending() == [] and told == [] and session.get("x") == 1


def test_who_uses_the_session_from_an_effect_is_refused_and_the_other_effects_go_on(told: Told) -> None:
    def again(*_: Any) -> None:
        session.run("1")

    def cancel(value: str, seat: str) -> None:
        told.append(("cancel", seat))
        if seat == "b":
            again()

    @tool
    def plain(row: int) -> int:
        return row + 1

    @tool(undo=cancel)
    def book(seat: str) -> str:
        return seat

    @tool(effect="deferred")
    def send(to: str) -> None:
        again() if to == "b" else told.append(to)

    with Sandbox("standard", tools=[book, send], spare=0) as sandbox, sandbox.session() as session:
        session.run("x = 0")
        result = session.run("for name in 'abc':\n    book(name); send(name)")
        assert told == ["a", "c"] and result.notes[0].startswith("send('b') failed: SessionBusy")
        assert [call.tool for call in session.rollback()] == ["send", "book", "send", "send"]
        assert told[2:] == [("cancel", "c"), ("cancel", "b"), ("cancel", "a")]
        assert session.run("x").notes[0].startswith("book('b') could not be undone: SessionBusy")


def test_an_undo_has_the_time_of_its_tool(told: Told) -> None:
    go_on = Event()

    @tool(undo=lambda value: go_on.wait(60))
    def book() -> None:
        told.append("book")

    with (
        Sandbox("standard", tools=[limited(book, timeout=0.2)], spare=0) as sandbox,
        sandbox.session(record=True) as session,
    ):
        session.run("book()").check()
        session.rollback()
        go_on.set()
        (note,) = session.run("1").notes
        assert note.startswith("book() could not be undone: nobody knows what became of it")
        assert [effect.undoing for effect in session.history().unknown] == [True]


def test_a_cancelled_rollback_calls_an_undo_once_and_says_that_nobody_knows(told: Told) -> None:
    begun, go_on = Event(), Event()

    def cancel(seat: str, row: int) -> None:
        told.append(("cancel", seat))
        begun.set()
        go_on.wait(60)

    @tool
    def plain(row: int) -> int:
        return row + 1

    @tool(undo=cancel)
    def book(row: int) -> str:
        return f"seat {row}"

    async def act() -> None:
        async with AsyncSandbox("standard", tools=[book], spare=0) as sandbox, sandbox.session(record=True) as session:
            (await session.run("x = book(1)")).check()
            rollback = asyncio.create_task(session.rollback())
            await asyncio.to_thread(begun.wait, 60)
            rollback.cancel()
            with pytest.raises(asyncio.CancelledError):
                await rollback
            go_on.set()
            assert (await session.run("'x' in globals()")).notes == ("book(1): nobody knows whether it was undone",)
            assert told == [("cancel", "seat 1")]
            assert [effect.undoing for effect in session.history().unknown] == [True]

    try:
        asyncio.run(act())
    finally:
        go_on.set()


def test_a_template_has_no_effects(sandbox: Sandbox, told: Told) -> None:
    for source in ("send('Ada')", "book(1)"):
        with pytest.raises(StepFailed, match="an effect that follows the steps of a session: a template has none yet"):
            sandbox.template("t", prepare=source)
    assert told == []
    sandbox.template("t", prepare="def tell():\n    send('Ada')")
    with sandbox.session(template="t") as session:
        session.run("tell()").check()
        assert told == [("send", "Ada", "")]


KILLED = """
import os, signal, sys
from safeexec import Sandbox, tool
path, where = sys.argv[1:]
def killed(here):
    if here == where:
        os.kill(os.getpid(), signal.SIGKILL)
@tool(effect="deferred", idempotent=True)
def send(to: str, *, effect_key: str) -> None:
    killed("send")
@tool(undo=lambda value, row: killed("undo"))
def book(row: int) -> None:
    killed("book")
with Sandbox("standard", tools=[book, send], spare=0) as sandbox, sandbox.session(record=path) as session:
    session.run("x = 0")
    session.run("book(1); send('Ada')")
    session.rollback()
"""


@pytest.mark.parametrize(
    ("where", "told"), [("send", "send('Ada'), key "), ("undo", "undo of book(1), key "), ("book", "book(1)"), ("", "")]
)
def test_an_effect_in_which_the_host_was_killed_is_reported_as_unknown(tmp_path: Path, where: str, told: str) -> None:
    path = tmp_path / "r.jsonl"
    done = subprocess.run([sys.executable, "-c", KILLED, path, where], timeout=60, check=False)
    assert done.returncode == (-signal.SIGKILL if where else 0)
    unknown = Timeline(Recording(path)).unknown
    assert [str(one).strip().startswith(f"2  {told}") for one in unknown] == [True] * bool(where)
    with replay(path) as replayed:
        assert replayed.difference is None and replayed.session.get("x") == 0


def test_an_unknown_outcome_is_told_and_repeated_with_the_same_key_only_where_that_is_harmless(
    told: Told, tmp_path: Path
) -> None:
    @tool(effect="deferred", idempotent=True)
    def pay(amount: int, *, effect_key: str) -> None:
        told.append(("pay", effect_key))
        if len(told) == 1 or amount == 2:
            raise TimeoutError("no answer")

    @tool(effect="deferred")
    def post(text: str) -> None:
        told.append(("post",))
        raise TimeoutError("no answer")

    path = tmp_path / "r.jsonl"
    with Sandbox("standard", tools=[pay, post], spare=0) as sandbox, sandbox.session(record=path) as session:
        assert "effect_key" not in session.run("help(pay)").stdout
        assert session.run("pay(1, effect_key='mine')").error is not None
        result = session.run("pay(1)")
        assert result.notes == () and len(told) == 2 and told[0] == told[1], "once more, with the same key"
        assert "nobody knows what became of it" in session.run("pay(2)").notes[0]
        assert told[2] == told[3] != told[0]
        assert "post('x'): nobody knows what became of it" in session.run("post('x')").notes[0]
        assert told.count(("post",)) == 1
    effects = [record for record in Recording(path) if isinstance(record, form.Effect)]
    assert [effect.became for effect in effects] == [
        *("begun", "unknown", "begun", "done"),
        *("begun", "unknown", "begun", "unknown"),
        *("begun", "unknown"),
    ]
    assert effects[0].key == effects[3].key != effects[4].key
    calls = {record.call: record for record in Recording(path) if isinstance(record, form.Called)}
    assert {calls[effect.call].tool for effect in effects} == {"pay", "post"}
    assert {call.effect for call in calls.values()} == {"deferred"}


def test_what_became_of_an_effect_is_recorded(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with sandbox.session(record=path) as session:
        session.run("send('Ada')")
        session.run("book(1)\nsend('nobody')")
        session.rollback()
        session.run("send('Eve')\n1/0")
        (branch,) = session.branch()
        branch.run("send('x')")
        branch.close()
    records = list(Recording(path))
    effects = [(one.session, one.tool, one.became) for one in records if isinstance(one, form.Effect)]
    assert effects == [
        *((1, "send", "begun"), (1, "send", "done"), (1, "send", "begun"), (1, "send", "failed")),
        *((1, "book", "undoing"), (1, "book", "undone"), (2, "send", "dropped"), (1, "send", "dropped")),
    ]


def test_in_an_event_loop(told: Told) -> None:
    async def cancel(value: str, row: int) -> None:
        await asyncio.sleep(0)
        told.append(("cancel", value))

    @tool(undo=cancel)
    async def book(row: int) -> str:
        await asyncio.sleep(0)
        return f"seat {row}"

    @tool(effect="deferred")
    async def send(to: str) -> None:
        await asyncio.sleep(0)
        told.append(("send", to))

    async def act() -> None:
        async with AsyncSandbox("standard", tools=[book, send], spare=0) as sandbox, sandbox.session() as session:
            await session.run("x = book(1)\nsend('Ada')")
            await session.rollback()
            (branch,) = await session.branch()
            await branch.run("send('Eve')")
            assert len(branch.pending()) == 1
            assert await branch.adopt() == []

    asyncio.run(act())
    assert told == [("send", "Ada"), ("cancel", "seat 1"), ("send", "Eve")]
    del told[:]
    with Sandbox("standard", tools=[book, send], spare=0) as sandbox, sandbox.session() as session:
        session.run("x = book(2)\nsend('Ada')")
        session.rollback()
    assert told == [("send", "Ada"), ("cancel", "seat 2")]


def test_a_declaration_that_cannot_be_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ToolError, match="it is 'at-once' or 'deferred'"):
        tool(effect="later")  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="undo= is no function"):
        tool(undo=3)  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="its settings have names; found 'deferred'"):
        tool("deferred")  # type: ignore[type-var]
    with pytest.raises(ToolError, match="takes a keyword 'effect_key'"):
        tool(idempotent=True)(lambda x: x)
    with pytest.raises(ToolError, match="a plugin cannot have them"):
        sandbox.plugin("def f():\n    return 1")


# All short sequences, without processes: the states, the log and the effects are the real ones

ACTS = ("ok", "error", "killed", "back", "name", "named", "set", "lost", "branch", "adopt", "close")


class World:
    """What the tools have really done, by the number of the call."""

    def __init__(self) -> None:
        self.made = count(1)
        self.did: Counter[tuple[str, int]] = Counter()
        self.interrupt: str | None = None

        @tool(effect="deferred", undo=lambda _, number: self.do("unsent", number))
        def send(number: int) -> None:
            self.do("sent", number)

        @tool(undo=lambda _, number: self.do("cancelled", number))
        def book(number: int) -> None:
            self.do("booked", number)

        self.toolbox = Toolbox(tools_from([send, book]), STANDARD, None)

    def do(self, what: str, number: int) -> None:
        self.did[what, number] += 1
        if what == self.interrupt:
            self.interrupt = None
            raise KeyboardInterrupt


class BareSession:
    """A session of which only the states are there, and what must be true of its calls."""

    def __init__(self, world: World, parent: BareSession | None = None) -> None:
        self.world, self.parent, self.waits = world, parent, parent is not None
        self.policy, self.toolbox = STANDARD, world.toolbox
        self.recorder: Any = None
        self.step, self.lost, self.tool_records = 0, False, ToolLog()
        self.call_key = ""
        self._keys = count()
        self.line = SimpleNamespace(history=History[object]())
        if parent is not None:
            copy = object()
            parent.line.history.keep("for a branch", copy)
            self.line.history = parent.line.history.branch(copy)
            parent.line.history.drop("for a branch")
            self.tool_records = parent.tool_records.copy()
        self.of_parent = len(self.tool_records)
        self.calls: dict[int, str] = {}
        """Those that it has made, and which tool each was of."""
        self.of_state: dict[State, list[int]] = {}
        """Which of them belong to each of its states."""
        self.dead: set[int] = set()
        self.carried: set[int] = set()
        self.supervisor = self

    def still_waiting(self) -> None:
        """No step of it waits."""

    def next_key(self) -> str:
        return f"key-{next(self._keys)}"

    def do(self, operation: Any, *args: Any) -> Any:
        return drive(self.recorder.follow(operation, self, args, {}))

    def ensure_ready(self) -> Core[None]:
        history = self.line.history
        if self.lost:
            self.lost = False
            for state, copy, _ in history.ways_back():
                history.arrive(state, copy)
                break
            else:
                history.arrive(history.last_resort())
        yield from ()

    def act(self, act: str) -> BareSession:
        """Do it, as far as it can be done. Returns the session to go on with."""
        history, goes_on = self.line.history, self
        if act in ("ok", "error", "killed"):
            self.do(run, act)
        elif act == "set":
            self.do(_change)
        elif act == "lost":
            self.lost = True
            for copy in history.copies_of(history.current):
                if all(copy is not named for _, named in history.named.values()):
                    history.note_lost(copy)
        elif act == "name":
            self.do(checkpoint)
        elif act == "branch":
            (goes_on,) = self.do(branch)
        elif act == "adopt":
            assert self.do(carry_out) == []
            self.waits = False
        elif act == "close" and self.parent is not None:
            self.recorder.closed(self)
            goes_on = self.parent
        elif act in ("back", "named"):
            with suppress(CheckpointError):
                left = self.do(rollback, "p" if act == "named" else None)
                assert len(left) <= self.of_parent, "its own calls have been undone"
        belongs = self.of_state.get(history.current, [])
        if not self.lost:
            self.dead |= self.calls.keys() - set(belongs)
        if (act == "ok" and not self.waits) or act == "adopt":
            self.carried |= {one for one in belongs if one not in self.dead and self.calls[one] == "send"}
        if act != "close" and not self.lost:
            self.check(belongs)
        return goes_on

    def check(self, belongs: list[int]) -> None:
        did, living = self.world.did, [one for one in belongs if one not in self.dead]
        waiting = [one for one in living if self.calls[one] == "send" and one not in self.carried]
        assert [call.arguments["number"] for call in self.recorder.pending()] == waiting
        for one, name in self.calls.items():
            done, undone = ("sent", "unsent") if name == "send" else ("booked", "cancelled")
            was = name == "book" or one in self.carried
            assert (did[done, one], did[undone, one]) == (was, was and one in self.dead), (one, name)


def run(session: BareSession, act: str) -> Core[Any]:
    """A step that calls each tool once."""
    yield from session.ensure_ready()
    history = session.line.history
    belongs = list(session.of_state.get(history.current, []))
    session.step += 1
    copy = object()
    history.begin(session.step)
    for name in ("send", "book"):
        number = next(session.world.made)
        session.toolbox.tools[name].function(number)
        session.tool_records.append(ToolCallRecord(name, session.step, "ok", "", 0.0))
        session.calls[number] = name
        belongs.append(number)
    if act == "killed":
        history.undo()
        return Result("timeout", step=session.step, state="restored")
    history.commit(None, len(session.tool_records), copy=copy)
    history.note_frozen(copy)
    session.of_state[history.current] = belongs
    return Result("ok" if act == "ok" else "error", step=session.step)


def _change(session: BareSession) -> Core[None]:
    yield from session.ensure_ready()
    history, copy = session.line.history, object()
    belongs = session.of_state.get(history.current, [])
    history.begin()
    history.commit(None, len(session.tool_records), copy=copy)
    history.note_frozen(copy)
    session.of_state[history.current] = belongs


def checkpoint(session: BareSession) -> Core[None]:
    session.line.history.keep("p", object())
    yield from ()


def rollback(session: BareSession, name: str | None) -> Core[list[ToolCallRecord]]:
    history = session.line.history
    state = history.before_last() if name is None else history.find(name)[0]
    history.arrive(state)
    yield from ()
    return list(session.tool_records.since(state.tool_calls))


def branch(session: BareSession) -> Core[list[BareSession]]:
    yield from ()
    return [BareSession(session.world, session)]


def carry_out(session: BareSession) -> Core[list[str]]:
    return (yield from session.recorder.carry_out())


def bare_session() -> BareSession:
    session = BareSession(World())
    follow_effects(session, session.world.toolbox)
    return session


@pytest.mark.parametrize("length", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_every_short_sequence_keeps_what_belongs_to_a_state_and_nothing_else(length: int) -> None:
    for sequence in product(ACTS, repeat=length):
        session = bare_session()
        try:
            for act in sequence:
                session = session.act(act)
        except Exception as error:
            raise AssertionError(f"after {sequence}") from error


def test_whoever_is_interrupted_carries_nothing_out_twice_and_leaves_the_rest_to_the_next_use() -> None:
    session = bare_session()
    did = session.world.did
    session.act("error")
    session.act("error")
    session.world.interrupt = "sent"
    with pytest.raises(KeyboardInterrupt):
        session.do(run, "ok")
    assert [call.arguments["number"] for call in session.recorder.pending()] == [3, 5]
    session.do(run, "error")
    assert did["sent", 1] == 1 and did["sent", 3] == 0
    assert session.do(carry_out) == [] and [did["sent", number] for number in (1, 3, 5, 7)] == [1, 1, 1, 1]

    session.do(checkpoint)
    for _ in range(3):
        session.do(run, "ok")
    session.world.interrupt = "cancelled"
    with pytest.raises(KeyboardInterrupt):
        session.do(rollback, "p")
    assert did["cancelled", 14] == 1 and did["cancelled", 12] == did["cancelled", 10] == 0
    assert session.do(run, "ok").notes == ("book(14): nobody knows whether it was undone",)
    assert [did["cancelled", number] for number in (14, 12, 10)] == [1, 1, 1]
    assert [did["unsent", number] for number in (13, 11, 9)] == [1, 1, 1]
