"""numpy scalars and arrays ↔ bytes: raw buffers under an allow list of dtypes, fields and masks as arrays of their own.

numpy is not imported to write (what is in `sys.modules` decides), nor to read a scalar. `arrays=True` imports it where
the data needs it, and gives lists where it is not installed. What pandas has is in `pandas_writer` and `pandas_reader`,
what sympy and mpmath have in `formulas`.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta
from struct import Struct
from typing import TYPE_CHECKING, Any

from safeexec.errors import ProtocolError
from safeexec.protocol.values import format as f
from safeexec.protocol.values import formulas, pandas_reader, pandas_writer
from safeexec.protocol.values.reader import library, refuse_if
from safeexec.protocol.values.writer import as_table, container

if TYPE_CHECKING:
    from collections.abc import Callable

    from safeexec.protocol.values.reader import Reader
    from safeexec.protocol.values.writer import Write, Writer

_MAX_DIMENSIONS = 32
_PLAIN = {
    "b1": Struct("?"), "i1": Struct("b"), "u1": Struct("B"), "i2": Struct("h"), "u2": Struct("H"), "i4": Struct("i"),
    "u4": Struct("I"), "i8": Struct("q"), "u8": Struct("Q"), "f2": Struct("e"), "f4": Struct("f"), "f8": Struct("d"),
    "c8": Struct("ff"), "c16": Struct("dd"),
}  # fmt: skip
_MICROSECONDS = {
    "W": 604_800_000_000, "D": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1,
}  # fmt: skip
_NAT = -(1 << 63)
_SHARE = 8
"""An array may keep a buffer of up to so many times its own size alive."""


# Writing


def writer_of(kind: type) -> Write | None:
    """Return what writes this type of numpy, pandas, sympy or mpmath, or None where it is written like any other."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if kind in (numpy.ndarray, numpy.memmap):
            return as_table(_write_array)
        if kind in (numpy.str_, numpy.bytes_):
            return None
        if kind is numpy.void:
            return _write_record_scalar
        if kind in numpy.sctypeDict.values():
            return _write_scalar
        if kind is getattr(sys.modules.get("numpy.ma"), "MaskedArray", None):
            return as_table(container(_masked, f.MASKED, cost=f.OBJECT))
    return pandas_writer.writer_of(kind) or formulas.writer_of(kind)


def _write_scalar(w: Writer, value: Any, depth: int) -> None:
    dtype = value.dtype.str
    if not f.SCALAR_DTYPE.match(dtype):
        if value.dtype.kind == "f":  # long double: its bytes are a matter of the machine
            w.put(float(value), depth)
        elif value.dtype.kind == "c":
            w.put(complex(value), depth)
        else:
            w.opaque(value)
        return
    name, data = dtype.encode("ascii"), value.tobytes()
    w.spend(f.OBJECT)
    w.emit(f.NUMPY_SCALAR + bytes((len(name),)) + name + data, 2 + len(name) + len(data))


def _write_record_scalar(w: Writer, value: Any, depth: int) -> None:
    """Write one record of a structured array, as a tuple."""
    if value.dtype.names is None:
        w.opaque(value)
    else:
        w.put(value.item(), depth)


def _write_array(w: Writer, value: Any, depth: int) -> None:
    dtype = value.dtype.str
    if f.SCALAR_DTYPE.match(dtype) or f.TEXT_DTYPE.match(dtype):
        w.room(value.nbytes)
        data = value.tobytes() if not value.flags.c_contiguous or value.ndim == 0 else _buffer(value)
        _write_header(w, f.ARRAY, dtype, value.shape)
        w.emit(f.LENGTH.pack(value.nbytes), 4)
        w.align()
        w.emit(data, value.nbytes)
    elif value.dtype.kind in "OT":
        container(_objects)(w, value, depth)
    elif value.dtype.names is not None:
        container(_records)(w, value, depth)
    else:
        w.opaque(value)


def _objects(w: Writer, value: Any, depth: int) -> None:
    _write_header(w, f.OBJECT_ARRAY, "|O", value.shape)
    w.body(value.ravel().tolist(), depth)


def _records(w: Writer, value: Any, depth: int) -> None:
    """Write a structured array, field by field: no offsets cross, and none can be forged."""
    names = list(value.dtype.names)
    _write_header(w, f.RECORDS, "|V", value.shape)
    w.put(names, depth)
    for name in names:
        w.put(value[name], depth)


def _masked(w: Writer, value: Any, depth: int) -> None:
    """Write a masked array: what it holds, what is masked, and what stands for it."""
    numpy = sys.modules["numpy"]
    w.put(numpy.asarray(value.data), depth)
    w.put(numpy.ma.getmaskarray(value), depth)
    w.put(value.fill_value, depth)


def _buffer(value: Any) -> Any:
    """Return the bytes of a contiguous array, not copied; dates have no buffer of their own and are seen as bytes."""
    numpy = sys.modules["numpy"]
    return value.reshape(-1).view(numpy.uint8).data if value.nbytes else b""


def _write_header(w: Writer, tag: bytes, dtype: str, shape: tuple[int, ...]) -> None:
    name = dtype.encode("ascii")
    w.spend(f.OBJECT)
    header = tag + bytes((len(name),)) + name + bytes((len(shape),)) + b"".join(f.INT64.pack(size) for size in shape)
    w.emit(header, len(header))


# Reading


def read_table(r: Reader, tag: bytes, depth: int) -> Any:
    """Return the scalar, array, Series or DataFrame that starts after its tag."""
    if tag == f.NUMPY_SCALAR:
        return _read_scalar(r)
    refuse_if(depth >= r.max_depth, "a value nests too deeply")
    r.check_time()
    if tag == f.ARRAY:
        return _read_array(r)
    if tag in _READERS:
        return _READERS[tag](r, depth)
    arrays, r.arrays = r.arrays, library(r, "pandas") is not None  # where pandas is missing a frame is made of lists
    try:
        return pandas_reader.READERS[tag](r, depth)
    finally:
        r.arrays = arrays


def _read_dtype(r: Reader) -> str:
    (size,) = r.take(1)
    return str(r.take(size), "ascii")


def _read_scalar(r: Reader) -> Any:
    dtype = _read_dtype(r)
    refuse_if(not f.SCALAR_DTYPE.match(dtype), "a bad dtype in a value")
    kind = dtype[1:].partition("[")[0]
    data = r.take(8 if kind in ("M8", "m8") else _PLAIN[kind].size)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if kind == "b1":
            data = memoryview(b"\x01" if data[0] else b"\x00")
        return numpy.frombuffer(data, dtype=dtype)[0]
    return _plain(dtype, data)


def _plain(dtype: str, data: memoryview) -> Any:
    """Return a numpy scalar as Python's own kind."""
    order = ">" if dtype[0] == ">" else "<"
    kind, _, unit = dtype[1:].partition("[")
    if kind in ("M8", "m8"):
        return _plain_time(kind, unit.rstrip("]"), Struct(order + "q").unpack(data)[0])
    numbers = Struct(order + _PLAIN[kind].format).unpack(data)
    return complex(*numbers) if len(numbers) == 2 else numbers[0]


def _plain_time(kind: str, unit: str, number: int) -> Any:
    """Return datetime64 as date or datetime, timedelta64 as timedelta; the number where those cannot hold it."""
    if number == _NAT:
        return None
    name = unit.lstrip("0123456789")
    number *= int(unit[: len(unit) - len(name)] or 1)
    try:
        if name == "ns" and number % 1000 == 0:
            name, number = "us", number // 1000
        if kind == "M8" and name in ("Y", "M"):
            years, months = (number, 0) if name == "Y" else divmod(number, 12)
            return date(1970 + years, 1 + months, 1)
        span = timedelta(microseconds=number * _MICROSECONDS[name])
        if kind == "m8":
            return span
        moment = datetime(1970, 1, 1) + span
        return moment.date() if name in ("D", "W") else moment
    except (KeyError, OverflowError, ValueError):
        return number


def _read_shape(r: Reader) -> tuple[tuple[int, ...], int]:
    (dimensions,) = r.take(1)
    refuse_if(dimensions > _MAX_DIMENSIONS, "an array of too many dimensions in a value")
    shape = tuple(f.INT64.unpack(r.take(8))[0] for _ in range(dimensions))
    count = 1
    for size in shape:
        refuse_if(not 0 <= size < 1 << 40, "an array of an impossible shape in a value")
        count *= size
    return shape, count


def _read_array(r: Reader) -> Any:
    dtype = _read_dtype(r)
    refuse_if(not (f.SCALAR_DTYPE.match(dtype) or f.TEXT_DTYPE.match(dtype)), "a bad dtype in a value")
    shape, count = _read_shape(r)
    size = r.length()
    r.align()
    data = r.take(size)
    if count * _item_size(dtype) != len(data):
        raise ProtocolError(f"an array of shape {shape} and dtype {dtype} cannot have {len(data)} bytes")
    if not len(data):
        r.spend(count)  # nothing pays for its items: `S0`
    numpy = library(r, "numpy")
    if numpy is None:
        return _nested(_plain_items(r, dtype, data, count), shape)
    array = numpy.frombuffer(data, dtype=dtype, count=count) if len(data) else numpy.zeros(count, dtype=dtype)
    array = _valid(numpy, array).reshape(shape)
    # The caller's own buffer serves where this array is most of it: 1 MB less to copy, and no page to be had for it.
    if array.flags.writeable and array.flags.aligned and not r.view.readonly and _SHARE * size >= len(r.view):
        return array
    return array.copy()


def _item_size(dtype: str) -> int:
    kind = dtype[1:].partition("[")[0]
    if kind[0] in "US":
        return int(kind[1:]) * (4 if kind[0] == "U" else 1)
    return 8 if kind in ("M8", "m8") else _PLAIN[kind].size


def _valid(numpy: Any, array: Any) -> Any:
    """Return an array without what numpy takes on trust: truth values beyond 0 and 1, code points beyond Unicode."""
    if array.dtype.kind == "b":
        return array.view(numpy.uint8) != 0
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        points = array.view(array.dtype.str[0] + "u4")
        refuse_if(int(points.max()) > 0x10FFFF, "an array of text holds what is no character")
    return array


def _plain_items(r: Reader, dtype: str, data: memoryview, count: int) -> list[Any]:
    kind = dtype[1:]
    if kind in _PLAIN and kind[0] in "iuf" and kind != "f2" and dtype[0] != ">":
        r.spend(count)
        numbers = data.cast("B").cast(_PLAIN[kind].format)  # type: ignore[call-overload]
        return [number for start in range(0, count, f.PART) for number in numbers[start : start + f.PART].tolist()]
    r.spend(count * f.OBJECT)
    size = _item_size(dtype)
    pieces = [data[start : start + size] for start in range(0, len(data), size)] if size else []
    if dtype[1] == "U":
        codec = "utf-32-be" if dtype[0] == ">" else "utf-32-le"
        return [str(piece, codec, "surrogatepass").rstrip("\0") for piece in pieces]
    if dtype[1] == "S":
        return [bytes(piece).rstrip(b"\0") for piece in pieces]
    return [_plain(dtype, piece) for piece in pieces]


def _nested(items: list[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list as lists in lists; of no dimension: the one item."""
    if not shape:
        return items[0]
    for size in reversed(shape[1:]):
        items = [items[start : start + size] for start in range(0, len(items), size)] if size else []
    return items


def _read_object_array(r: Reader, depth: int) -> Any:
    refuse_if(_read_dtype(r) != "|O", "a bad dtype in a value")
    shape, count = _read_shape(r)
    items = r.body(depth + 1)
    refuse_if(len(items) != count, "an array of which shape and items differ")
    numpy = library(r, "numpy")
    if numpy is None:
        return _nested(items, shape)
    array = numpy.empty(count, dtype=object)
    for position, item in enumerate(items):  # `array[:] = items` would look into items that are sequences
        array[position] = item
    return array.reshape(shape)


def _read_records(r: Reader, depth: int) -> Any:
    """Return a structured array; a dict of its fields without numpy."""
    refuse_if(_read_dtype(r) != "|V", "a bad dtype in a value")
    shape, count = _read_shape(r)
    names = r.value(depth + 1)
    refuse_if(
        type(names) is not list or not names or any(type(name) is not str for name in names),
        "a structured array without field names in a value",
    )
    fields = [r.value(depth + 1) for _ in names]
    numpy = library(r, "numpy")
    if numpy is None:
        return dict(zip(names, fields, strict=True))
    refuse_if(
        any(type(field) is not numpy.ndarray or field.shape[: len(shape)] != shape for field in fields),
        "a structured array of which the fields differ in shape",
    )
    if not any(field.size for field in fields):
        r.spend(count)
    dtype = [(name, field.dtype, field.shape[len(shape) :]) for name, field in zip(names, fields, strict=True)]
    array = numpy.empty(shape, dtype=dtype)
    for name, field in zip(names, fields, strict=True):
        array[name] = field
    return array


def _read_masked(r: Reader, depth: int) -> Any:
    """Return a masked array; lists with None without numpy."""
    data, mask, fill = (r.value(depth + 1) for _ in range(3))
    numpy = library(r, "numpy")
    if numpy is None:
        return _without(data, mask)
    refuse_if(
        type(data) is not numpy.ndarray or type(mask) is not numpy.ndarray or mask.dtype.kind != "b",
        "a bad masked array in a value",
    )
    refuse_if(mask.shape != data.shape, "a masked array of which data and mask differ in shape")
    return numpy.ma.MaskedArray(data, mask=mask, fill_value=fill)


def _without(data: Any, mask: Any) -> Any:
    if type(data) is list and type(mask) is list:
        return [_without(item, hidden) for item, hidden in zip(data, mask, strict=True)]
    return None if mask is True else data


_READERS: dict[bytes, Callable[[Reader, int], Any]] = {
    f.OBJECT_ARRAY: _read_object_array,
    f.RECORDS: _read_records,
    f.MASKED: _read_masked,
}
