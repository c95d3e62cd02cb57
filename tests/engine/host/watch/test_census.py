"""Who is there, by the truth of a scripted machine: whatever a lineage does, a look finds all that live."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec.engine.host.watch.census import LARGEST_RANGE, LIST_SECONDS, Census, Process, owner_of
from tests.engine.host.watch.scripted import ScriptedMachine

ACTIONS = st.sampled_from(["fork", "fork-exit", "double-fork", "thread", "end", "run", "stranger", "look"])


def act(machine: ScriptedMachine, leader: int, action: str, choice: int) -> None:
    """One thing that happens in a lineage whose leader lives on; `choice` picks the member."""
    members = sorted(machine.members(leader))
    pid = members[choice % len(members)]
    if action == "fork":
        machine.fork(pid)
    elif action == "fork-exit" and pid != leader:
        machine.fork(pid)
        machine.end(pid)
    elif action == "double-fork":
        machine.fork(child := machine.fork(pid))
        machine.end(child)
    elif action == "thread":
        machine.thread(pid)
    elif action == "end" and pid != leader:
        machine.end(pid)
    elif action == "run":
        machine.run(pid, 0.25)
    elif action == "stranger":
        machine.leader()


@settings(max_examples=300, deadline=None)
@given(
    script=st.lists(st.tuples(st.integers(0, 1), ACTIONS, st.integers(0, 50)), max_size=120),
    last=st.sampled_from([350, 400, 32768]),
)
def test_a_look_finds_all_that_live_and_nobody_else(script: list[tuple[int, str, int]], last: int) -> None:
    """Two lineages beside strangers; numbers may run out and begin anew between two looks."""
    machine = ScriptedMachine(last)
    leaders = machine.leader(), machine.leader()
    census = Census(machine)
    for leader in leaders:
        census.watch(leader)
    now, born = 0.0, 0
    for which, action, choice in script:
        if len(machine.living) < 40 or action in ("end", "look"):
            act(machine, leaders[which], action, choice)
            born += action in ("fork", "fork-exit", "thread", "stranger") or 2 * (action == "double-fork")
        if action == "look" or born > 40:  # not so many that all numbers were given out
            now, born = now + 0.05, 0
            census.find(now)
            for leader in leaders:
                found = census.measure(leader)
                truth = machine.members(leader)
                assert {process.pid: (process.start, process.cpu) for process in found} == {
                    pid: (process.start, process.cpu) for pid, process in truth.items()
                }


def watched() -> tuple[ScriptedMachine, int, Census]:
    machine = ScriptedMachine()
    leader = machine.leader()
    census = Census(machine)
    census.watch(leader)
    return machine, leader, census


@settings(max_examples=200, deadline=None)
@given(script=st.lists(st.tuples(st.sampled_from(["fork", "end", "look"]), st.integers(0, 50)), max_size=60))
def test_a_process_has_its_owner_as_long_as_looks_have_seen_its_ancestors(script: list[tuple[str, int]]) -> None:
    """Branches: what descends from one belongs to it, also when those between have ended one after the other."""
    machine = ScriptedMachine()
    leader = machine.leader()
    branch = machine.fork(leader)
    owners = {leader: 0, branch: 1}
    truth = dict(owners)
    census = Census(machine)
    census.watch(leader)
    for now, (action, choice) in enumerate(script):
        members = sorted(set(machine.members(leader)) & set(truth))
        pid = members[choice % len(members)]
        if action == "fork":
            truth[machine.fork(pid)] = truth[pid]
        elif action == "end" and pid not in owners:
            machine.end(pid)
        census.find(float(now))
        found = {process.pid: process for process in census.measure(leader)}
        for process in found.values():
            assert owner_of(process, found, owners) == truth[process.pid]


def test_an_orphan_that_no_look_has_seen_before_has_no_owner() -> None:
    machine, leader, census = watched()
    orphan = machine.fork(child := machine.fork(leader))
    machine.end(child)
    census.find(0.0)
    found = {process.pid: process for process in census.measure(leader)}
    assert owner_of(found[orphan], found, {leader: 0}) is None


def test_parents_that_name_each_other_own_nothing() -> None:
    """Numbers are given out again: what two looks saw may be a circle."""
    circle = {2: Process(2, 3, 0), 3: Process(3, 2, 0)}
    assert owner_of(circle[2], circle, {9: 0}) is None


def test_numbers_that_begin_anew_are_asked_for_without_listing() -> None:
    machine = ScriptedMachine(last=400)
    leader = machine.leader()
    for _ in range(98):
        machine.end(machine.leader())
    census = Census(machine)
    census.watch(leader)
    census.find(0.0)
    listed = machine.listed
    forked = [machine.fork(leader) for _ in range(3)]
    assert forked[0] > forked[1], "they did not begin anew"
    census.find(LIST_SECONDS / 2)
    assert machine.listed == listed and set(census.lineages[leader]) == {leader, *forked}


def test_births_are_found_without_listing_and_many_by_listing() -> None:
    machine, leader, census = watched()
    census.find(0.0)
    listed = machine.listed
    forked = machine.fork(leader)
    census.find(LIST_SECONDS / 2)
    assert machine.listed == listed and forked in census.lineages[leader]
    for _ in range(LARGEST_RANGE + 1):
        machine.end(machine.leader())
    another = machine.fork(leader)
    census.find(LIST_SECONDS / 2)
    assert machine.listed == listed + 1 and another in census.lineages[leader]


def test_what_the_numbers_do_not_tell_is_found_within_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody else makes up what the kernel says."""
    machine, leader, census = watched()
    census.find(0.0)
    monkeypatch.setattr(machine, "newest", lambda: 0)
    forked = machine.fork(leader)
    census.find(0.1)
    census.find(LIST_SECONDS + 0.1)
    assert forked in census.lineages[leader]
