"""Long lives: of a thousand steps many are killed; the state is what the surviving ones imply, and nothing is left."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from safeexec import Sandbox, SandboxError, Session
from tests.alone import together
from tests.engine.host.inside import runner_of
from tests.footprint import footprint, leaks, settled, until

pytestmark = pytest.mark.profile("confined-python")


def cancel(session: Session) -> None:
    """From another thread, as soon as the step shows that it runs."""
    together([threading.Thread(target=session.cancel)])


def kill(session: Session) -> None:
    """From outside, as the kernel's OOM killer would."""
    os.kill(runner_of(session), signal.SIGKILL)


FOR_EVER = "print('on')\nwhile True: pass"
KILLS: dict[str, tuple[str, dict[str, Any], Callable[[Session], None] | None]] = {
    "timeout": ("while True: pass", {"timeout": 0.02}, None),
    "exit": ("import os\nos._exit(1)", {}, None),
    "segfault": ("import ctypes\nctypes.string_at(0)", {}, None),
    "cancel": (FOR_EVER, {"timeout": 60}, cancel),
    "the host": (FOR_EVER, {"timeout": 60}, kill),
    "an error": ("1 / 0", {"atomic": True}, None),
}
"""How a step is killed: how it goes on, how it is run, and what is done when it prints."""


def live(session: Session, steps: int, kills: int, seed: int) -> None:
    """Run `steps` steps of which `kills` are killed in random ways, and check the state all along."""
    chance = random.Random(seed)
    killed = set(chance.sample(range(steps), kills))
    session.run("seen = []\ntotal = 0\ndef add(n):\n    global total\n    seen.append(n)\n    total += n").check()
    expected: list[int] = []
    for n in range(steps):
        if n in killed:
            way = chance.choice(sorted(KILLS))
            source, options, act = KILLS[way]
            listener = None if act is None else lambda _, act=act: act(session)
            result = session.run(f"add({n})\n{source}", **options, on_output=listener)
            assert result.outcome in ("timeout", "crashed", "cancelled", "error"), way
        else:
            session.run(f"add({n})").check()
            expected.append(n)
        if n % 25 == 24:
            session.checkpoint(f"at {n % 75}")
    assert session.run("total").check().value == sum(expected)
    assert session.get("seen") == expected


def rest(session: Session) -> None:
    """Steps without a kill: afterwards a session holds what it always holds."""
    for _ in range(4):
        session.run("1").check()


def test_steps_and_kills_leave_nothing(profile: str) -> None:
    before = footprint()
    with Sandbox(profile) as sandbox, sandbox.session() as session:
        live(session, steps=60, kills=18, seed=1)
        rest(session)
        held = settled()
        live(session, steps=60, kills=18, seed=2)
        rest(session)
        # The second life holds no more than the first: nothing grows.
        assert not leaks(held)
    assert not leaks(before)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("steps", "kills"), [(50, 12), pytest.param(1000, 200, marks=pytest.mark.slow)])
def test_four_branches_at_once(profile: str, steps: int, kills: int) -> None:
    before = footprint()
    problems: list[BaseException] = []

    def work(session: Session, seed: int) -> None:
        try:
            live(session, steps, kills, seed)
        except BaseException as problem:
            problems.append(problem)

    with Sandbox(profile) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        branches = session.branch(4)
        together([threading.Thread(target=work, args=(branch, seed)) for seed, branch in enumerate(branches)])
        for branch in branches:
            branch.close()
        assert session.run("x").value == 1
    if problems:
        raise problems[0]
    assert not leaks(before)


def test_sessions_come_and_go_without_a_trace(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("1")
    before = footprint()
    for n in range(15):
        with sandbox.session() as session:
            session.run(f"x = {n}").check()
            if n % 3 == 0:
                session.checkpoint("a")
            if n % 5 == 0:
                for branch in session.branch(2):
                    branch.close()
            if n % 7 == 0:
                session.run("while True: pass", timeout=0.05)
    assert not leaks(before)


@pytest.mark.parametrize("opened", [1, 2, 3, 5, 8, 13])
def test_a_sandbox_that_closes_while_a_thread_branches_leaves_nothing(opened: int) -> None:
    before = footprint()
    sandbox = Sandbox("calculator").open()
    session = sandbox.session()

    def work() -> None:
        with pytest.raises(SandboxError):
            while True:
                session.branch(2)

    branching = threading.Thread(target=work)
    branching.start()
    until(lambda: sandbox.stats().open > opened or not branching.is_alive())
    sandbox.close()
    branching.join(60)
    assert sandbox.stats().open == 0
    assert not leaks(before)


def test_a_session_that_nobody_has_any_more_is_closed(sandbox: Sandbox) -> None:
    """Not one that can be had by its label, or whose variables somebody has."""
    before = sandbox.stats().open
    kept, variables = sandbox.session(), sandbox.session(namespace={"x": 7}).namespace
    sandbox.session_for("ann").run("x = 8")
    for _ in range(5):
        sandbox.session().run("x = 1")
    until(lambda: sandbox.stats().open == before + 3)
    assert (kept.run("1").value, variables["x"], sandbox.session_for("ann").run("x").value) == (1, 7, 8)
    del variables
    kept.close()
    until(lambda: sandbox.stats().open == before + 1)
    sandbox.session_for("ann").close()
