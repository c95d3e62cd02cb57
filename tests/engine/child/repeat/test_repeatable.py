"""What a step is judged by, where sessions show it badly: the tables, what is learnt late, what a saved state keeps."""

from __future__ import annotations

from typing import Any

import pytest

from safeexec.engine.child.repeat import tables
from safeexec.engine.child.repeat.repeatable import Repeatable, Seen
from safeexec.engine.policy.names import GUARD_ATTRIBUTE, GUARD_NAMES, GUARD_REFUSED, GUARD_SET


def test_a_guard_counts_as_what_it_stands_for() -> None:
    """Those of `tables.GUARDS` wherever that counts; the others are texts that are judged, and what shows a set."""
    assert {*tables.GUARDS.values()} == GUARD_NAMES - {GUARD_ATTRIBUTE, GUARD_REFUSED, GUARD_SET}
    for what, table in vars(tables).items():
        if isinstance(table, frozenset) and what != "DUNDERS":  # of which names with underscores alone count
            assert {*tables.GUARDS} & table == {name for name, guard in tables.GUARDS.items() if guard in table}


def test_a_state_goes_on_with_what_its_steps_had_shown() -> None:
    saved, restored = Repeatable({}, (), ()), Repeatable({}, (), ())
    saved.seen = Seen(classes=True)
    restored.know(saved.known())
    assert restored.seen == Seen(classes=True, tainted=True)


@pytest.mark.parametrize("flags", [[True, False], {"classes": False, "of another version": True}])
def test_what_another_version_had_not_told_counts_as_seen(flags: Any) -> None:
    restored = Repeatable({}, (), ())
    restored.know((flags, []))
    assert restored.seen.texts and restored.seen.unseen_sets
    assert restored.seen.classes is (type(flags) is list)
