"""What an import statement of guest code gets: facades. The imports of library code stay its own.

C code of libraries asks the guest's ``__import__`` too: `PyImport_Import` calls the one of the frame that runs, so
`datetime.strptime` asks for `_strptime` there. It passes an empty *list* as `fromlist` and takes the module from
`sys.modules`, whatever the call returns; an import statement passes a tuple or None. Guest code cannot call
``__import__``: neither its name nor the dict that holds it is within reach.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from safeexec.facades.sealed import Facade, sealed


def make_import(facade_import: Callable[..., Any]) -> Callable[..., Any]:
    """The ``__import__`` of guest code: `facade_import` for its own statements, the real import for library code."""

    def __import__(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0, /) -> Any:
        if type(fromlist) is list:
            return import_module(name)
        if name == "__future__":
            return _future()
        return facade_import(name, globals, locals, fromlist, level)

    return __import__


@cache
def _future() -> Facade:
    """What stands for ``__future__``, which every program may name, whatever its policy opens."""
    real = vars(import_module("__future__"))
    names = ("all_feature_names", *real["all_feature_names"])
    return sealed("__future__", {name: real[name] for name in names})
