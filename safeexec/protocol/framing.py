"""Bytes ↔ frames: a four-byte little-endian length, then that many bytes of one msgpack message.

The length is checked against a cap before anything is allocated for it.
"""

from __future__ import annotations

from struct import Struct

from safeexec.errors import ProtocolError

HEADER = Struct("<I")
MAX_FRAME = 64 << 20
"""Bytes of the largest frame either side accepts. Larger values travel through a memfd."""


def frame(payload: bytes) -> bytes:
    """One frame around `payload`."""
    return HEADER.pack(len(payload)) + payload


class FrameReader:
    """Cuts a byte stream into payloads. `feed` returns the complete ones; the rest waits for more bytes."""

    __slots__ = ("_buffer", "_cap")

    def __init__(self, cap: int = MAX_FRAME) -> None:
        self._buffer = bytearray()
        self._cap = cap

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that `data` completes.

        Raises `ProtocolError` as soon as a header announces more than the cap.
        """
        if not self._buffer and len(data) >= 4:
            # The usual case: one whole frame in one read; nothing is copied twice.
            (size,) = HEADER.unpack_from(data)
            if size == len(data) - 4 and size <= self._cap:
                return [data[4:]]
        self._buffer += data
        payloads = []
        while len(self._buffer) >= 4:
            (size,) = HEADER.unpack_from(self._buffer)
            if size > self._cap:
                raise ProtocolError(f"a frame of {size} bytes was announced; {self._cap} are allowed")
            if len(self._buffer) < 4 + size:
                break
            payloads.append(bytes(self._buffer[4 : 4 + size]))
            del self._buffer[: 4 + size]
        return payloads
