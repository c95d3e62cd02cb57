"""The functions that an expression may call, each behind a guard `(fuel, *arguments)` that spends its cost first.

Three tables: `BUILTINS` by name, and `MODULES` for the names of `math` and `statistics`; `CONSTANTS` are `math.pi` and its
like. Builtins that are lazy in Python (`zip`, `enumerate`, `reversed`) give lists here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from safeexec.inline import text
from safeexec.inline.costs import (
    MAX_BITS,
    MAX_DIGITS,
    Fuel,
    Refused,
    admit,
    bounded_numbers,
    collisions,
    known,
    measure,
    spend,
    weight,
)
from safeexec.inline.operators import GUARDS, INTEGERS, limit_bits, span

Guard = Callable[..., Any]

_add, _multiply = GUARDS[ast.Add], GUARDS[ast.Mult]
_SIZED = (list, tuple, str, dict, set, frozenset)
MAX_ROUND = 5000
"""The most places that round() takes for integers and Fractions, before or after the point."""
MAX_ARGUMENT = 5000
"""The largest argument of factorial()."""


def items(fuel: Fuel, iterable: Any, per_item: int = 1) -> Any:
    """The iterable, if its length is known; spends its length times per_item."""
    kind = type(iterable)
    if kind in _SIZED:
        spend(fuel, len(iterable) * per_item)
    elif kind is range:
        spend(fuel, span(iterable) * per_item)
    else:
        raise TypeError(f"'{type(admit(iterable)).__name__}' object is not iterable")
    return iterable


def each(fuel: Fuel, iterable: Any, per_item: int) -> Any:
    """What a comprehension walks over: the steps of its body are spent in advance, the types of its items are checked."""
    items(fuel, iterable, per_item)
    if type(iterable) not in (range, str):
        for kind in set(map(type, iterable)):
            if not known(kind):
                admit(next(item for item in iterable if type(item) is kind))
    return iterable


def unpacked(fuel: Fuel, iterable: Any, per_item: int) -> Any:
    """The same for `for a, b in iterable`: the items are containers, and their items are checked as well."""
    for item in each(fuel, iterable, per_item):
        each(fuel, item, 1)
    return iterable


def spread(fuel: Fuel, iterable: Any) -> Any:
    """`*iterable` in a display or a call."""
    return each(fuel, iterable, 1)


def to_list(fuel: Fuel, *args: Any) -> list[Any]:
    return list(*[items(fuel, arg) for arg in args])


def to_tuple(fuel: Fuel, *args: Any) -> tuple[Any, ...]:
    return tuple(*[items(fuel, arg) for arg in args])


def _hashed(fuel: Fuel, keys: Any) -> Any:
    measure(fuel, list(items(fuel, keys)))
    collisions(fuel, keys)
    return keys


def to_set(fuel: Fuel, *args: Any) -> set[Any]:
    return set(*[_hashed(fuel, arg) for arg in args])


def to_frozenset(fuel: Fuel, *args: Any) -> frozenset[Any]:
    return frozenset(*[_hashed(fuel, arg) for arg in args])


def to_dict(fuel: Fuel, *args: Any, **options: Any) -> dict[Any, Any]:
    """`dict(pairs)`; dict displays and comprehensions come here too, as a list of pairs."""
    if len(args) == 1 and type(args[0]) is not dict:
        for pair in unpacked(fuel, args[0], 1):
            if len(pair) != 2:
                raise ValueError(f"a pair of a dict must have 2 items, not {len(pair)}")
        _hashed(fuel, [tuple(pair)[0] for pair in args[0]])
    elif args:
        _hashed(fuel, args[0])
    return dict(*args, **options)


def pairs(fuel: Fuel, mapping: Any) -> Any:
    """`**mapping` in a dict display."""
    if type(mapping) is not dict:
        raise TypeError(f"'{type(admit(mapping)).__name__}' object is not a mapping")
    return items(fuel, mapping).items()


def zipped(fuel: Fuel, *args: Any, **options: Any) -> list[Any]:
    return list(zip(*[items(fuel, arg, 2) for arg in args], **options))


def rows(fuel: Fuel, price: int, *args: Any) -> Any:
    """`zip(...)` as the container of a loop: its rows are paid for and their items checked, so it can stay lazy."""
    for arg in args:
        each(fuel, arg, price)
    return zip(*args)


def enumerated(fuel: Fuel, iterable: Any, start: Any = 0) -> list[Any]:
    if type(start) is not int:
        raise TypeError(f"'{type(start).__name__}' object cannot be interpreted as an integer")
    return list(enumerate(items(fuel, iterable, 3 * weight(start)), start))


def reverse(fuel: Fuel, iterable: Any) -> list[Any]:
    return list(reversed(items(fuel, iterable)))


def ranged(fuel: Fuel, *args: Any) -> range:
    """Making a range costs nothing: whatever walks over it spends its length."""
    for arg in args:
        spend(fuel, weight(arg) if type(arg) is int else 1)
        if type(arg) not in INTEGERS:
            raise TypeError(f"'{type(arg).__name__}' object cannot be interpreted as an integer")
    return range(*args)


def length(fuel: Fuel, container: Any) -> int:
    return len(container if type(container) in _SIZED else admit(container))


def order(fuel: Fuel, iterable: Any, *, reverse: Any = False) -> list[Any]:
    """`sorted(iterable)`: each item is compared about 2 log2(n) times, and a comparison costs at most its size."""
    values = list(items(fuel, iterable))
    spend(fuel, measure(fuel, values) * 2 * len(values).bit_length() >> 2)
    return sorted(values, reverse=bool(reverse))


def _extreme(function: Callable[..., Any]) -> Guard:
    def guard(fuel: Fuel, *args: Any, **options: Any) -> Any:
        if options.keys() - {"default"}:
            raise TypeError(f"{function.__name__}() takes only default= by keyword here; write a comprehension for a key")
        values = each(fuel, args[0], 1) if len(args) == 1 else args
        if len(values) != 2 or not bounded_numbers(values):
            measure(fuel, list(values))
        return function(values, **options) if len(args) == 1 else function(*args, **options)

    return guard


def total(fuel: Fuel, values: Any, start: Any = 0) -> Any:
    """`sum(values)`; anything but small numbers is added one by one, each addition behind its guard."""
    if type(start) is str:
        raise TypeError("sum() can't sum strings [use ''.join(seq) instead]")
    items(fuel, values)
    if type(values) is not dict and type(start) in (int, float) and bounded_numbers(values) and bounded_numbers((start,)):
        return sum(values, start)
    return reduce(lambda left, right: _add(fuel, left, right), each(fuel, values, 1), start)


def product_of(fuel: Fuel, values: Any, *, start: Any = 1) -> Any:
    return reduce(lambda left, right: _multiply(fuel, left, right), each(fuel, values, 1), start)


def truths(function: Callable[[Any], bool]) -> Guard:
    """any() and all(): over a container, or over the generator of a comprehension that has been paid for."""

    def guard(fuel: Fuel, values: Any) -> bool:
        if type(values).__name__ != "generator":
            each(fuel, values, 1)
        return function(values)

    return guard


def rounded(fuel: Fuel, number: Any, ndigits: Any = None) -> Any:
    measure(fuel, number)
    kind = type(number).__name__
    if ndigits is None:
        return round(integral(fuel, number))
    if type(ndigits) is not int:
        raise TypeError(f"'{type(ndigits).__name__}' object cannot be interpreted as an integer")
    if kind in ("int", "bool", "Fraction") and not -MAX_ROUND <= ndigits <= MAX_ROUND:
        raise Refused(f"round() takes at most {MAX_ROUND} places here")
    spend(fuel, 1 if kind == "float" else 20 + (abs(ndigits) >> 2 if kind != "Decimal" else 0))
    return round(number, ndigits)


def integral(fuel: Fuel, number: Any) -> Any:
    """A number that is about to become an integer: a Decimal may not have too many digits."""
    measure(fuel, number)
    if type(number).__name__ in ("Decimal", "Fraction"):
        from safeexec.inline.exact import check_digits

        check_digits(fuel, number)
    elif type(number) not in (int, float, bool, complex):
        raise TypeError(f"must be a real number, not {type(number).__name__}")
    return number


def to_int(fuel: Fuel, *args: Any, **options: Any) -> int:
    if args and type(args[0]) is str:
        if len(args[0]) > MAX_DIGITS:
            raise Refused(f"a text of {len(args[0])} characters is too long for a number; the limit is {MAX_DIGITS}")
        spend(fuel, 1 + (len(args[0]) >> 4) ** 2)
        args = (args[0], *[integral(fuel, arg) for arg in args[1:]])
    else:
        args = tuple(integral(fuel, arg) for arg in args)
    return int(*args, **options)


def to_float(fuel: Fuel, *args: Any) -> float:
    if args and type(args[0]) is str:
        if len(args[0]) > MAX_DIGITS:
            raise Refused(f"a text of {len(args[0])} characters is too long for a number; the limit is {MAX_DIGITS}")
        spend(fuel, 1 + (len(args[0]) >> 2))
        return float(args[0])
    for arg in args:
        measure(fuel, arg)
    return float(*args)


def to_bool(fuel: Fuel, *args: Any) -> bool:
    return bool(*map(admit, args))


def power(fuel: Fuel, base: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is None:
        return GUARDS[ast.Pow](fuel, base, exponent)
    for number in (base, exponent, modulus):
        if type(number) not in INTEGERS:
            raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    width = max(base.bit_length(), modulus.bit_length(), 30)
    spend(fuel, 1 + ((width // 30) ** 2 * (30 + exponent.bit_length()) >> 4) + (width >> 6) ** 2)
    return pow(base, exponent, modulus)


def quotient(fuel: Fuel, left: Any, right: Any) -> Any:
    return (GUARDS[ast.FloorDiv](fuel, left, right), GUARDS[ast.Mod](fuel, left, right))


def ascii_safe(fuel: Fuel, value: Any) -> int:
    if type(value) is not str:
        raise TypeError(f"ord() expected string of length 1, but {type(value).__name__} found")
    return ord(value)


def numeric(function: Callable[..., Any]) -> Guard:
    """A function of real numbers whose cost is linear or quadratic in their bits: most of `math`."""

    def guard(fuel: Fuel, *args: Any, **options: Any) -> Any:
        for arg in (*args, *options.values()):
            if type(arg) is float or (type(arg) is int and -(2**63) < arg < 2**63):
                continue
            if type(arg).__name__ not in ("int", "bool", "Decimal", "Fraction"):
                raise TypeError(f"must be real number, not {type(admit(arg)).__name__}")
            spend(fuel, measure(fuel, arg))
        spend(fuel, 1 + len(args))
        return function(*args, **options)

    return guard


def whole(function: Callable[..., Any]) -> Guard:
    """floor, ceil and trunc make integers: of a Decimal only if it has not too many digits."""

    def guard(fuel: Fuel, number: Any) -> Any:
        return function(integral(fuel, number))

    return guard


def _integers(fuel: Fuel, values: Any) -> int:
    """Spends the weight of integers and returns the sum of their bits."""
    bits = 0
    for value in values:
        if type(value) not in INTEGERS:
            raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
        spend(fuel, weight(value))
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


def join(fuel: Fuel, separator: Any, parts: Any) -> str:
    """`join(separator, parts)`: what `separator.join(parts)` does; methods are not available in expressions."""
    if type(separator) is not str or set(map(type, items(fuel, parts))) - {str}:
        raise TypeError("join() takes a text and a container of texts")
    spend(fuel, len(separator) * len(parts) + sum(map(len, parts)) >> 4)
    return separator.join(parts)


def from_host(fuel: Fuel, function: Guard, *args: Any, **options: Any) -> Any:
    """A function that the caller passed: its own cost is the caller's affair, its result is admitted like any value."""
    spend(fuel, 1)
    return admit(function(*args, **options))


def _exact(name: str) -> Guard:
    """Decimal(...), Fraction(...), date(...) and their like, loaded when first called."""

    maker: Guard | None = None

    def guard(fuel: Fuel, *args: Any, **options: Any) -> Any:
        nonlocal maker
        if maker is None:
            from safeexec.inline.exact import MAKERS

            maker = MAKERS[name]
        return maker(fuel, *args, **options)

    return guard


def _statistic(name: str) -> Guard:
    """A function of `statistics`. It adds exact fractions: some 20 times the cost of a plain sum of floats."""

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
            if key == "n" and (type(value) is not int or value > 1000):
                raise Refused("quantiles() takes at most n=1000 here")
        return getattr(statistics, name)(*args, **options)

    return guard


def _check_sample(fuel: Fuel, sample: Any) -> None:
    items(fuel, sample, 40)
    if not bounded_numbers(sample):
        bits = 0
        for value in sample:
            spend(fuel, 40)
            if type(value).__name__ in ("Decimal", "Fraction"):
                integral(fuel, value)
                bits += sum(map(int.bit_length, value.as_integer_ratio()))
            elif type(value) in INTEGERS:
                bits += value.bit_length()
            elif type(value) not in (float, str):
                raise TypeError(f"a sample may hold numbers, not '{type(admit(value)).__name__}'")
            else:
                spend(fuel, measure(fuel, value))
        if bits > MAX_BITS:
            raise Refused(f"the numbers of this sample have {bits} bits together; the limit is {MAX_BITS}")
        spend(fuel, (bits >> 7) ** 2)


BUILTINS: dict[str, Guard] = {
    "abs": numeric(abs),
    "all": truths(all),
    "any": truths(any),
    "ascii": text.to_ascii,
    "bin": text.to_digits(bin),
    "bool": to_bool,
    "chr": text.to_digits(chr),
    "dict": to_dict,
    "divmod": quotient,
    "enumerate": enumerated,
    "float": to_float,
    "format": text.formatted,
    "frozenset": to_frozenset,
    "hex": text.to_digits(hex),
    "int": to_int,
    "join": join,
    "len": length,
    "list": to_list,
    "max": _extreme(max),
    "min": _extreme(min),
    "oct": text.to_digits(oct),
    "ord": ascii_safe,
    "pow": power,
    "range": ranged,
    "repr": text.to_repr,
    "reversed": reverse,
    "round": rounded,
    "set": to_set,
    "sorted": order,
    "str": text.to_text,
    "sum": total,
    "tuple": to_tuple,
    "zip": zipped,
    **{name: _exact(name) for name in ("Decimal", "Fraction", "date", "datetime", "time", "timedelta")},
}

OF_REALS = (
    "acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees erf erfc exp exp2 expm1 fabs fma fmod frexp gamma"
    " hypot isclose isfinite isinf isnan isqrt ldexp lgamma log log10 log1p log2 modf nextafter pow radians remainder sin sinh"
    " sqrt tan tanh ulp"
)
_OF_SAMPLES = (
    "correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median median_grouped median_high"
    " median_low mode multimode pstdev pvariance quantiles stdev variance"
)

MODULES: dict[str, dict[str, Guard]] = {
    "math": {
        **{name: numeric(getattr(math, name)) for name in OF_REALS.split() if hasattr(math, name)},
        **{name: over_floats(getattr(math, name)) for name in ("dist", "fsum", "sumprod") if hasattr(math, name)},
        **{name: whole(getattr(math, name)) for name in ("ceil", "floor", "trunc")},
        "comb": combinations,
        "factorial": factorial,
        "gcd": common_divisor,
        "lcm": common_multiple,
        "perm": permutations,
        "prod": product_of,
    },
    "statistics": {name: _statistic(name) for name in _OF_SAMPLES.split() if name != "linear_regression"},
}

CONSTANTS: dict[str, dict[str, float]] = {"math": {name: getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")}}
