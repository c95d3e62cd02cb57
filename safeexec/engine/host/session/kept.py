"""What a session keeps of its past for people to read, within bounds: tool calls, and the sources of its steps."""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import Self

from safeexec.results import ToolCallRecord

RECORDS = 10_000
"""Tool calls that a session remembers: the newest ones."""
SOURCE_CHARACTERS = 4 << 20
"""Characters of the sources that a session remembers. That of the step that runs is kept whatever its size."""
LOST_SOURCE = 50_000
"""Characters of one source that are searched for the names that it binds."""
NAMES_LOST = 200
"""Names that are found there."""
_BINDS = re.compile(
    # Linear: a hostile source is searched, too. The last word of an import is one that no word character comes before;
    # a lazy `[^\n]*?(\w+)` took 24 s, with the host's lock held, for a name of 50,000 letters.
    r"^[ \t]*(?:(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=)|(?:import|from)\b[^\n]*(?<!\w)(\w+)[ \t]*$)",
    re.M,
)


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


class Sources(dict[str, str]):
    """The sources of a session by file, ``<step 3>``, for tracebacks of steps that are killed. Those of the oldest
    steps go first; a plugin's stay.
    """

    __slots__ = ("_size", "last")

    def __init__(self) -> None:
        super().__init__()
        self._size = 0
        self.last = ""
        """The source of the last step; empty where that was a call."""

    def add(self, step: int, source: str) -> None:
        """Remember the source of a step."""
        self[f"<step {step}>"] = self.last = source
        self._size += len(source)
        while self._size > SOURCE_CHARACTERS:
            oldest = next(file for file in self if file.startswith("<step "))
            if oldest == f"<step {step}>":
                return
            self._size -= len(self.pop(oldest))

    def bound_last(self) -> list[str]:
        """Names that the last step seems to bind: when it is undone, a NameError about one can say why that is gone."""
        found = _BINDS.findall(self.last[:LOST_SOURCE])
        return list(dict.fromkeys(name for match in found for name in match if name))[:NAMES_LOST]

    def clear(self) -> None:
        super().clear()
        self._size, self.last = 0, ""

    def copy(self) -> Self:
        copied = type(self)()
        copied.update(self)
        copied._size, copied.last = self._size, self.last
        return copied
