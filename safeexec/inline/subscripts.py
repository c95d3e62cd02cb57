"""Subscripts and slices of text, lists, tuples, ranges and dicts."""

from __future__ import annotations

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline.costs import WEIGHTS, admit
from safeexec.inline.fuel import INTEGERS, Fuel, spend, weight
from safeexec.inline.operators import key

if TYPE_CHECKING:
    from typing import Any

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
