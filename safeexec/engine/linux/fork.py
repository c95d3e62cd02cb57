"""fork(2) without CPython's hooks: the copy of a process that goes on exactly where the original was.

`os.fork` runs what the libraries have registered for a copy that is to be a process of its own: `random` seeds itself
anew, `threading` and `logging` make new locks, matplotlib closes its fonts. A copy that only waits, and may go on as if
it were the original, needs none of it. It touched 110 of the 580 pages that a fork and one call of a function copied
(CPython 3.11, 20 MB resident).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import os
from typing import Any

# PyDLL: the interpreter's lock stays with this thread, in the copy too. CDLL would let go of it around the call.
_fork: Any = ctypes.PyDLL(None, use_errno=True)["fork"]
_fork.argtypes = []
_fork.restype = ctypes.c_int
_ALL = _signal.valid_signals()


def fork() -> int:
    """Return the copy's process id, or 0 in the copy, which ends where it has no memory to go on. Raises OSError.

    For processes of one thread only: the C library takes its own locks across the fork, nobody takes Python's.
    """
    # fork(2) starts over when a signal is pending: where forks wait for permission of the host it would ask twice.
    # (`signal.pthread_sigmask` makes enum members of the signals that were blocked: 90 pages more for the copy.)
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _ALL)
    pid: int = _fork()
    try:
        errno = ctypes.get_errno() if pid < 0 else 0
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    except MemoryError:
        if pid == 0:
            os._exit(71)  # raised in both, it would take two processes on from here, over the same descriptors
        raise
    if pid < 0:
        raise OSError(errno, os.strerror(errno))
    return pid
