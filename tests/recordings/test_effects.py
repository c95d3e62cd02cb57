"""Effects of tools that follow the session: deferred ones, undone ones, those of which nobody knows."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
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
    Sandbox,
    Session,
    StepFailed,
    Timeline,
    ToolError,
    replay,
    tool,
)
from safeexec.recordings import format as form
from safeexec.toolkit import limited
from tests.conftest import Called
from tests.engine.linux.forked import exit_status

Told = list[Any]
CALCULATOR = Policy.load("calculator")
TOLD: Told = []
"""What the tools have really done."""


@tool(effect="deferred")
def send(to: str, text: str = "") -> None:
    TOLD.append(("send", to, text))
    if to == "nobody":
        raise ValueError("there is no such person")


def cancel(seat: str, row: int) -> None:
    TOLD.append(("cancel", seat))


@tool(undo=cancel)
def book(row: int) -> str:
    TOLD.append(("book", row))
    if row < 0:
        raise ValueError("no such row")
    return f"seat {row}"


@tool
def plain(row: int) -> int:
    TOLD.append(("plain", row))
    return row + 1


@pytest.fixture
def told() -> Told:
    TOLD.clear()
    return TOLD


@pytest.fixture(scope="module")
def sandbox(_own_temporary_directory: None) -> Iterator[Sandbox]:
    with Sandbox("calculator", tools=[send, book, plain], spare=0) as opened:
        yield opened


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    with sandbox.session() as opened:
        yield opened


def test_a_failed_step_leaves_it_pending_and_what_is_undone_has_no_effect(session: Session, told: Told) -> None:
    session.run("x = 1")
    session.run("send('Ada')\n1 / 0")
    (waiting,) = session.pending()
    assert isinstance(waiting, PendingCall)
    assert (waiting.tool, waiting.arguments, waiting.step) == ("send", {"to": "Ada"}, 2)
    session.rollback()
    assert session.run("send('Eve')\n1 / 0", atomic=True).state == "restored"
    booked = "book(1)\ntry:\n    book(-1)\nexcept ValueError:\n    pass\n"
    assert session.run(f"send('Eve')\n{booked}while True: pass", timeout=0.3).state == "restored"
    assert session.pending() == []
    assert told == [("book", 1), ("book", -1), ("cancel", "seat 1")], "one that failed is not undone"


def test_a_wrong_call_is_told_at_once_and_a_failure_in_the_notes(session: Session, told: Told) -> None:
    for source in ("send()", "send(3)", "send('a', 'b', 'c')"):
        error = session.run(source).error
        assert error is not None and error.type == "TypeError" and "send()" in error.message
    assert told == [] and session.pending() == []
    result = session.run("send('nobody')\nsend('Ada')")
    assert result.notes == ("send('nobody') failed: ValueError: there is no such person",)
    assert told[-1] == ("send", "Ada", "")


ANSWERS = [
    (Deny("not today"), "not today"),
    (ValueError("boom"), "the approval raised ValueError: boom"),
    (SystemExit(1), "the approval raised ToolError: the approval of deferred calls: SystemExit: 1"),
    (Allow(arguments={"to": "Eve"}), "the approval edited their arguments, which only one of a single call may"),
    ("yes", "the approval of deferred calls answered an object of type str; it answers"),
]


def test_an_approval_sees_all_of_them_at_once_and_whatever_is_no_clear_yes_drops_them(told: Told) -> None:
    said: Any = True

    def approve(name: str, arguments: dict[str, Any]) -> Any:
        told.append((name, arguments))
        if isinstance(said, BaseException):
            raise said
        return said

    policy = CALCULATOR.replace(tools={"approval": ["send"]})
    with Sandbox(policy, tools=[send], approval=approve, spare=0) as sandbox, sandbox.session() as session:
        assert session.run("send('Ada'); send('Bob')").notes == ()
        pending = {"calls": [{"tool": "send", "arguments": {"to": to}} for to in ("Ada", "Bob")]}
        assert told == [("pending", pending), ("send", "Ada", ""), ("send", "Bob", "")]
        for number, (answer, reason) in enumerate(ANSWERS):
            said = answer
            told.clear()
            result = session.run(f"x = {number}\nsend('Ada')")
            assert result.ok and result.notes[0].startswith(f"1 deferred calls were not approved: {reason}")
            assert session.pending() == [] and len(told) == 1 and session.get("x") == number


def test_who_uses_the_session_from_an_effect_is_refused_and_the_other_effects_go_on(told: Told) -> None:
    def again(*_: Any) -> None:
        session.run("1")

    def cancel(value: str, seat: str) -> None:
        told.append(("cancel", seat))
        if seat == "b":
            again()

    @tool(undo=cancel)
    def book(seat: str) -> str:
        return seat

    @tool(effect="deferred")
    def send(to: str) -> None:
        again() if to == "b" else told.append(to)

    with Sandbox("calculator", tools=[book, send], spare=0) as sandbox, sandbox.session() as session:
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
        Sandbox("calculator", tools=[limited(book, timeout=0.2)], spare=0) as sandbox,
        sandbox.session(record=True) as session,
    ):
        session.run("book()").check()
        session.rollback()
        go_on.set()
        (note,) = session.run("1").notes
        assert note.startswith("book() could not be undone: nobody knows what became of it")
        assert [effect.undoing for effect in session.history().unknown] == [True]


async def test_a_cancelled_rollback_calls_an_undo_once_and_says_that_nobody_knows(told: Told) -> None:
    begun, go_on = Event(), Event()

    def cancel(seat: str, row: int) -> None:
        told.append(("cancel", seat))
        begun.set()
        go_on.wait(60)

    @tool(undo=cancel)
    def book(row: int) -> str:
        return f"seat {row}"

    async with AsyncSandbox("calculator", tools=[book], spare=0) as sandbox, sandbox.session(record=True) as session:
        (await session.run("x = book(1)")).check()
        rollback = asyncio.create_task(session.rollback())
        await asyncio.to_thread(begun.wait, 60)
        rollback.cancel()
        try:
            with pytest.raises(asyncio.CancelledError):
                await rollback
        finally:
            go_on.set()
        assert (await session.run("'x' in globals()")).notes == ("book(1): nobody knows whether it was undone",)
        assert told == [("cancel", "seat 1")]
        assert [effect.undoing for effect in session.history().unknown] == [True]


def test_a_template_has_no_effects(sandbox: Sandbox, told: Told) -> None:
    for source in ("send('Ada')", "book(1)"):
        with pytest.raises(StepFailed, match="an effect that follows the steps of a session: a template has none yet"):
            sandbox.template("t", prepare=source)
    assert told == []
    sandbox.template("t", prepare="def tell():\n    send('Ada')")
    with sandbox.session(template="t") as session:
        session.run("tell()").check()
        assert told == [("send", "Ada", "")]


@pytest.mark.parametrize(("where", "told"), [("send", "send('Ada')"), ("undo", "undo of book(1)"), ("book", "book(1)")])
def test_an_effect_that_a_killed_host_began_is_unknown(tmp_path: Path, called: Called, where: str, told: str) -> None:
    path = tmp_path / "r.jsonl"

    def killed(here: str) -> None:
        if here == where:
            os.kill(os.getpid(), signal.SIGKILL)

    @tool(effect="deferred", idempotent=True)
    def send(to: str, *, effect_key: str) -> None:
        killed("send")

    @tool(undo=lambda value, row: killed("undo"))
    def book(row: int) -> None:
        killed("book")

    def host() -> None:
        with Sandbox("calculator", tools=[book, send], spare=0) as sandbox, sandbox.session(record=path) as session:
            session.run("x = 0")
            session.run("book(1); send('Ada')")
            session.rollback()

    assert exit_status(host) == -signal.SIGKILL
    (unknown,) = Timeline(Recording(path)).unknown
    assert str(unknown).strip().startswith(f"2  {told}")
    assert called("debug", path, "effects") == (0, f"{unknown}\n", "")
    with replay(path) as replayed:
        assert replayed.difference is None and replayed.session.get("x") == 0


def test_an_unknown_outcome_is_told_and_repeated_where_that_is_harmless(told: Told, tmp_path: Path) -> None:
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
    with Sandbox("calculator", tools=[pay, post], spare=0) as sandbox, sandbox.session(record=path) as session:
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


async def test_in_an_event_loop(told: Told) -> None:
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

    async with AsyncSandbox("calculator", tools=[book, send], spare=0) as sandbox, sandbox.session() as session:
        await session.run("x = book(1)\nsend('Ada')")
        await session.rollback()
    assert told == [("send", "Ada"), ("cancel", "seat 1")]
    with Sandbox("calculator", tools=[book, send], spare=0) as blocking, blocking.session() as other:
        other.run("x = book(2)\nsend('Eve')")
        other.rollback()
    assert told[2:] == [("send", "Eve"), ("cancel", "seat 2")]


def test_a_bare_declaration_says_what_holds_for_any_function(session: Session, told: Told) -> None:
    assert session.run("plain(1)").value == 2
    session.rollback()
    assert told == [("plain", 1)]


def test_a_declaration_that_cannot_be_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ToolError, match="it is 'at-once' or 'deferred'"):
        tool(effect="later")  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="undo= is no function"):
        tool(undo=3)  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="its settings have names; found 'deferred'"):
        tool("deferred")  # type: ignore[type-var]
    with pytest.raises(ToolError, match="takes a keyword 'effect_key'"):
        tool(idempotent=True)(lambda x: x)
    with pytest.raises(ToolError, match=r"a plugin cannot have them; open a sandbox without \w+"):
        sandbox.plugin("def f():\n    return 1")


# Random sequences: what was really done, against what must have been


class World:
    """What the tools have really done, by the number of the call."""

    sandbox: Sandbox

    def __init__(self) -> None:
        self.did: Counter[tuple[str, int]] = Counter()
        self.interrupt: str | None = None

        @tool(effect="deferred", undo=lambda _, number: self.do("unsent", number))
        def send(number: int) -> None:
            self.do("sent", number)

        @tool(undo=lambda _, number: self.do("cancelled", number))
        def book(number: int) -> None:
            self.do("booked", number)

        self.tools = [send, book]

    def do(self, what: str, number: int) -> None:
        self.did[what, number] += 1
        if what == self.interrupt:
            self.interrupt = None
            raise KeyboardInterrupt


class Line:
    """A session, and what must be true of the calls of its steps: one of each tool, under the number of the step."""

    def __init__(self, session: Session, did: Counter[tuple[str, int]], parent: Line | None = None) -> None:
        self.session, self.did, self.parent, self.waits = session, did, parent, parent is not None
        self.made: list[int] = []
        self.belongs: list[int] = []
        """The calls of the state that it is in; `before`: of those before each step."""
        self.before: list[list[int]] = []
        self.name: tuple[list[int], list[list[int]]] | None = None
        self.carried: set[int] = set()
        self.dead: set[int] = set()
        """Those of states that were left: to come back to one later does nothing once more."""

    def act(self, act: str, number: int) -> Line:
        """Do it, as far as it can be done. Returns the session to go on with."""
        if act in ("ok", "error", "undone"):
            end = "" if act == "ok" else "\n1 / 0"
            self.session.run(f"send({number})\nbook({number}){end}", atomic=act == "undone")
            self.made.append(number)
            if act != "undone":
                self.before.append(self.belongs)
                self.belongs = [*self.belongs, number]
        elif act == "back":
            with suppress(CheckpointError):
                self.session.rollback()
                self.belongs = self.before.pop() if self.before else []
        elif act == "name":
            self.session.checkpoint("p")
            self.name = self.belongs, [*self.before]
        elif act == "named" and self.name is not None:
            self.session.rollback("p")
            self.belongs, self.before = self.name[0], [*self.name[1]]
        elif act == "set":
            self.session.set("x", number)
        elif act == "branch":
            return Line(self.session.branch()[0], self.did, self)
        elif act == "adopt":
            assert self.session.adopt() == []
            self.waits = False
        elif act == "close" and self.parent is not None:
            self.session.close()
            return self.parent
        self.dead |= {*self.made} - {*self.belongs}
        if (act == "ok" and not self.waits) or act == "adopt":
            self.carried |= {*self.belongs} - self.dead
        self.check()
        return self

    def check(self) -> None:
        waiting = [one for one in self.belongs if one not in self.carried | self.dead]
        assert [call.arguments["number"] for call in self.session.pending()] == waiting
        for one in self.made:
            sent, dead = one in self.carried, one in self.dead
            assert (self.did["sent", one], self.did["unsent", one]) == (sent, sent and dead), one
            assert (self.did["booked", one], self.did["cancelled", one]) == (True, dead), one


ACTS = [*["ok"] * 3, *["error", "back", "branch"] * 2, "undone", "name", "named", "set", "adopt", "close"]


@pytest.fixture(scope="module")
def world(_own_temporary_directory: None) -> Iterator[World]:
    world = World()
    with Sandbox("calculator", tools=world.tools, spare=0) as world.sandbox:
        yield world


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_a_random_sequence_keeps_what_belongs_to_a_state_and_nothing_else(world: World, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        line, acts = Line(world.sandbox.session(), world.did), chance.choices(ACTS, k=12)
        world.did.clear()
        try:
            for number, act in enumerate(acts):
                line = line.act(act, number)
        except Exception as error:
            raise AssertionError(f"in {acts}") from error
        while line is not None:
            line.session.close()
            line = line.parent


def test_whoever_is_interrupted_carries_nothing_out_twice_and_leaves_the_rest_to_the_next_use(world: World) -> None:
    did = world.did
    did.clear()
    with world.sandbox.session() as session:
        for number in (1, 2):
            session.run(f"send({number})\n1 / 0")
        world.interrupt = "sent"
        with pytest.raises(KeyboardInterrupt):
            session.run("send(3)")
        assert [call.arguments["number"] for call in session.pending()] == [2, 3]
        assert session.run("send(4)\n1 / 0").notes == (
            "step 3 had ended when it was cancelled, and is part of the state",
            "send(1): nobody knows whether it was carried out",
        )
        assert did["sent", 1] == 1 and did["sent", 2] == 0
        assert session.adopt() == [] and [did["sent", number] for number in (1, 2, 3, 4)] == [1] * 4
        session.checkpoint("p")
        for number in (5, 6, 7):
            session.run(f"send({number})\nbook({number})").check()
        world.interrupt = "cancelled"
        with pytest.raises(KeyboardInterrupt):
            session.rollback("p")
        assert [did["cancelled", number] for number in (7, 6, 5)] == [1, 0, 0]
        assert session.run("1").notes == ("book(7): nobody knows whether it was undone",)
        assert [did["cancelled", number] for number in (7, 6, 5)] == [1, 1, 1]
        assert [did["unsent", number] for number in (7, 6, 5)] == [1, 1, 1]
