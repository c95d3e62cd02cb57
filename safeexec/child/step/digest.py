"""A number for all that a namespace holds: two processes whose namespaces came about in the same way have the same one.

No code of the program runs for it. Addresses, and what hangs on them, are no part of it; nor is what only C code knows
of an object of its own. It is for finding out whether steps that were done once more led to the same state.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, Final
from zlib import crc32

from safeexec.identity import (
    class_name,
    dict_of,
    identity,
    instance_dict,
    module_of,
    mro_of,
    qualname_of,
    read_member,
)

MOST: Final = 20_000
"""Objects that are looked at: the same ones in both processes. 1 us each."""
_PLAIN: Final = frozenset({int, float, complex, bool, str, bytes, bytearray, range, type(None), Decimal})
_ITEMS: Final = (list, tuple, set, frozenset, deque)
_CODE: Final = ("co_name", "co_firstlineno", "co_code", "co_names", "co_varnames", "co_freevars", "co_consts")


def digest(namespace: dict[str, Any], names: Iterable[str]) -> int:
    """The number for what these names are bound to."""
    walk = _Walk(namespace)
    number = 0
    for thing in walk.of([(name, namespace[name]) for name in names]):
        number = crc32(thing, number)
    return number


class _Walk:
    """Meets every object once; another time it is told by its place in the order."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._met = {identity(namespace): 0}
        self._kept: list[Any] = [namespace]

    def of(self, root: Any) -> Iterator[bytes]:
        """What there is to say of an object and all that it leads to."""
        waiting = [root]
        while waiting:
            thing = waiting.pop()
            kind = type(thing)
            if kind in _PLAIN:
                yield repr(thing).encode("utf-8", "surrogatepass")
                continue
            known = self._met.get(identity(thing))
            yield f"{qualname_of(kind)} {known}".encode("utf-8", "surrogatepass")
            if known is not None or len(self._met) > MOST:
                continue
            self._met[identity(thing)] = len(self._met)
            self._kept.append(thing)  # or what is made for the look could come to lie where another one lay
            waiting += _inside(thing, kind)


def _inside(thing: Any, kind: type) -> list[Any]:
    """What an object holds, in an order that hangs on no address."""
    if issubclass(kind, types.ModuleType):
        return [getattr(thing, "__name__", None)] if kind is types.ModuleType else []
    if issubclass(kind, type):
        if module_of(thing) != "__main__":
            return [class_name(thing)]
        return [pair for pair in dict_of(thing).items() if not isinstance(pair[1], types.GetSetDescriptorType)]
    if kind is types.FunctionType:
        cells = [_cell(cell) for cell in thing.__closure__ or ()]
        code = thing.__code__ if thing.__module__ == "__main__" else thing.__qualname__
        return [code, thing.__defaults__, thing.__kwdefaults__, thing.__dict__, *cells]
    if kind is types.CodeType:
        return [getattr(thing, name) for name in _CODE]
    if kind is types.MethodType:
        return [thing.__func__, thing.__self__]
    if kind is types.GeneratorType:
        frame = thing.gi_frame
        return [] if frame is None else [frame.f_lasti, *frame.f_locals.items()]
    if kind.__module__ == "array" or kind.__module__.partition(".")[0] == "numpy":
        return _bytes_of(thing)
    found: list[Any] = []
    if isinstance(thing, dict):
        found += dict.items(thing)
    else:
        for items in _ITEMS:
            if issubclass(kind, items):
                found += islice(items.__iter__(thing), MOST)
    if issubclass(kind, BaseException):
        found.append(BaseException.args.__get__(thing))  # type: ignore[attr-defined]
    found += instance_dict(thing).items()
    for klass in mro_of(kind):
        for name, member in dict_of(klass).items():
            if type(member) is types.MemberDescriptorType and klass.__flags__ & _HEAP_TYPE and name != "__weakref__":
                try:
                    found.append((name, read_member(member, thing)))
                except AttributeError:
                    continue
    return found


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it
        return None


def _bytes_of(array: Any) -> list[Any]:
    """What is in the memory of an array; nothing where that holds objects."""
    try:
        with memoryview(array) as memory:
            return [memory.format, list(memory.shape or ()), crc32(memory.tobytes())]
    except (TypeError, ValueError, BufferError):
        return []


_HEAP_TYPE: Final = 1 << 9
