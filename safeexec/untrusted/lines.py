"""Cuts what strangers send into lines, within a size."""

from __future__ import annotations

from collections.abc import Iterator


class Lines:
    """Cuts a stream of bytes into lines; of one that is longer than `limit` nothing is kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()  # no list of pieces: of two bytes each they take 27 times their size
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the lines that end in `data`; None for one that was too long."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._keep(end)
            yield self.rest()
        self._keep(rest)

    @property
    def too_long(self) -> bool:
        """True if the line that has begun is too long already."""
        return self._size > self._limit

    def rest(self) -> bytes | None:
        """Return the line that has begun, as if it ended here."""
        line = None if self.too_long else bytes(self._line)
        self._line.clear()
        self._size = 0
        return line

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self.too_long:
            self._line.clear()
        else:
            self._line += part
