"""Guards of the functions over numbers: conversions, rounding, `math` and `statistics`."""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms
import math

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.containers import each, items
from safeexec.inline.costs import (
    INTEGERS,
    MAX_BITS,
    MAX_DIGITS,
    SMALL,
    Refused,
    admit,
    bounded_numbers,
    limit_bits,
    measure,
    spend,
    weight,
    whole_number,
)
from safeexec.inline.operators import GUARDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from safeexec.inline.costs import Fuel

    Guard = Callable[..., Any]

_multiply = GUARDS[ast.Mult]
MAX_ROUND = 5000
"""The most places that round() takes for integers, before or after the point."""
MAX_ARGUMENT = 5000
"""The largest argument of factorial()."""


WIDE_FLOAT = 120
"""Units of round() for a float of 300 digits, which it writes out in decimal: 11 us, against 0.2 us for 1.5."""


def rounded(fuel: Fuel, number: Any, ndigits: Any = None) -> Any:
    if type(number) is float and type(ndigits) is int:
        spend(fuel, 1 if -SMALL < number < SMALL else WIDE_FLOAT)
        return round(number, ndigits)
    measure(fuel, number)
    if ndigits is None:
        return round(integral(fuel, number))
    if type(number) in INTEGERS and not -MAX_ROUND <= whole_number(ndigits) <= MAX_ROUND:
        raise Refused(f"round() takes at most {MAX_ROUND} places here")
    spend(fuel, 20 + (abs(whole_number(ndigits)) >> 2))
    return round(number, ndigits)


def integral(fuel: Fuel, number: Any) -> Any:
    """Return a number that is about to become an integer, once it is measured."""
    measure(fuel, number)
    if type(number) not in (int, float, bool, complex):
        raise TypeError(f"must be a real number, not {type(number).__name__}")
    return number


def _read(text: str) -> int:
    """Return the characters of a text that is read as a number."""
    if len(text) > MAX_DIGITS:
        raise Refused(f"a text of {len(text)} characters is too long for a number; the limit is {MAX_DIGITS}")
    return len(text)


def to_int(fuel: Fuel, *args: Any, **options: Any) -> int:
    if args and type(args[0]) is str:
        spend(fuel, 1 + (_read(args[0]) >> 4) ** 2)
        args = (args[0], *[integral(fuel, arg) for arg in args[1:]])
    else:
        args = tuple(integral(fuel, arg) for arg in args)
    return int(*args, **options)


def to_float(fuel: Fuel, *args: Any) -> float:
    if args and type(args[0]) is str:
        spend(fuel, 1 + (_read(args[0]) >> 2))
    for arg in args:
        measure(fuel, arg)
    return float(*args)


def to_complex(fuel: Fuel, *args: Any, **options: Any) -> complex:
    """`complex(real, imag)` of numbers, or of a text."""
    for arg in (*args, *options.values()):
        spend(fuel, 1 + (_read(arg) >> 2 if type(arg) is str else 0))
        measure(fuel, arg)
    return complex(*args, **options)


def to_bool(fuel: Fuel, *args: Any) -> bool:
    return bool(*map(admit, args))


def power(fuel: Fuel, base: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is None:
        return GUARDS[ast.Pow](fuel, base, exponent)
    for number in (base, exponent, modulus):
        if type(number) not in INTEGERS:
            raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    width = max(base.bit_length(), modulus.bit_length(), 30)
    spend(fuel, 1 + ((3 + (width // 30) ** 2) * (30 + exponent.bit_length()) >> 4) + (width >> 6) ** 2)
    return pow(base, exponent, modulus)


def quotient(fuel: Fuel, left: Any, right: Any) -> Any:
    return (GUARDS[ast.FloorDiv](fuel, left, right), GUARDS[ast.Mod](fuel, left, right))


def ascii_safe(fuel: Fuel, value: Any) -> int:
    if type(value) is not str:
        raise TypeError(f"ord() expected string of length 1, but {type(value).__name__} found")
    return ord(value)


def numeric(function: Callable[..., Any]) -> Guard:
    """Return a function of real numbers whose cost is linear or quadratic in their bits: most of `math`."""

    def guard(fuel: Fuel, *args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options:
            number = args[0]
            if type(number) is float or (type(number) is int and -SMALL < number < SMALL):
                return function(number)
        for arg in (*args, *options.values()):
            if type(arg) is float or (type(arg) is int and -SMALL < arg < SMALL):
                continue
            if type(arg) not in INTEGERS:
                raise TypeError(f"must be real number, not {type(admit(arg)).__name__}")
            spend(fuel, measure(fuel, arg))
        spend(fuel, 1 + len(args))
        return function(*args, **options)

    return guard


def whole(function: Callable[..., Any]) -> Guard:
    """floor, ceil and trunc make integers."""

    def guard(fuel: Fuel, number: Any) -> Any:
        return function(integral(fuel, number))

    return guard


def _integers(fuel: Fuel, values: Any) -> int:
    """Spend the weight of integers and return the sum of their bits."""
    bits = 0
    for value in values:
        spend(fuel, weight(whole_number(value)))
        bits += value.bit_length()
    return bits


def factorial(fuel: Fuel, number: Any) -> int:
    _integers(fuel, (number,))
    if number > MAX_ARGUMENT:
        raise Refused(f"factorial() takes at most {MAX_ARGUMENT} here")
    if number > 0:
        spend(fuel, limit_bits(number * number.bit_length()))
    return math.factorial(number)


def combinations(fuel: Fuel, n: Any, k: Any) -> int:
    _integers(fuel, (n, k))
    if 0 <= k <= n:
        spend(fuel, limit_bits(min(k, n - k) * n.bit_length()))
    return math.comb(n, k)


def permutations(fuel: Fuel, n: Any, k: Any = None) -> int:
    if k is None:
        return factorial(fuel, n)
    _integers(fuel, (n, k))
    if 0 <= k <= n:
        spend(fuel, limit_bits(k * n.bit_length()))
    return math.perm(n, k)


def common_multiple(fuel: Fuel, *numbers: Any) -> int:
    spend(fuel, limit_bits(_integers(fuel, numbers)) * 4)
    return math.lcm(*numbers)


def common_divisor(fuel: Fuel, *numbers: Any) -> int:
    spend(fuel, (_integers(fuel, numbers) >> 9) ** 2 + len(numbers))
    return math.gcd(*numbers)


def over_floats(function: Callable[..., Any]) -> Guard:
    """fsum, dist, hypot, sumprod: sequences of ordinary numbers."""

    def guard(fuel: Fuel, *args: Any) -> Any:
        for arg in args:
            if not bounded_numbers(items(fuel, arg, 4)):
                raise TypeError(f"{function.__name__}() takes floats and integers below 2**63 here")
        return function(*args)

    return guard


def product_of(fuel: Fuel, values: Any, *, start: Any = 1) -> Any:
    for value in each(fuel, values, 1):
        start = _multiply(fuel, start, value)
    return start


def statistic(name: str) -> Guard:
    """Return a function of `statistics`. It adds exact fractions: some 20 times the cost of a plain sum of floats."""

    def guard(fuel: Fuel, *args: Any, **options: Any) -> Any:
        import statistics

        for arg in args:
            if type(arg) in (list, tuple, range, set, frozenset):
                _check_sample(fuel, arg)
            elif not bounded_numbers((arg,)):
                raise TypeError(f"{name}() takes containers of numbers here")
        for key, value in options.items():
            if type(value) in (list, tuple, range):
                _check_sample(fuel, value)
            elif value is not None and type(value) is not str and not bounded_numbers((value,)):
                raise TypeError(f"{name}() takes an ordinary number as {key}")
            if key == "n":
                if type(value) is not int or value > 1000:
                    raise Refused("quantiles() takes at most n=1000 here")
                spend(fuel, 3 * max(1, value))
        return getattr(statistics, name)(*args, **options)

    return guard


def _check_sample(fuel: Fuel, sample: Any) -> None:
    items(fuel, sample, 40)
    if not bounded_numbers(sample):
        bits = 0
        for value in sample:
            spend(fuel, 40)
            if type(value) in INTEGERS:
                bits += value.bit_length()
            elif type(value) not in (float, str):
                raise TypeError(f"a sample may hold numbers, not '{type(admit(value)).__name__}'")
            else:
                spend(fuel, measure(fuel, value))
        if bits > MAX_BITS:
            raise Refused(f"the numbers of this sample have {bits} bits together; the limit is {MAX_BITS}")
        spend(fuel, (bits >> 7) ** 2)
