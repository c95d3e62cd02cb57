"""The hint for an exception at run time: what a model should write instead, in one sentence.

A hint is found from the kind of the exception, its message, the source text of the failing expression and the objects
that its names stand for. Objects of the guest are only looked at with `type`, the built-in types' own methods and the
class dictionaries: no method of a guest class is called, no property is read.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from safeexec.hints.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Failure", "runtime_hint", "warm"]


def runtime_hint(failure: Failure) -> str | None:
    """One sentence that says what to do instead, or None where nothing certain can be said.

    An exception that the guest's own code raised on purpose (a ``raise`` statement) gets no hint.
    """
    if failure.raised_by_guest() and not (
        issubclass(failure.kind, SystemExit) or "must derive from BaseException" in failure.message
    ):
        return None
    for kind, finder in _FINDERS:
        if issubclass(failure.kind, kind):
            if type.__dict__["__name__"].__get__(failure.kind) == "UndefinedVariableError":
                finder = _query
            found = finder(failure)
            return found or _pattern(failure)
    return _pattern(failure)


def warm() -> None:
    """Import every table, for a process whose children shall not pay for it at their first error (4 to 8 ms; all
    tables 17 ms).
    """


def _pattern(failure: Failure) -> str | None:
    from safeexec.hints import patterns

    return patterns.hint(failure)


def _query(failure: Failure) -> str | None:
    from safeexec.hints import keys

    return keys.undefined_in_query(failure)


def _unbound(failure: Failure) -> str | None:
    from safeexec.hints import names

    return names.unbound_local(failure)


def _name(failure: Failure) -> str | None:
    from safeexec.hints import names

    return names.undefined(failure)


def _attribute(failure: Failure) -> str | None:
    from safeexec.hints import attributes

    return attributes.hint(failure)


def _key(failure: Failure) -> str | None:
    from safeexec.hints import keys

    return keys.hint(failure)


def _import(failure: Failure) -> str | None:
    from safeexec.hints import names

    return names.import_failed(failure)


def _type(failure: Failure) -> str | None:
    from safeexec.hints import calls, values
    from safeexec.hints.tables.modules import ALIASES

    call = failure.call
    function = call.func if call is not None else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in ALIASES:
        from safeexec.hints.attributes import shadowed_module

        if hidden := shadowed_module(failure, function.value, failure.resolve(function.value)):
            return hidden
    return values.none_or_coroutine(failure) or calls.hint(failure) or values.hint(failure)


def _value(failure: Failure) -> str | None:
    from safeexec.hints import keys

    return keys.column_in_message(failure)


def _file(failure: Failure) -> str | None:
    from safeexec.hints import files

    return files.hint(failure)


def _memory(failure: Failure) -> str | None:
    from safeexec.hints.limits import limit_hint

    return limit_hint("memory")


_FINDERS: tuple[tuple[type[BaseException], Callable[[Any], str | None]], ...] = (
    (UnboundLocalError, _unbound),
    (NameError, _name),
    (AttributeError, _attribute),
    (KeyError, _key),
    (ImportError, _import),
    (TypeError, _type),
    (ValueError, _value),
    (OSError, _file),
    (MemoryError, _memory),
)
