"""Text: what formatting, printing and reading numbers may cost.

Widths and precisions are read from the spec before anything is formatted, so that `f"{1:>{10**10}}"` is refused and not
computed. There is no template that reaches an attribute or an item of a value: no `str.format`, and no `%`.
"""

from __future__ import annotations

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.costs import Refused, measure, spend, weight

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from safeexec.inline.costs import Fuel

MAX_WIDTH = 1000
"""The largest width or precision in a format, in characters."""

ESCAPED = 10
"""The most characters that repr() makes of one."""


def _printed(fuel: Fuel, value: Any) -> int:
    return measure(fuel, value) * ESCAPED


def to_text(fuel: Fuel, *args: Any, **options: Any) -> str:
    """`str(value)`."""
    if len(args) > 1 or options:
        raise TypeError("str() takes one value here")
    if not args:
        return ""
    if type(args[0]) is str:
        return args[0]
    spend(fuel, _printed(fuel, args[0]))
    return str(args[0])


def to_repr(fuel: Fuel, value: Any) -> str:
    spend(fuel, _printed(fuel, value))
    return repr(value)


def to_ascii(fuel: Fuel, value: Any) -> str:
    spend(fuel, _printed(fuel, value))
    return ascii(value)


def formatted(fuel: Fuel, value: Any, spec: str = "") -> str:
    """`format(value, spec)`: numbers, text."""
    if type(spec) is not str:
        raise TypeError(f"format() argument 2 must be str, not {type(spec).__name__}")
    spend(fuel, 1 + _printed(fuel, value) + len(spec))
    if not spec:
        return format(value)
    for digits in "".join(character if character.isdecimal() else " " for character in spec).split():
        if len(digits) > 9 or int(digits) > MAX_WIDTH:  # a width, or a precision
            raise Refused(f"a width or precision in a format may be at most {MAX_WIDTH}")
    spend(fuel, MAX_WIDTH >> 4)
    return format(value, spec)


_CONVERSIONS: dict[int, Callable[[Fuel, Any], str]] = {ord("s"): to_text, ord("r"): to_repr, ord("a"): to_ascii}


def field(fuel: Fuel, value: Any, conversion: int, spec: str = "") -> str:
    """`{value!r:spec}` in an f-string; a conversion of -1 is none."""
    return formatted(fuel, value if conversion == -1 else _CONVERSIONS[conversion](fuel, value), spec)


def joined(fuel: Fuel, texts: list[str]) -> str:
    """Return an f-string of its parts."""
    spend(fuel, 1 + (sum(map(len, texts)) >> 4))
    return "".join(texts)


def to_digits(function: Callable[..., str]) -> Callable[..., str]:
    """hex, oct, bin and chr: their arguments must be integers."""

    def guard(fuel: Fuel, *args: Any) -> str:
        for arg in args:
            spend(fuel, weight(arg) if type(arg) is int else 1)
        return function(*map(_plain, args))

    return guard


def _plain(value: Any) -> Any:
    if type(value) not in (int, bool, float, str):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return value
