"""What a policy means for the kernel: the setting behind each group of system calls, and which file calls there are.

The host builds its confinement plan from this, and `why` answers from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safeexec.policy.model import Filesystem, Policy
    from safeexec.protocol.confinement import Files

SETTINGS = {
    "files": "filesystem.workspace",
    "metadata": "filesystem.workspace",
    "links": "filesystem.workspace",
    "threads": "limits.threads",
    "processes": "limits.processes",
    "limits": "limits",
    "network": "socketpair",
    "executable-mappings": "danger_allow_executable_mappings",
    "programs": "danger_allow_commands",
}
"""Group of refused system calls (`syscalls.table.GROUPS`) → the setting of a policy that is behind it."""


def rules(policy: Policy) -> dict[str, str]:
    """Group of refused system calls → where the policy says so; under ``profile`` what stands for all others."""
    written = {group: origin for group, path in SETTINGS.items() if (origin := policy.origin(path))}
    return {"profile": f"the kernel confinement of profile {policy.name}"} | written


def file_calls(filesystem: Filesystem) -> Files:
    """Which file calls there are. Libraries import late and read data, so that reading is always one of them."""
    return "write" if filesystem.workspace == "read-write" else "read"
