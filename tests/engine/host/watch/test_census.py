"""Whose a process is, and what it costs to find it, by the truth of a scripted machine."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec.engine.host.watch.census import LARGEST_RANGE, LIST_SECONDS, Census, Process, owner_of
from tests.engine.host.watch.scripted import ScriptedMachine


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


def test_parents_that_name_each_other_own_nothing() -> None:
    """Numbers are given out again: what two looks saw may be a circle."""
    circle = {2: Process(2, 3, 0), 3: Process(3, 2, 0)}
    assert owner_of(circle[2], circle, {9: 0}) is None


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
