"""What an import statement of guest code gets: facades. The imports of library code stay its own.

C code of libraries asks the guest's ``__import__`` too: `PyImport_Import` calls the one of the frame that runs, so
`datetime.strptime` asks for `_strptime` there. It passes an empty *list* as `fromlist` and takes the module from
`sys.modules`, whatever it is answered; an import statement passes a tuple or None. Guest code cannot call
``__import__``: neither its name nor the dict that holds it is within reach.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def make_import(facade_import: Callable[..., Any]) -> Callable[..., Any]:
    """The ``__import__`` of guest code: `facade_import` for its own statements, the real import for library code."""

    def __import__(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0, /) -> Any:
        if type(fromlist) is list or name == "__future__":
            return import_module(name)
        return facade_import(name, globals, locals, fromlist, level)

    return __import__
