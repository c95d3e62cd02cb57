"""The classes of Python's own modules, which nobody changes, and what they would hand to an object of a program's."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import _io
import ctypes
import io
import operator
import sys
from abc import ABCMeta
from collections.abc import Callable
from types import CellType, FunctionType, GenericAlias, MappingProxyType, ModuleType
from typing import Any, Final

from safeexec.facades.judged import Stores, judge_cython
from safeexec.facades.layout import (
    BASE,
    HEAP,
    IMMUTABLE,
    NUMBER_OR,
    TYPE_COMPARE,
    TYPE_NUMBER,
    type_flags,
    very_dict,
    word,
    write_to_class,
)
from safeexec.facades.replacements.checked import checked_vars, leads_away
from safeexec.identity import dict_of, flags_of, identity, mro_of

SEALED_LIBRARIES: Final = sys.stdlib_module_names | {"safeexec", "RestrictedPython", "msgspec", "asttokens"}
WRITE_TO_THEMSELVES: Final = frozenset(
    {("weakref", "finalize"), ("difflib", "HtmlDiff"), ("_frozen_importlib_external", "_NamespacePath")}
)
"""Classes of Python's own modules that keep a counter or a flag in themselves."""
_ANSWER_FOR_OTHERS: Final = (GenericAlias, type(Callable[[], None]), super)
"""Types whose instances answer for another object: an instance of a program's own class of them has the methods of that
class and the attributes of any other object. ``super(Meta, Meta).__dict__`` is the descriptor that opens all classes.
"""
_modules_known: Final[dict[str, int]] = {"": 0}
"""Name → identity of each module that was looked at; under the empty name how many there were then."""
_unsealed: Final[dict[int, type]] = {}
"""Classes that are to be sealed, by their identity."""


def find_classes() -> bool:
    """Look for the classes of Python's own modules and of safeexec, in the modules that were loaded since the last
    call. False where none were.
    """
    last = next(reversed(sys.modules))  # one that has been loaded since would be, also where another has gone
    if len(sys.modules) == _modules_known[""] and _modules_known.get(last) == identity(sys.modules[last]):
        return False
    for name, module in list(sys.modules.items()):
        if _modules_known.get(name) != identity(module):
            _modules_known[name] = identity(module)
            if name.startswith("_cython_"):
                judge_cython(module)
            elif name.partition(".")[0] in SEALED_LIBRARIES:
                held = list(vars(module).values())
                _find_all([*held, *(item for table in held if type(table) is dict for item in table.values())])
    _modules_known[""] = len(sys.modules)
    return True


def _find_all(pending: list[Any]) -> None:
    while pending:
        cls = pending.pop()
        if not isinstance(cls, type) or not HEAP <= flags_of(cls) & (HEAP | IMMUTABLE) < HEAP + IMMUTABLE:
            continue
        if identity(cls) in _unsealed:
            continue
        held = dict_of(cls)
        home = held.get("__module__")
        if type(home) is not str or home.partition(".")[0] not in SEALED_LIBRARIES:
            continue
        if (home, cls.__name__) not in WRITE_TO_THEMSELVES:
            _unsealed[identity(cls)] = cls
        pending += held.values()


def seal_classes() -> None:
    """Make immutable what `find_classes` finds.

    A program that could give ``ast.Name`` a property, or `contextlib.ExitStack` a method, would be handed what the
    compiler and the guards hold. Most stores are not looked at when they run: here it is CPython that refuses them.
    """
    if not find_classes() and not _unsealed:
        return  # the usual step: 8 us less, and what a program asks of abstract classes stays remembered
    if _unsealed:
        for kind in _ANSWER_FOR_OTHERS:
            type_flags(kind).value &= ~BASE
        _close_cells()
        _close_modules()
        _close_proxies()
        _keep_bases()
    while _unsealed:
        _, cls = _unsealed.popitem()
        flags = type_flags(cls)
        flags.value |= IMMUTABLE
    _forget_asked()


def _close_cells() -> None:
    """Let a cell be equal to itself alone. Comparing two gives what is in the one to the ``__eq__`` of the other: a
    metaclass has the cell that is for its class, and from 3.12 on can have the very dict of the class put there.
    """
    if "__eq__" not in dict_of(CellType):
        return
    ctypes.c_void_p.from_address(id(CellType) + TYPE_COMPARE).value = None
    with very_dict(CellType) as space:
        kept = [space.pop(f"__{name}__") for name in ("eq", "ge", "gt", "le", "lt", "ne")]
    del kept  # not before: what a type has looked up it remembers uncounted


def _close_modules() -> None:
    """Let a module be equal to itself alone. A cache of `pathlib` has the real `posixpath` for a key: an object of the
    program with the same hash would be given it to compare.
    """
    if "__eq__" in dict_of(ModuleType):
        return
    with very_dict(ModuleType) as space:
        space["__eq__"] = Stores.__eq__
    inherited = word(id(object) + TYPE_COMPARE).value
    for kind in (ModuleType, *type.__subclasses__(ModuleType)):
        if word(id(kind) + TYPE_COMPARE).value == inherited:
            word(id(kind) + TYPE_COMPARE).value = word(id(Stores) + TYPE_COMPARE).value


def _close_proxies() -> None:
    """Let a read-only view of a mapping be compared, and joined with others, as a copy. Both give the mapping itself to
    a method of the other object: what a pattern of a library calls its groups, what all fields of dataclasses share.
    Of a class the copy has what `vars` shows a program: a library that compares the `vars` of two objects may have been
    given a class for one.
    """
    if dict_of(MappingProxyType)["__eq__"] is dict_of(_Compared)["__eq__"]:
        return
    kept = [dict_of(MappingProxyType)[name] for name in _BY_COPY]
    with very_dict(MappingProxyType) as space:
        space |= {name: dict_of(_Compared)[name] for name in _BY_COPY}
    del kept
    word(id(MappingProxyType) + TYPE_COMPARE).value = word(id(_Compared) + TYPE_COMPARE).value
    numbers, of_copies = (word(id(kind) + TYPE_NUMBER).value for kind in (MappingProxyType, _Compared))
    word(numbers + NUMBER_OR).value = word(of_copies + NUMBER_OR).value


_BY_COPY: Final = ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__", "__or__", "__ror__")


class _View:
    """Has a mapping for its ``__dict__``, so that the guard of `vars` judges what is in it."""

    __slots__ = ("_names",)

    def __init__(self, names: dict[Any, Any]) -> None:
        self._names = names

    @property
    def __dict__(self) -> MappingProxyType[Any, Any]:  # type: ignore[override]
        return MappingProxyType(self._names)


def _shown(found: Any) -> Any:
    """What a copy of a mapping may show. That of a class, which always has a ``__doc__``, is judged by names, too."""
    if type(found) is not dict:
        return found
    names = checked_vars(_View(found)) if "__doc__" in found else found
    return {name: value for name, value in names.items() if not leads_away(value)}


def _by_copy(name: str) -> Any:
    answer = getattr(operator, name.replace("__ror__", "__or__"))

    def ask(self: Any, other: Any) -> Any:
        copy = self.copy() if hasattr(self, "copy") else dict(self)
        if type(other) is not dict:
            copy = _shown(copy)
        elif "or" not in name:  # what is in both is asked nothing
            copy = _shown(copy) | {key: value for key, value in copy.items() if other.get(key, other) is value}
        return answer(other, copy) if name == "__ror__" else answer(copy, other)

    ask.__name__ = ask.__qualname__ = name
    return ask


_Compared: Final = type("_Compared", (), {name: _by_copy(name) for name in _BY_COPY})
_makers: Final[dict[int, Any]] = {}
"""Identity of each function of typing and typing_extensions → what makes the bases of a class that names it as one."""


def note_bases(module: ModuleType) -> None:
    """Note what the functions of a module of types make when classes name them as a base: see `_keep_bases`."""
    made = [value for value in vars(module).values() if type(value) is FunctionType]
    _makers.update({identity(value): vars(value).get("__mro_entries__") for value in made})


def _keep_bases() -> None:
    """Let functions that classes name as a base (`typing.NamedTuple`) make what they always made.

    They keep the maker in their dict, where a library's descriptor or `__setstate__` writes what a program tells it. A
    property of their type is found before what is in the dict.
    """
    if "__mro_entries__" in dict_of(FunctionType):
        return

    def maker(function: Any) -> Any:
        own = vars(function).get("__mro_entries__")
        found = _makers.get(identity(function), own)
        if found is None:
            raise AttributeError("'function' object has no attribute '__mro_entries__'", name="__mro_entries__")
        return found

    def keep(function: Any, value: object) -> None:
        if identity(function) in _makers:
            raise AttributeError("'__mro_entries__' of a function of typing cannot be set", name="__mro_entries__")
        vars(function)["__mro_entries__"] = value

    with very_dict(FunctionType) as space:
        space["__mro_entries__"] = property(maker, keep)


def _forget_asked() -> None:
    """Let abstract classes forget the classes that they were asked about, and `io.RawIOBase` the one that opens files.

    They keep them in sets. A metaclass of a program says what its classes are equal to, and would be given whatever
    class stands there: of modules, of what loads them.
    """
    raw = io.RawIOBase
    if "__subclasshook__" not in dict_of(raw):
        write_to_class(raw, "__subclasshook__", classmethod(_is_raw))
        _abc._reset_registry(raw)
        _abc._reset_caches(raw)
    _abc._reset_registry(_asked)
    _asked.register(int)


def _is_raw(cls: type, asked: type) -> Any:
    return True if cls is io.RawIOBase and any(base is _io._RawIOBase for base in mro_of(asked)) else NotImplemented


_asked: Final = ABCMeta("asked", (), {})
"""A `register` raises a counter of all abstract classes: what any of them has remembered to answer with no is void."""
