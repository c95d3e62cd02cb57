"""Looks at an object without running its code, and without an audit event.

`identity(value)` is a number that no other living object has, as `id` gives. `id` raises ``builtins.id``, and a process
that listens to audit events, as a child does, pays 0.4 us for each: 50 us a step in a namespace of 60 names. The hash
that every object inherits is its address, rotated (`_Py_HashPointer`).

A class is asked by the descriptors of `type`, as its metaclass may answer for its attributes. `weight` says about how
large a value is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, TracebackType

from safeexec.common.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

identity: Callable[[Any], int] = object.__hash__

_name: Callable[[type], str] = type.__dict__["__name__"].__get__
_qualname: Callable[[type], str] = type.__dict__["__qualname__"].__get__
module_of: Callable[[type], Any] = type.__dict__["__module__"].__get__
mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
dict_of: Callable[[type], dict[str, Any]] = type.__dict__["__dict__"].__get__
dict_of_module: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__
flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
HEAP_TYPE = 1 << 9
"""The flag of a class that Python code has made (`Py_TPFLAGS_HEAPTYPE`)."""

object_of: Callable[[Any], Any] = vars(AttributeError)["obj"].__get__
"""``error.obj``, whatever a class derived from AttributeError says it is."""

# Of an exception, whatever its class says.
args_of: Callable[[BaseException], tuple[Any, ...]] = vars(BaseException)["args"].__get__
traceback_of: Callable[[BaseException], TracebackType | None] = vars(BaseException)["__traceback__"].__get__
cause_of: Callable[[BaseException], BaseException | None] = vars(BaseException)["__cause__"].__get__
context_of: Callable[[BaseException], BaseException | None] = vars(BaseException)["__context__"].__get__
members_of: Callable[[Any], tuple[BaseException, ...]] = vars(BaseExceptionGroup)["exceptions"].__get__

# The `__get__` of descriptors, as it is before a program's call of it is judged.
read_member: Callable[[Any, Any], Any] = MemberDescriptorType.__dict__["__get__"]
read_getset: Callable[[Any, Any], Any] = GetSetDescriptorType.__dict__["__get__"]


def class_name(kind: type) -> str:
    """Return ``__name__`` of a class, whatever its metaclass says: a plain `str`, though it was set to another text."""
    return str.__str__(_name(kind))


def qualname_of(kind: type) -> str:
    """Return ``__qualname__``, in the same way."""
    return str.__str__(_qualname(kind))


def exact(name: Any) -> Any:
    """Return `name` as an exact `str` if it is any kind of string, else as it is, for CPython's own TypeError."""
    return str.__str__(name) if isinstance(name, str) and type(name) is not str else name


def instance_dict(value: Any) -> dict[Any, Any]:
    """Return the dict of the object itself, whatever its class or a proxy says is one."""
    for klass in mro_of(type(value)):
        descriptor: Any = dict_of(klass).get("__dict__")
        if type(descriptor) is GetSetDescriptorType:
            found = read_getset(descriptor, value)
            return found if type(found) is dict else {}
    return {}


def entries_of(error: BaseException) -> Iterator[TracebackType]:
    """Yield the entries of the traceback of an exception, outermost first."""
    entry = traceback_of(error)
    while entry is not None:
        yield entry
        entry = entry.tb_next


def chained(error: BaseException, most: int) -> Iterator[BaseException]:
    """Yield an exception and those that it is chained to or made of, up to so many."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < most:
        one = waiting.pop()
        if identity(one) in seen:
            continue
        seen.add(identity(one))
        yield one
        waiting += [link for link in (cause_of(one), context_of(one)) if link is not None]
        if issubclass(type(one), BaseExceptionGroup):
            waiting += members_of(one)[:most]


# How large it is

AT_ONCE = 4096
"""So many bytes, or parts of a value, are dealt with where they are; more in a thread, which costs 0.14 ms. 4096 parts
hold an event loop for 8 ms where they are written as JSON (dicts of one key), for 2 to 8 ms where they are packed, for
2 ms where they come from a child; JSON of so many bytes is read in 0.03 ms. Eight times as much took 11 to 70 ms.
"""
LARGE = AT_ONCE + 1
"""Stands for a size that nobody knows, or that does not bound the time it takes."""


def weight(value: Any) -> int:
    """Return about how large a value of the host is: its items, the characters of its texts, the words of its ints (to
    write 18 of 4000 digits takes 7 ms). What is nothing of Python's own (an array, a frame) counts as large; beyond
    `AT_ONCE` it counts no further.
    """
    size, left = 1, [value]
    while left and size <= AT_ONCE:
        item = left.pop()
        kind = type(item)
        if kind is int:
            size += item.bit_length() >> 6
            continue
        if kind in _SCALARS:
            continue
        if kind not in _SIZED:
            return LARGE
        size += 2 * len(item) if kind is dict else len(item)
        if kind in _TEXTS or size > AT_ONCE:
            continue
        left += item
        if kind is dict:
            left += item.values()
    return size


_SCALARS = (float, bool, type(None), complex)
_TEXTS = (str, bytes, bytearray)
_SIZED = (*_TEXTS, list, tuple, set, frozenset, dict)
