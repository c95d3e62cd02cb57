"""Tells refusals by the kernel from ordinary errors, and gives each a sentence, with the rule and a hint.

The filter answers a refused call with EPERM (`linux.seccomp`), which Python raises as a PermissionError; Landlock and
the read-only root answer EACCES and EROFS. Of an exception that leaves a step, this is a **violation**:

- EPERM that a system call has answered, wherever it is from: an OSError with this errno, or an exception of a library's
  own type that has its text ("Operation not permitted");
- EACCES or EROFS for a path outside of the workspace; inside it is the file's own mode, an **ordinary error**;
- a thread that the policy does not give;
- a limit that may not be raised (`resource` says ValueError), a name that cannot be looked up without a socket.

A PermissionError, or any other of these, which Python code raised itself is an **ordinary error**: its innermost frame
stopped at a ``raise``, or where something was thrown into it (`mock.patch(side_effect=…)`, `Future.set_exception`).
What a library raises in place of a system call's answer, which stands before it in the chain, is that answer still;
so is what Python code raises where the audit hook heard of the call (`subprocess`).

Which call it was is known (1) by what the audit hook noted for this very instruction (`child.step.caught`), else (2)
by the frame that called: of the program the expression (``os.nice``), of a library its function.
"""

from __future__ import annotations

import errno
import re
from opcode import opname
from types import BuiltinFunctionType, CodeType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from safeexec.common.identity import args_of, cause_of, context_of, entries_of
from safeexec.common.own import os
from safeexec.engine.syscalls.table import group_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_THREAD = "can't start new thread"
_NO_HIGHER_LIMIT = "not allowed to raise maximum limit"
_NOT_PERMITTED = os.strerror(errno.EPERM)
# How libraries in C word a refusal in exceptions of their own: duckdb, sqlite3, which keeps the errno to itself
_DENIED = re.compile(
    rf"{_NOT_PERMITTED}|Permission denied|Read-only file system|unable to open database|name resolution"
)
_PATH_IN_TEXT = re.compile(r"(?:^|[\s'\"`(])(/[^'\"`\n:]+)")
_NO_LIBRARY = ("builtins", "__main__")
_NO_MAPPING = "failed to map segment from shared object"  # glibc's dlopen keeps the errno to itself

NO_NETWORK = "There is no network in this sandbox: use a tool of the host, or the data that is already there."
HINTS = {
    "network": NO_NETWORK,
    "files": "Keep the data in variables: this session has no files but those that its policy names.",
    "metadata": "Modes, owners, times and attributes of files cannot be changed; write the content and leave them.",
    "links": "Copy the file instead of linking to it.",
    "programs": "No other program can be started: do it in Python.",
    "processes": "Other processes cannot be signalled or changed; work within this one.",
    "threads": "Run it in a plain loop: no thread or process can be started here.",
    "executable-mappings": "No machine code can be made here: use what is imported, without a JIT compiler.",
    "limits": "The limits of this sandbox are fixed; do with less at a time.",
    "shared-memory": "Keep the data in ordinary variables: memory cannot be shared with other processes.",
    "kernel": "No ordinary program needs this call; solve it in plain Python.",
    "unknown": "The system refuses what this call asks for: do without it, with what the session has.",
}
"""For each group of refused calls (`syscalls.table.GROUPS`, and two of calls in none): what to do instead."""

_FUNCTIONS = {
    name: group
    for group, names in {
        "network": "sethostname gethostbyname getaddrinfo create_connection create_server socketpair",
        "metadata": "lchmod copymode copystat",
        "links": "mkfifo mknod",
        "programs": "system popen posix_spawn posix_spawnp execv execve execvp spawnv Popen fork_exec",
        "processes": "nice killpg pthread_kill raise_signal pidfd_open pidfd_send_signal sched_setaffinity",
        "threads": "fork forkpty start_new_thread start_joinable_thread",
        "limits": "setrlimit prlimit",
        "executable-mappings": "mprotect CFUNCTYPE",
        "shared-memory": "shm_open",
    }.items()
    for name in names.split()
}
"""Python's functions that do not bear the name of the system call → the group of that call (`syscalls.table`)."""


class _Known:
    """The facts of this process by which its errors are told from refusals."""

    def __init__(self) -> None:
        self.rules: Mapping[str, str] = {}
        """Group of calls → the part of the policy that stands behind it."""
        self.threads = False
        """True if guest code may start threads."""
        self.workspace: str | None = None
        """The session's own directory: a refusal in it is an ordinary error."""
        self.calls: dict[tuple[CodeType, int], str] = {}
        """Code and instruction where the audit hook heard of a refused call in this step → the system call."""
        self.tried: str | None = None
        """The path that a library in C is about to be refused in this step: its exception will not say it."""


known = _Known()

_MOST_CHAINED = 8
_MOST_CODE = 1 << 17
"""Bytes of a function, or of a module, in which the expression that called is looked for."""

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


def rule_of(group: str) -> str:
    """Return where the policy refuses this group of calls, or what stands for it."""
    return known.rules.get(group) or known.rules.get("profile") or "the kernel confinement of this sandbox"


class KernelRefusal(NamedTuple):
    """A refusal by the kernel, as it is reported."""

    message: str
    rule: str
    hint: str


def explain(error: BaseException) -> KernelRefusal | None:
    """Return what the kernel refused, if this exception is about that, else None. Never raises."""
    text = _text(error)
    if _is(error, RuntimeError):
        if not known.threads and _NO_THREAD in text and not _is_raised(error):
            return _refused("a new thread", "threads")
        return None
    if _mapping_failed(error) and _is_never_executed(library := text.partition(":")[0]):
        return _refused(f"mapping {library!r} executable", "executable-mappings")
    if _is(error, ValueError):
        limited = _NO_HIGHER_LIMIT in text and not _is_raised(error)
        return of_call("prlimit64") if limited else None
    # A guest's own exceptions may say what they like: only those of a library's types are taken at their word.
    is_worded = type.__getattribute__(type(error), "__module__") not in _NO_LIBRARY and _DENIED.search(text) is not None
    if not is_worded and not _is(error, OSError):
        return None
    origin = _origin(error)
    if origin is None:
        return None
    if origin is not error or _is(error, OSError):
        refused = _explain_errno(origin)
        if refused is not None or not is_worded:
            return refused
    if _NOT_PERMITTED in text:
        return _of_frame(error, None)
    return _explain_path(_path_in(text))


def of_call(call: str, path: str | None = None) -> KernelRefusal:
    """Return the refusal of a system call."""
    return _refused(f"{_SPOKEN.get(call, call)}()", group_of(call), path)


def _refused(subject: str, group: str, path: str | None = None) -> KernelRefusal:
    rule = rule_of(group)
    return KernelRefusal(f"{subject}{f' of {path!r}' if path else ''} is refused by {rule}", rule, HINTS[group])


def _explain_errno(error: BaseException) -> KernelRefusal | None:
    """Return what the kernel refused, of an exception that a system call is behind."""
    number, path = _errno(error), _path_of(error)
    noted = _noted_for(error)
    if number == errno.EPERM:
        return of_call(noted, path=path) if noted is not None else _of_frame(error, path)
    if number in (errno.EACCES, errno.EROFS):
        path = path or _path_in(_text(error))  # pyarrow writes it into its words
        if path is not None:
            return _explain_path(path)
    elif type(error).__name__ != "gaierror":
        return None
    # A socket is answered so, where the C library goes on after nothing else. What looks up a name has its own words.
    return of_call("socket") if noted == "socket" or _group_of_frame(error) == "network" else None


def _of_frame(error: BaseException, path: str | None) -> KernelRefusal:
    """Name the call by who made it."""
    called = _caller(error)
    return _refused(f"{called}()" if called else "a system call", _group_of_frame(error) or "unknown", path)


# Who called


def _places(error: BaseException) -> list[TracebackType]:
    """Return the entries of the traceback, innermost first."""
    return [*entries_of(error)][::-1]


def _module_of(place: TracebackType) -> str:
    name = place.tb_frame.f_globals.get("__name__")
    return name if type(name) is str else ""


def is_programs(code: CodeType) -> bool:
    """Return whether it is code of the program: of a step, or of a plugin."""
    return code.co_filename.startswith(("<step ", "<plugin "))


def _is_raised(error: BaseException) -> bool:
    """Return whether Python code raised it: with ``raise``, or by throwing it into something that waited."""
    places = _places(error)
    if not places:
        return False
    instruction = places[0].tb_lasti
    operations = places[0].tb_frame.f_code.co_code  # as it was compiled, whatever the interpreter has made of it
    if not 0 <= instruction < len(operations):
        return False
    operation = opname[operations[instruction]]
    # What begins a function is no place to throw into: Cython's frames stop there, whatever raised in them.
    return operation in _RAISING or (operation == "RESUME" and operations[instruction + 1] != 0)


_RAISING = ("RAISE_VARARGS", "SEND", "YIELD_VALUE")


def _origin(error: BaseException, *kinds: type[BaseException]) -> BaseException | None:
    """Return the exception that C code raised: `error`, or the one of `kinds` (OSError) behind a library's."""
    for depth in range(_MOST_CHAINED):
        if not _is_raised(error) or _noted_for(error) is not None:
            return error if not depth or _is(error, *(kinds or (OSError,))) else None
        behind = cause_of(error)
        behind = context_of(error) if behind is None else behind
        if behind is None or is_programs(_places(error)[0].tb_frame.f_code):
            return None
        error = behind
    return None


def _noted_for(error: BaseException) -> str | None:
    """Return the call that the audit hook heard of at the very instruction; of a library, in the same function."""
    if not known.calls:
        return None
    functions = {code: call for (code, _), call in known.calls.items() if not is_programs(code)}
    for place in _places(error):
        code = place.tb_frame.f_code
        call = known.calls.get((code, place.tb_lasti)) or functions.get(code)
        if call is not None:
            return call
    return None


def _caller(error: BaseException) -> str:
    """Return what called: in the program the expression (``os.nice``), in a library its function; or nothing."""
    place = _calling(error)
    if place is None:
        return ""
    code = place.tb_frame.f_code
    if is_programs(code):
        return _expression(code, place.tb_lasti)
    return ".".join(filter(None, (_module_of(place), code.co_qualname.removesuffix(".__init__"))))


def _calling(error: BaseException) -> TracebackType | None:
    """Return the innermost entry, without those of this package, which stand in for a library's function."""
    return next((place for place in _places(error) if not _module_of(place).startswith("safeexec.")), None)


def _group_of_frame(error: BaseException) -> str | None:
    """Return the group of the function that the innermost frame called, or that it is of. Not of what a library words
    in an exception of its own: ``connect`` of a database is not the system's.
    """
    place = _calling(error)
    if place is None or not _is(error, OSError):
        return None
    code = place.tb_frame.f_code
    called = _expression(code, place.tb_lasti)
    function = place.tb_frame.f_globals.get(called)  # ``from os import nice as lower``
    if type(function) is BuiltinFunctionType:
        called = function.__name__
    for name in (*reversed(called.split(".")), *reversed(code.co_qualname.split("."))):
        group = _FUNCTIONS.get(name) or group_of(name)
        if group != "kernel":
            return group
    return None


def _expression(code: CodeType, instruction: int) -> str:
    """Return the dotted name of what an instruction calls, by the names that are loaded where its expression begins."""
    from dis import get_instructions

    if len(code.co_code) > _MOST_CODE:
        return ""
    begins: Any = None
    names: list[tuple[Any, str]] = []
    for one in get_instructions(code):
        place = one.positions
        if place is None or one.offset > instruction:
            break
        if one.opname.startswith("LOAD_") and one.opname != "LOAD_CONST" and type(one.argval) is str:
            names.append(((place.lineno, place.col_offset), one.argval))
        if one.offset == instruction:
            begins = place.lineno, place.col_offset
    chain = [name for place, name in names if place == begins]
    return ".".join(chain)


# Memory


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out: the allocator said so, and not the program; or a library could not be loaded, as
    what it maps counts as memory. Never raises.
    """
    if _is(error, MemoryError):
        return _origin(error, MemoryError) is not None
    return _mapping_failed(error) and not _is_never_executed(_text(error).partition(":")[0])


def _mapping_failed(error: BaseException) -> bool:
    return _is(error, ImportError, OSError) and _NO_MAPPING in _text(error) and not _is_raised(error)


def _is_never_executed(path: str) -> bool:
    """Return whether nothing on its file system is mapped executable: ``noexec``."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_NOEXEC)
    except (OSError, ValueError):
        return False


# Paths


def of_path(error: OSError) -> KernelRefusal | None:
    """Return what the kernel answered to the opening of a path, if that was a refusal."""
    return _explain_path(_path_of(error)) if _errno(error) in (errno.EACCES, errno.EROFS, errno.EPERM) else None


def _explain_path(path: str | None) -> KernelRefusal | None:
    """Return a refusal by Landlock or the read-only root. Beneath the workspace it is the file's mode: an error."""
    if path is None or in_workspace(path):
        return None
    hint = "Use relative paths: the session's own directory is open." if known.workspace else HINTS["files"]
    rule = rule_of("files")
    return KernelRefusal(f"open() of {path!r} is refused by {rule}", rule, hint)


def in_workspace(path: str) -> bool:
    """Return whether `path` lies in the session's own directory."""
    workspace = known.workspace
    if workspace is None:
        return False
    try:
        real, workspace = os.path.realpath(path), os.path.realpath(workspace)
    except (OSError, ValueError):  # a NUL in the name
        return False
    return real == workspace or real.startswith(workspace + "/")


def _path_in(text: str) -> str | None:
    """Return the path that a library's own words are about, if the kernel refuses it."""
    found = _PATH_IN_TEXT.search(text)
    path = found[1] if found else known.tried
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
    """Return what `isinstance` does, which would call a guest's `__class__`."""
    return issubclass(type(error), kinds)


def _text(error: BaseException) -> str:
    """Return the text that the exception was made with: its `__str__` may be the guest's, and never end."""
    return " ".join(item for item in args_of(error) if type(item) is str)
