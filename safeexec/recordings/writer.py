"""Writes a recording off the path of the steps: a bounded queue, and a thread that makes lines of what comes.

The caller makes a closure, encodes the value and appends to the queue: 12 to 22 us of its CPU time for a small step
that takes 100 (`python -m benchmarks.recording`). The line is made by the thread, which lets records come together for
a moment: waking it for each would take the interpreter's lock from the next step.

Each line is one write at the end of a file that nobody else may read; what a full disk took in part is cut off again,
so that the file is whole after every line. A recording that cannot go on stops, the session does not; `problem` says
why.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from safeexec.errors import RecordingError, StoreError
from safeexec.recordings.format import LINE_BYTES, Record, Stop
from safeexec.recordings.forms import Redaction, line_of

WAITING = 1024
"""Records that wait to be written at most; who brings one more waits."""
LARGE = 4096
"""Bytes from which on a record is weighed."""
WAITING_BYTES = 64 << 20
"""The most bytes of the large records that wait."""
PAUSE_SECONDS = 0.01
"""Seconds for which records come together before they are written: a host that is killed loses so much."""
PATIENCE_SECONDS = 5.0
"""Seconds that a disk may take for one line before the recording is given up."""
SYNC_SECONDS = 60.0
"""Seconds that a disk may take until what is written is on it, before the recording is given up."""
LOOK_BYTES = 1 << 20
"""Bytes that are written between two looks at the size of the whole directory."""
LAST_LINE = 200
"""Bytes that are kept free for the line that says why nothing more came."""
Make = Record | Callable[..., Record]
"""A record, or what makes one of `n`, its number, and `at`, its time: in the thread that writes."""


class RecordOptions(Struct, frozen=True, kw_only=True):
    """Options of a recording."""

    path: str | os.PathLike[str] | None = None
    """A file that is not there yet; None: in memory, for `Session.history`."""
    max_mb: int = 256
    """Size at which the recording ends, MiB."""
    total_mb: int | None = None
    """Size of all files of its directory at which it ends, too, and at which none is begun, MiB. No file is deleted."""
    durable: bool = False
    """True: each result waits until it is on the disk."""
    redact: Collection[str] = ()
    """Variables and tools whose values are not written. Their texts are taken out of everything else, too."""


class Append(Protocol):
    """Writes lines from a byte on, which is where the recording ends then: whole or not at all. `sync`: they are on the
    disk then, with all before. Raises OSError or `StoreError`.
    """

    def __call__(self, at: int, lines: bytes, *, sync: bool = False) -> None: ...


class RecordFile:
    """The file of a recording: a new one that only its owner may read."""

    path: str
    """A path from which it can be read."""
    _fd = -1

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        """Raises `RecordingError` where there is such a file already, or none can be made."""
        if path is None:
            self._fd = os.memfd_create("recording", os.MFD_CLOEXEC)
            self.path = f"/proc/self/fd/{self._fd}"
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self.path = os.path.abspath(path)
        try:
            self._fd = os.open(path, flags, 0o600)
        except FileExistsError:
            raise RecordingError(f"{os.fspath(path)!s} is there already, and no recording is overwritten") from None
        except (OSError, ValueError) as error:
            raise RecordingError(f"nothing can be recorded in {os.fspath(path)!s}: {_words_of(error)}") from None

    def append(self, at: int, lines: bytes, *, sync: bool = False) -> None:
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            os.ftruncate(self._fd, at)
            raise
        if sync:
            os.fdatasync(self._fd)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close  # of one whose opening was interrupted, which nobody has


class RecordWriter:
    """One recording that is being written. Any thread may add to it."""

    def __init__(
        self,
        options: RecordOptions,
        append: Append | None = None,
        *,
        lines: int = 0,
        size: int = 0,
        began: float = 0.0,
        sync_seconds: float | None = None,
    ) -> None:
        """`append`: writes to a store, if it does not go to the path of the options; so many `lines` and bytes are
        there already, the first of them written `began` seconds ago. `sync_seconds`: how long after a line it is on the
        disk at the latest. Raises `RecordingError` where nothing can be recorded.
        """
        self.options = options
        self._sync_seconds = sync_seconds
        self._unsynced = 0.0
        """Monotonic time since which lines wait to be on the disk; 0: none do."""
        self.hidden = Redaction(frozenset(options.redact))
        self.problem = ""
        """The reason why nothing more is recorded; "" while it goes on."""
        self.cause: Exception | None = None
        """The error of the disk, or of the store, then."""
        if (full := _full(options)) is not None:
            raise RecordingError(full)
        self.file: RecordFile | None = None
        """None: another process may go on with it, in a store. Then it has no last line."""
        if append is None:
            self.file = RecordFile(options.path)
            append = self.file.append
        self._append: Append = append
        self.size = size
        """Bytes of the lines so far."""
        self._lines = lines
        self._batch: list[bytes] = []
        """Lines that are made and not written: those that come together are one write."""
        self._began = monotonic() - began
        self._waiting: SimpleQueue[tuple[float, Make, int] | Callable[[], None] | None] = SimpleQueue()
        """Records with their time and size, and what else the thread is to do between them; None ends it."""
        self._weight = 0
        """Bytes of the large records that wait."""
        self._weighing = threading.Lock()
        """Held while they are counted, and while the thread is started."""
        self._hurry = threading.Event()
        """Set when somebody waits for what is to be written."""
        self._pid = os.getpid()
        self._thread: threading.Thread | None = None
        """Writes what comes. It begins with the first that does, when whoever opened this has it and can close it: one
        whose opening was interrupted (Ctrl-C) has no thread.
        """

    def _send(self, item: tuple[float, Make, int] | Callable[[], None] | None) -> None:
        self._waiting.put(item)
        if self._thread is None:
            with self._weighing:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="safeexec-recording", daemon=True)
                    self._thread.start()
                    atexit.register(self.close)

    def add(self, make: Make, size: int = 0) -> None:
        """Have a record written, or made and written. `size`: about how many bytes it holds meanwhile."""
        if self.problem or self._pid != os.getpid():
            return
        if size >= LARGE:
            self._weigh(size)
        if self._waiting.qsize() >= WAITING or self._weight > WAITING_BYTES:
            self._wait()
        self._send((monotonic() - self._began, make, size))

    def _weigh(self, size: int) -> None:
        with self._weighing:
            self._weight += size

    def _wait(self) -> None:
        """Wait until the disk, which is slower than the session, has caught up."""
        deadline = monotonic() + PATIENCE_SECONDS
        while not self._waiting.empty() and not self.problem:
            self._hurry.set()
            if self._waiting.qsize() <= WAITING // 2 and self._weight <= WAITING_BYTES // 2:
                return
            if monotonic() > deadline:
                self.problem = f"nothing could be written for {PATIENCE_SECONDS:g} s"
                return
            sleep(0.001)

    def flush(self, *, disk: bool = False) -> None:
        """Wait until what was added is written; until it is on the `disk` where the recording is durable."""
        if self._pid != os.getpid() or self._thread is None or not self._thread.is_alive():
            return
        if disk or self.options.durable:
            self._between(self._sync, SYNC_SECONDS)
        else:
            self._between(lambda: None, PATIENCE_SECONDS)

    def _between(self, act: Callable[[], None], seconds: float) -> bool:
        """Have the thread that writes do something, after what was added: nobody else writes, so that it knows where
        the recording ends. Returns whether it was done in time.
        """
        done = threading.Event()

        def acting() -> None:
            self._put_all()
            act()
            done.set()

        self._send(acting)
        self._hurry.set()
        if not done.wait(seconds):
            self.problem = self.problem or f"nothing could be written for {seconds:g} s"
        return done.is_set()

    def _sync(self) -> None:
        self._unsynced = 0.0
        if not self.problem:
            try:
                self._append(self.size, b"", sync=True)
            except (OSError, StoreError) as error:
                self.problem, self.cause = f"it is not on the disk: {_words_of(error)}", error

    def turn_over(self, begin: Callable[[int], tuple[Append, int, int]]) -> None:
        """Go on at another place, which `begin` makes of how many bytes there are here, with the bytes and lines that
        it holds already. Raises what it raises: then the recording goes on here.
        """
        failed: list[Exception] = []

        def go_over() -> None:
            try:
                if self.problem:
                    raise RecordingError(self.problem)
                self._append, self.size, self._lines = begin(self.size)
            except Exception as error:
                failed.append(error)
            else:
                self._began, self._unsynced = monotonic(), 0.0

        # By the thread that writes: it may be about to wait for the disk, and no line comes in between.
        if self._between(go_over, 2 * PATIENCE_SECONDS) and failed:
            raise failed[0]

    def close(self) -> None:
        """Write what is left, and the last line. Harmless when closed already."""
        atexit.unregister(self.close)
        if self._pid != os.getpid():  # a fork has no thread that writes, and the file is the other process's
            return
        self._send(None)
        self._hurry.set()
        # No `join`, which would leave a thread of the host that `threading` did not start among its threads.
        deadline = monotonic() + PATIENCE_SECONDS
        while self._thread is not None and self._thread.is_alive() and monotonic() < deadline:
            sleep(0.0005)

    def _work(self) -> None:
        try:
            while self._write_what_came():
                pass
            if not self.problem:
                self._last("closed")
            self._put_all()
            if self.file is None:
                self._sync()
        finally:
            if self.file is not None:
                self.file.close()

    def _write_what_came(self) -> bool:
        """Write what comes in a moment. False: it was the end."""
        due = None
        if self._unsynced and self._sync_seconds is not None:
            due = max(0.0, self._unsynced + self._sync_seconds - monotonic())
        try:
            item = self._waiting.get(timeout=due)
        except Empty:
            self._sync()
            return True
        self._hurry.wait(PAUSE_SECONDS)
        self._hurry.clear()  # before the queue is emptied: who sets it from here on has put something after
        with suppress(Empty):
            while item is not None:
                self._take(item)
                item = self._waiting.get_nowait()
            return False
        self._put_all()
        if self._unsynced and monotonic() - self._unsynced >= (self._sync_seconds or 0.0):
            self._sync()
        return True

    def _take(self, item: tuple[float, Make, int] | Callable[[], None]) -> None:
        if callable(item):
            item()
            return
        at, make, size = item
        if not self.problem:
            self._write(at, make)
        if size >= LARGE:
            self._weigh(-size)

    def _write(self, at: float, make: Make) -> None:
        try:
            known = {"n": self._lines, "at": round(at, 6)}
            line = line_of(self.hidden.of(replace(make, **known) if isinstance(make, Record) else make(**known)))
            if len(line) > LINE_BYTES:
                self._stop(f"one line would have taken {len(line)} bytes, and {LINE_BYTES} are allowed")
            elif self.size + len(line) + LAST_LINE > self.options.max_mb << 20:
                self._stop("it has reached its size (`max_mb`)")
            elif (self.size + len(line)) // LOOK_BYTES > self.size // LOOK_BYTES and (full := _full(self.options)):
                self._stop(full)
            else:
                self._put(line)
        except Exception as error:
            # Whatever it is: the session goes on, and says that its recording does not.
            self._put_all()
            self.problem = f"{type(error).__name__} while a record was made"

    def _stop(self, why: str) -> None:
        self._last("full")
        self._put_all()
        self.problem = self.problem or why

    def _last(self, reason: Any) -> None:
        if self.file is not None:
            self._put(line_of(Stop(n=self._lines, at=round(monotonic() - self._began, 6), reason=reason)))

    def _put(self, line: bytes) -> None:
        self._batch.append(line)
        self._lines += 1
        self.size += len(line)
        if len(line) >= LARGE:
            self._put_all()

    def _put_all(self) -> None:
        batch, self._batch = b"".join(self._batch), []
        if not batch or self.problem:
            return
        try:
            self._append(self.size - len(batch), batch)
        except (OSError, StoreError) as error:
            self.problem, self.cause = _words_of(error), error
        if self._sync_seconds is not None:
            self._unsynced = self._unsynced or monotonic()


def _words_of(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _full(options: RecordOptions) -> str | None:
    """Return why nothing more may be written beside the other recordings; None where it may."""
    if options.path is None or options.total_mb is None:
        return None
    directory = os.path.dirname(os.path.abspath(options.path))
    held = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # moved away meanwhile
                    held += entry.stat(follow_symlinks=False).st_size
    except OSError as error:
        return f"nobody knows what the files in {directory} take: {error.strerror}"
    if held < options.total_mb << 20:
        return None
    return (
        f"the files in {directory} take {held >> 20} MiB, and total_mb allows {options.total_mb}: move some away, "
        "for none is deleted"
    )
