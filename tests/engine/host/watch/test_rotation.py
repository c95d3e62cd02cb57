"""Whose turn it is: who is in use at every look with all who share its processes, everybody else soon enough."""

from __future__ import annotations

import gc

from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec.engine.host.watch.rotation import IDLE_LOOK_SECONDS, IDLE_RATE, Rotation

LOOK = 0.05


class Session:
    def __init__(self, *leaders: int) -> None:
        self.leaders = set(leaders)
        self.idle = False
        self.used = False

    def lineage_leaders(self) -> set[int]:
        return self.leaders

    def in_use(self) -> bool:
        return self.used

    def use(self, rotation: Rotation) -> None:
        """As a caller does: its turn first, then a look at the mark."""
        self.used = True
        if self.idle:
            rotation.wake(self)


class Watch:
    """Turns one after the other."""

    def __init__(self) -> None:
        self.rotation = Rotation()
        self.now = 0.0
        self.visits: dict[int, float] = {}

    def turn(self, seconds: float = LOOK) -> dict[int, list[Session]]:
        self.now += seconds
        lineages, _ = self.rotation.turn(self.now)
        assert all(lineages.values())
        self.visits |= dict.fromkeys(lineages, self.now)
        self.rotation.looked(lineages, self.now)
        return lineages


def test_a_thousand_that_are_idle_come_in_turn_beside_the_one_in_use() -> None:
    watch = Watch()
    sessions = [Session(number) for number in range(1001)]
    for session in sessions:
        watch.rotation.enter(session)
    sessions[0].use(watch.rotation)
    watch.turn()
    began = watch.now
    seen: set[int] = set()
    while watch.now - began < 1000 / IDLE_RATE + IDLE_LOOK_SECONDS:
        lineages = watch.turn()
        assert 0 in lineages and len(lineages) <= IDLE_RATE * LOOK + 2
        seen |= lineages.keys()
    assert len(seen) == 1001


def test_who_is_removed_or_gone_has_no_turn() -> None:
    watch = Watch()
    sessions = [Session(number) for number in range(3)]
    for session in sessions:
        watch.rotation.enter(session)
    watch.turn()
    watch.rotation.remove(sessions[0])
    del sessions[1:], session
    gc.collect()
    assert not watch.turn(2 * IDLE_LOOK_SECONDS) and not watch.rotation.leaders() and not len(watch.rotation)


ACTS = st.tuples(st.sampled_from(["use", "rest", "join", "leave", "move", "end"]), st.integers(0, 9))


@settings(max_examples=30, deadline=None)
@given(script=st.lists(st.lists(ACTS, max_size=3), min_size=30, max_size=150))
def test_no_session_waits_too_long_and_none_is_left_out_of_its_lineage(script: list[list[tuple[str, int]]]) -> None:
    """Whatever they do meanwhile. Only who is in use comes by another lineage."""
    watch = Watch()
    sessions = {number: Session(number) for number in range(10)}
    for session in sessions.values():
        watch.rotation.enter(session)
    for number, acts in enumerate(script):
        for act, which in acts:
            if act == "use" and which in sessions:
                sessions[which].use(watch.rotation)
            elif act == "rest" and which in sessions:
                sessions[which].used = False
            elif act == "join" and which not in sessions:
                sessions[which] = Session(which)
                watch.rotation.enter(sessions[which])
            elif act == "leave" and which in sessions:
                watch.rotation.remove(sessions.pop(which))
            elif act == "move" and which in sessions and sessions[which].used:
                sessions[which].leaders ^= {100 + number % 3}
            elif act == "end" and which in sessions and sessions[which].used:
                sessions[which].leaders = set()
        lineages = watch.turn(IDLE_LOOK_SECONDS)
        for session in sessions.values():
            for leader in session.leaders:
                if session.used:
                    assert leader in lineages
                if leader in lineages:
                    assert session in lineages[leader]
        for leader in {leader for session in sessions.values() for leader in session.leaders}:
            assert watch.now - watch.visits[leader] <= 2 * IDLE_LOOK_SECONDS
