"""Change a module of a library once it is loaded: now, if it is, or when it is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from safeexec.child.language.on_import import after_import
from safeexec.identity import identity


def put(module: str, name: str, make: Callable[[], Any]) -> None:
    """Once a module is loaded: let its own `name` be what `make` gives."""
    change(module, lambda loaded: loaded.__dict__.update({name: make()}))


def change(module: str, act: Callable[..., object], *arguments: object) -> None:
    """Once a module is loaded: call `act` with it and the arguments."""
    after_import(module, lambda: act(sys.modules[module], *arguments))


def replace_everywhere(made: dict[int, Any], *libraries: str) -> None:
    """Let the modules of these libraries, or all of them, have what was made for an object, by its identity."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and (not libraries or name.partition(".")[0] in libraries):
            space = vars(module)
            if not made.keys().isdisjoint(map(identity, space.values())):
                space.update({key: made[identity(item)] for key, item in space.items() if identity(item) in made})
