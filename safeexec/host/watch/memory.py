"""What processes of a session really hold, beyond what they share with the zygote and with each other."""

from __future__ import annotations

from collections.abc import Iterable

from safeexec.linux import processes


def own_bytes(pid: int) -> int:
    """Bytes that would be freed if process `pid` ended: its unique set size; and what it holds of shared memory.

    Where the host may not read that (an ordinary user's host, a process that cannot be dumped), the resident bytes that
    no file backs, which also count what is still shared with a parent: too much rather than too little. 0 if it is
    gone.
    """
    import psutil

    try:
        return int(psutil.Process(pid).memory_full_info().uss) + processes.shared_memory(pid)
    except psutil.AccessDenied:
        return processes.private_memory(pid)
    except psutil.NoSuchProcess:
        return 0


def total_own_bytes(pids: Iterable[int]) -> int:
    return sum(own_bytes(pid) for pid in pids)
