"""Checks that the policy of a session only tightens that of its sandbox or template; what its child lowers for that."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from safeexec.engine.policy.model import Limits, Policy
from safeexec.errors import PolicyError

KEPT = 32
"""Policies that are kept: sessions ask for the same few."""


class TightenedPolicies:
    """The policies of sessions that ask for changes of one policy. The usual few are kept: one takes 1 ms to build."""

    __slots__ = ("_given", "_kept")

    def __init__(self, given: Policy) -> None:
        self._given = given
        self._kept: dict[tuple[str, ...], Policy] = {}

    def of(self, changes: Mapping[str, Any], place: str = "session()") -> Policy:
        """Return the policy with these changes, of the public call `place`. Raises `PolicyError` for one that would
        widen it.
        """
        key = (place, *sorted(f"{name}={value!r}" for name, value in changes.items()))
        policy = self._kept.get(key)
        if policy is None:
            policy = tightened(self._given, changes, place)
            if len(self._kept) < KEPT:
                self._kept[key] = policy
        return policy


def tightened(given: Policy, changes: Mapping[str, Any], place: str = "session()") -> Policy:
    """Return `given` with these changes, of the public call `place`. Raises `PolicyError` for one that would widen it:
    the zygote is confined already.
    """
    if not changes:
        return given
    mode = changes.get("checkpoints")
    if len(changes) == 1 and mode in ("idle", "before-step", "off"):
        return replace(given, checkpoints=mode)
    from safeexec.engine.policy.edit import replaced  # with the loader of YAML

    if "name" in changes:
        raise PolicyError(f"{place} takes no name, which is that of the policy: label= says whose session it is")
    wanted = replaced(given, dict(changes), place)
    for name in Limits.__struct_fields__:
        if getattr(wanted.limits, name) > getattr(given.limits, name):
            raise PolicyError(
                f"limits.{name} can only be lowered for a session: {getattr(wanted.limits, name)} is more than the "
                f"{getattr(given.limits, name)} of the policy {given.name!r}"
            )
    changed = [difference.path for difference in given.diff(wanted)]
    fixed = [path for path in changed if path.partition(".")[0] not in ("limits", "checkpoints", "on_error")]
    if fixed:
        raise PolicyError(f"{fixed[0]} cannot be changed for one session; open a sandbox with another policy")
    return wanted


def own_limits(given: Limits, wanted: Limits) -> dict[str, Any]:
    """Return the fields of `Spawn` with the limits by which a session is held tighter than its sandbox: none
    where it is not.

    The child lowers the limits of the kernel itself, before it reads anything: a root host without CAP_SYS_RESOURCE may
    not (EPERM).
    """
    if wanted is given:
        return {}
    less = (
        (resource.RLIMIT_AS, (given.memory_mb - wanted.memory_mb) << 20),
        (resource.RLIMIT_NOFILE, given.open_files - wanted.open_files),
        (resource.RLIMIT_NPROC, given.processes - wanted.processes + given.threads - wanted.threads),
    )
    own: dict[str, Any] = {}
    if lowered := [(number, by) for number, by in less if by > 0]:
        own = {"lowered": lowered, "threads": wanted.threads}
    if (wanted.value_kb, wanted.value_depth) != (given.value_kb, given.value_depth):
        own["value"] = (wanted.value_kb << 10, wanted.value_depth)
    return own
