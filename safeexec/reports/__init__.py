"""Questions about a policy: why is this refused, what does a program need, what does a model have to know.

Its modules load on first use: `reports.why` is one that few processes need, and `Policy` names them all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeexec.reports import card, learn, needs, review, why

__all__ = ["card", "learn", "needs", "review", "why"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
