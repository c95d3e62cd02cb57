"""Hints: one sentence that says what to write instead, for a refusal, a syntax error, an exception or a limit.

`refusals` speaks of what a policy refuses, `syntax` of text that is not Python, `runtime` of exceptions and `limits`
of steps that were ended. The tables are data. Nothing is read here but the code, the plan and the objects at
hand, and the first bytes of a file that the code failed to read.

These four load on first use: a step that fails needs one of them, most steps need none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeexec.hints import limits, refusals, runtime, syntax

__all__ = ["limits", "refusals", "runtime", "syntax"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
