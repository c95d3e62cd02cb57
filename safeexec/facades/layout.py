"""The memory of types, as CPython lays it out, and what is written there: flags, slots, the very dict of a class.

Flags and slots are compared with what Python says of them, and RuntimeError is raised where these differ: a Python with
another layout is refused, not written to.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import MemberDescriptorType
from typing import Any, Final

from safeexec.identity import dict_of, flags_of

POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
TYPE_NUMBER: Final = 12 * POINTER  # PyTypeObject.tp_as_number
TYPE_MAPPING: Final = 14 * POINTER  # PyTypeObject.tp_as_mapping
TYPE_SETATTRO: Final = 19 * POINTER  # PyTypeObject.tp_setattro
_TYPE_FLAGS: Final = 21 * POINTER  # PyTypeObject.tp_flags
TYPE_COMPARE: Final = 25 * POINTER  # PyTypeObject.tp_richcompare
_TYPE_NEW: Final = 39 * POINTER  # PyTypeObject.tp_new
NUMBER_OR: Final = 15 * POINTER  # PyNumberMethods.nb_or
MAPPING_STORE: Final = 2 * POINTER  # PyMappingMethods.mp_ass_subscript
_MEMBER: Final = 5 * POINTER  # PyMemberDescrObject.d_member
WRAPPER: Final = 5 * POINTER  # PyWrapperDescrObject.d_base
WRAPPED: Final = 6 * POINTER  # PyWrapperDescrObject.d_wrapped
MEMBER_FLAGS: Final = 3 * POINTER  # PyMemberDef.flags
IMMUTABLE: Final = 1 << 8
HEAP: Final = 1 << 9
BASE: Final = 1 << 10
VECTORCALL: Final = 1 << 11
METHOD: Final = 1 << 17
READ_ONLY: Final = 1


def word(address: int) -> Any:
    """The pointer at an address, to be read and written as ``.value``."""
    return ctypes.c_void_p.from_address(address)


def type_flags(cls: type) -> ctypes.c_ulong:
    """``tp_flags`` of a class, to be read and written as ``.value``."""
    flags = ctypes.c_ulong.from_address(id(cls) + _TYPE_FLAGS)
    if flags.value != flags_of(cls):
        raise RuntimeError("this Python lays out its types in a way that is not known here: none can be sealed")
    return flags


@contextmanager
def very_dict(cls: type) -> Iterator[dict[str, Any]]:
    """The dict of a class itself, to change what `setattr` does not reach; what the class remembers is void then."""
    try:
        yield gc.get_referents(dict_of(cls))[0]
    finally:
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def write_to_class(cls: type, name: str, value: object) -> None:
    """Set an attribute of a class, sealed or not.

    From 3.12 on TypeError for a static one (`int`): an interpreter has a dict of its own for each, which no store
    reaches. `very_dict` does.
    """
    flags = type_flags(cls)
    before = flags.value
    if not before & HEAP and sys.version_info >= (3, 12):
        raise TypeError(f"{name!r} cannot be set: {cls.__name__!r} is a static type")
    flags.value = before & ~IMMUTABLE
    if name == "__dict__":  # that of a class is an attribute of its type, which `setattr` would find
        with very_dict(cls) as space:
            space[name] = value
    else:
        setattr(cls, name, value)
    flags.value |= before & IMMUTABLE


def make_no_more(cls: type) -> None:
    """Let nothing make instances of a class of C any more; those that are there stay."""
    with very_dict(cls) as space:
        kept = space.pop("__new__")
        word(id(cls) + _TYPE_NEW).value = None
    del kept  # not before: what a type has looked up it remembers uncounted


def seal(cls: type) -> None:
    """Make a class immutable now, no base of others, and what its slots hold read-only."""
    for member in dict_of(cls).values():
        if type(member) is MemberDescriptorType:
            slot_flags(member).value |= READ_ONLY
    flags = type_flags(cls)
    flags.value = (flags.value & ~BASE) | IMMUTABLE


def slot_definition(member: MemberDescriptorType) -> int:
    """The address of the `PyMemberDef` of a slot."""
    address: int = ctypes.c_void_p.from_address(id(member) + _MEMBER).value or 0
    if ctypes.c_char_p.from_address(address).value != member.__name__.encode():
        raise RuntimeError("this Python lays out its slots in a way that is not known here: no facade can be sealed")
    return address


def slot_flags(member: MemberDescriptorType) -> ctypes.c_int:
    """The flags of a slot, to be read and written as ``.value``."""
    return ctypes.c_int.from_address(slot_definition(member) + MEMBER_FLAGS)
