"""Refusals that guest code or a library catches while a step runs: by the kernel, and by `getattr` with a default.

A caught exception leaves no trace. So this module listens to the interpreter's audit events, which come before an
operation is tried. It notes a call that the filter of this child refuses; for a path outside of the workspace it asks
the kernel, by opening the path. It hears what Python's own functions do (``open``, `os`, `socket`, `subprocess`), not
what C code of a library calls by itself. A new thread that is refused raises no event of its own.

By the same hook it is asked who makes code (`child.language.code_makers`): a second one would be a call for each event.
"""

from __future__ import annotations

import errno
import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from safeexec.child.language.code_makers import CODE_EVENTS, judge_maker
from safeexec.child.language.guards import unseen
from safeexec.child.step import violations
from safeexec.protocol.messages import FEW, ErrorReport, Refusal
from safeexec.syscalls import NAMING_BASE
from safeexec.syscalls.numbers import numbers
from safeexec.syscalls.table import group_of, rules_for

if TYPE_CHECKING:
    from safeexec.protocol.confinement import ChildConfinement

__all__ = ["listen", "take"]

MOST = 100
"""Refusals that are kept of one step."""

_CALLS = {
    "socket.__new__": "socket",
    "os.fork": "clone",
    "os.forkpty": "clone",
    "os.system": "execve",
    "os.exec": "execve",
    "os.posix_spawn": "execve",
    "subprocess.Popen": "execve",
    "os.kill": "kill",
    "os.killpg": "kill",
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

_PATHS = {"open": 0, "os.listdir": 0, "os.scandir": 0}
"""Audit event that announces the opening of a path → which argument is the path."""
_DATABASE = "sqlite3.connect"
_CHANGES = {"os.mkdir": 0, "os.rmdir": 0, "os.remove": 0, "os.rename": 1}
"""Audit event that announces a change of a directory outside of which nothing may be changed."""

_noted: dict[tuple[str, int], Refusal] = {}


def take(error: ErrorReport | None) -> list[Refusal]:
    """What was refused since the last time, but for what `error`, the end of the step, tells already."""
    violations.remember_refused(None)
    if unseen:
        for refused, line in unseen:
            _noted[str(refused), line] = _of_name(refused, line)
        unseen.clear()
    if not _noted:
        return []
    reports = [report for report in _noted.values() if error is None or report.message != error.message]
    _noted.clear()
    return reports[:FEW]


def _of_name(refused: AttributeError, line: int) -> Refusal:
    """A name that was refused, in whose place `getattr` gave its default."""
    return Refusal(
        type="AttributeError",
        message=str(refused).encode("utf-8", "surrogatepass"),
        line=line,
        rule=vars(refused)["rule"],
        hint=vars(refused)["hint"].encode() if vars(refused)["hint"] else None,
    )


def listen(plan: ChildConfinement, has_rules: bool) -> None:
    """Listen from now on, in this process and in those forked from it. It cannot be undone. `has_rules`: programs are
    compiled under a policy, and code is made by those who may alone.
    """
    rules = rules_for(plan)
    refused = {event: call for event, call in _CALLS.items() if call not in rules or call == "socket"}
    if "execve" not in rules:
        refused["os.fork"] = refused["os.forkpty"] = "clone"
    code = tuple(path for path in {*sys.path, sys.prefix, sys.base_prefix, *plan.read} if path)
    heard = frozenset((*refused, *_PATHS, *_CHANGES, _DATABASE, *(CODE_EVENTS if has_rules else ())))
    busy: list[int] = []

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in heard:
            return
        if event in CODE_EVENTS:
            return judge_maker(sys._getframe(1))
        if busy:
            return
        frame = _guest_frame()
        if frame is None:
            return
        call, position = refused.get(event), _PATHS.get(event, _CHANGES.get(event))
        busy.append(1)
        try:
            if event == _DATABASE:
                _database(arguments[0], frame)
            elif position is None:
                if call == "socket" and _is_local(arguments):
                    return
                _note(OSError(NAMING_BASE + numbers()[str(call)], ""), frame)
            else:
                path = _outside(arguments[position], code if _only_reads(event, arguments) else ())
                error = path and (_opening(path, arguments) if event in _PATHS else _changing(path))
                if error:
                    _note(error, frame)
        except Exception:
            return
        finally:
            busy.clear()

    sys.addaudithook(hear)


def _database(path: Any, frame: FrameType) -> None:
    """SQLite opens its file in C, and says neither which nor why not."""
    if type(path) is not str or path in ("", ":memory:") or path.startswith("file:"):
        return
    outside = _outside(path, ())
    error = outside and _opening(outside, ("", "", os.O_RDWR | os.O_CREAT))
    if error:
        violations.remember_refused(outside)
        _note(error, frame)


def _guest_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<step "):
            return frame
        frame = frame.f_back
    return None


def _is_local(arguments: tuple[Any, ...]) -> bool:
    """One end of a socket pair, as the event loop makes it: an AF_UNIX stream, or no new socket at all."""
    return len(arguments) > 1 and arguments[1] == 1


def _only_reads(event: str, arguments: tuple[Any, ...]) -> bool:
    return event in _PATHS and not _flags(arguments) & (os.O_ACCMODE | os.O_CREAT)


def _flags(arguments: tuple[Any, ...]) -> int:
    return arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else os.O_RDONLY


def _outside(path: Any, code: tuple[str, ...]) -> str | None:
    """The absolute path if it lies outside of the workspace and of what libraries are read from."""
    if isinstance(path, bytes | os.PathLike):
        path = os.fsdecode(path)
    if type(path) is not str:
        return None
    path = os.path.abspath(path or ".")
    return None if path.startswith(code) or violations.in_workspace(path) else path


def _opening(path: str, arguments: tuple[Any, ...]) -> OSError | None:
    """What the kernel says to the opening of `path`, without making or emptying a file."""
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


def _note(error: OSError, frame: FrameType) -> None:
    explained = violations.explain(error)
    if explained is None or len(_noted) >= MOST:
        return
    call, message, hint = explained
    _noted[message, frame.f_lineno] = Refusal(
        type="PermissionError",
        message=message.encode("utf-8", "surrogatepass"),
        line=frame.f_lineno,
        rule=violations.rule_of(group_of(call)),
        hint=hint.encode(),
    )
