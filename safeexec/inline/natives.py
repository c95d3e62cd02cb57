"""Functions that need no guard, because their arguments are known to be small numbers or texts."""

from __future__ import annotations

import _ast as ast
import math

from safeexec.inline.functions import OF_REALS
from safeexec.inline.kinds import FLOAT_BITS, NAME_BITS, Kind, Numbers, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Choice = tuple[Callable[..., Any] | None, int]

_REALS = frozenset(OF_REALS.split()) - {"frexp", "modf"}
_GUARDED: Choice = (None, 0)


def choose(module: str, name: str, args: list[ast.expr], kinds: list[Kind]) -> Choice:
    """The function and the bits of its result; None if the call needs its guard."""
    bounds = [kind for kind in kinds if isinstance(kind, int)]
    if bounds and len(bounds) == len(args):
        return _of_math(name, max(bounds)) if module == "math" else _of_numbers(name, args, max(bounds), bool(module))
    if len(args) == 1 and not module:
        return _of_container(name, kinds[0])
    return _GUARDED


def _of_math(name: str, bits: int) -> Choice:
    if name in _REALS:
        return getattr(math, name), bits
    return (getattr(math, name), max(FLOAT_BITS, bits)) if name in ("floor", "ceil", "trunc") else _GUARDED


def _of_numbers(name: str, args: list[ast.expr], bits: int, foreign: bool) -> Choice:
    if foreign:
        return _GUARDED
    if len(args) > 1:
        if name in ("min", "max"):
            return (min if name == "min" else max), bits
        return (round, max(FLOAT_BITS, bits) + NAME_BITS) if name == "round" and _places(args) else _GUARDED
    if name in _CONVERSIONS:
        function, at_least = _CONVERSIONS[name]
        return function, max(at_least, bits)
    return _GUARDED


_CONVERSIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "abs": (abs, 0),
    "bool": (bool, 1),
    "float": (float, 0),
    "int": (int, FLOAT_BITS),
    "round": (round, FLOAT_BITS),
}


def _places(args: list[ast.expr]) -> bool:
    """Whether the second argument of round() is a small constant."""
    places = args[1]
    return (
        isinstance(places, ast.Constant) and type(places.value) is int and places.value < NAME_BITS and len(args) == 2
    )


def _of_container(name: str, kind: Kind) -> Choice:
    if name == "len" and isinstance(kind, (Numbers, Text)):
        return len, NAME_BITS
    if isinstance(kind, Numbers) and kind.depth == 1:
        if name == "sum":
            return sum, kind.bits + NAME_BITS
        if name in ("min", "max"):
            return (min if name == "min" else max), kind.bits
    return _GUARDED
