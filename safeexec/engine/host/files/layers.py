"""One more layer of Landlock for a branch: all that its session may read, and of the workspaces its own region alone.

The ruleset is made here, since no child may make one, and travels with the resume; the branch enters it before any code
of the guest goes on. The kernel judges a path by every layer that a process has: what only the older ones allow, the
workspaces of the session that the branch comes from and of its siblings, is out of reach.
"""

from __future__ import annotations

import os

from safeexec.engine.linux import landlock
from safeexec.protocol.confinement import ChildConfinement

_WORKSPACE_RIGHTS = {"none": 0, "read": landlock.READ, "write": landlock.WRITE}


class BranchLayers:
    """Makes the rulesets of one sandbox's branches."""

    def __init__(self, plan: ChildConfinement | None, proc: int) -> None:
        """`proc`: a descriptor of the ``/proc`` that children see, -1 where they have none of their own."""
        self._plan = plan
        self._proc = proc

    def ruleset(self, region: str) -> int | None:
        """Return a descriptor of the ruleset for a branch whose files lie in `region`; None where there is no Landlock.

        Raises OSError.
        """
        plan = self._plan
        if plan is None or not plan.landlock or plan.files == "none":
            return None
        ruleset = landlock.Ruleset(plan.landlock)
        try:
            ruleset.add_paths(plan.read, landlock.READ)
            ruleset.add_paths(plan.devices, landlock.DEVICE)
            if self._proc >= 0:
                ruleset.add_descriptor(self._proc, landlock.READ)
            ruleset.add_path(region, _WORKSPACE_RIGHTS[plan.files])
        except BaseException:
            ruleset.close()
            raise
        return ruleset.descriptor

    def close(self) -> None:
        """Let go of ``/proc``."""
        proc, self._proc = self._proc, -1
        if proc >= 0:
            os.close(proc)
