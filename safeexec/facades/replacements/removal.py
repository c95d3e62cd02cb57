"""`shutil.rmtree` whose error handlers never get a function of `os` that the policy refuses."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any, Final

_GIVEN: Final = (os.lstat, os.rmdir, os.scandir, os.unlink)
"""What a handler may call again: names that the table of `os` allows, too."""


def _withheld(name: str) -> Callable[..., Any]:
    def withheld(*_: object, **__: object) -> Any:
        raise PermissionError(
            f"os.{name} is refused, also to an error handler of shutil.rmtree: "
            "look at the path with os.scandir, and call shutil.rmtree again"
        )

    withheld.__name__ = withheld.__qualname__ = name
    return withheld


def _shielded(handler: Any) -> Any:
    if not callable(handler):
        return handler

    def shielded(function: Any, path: Any, error: Any) -> Any:
        given = function if function in _GIVEN else _withheld(getattr(function, "__name__", "function"))
        return handler(given, path, error)

    return shielded


def rmtree(path: Any, ignore_errors: bool = False, onerror: Any = None, **options: Any) -> None:
    """`shutil.rmtree`. Handlers get ``os.open`` and its like as functions that raise PermissionError."""
    if "onexc" in options:
        options["onexc"] = _shielded(options["onexc"])
    shutil.rmtree(path, ignore_errors, _shielded(onerror), **options)


rmtree.avoids_symlink_attacks = shutil.rmtree.avoids_symlink_attacks  # type: ignore[attr-defined]

REPLACEMENTS: dict[str, Any] = {"shutil.rmtree": rmtree}
