"""Steps that wait: a call is put off, the session is as before, and the step goes on when the answer is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from safeexec import (
    Allow,
    Deny,
    Later,
    Policy,
    Recording,
    RecordOptions,
    Sandbox,
    Session,
    StateFileError,
    StepFailed,
    StepWaiting,
    WaitingCall,
    replay,
    tool,
)
from safeexec.playback.page.of_recording import of_recording
from safeexec.recordings import format as form
from safeexec.recordings.forms import line_of
from tests.footprint import until

POLICY = Policy.load("calculator").replace(
    tools={"approval": ["pay"]}, filesystem={"workspace": "read-write"}, builtins={"add": ["open"]}
)


class Desk:
    """A person who is asked later, and tools that note what they really do."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.asked: list[Any] = []
        self.said: Any = Later("ask Ann")

    def approval(self, name: str, arguments: dict[str, Any]) -> Any:
        self.asked.append((name, arguments))
        return self.said

    def price(self, fruit: str) -> int:
        """What a fruit costs."""
        self.done.append(("price", fruit))
        if fruit == "stone":
            raise ValueError("a stone has no price")
        return len(fruit)

    def pay(self, amount: int, to: Any = "shop") -> str:
        self.done.append(("pay", amount, to))
        return f"{amount} to {to}"

    def book(self, day: str) -> str:
        """A room; this tool puts itself off."""
        raise Later(f"no rooms on {day} yet", seconds=3600)


@pytest.fixture(scope="module")
def at_desk(_own_temporary_directory: None) -> Iterator[tuple[Sandbox, Desk]]:
    desk = Desk()
    with Sandbox(POLICY, tools=[desk.price, desk.pay, desk.book], approval=desk.approval, spare=0) as opened:
        yield opened, desk


@pytest.fixture
def desk(at_desk: tuple[Sandbox, Desk]) -> Desk:
    desk = at_desk[1]
    Desk.__init__(desk)
    return desk


@pytest.fixture
def sandbox(at_desk: tuple[Sandbox, Desk], desk: Desk) -> Sandbox:
    return at_desk[0]


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    with sandbox.session(label="user-7") as opened:
        yield opened


SHOPPING = """
total += price("pear") + price("fig")
with open("list.txt", "a") as file:
    file.write("pear, fig")
print("paying")
paid = pay(total)
print("paid")
paid
"""


def test_a_step_waits_and_goes_on(sandbox: Sandbox, session: Session, desk: Desk) -> None:
    session.run("total = 10")
    session.write_file("list.txt", "bread, ")
    result = session.run(SHOPPING)
    assert (result.outcome, result.state, result.ok, result.stdout) == ("waiting", "restored", False, "paying\n")
    waits = result.waiting_for
    assert isinstance(waits, WaitingCall)
    assert (waits.tool, waits.arguments, waits.note, waits.asked) == ("pay", {"amount": 17}, "ask Ann", "approval")
    assert (waits.label, waits.step, waits.until - waits.since) == ("user-7", result.step, timedelta(days=7))
    assert [f"{call.tool}: {call.outcome}" for call in result.tool_calls] == ["price: ok", "price: ok", "pay: waiting"]
    assert session.waiting_for == waits
    assert sandbox.waiting() == [waits]
    assert (session.get("total"), session.read_file("list.txt"), sandbox.stats().waiting) == (10, b"bread, ", 1)
    assert desk.done == [("price", "pear"), ("price", "fig")]

    heard: list[str] = []
    result = session.answer(Allow(), on_stdout=heard.append)
    assert (result.check().value, result.stdout, "".join(heard)) == ("17 to shop", "paying\npaid\n", "paying\npaid\n")
    assert desk.done == [("price", "pear"), ("price", "fig"), ("pay", 17, "shop")]
    assert (session.get("total"), session.read_file("list.txt")) == (17, b"bread, pear, fig")
    assert (session.waiting_for, sandbox.waiting(), len(desk.asked)) == (None, [], 1)
    assert session.run("total").value == 17
    assert [call.tool for call in session.rollback(steps=2)] == ["price", "price", "pay"], "each once"


def test_what_an_approval_answers_and_errors_before_it_are_answered_as_they_were(session: Session, desk: Desk) -> None:
    program = "try:\n    got = pay(3, to='Bob')\nexcept PermissionError as error:\n    got = str(error)\ngot"
    session.run(program)
    assert session.answer(Deny("not to Bob")).value == "pay(): not to Bob"
    session.run(program)
    assert session.answer(Allow(arguments={"to": "Eve"})).value == "3 to Eve"
    session.run(program)
    assert session.answer(False).value == "pay(): it was not approved"
    session.run(program)
    for wrong in ("yes", None, 1, Later("again"), Allow(arguments={"whom": "Eve"}), Allow(source="1")):
        with pytest.raises(TypeError):
            session.answer(wrong)
    assert session.answer(True).value == "3 to Bob"
    assert desk.done == [("pay", 3, "Eve"), ("pay", 3, "Bob")]
    program = """
try:
    price("stone")
except ValueError as error:
    why = str(error)
try:
    price(1, 2, 3)
except TypeError as error:
    why += "; " + str(error)
pay(1)
why
"""
    session.run(program)
    first = list(desk.done)
    value = session.answer(Allow()).value
    assert value.startswith("price(): a stone has no price; price()")
    assert desk.done == [*first, ("pay", 1, "shop")]


def test_a_tool_puts_itself_off_and_a_step_is_given_up(session: Session) -> None:
    program = "room = book('Friday')\nroom"
    waits = session.run(program).waiting_for
    assert (waits.asked, waits.note) == ("tool", "no rooms on Friday yet")
    assert waits.until - waits.since == timedelta(hours=1)
    assert session.answer({"room": 4}).value == {"room": 4}
    session.run(program)
    assert session.answer(True).value is True
    session.run(program)
    again = session.answer(Allow())
    assert again.outcome == "waiting", "it was called again, and has put itself off again"
    with pytest.raises(TypeError, match="cannot cross"):
        session.answer(object())
    failed = session.answer(Deny("no room for you"))
    assert failed.error.message == "book(): no room for you"
    session.run("total = 1")
    session.run(SHOPPING)
    assert [(call.tool, call.outcome) for call in session.cancel_waiting()] == [("price", "ok"), ("price", "ok")]
    assert session.run("total").value == 1
    assert session.waiting_for is None


@pytest.mark.parametrize(
    ("program", "differs"),
    [
        ("import time\npay(time.perf_counter_ns())", r"it called pay\(\d+\), where it had called pay\(\d+\)"),
        ("if len(seen):\n    price('fig')\npay(1)", r"it called price\('fig'\), where it had called pay\(1\)"),
        ("price('fig') if seen else price('pear')\npay(1)", "'fig'.*, where it had called price"),
        ("if not seen:\n    pay(1)\n'through'", r"it ended without its call pay\(1\)"),
    ],
)
def test_a_program_that_asks_otherwise_is_stopped(session: Session, desk: Desk, program: str, differs: str) -> None:
    session.run("seen = []")
    assert session.run(program).outcome == "waiting"
    made = list(desk.done)
    behind_its_back(session, "seen", [1])
    for _ in range(2):
        result = session.answer(Allow())
        assert (result.outcome, result.state) == ("cancelled", "restored")
        assert re.search(differs, result.error.message)
        assert "`cancel_waiting` gives the step up" in result.error.message
        assert desk.done == made
        assert session.waiting_for is not None, "nothing was carried out: it still waits"
    session.cancel_waiting()
    assert session.run("1 + 1").value == 2


def behind_its_back(session: Session, name: str, value: Any) -> None:
    """Another state than the step that waits began in, as one that a stranger has saved may be."""
    waits = session._core.waits
    waiting, waits.waiting = waits.waiting, None
    session.set(name, value)
    waits.waiting = waiting


def test_nothing_else_changes_the_state_meanwhile(session: Session) -> None:
    session.run("x = 1")
    session.checkpoint("before")
    session.run("pay(2)")
    changes = [
        lambda: session.run("x = 2"),
        lambda: session.sql("select 1"),
        lambda: session.set("x", 2),
        lambda: session.write_file("a", "b"),
        lambda: session.rollback(),
        lambda: session.rollback("before"),
    ]
    for change in changes:
        with pytest.raises(StepWaiting, match=r"pay\(2\) waits for an approval \(ask Ann\)"):
            change()
    # What only looks, or keeps the state, is allowed; a branch goes its own way.
    assert (session.get("x"), session.list_files()) == (1, [])
    session.checkpoint("meanwhile")
    (branch,) = session.branch()
    assert (branch.waiting_for, branch.run("x + 1").value) == (None, 2)
    branch.close()
    assert session.answer(Allow()).ok
    session.rollback("meanwhile")
    with pytest.raises(StepWaiting, match="no step of this session waits"):
        session.answer(Allow())
    with pytest.raises(StepWaiting, match="no step of this session waits"):
        session.cancel_waiting()


def test_a_step_is_given_again_what_it_was_given_and_the_same_random_numbers(session: Session) -> None:
    program = "import sys\npay(int(input()))\n(sys.argv, input())"
    result = session.run(program, stdin="4\nrest\n", argv=["shop.py", "-v"], timeout=3.0)
    assert result.waiting_for.arguments == {"amount": 4}
    assert session.answer(Allow()).value == (["shop.py", "-v"], "rest")
    assert session.run("x = 1\npay(1)\n1 / 0", atomic=True).outcome == "waiting"
    result = session.answer(Allow())
    assert (result.outcome, result.state) == ("error", "restored")
    result = session.run("import random\npay(random.randint(1, 10**12))")
    amount = result.waiting_for.arguments["amount"]
    assert session.answer(Allow()).value == f"{amount} to shop"
    second = session.run("pay(random.randint(1, 10**12))").waiting_for
    assert second.arguments["amount"] != amount
    assert session.answer(Allow()).ok


@pytest.mark.parametrize("checkpoints", ["idle", "before-step"])
def test_with_either_kind_of_checkpoints(sandbox: Sandbox, checkpoints: Any) -> None:
    with sandbox.session(checkpoints=checkpoints) as session:
        session.run("things = [object()]")
        for _ in range(2):
            assert session.run("things.append(pay(1))").outcome == "waiting"
            assert session.answer(Allow()).ok
        assert session.run("len(things)").value == 3


def test_where_nothing_can_wait_the_call_is_refused(sandbox: Sandbox, session: Session, desk: Desk) -> None:
    for result, why in ((sandbox.run("pay(1)"), "a session"), (session.run("pay(1)", stdin=iter("a")), "is a stream")):
        assert (result.outcome, result.tool_calls[0].outcome) == ("error", "refused")
        assert result.error.type == "PermissionError"
        assert "pay() was put off, and cannot wait here" in result.error.message
        assert why in result.error.message
    never = POLICY.replace(tools={"wait_days": 0})
    with Sandbox(never, tools=[desk.pay], approval=desk.approval, spare=0) as strict, strict.session() as other:
        refused = other.run("pay(1)")
        assert "tools.wait_days" in refused.error.message
    assert desk.done == []


def test_an_answer_comes_too_late(session: Session, desk: Desk) -> None:
    session.run("x = 1")
    for seconds in (0.3, 3.0, 30.0):
        desk.said = Later("ask Ann", seconds=seconds)
        if (waits := session.run("x = 2\npay(1)").waiting_for) is not None:  # else it was over before it could be told
            break
    until(lambda: datetime.now(UTC) > waits.until)
    with pytest.raises(StepWaiting, match="the answer comes too late"):
        session.answer(Allow())
    assert session.waiting_for is None
    result = session.run("x")
    assert (result.value, desk.done) == (1, [])
    assert any("nobody answered in time: pay(1)" in note for note in result.notes)


def test_it_is_in_a_saved_state(session: Session, desk: Desk, tmp_path: Path) -> None:
    session.run("total = 100")
    session.write_file("list.txt", "")
    waits = session.run(SHOPPING).waiting_for
    session.save(tmp_path / "state")
    made = list(desk.done)
    with Sandbox(POLICY, tools=[desk.price, desk.pay], approval=desk.approval, spare=0) as other:
        restored = other.session_for("user-7", restore=tmp_path / "state")
        assert (restored.waiting_for.arguments, restored.waiting_for.until) == (waits.arguments, waits.until)
        assert other.waiting() == [restored.waiting_for]
        assert restored.answer(Allow()).value == "107 to shop"
        assert desk.done == [*made, ("pay", 107, "shop")]
        assert restored.read_file("list.txt") == b"pear, fig"
    with Sandbox("calculator", spare=0) as poor, poor.restore(tmp_path / "state") as lacks:
        with pytest.raises(StepWaiting, match="there is no tool 'pay' here"):
            lacks.answer(Allow())
        lacks.cancel_waiting()
        assert lacks.get("total") == 100


WRONG = [b"\xff", b'{"kind":"note"}', b'{"kind":"waiting","since":1,"until":2}', "data", "left out", "answer"]


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_a_strangers_state_is_read_as_one(
    sandbox: Sandbox, session: Session, tmp_path: Path, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.run("price('fig')\npay(1)")

    def line(waiting: form.Waiting) -> bytes:
        if isinstance(wrong, bytes):
            return wrong
        (made,) = waiting.calls
        if wrong == "answer":
            return line_of(replace(waiting, calls=[replace(made, answer=None)]))
        value = form.Value(data=bytes(3)) if wrong == "data" else form.Value(left_out="large")
        return line_of(replace(waiting, calls=[replace(made, call=replace(made.call, arguments=value))]))

    monkeypatch.setattr("safeexec.recordings.waits.line_of", line)
    session.save(tmp_path / "state")
    with pytest.raises(StateFileError, match="is damaged"):
        sandbox.restore(tmp_path / "state")


def test_a_time_that_is_none_is_bounded(
    sandbox: Sandbox, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.run("pay(1)")
    far = "safeexec.recordings.waits.line_of"
    monkeypatch.setattr(far, lambda waiting: line_of(replace(waiting, since=1e12, until=1e12, note="n" * 1_000_000)))
    session.save(tmp_path / "state")
    with sandbox.restore(tmp_path / "state") as restored:
        waits = restored.waiting_for
        assert waits.until - waits.since == timedelta(days=3650)
        assert len(waits.note) <= 2000


def test_the_result_is_told_everywhere(session: Session) -> None:
    result = session.run("pay(3)")
    with pytest.raises(StepFailed, match=r"waiting: StepWaiting: pay\(3\) waits for an approval"):
        result.check()
    told = result.to_dict()
    assert told["waiting_for"]["arguments"] == {"amount": 3}
    assert told["waiting_for"]["until"].endswith("+00:00")
    text = result.observation()
    assert "waiting: a call of a tool was put off" in text
    assert "pay(3) waits for an approval (ask Ann)" in text
    assert "State: as it was before this step, which goes on from there" in text
    assert "pay(3) waits" in result._repr_mimebundle_()["text/html"]


def test_effects_follow_the_step_that_waits() -> None:
    told: list[str] = []

    @tool(effect="deferred")
    def send(to: str) -> None:
        told.append(f"sent to {to}")

    @tool(undo=lambda seat, row: told.append(f"gave back {seat}"))
    def reserve(row: int) -> str:
        told.append(f"reserved {row}")
        return f"seat {row}"

    def ask() -> str:
        return Later("who knows")  # type: ignore[return-value]

    program = "send('Ann')\nseat = reserve(4)\nask()"
    with Sandbox("calculator", tools=[send, reserve, ask], spare=0) as sandbox:
        with sandbox.session() as session:
            assert session.run(program).outcome == "waiting"
            session.variables()
            assert told == ["reserved 4"], "held, neither sent nor given back"
            assert session.pending() == []
            assert session.answer("yes").ok
            assert told == ["reserved 4", "sent to Ann"]
            assert [call.tool for call in session.rollback()] == ["send", "ask"], "the seat is given back"
            assert told == ["reserved 4", "sent to Ann", "gave back seat 4"]
        told.clear()
        with sandbox.session() as session:
            session.run(program)
            assert session.cancel_waiting() == [], "nothing is left of it"
            assert told == ["reserved 4", "gave back seat 4"]
        told.clear()
        with sandbox.session() as session:
            session.run(f"{program}\n1 / 0", atomic=True)
            assert session.answer("yes").outcome == "error"
            assert told == ["reserved 4", "gave back seat 4"]


def test_an_approval_of_deferred_calls_is_put_off() -> None:
    sent: list[str] = []
    answers: list[Any] = [Later("ask Ann"), True]

    @tool(effect="deferred")
    def send(to: str) -> None:
        sent.append(to)

    policy = Policy.load("calculator").replace(tools={"approval": ["send"]})
    opened = Sandbox(policy, tools=[send], approval=lambda *_: answers.pop(0), spare=0)
    with opened as sandbox, sandbox.session() as session:
        result = session.run("send('Ann')")
        assert result.ok
        assert any("wait for their approval (ask Ann)" in note for note in result.notes)
        assert [call.arguments for call in session.pending()] == [{"to": "Ann"}]
        assert (session.adopt(), sent) == ([], ["Ann"])


def test_a_recording_of_it_is_replayed(sandbox: Sandbox, desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with sandbox.session(record=path) as session:
        session.run("total = 1")
        session.write_file("list.txt", "")
        session.run(SHOPPING)
        session.answer(Allow())
        session.run("pay(2)")
        session.cancel_waiting()
        session.run("total")
    records = list(Recording(path))
    outcomes = [record.outcome for record in records if isinstance(record, form.Ended)]
    assert outcomes == ["ok", "waiting", "ok", "waiting", "ok"]
    waited = [record for record in records if isinstance(record, form.Waiting | form.WaitOver)]
    assert [one.became if isinstance(one, form.WaitOver) else one.call.tool for one in waited] == [
        *("pay", "answered", "pay", "cancelled")
    ]
    assert any("waits no more: it is given up" in node.title for node in of_recording(records).nodes)
    made = list(desk.done)
    with replay(path) as replayed:
        assert replayed.difference is None
        assert replayed.session.get("total") == 8
    assert desk.done == made


def test_what_is_redacted_is_in_no_line(sandbox: Sandbox, tmp_path: Path) -> None:
    options = RecordOptions(path=tmp_path / "run.jsonl", redact={"pay", "price"})
    with sandbox.session(record=options) as session:
        session.run("price('pears-and-plums')\npay(47114711, to='Rumpelstilzchen')")
        assert session.answer(Allow()).ok
    (waits,) = [record for record in Recording(tmp_path / "run.jsonl") if isinstance(record, form.Waiting)]
    arguments = [one.arguments for one in (*(made.call for made in waits.calls), waits.call)]
    assert [one.left_out for one in arguments] == ["redacted", "redacted"]


def test_a_session_that_waits_is_not_idle(desk: Desk) -> None:
    with Sandbox(POLICY, tools=[desk.pay], approval=desk.approval, spare=0, idle_seconds=1.0) as sandbox:
        waits, idle = sandbox.session(), sandbox.session()
        waits.run("pay(1)")
        until(lambda: repr(idle).endswith("closed>"))
        assert waits.answer(Allow()).ok


def test_a_step_that_is_stopped_before_the_answer_counts_still_waits(session: Session, desk: Desk) -> None:
    session.run("slow = False")
    program = "price('fig')\nif slow:\n    print('slow')\n    while True: pass\npay(1)"
    assert session.run(program).outcome == "waiting"
    behind_its_back(session, "slow", True)
    assert session.answer(Allow(), on_stdout=lambda _: session.cancel()).outcome == "cancelled"
    assert session.waiting_for is not None
    behind_its_back(session, "slow", False)
    assert session.answer(Allow()).value == "1 to shop"
    assert desk.done == [("price", "fig"), ("pay", 1, "shop")]
