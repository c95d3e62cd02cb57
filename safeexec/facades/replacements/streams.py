"""sys and its streams, redirection, caught warnings, and tracebacks as text."""

from __future__ import annotations

import copy
import resource
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import TextIOBase
from types import SimpleNamespace, TracebackType
from typing import Any, ClassVar, NamedTuple, Self, TextIO
from weakref import WeakKeyDictionary

from safeexec.facades import program

_UNSET: Any = object()

_LEVEL = 419
"""Bytes of stack for each level of recursion. Few ways through C code take twice as much (`map`, `sorted`,
`__getattr__`): they overflow the stack and end the process, as in CPython."""
_DEEPEST = 300_000
_LARGEST_STACK = 64 << 20
"""It counts as address space, of which a process has about as much as its policy gives it memory."""


_PROCESS: dict[str, TextIO] = {}
"""The process's own stream, while guest code has put an object of its own in its place."""
_GUEST: dict[str, Any] = {}
"""The object that guest code has put in place of a stream."""


def _own_stream(name: str) -> TextIO:
    current: TextIO = getattr(sys, name)
    return _PROCESS[name] if current is _GUEST.get(name) else current


class _StandardStream:
    """What all stand-ins answer alike; closing one closes nothing."""

    __slots__ = ()
    closed = False
    reads = False

    def close(self) -> None:
        """Nothing: the stream ends with the step."""

    def readable(self) -> bool:
        """Whether it is the input."""
        return self.reads

    def writable(self) -> bool:
        """Whether it is no input."""
        return not self.reads

    def seekable(self) -> bool:
        """No."""
        return False

    def isatty(self) -> bool:
        """No."""
        return False

    def flush(self) -> None:
        """Nothing is kept back here."""


class _Bytes(_StandardStream):
    """The binary side of an `_Output`."""

    __slots__ = ()
    _name = "stdout"

    def write(self, data: bytes) -> int:
        """Write bytes; returns how many."""
        stream = _own_stream(self._name)
        stream.flush()
        return stream.buffer.write(data)

    def flush(self) -> None:
        """Flush the stream."""
        _own_stream(self._name).buffer.flush()


class _ErrorBytes(_Bytes):
    __slots__ = ()
    _name = "stderr"


class _TextSide(_StandardStream):
    """A standard stream of text: the real one leads to the class that opens files."""

    __slots__ = ()
    encoding = "utf-8"
    errors = "strict"
    newlines = None
    line_buffering = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def reconfigure(self, **options: object) -> None:
        """Nothing: the stream is UTF-8 and stays so."""


class _Output(_TextSide):
    """A standard stream that can only be written. It has no state: a program could write that, and with the name of
    another object of `sys` it would be given that object's methods.
    """

    __slots__ = ()
    _name = "stdout"
    _bytes: ClassVar[type[_Bytes]] = _Bytes
    mode = "w"

    def fileno(self) -> int:
        """1 or 2."""
        return 2 if self._name == "stderr" else 1

    def write(self, text: str) -> int:
        """Write text; returns the number of characters."""
        return _own_stream(self._name).write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of the lines."""
        _own_stream(self._name).writelines(lines)

    def flush(self) -> None:
        """Flush the stream."""
        _own_stream(self._name).flush()

    @property
    def buffer(self) -> _Bytes:
        """The binary side."""
        return self._bytes()

    @property
    def name(self) -> str:
        """``<stdout>`` or ``<stderr>``."""
        return f"<{self._name}>"

    def __repr__(self) -> str:
        return f"<output {self.name}>"


class _ErrorOutput(_Output):
    __slots__ = ()
    _name = "stderr"
    _bytes = _ErrorBytes


class _InputBytes(_StandardStream):
    """The binary side of an `_Input`."""

    __slots__ = ()
    reads = True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, or all."""
        return _own_stream("stdin").buffer.read(-1 if size is None else size)

    def read1(self, size: int = -1, /) -> bytes:
        """Read what one read gives, at most `size` bytes."""
        return _own_stream("stdin").buffer.read1(size)  # type: ignore[attr-defined, no-any-return]

    def peek(self, size: int = 0, /) -> bytes:
        """What is there already, at least one byte but at the end; it stays to be read."""
        return _own_stream("stdin").buffer.peek(size)  # type: ignore[attr-defined, no-any-return]

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read one line; empty at the end."""
        return _own_stream("stdin").buffer.readline(-1 if size is None else size)

    def readlines(self, hint: int = -1, /) -> list[bytes]:
        """Read all lines."""
        return _own_stream("stdin").buffer.readlines(hint)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")  # the buffer is its own iterator, and leads to the class that opens files

    def fileno(self) -> int:
        """0."""
        return 0


class _Input(_TextSide):
    """The standard input of a step."""

    __slots__ = ()
    reads = True
    name = "<stdin>"
    mode = "r"
    buffer = _InputBytes()

    def read(self, size: int | None = -1, /) -> str:
        """Read `size` characters, or all."""
        return _own_stream("stdin").read(-1 if size is None else size)

    def readline(self, size: int = -1, /) -> str:
        """Read one line; empty at the end."""
        return _own_stream("stdin").readline(size)

    def readlines(self, hint: int = -1, /) -> list[str]:
        """Read all lines."""
        return _own_stream("stdin").readlines(hint)

    def __iter__(self) -> _Input:
        return self

    def __next__(self) -> str:
        if line := _own_stream("stdin").readline():
            return line
        raise StopIteration

    def fileno(self) -> int:
        """0."""
        return 0

    def __repr__(self) -> str:
        return "<input <stdin>>"


TextIOBase.register(_Output)
TextIOBase.register(_Input)
_STAND_INS: dict[str, Any] = {"stdout": _Output(), "stderr": _ErrorOutput(), "stdin": _Input()}
INPUT_BYTES = _Input.buffer
"""Descriptor 0 as guest code may read it."""
OUTPUT_BYTES = {1: _STAND_INS["stdout"].buffer, 2: _STAND_INS["stderr"].buffer}
"""Descriptors 1 and 2 as guest code may write them."""


def current_stream(name: str) -> Any:
    """What guest code sees as ``sys.stdout``: its own object if it put one there, a stand-in otherwise."""
    current = getattr(sys, name)
    return current if current is _GUEST.get(name, _UNSET) else _STAND_INS[name]


def current_input() -> Any:
    """What guest code sees as ``sys.stdin``. Raises AttributeError where the step has no input."""
    if sys.stdin is _GUEST.get("stdin", _UNSET) or _has_input:
        return current_stream("stdin")
    raise AttributeError("stdin")


_has_input = False
"""Whether the step that runs has a standard input."""


def has_input() -> bool:
    """Whether the step that runs has a standard input."""
    return _has_input


def set_has_input(given: bool) -> None:
    """A step that has a standard input begins, or has ended."""
    global _has_input
    _has_input = given


def assign_stream(name: str, stream: Any) -> None:
    """Make ``print`` and tracebacks go to the guest's object, or back to the process's stream for the stand-in."""
    own = _own_stream(name)
    if stream is _STAND_INS[name]:
        setattr(sys, name, own)
    else:
        _PROCESS[name], _GUEST[name] = own, stream
        setattr(sys, name, stream)


_PROGRAM: dict[str, Any] = {"path": [""], "modules": {}}
"""`sys.path` and `sys.modules` as guest code has them. No library is found by the path, and a module of the workspace
alone.
"""

_ASSIGNABLE = {
    "stdout": property(lambda _: current_stream("stdout"), lambda _, stream: assign_stream("stdout", stream)),
    "stderr": property(lambda _: current_stream("stderr"), lambda _, stream: assign_stream("stderr", stream)),
    "stdin": property(lambda _: current_input(), lambda _, stream: assign_stream("stdin", stream)),
    "path": property(lambda _: _PROGRAM["path"], lambda _, folders: _PROGRAM.update(path=folders)),
    "modules": property(lambda _: _PROGRAM["modules"]),
    "argv": property(lambda _: sys.argv, lambda _, arguments: setattr(sys, "argv", arguments)),
}
"""What guest code may assign in its `sys`: the streams, the arguments of the step, and where its modules are."""


def set_modules(modules: Mapping[str, Any]) -> None:
    """What guest code has imported."""
    _PROGRAM["modules"] = modules


def program_path() -> list[str]:
    """The folders of the guest's `sys.path`; nothing of what is no list of texts."""
    found = _PROGRAM["path"]
    return [item for item in found if type(item) is str] if type(found) is list else []


def setrecursionlimit(limit: int, /) -> None:
    """`sys.setrecursionlimit`, at most what the stack has room for: higher values are taken as that."""
    if not isinstance(limit, int):
        raise TypeError(f"{type(limit).__name__!r} object cannot be interpreted as an integer")
    stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
    sys.setrecursionlimit(min(int(limit), _DEEPEST if stack < 0 else stack // _LEVEL))


def stack_size(size: int = 0, /) -> int:
    """`threading.stack_size`; a thread gets a stack of at most `_LARGEST_STACK` bytes, whatever is asked for."""
    if not isinstance(size, int):
        raise TypeError(f"{type(size).__name__!r} object cannot be interpreted as an integer")
    return threading.stack_size(min(int(size), _LARGEST_STACK))


class _Redirection:
    """Base of the two redirections: which stream is a class constant in a table that guest code cannot reach."""

    def __init__(self, new_target: Any) -> None:
        _TARGETS[self] = (new_target, [])

    def __enter__(self) -> Any:
        target, old = _TARGETS[self]
        name = _stream_of(self)
        old.append(current_stream(name))
        assign_stream(name, target)
        return target

    def __exit__(self, *exc_info: object) -> None:
        assign_stream(_stream_of(self), _TARGETS[self][1].pop())


class redirect_stdout(_Redirection):
    """`contextlib.redirect_stdout`."""


class redirect_stderr(_Redirection):
    """`contextlib.redirect_stderr`."""


_TARGETS: WeakKeyDictionary[_Redirection, tuple[Any, list[Any]]] = WeakKeyDictionary()


def _stream_of(redirection: _Redirection) -> str:
    return "stderr" if isinstance(redirection, redirect_stderr) else "stdout"


class catch_warnings:
    """`warnings.catch_warnings`; the real one keeps the warnings module as an attribute."""

    def __init__(
        self,
        *,
        record: bool = False,
        module: None = None,
        action: Any = None,
        category: type[Warning] = Warning,
        lineno: int = 0,
        append: bool = False,
    ) -> None:
        if module is not None:
            raise TypeError("catch_warnings(module=...) is refused")
        _CAUGHT[self] = warnings.catch_warnings(
            record=record, action=action, category=category, lineno=lineno, append=append
        )

    def __enter__(self) -> list[warnings.WarningMessage] | None:
        recorded: list[warnings.WarningMessage] | None = _CAUGHT[self].__enter__()
        return recorded

    def __exit__(self, *exc_info: Any) -> None:
        _CAUGHT[self].__exit__(*exc_info)


_CAUGHT: WeakKeyDictionary[catch_warnings, Any] = WeakKeyDictionary()


class FrameSummary(NamedTuple):
    """One entry of a traceback, as text; the real class reads the file it is told to."""

    filename: str
    lineno: int | None
    name: str
    line: str | None


def _of_guest(filename: str) -> bool:
    return program.has_file(filename) or (filename.startswith("<") and not filename.startswith("<frozen "))


def _guest_frames(summary: traceback.TracebackException, seen: set[int]) -> traceback.TracebackException:
    """Drop, in place and along causes and groups, the frames that are not guest code."""
    if id(summary) in seen:
        return summary
    seen.add(id(summary))
    kept = [frame for frame in summary.stack if _of_guest(frame.filename)]
    summary.stack[:] = kept
    for linked in (summary.__cause__, summary.__context__, *(getattr(summary, "exceptions", None) or ())):
        if linked is not None:
            _guest_frames(linked, seen)
    return summary


def _exception(exc: Any, value: Any, tb: Any) -> tuple[BaseException | None, TracebackType | None]:
    if value is _UNSET:
        value = exc
        tb = getattr(exc, "__traceback__", None)
    return value, tb


def format_exception(
    exc: Any, /, value: Any = _UNSET, tb: Any = _UNSET, limit: int | None = None, chain: bool = True
) -> list[str]:
    """`traceback.format_exception` of the guest's frames."""
    error, trace = _exception(exc, value, tb)
    if error is None:
        return ["NoneType: None\n"]
    summary = traceback.TracebackException(type(error), error, trace, compact=True)
    _guest_frames(summary, set())
    if limit is not None:
        summary.stack[:] = summary.stack[:limit] if limit >= 0 else summary.stack[limit:]
    return list(summary.format(chain=chain))


def format_exception_only(exc: Any, /, value: Any = _UNSET) -> list[str]:
    """`traceback.format_exception_only`."""
    return traceback.format_exception_only(exc if value is _UNSET else value)


def format_exc(limit: int | None = None, chain: bool = True) -> str:
    """`traceback.format_exc` of the guest's frames."""
    return "".join(format_exception(sys.exception(), limit=limit, chain=chain))


def extract_tb(tb: TracebackType | None, limit: int | None = None) -> list[FrameSummary]:
    """`traceback.extract_tb`, as tuples, of the guest's frames."""
    frames = [
        FrameSummary(frame.filename, frame.lineno, frame.name, frame.line)
        for frame in traceback.extract_tb(tb)
        if _of_guest(frame.filename)
    ]
    return frames if limit is None else frames[:limit] if limit >= 0 else frames[limit:]


def format_list(extracted_list: Iterable[tuple[Any, ...]]) -> list[str]:
    """`traceback.format_list`."""
    return list(_format_entries(extracted_list))


def _format_entries(entries: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    for filename, lineno, name, line in entries:
        text = f'  File "{filename}", line {lineno}, in {name}\n'
        yield text + (f"    {line.strip()}\n" if line else "")


def format_tb(tb: TracebackType | None, limit: int | None = None) -> list[str]:
    """`traceback.format_tb` of the guest's frames."""
    return format_list(extract_tb(tb, limit))


def _print(lines: Iterable[str], file: Any) -> None:
    target = sys.stderr if file is None else file
    for line in lines:
        target.write(line)


def print_exception(
    exc: Any, /, value: Any = _UNSET, tb: Any = _UNSET, limit: int | None = None, file: Any = None, chain: bool = True
) -> None:
    """`traceback.print_exception` of the guest's frames."""
    _print(format_exception(exc, value, tb, limit, chain), file)


def print_exc(limit: int | None = None, file: Any = None, chain: bool = True) -> None:
    """`traceback.print_exc` of the guest's frames."""
    _print(format_exception(sys.exception(), limit=limit, chain=chain), file)


def print_tb(tb: TracebackType | None, limit: int | None = None, file: Any = None) -> None:
    """`traceback.print_tb` of the guest's frames."""
    _print(format_tb(tb, limit), file)


_TRACEBACK: tuple[Callable[..., Any], ...] = (
    FrameSummary,
    extract_tb,
    format_exc,
    format_exception,
    format_exception_only,
    format_list,
    format_tb,
    print_exc,
    print_exception,
    print_tb,
)

PROPERTIES = {"sys": _ASSIGNABLE}

REPLACEMENTS: dict[str, Any] = {
    "contextlib.redirect_stdout": redirect_stdout,
    "contextlib.redirect_stderr": redirect_stderr,
    "warnings.catch_warnings": catch_warnings,
    "sys.implementation": SimpleNamespace(**copy.copy(vars(sys.implementation))),
    "sys.setrecursionlimit": setrecursionlimit,
    "sys.executable": "",
    "sys.warnoptions": [],
    "sys.__stdout__": _STAND_INS["stdout"],
    "sys.__stderr__": _STAND_INS["stderr"],
    "threading.stack_size": stack_size,
    **{f"traceback.{item.__name__}": item for item in _TRACEBACK},
}
