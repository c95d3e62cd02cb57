"""Objects as plain data, for a side that has their class: dataclasses, pydantic models, structs, Enums, paths."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from safeexec.common.identity import mro_of
from safeexec.protocol.values.writer import Write, Writer, container


class ByFields:
    """A value to be written with the fields of the objects in it, which would be opaque otherwise."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def write_by_fields(w: Writer, value: ByFields, depth: int) -> None:
    """Write what `value` holds; objects in it as dicts, members of an Enum as their values, paths as text."""
    before = w.writer_of

    def writer_of(kind: type) -> Write:
        plain = plain_of(kind)
        return before(kind) if plain is None else container(lambda w, one, at: w.put(plain(one), at - 1), in_keys=True)

    w.writer_of = writer_of
    try:
        w.item(value.value, depth)
    finally:
        w.writer_of = before


def plain_of(kind: type) -> Callable[[Any], Any] | None:
    """Return what gives the plain data of objects of a class, or None where the class is none of these."""
    mro = mro_of(kind)

    def is_a(module: str, name: str) -> bool:
        return getattr(sys.modules.get(module), name, None) in mro

    if is_a("enum", "Enum"):
        return lambda value: value.value
    if is_a("pathlib", "PurePath"):
        return str
    if any("__dataclass_fields__" in vars(base) for base in mro):
        return lambda value: {name: getattr(value, name) for name in type(value).__dataclass_fields__}
    if is_a("pydantic", "BaseModel"):
        return lambda value: {name: getattr(value, name) for name in type(value).model_fields}
    if msgspec.Struct in mro:
        return lambda value: {name: getattr(value, name) for name in type(value).__struct_fields__}
    return None
