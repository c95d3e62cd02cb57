"""Act when a module has been loaded for the first time, without loading it.

Works below every way to import: the guest's, a library's own, `importlib`. Costs 1 us per module that is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[], object]

_actions: dict[str, list[Action]] = {}


def after_import(name: str, action: Action) -> None:
    """Call `action` once the module `name` is loaded: now, if it is."""
    if name in sys.modules:
        action()
        return
    if not _actions:
        sys.meta_path.insert(0, _Finder())
    _actions.setdefault(name, []).append(action)


def replace_after_import(name: str, replacements: Mapping[str, Any]) -> None:
    """Put each value in the place of what the module `name` has there (``HTTPAdapter.send``), once it is loaded."""

    def replace() -> None:
        for path, value in replacements.items():
            *owners, attribute = path.split(".")
            setattr(reduce(getattr, owners, sys.modules[name]), attribute, value)

    after_import(name, replace)


class _Finder:
    """Finds nothing itself: it lets the other finders find a watched module, and acts after its code has run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _actions:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            for action in _actions[name]:
                try:
                    action()
                except Exception as error:  # another release than the ones tried: it works as it is
                    print(f"safeexec could not adapt {name}, which works as it is ({error!r})", file=sys.stderr)
            del _actions[name]

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
