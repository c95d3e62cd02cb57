"""The child's end of a control socket: whole messages in and out, and the descriptors that came with them."""

from __future__ import annotations

import socket
from array import array
from typing import Any

import msgspec

from safeexec.common.own import os, select
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import FrameReader, frame

CHUNK = 32 << 10
"""Bytes per read. A buffer past 128 KiB would be mapped and unmapped by malloc at every message (12 us)."""
MAX_FDS = 4
_NO_FD = array("i", [-1]).tobytes()
_ANCILLARY = socket.CMSG_SPACE(MAX_FDS * len(_NO_FD))
_encode = msgspec.msgpack.Encoder().encode
_from_host = msgspec.msgpack.Decoder(m.ToChild)


class Link:
    """One socket to the host, framed."""

    def __init__(self, fd: int, decoder: msgspec.msgpack.Decoder[Any] = _from_host, *, token: bytes = b"") -> None:
        # Family, type and protocol are named: without them the socket object calls getsockname, which seccomp refuses.
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=fd)
        self._reader = FrameReader()
        self.decoder = decoder
        self.token = token
        self._queue: list[bytes] = []
        self.fds: list[int] = []
        """Descriptors that came with the last messages and nobody has taken yet."""

    def packed(self, message: msgspec.Struct) -> bytes:
        """Return `message` as `send` sends it."""
        return frame(_encode(message), self.token)

    def send(self, message: msgspec.Struct) -> None:
        self.socket.sendall(frame(_encode(message), self.token))  # as `packed`: a call less in each step

    def receive(self) -> Any:
        """Return the next message. The end of the socket ends this process: the host has ended, or wants it to end."""
        while not self._queue:
            try:
                data, ancillary, _, _ = self.socket.recvmsg(CHUNK, _ANCILLARY)
            except ConnectionResetError:
                # The host closed its end before it had read everything: a control socket whose checkpoint nobody
                # needed.
                os._exit(0)
            if not data:
                os._exit(0)
            for level, kind, payload in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    self._keep(payload)
            self._queue = self._reader.feed(data)
        return self.decoder.decode(self._queue.pop(0))

    def _keep(self, descriptors: bytes) -> None:
        self.fds += array("i", descriptors)

    def pretend_to_receive(self, request: msgspec.Struct) -> Any:
        """Do what receiving `request` does, short of its arrival: it touches the same memory."""
        _ = _RECEIVE, self.socket.recvmsg  # a look counts a reference, as a call does
        self._keep(_NO_FD)
        self.fds.pop()
        self._queue = self._reader.feed(frame(_encode(request)))
        return self.decoder.decode(self._queue.pop(0))

    def pretend_to_send(self, answer: msgspec.Struct) -> None:
        """Do what sending `answer` does, short of sending."""
        frame(_encode(answer), self.token)
        self.socket.sendall(b"")

    def quiet(self, seconds: float) -> bool:
        """Return whether nothing arrives for that long."""
        return not self._queue and not select.select([self.socket], [], [], seconds)[0]

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self.socket.fileno()

    def take_fd(self) -> int | None:
        """Return the oldest descriptor that the host sent and nobody has taken."""
        return self.fds.pop(0) if self.fds else None

    def deliver(self, payload: bytes) -> m.Done:
        """Write `payload` into the file that came with `Deliver`; the answer to it."""
        fd = self.take_fd()
        if fd is None:
            return m.Done(problem="no descriptor came with the request")
        rest = memoryview(payload)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        finally:
            os.close(fd)
        return m.Done()

    def become(self, fd: int) -> None:
        """Go on, in a copy of the process, over the socket `fd`, under the number of the one that the original has.

        The object stays what it is. (To close it and make another one costs a copy 60 pages.)
        """
        os.dup2(fd, self.fileno(), inheritable=False)
        os.close(fd)

    def drop_fds(self) -> None:
        """Close every descriptor that nobody took."""
        while (fd := self.take_fd()) is not None:
            os.close(fd)


_RECEIVE = Link.receive.__code__
