"""The values that may take part in an expression, their weights, and the account that pays for each operation.

A guard computes a bound on the cost of an operation from its operands, takes it from the account, and only then runs
the operation, so the fuel bounds the work of the whole evaluation, the size of its results and the time that any single
C call holds the GIL. One unit stands for at most about 100 ns of work or 100 bytes of memory: an element of a
container, 16 characters of text, a product of two 180-bit integers.

Sizes are *expanded*: a list that holds the same list a thousand times counts it a thousand times, because comparing,
hashing and printing visit it a thousand times (`[[0] * 1000] * 1000` is a million, its memory is 16 KB).
"""

from __future__ import annotations

import sys

from safeexec.common.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Fuel = list[Any]
    """One account: what is left, and a dict for `operators.crowd`. A list is the cheapest cell to make and to pass."""
    Weigh = Callable[[Fuel, Any, int], int]

MAX_BITS = 1 << 16
"""The largest integer that an operation may produce: 65,536 bits, about 19,700 digits."""
MAX_DIGITS = 4300
"""The longest text that is read as a number; CPython's own default limit for int()."""

SMALL = 1 << 63
"""Integers below this magnitude are small: the fast path of a compiled expression takes them without a guard."""
INTEGERS = (int, bool)


class Refused(Exception):
    """An operation was refused before it ran; becomes an `ExpressionError` with a column."""


def spend(fuel: Fuel, units: int) -> None:
    """Take units from the account before the work is done; raises `Refused` when it does not hold so many."""
    left = fuel[0] - units
    if left < 0:
        raise Refused("the expression costs too much: this operation would go past max_steps")
    fuel[0] = left


def weight(number: int) -> int:
    """Return the bound for printing or converting an integer: quadratic in its bits."""
    bits = number.bit_length()
    return 1 if bits < 1024 else 1 + (bits >> 9) + (bits >> 10) ** 2


def limit_bits(total: int) -> int:
    """Return the cost of a product of that many bits; refuses one past the limit."""
    if total > MAX_BITS:
        size = f"about {total}" if total < 10**15 else "more than 10**15"
        raise Refused(f"the result would have {size} bits; integers are limited to {MAX_BITS} bits")
    return 1 + (total * total >> 17)


def power_bits(base: int, exponent: int) -> int:
    """Return the bits of base ** exponent, exponent >= 0, without computing it."""
    return 1 if -2 < base < 2 else base.bit_length() * exponent


MAX_DEPTH = 64
"""The deepest nesting of a container that is compared, hashed or printed."""
HASH_MODULUS = sys.hash_info.modulus


WEIGHTS: dict[type, Weigh] = {}
"""The exact types that an expression may hold, with what weighs an object of it: (fuel, object, depth) to units."""


def admit(value: Any) -> Any:
    """Return the value itself, if its exact type may take part in an expression."""
    kind = type(value)
    if kind in WEIGHTS:
        return value
    base = next((base.__name__ for base in kind.__mro__[1:] if base in WEIGHTS), None)
    unbounded = "its operations cannot be bounded; convert it to a number or a text, or run the code in a Sandbox"
    because = f"it is a subclass of {base}; convert it to {base} first" if base else unbounded
    raise Refused(f"a value of type {kind.__qualname__} may not take part in an expression: {because}")


def whole_number(value: Any) -> int:
    """Return the value itself, if it is an integer."""
    if type(value) not in INTEGERS:
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return value  # type: ignore[no-any-return]


def measure(fuel: Fuel, value: Any, depth: int = 0) -> int:
    """Spend the expanded size of the value and return it. Stops as soon as the fuel is gone."""
    weigh = WEIGHTS.get(type(value))
    if weigh is None:
        admit(value)
        weigh = WEIGHTS[type(value)]
    return weigh(fuel, value, depth)


PLAIN = frozenset({int, float, bool, str, type(None), complex})


def leaves(fuel: Fuel, value: Any, depth: int = 0) -> Any:
    """Return the value of an expression, after it has been walked in full: whoever prints, compares or stores it visits
    each part as often as it is held. Raises `Refused` for one that costs more than is left.
    """
    kind = type(value)
    if kind in PLAIN or kind not in WEIGHTS:
        spend(fuel, 1 + (len(value) >> 4) if kind is str else 1)
    elif kind in _WALKED:
        if depth >= MAX_DEPTH:
            raise Refused(f"a container is nested more than {MAX_DEPTH} deep, or holds itself")
        spend(fuel, 1 + (len(value) >> 2))  # to print a small number takes a quarter of a unit
        for part in (value, value.values()) if kind is dict else (value,):
            if not _FLAT.issuperset(map(type, part)):
                for item in part:
                    leaves(fuel, item, depth + 1)
    return value


_FLAT = frozenset({int, float, bool, type(None)})
_WALKED = frozenset({list, tuple, set, frozenset, dict})


def _constant(fuel: Fuel, value: object, depth: int) -> int:
    spend(fuel, 1)
    return 1


def _integer(fuel: Fuel, value: int, depth: int) -> int:
    units = weight(value)
    spend(fuel, units)
    return units


def _text(fuel: Fuel, value: str, depth: int) -> int:
    units = 1 + (len(value) >> 4)
    spend(fuel, units)
    return units


def _range(fuel: Fuel, value: range, depth: int) -> int:
    return sum(_integer(fuel, number, depth) for number in (value.start, value.stop, value.step))


def _sequence(fuel: Fuel, value: list[Any] | tuple[Any, ...], depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise Refused(f"a container is nested more than {MAX_DEPTH} deep, or holds itself")
    units = 1 + len(value)
    spend(fuel, units)
    if not bounded_numbers(value):
        for item in value:
            units += measure(fuel, item, depth + 1)
    return units


def _set(fuel: Fuel, value: set[Any] | frozenset[Any], depth: int) -> int:
    return _sequence(fuel, tuple(value), depth) + collisions(fuel, value)


def _dict(fuel: Fuel, value: dict[Any, Any], depth: int) -> int:
    units = _sequence(fuel, tuple(value.values()), depth) + _sequence(fuel, tuple(value), depth)
    return units + collisions(fuel, value)


WEIGHTS.update(
    {
        type(None): _constant,
        bool: _constant,
        float: _constant,
        complex: _constant,
        int: _integer,
        str: _text,
        range: _range,
        list: _sequence,
        tuple: _sequence,
        set: _set,
        frozenset: _set,
        dict: _dict,
    }
)

_NUMBERS = frozenset({int, float})
_FLOATS = frozenset({float})


def bounded_numbers(values: Iterable[Any]) -> bool:
    """Return whether all are exact floats and small integers; three passes in C."""
    kinds = set(map(type, values))
    if int not in kinds:
        return kinds <= _FLOATS
    if len(kinds) > 1:
        if kinds != _NUMBERS:
            return False
        values = [value for value in values if type(value) is int]  # a NaN would blind min() and max()
    return bool(max(values) < SMALL and min(values) > -SMALL)


_EVENLY_HASHED = frozenset({str, float, bool, type(None)})


def collisions(fuel: Fuel, keys: Iterable[Any]) -> int:
    """Spend the bound on what equal hashes cost when a table is made of these keys, whose weight is spent already.

    Strings are hashed with a secret key, and at most some 70 floats share a hash. Integers collide modulo 2**61 - 1,
    and complex numbers (k*1000003 - k*1j), tuples and frozensets can be made to. n keys of one hash cost n**2 / 2
    comparisons, each of the size of a key.
    """
    kinds = set(map(type, keys))
    if kinds <= _EVENLY_HASHED:
        return 0
    if kinds == {int} and max(keys) < HASH_MODULUS and min(keys) > -HASH_MODULUS:
        return 0
    groups: dict[int, list[Any]] = {}
    for key in keys:
        groups.setdefault(hash(key), []).append(key)
    units = sum(len(group) * measure(fuel, group) >> 2 for group in groups.values() if len(group) > 1)
    spend(fuel, units)
    return units
