"""Decimal, Fraction, dates and times: their weights and operators. Loaded when the first such value is met.

`WEIGHTS`, `CHECKS` and `BINARY` are rows for the tables in `costs`, from which `operators` takes the last.

A Decimal is cheap to hold and dear to expand: `int(Decimal("1e999999999"))` is one C call of hours. Its arithmetic
costs by the precision of the caller's decimal context. A Fraction costs by the bits of numerator and denominator.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, getcontext
from fractions import Fraction

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.fuel import (
    EXACT,
    INTEGERS,
    MAX_DIGITS,
    MIXED,
    SMALL,
    WIDE,
    Fuel,
    Refused,
    apart,
    conversion,
    limit_bits,
    notes,
    power_bits,
    spend,
    weight,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Cost = int | Callable[[Fuel, Any, Any], int]
    Costs = dict[tuple[type, type], Cost]

MAX_PRECISION = 2000
"""The largest precision of a decimal context under which arithmetic is done here, in digits."""

COMPARED = MIXED
"""Units of a Decimal or a Fraction that is compared, with a float at the worst."""


def check_digits(fuel: Fuel, value: Any) -> Any:
    """Refuses a Decimal or Fraction that would be written out, or turned into an integer, with too many digits."""
    if type(value) is Decimal and value.is_finite():
        digits = max(abs(value.adjusted()), abs(int(value.as_tuple().exponent)))
        if digits > MAX_DIGITS:
            raise Refused(f"this Decimal has {digits} digits when written out; the limit is {MAX_DIGITS}")
        spend(fuel, 1 + (digits >> 2))
    elif type(value) is Fraction:
        spend(fuel, weight(value.numerator) + weight(value.denominator))
    return value


def _decimal_size(value: Any) -> int:
    return value.__sizeof__() if type(value) is Decimal else value.bit_length() >> 3


def _weigh_decimal(fuel: Fuel, value: Decimal, depth: int) -> int:
    units = COMPARED + (value.__sizeof__() >> 7)
    spend(fuel, units)
    notes(fuel)[EXACT] = True
    apart(fuel, "Decimal")
    return units


def _weigh_fraction(fuel: Fuel, value: Fraction, depth: int) -> int:
    units = COMPARED + weight(value.numerator) + weight(value.denominator)
    spend(fuel, units)
    notes(fuel)[EXACT] = True
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > WIDE:
        apart(fuel, "wide")
    return units


def _weigh_clock(fuel: Fuel, value: datetime | time, depth: int) -> int:
    check_zone(value.tzinfo)
    spend(fuel, 4)
    return 4


def check_zone(zone: object) -> None:
    """A time zone may be None, a `timezone` or a `ZoneInfo`; any other class would run code of the host's."""
    zone_info = getattr(sys.modules.get("zoneinfo"), "ZoneInfo", timezone)
    if zone is None or type(zone) is timezone or type(zone) is zone_info:
        return
    raise Refused(f"a time zone of type {type(zone).__qualname__} may not take part; use datetime.timezone or ZoneInfo")


def _weigh_constant(fuel: Fuel, value: object, depth: int) -> int:
    spend(fuel, 2)
    return 2


WEIGHTS: dict[type, Callable[[Fuel, Any, int], int]] = {
    Decimal: _weigh_decimal,
    Fraction: _weigh_fraction,
    date: _weigh_constant,
    timedelta: _weigh_constant,
    datetime: _weigh_clock,
    time: _weigh_clock,
}


def _precision() -> int:
    precision = getcontext().prec
    if precision > MAX_PRECISION:
        raise Refused(f"the precision of the decimal context is {precision}; the limit is {MAX_PRECISION}")
    return precision


def _converted(value: Any) -> int:
    return 0 if type(value) is Decimal else conversion(value)


def _decimal_linear(fuel: Fuel, left: Any, right: Any) -> int:
    precision = getcontext().prec
    if precision > MAX_PRECISION:
        _precision()
    first = left.__sizeof__() if type(left) is Decimal else left.bit_length() >> 3
    second = right.__sizeof__() if type(right) is Decimal else right.bit_length() >> 3
    return 2 + ((precision + first) * (1 + (second >> 4)) >> 6) + _converted(left) + _converted(right)


def _decimal_quotient(fuel: Fuel, left: Any, right: Any) -> int:
    precision = _precision() + (_decimal_size(left) >> 1) + (_decimal_size(right) >> 1)
    return 2 + (precision * precision >> 9) + _converted(left) + _converted(right)


def _decimal_power(fuel: Fuel, left: Any, right: Any) -> int:
    precision = _precision() + _decimal_size(left) + _decimal_size(right)
    return 10 + (precision * precision >> 2)


def _ratio_bits(value: Any) -> int:
    if type(value) is float:
        return 64
    return int(value.numerator.bit_length()) + int(value.denominator.bit_length())


def _fraction_cost(fuel: Fuel, left: Any, right: Any) -> int:
    bits = _ratio_bits(left) + _ratio_bits(right)
    return 20 + limit_bits(bits) * 4


def _fraction_power(fuel: Fuel, left: Any, right: Any) -> int:
    if type(left) is float or type(right) is float or right.denominator != 1:
        return 20 + _ratio_bits(left) + _ratio_bits(right)
    exponent: int = abs(right.numerator)
    bits = power_bits(left.numerator, exponent) + power_bits(left.denominator, exponent)
    return 20 + limit_bits(bits) * 4 + (exponent.bit_length() >> 2)  # 1 ** exponent walks over the bits of the exponent


def _zones(fuel: Fuel, left: Any, right: Any) -> int:
    for value in (left, right):
        if type(value) in (datetime, time):
            check_zone(value.tzinfo)
    return 4


def _mixed(cost: Cost, kind: type, *others: type) -> Costs:
    return {(kind, kind): cost, **{pair: cost for other in others for pair in ((kind, other), (other, kind))}}


def _compared(fuel: Fuel, left: Any, right: Any) -> int:
    return (_weigh(fuel, left) + _weigh(fuel, right)) * 4


def _weigh(fuel: Fuel, number: Any) -> int:
    if type(number) in WEIGHTS:
        return WEIGHTS[type(number)](fuel, number, 0)
    units = weight(number) if type(number) is int else 1
    spend(fuel, units)
    return units


def _scaled(fuel: Fuel, left: Any, right: Any) -> int:
    return 2 + sum(weight(value) for value in (left, right) if type(value) is int)


_FRACTIONAL = (*INTEGERS, float)
_SUMS: Costs = {**_mixed(_decimal_linear, Decimal, *INTEGERS), **_mixed(_fraction_cost, Fraction, *_FRACTIONAL)}
_QUOTIENTS: Costs = {**_mixed(_decimal_quotient, Decimal, *INTEGERS), **_mixed(_fraction_cost, Fraction, *_FRACTIONAL)}
_ORDERINGS: Costs = {
    **_mixed(_compared, Decimal, *_FRACTIONAL, Fraction),
    **_mixed(_compared, Fraction, *_FRACTIONAL),
    **{(kind, kind): _zones for kind in (date, datetime, time, timedelta)},
}
_DAYS: Costs = {(kind, timedelta): _zones for kind in (date, datetime)}

BINARY: dict[type[ast.AST], Costs] = {
    ast.Add: {**_SUMS, **_DAYS, **{(timedelta, kind): _zones for kind in (date, datetime)}, (timedelta, timedelta): 2},
    ast.Sub: {**_SUMS, **_DAYS, **{(kind, kind): _zones for kind in (date, datetime)}, (timedelta, timedelta): 2},
    ast.Mult: {
        **_SUMS,
        **{pair: _scaled for other in _FRACTIONAL for pair in ((timedelta, other), (other, timedelta))},
    },
    ast.Div: {**_QUOTIENTS, **{(timedelta, other): _scaled for other in (timedelta, *_FRACTIONAL)}},
    ast.FloorDiv: {**_QUOTIENTS, **{(timedelta, other): _scaled for other in (timedelta, *INTEGERS)}},
    ast.Mod: {**_QUOTIENTS, (timedelta, timedelta): 2},
    ast.Pow: {**_mixed(_decimal_power, Decimal, *INTEGERS), **_mixed(_fraction_power, Fraction, *_FRACTIONAL)},
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), _ORDERINGS),
}


def decimal(fuel: Fuel, *args: Any) -> Decimal:
    """`Decimal(value)` from text, an integer or a float."""
    for arg in args:
        _check_literal(arg, (int, bool, float, str, Decimal))
        spend(fuel, conversion(arg) if type(arg) is int else 10 + (len(arg) if type(arg) is str else COMPARED))
    return Decimal(*args)


def fraction(fuel: Fuel, *args: Any) -> Fraction:
    """`Fraction(value)` or `Fraction(numerator, denominator)`."""
    total = 0
    for arg in args:
        _check_literal(arg, (int, bool, float, str, Decimal, Fraction))
        if type(arg) is str:
            _check_exponent(arg)
            total += 4 * (len(arg) + MAX_DIGITS)
        else:
            check_digits(fuel, arg)
            total += 2200 if type(arg) is float else 4 * MAX_DIGITS if type(arg) is Decimal else _ratio_bits(arg)
    spend(fuel, 20 + limit_bits(total))
    return Fraction(*args)


def _check_literal(value: Any, kinds: tuple[type, ...]) -> None:
    if type(value) not in kinds:
        raise TypeError(f"cannot make an exact number of '{type(value).__name__}'")
    if type(value) is str and len(value) > MAX_DIGITS:
        raise Refused(f"a text of {len(value)} characters is too long for a number; the limit is {MAX_DIGITS}")


def _check_exponent(text: str) -> None:
    """`Fraction("1e999999999")` would compute the power."""
    _, marker, exponent = text.lower().partition("e")
    digits = exponent.replace("_", "").strip().lstrip("+-")
    if marker and digits.isdecimal() and (len(digits) > 4 or int(digits) > MAX_DIGITS):
        raise Refused(f"the exponent of this text is too large; the limit is {MAX_DIGITS}")


def make(kind: type) -> Any:
    """A guard for date(...), datetime(...), time(...) and timedelta(...): arguments are numbers."""

    def guard(fuel: Fuel, /, *args: Any, **options: Any) -> Any:
        for arg in (*args, *options.values()):
            if type(arg) not in _FRACTIONAL or (type(arg) is int and abs(arg) >= SMALL):
                raise TypeError(f"{kind.__name__}() takes ordinary numbers here")
        spend(fuel, 10)
        return kind(*args, **options)

    return guard


CHECKS = {Decimal: check_digits, Fraction: check_digits}

MAKERS: dict[str, Any] = {
    "Decimal": decimal,
    "Fraction": fraction,
    **{kind.__name__: make(kind) for kind in (date, datetime, time, timedelta)},
}
