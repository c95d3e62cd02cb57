"""Bytes ↔ frames of the conversations with zygotes and children. No sockets here.

A frame is a four-byte little-endian length, the token, then that many bytes of one msgpack message. The length is
checked against a cap before anything is allocated for it. Only the messages of a child have a token: random bytes that
the host has sent to its process. Guest code can make C code of a library write to the control socket (``image.save`` to
an object whose `fileno` is 3), but it does not know the token.
"""

from __future__ import annotations

from struct import Struct

import msgspec

from safeexec.errors import ProtocolError

_encoder = msgspec.msgpack.Encoder()
encode = _encoder.encode

HEADER = Struct("<I")
MAX_FRAME = 64 << 20
"""Bytes of the largest frame either side accepts. Larger values travel through a memfd."""


class TooMuch(ProtocolError):
    """A stranger sent more than may be read: bytes, items, or what takes too long to read."""


def frame(payload: bytes, token: bytes = b"") -> bytes:
    """Return one frame around `payload`."""
    return HEADER.pack(len(payload)) + token + payload


class FrameReader:
    """Cuts a byte stream into payloads. `feed` returns the complete ones; the rest waits for more bytes."""

    __slots__ = ("_buffer", "_cap", "_head", "_token")

    def __init__(self, cap: int = MAX_FRAME, token: bytes = b"") -> None:
        self._buffer = bytearray()
        self._cap = cap
        self._token = token
        self._head = HEADER.size + len(token)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads that `data` completes.

        Raises `ProtocolError` as soon as a header announces more than the cap, or has another token.
        """
        head = self._head
        if not self._buffer and len(data) >= head:
            # The usual case: one whole frame in one read; nothing is copied twice.
            (size,) = HEADER.unpack_from(data)
            if size == len(data) - head and size <= self._cap and data[HEADER.size : head] == self._token:
                return [data[head:]]
        self._buffer += data
        payloads = []
        while len(self._buffer) >= HEADER.size:
            (size,) = HEADER.unpack_from(self._buffer)
            # As much of it as has come: who does not know it is told so at the first wrong byte, not at a whole head.
            if not self._token.startswith(self._buffer[HEADER.size : head]):
                raise ProtocolError("bytes came on its socket that are none of the sandbox's messages")
            if size > self._cap:
                raise TooMuch(f"a frame of {size} bytes was announced; {self._cap} are allowed")
            if len(self._buffer) < head + size:
                break
            with memoryview(self._buffer) as whole, whole[head : head + size] as part:
                payloads.append(bytes(part))
            del self._buffer[: head + size]
        return payloads
