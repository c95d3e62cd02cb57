"""The one way from the engine to the advice that guest code gets: the language layer, and the hints.

Neither is a boundary. Without the folder `language/` a policy whose mode is `python` starts as ever, and one that says
what a program may write does not start; without `hints/` errors have no hint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeexec.engine.child.step.program import Language
    from safeexec.protocol.plan import LanguagePlan, LimitsPlan


def language_of(plan: LanguagePlan) -> Language:
    """Return the language of a plan that restricts it. Raises ImportError where there is none: no program runs then."""
    return import_module("safeexec.language.language").RestrictedLanguage(plan)  # type: ignore[no-any-return]


def _hints(part: str) -> Any:
    """Return a module of the hints, or None. It loads on first use: most steps need none."""
    return _imported(f"safeexec.hints.{part}")


def _imported(name: str) -> Any:
    """Return a module of either folder; None where the folder is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name in ("safeexec.hints", "safeexec.language"):
            return None
        raise


def refusal_hint(kind: str, name: str, plan: LanguagePlan) -> str | None:
    """Return what to write instead of a name that is refused; `kind` is module, builtin, attribute or construct."""
    hints = _hints("remedies")
    return hints and hints.hint_for(kind, name, plan)  # type: ignore[no-any-return]


def network_hint(plan: LanguagePlan) -> str | None:
    """Return what to do without a network."""
    hints = _hints("remedies")
    return hints and hints.without_network(plan)  # type: ignore[no-any-return]


def syntax_hint(error: BaseException, source: str) -> str | None:
    """Return what to write instead of a text that is not Python."""
    hints = _hints("syntax")
    return hints and hints.syntax_hint(error, source)  # type: ignore[no-any-return]


def limit_hint(
    outcome: str, limits: LimitsPlan | None = None, *, wall_seconds: float | None = None, source_line: str = ""
) -> str | None:
    """Return what to change after a limit was met: a word of `Result.outcome`, or the setting that was broken."""
    hints = _hints("limits")
    return hints and hints.limit_hint(  # type: ignore[no-any-return]
        outcome, limits, wall_seconds=wall_seconds, source_line=source_line
    )


def runtime_hint(place: tuple[Any, str, int] | None, **facts: Any) -> str | None:
    """Return what to write instead of what raised an exception. `place` is the frame of the guest's, its file and its
    line; `facts` are the other fields of `safeexec.hints.failure.Failure`.
    """
    hints = _hints("runtime")
    if hints is None:
        return None
    failure = hints.Failure(place=place and hints.ErrorPlace(*place), **facts)
    try:
        return hints.runtime_hint(failure)  # type: ignore[no-any-return]
    finally:
        failure.release()


_LATE = (
    "safeexec.language.transformer",
    "safeexec.hints.tables.modules",
    "safeexec.hints.tables.libraries",
    "safeexec.hints.tables.attributes",
    "safeexec.hints.tables.foreign",
    "safeexec.hints.tables.messages",
    "safeexec.hints.runtime",
    "safeexec.hints.syntax",
    "safeexec.hints.limits",
)


def late_imports() -> list[tuple[str, Callable[[], Any]]]:
    """Return what only some steps need of both, by name, to be imported while nobody waits."""
    return [(name, partial(_imported, name)) for name in _LATE]
