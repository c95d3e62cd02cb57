"""What an expression runs: a function `run(names, fuel)` per node, which calls those of its operands.

`names` are the caller's, or within a comprehension a dict of the names that it uses; `fuel` is the account. A `run`
that may fail has a parameter `at`, the node that an error shows: `safeexec.inline.report.failed` reads it from the
frame. Floats and integers of one digit of CPython's (30 bits) are computed at once: none of these operations costs
more than a node, and a loop has paid for its nodes. All other operands go through the guard of the operator.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.containers import each, unpacked
from safeexec.inline.costs import WEIGHTS, admit
from safeexec.inline.operators import FLAT, contains
from safeexec.inline.subscripts import item, part
from safeexec.inline.text import convert, formatted, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from safeexec.inline.fuel import Fuel

    Guard = Callable[..., Any]
    Apply = Callable[[Any, Any], Any]
    Names = Mapping[str, Any]
    Run = Callable[[Names, Fuel], Any]
    Clause = tuple[Run, tuple[str, ...], Run | None]

_MISSING = object()


# values


def constant(value: Any) -> Run:
    def run(names: Names, fuel: Fuel) -> Any:
        return value

    return run


def name(at: ast.expr, key: str) -> Run:
    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        value = names[key]
        return value if type(value) in WEIGHTS else admit(value)

    return run


def name_or(at: ast.expr, key: str, default: Any) -> Run:
    """A name that has a value of its own where none is given: `pi`."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        return admit(names[key]) if key in names else default

    return run


def spread(at: ast.expr, operand: Run) -> Run:
    """`*iterable` in a display or a call."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        return each(fuel, operand(names, fuel), 1)

    return run


def gathered(elements: Sequence[tuple[Run, bool]]) -> Run:
    """A list of the elements; of those with True, which are spread, their items."""
    if any(starred for _, starred in elements):

        def run(names: Names, fuel: Fuel) -> Any:
            values: list[Any] = []
            for element, starred in elements:
                if starred:
                    values.extend(element(names, fuel))
                else:
                    values.append(element(names, fuel))
            return values

        return run
    plain = [element for element, _ in elements]

    def gather(names: Names, fuel: Fuel) -> Any:
        return [element(names, fuel) for element in plain]

    return gather


def as_tuple(operand: Run) -> Run:
    def run(names: Names, fuel: Fuel) -> Any:
        return tuple(operand(names, fuel))

    return run


def dict_of(keys: list[Any], values: list[Run]) -> Run:
    """A dict display whose keys are constants."""

    def run(names: Names, fuel: Fuel) -> Any:
        return {key: value(names, fuel) for key, value in zip(keys, values, strict=True)}

    return run


def field(at: ast.expr, value: Run, conversion: int, spec: Run | None, plain: str | None) -> Run:
    """`{value!r:spec}` in an f-string; plain: the spec, if it is a constant with small widths."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        found = value(names, fuel)
        if plain is not None and (type(found) is float or (type(found) is int and -1073741823 < found < 1073741823)):
            return format(found, plain)
        return formatted(fuel, convert(fuel, found, conversion), spec(names, fuel) if spec else "")

    return run


def text_of(at: ast.expr, parts: list[Run]) -> Run:
    """An f-string."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        return joined(fuel, [part(names, fuel) for part in parts])

    return run


# operators


def guarded(at: ast.expr, guard: Guard, *operands: Run) -> Run:
    """An operator or a function of any values: its guard takes what it costs from the account, then runs it."""
    if len(operands) == 1:
        operand = operands[0]

        def one(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
            return guard(fuel, operand(names, fuel))

        return one
    if len(operands) == 2:
        left, right = operands

        def two(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
            return guard(fuel, left(names, fuel), right(names, fuel))

        return two

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        return guard(fuel, *[operand(names, fuel) for operand in operands])

    return run


def binary(at: ast.expr, apply: Apply, guard: Guard, left: Run, right: Run) -> Run:
    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        a = left(names, fuel)
        b = right(names, fuel)
        if (type(a) is float or (type(a) is int and -1073741823 < a < 1073741823)) and (
            type(b) is float or (type(b) is int and -1073741823 < b < 1073741823)
        ):
            return apply(a, b)
        return guard(fuel, a, b)

    return run


def binary_of_names(at: ast.expr, apply: Apply, guard: Guard, left: str, right: str) -> Run:
    """`x * y` without a closure for each name: half the time."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        a = names[left]
        b = names[right]
        if (type(a) is float or (type(a) is int and -1073741823 < a < 1073741823)) and (
            type(b) is float or (type(b) is int and -1073741823 < b < 1073741823)
        ):
            return apply(a, b)
        return guard(fuel, a, b)

    return run


def binary_with_number(at: ast.expr, apply: Apply, guard: Guard, left: Run, number: float) -> Run:
    """`… * 2`: the number is a float or of 30 bits."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        a = left(names, fuel)
        if type(a) is float or (type(a) is int and -1073741823 < a < 1073741823):
            return apply(a, number)
        return guard(fuel, a, number)

    return run


def binary_of_name_with_number(at: ast.expr, apply: Apply, guard: Guard, left: str, number: float) -> Run:
    """`x * 2`."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        a = names[left]
        if type(a) is float or (type(a) is int and -1073741823 < a < 1073741823):
            return apply(a, number)
        return guard(fuel, a, number)

    return run


def swapped(guard: Guard) -> Guard:
    def run(fuel: Fuel, right: Any, left: Any) -> Any:
        return guard(fuel, left, right)

    return run


def chained(at: ast.expr, first: Run, links: list[tuple[Apply | None, Guard, Run]]) -> Run:
    """`a < b < c`: each operand is computed once, and only while all before it hold."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        a = first(names, fuel)
        result: Any = True
        for apply, guard, operand in links:
            b = operand(names, fuel)
            if (
                apply is not None
                and (type(a) is float or (type(a) is int and -1073741823 < a < 1073741823))
                and (type(b) is float or (type(b) is int and -1073741823 < b < 1073741823))
            ):
                result = apply(a, b)
            else:
                result = guard(fuel, a, b)
            if not result:
                return result
            a = b
        return result

    return run


def among(at: ast.expr, left: Run, table: Any, negated: bool) -> Run:
    """`x in ("a", "b")`, a display of constants: what is compared is bounded by the source."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        value = left(names, fuel)
        found = value in table if type(value) in FLAT else contains(fuel, value, table)
        return found is not negated

    return run


def inverted(operand: Run) -> Run:
    def run(names: Names, fuel: Fuel) -> Any:
        return not operand(names, fuel)

    return run


def all_of(operands: list[Run]) -> Run:
    """`a and b`: the first that is false, or the last."""
    if len(operands) == 2:
        first, second = operands

        def both(names: Names, fuel: Fuel) -> Any:
            return first(names, fuel) and second(names, fuel)

        return both

    def run(names: Names, fuel: Fuel) -> Any:
        value: Any = True
        for operand in operands:
            value = operand(names, fuel)
            if not value:
                break
        return value

    return run


def any_of(operands: list[Run]) -> Run:
    """`a or b`: the first that is true, or the last."""

    def run(names: Names, fuel: Fuel) -> Any:
        value: Any = False
        for operand in operands:
            value = operand(names, fuel)
            if value:
                break
        return value

    return run


def conditional(test: Run, body: Run, orelse: Run) -> Run:
    def run(names: Names, fuel: Fuel) -> Any:
        return body(names, fuel) if test(names, fuel) else orelse(names, fuel)

    return run


# subscripts


def item_of_text(at: ast.expr, container: Run, key: str) -> Run:
    """`order["total"]`, a short constant: of a dict it costs no more than a node."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        found = container(names, fuel)
        if type(found) is dict:
            value = found.get(key, _MISSING)
            if type(value) in WEIGHTS:
                return value
        return item(fuel, found, key)

    return run


def item_of_number(at: ast.expr, container: Run, index: int) -> Run:
    """`xs[-1]`, a constant."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        found = container(names, fuel)
        if type(found) is list or type(found) is tuple:
            value = found[index]
            if type(value) in WEIGHTS:
                return value
        return item(fuel, found, index)

    return run


def slice_of(at: ast.expr, container: Run, bounds: list[Run]) -> Run:
    return guarded(at, part, container, *bounds)


# calls


def call(at: ast.expr, guard: Guard, arguments: Run, options: list[tuple[str, Run]]) -> Run:
    """A call with starred arguments or with keywords."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        values = arguments(names, fuel)
        return guard(fuel, *values, **{key: option(names, fuel) for key, option in options})

    return run


# comprehensions


def paid(at: ast.expr, iterable: Run, names_bound: int, price: int) -> Run:
    """The container of a loop. All rounds are paid for before the first one: its length times the price of a round."""
    guard = each if names_bound == 1 else unpacked

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        return guard(fuel, iterable(names, fuel), price)

    return run


def paid_rows(at: ast.expr, iterables: Run, price: int) -> Run:
    """`zip(...)` as the container of a loop: its rows are paid for and their items checked, so it can stay lazy."""

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        found = iterables(names, fuel)
        for iterable in found:
            each(fuel, iterable, price)
        return zip(*found, strict=False)

    return run


def listed(at: ast.expr, element: Run, clauses: list[Clause], uses: dict[str, None]) -> Run:
    """A list comprehension. `uses` are the names that it reads and does not bind."""
    if len(clauses) == 1 and len(clauses[0][1]) == 1:
        rows, (target,), test = clauses[0]

        def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
            found = rows(names, fuel)
            scope: dict[str, Any] = {key: names[key] for key in uses if key in names}
            if test is None:
                return [element(scope, fuel) for scope[target] in found]
            return [element(scope, fuel) for scope[target] in found if test(scope, fuel)]

        return run
    every = generated(at, element, clauses, uses)

    def run_all(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        return list(every(names, fuel))

    return run_all


def generated(at: ast.expr, element: Run, clauses: list[Clause], uses: dict[str, None]) -> Run:
    """The argument of `any(… for …)`: its rounds are paid for when it begins, and run as far as they are needed."""

    def rounds(scope: dict[str, Any], fuel: Fuel, rows: Any, depth: int) -> Iterator[Any]:
        _, targets, test = clauses[depth]
        for row in rows:
            if len(targets) == 1:
                scope[targets[0]] = row
            elif len(targets) == 2:
                scope[targets[0]], scope[targets[1]] = row
            else:
                bind(scope, targets, row)
            if test is not None and not test(scope, fuel):
                continue
            if depth + 1 == len(clauses):
                yield element(scope, fuel)
            else:
                yield from rounds(scope, fuel, clauses[depth + 1][0](scope, fuel), depth + 1)

    def run(names: Names, fuel: Fuel, at: ast.expr = at) -> Any:
        rows = clauses[0][0](names, fuel)
        return rounds({key: names[key] for key in uses if key in names}, fuel, rows, 0)

    return run


def bind(scope: dict[str, Any], targets: tuple[str, ...], row: Any) -> None:
    """`for a, b, c in …`; errors in CPython's words."""
    if len(row) != len(targets):
        wanted = f"expected {len(targets)}"
        few = len(row) < len(targets)
        raise ValueError(
            f"not enough values to unpack ({wanted}, got {len(row)})"
            if few
            else f"too many values to unpack ({wanted})"
        )
    scope.update(zip(targets, row, strict=True))
