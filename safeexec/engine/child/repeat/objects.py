"""What an object is by where it comes from: a module that only computes, a class of a library, something of the
program's.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from safeexec.common.identity import HEAP_TYPE, identity
from safeexec.engine.child.repeat.code import all_names
from safeexec.engine.child.repeat.tables import MODULES, NOT_BELOW, OUTWARD

MOST = 3000
"""Objects that one walk looks at."""
ATOMS: Final = frozenset({int, float, bool, complex, str, bytes, type(None), type(...), CodeType})
"""Types whose instances hold no other object that matters."""
_TOPS: Final = frozenset(name.lstrip("_") for name in MODULES)
_looked_at: dict[str, tuple[list[int], frozenset[str], list[str]]] = {}
"""Of each module: the identities of its contents, the attributes that lead out of it, and the modules that it has."""


def computes(name: str) -> bool:
    """Tell whether a module of that name only computes."""
    parts = name.split(".")
    return parts[0].lstrip("_") in _TOPS and ".".join(parts[:2]) not in NOT_BELOW


def contents_of(module: ModuleType) -> list[int]:
    """Return the identities of what is in a module: another list tells that somebody has patched it."""
    return list(map(identity, vars(module).values()))


def look_at(name: str, module: ModuleType) -> tuple[list[int], frozenset[str], list[str]]:
    """Return the contents of a module, the attributes that lead out of it, and the other modules in it.

    Its objects are not touched again where the look is known: a child would copy the page of each function (200 us).
    """
    known = _looked_at.get(name)
    if known is None or len(known[0]) != len(vars(module)):
        known = _looked_at[name] = _look_at(name, module)
    return known


def _look_at(name: str, module: ModuleType) -> tuple[list[int], frozenset[str], list[str]]:
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
    return contents_of(module), frozenset(outward), others


def look_at_modules() -> None:
    """Look at all modules that are loaded, once for all children."""
    for name in MODULES & sys.modules.keys():
        look_at(name, sys.modules[name])


def is_of_known(thing: Any) -> bool:
    """Tell whether a function or class is of a module that only computes, or of the language."""
    module = getattr(thing, "__module__", None)
    if type(module) is not str:
        owner = type(getattr(thing, "__self__", None))  # of a method that is written in C
        return owner in ATOMS or (type(owner.__module__) is str and computes(owner.__module__))
    return module == "builtins" or computes(module)


def is_of_library(kind: type) -> bool:
    """Tell whether a class is one that its module has under its name, or the interpreter's own."""
    module = kind.__dict__.get("__module__") if type(kind.__dict__.get("__module__")) is str else kind.__module__
    if module == "__main__":
        return False
    if not kind.__flags__ & HEAP_TYPE:
        return True
    found: Any = sys.modules.get(module) if type(module) is str else None
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind or (type(module) is str and module != "__main__" and module in sys.modules)


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return what code of that namespace finds as builtins."""
    found = namespace.get("__builtins__")
    return found if type(found) is dict else vars(found) if type(found) is ModuleType else {}


def walk(namespace: dict[str, Any], roots: Iterable[Any]) -> Iterator[Any]:
    """Yield all objects that these lead to, but for those of `ATOMS`; then None if there are more than `MOST`.

    The namespace itself and its builtins count as no way: code reaches them by names, which are judged.
    """
    seen = {identity(namespace), identity(builtins_of(namespace))}
    waiting = list(roots)
    while waiting:
        thing = waiting.pop()
        kind = type(thing)
        if kind in ATOMS or (at := identity(thing)) in seen:
            continue
        seen.add(at)
        if len(seen) > MOST or len(waiting) > 10 * MOST:
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
