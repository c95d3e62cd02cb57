"""What is kept of a session's steps with a saved state."""

from __future__ import annotations

from typing import Any

import pytest

from safeexec.engine.child.repeat.repeatable import Repeatable, Seen


def with_classes() -> Repeatable:
    known = Repeatable({}, (), ())
    known.seen = Seen(classes=True)
    return known


def test_a_state_goes_on_with_what_its_steps_had_shown() -> None:
    restored = Repeatable({}, (), ())
    restored.know(with_classes().known())
    assert restored.seen == Seen(classes=True, tainted=True)


@pytest.mark.parametrize("flags", [[True, False], {"classes": False, "of another version": True}])
def test_what_another_version_had_not_told_counts_as_seen(flags: Any) -> None:
    restored = Repeatable({}, (), ())
    restored.know((flags, []))
    assert restored.seen.random and restored.seen.unseen_sets
    assert restored.seen.classes is (type(flags) is list)
