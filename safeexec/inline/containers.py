"""Guards of subscripts, slices and the builtins for containers: each spends its items, times what one costs.

A container that is walked has a known length, so a walk is paid for before it begins. Builtins that are lazy in Python
(`zip`, `enumerate`, `reversed`) give lists here.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.costs import (
    INTEGERS,
    SMALL,
    WEIGHTS,
    admit,
    bounded_numbers,
    collisions,
    measure,
    spend,
    weight,
    whole_number,
)
from safeexec.inline.operators import GUARDS, key, span

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from safeexec.inline.costs import Fuel

    Guard = Callable[..., Any]

_NEW_DICT = 4
_EMPTY_SET = 2
"""Units: 216 bytes."""
_add = GUARDS[ast.Add]
_SIZED = (list, tuple, str, dict, set, frozenset)


def items(fuel: Fuel, iterable: Any, per_item: int = 1) -> Any:
    """Return the iterable, if its length is known; spend its length times per_item."""
    kind = type(iterable)
    if kind in _SIZED:
        spend(fuel, len(iterable) * per_item)
    elif kind is range:
        spend(fuel, span(iterable) * per_item)
    else:
        raise TypeError(f"'{type(admit(iterable)).__name__}' object is not iterable")
    return iterable


def each(fuel: Fuel, iterable: Any, per_item: int) -> Any:
    """Return what a loop walks over: the steps of its body are spent in advance, the types of its items are checked."""
    items(fuel, iterable, per_item)
    if type(iterable) not in (range, str):
        for kind in set(map(type, iterable)):
            if kind not in WEIGHTS:
                admit(next(item for item in iterable if type(item) is kind))
    return iterable


def unpacked(fuel: Fuel, iterable: Any, per_item: int) -> Any:
    """Return as `each`, for `for a, b in iterable`: the items are containers, and their items are checked as well."""
    for item in each(fuel, iterable, per_item):
        if type(item) not in _SIZED and type(item) is not range:
            raise TypeError(f"cannot unpack non-iterable {type(item).__name__} object")
        each(fuel, item, 1)
    return iterable


def of_items(kind: type) -> Guard:
    """list() and tuple()."""
    return lambda fuel, *args: kind(*[items(fuel, arg) for arg in args])


def _hashed(fuel: Fuel, keys: Any) -> Any:
    measure(fuel, list(items(fuel, keys)))
    collisions(fuel, keys)
    return keys


def _of_keys(kind: type) -> Guard:
    def guard(fuel: Fuel, *args: Any) -> Any:
        spend(fuel, _EMPTY_SET)
        return kind(*[_hashed(fuel, arg) for arg in args])

    return guard


to_set, to_frozenset = _of_keys(set), _of_keys(frozenset)


def to_dict(fuel: Fuel, /, *args: Any, **options: Any) -> dict[Any, Any]:
    """`dict(pairs)`; dict displays and comprehensions come here too, as a list of pairs."""
    spend(fuel, _NEW_DICT)
    if len(args) == 1 and type(args[0]) is not dict:
        for pair in unpacked(fuel, args[0], 1):
            if len(pair) != 2:
                raise ValueError(f"a pair of a dict must have 2 items, not {len(pair)}")
        _hashed(fuel, [next(iter(pair)) for pair in args[0]])
    elif args:
        _hashed(fuel, args[0])
    return dict(*args, **options)


def pairs(fuel: Fuel, mapping: Any) -> Any:
    """`**mapping` in a dict display."""
    if type(mapping) is not dict:
        raise TypeError(f"'{type(admit(mapping)).__name__}' object is not a mapping")
    return items(fuel, mapping).items()


def zipped(fuel: Fuel, *args: Any, **options: Any) -> list[Any]:
    return list(zip(*[items(fuel, arg, 2) for arg in args], **options))  # noqa: B905  strict= is an option


def enumerated(fuel: Fuel, iterable: Any, start: Any = 0) -> list[Any]:
    return list(enumerate(items(fuel, iterable, 3 * weight(whole_number(start))), start))


def reverse(fuel: Fuel, iterable: Any) -> list[Any]:
    return list(reversed(items(fuel, iterable)))


def ranged(fuel: Fuel, *args: Any) -> range:
    """Making a range costs nothing: whatever walks over it spends its length."""
    for arg in args:
        spend(fuel, weight(whole_number(arg)))
    return range(*args)


def length(fuel: Fuel, container: Any) -> int:
    return len(container if type(container) in _SIZED else admit(container))


def order(fuel: Fuel, iterable: Any, *, reverse: Any = False) -> list[Any]:
    """`sorted(iterable)`: each item is compared about 2 log2(n) times, and a comparison costs at most its size."""
    values = list(items(fuel, iterable))
    spend(fuel, measure(fuel, values) * 2 * len(values).bit_length() >> 2)
    return sorted(values, reverse=admit(reverse))


def _is_small(value: Any) -> bool:
    return type(value) is float or (type(value) is int and -SMALL < value < SMALL)


def extreme(function: Callable[..., Any]) -> Guard:
    def guard(fuel: Fuel, *args: Any, **options: Any) -> Any:
        if len(args) == 2 and not options and _is_small(args[0]) and _is_small(args[1]):
            return function(*args)
        if options.keys() - {"default"}:
            raise TypeError(
                f"{function.__name__}() takes only default= by keyword here; write a comprehension for a key"
            )
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
    if (
        type(values) is not dict
        and type(start) in (int, float)
        and bounded_numbers(values)
        and bounded_numbers((start,))
    ):
        return sum(values, start)
    for value in each(fuel, values, 1):
        start = _add(fuel, start, value)
    return start


def truths(function: Callable[[Any], bool]) -> Guard:
    """any() and all(): over a container, or over the generator of a comprehension that has been paid for."""

    def guard(fuel: Fuel, values: Any) -> bool:
        if type(values).__name__ != "generator":
            each(fuel, values, 1)
        return function(values)

    return guard


def join(fuel: Fuel, separator: Any, parts: Any) -> str:
    """`join(separator, parts)`: what `separator.join(parts)` does; methods are not available in expressions."""
    if type(separator) is not str or set(map(type, items(fuel, parts))) - {str}:
        raise TypeError("join() takes a text and a container of texts")
    spend(fuel, len(separator) * len(parts) + sum(map(len, parts)) >> 4)
    return separator.join(parts)


_INDEXED = (list, tuple, str, range)
_MISSING = object()
_SHORT = 64
"""Characters of a key that is looked up for no more than a node."""


def item(fuel: Fuel, container: Any, index: Any) -> Any:
    """`container[index]`; what comes out is admitted by its exact type like everything else."""
    kind = type(container)
    if type(index) is int and (kind is list or kind is tuple):
        fuel[0] -= 1
    elif kind is dict:
        if type(index) is str and len(index) <= _SHORT and type(found := container.get(index, _MISSING)) in WEIGHTS:
            return found
        key(fuel, index, container)
    elif kind not in _INDEXED:
        raise TypeError(f"'{type(admit(container)).__name__}' object is not subscriptable")
    elif type(index) not in INTEGERS:
        raise TypeError(f"{kind.__name__} indices must be integers or slices, not {type(admit(index)).__name__}")
    else:
        spend(fuel, 1 if kind is not range else weight(container.start) + weight(container.stop))
    value = container[index]
    return value if type(value) in WEIGHTS else admit(value)


def part(fuel: Fuel, container: Any, start: Any, stop: Any, step: Any) -> Any:
    """`container[start:stop:step]`: costs the length of the result."""
    kind = type(container)
    if kind not in _INDEXED:
        raise TypeError(f"'{type(admit(container)).__name__}' object cannot be sliced")
    for bound in (start, stop, step):
        if bound is not None and type(bound) not in INTEGERS:
            raise TypeError("slice indices must be integers or None or have an __index__ method")
    window = slice(start, stop, step)
    if kind is range:
        spend(fuel, 1 + weight(container.start) + weight(container.stop))
    else:
        length = len(range(*window.indices(len(container))))
        spend(fuel, 1 + (length >> 4 if kind is str and step in (None, 1) else length))
    return container[window]
