"""The kernel part of a policy: the setting behind each group of system calls, and which file calls there are.

The host builds its confinement plan from this, and `why` answers from it.
"""

from __future__ import annotations

import sys
from collections.abc import Container
from typing import TYPE_CHECKING

from safeexec.engine.policy.access import STDLIB, WORDS
from safeexec.protocol.confinement import ChildConfinement
from safeexec.protocol.printed import stream_bytes

if TYPE_CHECKING:
    from safeexec.engine.policy.settings import Limits, PolicyData

SETTINGS = {
    "files": "filesystem.workspace",
    "metadata": "filesystem.workspace",
    "links": "filesystem.workspace",
    "threads": "limits.threads",
    "processes": "limits.processes",
    "limits": "limits",
    "network": "socketpair",
    "programs": "danger_allow_commands",
}
"""Group of refused system calls (`syscalls.table.GROUPS`) → the setting of a policy that is behind it."""


def rules(policy: PolicyData) -> dict[str, str]:
    """Return group of refused system calls → where the policy says so; under ``profile`` what stands for all others."""
    written = {group: origin for group, path in SETTINGS.items() if (origin := policy.origin(path))}
    return {"profile": f"the kernel confinement of profile {policy.name}"} | written


WANTED: dict[str, tuple[str, object]] = {
    **dict.fromkeys(
        ("threading.Thread", "threading.Timer", "concurrent.futures.ThreadPoolExecutor", "asyncio.to_thread"),
        ("limits.threads", 16),
    ),
    **dict.fromkeys(
        ("asyncio.run", "asyncio.Runner", "asyncio.new_event_loop", "asyncio.get_event_loop"), ("socketpair", True)
    ),
}
"""Name of a module → the setting without which the kernel keeps it from working, and a value that lets it work."""


def wanted(module: str, names: Container[str]) -> dict[str, object]:
    """Return the settings without which names of a module do not work, with the values that let them."""
    if module in WORDS:
        return {}
    found: dict[str, object] = {}
    for dotted, (setting, value) in WANTED.items():
        owner, _, leaf = dotted.rpartition(".")
        if f"{owner}.".startswith(f"{module}.") and leaf in names:
            found.setdefault(setting, value)
    return found


OPEN_LINE = "builtins: {add: [open]}"
"""The line of a policy that lets programs open files."""


def lacks_open(policy: PolicyData) -> bool:
    """Return whether there are files to open, and no `open`."""
    files = policy.filesystem.workspace != "none" or bool(policy.filesystem.read)
    return files and policy.language.mode == "restricted" and "open" not in policy.builtins


SPARE_DESCRIPTORS = 32
"""Beyond `limits.open_files`: what the process itself has open."""
_THREAD_STACK = 8 << 20
_ARENAS = 2 * (128 << 20)  # two malloc arenas, each reserving twice 64 MiB to align itself


def address_space(limits: Limits) -> int:
    """Return how many bytes a process may map beyond what it was born with: threads reserve more than they use."""
    reserve = limits.threads * _THREAD_STACK + (_ARENAS if limits.threads else 0)
    return (limits.memory_mb << 20) + reserve


_OF_A_BRANCH = 4
"""Processes of a branch while it begins a step: the runner, the copies of the state and of the one before, and the one
that is being made. With two for each, a third of 32 branches had no checkpoint after four steps."""


def session_processes(limits: Limits) -> int:
    """Return how many processes a session may have alive at once: runner, branches, threads, frozen checkpoints."""
    return 8 + limits.processes + limits.threads + limits.checkpoints + _OF_A_BRANCH * limits.branches


def child_confinement(policy: PolicyData) -> ChildConfinement:
    """Return what a policy alone decides of a child's confinement, as on a machine that can do everything."""
    limits, writes = policy.limits, policy.filesystem.workspace == "read-write"
    # Compiled parts of libraries, but for Python's own, make code in memory (JIT compilers, callbacks of ctypes), and
    # any of them could do so for a program.
    libraries = policy.language.mode == "python" or bool(policy.requirements)
    libraries |= any(
        name != STDLIB and name.partition(".")[0] not in sys.stdlib_module_names for name in policy.imports
    )
    return ChildConfinement(
        memory_bytes=address_space(limits),
        cpu_seconds=3600 + 100 * int(limits.cpu_seconds),
        file_bytes=max(limits.workspace_mb << 20, stream_bytes(limits.output_kb << 10)),
        open_files=limits.open_files + SPARE_DESCRIPTORS,
        processes=session_processes(limits),
        threads=limits.threads,
        event_loop=policy.socketpair,
        executable_memory=libraries,
        files="write" if writes else "read",  # libraries are read by every child: they import late, and have data
        metadata=writes,
        landlock=6,
        rules=rules(policy),
    )


COMMAND_THREADS = 64
"""Threads and processes that a command may have where the policy gives guest code fewer: pytest alone starts some."""
