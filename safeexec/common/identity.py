"""Looks at an object without running its code, and without an audit event.

`identity(value)` is a number that no other living object has, as `id` gives. `id` raises ``builtins.id``, and a process
that listens to audit events, as a child does, pays 0.4 us for each: 50 us a step in a namespace of 60 names. The hash
that every object inherits is its address, rotated (`_Py_HashPointer`).

A class is asked by the descriptors of `type`, as its metaclass may answer for its attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, TracebackType
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
