"""Makes this process believe that it runs on macOS or Windows: their names, and without what they lack.

It must come before anything of safeexec is imported. What the standard library itself does by the platform was imported
before and stays this system's: `os.WNOHANG`, SIGKILL and AF_UNIX are there for subprocess and asyncio.
"""

from __future__ import annotations

import asyncio
import ctypes
import http.client  # noqa: F401
import logging  # noqa: F401
import multiprocessing  # noqa: F401
import os
import select
import signal
import socket
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
from typing import Any

_BOTH = (
    "memfd_create pidfd_open sched_getaffinity sched_setaffinity eventfd eventfd_read eventfd_write MFD_CLOEXEC O_PATH "
)
_LACKING: dict[str, dict[Any, str]] = {
    "darwin": {
        os: _BOTH
        + "pipe2 splice getrandom unshare setns prlimit posix_fadvise setresuid setresgid O_TMPFILE fdatasync",
        signal: "pidfd_send_signal",
        socket: "SOCK_CLOEXEC SO_PEERCRED SO_PASSCRED",
        select: "epoll",
    },
    "win32": {
        os: _BOTH
        + "fork forkpty setresuid setresgid setuid geteuid getuid setsid killpg O_DIRECTORY O_NOFOLLOW O_CLOEXEC "
        "O_NONBLOCK O_NOCTTY getpgid waitid wait3 wait4 register_at_fork uname setgroups posix_spawn fchmod fstatvfs",
        signal: "SIGCHLD SIGALRM SIGUSR1 SIGPIPE SIGXCPU setitimer pthread_sigmask pidfd_send_signal",
        socket: "send_fds recv_fds SCM_RIGHTS CMSG_SPACE SO_PEERCRED SO_PASSCRED",
        select: "epoll poll POLLIN POLLOUT PIPE_BUF",
    },
}
_MODULES = ("fcntl", "resource", "termios", "pwd", "grp", "tty", "pty", "syslog", "readline")


def pretend(system: str) -> None:
    """Become `darwin` or `win32`."""
    asyncio.new_event_loop().close()  # since 3.14 the first loop decides by the platform of which kind all are
    for module, names in _LACKING[system].items():
        for name in names.split():
            module.__dict__.pop(name, None)
    if sys.version_info >= (3, 13):
        os.process_cpu_count = os.cpu_count  # as it is where processes are bound to no processor
    if system == "win32":
        sys.modules.update(dict.fromkeys(_MODULES))  # type: ignore[arg-type]  # None: not to be had
        real = ctypes.CDLL

        class NeedsName(real):  # type: ignore[misc, valid-type]
            def __init__(self, name: str | None, *more: Any, **options: Any) -> None:
                if name is None:
                    raise TypeError("LoadLibrary() argument 1 must be str, not None")
                super().__init__(name, *more, **options)

        ctypes.CDLL = NeedsName  # type: ignore[misc]
    sys.platform = system
