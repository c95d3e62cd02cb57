"""stdout and stderr of the guest: text streams over the two files that the host reads.

A line that Python prints costs a copy into memory that the host shares (`protocol.printed`): no system call, nothing
that a kill could lose, and nothing that has to be flushed. `print` itself is a function of ours, because the text
layer of CPython takes three calls to hand a line on: 10,000 lines cost 2.8 ms so, 2.4 ms into an `io.StringIO`, 4.8 ms
through a line-buffered `TextIOWrapper` whose `flush` does nothing, 9 ms with a system call per line (CPython 3.11).
"""

from __future__ import annotations

import builtins
import ctypes
import io
import mmap
import sys
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

from safeexec.common.own import os
from safeexec.engine.child.step.warned import RepeatedWarnings
from safeexec.engine.linux.libc import Call, libc, make, prepared
from safeexec.protocol.printed import (
    EVERYWHERE,
    MARKED_BYTES,
    PYTHON_AT,
    RAW_BYTES,
    mark,
    python_bytes,
)

_MAP_FIXED = 0x10
_UNBUFFERED = 2  # _IONBF of <stdio.h>
_c_stdout = ctypes.c_void_p.in_dll(libc, "stdout")
_builtin_print = builtins.print
_PRINTED_AT_ONCE = frozenset({str, int, float, bool, type(None)})
"""Types whose `str` runs no code of the guest: several of them may be joined before the first one is written."""


def _memory(size: int) -> tuple[mmap.mmap, int]:
    """Return a mapping that `_putting_behind` gives a file, and its address. Private: until then it is the zygote's."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _putting_behind(address: int, size: int, protection: int, kind: int, offset: int) -> Call:
    """Return the call that lets the mapping at `address` show the file behind descriptor 1."""
    return prepared("mmap", address, size, protection, kind | _MAP_FIXED, 1, offset)


class Log:
    """Puts the text of standard output into the mapping, past its end or after a fork to descriptor 1."""

    def __init__(self, output_bytes: int) -> None:
        self._raw = 0
        self._file: tuple[int, int] | None = None
        """The file behind descriptor 1, while its areas are in the mappings."""
        self._shared = False
        self.elsewhere = False
        """True once the step has printed an object, and not only text and numbers, to another stream."""
        size = python_bytes(output_bytes)
        self._map, mapped_at = _memory(size)
        self._second, second_at = _memory(RAW_BYTES)
        self._attaching = (
            # Private, and never written to: so it shows what is in the file.
            _putting_behind(second_at, RAW_BYTES, mmap.PROT_READ, mmap.MAP_PRIVATE, 0),
        )
        self._sharing = (
            _putting_behind(mapped_at, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, PYTHON_AT),
        )
        self.direct()

    def share(self) -> None:
        """Map the file that is behind descriptor 1 for this moment: what is printed goes there, and the host reads it.
        One that the host could not make is empty.
        """
        self._shared = False
        if os.fstat(1).st_size >= PYTHON_AT + len(self._map):
            make(self._sharing)
            self._shared = True

    def attach(self) -> None:
        """Begin at the start of the files of a child, or a branch; where none is shared, write to descriptor 1."""
        self._file = None
        try:
            info = os.fstat(1)
            if self._shared and info.st_size >= RAW_BYTES:
                make(self._attaching)
                self._file = (info.st_dev, info.st_ino)
        except OSError:
            pass
        self.rewind()

    def rewind(self) -> None:
        """Begin a step: the host has emptied the file."""
        if self._file is None:
            self.direct()
            return
        self._raw, self.elsewhere = 0, False
        self._map.seek(0)
        self.memory: mmap.mmap | bytes = self._second
        self.watched = 0
        self.put: Callable[[bytes], object] = self._map.write

    def empty(self) -> None:
        """Forget what the last step printed, as the host does before the next one."""
        if self._file is not None:
            size = self._map.tell()
            self._map[:size] = bytes(size)

    def finish(self) -> bytes | None:
        """End a step. Return what it printed, without a system call; None where some of it is not in the first area, or
        was an object that was written into a stream of the program's.

        The host takes the NULs at the end for memory that nobody wrote to: those that were printed get a mark behind.
        """
        if self._file is None:
            return None
        text = self._map[: self._map.tell()]
        if text and not text[-1]:
            self.put(mark(self._raw))
            text = self._map[: self._map.tell()]
        is_known = not (self.elsewhere or self.memory is not self._second or self._raw or self.memory[self.watched])
        return text if is_known else None

    def position(self) -> tuple[int, int]:
        """Return where each of the two areas ends by now. Raises OSError where descriptor 1 is no file."""
        end = os.lseek(1, 0, os.SEEK_CUR)
        if self._file is None:
            return 0, end
        if self.memory[self.watched]:
            self.notice()
        return self._map.tell(), end

    def direct(self) -> None:
        """Make every text a system call on descriptor 1, from now on."""
        self.memory, self.watched, self.put = b"\0", 0, _write

    def redirected(self) -> None:
        """Descriptor 1 may be another file now: what is printed goes where it leads."""
        try:
            info = os.fstat(1)
            same = (info.st_dev, info.st_ino) == self._file
        except OSError:
            return
        if not same:
            self.direct()
        elif self.put is _write and self._file is not None:
            self.memory, self.watched, self.put = self._second, 0, self._map.write
            self.notice()

    def write(self, data: bytes) -> None:
        """Append `data`, after whatever else was written to descriptor 1 before."""
        if self.memory[self.watched]:
            self.notice()
        try:
            self.put(data)
        except ValueError:
            self.overflow(data)

    def notice(self) -> None:
        """Note that something is new in the second area: what is printed next comes after it."""
        if self._map.tell() >= MARKED_BYTES:
            self.direct()
            return
        try:
            self._raw = os.lseek(1, 0, os.SEEK_CUR)
            self.put(mark(self._raw))
        except (OSError, ValueError):
            return
        self.watched = min(self._raw, RAW_BYTES - 1)

    def overflow(self, data: bytes) -> None:
        """Write past the first area, which is full: what comes now follows all that is in it."""
        self.direct()
        self.put(data)


def _write(data: bytes, fd: int = 1) -> None:
    """Write all of `data` to a descriptor. Raises OSError past the end of its file (EPERM)."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _drop(_: bytes) -> None:
    pass


class _Outlet(io.BufferedIOBase):
    """The binary stream below a text stream: keeps nothing. (A `FileIO` would lead to the class that opens files.)"""

    raw: Any = None
    mode = "wb"

    def __init__(self, fd: int, name: str, put: Callable[[bytes], object]) -> None:
        self._fd = fd
        self.name = name
        self._put = put

    def write(self, data: Any, /) -> int:
        data = bytes(data)
        self._put(data)
        return len(data)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd


class Streams:
    """The guest's stdout and stderr, installed as `sys.stdout` and `sys.stderr`, and its `print`."""

    def __init__(self, output_bytes: int) -> None:
        self.log = Log(output_bytes)
        """Standard output below its stream."""
        self.warnings = RepeatedWarnings()
        self.printed: bytes | None = None
        """The output of the step that has ended, as `Log.finish` returns it."""
        self._open()
        # What C code prints is in the file at once: no kill, and no fork, takes a part of it with it.
        libc.setvbuf(_c_stdout, None, _UNBUFFERED, ctypes.c_size_t(0))
        self.print = self._make_print()

    def _open(self) -> None:
        self.stdout = io.TextIOWrapper(
            _Outlet(1, "<stdout>", self.log.write), encoding="utf-8", errors="strict", newline="\n", write_through=True
        )
        self.stderr = io.TextIOWrapper(
            _Outlet(2, "<stderr>", partial(_write, fd=2)),
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            line_buffering=True,
        )
        for stream in (self.stdout, self.stderr):
            setattr(stream, "mode", "w")  # noqa: B010 - TextIOWrapper has the attribute, its stub does not

    def install(self) -> None:
        """Put the streams into `sys`, whatever the last step left there."""
        sys.stdout, sys.stderr = self.stdout, self.stderr
        # What faulthandler, logging and a guest's own reset of sys.stdout fall back on.
        vars(sys).update(__stdout__=self.stdout, __stderr__=self.stderr)
        if (threading := sys.modules.get("threading")) is not None:  # the main thread has kept that of the zygote
            threading.main_thread()._stderr = self.stderr

    def watch_descriptors(self) -> None:
        """Print, for guests that have `os`, where descriptor 1 leads after `os.dup2`, and directly in their forks."""
        log, dup2 = self.log, os.dup2

        def dup2_and_look(fd: int, fd2: int, inheritable: bool = True) -> int:
            result = dup2(fd, fd2, inheritable)
            if fd2 == 1:
                log.redirected()
            return result

        dup2_and_look.__name__ = dup2_and_look.__qualname__ = "dup2"
        sys.modules["os"].dup2 = dup2_and_look  # type: ignore[attr-defined]  # that of programs
        # A fork has the mapping in common with this process, and a position of its own there: it would write over it.
        os.register_at_fork(after_in_child=log.direct)

    def begin(self) -> None:
        """Open again, before a step, what the guest closed."""
        self.log.rewind()
        if self.warnings.counts:
            self.warnings.begin()
        if self.stdout.closed or self.stderr.closed:
            self._open()
        if sys.stdout is not self.stdout or sys.stderr is not self.stderr:
            self.install()

    def empty(self) -> None:
        """Forget what the last step printed: nobody gets it."""
        self.log.empty()
        os.lseek(2, 0, os.SEEK_SET)

    def position(self) -> tuple[int, int, int]:
        """Return how far the step has printed: where both areas of standard output and standard error end by now."""
        try:
            self.stdout.flush()
            self.stderr.flush()
            return *self.log.position(), os.lseek(2, 0, os.SEEK_CUR)
        except (OSError, ValueError):  # closed by the guest, or led elsewhere
            return EVERYWHERE

    def end(self) -> None:
        """After a step: everything it printed is in the files."""
        if self.warnings.counts:
            self.warnings.end()
        log, self.printed = self.log, None
        for stream, own in ((sys.stdout, self.stdout), (sys.stderr, self.stderr)):
            if stream is not own:
                try:
                    stream.flush()  # the guest's own: a wrapper of the real one keeps text back
                except Exception:
                    continue
        try:
            self.stdout.flush()
            self.printed = log.finish()
            self.stderr.flush()
        except Exception:
            # Past the end of the file (EPERM), or closed by the guest: what did not fit is lost, the step is not.
            self._open()
            self.install()
        if log.put is not _write:
            # Nobody reads what is printed between steps; where the last one ended it would stand, after a run of NULs,
            # in the middle of what the next one prints.
            log.put = _drop

    def _make_print(self) -> Callable[..., None]:
        """Return `print` for guest code: as the builtin, which it falls back on for all but what is common."""
        log, streams, slow, at_once = self.log, self, _builtin_print, _PRINTED_AT_ONCE.issuperset

        def print(
            value: Any = "",
            /,
            *values: Any,
            sep: Any = None,
            end: Any = None,
            file: Any = None,
            flush: Any = False,
            **unknown: Any,
        ) -> None:
            if sys.stdout is not streams.stdout or file is not None or unknown:
                if not at_once(map(type, (value, *values))):
                    log.elsewhere = True
                slow(value, *values, sep=sep, end=end, file=file, flush=flush, **unknown)
                return
            if not values and end is None and sep is None:
                text = f"{value!s}\n"
            elif at_once(map(type, values)) and type(sep) in _STR_OR_NONE and type(end) in _STR_OR_NONE:
                text = (" " if sep is None else sep).join((str(value), *map(str, values)))
                text += "\n" if end is None else end
            else:
                slow(value, *values, sep=sep, end=end)
                return
            try:
                data = text.encode()
            except UnicodeEncodeError:
                data = None
            if data is None:
                streams.stdout.write(text)  # behind the clause: what is raised in it would name this attempt, too
                return
            if log.memory[log.watched]:
                log.notice()
            try:
                log.put(data)
            except ValueError:
                log.overflow(data)

        update_wrapper(print, slow)  # whose signature, and no annotations, libraries find by `inspect`
        print.__annotations__ = {}
        return print


_STR_OR_NONE = (str, type(None))
