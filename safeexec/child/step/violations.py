"""Reads the kernel's refusals: an errno that names a system call becomes a sentence, with the rule and a hint.

The filter answers a refused call with errno 3000 + its number (`linux.seccomp`). Python shows ``OSError(3041)``, a C++
library as "Unknown error 3041"; Landlock answers EACCES.
"""

from __future__ import annotations

import ctypes
import errno
import re
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

from safeexec.own import contextlib, os
from safeexec.syscalls import NAMING_BASE
from safeexec.syscalls.numbers import names, numbers
from safeexec.syscalls.table import group_of

if TYPE_CHECKING:
    from safeexec.protocol.confinement import ChildConfinement

__all__ = [
    "configure",
    "explain",
    "in_workspace",
    "is_out_of_memory",
    "make_catchable",
    "refuse_programs",
    "remember_refused",
    "remember_workspace",
    "rule_of",
    "syscall_of",
]

_UNKNOWN_ERROR = re.compile(r"Unknown error (3\d{3}|40[0-8]\d|409[0-5])\b")
_NO_THREAD = "can't start new thread"
# How libraries in C word a refused path in exceptions of their own: duckdb, sqlite3, which keeps the errno to itself
_DENIED = re.compile(r"Permission denied|Read-only file system|unable to open database")
_PATH_IN_TEXT = re.compile(r"(?:^|[\s'\"`(])(/[^'\"`\n:]+)")
_NO_LIBRARY = ("builtins", "__main__")
_NO_MAPPING = "failed to map segment from shared object"  # glibc's dlopen keeps the errno to itself

_HINTS = {
    "network": "There is no network in this sandbox: use a tool of the host, or the data that is already there.",
    "files": "Keep the data in variables: this session has no files.",
    "metadata": "Modes, owners, times and attributes of files cannot be changed; write the content and leave them.",
    "links": "Copy the file instead of linking to it.",
    "programs": "No other program can be started: do it in Python.",
    "processes": "Other processes cannot be signalled or changed; work within this one.",
    "threads": "Run it in a plain loop: no thread or process can be started here.",
    "executable-mappings": "No machine code can be loaded or made here: use what is imported, without a JIT compiler.",
    "limits": "The limits of this sandbox are fixed; do with less at a time.",
    "shared-memory": "Keep the data in ordinary variables: memory cannot be shared with other processes.",
    "kernel": "No ordinary program needs this call; solve it in plain Python.",
}

_NOT_LOADED = (
    "Only what was loaded with the sandbox can be used: import something else, or name this module under `imports` of "
    "the policy (`numpy.random: all`), or write `danger_allow_executable_mappings: true` there."
)

_rules: dict[str, str] = {}


class _Known:
    """What is known of this process, by which its errors are told from refusals."""

    workspace: str | None = None
    """The session's own directory."""
    tried: str | None = None
    """The path that a library in C is about to be refused."""
    threads = False
    """Whether guest code may start threads."""
    mappings = False
    """Whether files may be mapped executable."""


_known = _Known()

# Python's names for calls that a reader would not know by the kernel's
_SPOKEN = {
    "openat": "open",
    "newfstatat": "stat",
    "clone": "fork",
    "vfork": "fork",
    "unlinkat": "remove",
    "mkdirat": "mkdir",
    "mknodat": "mkfifo",
    "prlimit64": "setrlimit",
}


def configure(plan: ChildConfinement) -> None:
    """Take over which part of the policy stands behind each group of calls."""
    _rules.clear()
    _rules.update(plan.rules)
    _known.threads = plan.threads > 0
    _known.mappings = plan.executable_mappings


def remember_workspace(path: str | None) -> None:
    """Paths beneath `path` are the session's own: a refusal there is an ordinary error."""
    _known.workspace = path


def remember_refused(path: str | None) -> None:
    """The path that a library in C is about to be refused, where its exception will not say which."""
    _known.tried = path


def make_catchable() -> None:
    """Let an OSError that names a refused call be a PermissionError, which programs catch. Before any confinement.

    The interpreter's table from errno to class has no name. It stands three words before the class ExceptionGroup in
    the interpreter's state (3.11 to 3.13), which is read as a file: what is not as expected changes nothing.
    """
    with contextlib.suppress(OSError), open("/proc/self/mem", "rb", buffering=0) as memory:
        state = os.pread(memory.fileno(), _STATE_BYTES, _interpreter())
        place = state.find(id(ExceptionGroup).to_bytes(_WORD, sys.byteorder)) - 3 * _WORD
        address = int.from_bytes(state[place : place + _WORD], sys.byteorder)
        kind = os.pread(memory.fileno(), _WORD, address + _WORD)
        if place > 0 and int.from_bytes(kind, sys.byteorder) == id(dict):
            table: Any = ctypes.cast(address, ctypes.py_object).value
            table.update(dict.fromkeys(range(NAMING_BASE, NAMING_BASE + _CALLS), PermissionError))


def refuse_programs() -> None:
    """Let `subprocess` fail with an error that programs catch, where no process may be started.

    A courtesy to libraries that ask the machine about itself (`platform.processor`, matplotlib's list of fonts) and do
    without an answer: a fork that reaches the kernel waits there, and ends the step.
    """
    import _posixsubprocess

    number = numbers().get("vfork", numbers()["clone"])

    def fork_exec(*_: object) -> NoReturn:
        raise OSError(NAMING_BASE + number, "no program can be started")

    _posixsubprocess.fork_exec = fork_exec
    if (loaded := sys.modules.get("subprocess")) is not None:
        loaded._fork_exec = fork_exec  # type: ignore[attr-defined]


_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
_STATE_BYTES: Final = 384 << 10  # 3.12 has the class after 267 KiB
_CALLS: Final = 600
_interpreter: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyInterpreterState_Get", ctypes.pythonapi))


def rule_of(group: str) -> str:
    """Where the policy refuses this group of calls, or what stands for it."""
    return _rules.get(group) or _rules.get("profile") or "the kernel confinement of this sandbox"


def syscall_of(error: BaseException) -> str | None:
    """The system call whose refusal this exception reports, or None. Never raises."""
    number = _errno(error)
    if number is None or not NAMING_BASE <= number < 4096:
        found = _UNKNOWN_ERROR.search(_text(error))
        number = int(found[1]) if found else None
    if number is None:
        return None
    return names().get(number - NAMING_BASE, f"system call {number - NAMING_BASE}")


def explain(error: BaseException) -> tuple[str, str, str] | None:
    """(system call, message, hint) if the kernel refused what this exception is about, else None. Never raises."""
    call = syscall_of(error)
    if call is not None:
        group = group_of(call)
        path = _path_of(error)
        subject = f"{_SPOKEN.get(call, call)}()" + (f" of {path!r}" if path else "")
        return call, f"{subject} is refused by {rule_of(group)}", _HINTS[group]
    if not _known.threads and _is(error, RuntimeError) and _NO_THREAD in _text(error):
        return "clone", f"a new thread is refused by {rule_of('threads')}", _HINTS["threads"]
    if not _known.mappings and _mapping_failed(error):
        library = _text(error).partition(":")[0]
        message = f"mapping {library!r} executable is refused by {rule_of('executable-mappings')}"
        return "mmap", message, _NOT_LOADED
    if _errno(error) in (errno.EACCES, errno.EROFS):
        return _explain_path(_path_of(error))
    # A guest's own exceptions may say what they like: only those of a library's types are taken at their word.
    if type.__getattribute__(type(error), "__module__") not in _NO_LIBRARY and _DENIED.search(_text(error)):
        return _explain_path(_path_in(_text(error)))
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a library could not be loaded although the policy lets it: what it maps counts as memory."""
    return _known.mappings and _mapping_failed(error)


def _mapping_failed(error: BaseException) -> bool:
    return _is(error, ImportError, OSError) and _NO_MAPPING in _text(error)


def _explain_path(path: str | None) -> tuple[str, str, str] | None:
    """Landlock or the sealed root refused it. Beneath the workspace it is the file's own mode, an ordinary error."""
    if path is None or in_workspace(path):
        return None
    hint = "Use relative paths: only the session's own directory is open." if _known.workspace else _HINTS["files"]
    return "openat", f"open() of {path!r} is refused by {rule_of('files')}", hint


def in_workspace(path: str) -> bool:
    """Whether `path` lies in the session's own directory."""
    workspace = _known.workspace
    if workspace is None:
        return False
    try:
        real, workspace = os.path.realpath(path), os.path.realpath(workspace)
    except (OSError, ValueError):  # a NUL in the name
        return False
    return real == workspace or real.startswith(workspace + "/")


def _path_in(text: str) -> str | None:
    """The path that a library's own words are about, if the kernel refuses it."""
    found = _PATH_IN_TEXT.search(text)
    path = found[1] if found else _known.tried
    if path is None:
        return None
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError:
        return path if os.path.isdir(os.path.dirname(path)) else None
    except (IsADirectoryError, ValueError):
        return None
    except OSError:
        return path
    return None


_ERRNO, _FILENAME = OSError.__dict__["errno"].__get__, OSError.__dict__["filename"].__get__
"""A class of the guest's may have attributes of its own by these names."""


def _errno(error: BaseException) -> int | None:
    number = _ERRNO(error) if _is(error, OSError) else None
    return number if type(number) is int else None


def _path_of(error: BaseException) -> str | None:
    path = _FILENAME(error) if _is(error, OSError) else None
    if type(path) is bytes:
        path = os.fsdecode(path)
    return path if type(path) is str and "\0" not in path else None  # the kernel has seen no such name


def _is(error: BaseException, *kinds: type[BaseException]) -> bool:
    """`isinstance`, which would ask a guest's `__class__`."""
    return issubclass(type(error), kinds)


def _text(error: BaseException) -> str:
    """What the exception was made with, as far as it is text: its `__str__` may be the guest's, and never end."""
    arguments: tuple[Any, ...] = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    return " ".join(item for item in arguments if type(item) is str)
