"""Does what programs and libraries do by calls that the filter refuses (`syscalls.table`) by others that it allows;
and what would end the process of a mistaken program without a word, done within what there is.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import sys
from typing import Any, NoReturn

from safeexec.engine.child.on_import import after_import, replace_after_import

_OPTIONS = ("flags", "prot", "access", "offset")
"""The arguments of `mmap.mmap` after file and length."""
_NO_WRITING = (
    "no file is written to through memory here, which could not be undone: read it (mode 'r', or 'c' to change it in "
    "memory alone) and write it as a file (`array.tofile`, `numpy.save`, `file.write`)"
)


_LEVEL = 419
"""Bytes of the stack for a level of recursion. Few ways through C code take more, and overflow it: `map`, `sorted`."""
_DEEPEST = 300_000
"""Levels where the stack has no limit."""


def install() -> None:
    """Replace them now or when each module is imported. In the zygote: its children inherit it."""
    _limit_recursion()
    _fork_in_spite_of_signals()
    after_import("mmap", _map_privately)
    after_import("sqlite3", _index_in_memory)
    # Several buffers are sent one by one: 3.12 and later use sendmsg for it, which can carry descriptors, too.
    replace_after_import("asyncio.selector_events", {"_HAS_SENDMSG": False})


def refuse_programs() -> None:
    """Let `subprocess` fail with an error that programs catch, where no process may be started.

    A courtesy to libraries that ask the machine about itself (`platform.processor`, matplotlib's list of fonts) and do
    without an answer: a fork that reaches the kernel waits there, and ends the step.
    """
    import _posixsubprocess

    def fork_exec(*_: object) -> NoReturn:
        raise PermissionError(errno.EPERM, "no program can be started")

    _posixsubprocess.fork_exec = fork_exec
    if (loaded := sys.modules.get("subprocess")) is not None:
        loaded._fork_exec = fork_exec  # type: ignore[attr-defined]


def _limit_recursion() -> None:
    """Cut a recursion limit to what the stack has room for, so that an endless recursion is a RecursionError."""
    set_limit = sys.setrecursionlimit

    def setrecursionlimit(limit: int, /) -> None:
        """Set the maximum depth of the Python interpreter stack to n, at most what the stack has room for."""
        if isinstance(limit, int):
            stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
            limit = min(limit, _DEEPEST if stack < 0 else stack // _LEVEL)
        set_limit(limit)

    setrecursionlimit.__module__, setrecursionlimit.__qualname__ = "sys", "setrecursionlimit"
    sys.setrecursionlimit = setrecursionlimit


def _fork_in_spite_of_signals() -> None:
    """Have a fork asked for again that a signal with a handler has interrupted while it waited for the host: fork(2)
    starts over by itself, and no program expects EINTR of it.
    """
    fork_once = os.fork

    def fork() -> int:
        """Fork a child process. Return 0 to child process and PID of child to parent process."""
        while True:
            with contextlib.suppress(InterruptedError):
                return fork_once()

    fork.__module__, fork.__qualname__ = "posix", "fork"
    os.fork = fork


def _map_privately() -> None:
    """Make mappings private that are shared by default, which the filter refuses. Memory without a file would be shared
    with forks, of which there are none here. A file is read as well by a private mapping; a writer gets the error
    what to do.
    """
    module: Any = sys.modules["mmap"]
    shared = module.mmap

    def __new__(cls: type, fileno: int, length: int, *arguments: Any, **options: Any) -> Any:
        options |= zip(_OPTIONS, arguments, strict=False)
        access, flags = options.pop("access", module.ACCESS_DEFAULT), options.get("flags", module.MAP_SHARED)
        if access == module.ACCESS_COPY:
            return shared.__new__(cls, fileno, length, access=access, **options)
        if access == module.ACCESS_READ:
            options["prot"] = module.PROT_READ
        if fileno != -1 and flags & module.MAP_SHARED and options.get("prot", module.PROT_WRITE) & module.PROT_WRITE:
            try:
                return shared.__new__(cls, fileno, length, **options)
            except OSError as error:
                if error.errno != errno.ENODEV:
                    raise
            raise OSError(errno.ENODEV, _NO_WRITING)
        options["flags"] = flags & ~module.MAP_SHARED | module.MAP_PRIVATE
        return shared.__new__(cls, fileno, length, **options)

    module.mmap = type("mmap", (shared,), {"__new__": __new__, "__module__": "mmap", "__doc__": shared.__doc__})


def _index_in_memory() -> None:
    """Set SQLite so that it knows of no other processes. Else it maps a file that holds the index of a write-ahead log;
    now the index lies in memory of its own, for all connections of this process.
    """
    with contextlib.suppress(OSError, AttributeError):  # a build that does not show the functions of SQLite
        library = ctypes.CDLL(getattr(sys.modules["_sqlite3"], "__file__", None))
        find = library.sqlite3_vfs_find
        find.restype = ctypes.c_void_p
        if (alone := find(b"unix-excl")) is not None:
            library.sqlite3_vfs_register(ctypes.c_void_p(alone), 1)
