"""Safe versions of names whose real object would undo the language layer.

The real objects read attributes by names that the compiler never sees (`operator.attrgetter`), run text as code
(`timeit.timeit("…")`), or keep modules and streams as attributes (`warnings.catch_warnings`). Each file holds the
versions for a group of modules in a dict ``REPLACEMENTS``: dotted name → the object, or a function of no argument that
makes it (`Lazy`). A version inherits from the real class only where each method of that one is harmless:
``super(Safe, self)`` reaches it.
Hidden state is kept in module globals and closures: guest code can read every attribute that an object has.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from safeexec.facades.replacements.checked import Lazy, set_guards

__all__ = ["properties", "replacement", "set_guards"]

_FILES = {
    "operator": "attributes",
    "functools": "attributes",
    "string": "attributes",
    "copy": "attributes",
    "ast": "attributes",
    "typing": "annotations",
    "typing_extensions": "annotations",
    "inspect": "annotations",
    "dataclasses": "classes",
    "enum": "classes",
    "types": "classes",
    "contextlib": "streams",
    "warnings": "streams",
    "sys": "streams",
    "traceback": "streams",
    "threading": "streams",
    "logging": "logs",
    "asyncio": "loops",
    "numpy": "arrays",
    "pandas": "queries",
    "os": "system",
    "locale": "system",
    "platform": "system",
    "shutil": "removal",
    "tqdm": "progress",
    "yaml": "markup",
    "lxml": "trees",
}


def _file(module: str) -> ModuleType:
    return import_module(f"{__name__}.{_FILES[module.partition('.')[0]]}")


def replacement(module: str, name: str) -> Any:
    """The safe version of ``module.name``, or None where this Python has no such name."""
    value = _file(module).REPLACEMENTS.get(f"{module}.{name}")
    return value() if isinstance(value, Lazy) else value


def properties(module: str) -> dict[str, property]:
    """The names of a facade that are computed and may be assigned: the streams of `sys`."""
    found: dict[str, property] = getattr(_file(module), "PROPERTIES", {}).get(module, {})
    return found
