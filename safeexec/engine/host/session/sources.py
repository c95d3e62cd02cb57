"""The sources of a session: for tracebacks of killed steps, and for the names that an undone step had bound."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

SOURCE_CHARACTERS = 4 << 20
"""Characters of the sources that a session remembers. That of the step that runs is kept whatever its size."""
SEARCHED_CHARACTERS = 50_000
"""Characters of one source that are searched for the names that it binds."""
LOST_NAMES = 200
"""The most names that are found there."""
_BINDS = re.compile(
    # Linear: a hostile source is searched, too. The last word of an import is one that no word character comes before;
    # a lazy `[^\n]*?(\w+)` took 24 s, with the host's lock held, for a name of 50,000 letters.
    r"^[ \t]*(?:(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=)|(?:import|from)\b[^\n]*(?<!\w)(\w+)[ \t]*$)",
    re.M,
)


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

    def add_plugin(self, label: str, modules: Iterable[tuple[str, str]]) -> None:
        """Keep those of a plugin, by module, for tracebacks of calls that are killed. The first is the main module."""
        for index, (name, source) in enumerate(modules):
            self[f"<plugin {label}:{name}>" if index else f"<plugin {label}>"] = source

    def bound_last(self) -> list[str]:
        """Return names that the last step seems to bind: once it is undone, a NameError can say why one is gone."""
        found = _BINDS.findall(self.last[:SEARCHED_CHARACTERS])
        return list(dict.fromkeys(name for match in found for name in match if name))[:LOST_NAMES]

    def clear(self) -> None:
        super().clear()
        self._size, self.last = 0, ""

    def copy(self) -> Self:
        copied = type(self)()
        copied.update(self)
        copied._size, copied.last = self._size, self.last
        return copied
