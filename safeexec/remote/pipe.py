"""Calls over the standard streams of a command that runs `safeexec serve --stdio`: here, over ssh, in a container."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from time import monotonic, sleep
from typing import Any

from safeexec.engine.host.waiting import Wait, wait
from safeexec.errors import ProtocolError, SandboxClosed
from safeexec.remote.methods import MAX_MESSAGE
from safeexec.remote.wire import LOOK_SECONDS, RemoteCall, parsed, raised, sent
from safeexec.untrusted.lines import Lines

WRITE_SECONDS = 30.0
"""Time that a server may take none of what it is sent."""
END_SECONDS = 10.0
"""Time for the command to end after its end of input."""


class PipeWire:
    """One command and its two pipes."""

    def __init__(
        self, command: Sequence[str], errors: int | None = None, then: str = "what it said is on standard error"
    ) -> None:
        """Start the command, in a group of its own: Ctrl-C is for this program. Raises `SandboxClosed`.

        `errors`: where its standard error goes, as `Popen` takes it; without, where this program's goes. `then`: what
        who uses it reads when it has ended.
        """
        self._command = f"`{' '.join(command)}`"[:200]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0, start_new_session=True
            )
        except OSError as error:
            raise SandboxClosed(f"{self._command} cannot be started: {error.strerror}") from None
        assert self._process.stdin is not None and self._process.stdout is not None
        if sys.platform != "win32":
            os.set_blocking(self._process.stdin.fileno(), False)
        self._owner = os.getpid()
        self._numbers = count(1)
        self._writing = threading.Lock()
        self._calls = _Calls(self._command, f"{self._command} has ended; {then}")
        wake, stop = os.pipe()
        self._stop = [stop]  # whoever takes it out closes it
        self._thread = threading.Thread(
            target=_serve, args=(self._process, self._writing, wake, self._calls), name="safeexec-wire", daemon=True
        )
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._calls.lost is None and os.getpid() == self._owner

    def begin(self, method: str, params: dict[str, Any]) -> RemoteCall:
        number = next(self._numbers)
        line = sent({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if os.getpid() != self._owner:
            raise SandboxClosed("this connection was made before the process forked; connect in each worker")
        pending = self._calls.begin(number, params.get("session") if params.get("stream") else None)
        try:
            self._write(line + b"\n")
        except BaseException as error:  # half a line may be there: nothing that follows would be read as a line
            pending.close()
            self.lose(error if isinstance(error, SandboxClosed) else SandboxClosed("a call was sent by half"))
            raise
        return pending

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        deadline = monotonic() + WRITE_SECONDS
        pipe = self._process.stdin
        assert pipe is not None
        with self._writing, self._patience():
            while rest:
                try:
                    rest = rest[os.write(pipe.fileno(), rest) :]
                except BlockingIOError:
                    if not wait(Wait((pipe.fileno(),), deadline, writable=True)):
                        raise SandboxClosed(f"{self._command} reads nothing for {WRITE_SECONDS:g} s") from None
                except (OSError, ValueError):  # ValueError: closed here
                    raise SandboxClosed(self._calls.ended) from None

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """End a server on Windows that reads nothing, which ends the writing: no pipe can be waited for there."""
        timer = threading.Timer(WRITE_SECONDS, self._process.kill)
        if sys.platform == "win32":
            timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def lose(self, error: Exception) -> None:
        self._calls.lose(error)
        self._request_end()

    def close(self) -> None:
        """End the command, and wait until it has ended."""
        self._request_end()
        if os.getpid() != self._owner:
            return
        if sys.platform == "win32":
            self._thread.join(END_SECONDS)
            if self._thread.is_alive():
                self._process.kill()
        self._thread.join()

    def _request_end(self) -> None:
        """Send a byte: the end of the pipe would not be seen while a fork of this process has a copy of it."""
        try:
            stop = self._stop.pop()
        except IndexError:
            return
        if sys.platform == "win32" and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()  # the thread waits for the pipe alone, which the server now closes
        with suppress(BrokenPipeError):
            if os.getpid() == self._owner:
                os.write(stop, b".")
        os.close(stop)

    def __del__(self) -> None:
        """Take no lock and wait for nothing: this may run in any thread, amid anything, the wire's own thread too."""
        if hasattr(self, "_stop"):
            self._request_end()


class _Calls:
    """The calls that wait for an answer. The thread that reads holds these, and not the wire: it may be given up."""

    def __init__(self, command: str, ended: str) -> None:
        """`command`: as errors name it; `ended`: what they say when it has ended."""
        self.lost: Exception | None = None
        self.command, self.ended = command, ended
        self._pending: dict[object, RemoteCall] = {}
        self._streams: dict[object, RemoteCall] = {}
        self._lock = threading.Lock()

    def begin(self, number: int, stream: str | None) -> RemoteCall:
        """Begin a call more. `stream`: the session whose output it wants to hear."""
        with self._lock:
            if self.lost is not None:
                raise self.lost
            pending = self._pending[number] = RemoteCall()
            if stream is not None:
                self._streams.setdefault(stream, pending)
            return pending

    def take(self, line: bytes | None) -> None:
        """Take one line of the server. Raises `ProtocolError`."""
        if line is None:
            raise ProtocolError(f"{self.command} sent more than {MAX_MESSAGE} bytes at once")
        message = parsed(line)
        params, error = message.get("params"), message.get("error")
        if "method" in message and "id" not in message:
            session = params.get("session") if isinstance(params, dict) else None
            if isinstance(session, str) and (pending := self._streams.get(session)) is not None:
                pending.add_event(str(message["method"]), params, len(line))
            return
        with self._lock:
            number = message.get("id")
            pending = self._pending.pop(number, None) if isinstance(number, int) and "method" not in message else None
            for session in [key for key, heard in self._streams.items() if heard is pending]:
                del self._streams[session]
        if pending is None:
            raise ProtocolError(f"{self.command} answered what was not asked")
        if isinstance(error, dict):
            data = error.get("data")
            pending.fail(raised(data.get("type") if isinstance(data, dict) else None, error.get("message")))
        else:
            pending.finish(message.get("result"))

    def lose(self, error: Exception) -> None:
        with self._lock:
            self.lost = self.lost or error
            pending, self._pending = list(self._pending.values()), {}
        for call in pending:
            call.fail(error)


def _serve(process: subprocess.Popen[bytes], writing: threading.Lock, wake: int, calls: _Calls) -> None:
    """Take what the server says, until the command is to be ended: the whole life of the thread."""
    assert process.stdin is not None and process.stdout is not None
    try:
        _read(process, wake, calls)
    except Exception as error:
        calls.lose(error)
        os.read(wake, 1)
    calls.lose(SandboxClosed("the connection is closed"))
    os.close(wake)
    process.stdout.close()
    if writing.acquire(timeout=END_SECONDS):
        process.stdin.close()  # with both gone, a server stops what still runs
        writing.release()
    deadline = monotonic() + END_SECONDS
    while process.poll() is None and monotonic() < deadline:
        sleep(LOOK_SECONDS)
    if process.poll() is None:
        process.kill()
    process.wait()
    with writing:
        process.stdin.close()


def _has_more(process: subprocess.Popen[bytes], fd: int, wake: int) -> bool:
    """Wait until there is something to read. False: `wake` has something, or the command has ended while another
    process holds its pipe open (the monitor of a container does).
    """
    if sys.platform == "win32":
        return True
    poller = select.poll()
    for each in (fd, wake):
        poller.register(each, select.POLLIN)
    while not (ready := poller.poll(1000)):
        if process.poll() is not None:
            return False
    return not any(found == wake for found, _ in ready)


def _read(process: subprocess.Popen[bytes], wake: int, calls: _Calls) -> None:
    """Take what the server says, until `wake` has something. Raises what is wrong with it, or that it has ended."""
    assert process.stdout is not None
    fd, lines = process.stdout.fileno(), Lines(MAX_MESSAGE)
    while _has_more(process, fd, wake):
        data = os.read(fd, 1 << 20)
        if not data:
            raise SandboxClosed(calls.ended)
        for line in lines.feed(data):
            calls.take(line)
        if lines.too_long:
            calls.take(None)
    if process.poll() is not None:
        raise SandboxClosed(calls.ended)
