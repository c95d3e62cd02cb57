"""One process that runs steps, as the host drives it: sent commands, watched, ended."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from safeexec.common.identity import LARGE
from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.session.copy import Copy
from safeexec.engine.host.session.decode import decode_file, decode_payload
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch.bill import SMALL_BYTES, SMALL_SECONDS, Bill
from safeexec.engine.host.watch.lineage import Lineage
from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import TooMuch

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Limits

R = TypeVar("R")

READY_SECONDS = 10.0
"""How long to wait for a new child of a sandbox, from when the last one came up: it takes 4 ms with pandas. A zygote
that somebody has stopped makes none.
"""
ANSWER_SECONDS = 10.0
LEAST_SECONDS = 5.0
"""An answer may take as long as a step of this session: between these bounds. Describing variables runs their code."""
DELIVER_SECONDS = 5.0
"""How long a value that a step has announced may take to come: 64 MiB take 0.05 s."""
FRAME_BYTES = 48
"""A value of no more bytes holds no frame and no series."""


class Runner(Struct, eq=False):
    """The running process of a session."""

    channel: Channel
    lineage: Lineage
    origin: Copy | None
    """The copy that it was resumed from, also when that has gone since; None: a new child."""
    _limits: Limits

    @property
    def bill(self) -> Bill:
        """The account to which reading its messages is charged."""
        return self.channel.bill

    @property
    def pid(self) -> int | None:
        return self.channel.pid

    # Commands

    def ask(self, request: Struct, kind: type, seconds: float | None = None, fds: tuple[int, ...] = ()) -> Core[Any]:
        """Send a request and return the answer. Raises `Gone`, and `ProtocolError` for another one, or none in time."""
        yield from self.channel.send(request, fds)
        if seconds is None:
            seconds = patient(min(ANSWER_SECONDS, max(LEAST_SECONDS, self._limits.wall_seconds)))
        message = yield from self.channel.receive(monotonic() + seconds)
        if message is None:
            raise ProtocolError(f"no answer within {seconds:.1f} s")
        if not isinstance(message, kind):
            raise ProtocolError(f"{type(message).__name__} came instead of {kind.__name__}")
        return message

    def deliver(self, size: int, *, arrays: bool, seconds: float | None = None) -> Core[Any]:
        """Fetch a value that the child announced."""
        depth = self._limits.value_depth
        seconds = patient(DELIVER_SECONDS) if seconds is None else seconds
        return (yield from self._delivered(size, seconds, lambda fd: decode_file(fd, size, depth, arrays=arrays)))

    def deliver_bytes(self, size: int, seconds: float) -> Core[bytes]:
        """Fetch the arguments of a call that the child announced."""
        return (yield from self._delivered(size, seconds, lambda fd: os.pread(fd, size, 0)))

    def value(self, payload: bytes, *, arrays: bool) -> Core[Any]:
        """Return a value that came in an answer. Raises `ProtocolError`."""
        depth = self._limits.value_depth
        size = len(payload)
        if arrays and size > FRAME_BYTES and "pandas" not in sys.modules:
            size = max(size, LARGE)  # it may be imported to read the value, which takes 0.4 s
        if size <= SMALL_BYTES:
            self.bill.cpu += SMALL_SECONDS
            return decode_payload(payload, depth, arrays=arrays)
        return (yield from self.bill.reading(size, lambda: decode_payload(payload, depth, arrays=arrays)))

    def _delivered(self, size: int, seconds: float, read: Callable[[int], R]) -> Core[R]:
        """Return what `read` makes of `size` bytes that the child puts into a memfd that the host made."""
        cap = (self._limits.value_kb << 10) + 4096
        if size <= 0:
            raise ProtocolError(f"a value of {size} bytes was announced")
        if size > cap:
            raise TooMuch(f"a value of {size} bytes was announced; {cap} are allowed")
        # It cannot grow: what a child writes into a memfd that it keeps is memory that no limit counts.
        fd = os.memfd_create("value", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            answer = yield from self.ask(m.Deliver(), m.Done, seconds, (fd,))
            if answer.problem:
                raise ProtocolError(answer.problem)
            return (yield from self.bill.reading(size, partial(_taken, fd, read)))
        finally:
            os.ftruncate(fd, 0)  # the child may have kept it: empty, and sealed, it holds nothing
            os.close(fd)


def _taken(fd: int, read: Callable[[int], R]) -> R:
    """Return what `read` makes of a file in memory, which is emptied at once: to free 64 MiB takes 10 ms."""
    try:
        return read(fd)
    finally:
        os.ftruncate(fd, 0)
