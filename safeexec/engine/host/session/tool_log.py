"""The calls of host tools that a session remembers."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Self

from safeexec.results import ToolCallRecord

RECORDS = 10_000
"""Tool calls that a session remembers: the newest ones."""


class ToolLog:
    """The tool calls of one session. It counts all of them, and keeps the newest `RECORDS`."""

    __slots__ = ("_kept", "total")

    def __init__(self) -> None:
        self._kept: deque[ToolCallRecord] = deque(maxlen=RECORDS)
        self.total = 0
        """How many calls there have been: a mark for `since`."""

    def append(self, record: ToolCallRecord) -> None:
        self._kept.append(record)
        self.total += 1

    def __len__(self) -> int:
        return self.total

    def forget_since(self, mark: int) -> None:
        """The calls after the first `mark` ones are made again."""
        while self.total > mark:
            self.total -= 1
            if self._kept:
                self._kept.pop()

    def since(self, mark: int) -> tuple[ToolCallRecord, ...]:
        """The calls after the first `mark` ones, as far as they are kept."""
        return tuple(islice(self._kept, max(0, mark - (self.total - len(self._kept))), None))

    def copy(self) -> Self:
        copied = type(self)()
        copied._kept, copied.total = self._kept.copy(), self.total
        return copied
