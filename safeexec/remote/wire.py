"""A call that is under way at a server, as the core waits for it: a signal, then an answer.

What carries calls (`pipe`, `http`) has a thread that reads; it never touches what a caller holds, but through here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any, Protocol

from safeexec import errors
from safeexec.common.text import one_line
from safeexec.engine.host.session.standard_input import encoded
from safeexec.engine.host.waiting import Signal
from safeexec.errors import ProtocolError, SandboxError
from safeexec.remote.methods import MAX_MESSAGE
from safeexec.results import Result, StepFailed
from safeexec.untrusted.json_text import loads

MAX_TEXT = 20_000
"""Characters of a server's message."""
MAX_UNREAD = 256 << 20
"""Bytes of output that a listener may leave waiting."""
EVENT_BYTES = 1000
"""The bytes of an event beside its text: many small ones are no less."""
WAIT_SECONDS = 30.0
"""Time that a call waits for its turn that a server has no room for, or that comes too soon."""
LOOK_SECONDS = 0.05
"""Time between two looks whether the caller still waits."""
_ERRORS: dict[str, Callable[[str], Exception]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, SandboxError)
}
_ERRORS |= {"KeyError": KeyError, "ValueError": ValueError, "TypeError": TypeError, "UnicodeEncodeError": ValueError}
_ERRORS["StepFailed"] = lambda text: StepFailed(text, Result(outcome="error"))
"""The error of a template that could not be prepared: the result of its program stays at the server."""


class RemoteCall:
    """A call whose answer is to come. `signal` is set for `take_events`; once it is `over` there is the answer."""

    def __init__(self) -> None:
        self.signal = Signal()
        self.over = False
        self.wanted = True
        """True as long as its caller waits for it to begin."""
        self._closed = False
        self._hang_up: Callable[[], object] | None = None
        self._events: list[tuple[str, Any]] = []
        self._unread = 0
        self._answer: Any = None
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def add_event(self, name: str, params: Any, size: int) -> None:
        """Take an event of `size` bytes that came on the way."""
        with self._lock:
            self._events.append((name, params))
            self._unread += len(name) + size + EVENT_BYTES
            too_much = self._unread > MAX_UNREAD
            self._wake()
        if too_much:
            self.fail(ProtocolError(f"more than {MAX_UNREAD} bytes of output came that the listener has not taken"))

    def finish(self, answer: Any) -> None:
        self._end(answer, None)

    def fail(self, error: Exception) -> None:
        self._end(None, error)

    def wait_to_repeat(self, seconds: float, wire: Wire, begun: bool = False) -> bool:
        """Sleep before it is made again, and return whether its caller and the wire are still there. One that has
        `begun` is not given up by a caller who only waits for its end.
        """
        until = monotonic() + seconds
        while (there := (self.wanted or begun) and not self._closed and wire.alive) and monotonic() < until:
            sleep(LOOK_SECONDS)
        return there

    def _end(self, answer: Any, error: Exception | None) -> None:
        with self._lock:
            if not self.over:
                self._answer, self._error, self.over = answer, error, True
                self._wake()

    def _wake(self) -> None:
        if not self._closed:
            self.signal.set()

    def take_events(self) -> tuple[list[tuple[str, Any]], bool]:
        """Return the events since the last time, and whether the call is over and no event follows them.

        One lock holds all of it: an end between a look at `over` and the clearing of the signal would wake nobody.
        """
        with self._lock:
            self.signal.clear()
            events, self._events = self._events, []
            self._unread = 0
            return events, self.over

    def answer(self) -> Any:
        """Return what the server answered. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._answer

    def on_close(self, hang_up: Callable[[], object] | None) -> None:
        """Note what ends its connection when nobody waits for it any more, and it is not over."""
        with self._lock:
            self._hang_up = hang_up
        if self._closed:
            self.close()

    def close(self) -> None:
        """Note that nobody waits any more."""
        with self._lock:
            self._closed = True
            if self._hang_up is not None and not self.over:
                self._hang_up()


class Wire(Protocol):
    """A connection to a server."""

    @property
    def alive(self) -> bool:
        """True as long as calls may be answered."""

    def begin(self, method: str, params: dict[str, Any]) -> RemoteCall:
        """Begin a call. Raises `SandboxClosed`, and what `sent` raises: then nothing was sent."""

    def lose(self, error: Exception) -> None:
        """Give up the server: every call fails with `error`."""

    def close(self) -> None:
        """Let go of the server. It may take a moment."""


def sent(message: dict[str, Any]) -> bytes:
    """Return a call as JSON on one line. What no server would read is refused here, where it hurts only its own call:
    TypeError for what is no JSON, ValueError for half of a character, `SandboxError` for more than `MAX_MESSAGE` bytes.
    """
    data = encoded(json.dumps(message, allow_nan=False, ensure_ascii=False), "the call")
    if len(data) > MAX_MESSAGE:
        raise SandboxError(f"the call has {len(data)} bytes, and {MAX_MESSAGE} are the most that is sent")
    return data


def raised(kind: object, message: object) -> Exception:
    """Return the exception that a server sent, as its class; one that is not known is a `SandboxError`."""
    text = message[:MAX_TEXT] if isinstance(message, str) else "the server gives no reason"
    known = _ERRORS.get(kind) if isinstance(kind, str) else None
    return known(text) if known is not None else SandboxError(text)


def parsed(line: bytes) -> dict[str, Any]:
    """Return an object that a server sent. Raises `ProtocolError` for anything else."""
    try:
        message = loads(line.decode())
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ProtocolError(f"what the server sent is no answer: {one_line(line[:100].decode('utf-8', 'replace'))}")
    return message
