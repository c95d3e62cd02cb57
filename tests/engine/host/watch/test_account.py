"""What a session has used, and when that is too much, by the truth of a scripted machine."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec.engine.host.watch.account import (
    EXACT_SECONDS,
    GROWTH_BYTES,
    MOST_UNORDERED_FORKS,
    Account,
    OrderedProcesses,
    Period,
)
from safeexec.engine.host.watch.accountant import Accountant
from safeexec.engine.host.watch.rotation import IDLE_LOOK_SECONDS
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.engine.policy.model import Limits
from tests.engine.host.watch.scripted import ACTIONS, ScriptedMachine, act

MIB = 1 << 20


class ScriptedSubject:
    """A session of one lineage, or a branch in it."""

    def __init__(self, machine: ScriptedMachine, leader: int, runner: int, limits: Limits, *, grouped: bool = False):
        self.account = Account(limits)
        self.account.inherited_bytes = machine.living[runner].held
        self.machine, self.leader, self.runner, self.grouped = machine, leader, runner, grouped
        self.copies: set[int] = set()
        self.promised = 0
        self.used, self.idle = True, False
        self.began = Period(0.0)
        self.verdicts: list[Verdict] = []
        self.ended: set[int] = set()
        self.files: Verdict | None = None
        self.asked = 0
        self.fork: Verdict | None = None

    def lineage_leaders(self) -> tuple[int, ...]:
        return (self.leader,)

    def ordered(self) -> OrderedProcesses:
        return OrderedProcesses(self.runner, self.copies, self.promised)

    def in_use(self) -> bool:
        return self.used

    def period(self) -> Period:
        return self.began

    def total_cpu(self) -> float | None:
        return self.machine.used[self.leader] if self.grouped else None

    def check_progress(self) -> Verdict | None:
        return self.fork

    def check_files(self) -> Verdict | None:
        self.asked += 1
        return self.files

    def exceed(self, verdict: Verdict, hostile: Collection[int]) -> None:
        self.verdicts.append(verdict)
        self.ended |= set(hostile)


class Scene:
    """One session on a machine of its own, looked at by hand."""

    def __init__(self, *, grouped: bool = False, held: int = 100 * MIB, last: int = 32768, **limits: float) -> None:
        self.machine = ScriptedMachine(last)
        self.runner = self.machine.leader(held)
        chosen = Limits(**{"memory_mb": 64, "cpu_seconds": 2.0, **limits})  # type: ignore[arg-type]
        self.session = ScriptedSubject(self.machine, self.runner, self.runner, chosen, grouped=grouped)
        self.accountant = Accountant(self.machine)
        self.accountant.enter(self.session)
        self.now = 0.0

    def branched(self) -> tuple[int, ScriptedSubject]:
        """A branch of the session: its process, and itself."""
        pid = self.machine.fork(self.runner)
        branch = ScriptedSubject(self.machine, self.runner, pid, Limits(memory_mb=64, cpu_seconds=2.0))
        self.accountant.enter(branch)
        return pid, branch

    def look(self, seconds: float = 0.05) -> list[Verdict]:
        self.now += seconds
        self.accountant.look(self.now)
        return self.session.verdicts

    def outcome(self, seconds: float = 0.05) -> str | None:
        return verdicts[0].outcome if (verdicts := self.look(seconds)) else None


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_step_begins_at_nothing(scene: Scene) -> None:
    scene.machine.run(scene.runner, 1.9)
    assert not scene.look()
    scene.machine.run(scene.runner, 1.0)
    scene.session.began = Period(1.0, scene.runner, 2.9)
    assert not scene.look() and scene.session.account.cpu_seconds == pytest.approx(0.0)
    scene.machine.run(scene.runner, 2.1)
    assert scene.outcome() == "cpu"


def test_another_runner_begins_at_nothing(scene: Scene) -> None:
    scene.machine.run(scene.runner, 1.9)
    scene.look()
    copy = scene.machine.fork(scene.runner)
    scene.session.copies.add(copy)
    scene.machine.end(scene.runner)
    scene.session.runner = scene.machine.fork(copy)
    scene.session.began = Period(1.0)
    scene.machine.run(scene.session.runner, 1.9)
    assert not scene.look() and scene.session.account.cpu_seconds == pytest.approx(1.9)


def test_pages_that_are_shared_count_once_where_the_host_may_ask(scene: Scene) -> None:
    """Each holds 100 MiB, and half of it is its share."""
    for _ in range(2):
        scene.machine.fork(scene.runner)
    scene.session.account = Account(Limits(memory_mb=80, cpu_seconds=2.0))
    scene.session.account.inherited_bytes = 100 * MIB
    scene.look()
    scene.machine.run(scene.runner, 0.01)
    assert not scene.look()
    scene.machine.readable = False
    scene.machine.run(scene.runner, 0.01)
    assert scene.outcome(EXACT_SECONDS) == "memory"


def test_what_grew_since_it_was_counted_exactly_is_counted_again_when_it_only_waits(scene: Scene) -> None:
    """Forks of an idle session grow right after they were counted, and then run no more."""
    scene.session.used = False
    scene.session.account = Account(Limits(memory_mb=80, cpu_seconds=2.0))
    scene.session.account.inherited_bytes = 100 * MIB
    forks = [scene.machine.fork(scene.runner) for _ in range(2)]
    for _ in range(2):
        assert not scene.look(IDLE_LOOK_SECONDS)
    for fork in forks:
        scene.machine.living[fork].held += 300 * MIB
        scene.machine.run(fork, 0.01)
    assert not scene.look(EXACT_SECONDS / 2)
    assert scene.outcome(EXACT_SECONDS) == "memory"


def test_a_copy_that_waits_holds_nothing_and_one_that_grows_does(scene: Scene) -> None:
    copy = scene.machine.fork(scene.runner)
    scene.session.copies.add(copy)
    for _ in range(3):
        assert not scene.look()
    scene.machine.living[copy].held += 70 * MIB
    scene.machine.run(copy, 0.1)
    assert scene.outcome() == "memory" and scene.session.ended == {copy}
    assert 70 * MIB > GROWTH_BYTES


@pytest.mark.parametrize("kind", ["runner", "copy", "fork"])
def test_a_process_that_nobody_can_look_into_is_ended(scene: Scene, kind: str) -> None:
    pid = scene.runner if kind == "runner" else scene.machine.fork(scene.runner)
    if kind == "copy":
        scene.session.copies.add(pid)
    assert not scene.look()
    scene.machine.run(pid, 0.01)
    assert not scene.look()
    scene.machine.beheaded.add(pid)
    scene.machine.run(pid, 0.01)
    assert scene.outcome() == "violation" and pid in scene.session.ended


def test_a_process_in_the_making_is_no_guest(scene: Scene) -> None:
    """A copy that is about to freeze holds what the runner holds. Only as many as the host has asked for."""
    scene.machine.living[scene.runner].held += 50 * MIB
    scene.session.promised = 1
    scene.machine.fork(scene.runner)
    for _ in range(3):
        assert not scene.look()
    scene.machine.readable = False
    scene.machine.fork(scene.runner)
    scene.look()
    assert scene.outcome() == "memory"


@pytest.mark.parametrize(("allowed", "outcome"), [(0, "violation"), (4, None)])
def test_forks_that_nobody_asked_for_are_counted_unless_the_policy_allows_them(allowed: int, outcome: str) -> None:
    scene = Scene(processes=allowed)
    for _ in range(MOST_UNORDERED_FORKS + 1):
        assert not scene.look()
        child = scene.machine.fork(scene.runner)
        scene.look()
        scene.machine.end(child)
    assert scene.outcome() == outcome


def test_a_session_at_rest_has_a_budget_of_its_own_and_is_looked_at_more_rarely(scene: Scene) -> None:
    scene.machine.run(scene.runner, 1.9)
    scene.look()
    scene.session.used, scene.session.began = False, Period(1.0)
    scene.look(0.25)
    child = scene.machine.fork(scene.runner)
    scene.machine.run(child, 1.9)
    assert not scene.look(0.25)
    scene.machine.run(child, 0.2)
    assert not scene.look(0.05)
    assert scene.outcome(0.25) == "cpu" and scene.session.ended == {child}


def test_a_session_that_cannot_be_looked_after_is_ended(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for want of a descriptor: the next look may have one."""

    def fails(error: Exception) -> Callable[[], OrderedProcesses]:
        def ordered() -> OrderedProcesses:
            raise error

        return ordered

    monkeypatch.setattr(scene.session, "ordered", fails(OSError("no descriptor")))
    assert not scene.look()
    monkeypatch.setattr(scene.session, "ordered", fails(ValueError("unforeseen")))
    assert scene.outcome() == "crashed"


def test_files_are_asked_for_while_anything_runs(scene: Scene) -> None:
    scene.session.used = False
    for _ in range(3):
        scene.look(0.25)
    assert not scene.session.asked, "nothing changes while it is idle"
    scene.machine.run(scene.runner, 0.1)
    scene.session.files = Verdict("output", "too much")
    assert scene.outcome(0.25) == "output"


def test_branches_of_a_lineage_are_judged_each_by_its_own(scene: Scene) -> None:
    branch, other = scene.branched()
    scene.look()
    grandchild = scene.machine.fork(scene.machine.fork(branch))
    scene.look()
    scene.machine.run(grandchild, 2.5)
    assert not scene.look() and other.verdicts and other.verdicts[0].outcome == "cpu"
    assert grandchild in other.ended and not scene.session.ended


def test_what_nobody_can_be_told_to_have_forked_counts_with_every_branch(scene: Scene) -> None:
    branch, other = scene.branched()
    child = scene.machine.fork(branch)
    orphan = scene.machine.fork(child)
    scene.machine.end(child)
    scene.look()
    scene.machine.run(orphan, 2.5)
    assert scene.look() and other.verdicts


@settings(max_examples=150, deadline=None)
@given(script=st.lists(st.tuples(ACTIONS, st.integers(0, 50)), max_size=120), last=st.sampled_from([350, 400, 32768]))
def test_the_figures_against_the_truth(script: list[tuple[str, int]], last: int) -> None:
    """With a control group the CPU time is exact at each look. Without one it is never too much, and lacks at most
    what processes that have ended used after the last look that saw them. Numbers may run out and begin anew.
    """
    scenes = [Scene(grouped=grouped, held=0, last=last, cpu_seconds=3000.0) for grouped in (True, False)]
    for scene in scenes:
        scene.look()
        unseen, seen, born = 0.0, dict[int, float](), 0
        for action, choice in script:
            before = dict(scene.machine.members(scene.runner))
            if len(before) < 30 or action in ("end", "look"):
                act(scene.machine, scene.runner, action, choice)
                born += action in ("fork", "fork-exit", "thread", "stranger") or 2 * (action == "double-fork")
            gone = before.keys() - scene.machine.members(scene.runner).keys()
            unseen += sum(before[pid].cpu - seen.get(pid, 0.0) for pid in gone)
            if action == "look" or born > 40:  # not so many that all numbers were given out
                scene.look()
                born = 0
                seen = {pid: process.cpu for pid, process in scene.machine.members(scene.runner).items()}
                truth, counted = scene.machine.used[scene.runner], scene.session.account.cpu_seconds
                lacking = 0.0 if scene.session.grouped else unseen
                assert truth - lacking == pytest.approx(counted) and not scene.session.ended
