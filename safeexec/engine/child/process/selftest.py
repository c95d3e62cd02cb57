"""A locked-down child tries what it must not be able to do, and says what happened.

Reading version numbers proves nothing: a mechanism counts as active when the act that it forbids has failed here.
"""

from __future__ import annotations

import _thread
import errno
import os
import socket
from collections.abc import Callable

from safeexec.engine.linux.fork import fork
from safeexec.engine.linux.libc import prctl, syscall
from safeexec.protocol.confinement import Mechanism

_PR_GET_NO_NEW_PRIVS = 39
_PTRACE_TRACEME = 0
_BEYOND = 8 << 30
"""Far beyond what threads' stacks and malloc's arenas are granted on top of the limit."""
_OUTSIDE = ("/etc/passwd", "/etc/hostname", "/proc/1/environ", "/root")
_Act = Callable[[], "tuple[bool, str]"]


def try_everything(memory_bytes: int, processes: int) -> list[Mechanism]:
    """One row per act, `active` where it failed as it should. `memory_bytes` is what the session may use, `processes`
    how many guest code may start.
    """
    acts: list[tuple[str, _Act]] = [
        ("seccomp", _seccomp),
        ("programs", _programs),
        ("files", _files),
        ("signals", _signals),
        ("rlimits", lambda: _memory(memory_bytes)),
        ("no-new-privs", _no_new_privs),
    ]
    if not processes and not _thread._count():  # no fork beside a guest's thread, whose locks the copy would keep
        acts.append(("fork-gate", _forks))
    rows = []
    for name, act in acts:
        try:
            held, detail = act()
        except Exception as error:
            held, detail = False, f"the attempt itself failed: {type(error).__name__}: {error}"
        rows.append(Mechanism(name, held, f"tried: {detail}"))
    return rows


def _refused(error: OSError) -> str:
    number = error.errno or 0
    return f"refused ({errno.errorcode.get(number, number)})"


def _seccomp() -> tuple[bool, str]:
    outcomes, held = [], True
    for name, act in (
        ("socket()", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0).close()),
        ("ptrace()", lambda: syscall("ptrace", _PTRACE_TRACEME, 0, 0, 0)),
        ("unshare()", lambda: syscall("unshare", 0x10000000)),
    ):
        try:
            act()
        except OSError as error:
            outcomes.append(f"{name} {_refused(error)}")
        else:
            held = False
            outcomes.append(f"{name} WORKED")
    return held, ", ".join(outcomes)


def _programs() -> tuple[bool, str]:
    try:
        # A path that no machine has: were exec allowed, the answer would be ENOENT, and this process would still be
        # here.
        os.execv("/nonexistent/program", ["program"])
    except OSError as error:
        return error.errno == errno.EPERM, f"execve() {_refused(error)}"


def _files() -> tuple[bool, str]:
    for path in _OUTSIDE:
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError:
            continue
        return False, f"{path} could be opened"
    try:
        os.close(os.open("/safeexec-probe", os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        return True, f"no file outside could be opened; creating one in / was {_refused(error)}"
    return False, "a file could be created in /"


def _signals() -> tuple[bool, str]:
    try:
        os.kill(os.getppid() or 1, 0)
    except OSError as error:
        return True, f"a signal to the parent was {_refused(error)}"
    return False, "a signal reached the parent"


def _memory(memory_bytes: int) -> tuple[bool, str]:
    # Zeroed memory is address space until it is touched, so that this costs nothing where it succeeds.
    wanted = memory_bytes + _BEYOND
    try:
        bytearray(wanted)
    except MemoryError:
        return True, f"{wanted >> 20} MiB were refused"
    return False, f"{wanted >> 20} MiB could be had"


def _forks() -> tuple[bool, str]:
    """The host knows that one is tried, and refuses it where it has a say."""
    try:
        pid = fork()
    except OSError as error:
        return True, f"fork() waited for the host, and was {_refused(error)}"
    if pid == 0:
        os._exit(0)
    return False, "a process could be started; the host counts them, and ends what it finds"


def _no_new_privs() -> tuple[bool, str]:
    value = prctl(_PR_GET_NO_NEW_PRIVS)
    return value == 1, f"the kernel says {value}"
