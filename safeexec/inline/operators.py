"""The operators: for each one, the exact operand types that it accepts and what it may cost for them.

`BINARY` has a row per operator: its symbol, the function that runs it, and what it costs by the types of its operands
(`costs[left type, right type]`), in units: a number, or a function of fuel and operands which returns one or raises
`Refused`. A pair that is not in the table is a TypeError in CPython's words. `GUARDS` holds, per AST operator, the
function that looks up, spends and then runs it.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms
import operator

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.costs import (
    INTEGERS,
    WEIGHTS,
    Refused,
    admit,
    collisions,
    limit_bits,
    measure,
    power_bits,
    spend,
    weight,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from safeexec.inline.costs import Fuel

    Apply = Callable[[Any, Any], Any]
    Cost = int | Callable[[Fuel, Any, Any], int]
    Guard = Callable[[Fuel, Any, Any], Any]

REALS = (int, bool, float)
NUMBERS = (int, bool, float, complex)


def _linear(fuel: Fuel, left: int, right: int) -> int:
    return 1 + (left.bit_length() + right.bit_length() >> 9)


def _product(fuel: Fuel, left: int, right: int) -> int:
    bits = left.bit_length() + right.bit_length()
    return 1 if bits < 512 else limit_bits(bits)


def _quotient(fuel: Fuel, left: int, right: int) -> int:
    bits = left.bit_length()
    return 1 + (bits * right.bit_length() >> 15) + (bits >> 12)


def power_cost(fuel: Fuel, base: int, exponent: int) -> int:
    if 0 <= exponent < 64 and -64 < base < 64:
        return 1
    return 1 if exponent < 0 else limit_bits(power_bits(base, exponent)) + weight(exponent)


def _shift(fuel: Fuel, left: int, right: int) -> int:
    return 1 if right < 0 or not left else limit_bits(left.bit_length() + right)


def _concatenation(fuel: Fuel, left: Any, right: Any) -> int:
    return 1 + len(left) + len(right)


def _text_concatenation(fuel: Fuel, left: str, right: str) -> int:
    return 1 + (len(left) + len(right) >> 4)


def _repetition(fuel: Fuel, left: Any, right: Any) -> int:
    return 1 + max(0, left * len(right) if isinstance(left, int) else right * len(left))


def _text_repetition(fuel: Fuel, left: Any, right: Any) -> int:
    return 1 + (_repetition(fuel, left, right) >> 4)


def _template(fuel: Fuel, left: str, right: Any) -> int:
    raise Refused("% does not format texts here: write an f-string, f'{x:.2f}'")


def _merge(fuel: Fuel, left: Any, right: Any) -> int:
    measure(fuel, left)
    measure(fuel, right)
    collisions(fuel, [*left, *right])
    return 1


def expanded(fuel: Fuel, left: Any, right: Any) -> int:
    """Return the cost of comparing both operands in full."""
    return measure(fuel, left) + measure(fuel, right) >> 1


def _numeric(cost: Cost, types: tuple[type, ...] = REALS) -> dict[tuple[type, type], Cost]:
    """Return one cost for each pair of integers; pairs with a float are one machine operation (or an OverflowError)."""
    return {(a, b): 1 if {a, b} & {float, complex} else cost for a in types for b in types}


def _pairs(cost: Cost, lefts: Iterable[type], rights: Iterable[type]) -> dict[tuple[type, type], Cost]:
    return {(a, b): cost for a in lefts for b in rights}


_SETS = (set, frozenset)
_REPEATED = {
    **_pairs(_repetition, INTEGERS, (list, tuple)),
    **_pairs(_repetition, (list, tuple), INTEGERS),
    **_pairs(_text_repetition, INTEGERS, (str,)),
    **_pairs(_text_repetition, (str,), INTEGERS),
}
_SET_OPERATIONS = _pairs(_merge, _SETS, _SETS)
_BITWISE = {**_numeric(_linear, INTEGERS), **_SET_OPERATIONS}
_ORDERED = {
    **_numeric(_linear),
    **_pairs(expanded, _SETS, _SETS),
    (str, str): _text_concatenation,
    (list, list): expanded,
    (tuple, tuple): expanded,
}

BINARY: dict[type[ast.AST], tuple[str, Apply, dict[tuple[type, type], Cost]]] = {
    ast.Add: (
        "+",
        operator.add,
        {
            **_numeric(_linear, NUMBERS),
            (str, str): _text_concatenation,
            (list, list): _concatenation,
            (tuple, tuple): _concatenation,
        },
    ),
    ast.Sub: ("-", operator.sub, {**_numeric(_linear, NUMBERS), **_SET_OPERATIONS}),
    ast.Mult: ("*", operator.mul, {**_numeric(_product, NUMBERS), **_REPEATED}),
    ast.Div: ("/", operator.truediv, _numeric(_linear, NUMBERS)),
    ast.FloorDiv: ("//", operator.floordiv, _numeric(_quotient)),
    ast.Mod: ("%", operator.mod, {**_numeric(_quotient), **_pairs(_template, (str,), WEIGHTS)}),
    ast.Pow: ("**", operator.pow, _numeric(power_cost, NUMBERS)),
    ast.LShift: ("<<", operator.lshift, _numeric(_shift, INTEGERS)),
    ast.RShift: (">>", operator.rshift, _numeric(_linear, INTEGERS)),
    ast.BitAnd: ("&", operator.and_, _BITWISE),
    ast.BitOr: ("|", operator.or_, {**_BITWISE, (dict, dict): _merge}),
    ast.BitXor: ("^", operator.xor, _BITWISE),
    ast.Lt: ("<", operator.lt, _ORDERED),
    ast.LtE: ("<=", operator.le, _ORDERED),
    ast.Gt: (">", operator.gt, _ORDERED),
    ast.GtE: (">=", operator.ge, _ORDERED),
}


_GROWING = (ast.Pow, ast.LShift)
"""Operators of which small operands may make a large result."""
SHORT = 64
"""Texts of so many characters together are joined and compared for one unit, without a look at the table."""


def _quick(apply: Apply, guard: Guard) -> Guard:
    """Return an operator that costs no more than a node for floats and integers of one digit of CPython's (30 bits),
    for which a loop has paid; all others go through the guard.
    """

    def run(fuel: Fuel, left: Any, right: Any) -> Any:
        if (type(left) is float or (type(left) is int and -1073741823 < left < 1073741823)) and (
            type(right) is float or (type(right) is int and -1073741823 < right < 1073741823)
        ):
            return apply(left, right)
        return guard(fuel, left, right)

    return run


def _guard(kind: type[ast.AST]) -> Guard:
    symbol, apply, table = BINARY[kind]
    of_texts = (str, str) in table and kind is not ast.Mod

    def guard(fuel: Fuel, left: Any, right: Any) -> Any:
        if of_texts and type(left) is str and type(right) is str and len(left) + len(right) <= SHORT:
            fuel[0] -= 1
            return apply(left, right)
        cost = table.get((type(left), type(right)))
        if cost is None:
            raise TypeError(_unsupported(symbol, admit(left), admit(right)))
        units = cost if isinstance(cost, int) else cost(fuel, left, right)
        left_over = fuel[0] - units
        if left_over < 0:
            spend(fuel, units)
        fuel[0] = left_over
        return apply(left, right)

    return guard if kind in _GROWING else _quick(apply, guard)


def _unsupported(symbol: str, left: object, right: object) -> str:
    a, b = type(left).__name__, type(right).__name__
    if symbol[0] in "<>" and symbol not in ("<<", ">>"):
        return f"'{symbol}' not supported between instances of '{a}' and '{b}'"
    symbol = "** or pow()" if symbol == "**" else symbol
    return f"unsupported operand type(s) for {symbol}: '{a}' and '{b}'"


_FEW = 9
FLAT = frozenset({int, bool, float, str, type(None)})


def equal(fuel: Fuel, left: Any, right: Any) -> Any:
    """`==` for any two values."""
    if type(left) is str and type(right) is str and len(left) + len(right) <= SHORT:
        fuel[0] -= 1
    elif type(left) not in FLAT or type(right) not in FLAT:
        spend(fuel, expanded(fuel, left, right))
    else:
        spend(fuel, 1 if type(left) is not str or type(right) is not str else 1 + (len(left) >> 4))
    return left == right


def contains(fuel: Fuel, item: Any, container: Any) -> bool:
    """`in`. Text is searched in at most length * 128 steps; a range is walked for what is no integer."""
    kind = type(container)
    if kind is str:
        if type(item) is str:
            spend(fuel, 1 + (len(container) * min(1 + len(item), 128) >> 8))
    elif kind is range:
        spend(fuel, measure(fuel, item) + (1 if type(item) in INTEGERS else span(container)))
    elif kind is list or kind is tuple:
        if type(item) in FLAT and FLAT.issuperset(map(type, container)):
            units = 1 + (len(item) >> 4) if type(item) is str else weight(item) if type(item) is int else 1
            spend(fuel, units * (1 + len(container)))
        else:
            spend(fuel, measure(fuel, item))
            measure(fuel, container)
    elif kind in (set, frozenset, dict):
        key(fuel, item, container)
    else:
        raise TypeError(f"argument of type '{kind.__name__}' is not iterable")
    return item in container


def key(fuel: Fuel, item: Any, table: Any) -> None:
    """Spend what it costs to look up the item in a dict or set: its own size, and all keys that may share its hash.

    What the caller's own classes do as keys (`__eq__`, where the hashes are equal) is the caller's affair: a look-up
    that checked the types of all keys first would cost their number.
    """
    if type(item) is str:
        spend(fuel, len(item) >> 6)  # hashed once, but compared with an equal key each time
        return
    units = measure(fuel, item)
    if type(item) is not int or units > 1:
        spend(fuel, units * (len(table) >> 4))
    elif len(table) > _FEW:
        spend(fuel, crowd(fuel, table) >> 2)


def crowd(fuel: Fuel, table: Any) -> int:
    """Return the most keys of the table that share one hash. Counted once in an evaluation."""
    counted: dict[int, tuple[Any, int]] = fuel[1]
    found = counted.get(id(table))
    if found is None:
        spend(fuel, 1 + len(table))
        found = counted[id(table)] = (table, _most_of_one_hash(table))  # which keeps the table, and so its id
    return found[1]


def _most_of_one_hash(table: Any) -> int:
    kinds = set(map(type, table))
    if not kinds <= FLAT:
        return len(table)  # hashing the keys again may cost more than looking at them
    if int not in kinds:
        return 1
    counts: dict[int, int] = {}
    for number in map(hash, table):
        counts[number] = counts.get(number, 0) + 1
    return max(counts.values())


def span(numbers: range) -> int:
    """Return the length of a range, also where `len` overflows, times the weight of its widest number."""
    length = max(0, (numbers.stop - numbers.start + numbers.step - (1 if numbers.step > 0 else -1)) // numbers.step)
    return length * max(weight(numbers.start), weight(numbers.stop))


def _unary(symbol: str, apply: Callable[[Any], Any], kinds: tuple[type, ...]) -> Callable[[Fuel, Any], Any]:
    def guard(fuel: Fuel, value: Any) -> Any:
        if type(value) not in kinds:
            raise TypeError(f"bad operand type for unary {symbol}: '{type(admit(value)).__name__}'")
        spend(fuel, measure(fuel, value))
        return apply(value)

    return guard


def _invert(value: int) -> int:
    """`~value`; of a bool without the DeprecationWarning of 3.12, which is not for the host's stderr."""
    return ~int(value)


absolute = _unary("abs()", abs, NUMBERS)

GUARDS: dict[type[ast.AST], Callable[..., Any]] = {
    **{kind: _guard(kind) for kind in BINARY},
    ast.Is: lambda fuel, left, right: left is right,
    ast.IsNot: lambda fuel, left, right: left is not right,
    ast.Eq: _quick(operator.eq, equal),
    ast.NotEq: _quick(operator.ne, lambda fuel, left, right: not equal(fuel, left, right)),
    ast.In: contains,
    ast.NotIn: lambda fuel, item, container: not contains(fuel, item, container),
    ast.USub: _unary("-", operator.neg, NUMBERS),
    ast.UAdd: _unary("+", operator.pos, NUMBERS),
    ast.Invert: _unary("~", _invert, INTEGERS),
}


small_power = _quick(operator.pow, GUARDS[ast.Pow])
"""A power whose exponent is a small constant."""


def exclusive_or(fuel: Fuel, left: Any, right: Any) -> Any:
    """`^`: of sets and bools as ever. Of two integers it is meant as a power, which it is not."""
    if type(left) is int and type(right) is int:
        meant = f"{left} ** {right}" if max(abs(left), abs(right)) < 10**9 else "2 ** 10"
        raise Refused(f"^ is not a power but an exclusive or: use ** ({meant})")
    return GUARDS[ast.BitXor](fuel, left, right)


def chained(fuel: Fuel, first: Any, *links: Any) -> Any:
    """`a < b < c`, as guards and functions of no argument that give the operands: each is computed once, and only while
    all before it hold.
    """
    left, result = first, True
    for guard, operand in zip(links[::2], links[1::2], strict=True):
        right = operand()
        result = guard(fuel, left, right)
        if not result:
            break
        left = right
    return result
