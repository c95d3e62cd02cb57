"""Undo on real processes: what a rollback and a kill bring back is exactly that, or the result says so."""

from __future__ import annotations

import os
import random
import re

import pytest

from safeexec import CheckpointError, Sandbox, Session
from safeexec.engine.host.session import steps as module
from safeexec.engine.host.session.copies import Copies
from safeexec.engine.host.session.runner import Runner
from tests.alone import alone
from tests.chaos.model import Model
from tests.conftest import OpenSession
from tests.engine.host.inside import rests, runner_of


def kill(session: Session) -> None:
    assert session.run("x = -1\n1 / 0", atomic=True).state == "restored"


def seen(session: Session) -> dict[str, int]:
    return {name: session.get(name) for name in session.namespace}


class Line:
    """A session, and the model of what it must remember."""

    def __init__(self, session: Session) -> None:
        self.session, self.model = session, Model()
        self.sure = 0
        """Steps since the last one that may have left no state to go back to: at two a rollback must work."""

    def act(self, act: str, number: int) -> None:
        session, model = self.session, self.model
        if act in ("ok", "error", "copied"):
            result = session.run(f"x = {number}" + {"error": "\n1 / 0", "copied": "\nid(x)"}.get(act, ""))
            assert result.state == "kept" and not result.notes, result
            model.step({**model.now, "x": number})
            self.sure += 1
        elif act == "kill":
            kill(session)
            self.sure = 0
        elif act == "set":
            session.set("d", number)
            model.change({**model.now, "d": number})
        elif act == "checkpoint":
            session.checkpoint("p")
            model.checkpoint("p")
        elif act == "named" and model.named:
            session.rollback("p")
            model.go_to("p")
            self.sure = 0
        elif act in ("rollback", "back"):
            self._go_back(1 if act == "rollback" else 3)
        elif act == "rest":
            rests(session)
        elif act == "branch":
            (branch,) = session.branch()
            with branch:
                assert seen(branch) == model.now
                branch.run("x = -2").check()
        assert seen(session) == model.now

    def _go_back(self, steps: int) -> None:
        try:
            self.session.rollback(steps=steps)
        except CheckpointError as error:
            wanted = "no longer kept" if len(self.model.past) >= steps else "no step|part of this state"
            assert re.search(wanted, str(error)) and (steps > 1 or self.sure < 2), error
            return
        for _ in range(steps):
            self.model.go_back()
        self.sure = 0


ACTS = (
    *("ok", "ok", "ok", "copied", "copied", "back", "error", "kill", "kill", "rest", "rest", "set", "checkpoint"),
    *("named", "rollback", "branch"),
)


def sequences() -> list[list[str]]:
    """Known ones, and random ones."""
    chance = random.Random(0)
    known = (
        *("ok ok kill ok kill rollback", "set ok checkpoint ok named rollback", "set ok rollback"),
        "checkpoint kill named ok checkpoint rollback named",
    )
    return [*map(str.split, known), *(chance.choices(ACTS, k=10) for _ in range(7))]


@pytest.mark.parametrize("checkpoints", ["idle", "before-step"])
@pytest.mark.parametrize("acts", sequences(), ids=" ".join)
def test_sequences(sandbox: Sandbox, checkpoints: str, acts: list[str]) -> None:
    """The same that the history does in memory, sampled."""
    with sandbox.session(checkpoints=checkpoints) as session:
        line = Line(session)
        for number, act in enumerate(acts, 1):
            line.act(act, number)


def test_a_branch_goes_back_to_what_the_host_had_set_or_says_that_it_cannot(session: Session) -> None:
    session.set("x", 1)
    session.run("y = 2").check()
    (branch,) = session.branch()
    with branch, pytest.raises(CheckpointError, match="no longer kept"):
        branch.rollback()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at processes that gave up their rights")
def test_checkpoints_with_a_name_leave_no_descriptor_in_the_process(session: Session) -> None:
    counts = set()
    session.run("x = 0").check()
    for number in range(12):
        session.run(f"x = {number}").check()
        session.checkpoint("p")
        kill(session)
        counts.add(len(os.listdir(f"/proc/{runner_of(session)}/fd")))
    assert max(counts) <= min(counts) + 1, counts


@pytest.mark.profile("confined-python")
def test_files_of_the_host_outlive_a_process_without_checkpoints(open_session: OpenSession) -> None:
    session = open_session(checkpoints="off")
    session.run("x = 1").check()
    session.write_file("given.txt", "theirs")
    session.run("open('own.txt', 'w').close()").check()
    result = session.run("import os\nos._exit(3)")
    assert (result.exit_status, "os._exit" in result.error.hint) == (3, True)
    assert (result.outcome, result.state) == ("crashed", "lost")
    assert result.notes == ("checkpoints are off, so the session starts empty",)
    lost = session.run("x")
    assert lost.error.type == "NameError" and "undone" not in str(lost.observation())
    assert session.list_files() == ["given.txt"]
    assert session.read_file("given.txt") == b"theirs"


def test_going_back_too_far_says_how_far_it_goes(session: Session) -> None:
    for number in range(2):
        session.run(f"x = {number}").check()
    with pytest.raises(CheckpointError, match="2 steps are part of this state, and not 5"):
        session.rollback(steps=5)
    session.rollback(steps=2)
    with pytest.raises(CheckpointError, match="nothing to roll back"):
        session.rollback(steps=2)
    with pytest.raises(ValueError, match="a number of steps"):
        session.rollback(steps=0)


def test_a_step_that_cannot_be_rolled_back_says_so(session: Session) -> None:
    session.run("import threading\ngate = threading.Event()\nt = threading.Thread(target=gate.wait)\nt.start()")
    result = session.run("gate.set()\nt.join()")
    assert module.CANNOT_UNDO in result.notes
    with pytest.raises(CheckpointError, match="no longer kept"):
        session.rollback()
    assert not session.run("x = 1").notes or session.run("x = 2").notes == ()


@pytest.mark.profile("confined-python")
def test_a_session_without_a_free_descriptor_says_which_steps_cannot_be_rolled_back(open_session: OpenSession) -> None:
    """No socket for a copy reaches its process: neither a step that would be copied nor one that would be repeated
    from such a copy has a way back.
    """
    session = open_session()
    session.run("import os\nheld = []\ntry:\n    while True: held.append(os.dup(0))\nexcept OSError: pass").check()
    for source in ("a = id(held)", "b = 3", "c = id(b)", "d = 4"):
        result = session.run(source).check()
        assert result.state == "kept" and module.CANNOT_UNDO in result.notes, source
    with pytest.raises(CheckpointError, match="no longer kept"):
        session.rollback()
    session.run("for one in held: os.close(one)").check()
    session.run("e = id(d)").check()
    assert session.run("f = 5").notes == ()
    session.rollback()
    assert session.run("sorted(name for name in globals() if len(name) == 1)").value == ["a", "b", "c", "d", "e"]


INTERRUPTED = """
import random, sys
from safeexec import Sandbox

class Interruption(Exception):
    pass

class Interrupter:
    "Raises at the n-th byte code that the host's side of a step runs, once."
    def __init__(self, at):
        self.left = at

    def __call__(self, frame, event, _):
        if "safeexec/engine/host/session" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise Interruption
        return self

with Sandbox("standard", spare=0) as sandbox, sandbox.session() as session:
    session.run("x = 0").check()
    sys._getframe().f_trace_opcodes = True  # 3.12 looks for such a frame when a trace function is set
    counter = Interrupter(1 << 60)
    sys.settrace(counter)
    session.run("x = 0")
    sys.settrace(None)
    total, have, kept = (1 << 60) - counter.left, 0, []
    places = {*random.Random(7).sample(range(1, total), 60), *range(total - 60, total, 2)}
    for number, place in enumerate(sorted(places), 1):
        sys.settrace(Interrupter(place))
        try:
            session.run(f"x = {number}")
            have = number
        except Interruption as error:
            kept.append(error)  # and with it every frame: what is held by one of them is not let go of
        finally:
            sys.settrace(None)
        result = session.run("x")
        assert result.value in (have, number) or result.notes, (place, total, result)
        have = result.value
    print("in order", len(kept) > 30)
"""


def test_an_interruption_at_any_byte_code_of_a_step_leaves_the_session_in_order() -> None:
    """The session is free at once, and in the state before the step or after it; never in another one in silence."""
    done = alone(INTERRUPTED)
    assert done.stdout == "in order True\n", done.stdout + done.stderr


@pytest.mark.needs("notify")
def test_an_interruption_as_a_change_is_made_known_is_no_verdict_on_the_next_step(
    open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session(checkpoints="before-step")
    session.run("x = 1").check()
    announce, calls = Copies.announce, list[int]()

    def interrupted_once(copies: Copies, runner: Runner) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        announce(copies, runner)

    monkeypatch.setattr(Copies, "announce", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        session.set("y", 2)
    assert session.run("x, y").check().value == (1, 2)


@pytest.mark.profile("confined-python")
def test_what_a_killed_step_printed_is_not_held_against_the_next(open_session: OpenSession) -> None:
    """The accountant counts what the streams hold, at its own times: it must find them empty by then."""
    session = open_session(output_kb=16)
    for number in range(3):
        flooded = session.run("import os\nwhile True:\n    os.write(1, b'x' * (1 << 20))")
        assert (flooded.outcome, flooded.state) == ("output", "restored") and flooded.truncated
        quiet = session.run("import time\ntime.sleep(0.3)\nn = 1")
        assert (quiet.outcome, quiet.notes) == ("ok", ()), (number, quiet)


@pytest.mark.profile("confined-python")
def test_without_copies_what_the_host_wrote_and_named_is_where_a_kill_leads(session: Session) -> None:
    session.write_file("f", "begun")
    session.run("x = 1").check()
    (branch,) = session.branch(checkpoints="off")
    with branch:

        def run(value: int) -> None:
            branch.run(f"x = {value}\nopen('f', 'w').write('of the guest')").check()

        def after_a_kill() -> tuple[int, bytes]:
            assert branch.run("while True: pass", timeout=0.1).state == "restored"
            return branch.get("x"), branch.read_file("f")

        run(2)
        branch.write_file("f", "of the host")
        branch.set("d", 5)
        assert after_a_kill() == (1, b"of the host") and branch.get("d") is None
        run(3)
        branch.checkpoint("p")
        run(4)
        branch.write_file("f", "later")
        assert after_a_kill() == (3, b"of the guest"), "a name keeps what it named"
        run(5)
        branch.checkpoint("q")
        branch.rollback("p")
        assert after_a_kill() == (3, b"of the guest"), "the line that was left is no state"
        run(6)
        branch.write_file("f", "last")
        branch.drop("q")
        branch.drop("p")
        assert after_a_kill() == (3, b"last"), "the process began in the state that was dropped"
