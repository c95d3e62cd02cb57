"""Value → bytes, in the process that owns the value: exact builtin types by their own C methods, the rest opaque."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from typing import Any

from safeexec.common.identity import module_of, mro_of
from safeexec.protocol.values import format as f
from safeexec.protocol.values.format import Encoded, Formula, Opaque
from safeexec.protocol.values.objects import ByFields, write_by_fields
from safeexec.protocol.values.writer import (
    FEW,
    SCALARS,
    TOO_LARGE,
    TooBig,
    Write,
    Writer,
    container,
    opaque_bytes,
    packed_bytes,
    text_bytes,
)

_STR_ONLY = frozenset({str})
_INLINE = {None: Encoded(f.NONE), True: Encoded(f.TRUE), False: Encoded(f.FALSE)}


def encode(
    value: Any,
    *,
    max_bytes: int,
    max_depth: int,
    max_nodes: int = f.MAX_NODES,
    arrays: bool = False,
    array_bytes: int | None = None,
    text: str | None = None,
) -> Encoded:
    """Return `value` as bytes, at most about `max_bytes` of them and `max_depth` containers deep. Raises nothing.

    Parts that do not fit become `Opaque` and set `truncated`. `arrays`: numpy arrays, DataFrames and Series cross by
    content, all of them together within `array_bytes` where it is given. `text` is the repr of the whole value where
    the caller has it already: an opaque value needs no second one.
    """
    kind = type(value)
    if kind is int:
        if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
            return Encoded(f.TAG_INT.pack(f.INT, value))
    elif kind is float:
        return Encoded(f.TAG_FLOAT.pack(f.FLOAT, value))
    elif value is None or kind is bool:
        return _INLINE[value]
    elif kind is str and len(value) <= max_bytes:
        data = packed_bytes([value])
        if data is not None and len(data) <= max_bytes + 16:
            return Encoded(data)
    nodes = min(max_nodes, f.MAX_NODES)
    writer = Writer(
        max_bytes, min(max_depth, f.MAX_DEPTH), nodes, arrays, array_bytes, text, _WRITERS, _writer_of_subclass
    )
    return _encode_slowly(writer, value)


def _encode_slowly(writer: Writer, value: Any) -> Encoded:
    try:
        writer.put(value, 0)
    except TooBig:
        return Encoded(opaque_bytes(value, writer.text, TOO_LARGE), True, True, TOO_LARGE)
    except Exception:
        return Encoded(opaque_bytes(value, writer.text), writer.truncated, True, writer.reason)
    return Encoded(b"".join(writer.parts), writer.truncated, writer.made_opaque, writer.reason)


def _object(data_of: Callable[[Any], bytes]) -> Write:
    """Return what writes an object by the bytes that say it, and pays for it as the reader does."""

    def write(w: Writer, value: Any, depth: int) -> None:
        w.spend(f.OBJECT)
        data = data_of(value)
        w.emit(data, len(data))

    return write


def _int(w: Writer, value: int, depth: int) -> None:
    if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        w.emit(f.TAG_INT.pack(f.INT, value), 9)
        return
    size = value.bit_length() // 8 + 1
    if w.in_key and size > f.MAX_KEY_INT:
        w.truncated = True
        w.opaque(value, depth, TOO_LARGE)
        return
    w.room(size)
    w.emit(f.TAG_LENGTH.pack(f.BIG_INT, size) + value.to_bytes(size, "little", signed=True), size + 5)


def _float(w: Writer, value: float, depth: int) -> None:
    w.emit(f.TAG_FLOAT.pack(f.FLOAT, value), 9)


def _sized(w: Writer, tag: bytes, data: bytes) -> None:
    """Write a length and so many bytes."""
    w.emit(f.TAG_LENGTH.pack(tag, len(data)), 5)
    w.emit(data, len(data))


def _str(w: Writer, value: str, depth: int) -> None:
    w.room(len(value))
    _sized(w, f.STR, value.encode("utf-8", "surrogatepass"))


def _bytes(w: Writer, value: bytes, depth: int) -> None:
    _sized(w, f.BYTES, value)


def _bytearray(w: Writer, value: bytearray, depth: int) -> None:
    w.spend(f.OBJECT)
    if w.in_key:
        w.opaque(value)
        return
    w.room(len(value))
    _sized(w, f.BYTEARRAY, bytes(value))


def _list(w: Writer, value: list[Any], depth: int) -> None:
    w.body(value[:] if len(value) <= w.nodes else value, depth)


def _tuple(w: Writer, value: tuple[Any, ...], depth: int) -> None:
    w.body(value, depth)


def _hashed(w: Writer, value: set[Any] | frozenset[Any], depth: int) -> None:
    w.in_key += 1
    try:
        w.room(len(value))
        w.body(list(value), depth)
    finally:
        w.in_key -= 1


def _mapping(w: Writer, value: dict[Any, Any], depth: int) -> None:
    w.room(2 * len(value))
    if (
        0 < len(value) <= f.PART
        and _STR_ONLY.issuperset(map(type, value))
        and SCALARS.issuperset(map(type, value.values()))
    ):
        packed = packed_bytes(value)
        if packed is not None and (len(packed) <= w.left or len(value) > FEW):
            w.spend(2 * len(value))
            _sized(w, f.PACKED_MAP, packed)
            return
    keys, values = list(value), list(value.values())
    w.in_key += 1
    try:
        w.body(keys, depth)
    finally:
        w.in_key -= 1
    w.body(values, depth)


_write_list, _write_tuple = container(_list, f.LIST), container(_tuple, f.TUPLE, in_keys=True)
_write_set, _write_frozenset = container(_hashed, f.SET), container(_hashed, f.FROZENSET, in_keys=True)
_write_dict = container(_mapping, f.DICT)


def _ordered_dict(w: Writer, value: OrderedDict[Any, Any], depth: int) -> None:
    # Its order is its own, not that of the dict underneath: `move_to_end` changes only the former.
    _write_dict(w, dict(OrderedDict.items(value)), depth)


def _range(w: Writer, value: range, depth: int) -> None:
    w.spend(f.OBJECT)
    w.emit(f.RANGE, 1)
    for number in (value.start, value.stop, value.step):
        _int(w, number, depth)


def _date(value: date) -> bytes:
    return f.DATE.pack(value.year, value.month, value.day)


def _clock(value: time | datetime) -> bytes:
    return f.TIME.pack(value.hour, value.minute, value.second, value.microsecond, value.fold)


def _zone(zone: tzinfo | None) -> bytes:
    if zone is None:
        return f.NO_ZONE
    if type(zone) is not timezone:
        return f.ZONE_KEY + text_bytes(_zone_key(zone))
    delta, name = (*timezone.__getinitargs__(zone), "")[:2]  # type: ignore[attr-defined]
    offset = f.TIMEDELTA.pack(delta.days, delta.seconds, delta.microseconds)
    return f.NAMED_OFFSET + offset + text_bytes(name[:200]) if name else f.OFFSET + offset


def _zone_key(zone: tzinfo) -> str:
    zoneinfo = sys.modules.get("zoneinfo")
    if zoneinfo is None or type(zone) is not zoneinfo.ZoneInfo:
        raise TypeError("a tzinfo of another kind")
    key = getattr(zone, "key", None)
    if type(key) is not str or not f.ZONE_NAME.match(key):
        raise TypeError("a zone without a proper name")
    return key


def _decimal(w: Writer, value: Any, depth: int) -> None:
    w.spend(f.OBJECT)
    data = str(value).encode("ascii")
    if w.in_key and len(data) > f.MAX_KEY_DECIMAL:
        w.truncated = True
        w.opaque(value, depth, TOO_LARGE)
        return
    w.emit(f.TAG_LENGTH.pack(f.DECIMAL, len(data)) + data, len(data) + 5)


def _fraction(w: Writer, value: Any, depth: int) -> None:
    w.spend(f.OBJECT)
    numerator, denominator = value.numerator, value.denominator
    if type(numerator) is not int or type(denominator) is not int:
        raise TypeError("a Fraction of other numbers")
    if max(numerator.bit_length(), denominator.bit_length()) >= 8 * (f.MAX_KEY_INT if w.in_key else f.MAX_FRACTION_INT):
        w.truncated = True
        w.opaque(value, depth, TOO_LARGE)
        return
    w.emit(f.FRACTION, 1)
    _int(w, numerator, depth)
    _int(w, denominator, depth)


_WRITERS: dict[type, Write] = {
    type(None): lambda w, value, depth: w.emit(f.NONE, 1),
    bool: lambda w, value, depth: w.emit(f.TRUE if value else f.FALSE, 1),
    int: _int,
    float: _float,
    complex: _object(lambda value: f.COMPLEX_TAG + f.COMPLEX.pack(value.real, value.imag)),
    str: _str,
    bytes: _bytes,
    bytearray: _bytearray,
    list: _write_list,
    tuple: _write_tuple,
    set: _write_set,
    frozenset: _write_frozenset,
    dict: _write_dict,
    OrderedDict: _ordered_dict,
    range: _range,
    date: _object(lambda value: f.DATE_TAG + _date(value)),
    time: _object(lambda value: f.TIME_TAG + _clock(value) + _zone(value.tzinfo)),
    datetime: _object(lambda value: f.DATETIME + _date(value) + _clock(value) + _zone(value.tzinfo)),
    timedelta: _object(lambda value: f.TIMEDELTA_TAG + f.TIMEDELTA.pack(value.days, value.seconds, value.microseconds)),
    Opaque: Writer.opaque,
    Formula: Writer.opaque,
    ByFields: write_by_fields,
}

_LATER: dict[tuple[str, str], Write] = {
    ("decimal", "Decimal"): _decimal,
    ("fractions", "Fraction"): _fraction,
    ("uuid", "UUID"): _object(lambda value: f.UUID_TAG + int.to_bytes(value.int, 16, "big")),
}
"""Types of modules that may not be imported: looked up in `sys.modules` when a type is not known."""

_BASES: tuple[tuple[type, Callable[[Any], Any], Write], ...] = (
    (str, str.__str__, _str),
    (int, int.__int__, _int),
    (float, float.__float__, _float),
    (bytes, lambda value: bytes.__getitem__(value, slice(None)), _bytes),
    (list, lambda value: list.__getitem__(value, slice(None)), _write_list),
    (tuple, lambda value: tuple.__getitem__(value, slice(None)), _write_tuple),
    (dict, dict.copy, _write_dict),
    (set, lambda value: set(set.__iter__(value)), _write_set),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value)), _write_frozenset),
)
"""Base, how its plain data is read without asking the subclass, and what writes it."""


def _writer_of_subclass(kind: type) -> Write:
    """Return what writes a type that is not in the table: a library's scalar, a subclass by its base, else `opaque`."""
    for (module, name), write in _LATER.items():
        if kind is getattr(sys.modules.get(module), name, None):
            _WRITERS[kind] = write
            return write
    write_table = _writer_of_library(kind)
    if write_table is not None:
        _WRITERS[kind] = write_table
        return write_table
    mro = mro_of(kind)
    if getattr(sys.modules.get("enum"), "Enum", None) in mro:
        return Writer.opaque
    for base, plain, write in _BASES:
        if base in mro:
            return _as_base(plain, write)
    return Writer.opaque


def _as_base(plain: Callable[[Any], Any], write: Write) -> Write:
    # The copy has another id: a cycle shows on the original alone.
    return container(lambda w, value, depth: write(w, plain(value), depth - 1), in_keys=True)


def _writer_of_library(kind: type) -> Write | None:
    module = module_of(kind)
    if type(module) is not str or module.partition(".")[0] not in ("numpy", "pandas", "sympy", "mpmath"):
        return None
    from safeexec.protocol.values.arrays import writer_of  # for values of these four

    return writer_of(kind)
