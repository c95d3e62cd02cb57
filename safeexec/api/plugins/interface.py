"""Converts between objects of the host's classes and values of a plugin: arguments go in as their fields, results come
back as objects.

A plugin has no class of the host's. Where the interface names one (a `Protocol`, or signatures), an argument crosses as
its plain data, and what is returned is made an object of that class again.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from safeexec.engine.host.tools.type_hints import can_be_checked, made, names_class
from safeexec.protocol.values import ByFields
from safeexec.results import ErrorInfo

if TYPE_CHECKING:
    from safeexec.results import Result

_STREAMS = (Iterator, Iterable, Generator, AsyncIterator, AsyncGenerator)
Hints = Mapping[str, Any]
"""Parameter → the type hint that names a class; "return" → that of what is returned."""


class Wanted(NamedTuple):
    """The interface of one export."""

    signature: inspect.Signature
    hints: Hints
    """Those that name a class of the host."""
    returns: Any
    """The type that its values are checked against; `Any` where there is none that can be checked."""


def wanted_of(of: Callable[..., Any] | inspect.Signature, *, is_method: bool) -> Wanted:
    """Return what a function or a signature says of an export; a method has its `self`, which no export has."""
    if isinstance(of, inspect.Signature):
        signature = of
        hints = {name: one.annotation for name, one in of.parameters.items()} | {"return": of.return_annotation}
    else:
        signature = inspect.signature(of)
        try:
            hints = typing.get_type_hints(of, include_extras=True)
        except Exception:  # a name that only a type checker knows
            hints = {}
    if is_method:
        signature = signature.replace(parameters=[*signature.parameters.values()][1:])
    hints = {name: hint for name, hint in hints.items() if hint is not signature.empty and not isinstance(hint, str)}
    returns = hints.get("return", Any)
    if returns is object or not can_be_checked(_item(returns)):
        returns = Any
    return Wanted(signature, {name: hint for name, hint in hints.items() if names_class(_item(hint))}, returns)


def _item(hint: Any) -> Any:
    """Return what a generator gives, by the hint of the function; any other hint itself."""
    if typing.get_origin(hint) in _STREAMS and typing.get_args(hint):
        return typing.get_args(hint)[0]
    if typing.get_origin(hint) in (Awaitable, Coroutine) and typing.get_args(hint):
        return typing.get_args(hint)[-1]
    return hint


def given(
    hints: Hints, wanted: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments, those by their fields for which the interface names a class."""
    names = [one.name for one in wanted.parameters.values() if one.kind is not one.KEYWORD_ONLY]
    by_place = [
        ByFields(one) if names[index : index + 1] and names[index] in hints else one for index, one in enumerate(args)
    ]
    return tuple(by_place), {name: ByFields(one) if name in hints else one for name, one in kwargs.items()}


def returned(hint: Any, what: str, result: Result) -> Result:
    """Return the result with its value as the interface says; with a TypeError where it cannot be."""
    try:
        return msgspec.structs.replace(
            result, value=made(f"{what} returned another type", "value", _item(hint), result.value)
        )
    except TypeError as error:
        has_fields = "a dict with" in str(error)
        hint = "Return a dict with these fields, or an object that has them." if has_fields else None
        problem = ErrorInfo("TypeError", str(error), hint=hint)
        return msgspec.structs.replace(result, outcome="error", value=None, error=problem)
