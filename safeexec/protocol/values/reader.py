"""A place in the bytes of one value, what may still be read of it, and what every reader of a part needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, time, tzinfo
from importlib import import_module
from sys import getsizeof
from time import thread_time
from typing import Any

import msgspec

from safeexec.common.text import from_utf_8
from safeexec.errors import ProtocolError
from safeexec.protocol.conversation import TooMuch
from safeexec.protocol.values import format as f
from safeexec.protocol.values.format import Opaque, Scalar

unpack_list = msgspec.msgpack.Decoder(list[Scalar]).decode
_PIECE = 64
_CHECKED_NODES = 1 << 13
"""Nodes that are read between two looks at the clock."""
_SECONDS = 3.0
"""CPU time after which building is given up: ints of different hashes can be chosen to look for a place in a table one
after the other (30,000: 0.5 s instead of 3 ms), and frames cost more than their bytes.
"""
_SALTED = frozenset({str, bytes, bool, type(None)})
"""Types whose hashes an attacker cannot choose."""
_SMALL = 32
"""Bytes of floats and of ints below 2**60: of these hardly any have one hash, and they are compared quickly."""
_MAX_CROWD = 1024
"""Words of different keys that have one hash. Each of them is compared with all others, and two of them take at most
the product of their words (15 ns each: an int becomes a Decimal, frozensets of frozensets), so a crowd takes some 10
ms. Of honest keys few meet: -1 and -2, hence tuples of them (128 of seven items), and powers of two, whose hashes come
again after 61 of them.
"""


def refuse_if(wrong: object, problem: str) -> None:
    """Raise `ProtocolError` with this problem where something is wrong."""
    if wrong:
        raise ProtocolError(problem)


class Clock:
    """The CPU time that the values of one message may take where the sender can choose what they cost."""

    __slots__ = ("end",)

    def __init__(self) -> None:
        self.end = 0.0

    def check(self) -> None:
        now = thread_time()
        if not self.end:
            self.end = now + _SECONDS
        elif now > self.end:
            raise TooMuch(f"a value takes more than {_SECONDS:.0f} s of CPU time to build")


class Reader:
    """A place in the bytes of one value, and the budgets that are left."""

    __slots__ = (
        "arrays", "at", "check_time", "checked", "in_key", "labels", "max_depth", "nodes", "opaque", "readers", "view",
        "zones",
    )  # fmt: skip

    def __init__(
        self, view: memoryview, max_depth: int, max_nodes: int, arrays: bool, readers: Readers, clock: Clock
    ) -> None:
        self.view = view
        self.at = 0
        self.nodes = self.checked = max_nodes
        self.max_depth = max_depth
        self.arrays = arrays
        self.labels: bool | None = True
        self.readers = readers
        self.in_key = 0
        self.check_time = clock.check
        self.opaque: Opaque | None = None  # the first one
        self.zones: dict[str, tzinfo | UnknownZone] = {}

    def value(self, depth: int) -> Any:
        """Return the value that starts here."""
        tag = self.view[self.at]
        self.at += 1
        return self.readers[tag](self, depth)

    def take(self, size: int) -> memoryview:
        """Return the next `size` bytes, which must be there."""
        start = self.at
        end = start + size
        if size < 0 or end > len(self.view):
            raise ProtocolError(f"{size} bytes are announced in a value, {len(self.view) - start} follow")
        self.at = end
        return self.view[start:end]

    def align(self) -> None:
        """Skip to where the bytes of an array may begin."""
        self.take(-self.at % f.ALIGNMENT)

    def length(self) -> int:
        (size,) = f.LENGTH.unpack_from(self.view, self.at)
        self.at += 4
        return int(size)

    def chunk(self) -> memoryview:
        """Return a length and that many bytes."""
        return self.take(self.length())

    def text(self) -> str:
        return from_utf_8(self.chunk(), self.check_time)

    def spend(self, nodes: int) -> None:
        """Pay for what is about to be read, before it is."""
        self.nodes -= nodes
        if self.nodes < 0:
            raise TooMuch("a value has too many parts")
        if self.checked - self.nodes > _CHECKED_NODES:
            self.checked = self.nodes
            self.check_time()

    def integer(self) -> int:
        """Return a value that must be an int."""
        tag = self.view[self.at]
        if tag not in b"iI":
            raise ProtocolError("an int is missing in a value")
        self.at += 1
        number: int = self.readers[tag](self, 0)
        return number

    def body(self, depth: int) -> list[Any]:
        """Return the items of a sequence."""
        tag = bytes(self.take(1))
        if tag == f.PACKED:
            return self._packed()
        if tag == f.PARTS:
            return self._parts()
        if tag != f.GENERIC:
            raise ProtocolError("a sequence without items in a value")
        count = self.length()
        if count > len(self.view) - self.at:
            raise ProtocolError(f"{count} values are announced, {len(self.view) - self.at} bytes follow")
        self.spend(count)
        if depth > self.max_depth:
            raise ProtocolError("a value nests too deeply")
        return [self.value(depth) for _ in range(count)]

    def _packed(self) -> list[Any]:
        """Return scalars that msgspec reads at once."""
        data = self.chunk()
        count = array_length(data)
        if count > f.PART:
            raise TooMuch("a value has too many items in one part")
        self.spend(count)
        return unpack_list(data)

    def _parts(self) -> list[Any]:
        count = self.length()
        items: list[Any] = []
        while len(items) < count:
            part = self._packed()
            if not part:
                raise ProtocolError("an empty part in a value")
            items += part
        if len(items) != count:
            raise ProtocolError(f"{count} values are announced, and {len(items)} came")
        return items

    def keys(self, depth: int) -> list[Any]:
        """Return the items of a set, or the keys of a dict."""
        self.in_key += 1
        items = self.body(depth)
        self.in_key -= 1
        return items

    def dict_of(self, keys: list[Any], values: list[Any]) -> dict[Any, Any]:
        """Return a dict, made in pieces: the clock is watched where the sender may have chosen the hashes."""
        if len(keys) != len(values):
            raise ProtocolError("a dict of which keys and values differ in number")
        if _salted(keys):
            return self._pieces(keys, values, f.PART)
        self._check_crowds(keys)
        return self._pieces(keys, values)

    def set_of(self, items: list[Any]) -> set[Any]:
        """Return a set, like `dict_of`."""
        piece = f.PART
        if not _salted(items):
            self._check_crowds(items)
            piece = _PIECE
        built: set[Any] = set()
        for start in range(0, len(items), piece):
            self.check_time()
            built.update(items[start : start + piece])
        return built

    def _pieces(self, keys: list[Any], values: list[Any], piece: int = _PIECE) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        for start in range(0, len(keys), piece):
            self.check_time()
            built.update(zip(keys[start : start + piece], values[start : start + piece], strict=True))
        return built

    def _check_crowds(self, keys: list[Any]) -> None:
        """Refuse keys that a table would compare for long. It compares only those of one hash."""
        if all(max(map(getsizeof, part)) <= _SMALL for part in _by_parts(keys)):
            return
        hashes: list[int] = []
        for part in _by_parts(keys):
            self.check_time()
            hashes += map(hash, part)
        last = self._pieces(hashes, keys)
        if len(last) == len(keys):
            return
        sizes: dict[int, int] = {}
        for position, (number, key) in enumerate(zip(hashes, keys, strict=True)):
            if not position % _PIECE:
                self.check_time()
            other = last[number]
            if other is not key:
                size = sizes.get(number) or _words(other)
                more = _words(key)
                if size + more > _MAX_CROWD:
                    raise ProtocolError("too many keys of one hash in a value")
                sizes[number] = size + more if key != other else size


def _by_parts(items: list[Any]) -> Iterator[list[Any]]:
    """Return the items in pieces that one call of C may go through."""
    return (items[start : start + f.PART] for start in range(0, len(items), f.PART))


def _salted(items: list[Any]) -> bool:
    return all(_SALTED.issuperset(map(type, part)) for part in _by_parts(items))


def _words(part: Any) -> int:
    """Return how large a key is, for what comparing it takes; what Python itself compares slowly counts more."""
    from fractions import Fraction

    kind = type(part)
    if kind is tuple or kind is frozenset:
        return 1 + sum(map(_words, part))
    if kind is Fraction:
        return 16 + _words(part.numerator) + _words(part.denominator)
    return (1 if kind is int or kind in _SALTED else 16) + getsizeof(part) // 64


def array_length(data: memoryview) -> int:
    """Return the count in a msgpack array or map header, known before anything is read."""
    first = data[0]
    if 0x80 <= first <= 0x9F:
        return first & 0x0F
    if first in (0xDC, 0xDE):
        return int.from_bytes(data[1:3], "big")
    if first in (0xDD, 0xDF):
        return int.from_bytes(data[1:5], "big")
    raise ProtocolError("packed items without a count in a value")


class UnknownZone:
    """A zone that this machine has no data for."""

    def __init__(self, key: str) -> None:
        self.key = key

    def opaque(self, kind: str, plain: time | datetime) -> Opaque:
        return Opaque(kind, f"{plain.isoformat()} {self.key}")


def named_zone(r: Reader, key: str) -> tzinfo | UnknownZone:
    if key in r.zones:
        return r.zones[key]
    if not f.ZONE_NAME.match(key) or len(r.zones) >= f.MAX_ZONES:
        raise ProtocolError("a bad zone name in a value")
    from zoneinfo import ZoneInfo

    zone: tzinfo | UnknownZone
    try:
        zone = ZoneInfo(key)
    except (KeyError, ValueError, OSError):  # not found; a file that is not a zone; a directory
        zone = UnknownZone(key)
    r.zones[key] = zone
    return zone


def library(r: Reader, name: str) -> Any:
    """Return a library where the caller takes arrays and it can be imported, else None."""
    if not r.arrays:
        return None
    try:
        return import_module(name)
    except ImportError:
        return None


Readers = Mapping[int, "Callable[[Reader, int], Any]"]
"""Tag → what reads the value that follows."""
