"""The account of one evaluation, and the limits of what a single operation may make.

A guard computes a bound on the cost of an operation from its operands, takes it from the account, and only then runs
the operation, so the fuel bounds the work of the whole evaluation, the size of its results and the time that any single
C call holds the GIL. One unit stands for at most about 100 ns of work or 100 bytes of memory: an element of a
container, 16 characters of text, a product of two 180-bit integers.
"""

from __future__ import annotations

from safeexec.common.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

Fuel = list[int]
"""One account: a list that holds what is left. A list because it is the cheapest mutable cell to make and to pass."""

MAX_BITS = 1 << 16
"""The largest integer that an operation may produce: 65,536 bits, about 19,700 digits."""
MAX_DIGITS = 4300
"""The longest text that is read as a number; CPython's own default limit for int()."""

SMALL = 1 << 63
"""Integers below this magnitude are small: the entry of a compiled expression accepts them without a guard."""
INTEGERS = (int, bool)


class Refused(Exception):
    """An operation was refused before it ran; becomes an `ExpressionError` with a column."""


def spend(fuel: Fuel, units: int) -> None:
    """Takes units from the account before the work is done; raises `Refused` when it does not hold so many."""
    left = fuel[0] - units
    if left < 0:
        raise Refused("the expression costs too much: this operation would go past max_steps")
    fuel[0] = left


def weight(number: int) -> int:
    """The bound for printing or converting an integer: quadratic in its bits."""
    bits = number.bit_length()
    return 1 if bits < 1024 else 1 + (bits >> 9) + (bits >> 10) ** 2


def notes(fuel: Fuel) -> dict[Any, Any]:
    """Return what one evaluation has found out about its values, kept beside what is left of its account."""
    if len(fuel) == 1:
        fuel.append({})  # type: ignore[arg-type]
    return fuel[1]  # type: ignore[return-value]


def limit_bits(total: int) -> int:
    """The cost of a product of that many bits; refuses one past the limit."""
    if total > MAX_BITS:
        size = f"about {total}" if total < 10**15 else "more than 10**15"
        raise Refused(f"the result would have {size} bits; integers are limited to {MAX_BITS} bits")
    return 1 + (total * total >> 17)


def power_bits(base: int, exponent: int) -> int:
    """Bits of base ** exponent, exponent >= 0, without computing it."""
    return 1 if -2 < base < 2 else base.bit_length() * exponent
