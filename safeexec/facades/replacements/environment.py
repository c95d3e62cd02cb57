"""`os.environ` of guest code: its own, and empty at first. What it sets there, only it reads back."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"str expected, not {type(value).__name__}")
    return value


class _Environment(MutableMapping[str, str]):
    """A mapping of text to text, as `os.environ` is. The libraries see the process's own, which is another."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        try:
            return self._values[_text(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: str) -> None:
        self._values[_text(key)] = _text(value)

    def __delitem__(self, key: str) -> None:
        try:
            del self._values[_text(key)]
        except KeyError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def copy(self) -> dict[str, str]:
        """The values as a dict."""
        return dict(self._values)

    def __repr__(self) -> str:
        return f"environ({self._values!r})"


environ = _Environment()


def getenv(key: str, default: Any = None) -> Any:
    """The value of an environment variable that guest code has set, or `default`."""
    return environ.get(key, default)


REPLACEMENTS: dict[str, Any] = {"os.environ": environ, "os.getenv": getenv}
