"""What belongs to a program, and what leads away from it.

A class, a function or a frame is the program's if guest code made it. What leads away, whoever holds it, is what no
program is given: a frame, code, a real module, its namespace, a loader.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from safeexec.compiler import names
from safeexec.facades.judged import Hidden
from safeexec.identity import dict_of, dict_of_module, identity

OF_PYBIND11: Final = "pybind11_builtins"
"""The module that the base class and the metaclass of all classes of pybind11 name, and that is none."""
_REAL_BUILTINS: Final = vars(builtins)


class GuestProgram:
    """What the modules of one program share: their namespaces, their names, and the code that `compile` made for them.

    The names are those that they were imported by. What a module says in its ``__name__`` is the program's to write:
    ``__name__ = "sqlite3"`` would make the classes of sqlite3 its own.
    """

    __slots__ = ("compiled", "names", "spaces")

    def __init__(self, name: str, namespace: dict[str, Any]) -> None:
        self.spaces = [namespace]
        self.names = {name}
        self.compiled: WeakKeyDictionary[Any, CodeType] = WeakKeyDictionary()

    def add(self, name: str, namespace: dict[str, Any]) -> None:
        """A module has been made."""
        self.spaces.append(namespace)
        self.names.add(name)

    def remove(self, name: str, namespace: dict[str, Any]) -> None:
        """A module could not be loaded."""
        self.spaces[:] = [known for known in self.spaces if known is not namespace]
        self.names.discard(name)

    def has(self, name: Any) -> bool:
        """Tell whether a class of the module `name` is the program's. It is not if a library has a package of that
        name, too, which may have been imported later: modules of the program are not in `sys.modules`.
        """
        if type(name) is not str or name not in self.names:
            return False
        top = name.partition(".")[0]
        return top == "__main__" or not (top in sys.modules or top == OF_PYBIND11)

    def has_class(self, cls: type) -> bool:
        """Tell whether guest code defined the class: by `__module__`, which no program sets of a library's class."""
        return self.has(dict_of(cls).get("__module__"))

    def has_function(self, value: Any) -> bool:
        """Tell whether `value` is a function or method that guest code defined."""
        if type(value) is MethodType:
            value = value.__func__
        return type(value) is FunctionType and any(value.__globals__ is space for space in self.spaces)


def is_of_program(frame: FrameType) -> bool:
    """Tell whether guest code runs in the frame: a library that calls `locals` or `eval` shows nothing of its own."""
    return names.GUARD_ATTRIBUTE in frame.f_builtins


def library_of(frame: FrameType) -> str:
    """The library whose code runs in the frame: the top package of its module."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def frames_of_library(frame: FrameType) -> Iterator[FrameType]:
    """A frame of a library and those above that have called it, as long as they are of the same library. None where
    guest code runs in it.
    """
    own, calling = library_of(frame), frame
    while not is_of_program(calling) and library_of(calling) == own:
        yield calling
        if calling.f_back is None:
            return
        calling = calling.f_back


def is_namespace_of_program(space: dict[str, Any]) -> bool:
    """Tell whether these are the globals of guest code, also of a plugin's: their builtins have the guards."""
    found = space.get("__builtins__")
    return type(found) is dict and names.GUARD_ATTRIBUTE in found


def leads_away(found: Any) -> bool:
    """Tell a frame, a code object, a module that is no facade, the namespace of one, what loads modules, and what
    stores into any class, whoever holds it.
    """
    kind = type(found)
    if kind is dict:
        return (
            found.get("__import__") is _REAL_BUILTINS["__import__"]
            or "__builtins__" in found
            or names.GUARD_ATTRIBUTE in found
        )
    if issubclass(kind, ModuleType):
        space = dict_of_module(found)
        return space is _REAL_BUILTINS or not is_namespace_of_program(space)
    if identity(kind) in _LOADERS or identity(found) in _LOADERS:
        return True
    return issubclass(kind, FrameType) or issubclass(kind, CodeType) or kind is Hidden


_LOADERS: Final = frozenset(
    identity(value)
    for name in ("_frozen_importlib", "_frozen_importlib_external", "zipimport")
    for value in vars(importlib.import_module(name)).values()
    if issubclass(type(value), type) and dict_of(value).get("__module__") in (name, "zipimport")
)
"""Classes of what finds, describes and loads modules, by identity: a loader gives code and modules to whoever asks."""
