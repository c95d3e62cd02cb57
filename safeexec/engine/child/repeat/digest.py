"""The state that all steps of a session led to, as a number: two processes whose namespaces came about in the same way
have the same one. No code of the program runs for it. Addresses are no part of it; nor is what only C code knows of an
object of its own.
"""

from __future__ import annotations

import marshal
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final
from zlib import crc32

from safeexec.common.identity import (
    HEAP_TYPE,
    class_name,
    dict_of,
    flags_of,
    identity,
    instance_dict,
    module_of,
    mro_of,
    qualname_of,
    read_member,
)
from safeexec.engine.child.repeat.objects import builtins_of

MOST: Final = 2000
"""Objects that are looked at, the same ones in both processes: 1 us each."""
CHARACTERS: Final = 4096
"""The most characters of a text or of bytes; of a longer one, or a longer number, its size counts."""
_PLAIN: Final = frozenset({int, float, complex, bool, str, bytes, type(None)})
_ITEMS: Final = (list, tuple, set, frozenset, deque)
_CODE: Final = ("co_name", "co_firstlineno", "co_code", "co_names", "co_varnames", "co_freevars", "co_consts")


def digest(namespace: dict[str, Any], names: Iterable[str]) -> int:
    """Return the number for what these names are bound to, and for the state of `random`; never 0."""
    number, builtins = 1, builtins_of(namespace)
    # What a builtin of ours holds, `print` say, changes with what was sent: its place stands for it. `_` is a value.
    known = [namespace, builtins, *(value for name, value in builtins.items() if name != "_")]
    for part in _parts(known, [(name, namespace[name]) for name in names]):
        number = crc32(part, number)
    if (random := sys.modules.get("random")) is not None:
        number = crc32(marshal.dumps(random.getstate(), 2), number)
    return number or 1


def _parts(known: list[Any], root: Any) -> Iterator[bytes]:
    """Yield what there is to say of an object and all that it leads to but `known`. An object that is met again is
    given by its place.
    """
    met, kept, waiting = {identity(thing): index for index, thing in enumerate(known)}, known, [root]
    while waiting:
        thing = waiting.pop()
        kind = type(thing)
        if kind in _PLAIN:
            yield marshal.dumps(_short(thing), 2)  # later versions write references, by how many hold the thing
            continue
        place = met.get(identity(thing))
        yield f"{qualname_of(kind)} {place}".encode("utf-8", "surrogatepass")
        if place is not None or len(met) > MOST:
            continue
        met[identity(thing)] = len(met)
        kept.append(thing)  # or what is made for this look could come to lie where another one lay
        waiting += islice(_inside(thing, kind), MOST)


def _short(thing: Any) -> Any:
    if type(thing) is int:
        return thing if thing.bit_length() <= 8 * CHARACTERS else thing.bit_length()
    return thing if type(thing) not in (str, bytes) or len(thing) <= CHARACTERS else len(thing)


def _inside(thing: Any, kind: type) -> Iterator[Any]:
    """Yield what an object holds, in an order that hangs on no address."""
    if issubclass(kind, types.ModuleType):
        return
    if issubclass(kind, type):
        if module_of(thing) != "__main__":
            yield class_name(thing)
        else:
            yield from dict_of(thing).items()
    elif kind is types.FunctionType:
        yield from (thing.__code__, thing.__defaults__, thing.__kwdefaults__, thing.__dict__)
        yield from thing.__closure__ or ()
    elif kind is types.CellType:
        try:
            yield thing.cell_contents
        except ValueError:
            yield "empty"
    elif kind is types.CodeType:
        yield from (getattr(thing, name) for name in _CODE)
    elif kind is types.MethodType:
        yield from (thing.__func__, thing.__self__)
    elif kind is types.GeneratorType:
        if thing.gi_frame is not None:
            yield thing.gi_frame.f_lasti
            yield from thing.gi_frame.f_locals.items()
    else:
        yield from _contents(thing, kind)


def _contents(thing: Any, kind: type) -> Iterator[Any]:
    if issubclass(kind, dict):
        yield from dict.items(thing)
    for items in _ITEMS:
        if issubclass(kind, items):
            yield from items.__iter__(thing)
    if issubclass(kind, BaseException):
        yield BaseException.args.__get__(thing)  # type: ignore[attr-defined]
    if kind.__module__ == "array" or kind.__module__.partition(".")[0] == "numpy":
        yield from _memory_of(thing)
    yield from instance_dict(thing).items()
    for klass in mro_of(kind):
        for name, member in dict_of(klass).items():
            if type(member) is types.MemberDescriptorType and flags_of(klass) & HEAP_TYPE and name != "__weakref__":
                try:
                    yield (name, read_member(member, thing))
                except AttributeError:
                    continue


def _memory_of(array: Any) -> Iterator[Any]:
    """Yield what is in the memory of an array, up to 1 MiB of it; nothing where that holds objects, whose addresses
    these are, or long doubles, which have six bytes that nobody writes.
    """
    try:
        with memoryview(array) as memory:
            if not {"O", "g"} & {*memory.format}:
                yield from (memory.format, memory.nbytes, crc32(memory.cast("B")[: 1 << 20]))
    except (TypeError, ValueError, BufferError):
        return
