"""The parts of one value as it is written, what may still be written of it, and what every writer of a part needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from safeexec.common.identity import class_name, dict_of, identity, mro_of
from safeexec.common.text import short_repr, type_name
from safeexec.protocol.values import format as f
from safeexec.protocol.values.format import Opaque

_pack = msgspec.msgpack.Encoder().encode
SCALARS = frozenset({type(None), bool, int, float, str})
FEW = 1000
"""A container of so few items that does not fit is written item by item: large items become opaque, others stay."""


class TooBig(Exception):
    """The budget of bytes or nodes is used up."""


def text_bytes(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return f.LENGTH.pack(len(data)) + data


TOO_LARGE = (
    f"it is larger than a value may be (limits.value_kb, and {f.MAX_NODES:,} items; a list, a date or a Decimal counts "
    "for 8): return a part of it, or write it to a file"
)
_TABLE_TOO_LARGE = (
    "arrays and tables take at most {} KiB of a step's value: assign it to a name and call `session.get(name)`, or "
    "return a part of it"
)
TOO_DEEP = "it is nested deeper than a value may be (limits.value_depth): return it flat"
CYCLE = "it holds itself: return its parts"
_STAYS = "an object of this class stays in the session: return its data as numbers, text, lists or dicts"
_ITERATOR = "an iterator stays in the session: make a list of it"
_MEMBER = "a member of an Enum stays in the session: return its `value`"
_FIELDS = "a dataclass stays in the session: return `dataclasses.asdict(x)`"
_ITEMS = "a collection of this class stays in the session: return `list(x)`"
_NUMBER = "a number or formula of this class stays in the session: return `int(x)`, `float(x)`, or its text, `str(x)`"
_PATH = "a path stays in the session: return `str(path)`"
_CODE = "functions, classes and modules stay in the session: call them there, and return what they give"
_CODE_KINDS = frozenset({"function", "builtin_function_or_method", "method", "type", "module", "partial"})


def _reason(kind: type) -> str:
    """Return why no value of this class crosses, and what to return instead. Never runs code of the class."""
    mro = mro_of(kind)
    if class_name(kind) in _CODE_KINDS or type in mro:
        return _CODE
    if getattr(sys.modules.get("enum"), "Enum", None) in mro:
        return _MEMBER
    found = {name for base in mro for name in _TELLING if name in dict_of(base)}
    return next((reason for name, reason in _TELLING.items() if name in found), _STAYS)


_TELLING = {
    "__next__": _ITERATOR,
    "__dataclass_fields__": _FIELDS,
    "__fspath__": _PATH,
    "__iter__": _ITEMS,
    "__float__": _NUMBER,
}
"""Method or attribute of a class → why its objects stay."""


def formula_bytes(kind: str, text: str, latex: str) -> bytes:
    return f.FORMULA + text_bytes(kind) + text_bytes(text) + text_bytes(latex)


def opaque_bytes(value: Any, text: str | None, reason: str = "") -> bytes:
    if type(value) is f.Formula:
        return formula_bytes(value.type, value.repr, value.latex)
    if type(value) is Opaque:
        return f.OPAQUE + text_bytes(value.type) + text_bytes(value.repr) + text_bytes(value.reason)
    kind = type(value)
    text = short_repr(value, f.MAX_TEXT) if text is None else text[: f.MAX_TEXT]
    return f.OPAQUE + text_bytes(type_name(kind)[:200]) + text_bytes(text) + text_bytes(reason or _reason(kind))


class Writer:
    """The parts of one encoded value, and the budgets that are left."""

    __slots__ = (
        "array_bytes", "array_left", "arrays", "budget", "formulas", "in_key", "in_share", "left", "made_opaque",
        "max_depth", "nodes", "open", "parts", "reason", "text", "truncated", "work", "writer_of", "writers",
    )  # fmt: skip

    def __init__(
        self,
        max_bytes: int,
        max_depth: int,
        max_nodes: int,
        arrays: bool,
        array_bytes: int | None,
        text: str | None,
        writers: Writers,
        writer_of: WriterOf,
    ) -> None:
        """`writers`: what writes each known type; `writer_of` finds it for any other."""
        self.parts: list[Any] = []
        self.budget = self.left = max_bytes
        self.work = 4 * max_bytes  # what may be written and thrown away again, so that [big] * 10_000 ends soon
        self.nodes = max_nodes
        self.formulas = f.MAX_FORMULAS
        self.max_depth = max_depth
        self.arrays = arrays
        self.array_bytes = array_bytes
        self.array_left = array_bytes or 0
        self.in_share = False  # inside an array that is written within `array_bytes`
        self.writers = writers
        self.writer_of = writer_of
        self.text = text
        self.truncated = False
        self.reason = ""
        self.made_opaque = False
        self.in_key = 0
        self.open: set[int] = set()  # containers being written, by id: a second visit is a cycle

    def emit(self, data: Any, size: int) -> None:
        """Append `data` of `size` bytes."""
        self.left -= size
        if self.left < 0:
            raise TooBig
        self.parts.append(data)

    def align(self) -> None:
        """Fill up to where the bytes of an array may begin."""
        missing = (self.left - self.budget) % f.ALIGNMENT
        self.emit(bytes(missing), missing)

    def room(self, size: int) -> None:
        """Refuse before `size` bytes are copied."""
        if size > self.left:
            raise TooBig

    def spend(self, nodes: int) -> None:
        """Pay for what the reader pays for."""
        self.nodes -= nodes
        if self.nodes < 0:
            raise TooBig

    def put(self, value: Any, depth: int) -> None:
        write = self.writers.get(type(value)) or self.writer_of(type(value))
        write(self, value, depth)

    def item(self, value: Any, depth: int) -> None:
        """Write one value inside another, or what stands for it where it cannot be written."""
        parts, left, reason = len(self.parts), self.left, ""
        try:
            write = self.writers.get(type(value)) or self.writer_of(type(value))
            write(self, value, depth)
            return
        except TooBig:
            if self.in_share:
                raise
            self.truncated, reason = True, TOO_LARGE
            self.work -= left
            if self.work < 0:
                raise
        except Exception:
            pass
        del self.parts[parts:]
        self.left = left
        self.opaque(value, depth, reason)

    def table(self, write: Write, value: Any, depth: int) -> None:
        """Write an array or a frame by its content, where the caller takes them: all of them together within
        `array_bytes`, and one that does not fit stays, whole.
        """
        if not self.arrays or self.in_key:
            self.opaque(value, depth)
        elif self.array_bytes is None or self.in_share:
            write(self, value, depth)
        else:
            self._share(write, value, depth, self.array_bytes)

    def _share(self, write: Write, value: Any, depth: int, total: int) -> None:
        parts, left, budget, nodes = len(self.parts), self.left, self.budget, self.nodes
        withheld = max(0, left - self.array_left)
        self.left, self.budget = left - withheld, budget - withheld  # where the next byte goes is their difference
        self.in_share, fits = True, False
        try:
            write(self, value, depth)
            fits = True
        except TooBig:
            if not withheld:
                raise
        finally:
            self.in_share = False
            self.left, self.budget = self.left + withheld, budget
        if fits:
            self.array_left -= left - self.left
            return
        self.work -= left - withheld
        if self.work < 0:
            raise TooBig
        del self.parts[parts:]
        self.left, self.nodes, self.truncated = left, nodes, True
        self.opaque(value, depth, _TABLE_TOO_LARGE.format(total >> 10))

    def opaque(self, value: Any, depth: int = 0, reason: str = "") -> None:
        """Write what stands for a value that stays; `reason`: why, where its class does not say it."""
        self.made_opaque = True
        self.reason = self.reason or reason
        self.spend(f.OBJECT)
        data = opaque_bytes(value, self.text if not self.open and not self.parts else None, reason)
        self.emit(data, len(data))

    def enter(self, value: Any, depth: int) -> bool:
        """Return whether this container may be written; if not, its opaque stand-in has been."""
        if depth < self.max_depth and identity(value) not in self.open:
            self.spend(f.CONTAINER)
            self.open.add(identity(value))
            return True
        self.truncated = True
        self.opaque(value, depth, CYCLE if identity(value) in self.open else TOO_DEEP)
        return False

    def body(self, items: list[Any] | tuple[Any, ...], depth: int) -> None:
        """Write the items of a sequence: at once where all are plain scalars, else one by one."""
        self.spend(len(items))
        self.room(len(items))
        if items and SCALARS.issuperset(map(type, items)):
            parts = [packed_bytes(items[start : start + f.PART]) for start in range(0, len(items), f.PART)]
            packed = [part for part in parts if part is not None]
            if len(packed) == len(parts) and (sum(map(len, packed)) <= self.left or len(items) > FEW):
                if len(packed) == 1:
                    self.emit(f.PACKED, 1)
                else:
                    self.emit(f.TAG_LENGTH.pack(f.PARTS, len(items)), 5)
                for part in packed:
                    self.emit(f.LENGTH.pack(len(part)), 4)
                    self.emit(part, len(part))
                return
        self.emit(f.TAG_LENGTH.pack(f.GENERIC, len(items)), 5)
        for item in items:
            self.item(item, depth)


def as_table(write: Write) -> Write:
    """Return what writes a type of array or frame by its content, as a writer that checks first whether it may."""

    def written(w: Writer, value: Any, depth: int) -> None:
        w.table(write, value, depth)

    return written


def container(write: Write, tag: bytes = b"", *, cost: int = 0, in_keys: bool = False) -> Write:
    """Return what writes a container by its `tag` and what it holds, and an opaque stand-in for one that nests too
    deeply, is held by itself, or, without `in_keys`, is a key. `cost`: what it counts beyond other containers.
    """

    def written(w: Writer, value: Any, depth: int) -> None:
        if w.in_key and not in_keys:
            w.opaque(value)
        elif w.enter(value, depth):
            try:
                w.spend(cost)
                w.emit(tag, len(tag))
                write(w, value, depth + 1)
            finally:
                w.open.discard(identity(value))

    return written


def packed_bytes(items: Any) -> bytes | None:
    try:
        return _pack(items)
    except (OverflowError, UnicodeEncodeError):  # an int beyond 64 bits, a lone surrogate
        return None


Write = Callable[[Writer, Any, int], None]
Writers = dict[type, Write]
WriterOf = Callable[[type], Write]
