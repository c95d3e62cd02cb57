"""Finds what an object is by its origin: a module that only computes, a class of a library, something of the
program's; and whether it shows its address in memory, as addresses differ when a step is repeated.

Two ways lead from an address to what a program computes: the default `repr`, and the order of a set whose items take
their hash from where they lie.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import ItemsView, Iterable, Iterator, KeysView
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from safeexec.common.identity import HEAP_TYPE, dict_of, identity, instance_dict, module_of, mro_of, qualname_of
from safeexec.engine.child.repeat.code import GLOBAL, all_names, named, with_inner
from safeexec.engine.child.repeat.tables import HASHING, MODULES, NOT_BELOW, OUTWARD, TEXT_CODES

MOST = 3000
"""Objects that one walk looks at."""
ATOMS: Final = frozenset({int, float, bool, complex, str, bytes, type(None), type(...), CodeType})
"""Types whose instances hold no other object that matters."""
_looked_at: dict[str, tuple[list[int], frozenset[str], list[str]]] = {}
"""For each module, the identities of its contents, the attributes that lead out of it, and the modules that it has."""


def computes(name: str) -> bool:
    """Return whether a module of that name only computes."""
    parts = name.split(".")
    top = parts[0]
    is_known = top in MODULES or (top in sys.stdlib_module_names and top.lstrip("_") in MODULES)  # its part in C
    return is_known and ".".join(parts[:2]) not in NOT_BELOW


def contents_of(module: ModuleType) -> list[int]:
    """Return the identities of what is in a module: another list shows that somebody has patched it."""
    return list(map(identity, vars(module).values()))


def look_at(name: str, module: ModuleType) -> tuple[list[int], frozenset[str], list[str]]:
    """Return the contents of a module, the attributes that lead out of it, and the other modules in it.

    Its objects are not touched again where the look is known: a child would copy the page of each function (200 us).
    """
    known = _looked_at.get(name)
    if known is not None and len(known[0]) == len(vars(module)):
        return known
    outward, others = set(OUTWARD.get(name, ())), []
    for attribute, value in list(vars(module).items()):
        if isinstance(value, ModuleType):
            if computes(value.__name__):
                if value.__name__.partition(".")[0] != name.partition(".")[0]:
                    others.append(value.__name__)
                continue
        elif not callable(value) or attribute[:2] == "__" or is_of_known(value):
            continue
        outward.add(attribute)
    _looked_at[name] = known = contents_of(module), frozenset(outward), others
    return known


def look_at_modules() -> None:
    """Look at all modules that are loaded, once for all children."""
    for name in MODULES & sys.modules.keys():
        look_at(name, sys.modules[name])


def is_of_known(thing: Any) -> bool:
    """Return whether a function or class is of a module that only computes, or of the language."""
    module = getattr(thing, "__module__", None)
    if type(module) is not str:
        if type(thing) is FunctionType:  # made by `exec` in a dict of its own
            return False
        owner = type(getattr(thing, "__self__", None))  # of a method that is written in C
        return owner in ATOMS or (type(owner.__module__) is str and computes(owner.__module__))
    return module == "builtins" or computes(module)


def is_of_library(kind: type) -> bool:
    """Return whether a class is the interpreter's own, or of a module that is loaded, and not of the program. One that
    such a module has made for the program is found in it by no name.
    """
    module = kind.__dict__.get("__module__") if type(kind.__dict__.get("__module__")) is str else kind.__module__
    if not kind.__flags__ & HEAP_TYPE or type(module) is not str or not computes(module):
        return module != "__main__" and (not kind.__flags__ & HEAP_TYPE or module in sys.modules)
    found: Any = sys.modules.get(module)
    for name in qualname_of(kind).split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is kind


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return what code of that namespace finds as builtins."""
    found = namespace.get("__builtins__")
    return found if type(found) is dict else vars(found) if type(found) is ModuleType else {}


def walk(namespace: dict[str, Any], roots: Iterable[Any], seen: set[int] | None = None) -> Iterator[Any]:
    """Yield all objects that these lead to, but for those of `ATOMS`, and those that an earlier walk with the same set
    `seen` has yielded; then None if there are more than `MOST`, or some that cannot be had.

    The namespace itself and its builtins count as no way: code reaches them by names, which are judged.
    """
    seen = set() if seen is None else seen
    seen.update((identity(namespace), identity(builtins_of(namespace))))
    array = getattr(sys.modules.get("numpy"), "ndarray", None)
    waiting = list(roots)
    while waiting:
        thing = waiting.pop()
        kind = type(thing)
        if kind in ATOMS or (at := identity(thing)) in seen:
            continue
        seen.add(at)
        # The collector does not know what is in an array of objects.
        if len(seen) > MOST or len(waiting) > 10 * MOST or (kind is array and thing.dtype.hasobject):
            yield None
            return
        yield thing
        if issubclass(kind, ModuleType) or (issubclass(kind, type) and is_of_library(thing)):
            continue
        if kind is FunctionType:
            if thing.__globals__ is not namespace:
                continue
            waiting += [namespace[name] for name in all_names(thing.__code__) if name in namespace]
        waiting += gc.get_referents(thing)


# Addresses

ADDRESS: Final = b" at 0x"
"""Is in every default `repr`."""
_PART_OF_ADDRESS: Final = re.compile(r"0x|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{6,}")
"""Is in what a program may cut out of one."""
_CHARACTERS: Final = 10_000
"""Characters of a string up to which it is searched for a part of an address."""


def shows_address(things: Iterable[Any]) -> bool:
    """Return whether one of these is a string that may show an address."""
    return any(
        issubclass(type(thing), str)
        and (_PART_OF_ADDRESS.search(thing) is not None if str.__len__(thing) <= _CHARACTERS else has_address(thing))
        for thing in things
    )


def has_address(thing: Any) -> bool:
    """Return whether it is a string of any kind with the mark of an address, `0x`: as in every default `repr`."""
    return issubclass(type(thing), str) and str.__contains__(thing, "0x")


def is_ordered_by_address(thing: Any) -> bool:
    """Return whether it is a set whose order depends on where its items lie, or a view that gives one."""
    return issubclass(type(thing), _ITERABLE) and not all(map(is_value, items_of(thing)))


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
    """Return whether the hash of a thing, or of what it holds, is the same wherever it lies. Costs up to 6 us."""
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
    """Return whether a `__hash__` of the program's computes from values that the object holds alone."""
    inside, code = instance_dict(item), method.__code__
    names, makes_text = _names_in(code)
    return not code.co_freevars and all(
        (name in HASHING and name not in method.__globals__)
        if is_global
        else name in inside and (type(inside[name]) in ATOMS if makes_text else is_value(inside[name]))
        for name, is_global in names
    )


@lru_cache(100)
def _names_in(code: CodeType) -> tuple[list[tuple[str, bool]], bool]:
    """Return the names that a method uses, each with whether it is a global one, and whether it makes a string of what
    they are bound to, by an f-string or `%`.
    """
    codes = [*with_inner(code)]
    makes_text = any(
        not TEXT_CODES.isdisjoint(one.co_code[::2]) or any(type(text) is str and "%" in text for text in one.co_consts)
        for one in codes
    )
    return [(name, does.startswith(GLOBAL)) for one in codes for name, does in named(one)], makes_text
