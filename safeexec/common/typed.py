"""Stand-ins for modules of type hints, which a start need not import."""

from __future__ import annotations

import sys
from _thread import get_ident

TYPE_CHECKING = False
"""As `typing` has it, which takes 3 ms to import. Type checkers know it by its name."""


class Unseen:
    """``with Unseen("name"):`` this thread cannot import the module, where it is not loaded yet; other threads can.

    msgspec looks for typing_extensions, finds it installed, and spends 8 ms on importing it and `inspect` for what
    `typing` has, too.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = get_ident()

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Find nothing, as a finder of `sys.meta_path`; and for this name nothing elsewhere."""
        if name == self._name and get_ident() == self._thread:
            raise ModuleNotFoundError(name=name)
