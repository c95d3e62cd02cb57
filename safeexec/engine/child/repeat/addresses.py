"""Whether an object tells where it lies in memory: addresses differ when a step is repeated.

Two ways lead from an address to what a program computes: the default `repr`, and the order of a set whose items take
their hash from `object`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import FunctionType
from typing import Any, Final

from safeexec.engine.child.repeat.objects import ATOMS, is_of_known, is_of_library

ADDRESS: Final = b" at 0x"
"""Is in every default `repr`."""
_PART_OF_ADDRESS: Final = re.compile(r"0x|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{6,}")
"""Is in what a program may cut out of one."""
_CHARACTERS: Final = 10_000
"""Of a string up to which it is searched for a part of an address."""


def shows_address(things: Iterable[Any]) -> bool:
    """Tell whether one of these is a string that may show an address."""
    return any(
        type(thing) is str
        and (_PART_OF_ADDRESS.search(thing) is not None if len(thing) <= _CHARACTERS else "0x" in thing)
        for thing in things
    )


def is_ordered_by_address(thing: Any) -> bool:
    """Tell whether it is a set whose order depends on where its items lie."""
    return is_set(thing) and not all(map(_hashes_by_value, thing))


def is_set(thing: Any) -> bool:
    return issubclass(type(thing), (set, frozenset))


def is_plain_set(items: Any) -> bool:
    """Tell whether a set holds numbers, strings and library objects alone, whose hash is the same wherever they lie.
    Costs 20 ns for an item that is a number or a string.
    """
    if _PLAIN.issuperset(map(type, items)):
        return True
    return all(is_of_library(type(item)) and _hashes_by_value(item) for item in items)


_PLAIN: Final = ATOMS - {float}  # the hash of nan is its address


def _hashes_by_value(item: Any) -> bool:
    """Tell whether the hash of an item of a set is the same wherever the item lies."""
    kind = type(item)
    if kind is float:
        return bool(item == item)
    if kind in ATOMS:
        return True
    if kind in (tuple, frozenset):
        return all(map(_hashes_by_value, item))
    hashing: Any = kind.__hash__
    if hashing is object.__hash__ or hashing is type.__hash__:
        return False
    if hashing is tuple.__hash__ or hashing is frozenset.__hash__:
        return all(map(_hashes_by_value, item))
    if type(hashing) is FunctionType and not is_of_known(hashing):
        inside = getattr(item, "__dict__", None)
        return type(inside) is dict and all(map(_hashes_by_value, inside.values()))
    return True
