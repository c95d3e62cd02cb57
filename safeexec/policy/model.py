"""The policy as frozen objects: what guest code may do, and the limits that hold it."""

from __future__ import annotations

from typing import Literal

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers that hold for a whole session (all its processes together), unless the name says otherwise."""

    wall_seconds: float = 5.0
    """Default deadline of one step, seconds by the host's clock."""
    max_wall_seconds: float = 60.0
    """The largest `timeout=` that a caller may ask for."""
    cpu_seconds: float = 60.0
    """CPU time of one step."""
    memory_mb: int = 256
    """Memory beyond what the zygote already uses, in MiB."""
    output_kb: int = 256
    """stdout and stderr kept per step, each, in KiB; sixteen times as much ends the step."""
    processes: int = 0
    """Processes that guest code itself may start."""
    threads: int = 0
    """Threads that guest code may start."""
    open_files: int = 64
    workspace_mb: int = 64
    workspace_files: int = 1000
    step_source_kb: int = 256
    value_kb: int = 16384
    """Size of one value that crosses to the host."""
    value_depth: int = 64
    checkpoints: int = 16
    """Named checkpoints of one session."""
    checkpoint_memory_mb: int = 1024
    branches: int = 32


class Filesystem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    workspace: Literal["none", "read-only", "read-write"] = "none"
    read: tuple[str, ...] = ()
    """Further paths of the host that guest code may read."""


class Determinism(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    seed: int = 0
    clock: str = "real"
    """`real`, or the ISO 8601 instant at which the clock stands still."""
    hash_seed: int = 0
