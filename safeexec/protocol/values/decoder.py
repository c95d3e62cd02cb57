"""Bytes → value, in a process that trusts nothing in them: a value of this package's kinds, or one `ProtocolError`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any

import msgspec

from safeexec.errors import ProtocolError
from safeexec.protocol.conversation import TooMuch
from safeexec.protocol.values import format as f
from safeexec.protocol.values.format import Formula, Opaque, Scalar
from safeexec.protocol.values.reader import Clock, Reader, UnknownZone, array_length, named_zone, refuse_if, unpack_list

_unpack_map = msgspec.msgpack.Decoder(dict[str, Scalar]).decode
_INLINE = {f.NONE[0]: None, f.TRUE[0]: True, f.FALSE[0]: False}


def decode(
    data: bytes | bytearray | memoryview,
    *,
    max_depth: int = f.MAX_DEPTH,
    max_nodes: int = f.MAX_NODES,
    arrays: bool = False,
    labels: bool | None = True,
    opaque: list[Opaque] | None = None,
    clock: Clock | None = None,
) -> Any:
    """Return the value in `data`. The first `Opaque` in it is put into the list `opaque`, where one is given.

    Raises `ProtocolError` for anything that `encode` does not write: bad tags, lengths, numbers or text, bytes left
    over, more than `max_nodes` values, nesting beyond `max_depth`. `arrays`: import numpy and pandas where needed.
    `labels`: a Series that becomes plain data keeps labels that are not its positions; None: it is a `Labelled`, and a
    frame `Columns`, for a reader that knows only later what it needs. `clock`: of the values that come
    with this one.
    """
    try:
        size = len(data)
        tag = data[0]
        if tag == f.ALONE:
            return unpack_list(data)[0]
        if size == 9 and tag == 0x69:  # f.INT, and f.FLOAT: nearly each value of a step, without a reader for it
            return f.INT64.unpack_from(data, 1)[0]
        if size == 9 and tag == 0x66:
            return f.FLOAT64.unpack_from(data, 1)[0]
        if size == 1:
            return _INLINE[tag]
        depth, nodes = min(max_depth, f.MAX_DEPTH), min(max_nodes, f.MAX_NODES)
        reader = Reader(memoryview(data), depth, nodes, arrays, _READERS, clock or Clock())
        reader.labels = labels
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


def _object(make: Callable[[Reader], Any]) -> Callable[[Reader, int], Any]:
    """Return what reads an object that is made by a call, which is paid for first."""

    def read(r: Reader, depth: int) -> Any:
        r.spend(f.OBJECT)
        return make(r)

    return read


def _uuid(r: Reader) -> Any:
    from uuid import UUID

    return UUID(bytes=bytes(r.take(16)))


def _tuple(r: Reader, depth: int) -> tuple[Any, ...]:
    r.spend(f.CONTAINER)
    return tuple(r.body(depth + 1))


def _list(r: Reader, depth: int) -> list[Any]:
    r.spend(f.CONTAINER)
    return r.body(depth + 1)


def _set(r: Reader, depth: int) -> set[Any]:
    r.spend(f.CONTAINER)
    return r.set_of(r.keys(depth + 1))


def _frozenset(r: Reader, depth: int) -> frozenset[Any]:
    r.spend(f.CONTAINER)
    return frozenset(r.set_of(r.keys(depth + 1)))


def _dict(r: Reader, depth: int) -> dict[Any, Any]:
    r.spend(f.CONTAINER)
    if r.view[r.at] == f.PACKED_MAP[0]:
        r.at += 1
        data = r.chunk()
        count = array_length(data)
        if count > f.PART:
            raise TooMuch("a value has too many items in one part")
        r.spend(2 * count)
        return _unpack_map(data)
    keys = r.keys(depth + 1)
    return r.dict_of(keys, r.body(depth + 1))


def _decimal(r: Reader, depth: int) -> Any:
    r.spend(f.OBJECT)
    data = bytes(r.chunk())
    refuse_if(
        not f.DECIMAL_TEXT.match(data) or (r.in_key and len(data) > f.MAX_KEY_DECIMAL), "a bad Decimal in a value"
    )
    from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation

    # A context of its own: the host's may trap, round or be narrower than the number.
    exact = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])
    return Decimal(data.decode("ascii"), exact)


def _fraction(r: Reader, depth: int) -> Any:
    r.spend(f.OBJECT)
    numerator, denominator = r.integer(), r.integer()
    bits = max(numerator.bit_length(), denominator.bit_length())
    refuse_if(bits > 8 * f.MAX_FRACTION_INT or denominator <= 0, "a bad Fraction in a value")
    if bits > 512:
        r.check_time()
    from fractions import Fraction

    return Fraction(numerator, denominator)


def _time(r: Reader, depth: int) -> time | Opaque:
    r.spend(f.OBJECT)
    hour, minute, second, microsecond, fold = f.TIME.unpack(r.take(f.TIME.size))
    plain = time(hour, minute, second, microsecond, fold=fold)
    zone = _zone(r)
    return zone.opaque("datetime.time", plain) if isinstance(zone, UnknownZone) else plain.replace(tzinfo=zone)


def _datetime(r: Reader, depth: int) -> datetime | Opaque:
    r.spend(f.OBJECT)
    year, month, day = f.DATE.unpack(r.take(f.DATE.size))
    hour, minute, second, microsecond, fold = f.TIME.unpack(r.take(f.TIME.size))
    plain = datetime(year, month, day, hour, minute, second, microsecond, fold=fold)
    zone = _zone(r)
    return zone.opaque("datetime.datetime", plain) if isinstance(zone, UnknownZone) else plain.replace(tzinfo=zone)


def _zone(r: Reader) -> tzinfo | UnknownZone | None:
    tag = bytes(r.take(1))
    if tag == f.NO_ZONE:
        return None
    if tag == f.ZONE_KEY:
        return named_zone(r, r.text())
    offset = timedelta(*f.TIMEDELTA.unpack(r.take(f.TIMEDELTA.size)))
    if tag == f.NAMED_OFFSET:
        return timezone(offset, r.text())
    refuse_if(tag != f.OFFSET, "a bad zone in a value")
    return timezone(offset) if offset else UTC


def _opaque(r: Reader, depth: int) -> Opaque:
    r.spend(f.OBJECT)
    found = Opaque(r.text(), r.text(), r.text())
    r.opaque = r.opaque or found
    return found


def _formula(r: Reader, depth: int) -> Formula:
    r.spend(f.OBJECT)
    return Formula(r.text(), r.text(), "", r.text())


def _table(r: Reader, depth: int) -> Any:
    r.spend(f.OBJECT)
    from safeexec.protocol.values.arrays import read_table  # for values of numpy and pandas

    return read_table(r, bytes(r.view[r.at - 1 : r.at]), depth)


_READERS: dict[int, Callable[[Reader, int], Any]] = {
    f.NONE[0]: lambda r, depth: None,
    f.TRUE[0]: lambda r, depth: True,
    f.FALSE[0]: lambda r, depth: False,
    f.INT[0]: _int,
    f.BIG_INT[0]: _big_int,
    f.FLOAT[0]: _float,
    f.COMPLEX_TAG[0]: _object(lambda r: complex(*f.COMPLEX.unpack(r.take(16)))),
    f.STR[0]: lambda r, depth: r.text(),
    f.BYTES[0]: lambda r, depth: bytes(r.chunk()),
    f.BYTEARRAY[0]: _object(lambda r: bytearray(r.chunk())),
    f.LIST[0]: _list,
    f.TUPLE[0]: _tuple,
    f.SET[0]: _set,
    f.FROZENSET[0]: _frozenset,
    f.DICT[0]: _dict,
    f.DECIMAL[0]: _decimal,
    f.FRACTION[0]: _fraction,
    f.RANGE[0]: _object(lambda r: range(r.integer(), r.integer(), r.integer())),
    f.UUID_TAG[0]: _object(_uuid),
    f.DATE_TAG[0]: _object(lambda r: date(*f.DATE.unpack(r.take(f.DATE.size)))),
    f.TIME_TAG[0]: _time,
    f.DATETIME[0]: _datetime,
    f.TIMEDELTA_TAG[0]: _object(lambda r: timedelta(*f.TIMEDELTA.unpack(r.take(f.TIMEDELTA.size)))),
    f.OPAQUE[0]: _opaque,
    f.FORMULA[0]: _formula,
    **dict.fromkeys(
        b"".join(
            (f.NUMPY_SCALAR, f.ARRAY, f.OBJECT_ARRAY, f.FRAME, f.SERIES, f.RECORDS, f.MASKED, f.INDEX, f.PANDAS_SCALAR)
        ),
        _table,
    ),
}
