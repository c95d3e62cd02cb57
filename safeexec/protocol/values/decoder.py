"""Bytes → value, in a process that trusts nothing in them: a value of this package's kinds, or one `ProtocolError`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from time import thread_time
from typing import Any

import msgspec

from safeexec.errors import ProtocolError
from safeexec.protocol.values import format as f
from safeexec.protocol.values.format import Opaque, Scalar

_unpack_list = msgspec.msgpack.Decoder(list[Scalar]).decode
_unpack_map = msgspec.msgpack.Decoder(dict[str, Scalar]).decode
_CHUNK = 512
_SECONDS = 3.0
"""CPU time after which building dicts and sets is given up: ints hash to themselves, so chosen keys can all collide."""
_SALTED = frozenset({str, bytes, bool, type(None)})
"""Types whose hashes an attacker cannot choose."""
_INLINE = {f.NONE[0]: None, f.TRUE[0]: True, f.FALSE[0]: False}


def decode(
    data: bytes | bytearray | memoryview,
    *,
    max_depth: int = f.MAX_DEPTH,
    max_nodes: int = f.MAX_NODES,
    arrays: bool = False,
    opaque: list[Opaque] | None = None,
) -> Any:
    """The value in `data`. The first `Opaque` in it is put into the list `opaque`, where one is given.

    Raises `ProtocolError` for anything that `encode` does not write: bad tags, lengths, numbers or text, bytes left
    over, more than `max_nodes` values, nesting beyond `max_depth`. `arrays`: import numpy and pandas where needed.
    """
    try:
        size = len(data)
        tag = data[0]
        if tag == f.ALONE:
            return _unpack_list(data)[0]
        if size == 9 and tag == 0x69:
            return f.INT64.unpack_from(data, 1)[0]
        if size == 9 and tag == 0x66:
            return f.FLOAT64.unpack_from(data, 1)[0]
        if size == 1:
            return _INLINE[tag]
        reader = Reader(memoryview(data), min(max_depth, f.MAX_DEPTH), min(max_nodes, f.MAX_NODES), arrays)
        value = reader.value(0)
        if opaque is not None and reader.opaque is not None:
            opaque.append(reader.opaque)
    except ProtocolError:
        raise
    except Exception as error:
        raise ProtocolError(f"a value cannot be read: {type(error).__name__}: {str(error)[:200]}") from None
    if reader.at != size:
        raise ProtocolError(f"a value is followed by {size - reader.at} bytes")
    return value


class Reader:
    """A place in the bytes of one value, and the budgets that are left."""

    __slots__ = ("arrays", "at", "deadline", "in_key", "max_depth", "nodes", "opaque", "view", "zones")

    def __init__(self, view: memoryview, max_depth: int, max_nodes: int, arrays: bool) -> None:
        self.view = view
        self.at = 0
        self.nodes = max_nodes
        self.max_depth = max_depth
        self.arrays = arrays
        self.in_key = 0
        self.deadline = 0.0
        self.opaque: Opaque | None = None  # the first one
        self.zones: dict[str, tzinfo | UnknownZone] = {}

    def value(self, depth: int) -> Any:
        """The value that starts here."""
        tag = self.view[self.at]
        self.at += 1
        return _READERS[tag](self, depth)

    def take(self, size: int) -> memoryview:
        """The next `size` bytes, which must be there."""
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
        """A length and that many bytes."""
        return self.take(self.length())

    def text(self) -> str:
        return str(self.chunk(), "utf-8", "surrogatepass")

    def spend(self, nodes: int) -> None:
        self.nodes -= nodes
        if self.nodes < 0:
            raise ProtocolError("a value has too many parts")

    def check_time(self) -> None:
        """Give up when this value has taken too much CPU time. For work whose cost the sender can choose."""
        now = thread_time()
        if not self.deadline:
            self.deadline = now + _SECONDS
        elif now > self.deadline:
            raise ProtocolError(f"a value takes more than {_SECONDS:.0f} s of CPU time to build")

    def integer(self) -> int:
        """A value that must be an int."""
        tag = self.view[self.at]
        if tag not in b"iI":
            raise ProtocolError("an int is missing in a value")
        self.at += 1
        number: int = _READERS[tag](self, 0)
        return number

    def body(self, depth: int) -> list[Any]:
        """The items of a sequence."""
        tag = bytes(self.take(1))
        if tag == f.PACKED:
            data = self.chunk()
            self.spend(_array_length(data))
            return _unpack_list(data)
        if tag != f.GENERIC:
            raise ProtocolError("a sequence without items in a value")
        count = self.length()
        if count > len(self.view) - self.at:
            raise ProtocolError(f"{count} values are announced, {len(self.view) - self.at} bytes follow")
        self.spend(count)
        if depth > self.max_depth:
            raise ProtocolError("a value nests too deeply")
        return [self.value(depth) for _ in range(count)]

    def keys(self, depth: int) -> list[Any]:
        """The items of a set, or the keys of a dict."""
        self.in_key += 1
        items = self.body(depth)
        self.in_key -= 1
        return items

    def hashed(self, keys: list[Any], values: list[Any]) -> dict[Any, Any]:
        """A dict, built in pieces while the clock is watched where the sender may have chosen colliding keys."""
        if len(keys) <= 16 or _SALTED.issuperset(map(type, keys)):
            return dict(zip(keys, values, strict=True))
        if len(keys) != len(values):
            raise ProtocolError("a dict of which keys and values differ in number")
        built: dict[Any, Any] = {}
        for start in range(0, len(keys), _CHUNK):
            self.check_time()
            built.update(zip(keys[start : start + _CHUNK], values[start : start + _CHUNK], strict=True))
        return built


def _array_length(data: memoryview) -> int:
    """The count in a msgpack array or map header, known before anything is read."""
    first = data[0]
    if 0x80 <= first <= 0x9F:
        return first & 0x0F
    if first in (0xDC, 0xDE):
        return int.from_bytes(data[1:3], "big")
    if first in (0xDD, 0xDF):
        return int.from_bytes(data[1:5], "big")
    raise ProtocolError("packed items without a count in a value")


def _int(r: Reader, depth: int) -> int:
    (number,) = f.INT64.unpack_from(r.view, r.at)
    r.at += 8
    return int(number)


def _big_int(r: Reader, depth: int) -> int:
    data = r.chunk()
    if r.in_key and len(data) > f.MAX_KEY_INT:
        raise ProtocolError(f"an int of {len(data)} bytes in a key")
    return int.from_bytes(data, "little", signed=True)


def _float(r: Reader, depth: int) -> float:
    (number,) = f.FLOAT64.unpack_from(r.view, r.at)
    r.at += 8
    return float(number)


def _complex(r: Reader, depth: int) -> complex:
    return complex(*f.COMPLEX.unpack(r.take(16)))


def _tuple(r: Reader, depth: int) -> tuple[Any, ...]:
    r.spend(f.CONTAINER)
    return tuple(r.body(depth + 1))


def _list(r: Reader, depth: int) -> list[Any]:
    r.spend(f.CONTAINER)
    return r.body(depth + 1)


def _set(r: Reader, depth: int) -> set[Any]:
    r.spend(f.CONTAINER)
    items = r.keys(depth + 1)
    return set(r.hashed(items, items))


def _frozenset(r: Reader, depth: int) -> frozenset[Any]:
    r.spend(f.CONTAINER)
    items = r.keys(depth + 1)
    return frozenset(r.hashed(items, items))


def _dict(r: Reader, depth: int) -> dict[Any, Any]:
    r.spend(f.CONTAINER)
    if r.view[r.at] == f.PACKED_MAP[0]:
        r.at += 1
        data = r.chunk()
        r.spend(2 * _array_length(data))
        return _unpack_map(data)
    keys = r.keys(depth + 1)
    return r.hashed(keys, r.body(depth + 1))


def _decimal(r: Reader, depth: int) -> Any:
    data = bytes(r.chunk())
    if not f.DECIMAL_TEXT.match(data) or (r.in_key and len(data) > f.MAX_KEY_DECIMAL):
        raise ProtocolError("a bad Decimal in a value")
    from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation

    # A context of its own: the host's may trap, round or be narrower than the number.
    exact = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])
    return Decimal(data.decode("ascii"), exact)


def _fraction(r: Reader, depth: int) -> Any:
    numerator, denominator = r.integer(), r.integer()
    bits = max(numerator.bit_length(), denominator.bit_length())
    if bits > 8 * f.MAX_FRACTION_INT or denominator <= 0:
        raise ProtocolError("a bad Fraction in a value")
    if bits > 512:
        r.check_time()
    from fractions import Fraction

    return Fraction(numerator, denominator)


def _range(r: Reader, depth: int) -> range:
    return range(r.integer(), r.integer(), r.integer())


def _uuid(r: Reader, depth: int) -> Any:
    from uuid import UUID

    return UUID(bytes=bytes(r.take(16)))


def _date(r: Reader, depth: int) -> date:
    return date(*f.DATE.unpack(r.take(f.DATE.size)))


def _timedelta(r: Reader, depth: int) -> timedelta:
    return timedelta(*f.TIMEDELTA.unpack(r.take(f.TIMEDELTA.size)))


def _time(r: Reader, depth: int) -> time | Opaque:
    hour, minute, second, microsecond, fold = f.TIME.unpack(r.take(f.TIME.size))
    plain = time(hour, minute, second, microsecond, fold=fold)
    zone = _zone(r)
    return zone.opaque("datetime.time", plain) if isinstance(zone, UnknownZone) else plain.replace(tzinfo=zone)


def _datetime(r: Reader, depth: int) -> datetime | Opaque:
    year, month, day = f.DATE.unpack(r.take(f.DATE.size))
    hour, minute, second, microsecond, fold = f.TIME.unpack(r.take(f.TIME.size))
    plain = datetime(year, month, day, hour, minute, second, microsecond, fold=fold)
    zone = _zone(r)
    return zone.opaque("datetime.datetime", plain) if isinstance(zone, UnknownZone) else plain.replace(tzinfo=zone)


class UnknownZone:
    """A zone that this machine has no data for."""

    def __init__(self, key: str) -> None:
        self.key = key

    def opaque(self, kind: str, plain: time | datetime) -> Opaque:
        return Opaque(kind, f"{plain.isoformat()} {self.key}")


def _zone(r: Reader) -> tzinfo | UnknownZone | None:
    tag = bytes(r.take(1))
    if tag == f.NO_ZONE:
        return None
    if tag == f.ZONE_KEY:
        return named_zone(r, r.text())
    offset = timedelta(*f.TIMEDELTA.unpack(r.take(f.TIMEDELTA.size)))
    if tag == f.NAMED_OFFSET:
        return timezone(offset, r.text())
    if tag != f.OFFSET:
        raise ProtocolError("a bad zone in a value")
    return timezone(offset) if offset else UTC


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


def _opaque(r: Reader, depth: int) -> Opaque:
    found = Opaque(r.text(), r.text())
    r.opaque = r.opaque or found
    return found


def _table(r: Reader, depth: int) -> Any:
    from safeexec.protocol.values.tables import read_table

    return read_table(r, bytes(r.view[r.at - 1 : r.at]), depth)


_READERS: dict[int, Callable[[Reader, int], Any]] = {
    f.NONE[0]: lambda r, depth: None,
    f.TRUE[0]: lambda r, depth: True,
    f.FALSE[0]: lambda r, depth: False,
    f.INT[0]: _int,
    f.BIG_INT[0]: _big_int,
    f.FLOAT[0]: _float,
    f.COMPLEX_TAG[0]: _complex,
    f.STR[0]: lambda r, depth: r.text(),
    f.BYTES[0]: lambda r, depth: bytes(r.chunk()),
    f.BYTEARRAY[0]: lambda r, depth: bytearray(r.chunk()),
    f.LIST[0]: _list,
    f.TUPLE[0]: _tuple,
    f.SET[0]: _set,
    f.FROZENSET[0]: _frozenset,
    f.DICT[0]: _dict,
    f.DECIMAL[0]: _decimal,
    f.FRACTION[0]: _fraction,
    f.RANGE[0]: _range,
    f.UUID_TAG[0]: _uuid,
    f.DATE_TAG[0]: _date,
    f.TIME_TAG[0]: _time,
    f.DATETIME[0]: _datetime,
    f.TIMEDELTA_TAG[0]: _timedelta,
    f.OPAQUE[0]: _opaque,
    f.NUMPY_SCALAR[0]: _table,
    f.ARRAY[0]: _table,
    f.OBJECT_ARRAY[0]: _table,
    f.FRAME[0]: _table,
    f.SERIES[0]: _table,
    f.RECORDS[0]: _table,
    f.MASKED[0]: _table,
    f.INDEX[0]: _table,
    f.PANDAS_SCALAR[0]: _table,
}
