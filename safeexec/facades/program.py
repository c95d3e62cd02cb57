"""The modules that the program of this process has written, for libraries that look one up by ``cls.__module__``.

They are not in `sys.modules`: a library that looks there for an optional package would find the program's own module.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

_own: dict[str, ModuleType] = {}
_files: set[str] = set()


def add(name: str, module: ModuleType, file: str) -> None:
    """Make a module of the program known, and the name that its source has in tracebacks."""
    _own[name] = module
    _files.add(file)


def has_file(name: str) -> bool:
    """Whether a frame of this file is one of a module that the program has written."""
    return name in _files


def remove(name: str) -> None:
    """Forget it again, if it is known."""
    _own.pop(name, None)


def own(name: Any) -> ModuleType | None:
    """The module of the program with this name: ``__main__``, or one that it has written and imported."""
    if type(name) is not str:
        return None
    return sys.modules.get(name) if name == "__main__" else _own.get(name)


def is_of_program(namespace: Mapping[str, Any]) -> bool:
    """Is this a namespace of guest code, a module's or one that it runs text in? It has the builtins of a module."""
    given = namespace.get("__builtins__")
    modules = [module for module in (sys.modules.get("__main__"), *_own.values()) if module is not None]
    return given is not None and any(vars(module).get("__builtins__") is given for module in modules)


class Lookup:
    """`sys.modules` as `dataclasses` reads it, with the modules of the program."""

    def get(self, name: Any, default: Any = None) -> Any:
        """As `dict.get`."""
        return own(name) or sys.modules.get(name, default)

    def __contains__(self, name: Any) -> bool:
        return own(name) is not None or name in sys.modules

    def __getitem__(self, name: Any) -> Any:
        return own(name) or sys.modules[name]
