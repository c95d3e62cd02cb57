"""A locked-down child tries what it must not be able to do, and says what happened.

Reading version numbers proves nothing: a mechanism counts as active when the act that it forbids has failed here.
"""

from __future__ import annotations

import _thread
import errno
import os
import socket
from collections.abc import Callable, Sequence

from safeexec.engine.linux.fork import fork
from safeexec.engine.linux.libc import prctl, syscall
from safeexec.protocol.confinement import Mechanism

_PR_GET_NO_NEW_PRIVS = 39
_PTRACE_TRACEME = 0
_NEW_USER_NAMESPACE = 0x10000000
_BEYOND = 8 << 30
"""Far beyond what threads' stacks and malloc's arenas are granted on top of the limit."""
_OUTSIDE = ("/etc/passwd", "/etc/hostname", "/proc/1/environ", "/root")

_Act = tuple[str, Callable[[], object]]
"""An act in words, and the attempt, which raises where it is refused."""


def try_everything(memory_bytes: int, processes: int) -> list[Mechanism]:
    """Return one row per mechanism, `active` where all failed that it forbids. `memory_bytes` is what the session may
    use, `processes` how many guest code may start.
    """
    wanted = memory_bytes + _BEYOND
    acts: dict[str, Sequence[_Act]] = {
        "seccomp": (
            ("socket()", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0).close()),
            ("ptrace()", lambda: syscall("ptrace", _PTRACE_TRACEME, 0, 0, 0)),
            ("unshare()", lambda: syscall("unshare", _NEW_USER_NAMESPACE)),
        ),
        "programs": (("execve()", _start_program),),
        "files": (
            *((f"opening {path}", lambda path=path: os.close(os.open(path, os.O_RDONLY))) for path in _OUTSIDE),
            ("making a file in /", lambda: os.close(os.open("/safeexec-probe", os.O_WRONLY | os.O_CREAT, 0o600))),
        ),
        "signals": (("a signal to the parent", lambda: os.kill(os.getppid() or 1, 0)),),  # 0: its own group
        # Zeroed memory is address space until it is touched, so that this costs nothing where it succeeds.
        "rlimits": ((f"an allocation of {wanted >> 20} MiB", lambda: bytearray(wanted)),),
        "no-new-privs": (("gaining rights", _gain_rights),),
    }
    if not processes and not _thread._count():  # no fork beside a guest's thread, whose locks the copy would keep
        # The host knows that one is tried, and refuses it where it has a say.
        acts["fork-gate"] = (("fork()", _start_process),)
    return [_tried(name, attempts) for name, attempts in acts.items()]


def _tried(name: str, acts: Sequence[_Act]) -> Mechanism:
    held, findings = True, []
    for what, act in acts:
        try:
            act()
        except OSError as error:
            findings.append(f"{what} was refused ({errno.errorcode.get(error.errno or 0, error.errno)})")
        except MemoryError:
            findings.append(f"{what} was refused")
        except Exception as error:
            held = False
            findings.append(f"{what}: the attempt itself failed: {type(error).__name__}: {error}")
        else:
            held = False
            findings.append(f"{what} WORKED")
    return Mechanism(name, held, f"tried: {', '.join(findings)}")


def _start_program() -> None:
    """Raise OSError where no program can be started, for that reason."""
    try:
        # A path that no machine has: were exec allowed, the answer would be ENOENT, and this process still here.
        os.execv("/nonexistent/program", ["program"])
    except FileNotFoundError:
        return


def _start_process() -> None:
    if fork() == 0:
        os._exit(0)


def _gain_rights() -> None:
    if prctl(_PR_GET_NO_NEW_PRIVS) == 1:
        raise PermissionError(errno.EPERM, "no program can gain rights")
