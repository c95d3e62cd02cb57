"""What holds one session, as data: what was planned for it, and what its process found when it tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from safeexec.engine.host.watch import groups
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.engine.linux.cgroups import Group
    from safeexec.engine.policy.model import Policy

SHARED = (
    "sessions of the template {!r} and their branches share what forks share: a user, a process group, a limit on "
    "processes, the Landlock domain of their first process; when one is stopped, all pause. Give each principal a "
    "template of its own"
)


def planned(policy: Policy, group: Group | None, template: str | None) -> list[Mechanism]:
    """Return what is to hold a session besides what holds its sandbox, and what does not and why. `template`: the name
    of the state that it began in.
    """
    rows = groups.mechanisms()
    if group is None:
        why = "not needed, as its guests may start no process, or no group could be made for this session"
        rows = [Mechanism(row.name, False, why) if row.active else row for row in rows]
    if template is not None:
        rows = [*rows, Mechanism("own-lineage", False, SHARED.format(template))]
    return rows


def as_tried(rows: Iterable[Mechanism], tried: Iterable[Mechanism]) -> tuple[Mechanism, ...]:
    """Return the rows that were planned, each with what came of trying: active is what both say."""
    found = {row.name: row for row in rows}
    for act in tried:
        row = found.get(act.name, act)
        detail = act.detail if row is act or not row.detail else f"{row.detail}; {act.detail}"
        found[act.name] = Mechanism(act.name, act.active and row.active, detail)
    return tuple(found.values())
