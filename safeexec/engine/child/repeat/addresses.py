"""Whether an object tells where it lies in memory: addresses differ when a step is repeated.

Two ways lead from an address to what a program computes: the default `repr`, and the order of a set whose items take
their hash from where they lie.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterable, KeysView
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

from safeexec.common.identity import dict_of, instance_dict, module_of, mro_of
from safeexec.engine.child.repeat.code import GLOBAL, named, with_inner
from safeexec.engine.child.repeat.objects import ATOMS, computes, is_of_known
from safeexec.engine.child.repeat.tables import HASHING

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
    """Tell whether it is a set whose order depends on where its items lie, or a view that gives one."""
    return issubclass(type(thing), _ITERABLE) and not all(map(is_value, items_of(thing)))


def is_set(thing: Any) -> bool:
    return issubclass(type(thing), (set, frozenset))


def items_of(things: Any) -> list[Any]:
    """Return what a set or a view of a dict holds, without running code of the program: of a view that is of a class in
    Python the view itself.
    """
    base: Any = next((kind for kind in _ITERABLE if issubclass(type(things), kind)), None)
    if base is _DICT_ITEMS:
        return [part for pair in base.__iter__(things) for part in pair]
    return [*base.__iter__(things)] if base is not None else [things]


SETS_AND_VIEWS: Final = (set, frozenset, KeysView, ItemsView)
_DICT_ITEMS: Final[Any] = type({}.items())
_ITERABLE: Final[tuple[type, ...]] = (set, frozenset, type({}.keys()), _DICT_ITEMS)
PLAIN: Final = ATOMS - {float, complex}  # the hash of nan is its address
"""Types of which every hash is a value."""
_CONTAINERS: Final = (list, tuple, set, frozenset)


def is_value(item: Any) -> bool:
    """Tell whether the hash of a thing, or of what it holds, is the same wherever it lies. What is not sure is none.
    Costs up to 6 us.
    """
    kind = type(item)
    if kind in PLAIN:
        return True
    if kind in _CONTAINERS:
        return all(map(is_value, item))
    if kind is dict:
        return all(map(is_value, item)) and all(map(is_value, item.values()))
    hashing: Any = next((dict_of(klass)["__hash__"] for klass in mro_of(kind) if "__hash__" in dict_of(klass)), None)
    if type(hashing) is FunctionType:
        if is_of_known(hashing):
            return bool(hashing.__module__ != "typing")
        return _uses_values(hashing, item)
    owner: Any = getattr(hashing, "__objclass__", object)
    if owner is tuple or owner is frozenset:
        return all(map(is_value, owner.__iter__(item)))
    module = module_of(owner)
    if owner in ATOMS or owner is range or (module not in ("builtins", "types") and computes(module)):
        return bool(owner.__eq__(item, item) == True)  # noqa: E712  it may be NotImplemented; nan is not equal
    return False


def _uses_values(method: Any, item: Any) -> bool:
    """Tell whether a `__hash__` of the program's computes from values that the object holds, and from nothing else."""
    inside, code = instance_dict(item), method.__code__
    return not code.co_freevars and all(
        (name in HASHING and name not in method.__globals__) if is_global else name in inside and is_value(inside[name])
        for name, is_global in _names_in(code)
    )


@lru_cache(100)
def _names_in(code: CodeType) -> list[tuple[str, bool]]:
    return [(name, does.startswith(GLOBAL)) for one in with_inner(code) for name, does in named(one)]
