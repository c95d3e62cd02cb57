"""Steps that are ended from elsewhere at any moment: nothing but that step is lost, and nothing is left over."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from safeexec import Result, Sandbox, Session, SessionClosed
from tests.alone import alone
from tests.footprint import footprint, leaks
from tests.interrupting import interrupting

SHORT = "import time\nn += 1\ntime.sleep(0.06)"
"""Longer than the first look at a step (50 ms), from when on `cancel` kills at once."""


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns after a microsecond, so that every order comes up."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_cancel_ends_the_step_that_it_saw_and_none_after_it(session: Session) -> None:
    session.run("n = 0").check()
    kept = 0
    for _ in range(8):
        told: list[bool] = []
        over = threading.Event()

        def cancel(told: list[bool] = told, over: threading.Event = over) -> None:
            over.wait(0.059)
            while not over.is_set():
                told.append(session.cancel())

        thread = threading.Thread(target=cancel)
        thread.start()
        result = session.run(SHORT)
        over.set()
        thread.join()
        assert result.outcome == ("cancelled" if any(told) else "ok"), (result, any(told))
        kept += result.ok
        assert session.run("n").check().value == kept


def test_cancel_in_a_handler_of_signals(session: Session) -> None:
    told: list[bool] = []
    before = signal.signal(signal.SIGUSR2, lambda *_: told.append(session.cancel()))
    try:
        for _ in range(2):
            source, send = "print('on')\nwhile True: pass", lambda _: signal.raise_signal(signal.SIGUSR2)
            result = session.run(source, timeout=5, on_output=send)
            assert (result.outcome, result.state) == ("cancelled", "restored")
        signal.raise_signal(signal.SIGUSR2)
        assert told[-1] is False and all(told[:-1]) and len(told) > 2
    finally:
        signal.signal(signal.SIGUSR2, before)


@pytest.mark.profile("confined-python")
def test_a_session_may_be_closed_while_another_thread_uses_it(profile: str) -> None:
    before = footprint()
    with Sandbox(profile) as sandbox:
        for use in USES:
            session = sandbox.session()
            session.run("x = 1").check()
            began = threading.Event()
            ends: list[object] = []

            thread = threading.Thread(target=use_on, args=(use, session, began, ends))
            thread.start()
            assert began.wait(60)
            session.close()
            thread.join(60)
            assert [type(end) for end in ends] == [SessionClosed], ends
            session.close()
        assert sandbox.run("1 + 1").value == 2
    assert not leaks(before)


def use_on(use: Use, session: Session, began: threading.Event, ends: list[object]) -> None:
    """Use it until that raises."""
    try:
        while True:
            use(session, began)
    except Exception as error:
        ends.append(error)


def step(session: Session, began: threading.Event) -> Result:
    return session.run("print('on')\nwhile True: pass", timeout=60, on_output=lambda _: began.set())


def short_steps(session: Session, began: threading.Event) -> Result:
    began.set()
    return session.run("x = x + 1")


def undo(session: Session, began: threading.Event) -> None:
    began.set()
    session.checkpoint("here")
    session.rollback("here")


Use = Callable[[Session, threading.Event], object]
USES: list[Use] = [step, short_steps, undo] * 4


@pytest.mark.parametrize("seconds", [0.4, 3600])
def test_a_question_that_was_interrupted_costs_no_step(session: Session, seconds: float) -> None:
    """Its answer comes, and is nobody's; or it does not come, and the state is that of the newest checkpoint."""
    slow = f"def __repr__(self):\n        print('asked')\n        time.sleep({seconds})\n        return 'slow'"
    session.run(f"import time\nclass Slow:\n    {slow}\nx = 1").check()
    session.run("slow = Slow()\nx = 2").check()

    with pytest.raises(KeyboardInterrupt), interrupting(lambda: threading.Event().wait(0.2)):
        session.variables()
    assert session.get("x") == 2
    session.run("x = 3").check()
    session.rollback()
    assert session.get("x") == 2


STORM = """
import os, random, signal, sys, threading, time
from safeexec import Sandbox

chance = random.Random(5)
armed = over = False

def storm():
    while not over:
        time.sleep(chance.random() * 0.004)
        if armed:
            os.kill(os.getpid(), signal.SIGINT)

def hear(number, frame):
    if armed:  # it may have been sent just before
        signal.default_int_handler(number, frame)

signal.signal(signal.SIGINT, hear)

def branch(session):
    for branch in session.branch():
        branch.close()

ACTS = {
    "questions": [lambda s: s.get("n"), lambda s: s.variables(), lambda s: s.set("m", 1)],
    "undo": [lambda s: s.checkpoint("a"), lambda s: s.rollback("base"), branch],
}[sys.argv[2]]
interrupted = 0
with Sandbox(sys.argv[1]) as sandbox, sandbox.session() as session:
    session.run("n = 0\\nopen('f', 'w').write('0')").check()
    session.checkpoint("base")
    thread = threading.Thread(target=storm, daemon=True)
    thread.start()
    for number in range(40):
        try:
            try:
                armed = True
                for _ in range(20):
                    ACTS[number % len(ACTS)](session)
            finally:
                armed = False
        except KeyboardInterrupt:
            armed = False
            interrupted += 1
        n, written = session.run("[n, int(open('f').read())]").check().value
        assert n == written, (n, written)
    over = True
    thread.join()
    assert interrupted > 10, interrupted
    print("in order")
"""


@pytest.mark.profile("data-analysis")
@pytest.mark.parametrize("what", ["questions", "undo"])
def test_ctrl_c_at_any_moment_again_and_again_leaves_the_session_in_order(profile: str, what: str) -> None:
    """Also while the one before is being dealt with."""
    done = alone(STORM, profile, what)
    assert done.stdout == "in order\n", done.stdout + done.stderr
