"""Refusals that guest code or a library catches while a step runs: by the kernel, and by `getattr` with a default.

A caught exception leaves no trace. So this module listens to the interpreter's audit events, which come before an
operation is tried. It notes a call that the filter of this child refuses; for a path outside of the workspace it asks
the kernel, by opening the path. It hears what Python's own functions do (``open``, `os`, `socket`, `subprocess`), not
what C code of a library calls by itself. A new thread that is refused raises no event of its own. So calls are listed,
too, whose failure reaches no errno (`os.system` returns -1).
"""

from __future__ import annotations

import errno
import resource
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from safeexec.common.own import os
from safeexec.engine import advice
from safeexec.engine.child.repeat.repeatable import external_events
from safeexec.engine.child.repeat.tables import INWARD
from safeexec.engine.child.step import violations
from safeexec.engine.syscalls.table import rules_for
from safeexec.protocol.messages import FEW, ErrorReport, Refusal

if TYPE_CHECKING:
    from safeexec.engine.child.step.program import Language
    from safeexec.protocol.confinement import ChildConfinement

MOST = 100
"""Refusals that are kept of one step."""

_CALLS = {
    "socket.__new__": "socket",
    "socket.getaddrinfo": "socket",
    "socket.gethostbyname": "socket",
    "socket.sethostname": "sethostname",
    "os.fork": "clone",
    "os.forkpty": "clone",
    "os.system": "execve",
    "os.exec": "execve",
    "os.posix_spawn": "execve",
    "subprocess.Popen": "execve",
    "os.kill": "kill",
    "os.killpg": "kill",
    "signal.pthread_kill": "tgkill",
    "resource.setrlimit": "prlimit64",
    "resource.prlimit": "prlimit64",
    "os.symlink": "symlinkat",
    "os.link": "linkat",
    "os.chown": "fchownat",
    "os.chmod": "fchmodat",
    "os.utime": "utimensat",
    "os.truncate": "truncate",
    "os.setxattr": "setxattr",
    "os.removexattr": "removexattr",
}
"""Audit event → the system call that it announces."""


def _needs_no_name_server(arguments: tuple[Any, ...]) -> bool:
    """Return whether it is no name, or an address in digits, or this machine's own name, which is in files."""
    host = arguments[0]
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    return type(host) is not str or ":" in host or host in ("", "localhost") or host.rpartition(".")[2].isdigit()


_ALLOWED: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    # One end of a socket pair, as the event loop makes it: an AF_UNIX stream, or no new socket at all.
    "socket.__new__": lambda arguments: len(arguments) > 1 and arguments[1] == 1,
    "socket.getaddrinfo": _needs_no_name_server,
    "socket.gethostbyname": _needs_no_name_server,
    "os.kill": lambda arguments: arguments[0] == os.getpid(),
    "os.killpg": lambda arguments: False,
    "resource.setrlimit": lambda arguments: arguments[0] == resource.RLIMIT_STACK,
    "resource.prlimit": lambda arguments: len(arguments) < 3 or arguments[2] is None,
}
"""Audit event of a call for which the filter has a rule that judges arguments → whether it lets these pass."""
_PATHS = {"open": 0, "os.listdir": 0, "os.scandir": 0}
"""Audit event that announces the opening of a path → which argument is the path."""
_DATABASE = "sqlite3.connect"
_CHANGES = {"os.mkdir": 0, "os.rmdir": 0, "os.remove": 0, "os.rename": 1}
"""Audit event that announces a change of a directory outside of which nothing may be changed."""

noted: dict[tuple[str, int], Refusal] = {}
"""Refusals since the last call of `take`: message and line → report."""


def take(error: ErrorReport | None, language: Language) -> list[Refusal]:
    """Return what was refused since the last time, but for what `error`, the end of the step, says already: of the
    same call, though it may say a path, too.
    """
    for refused, line in language.unseen:  # names in whose place `getattr` gave its default
        kind, name = vars(refused)["refused"]
        hint = advice.refusal_hint(kind, name, language.plan) or ""
        _note(violations.KernelRefusal(str(refused), vars(refused)["rule"], hint), line, "AttributeError")
    language.unseen.clear()
    reports = [
        report
        for report in noted.values()
        if error is None
        or error.line != report.line
        or not error.message.startswith(report.message.partition(b" is refused by ")[0])
    ]
    noted.clear()
    violations.known.calls.clear()
    violations.known.tried = None
    return reports[:FEW]


def closed_paths(plan: ChildConfinement) -> Callable[[str], bool]:
    """Return a test for whether a path that a program spells lies outside of all that this child may open."""
    open_here = ("/dev/", *_code(plan))

    def is_closed(path: str) -> bool:
        return path[:1] == "/" and not path.startswith(open_here) and not violations.in_workspace(path)

    return is_closed


def _code(plan: ChildConfinement) -> tuple[str, ...]:
    """Return where libraries, and what the policy names, are read from."""
    return tuple(path for path in {*sys.path, sys.prefix, sys.base_prefix, *plan.read} if path)


def listen(plan: ChildConfinement) -> None:
    """Listen from now on, in this process and in those forked from it. It cannot be undone."""
    rules = rules_for(plan)
    refused = {
        event: call
        for event, call in _CALLS.items()
        if call not in rules or (event in _ALLOWED and () not in rules[call].alternatives)
    }
    if "execve" not in rules:
        refused["os.fork"] = refused["os.forkpty"] = "clone"
    code = _code(plan)
    heard = frozenset((*refused, *_PATHS, *_CHANGES, _DATABASE))
    busy: list[int] = []

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in INWARD:
            return
        external_events[:] = [event]
        if event not in heard or busy:  # what is done below raises events, too
            return
        frame = _guest_frame()
        if frame is None:
            return
        call, position = refused.get(event), _PATHS.get(event, _CHANGES.get(event))
        busy.append(1)
        try:
            if event == _DATABASE:
                _database(arguments[0], frame.f_lineno)
            elif position is None:
                assert call is not None
                if call in rules and _ALLOWED[event](arguments):
                    return
                caller = sys._getframe(1)
                if len(violations.known.calls) < MOST:
                    violations.known.calls[caller.f_code, caller.f_lasti] = call
                _note(violations.of_call(call), frame.f_lineno)
            else:
                reads = event in _PATHS and not _flags(arguments) & (os.O_ACCMODE | os.O_CREAT)
                path = _outside(arguments[position], code if reads else ())
                error = path and (_opening(path, arguments) if event in _PATHS else _changing(path))
                if error:
                    _note(violations.of_path(error), frame.f_lineno)
        except Exception:
            return
        finally:
            busy.clear()

    sys.addaudithook(hear)


def _database(path: Any, line: int) -> None:
    """Note a file that SQLite may not open: it does that in C, and says neither which nor why not."""
    if type(path) is not str or path in ("", ":memory:") or path.startswith("file:"):
        return
    outside = _outside(path, ())
    if outside is not None and (error := _opening(outside, ("", "", os.O_RDWR | os.O_CREAT))):
        _note(violations.of_path(error), line)
        violations.known.tried = outside


def _guest_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if violations.is_programs(frame.f_code):
            return frame
        frame = frame.f_back
    return None


def _flags(arguments: tuple[Any, ...]) -> int:
    return arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else os.O_RDONLY


def _outside(path: Any, code: tuple[str, ...]) -> str | None:
    """Return the absolute path if it lies outside of the workspace and of what libraries are read from."""
    if isinstance(path, bytes | os.PathLike):
        path = os.fsdecode(path)
    if type(path) is not str:
        return None
    path = os.path.abspath(path or ".")
    return None if path.startswith(code) or violations.in_workspace(path) else path


def _opening(path: str, arguments: tuple[Any, ...]) -> OSError | None:
    """Return the error that opening this path gives, tried without creating or emptying anything; None: it opens."""
    flags = _flags(arguments)
    try:
        os.close(os.open(path, flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC) | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError:
        return _changing(path) if flags & os.O_CREAT else None
    except OSError as error:
        return error
    return None


def _changing(path: str) -> OSError | None:
    if not os.path.isdir(os.path.dirname(path)):
        return None
    return PermissionError(errno.EACCES, "", path)


def _note(refused: violations.KernelRefusal | None, line: int, kind: str = "PermissionError") -> None:
    if refused is not None and len(noted) < MOST:
        message = refused.message.encode("utf-8", "surrogatepass")
        hint = refused.hint.encode() if refused.hint else None
        noted[refused.message, line] = Refusal(type=kind, message=message, line=line, rule=refused.rule, hint=hint)
