"""`os`, `locale` and `platform` of guest code: an environment of its own, the locale C, and the step's descriptors 0, 1
and 2 alone.

The environment is empty at first: what guest code sets there, only it reads back. No number that guest code gives
reaches the kernel: the calls are made on 0, and on the streams that `print` writes to.
"""

from __future__ import annotations

import errno
import locale as locale_module
import os
import stat
import sys
from collections.abc import Iterator, MutableMapping
from operator import index
from typing import Any

from safeexec.facades.replacements.streams import OUTPUT_BYTES, has_input

_INT_BITS = 31
_SIZE_BITS = 63
_AT_ONCE = 1 << 20
"""Bytes that a pipe has ready at most."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"str expected, not {type(value).__name__}")
    return value


class _Environment(MutableMapping[str, str]):
    """A mapping of text to text, as `os.environ` is. The libraries see the process's own, which is another."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        try:
            return self._values[_text(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: str) -> None:
        self._values[_text(key)] = _text(value)

    def __delitem__(self, key: str) -> None:
        try:
            del self._values[_text(key)]
        except KeyError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def copy(self) -> dict[str, str]:
        """The values as a dict."""
        return dict(self._values)

    def __repr__(self) -> str:
        return f"environ({self._values!r})"


environ = _Environment()


def getenv(key: str, default: Any = None) -> Any:
    """The value of an environment variable that guest code has set, or `default`."""
    return environ.get(key, default)


def _number(value: Any, bits: int, c_type: str) -> int:
    """What the C function would take the argument for: an int of no subclass."""
    number = int(index(value))
    if not -1 << bits <= number < 1 << bits:
        raise OverflowError(f"Python int too large to convert to {c_type}")
    return number


def _descriptor(value: Any) -> int:
    return _number(value, _INT_BITS, "C int")


def _closed(why: str = "only 0 is open for reading here, and 1 and 2 for writing") -> OSError:
    return OSError(errno.EBADF, f"{os.strerror(errno.EBADF)}: {why}")


def _reading(descriptor: int) -> os.stat_result:
    """What is behind descriptor 0, if that is the one. Raises OSError if it is not, or the step has no input."""
    if descriptor:
        raise _closed()
    if not has_input():
        raise _closed("this step has no standard input")
    return os.fstat(0)


def read(fd: int, length: int, /) -> bytes:
    """`os.read` of the step's standard input: as many bytes as there are, at most `length`; none at the end.

    As in CPython it goes past `sys.stdin`, which may have read ahead.
    """
    descriptor, size = _descriptor(fd), _number(length, _SIZE_BITS, "C ssize_t")
    if size < 0:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    # os.read takes memory for all that it is asked for, and programs ask for more than any input has.
    return os.read(0, min(size, max(_reading(descriptor).st_size, _AT_ONCE)))


def write(fd: int, data: Any, /) -> int:
    """`os.write` to the step's standard output or error, as `print` does; returns the number of bytes."""
    descriptor = _descriptor(fd)
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"a bytes-like object is required, not {type(data).__name__!r}") from None
    with view:
        if descriptor not in OUTPUT_BYTES:
            raise _closed()
        return OUTPUT_BYTES[descriptor].write(view)  # type: ignore[no-any-return]


def fstat(fd: int) -> os.stat_result:
    """`os.fstat` of descriptors 0, 1 and 2: a file of its size if the input is one, otherwise a pipe."""
    descriptor = _descriptor(fd)
    if descriptor in OUTPUT_BYTES:
        mode, size = stat.S_IFIFO | stat.S_IWUSR, 0
    else:
        found = _reading(descriptor)
        mode, size = stat.S_IFMT(found.st_mode) | stat.S_IRUSR, found.st_size
    return os.stat_result((mode, 0, 0, 1, 0, 0, size, 0, 0, 0))


def isatty(fd: int, /) -> bool:
    """`os.isatty`: no descriptor is a terminal."""
    _descriptor(fd)
    return False


def setlocale(category: int, locale: Any = None) -> str:
    """`locale.setlocale` of a system that has the locale C and no other."""
    if not 0 <= index(category) <= locale_module.LC_ALL:
        raise locale_module.Error("invalid locale category")
    if locale and locale not in ("C", "POSIX"):
        raise locale_module.Error("unsupported locale setting")
    return "C"


def getencoding() -> str:
    """`locale.getencoding`."""
    return "utf-8"


def getpreferredencoding(do_setlocale: bool = True) -> str:
    """`locale.getpreferredencoding`."""
    return "utf-8"


def system() -> str:
    """`platform.system`."""
    return sys.platform.capitalize()


REPLACEMENTS: dict[str, Any] = {
    "locale.setlocale": setlocale,
    "locale.getencoding": getencoding,
    "locale.getpreferredencoding": getpreferredencoding,
    "platform.system": system,
    "os.environ": environ,
    "os.getenv": getenv,
    "os.read": read,
    "os.write": write,
    "os.fstat": fstat,
    "os.isatty": isatty,
}
