"""What a child is told of a session that is held tighter than its sandbox."""

from __future__ import annotations

from msgspec.structs import replace

from safeexec.engine.host.session.tightened import own_limits
from safeexec.engine.policy.model import Limits
from safeexec.engine.policy.plans import limits_plan

HELD_BY_THE_HOST = {"cpu_seconds", "output_kb", "workspace_mb"}
"""Limits of which a child has a number, while the host ends the step of a session that has a lower one."""


def test_a_child_is_told_of_each_lower_limit_but_for_those_that_the_host_holds():
    given = Limits(processes=4, threads=4)
    for name in Limits.__struct_fields__:
        least = 1 if name in ("processes", "threads") else getattr(given, name) // 2
        lower = replace(given, **{name: least})
        if limits_plan(lower) != limits_plan(given):
            assert bool(own_limits(given, lower)) != (name in HELD_BY_THE_HOST), name
