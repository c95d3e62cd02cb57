"""numpy scalars and arrays, DataFrames and Series ↔ bytes: raw buffers under an allow list of dtypes, columns one by
one.

Neither library is imported to write (what is in `sys.modules` decides), nor to read a scalar. `arrays=True` imports
them where the data needs them, and gives lists and dicts of lists where they are not installed.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta
from struct import Struct
from typing import TYPE_CHECKING, Any

from safeexec.errors import ProtocolError
from safeexec.identity import identity
from safeexec.protocol.values import format as f

if TYPE_CHECKING:
    from safeexec.protocol.values.decoder import Reader
    from safeexec.protocol.values.encoder import Writer, _Write

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


# Writing


def writer_of(kind: type) -> _Write | None:
    """What writes this type of numpy or pandas, or None where it is written like any other."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None:
        if kind is numpy.ndarray:
            return _write_array
        if kind in (numpy.str_, numpy.bytes_):
            return None
        if kind in numpy.sctypeDict.values():
            return _write_scalar
    if pandas is not None:
        if kind is pandas.DataFrame:
            return _write_frame
        if kind is pandas.Series:
            return _write_series
        if kind is pandas.Timestamp:
            return _write_timestamp
        if kind is pandas.Timedelta:
            return _write_timedelta
        if kind is type(pandas.NaT):
            return _write_opaque
    return None


def _write_opaque(w: Writer, value: Any, depth: int) -> None:
    w.opaque(value)


def _write_timestamp(w: Writer, value: Any, depth: int) -> None:
    if value.nanosecond:
        w.opaque(value)
    else:
        w.put(value.to_pydatetime(warn=False), depth)


def _write_timedelta(w: Writer, value: Any, depth: int) -> None:
    if value.nanoseconds:
        w.opaque(value)
    else:
        w.put(value.to_pytimedelta(), depth)


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
    w.emit(f.NUMPY_SCALAR + bytes((len(name),)) + name + data, 2 + len(name) + len(data))


def _write_array(w: Writer, value: Any, depth: int) -> None:
    if not w.arrays or w.in_key:
        w.opaque(value)
        return
    dtype = value.dtype.str
    if f.SCALAR_DTYPE.match(dtype) or f.TEXT_DTYPE.match(dtype):
        w.room(value.nbytes)
        data = value.tobytes() if not value.flags.c_contiguous or value.ndim == 0 else _buffer(value)
        _write_header(w, f.ARRAY, dtype, value.shape)
        w.emit(f.LENGTH.pack(value.nbytes), 4)
        w.emit(data, value.nbytes)
    elif value.dtype.kind in "OT" and w.enter(value, depth):
        try:
            _write_header(w, f.OBJECT_ARRAY, "|O", value.shape)
            w.body(value.ravel().tolist(), depth + 1)
        finally:
            w.open.discard(identity(value))
    elif value.dtype.kind not in "OT":
        w.opaque(value)


def _buffer(value: Any) -> Any:
    """The bytes of a contiguous array, not copied; dates have no buffer of their own and are seen as bytes."""
    numpy = sys.modules["numpy"]
    return value.reshape(-1).view(numpy.uint8).data if value.nbytes else b""


def _write_header(w: Writer, tag: bytes, dtype: str, shape: tuple[int, ...]) -> None:
    name = dtype.encode("ascii")
    header = tag + bytes((len(name),)) + name + bytes((len(shape),)) + b"".join(f.INT64.pack(size) for size in shape)
    w.emit(header, len(header))


def _write_frame(w: Writer, value: Any, depth: int) -> None:
    if not w.arrays or w.in_key or not w.enter(value, depth):
        w.opaque(value)
        return
    try:
        w.emit(f.FRAME, 1)
        _write_index(w, value.index, depth + 1)
        _write_index(w, value.columns, depth + 1)
        w.emit(f.LENGTH.pack(value.shape[1]), 4)
        for position in range(value.shape[1]):
            _write_column(w, value.iloc[:, position], depth + 1)
    finally:
        w.open.discard(identity(value))


def _write_series(w: Writer, value: Any, depth: int) -> None:
    if not w.arrays or w.in_key or not w.enter(value, depth):
        w.opaque(value)
        return
    try:
        w.emit(f.SERIES, 1)
        _write_index(w, value.index, depth + 1)
        w.put(value.name, depth + 1)
        _write_column(w, value, depth + 1)
    finally:
        w.open.discard(identity(value))


def _write_index(w: Writer, index: Any, depth: int) -> None:
    """An index: its names, then a range, tuples (MultiIndex) or one column."""
    pandas = sys.modules["pandas"]
    w.put(list(index.names), depth)
    if type(index) is pandas.RangeIndex:
        w.put(range(index.start, index.stop, index.step), depth)
    elif isinstance(index, pandas.MultiIndex):
        w.put([tuple(item) for item in index.tolist()], depth)
    else:
        _write_column(w, index.to_series(), depth)


def _write_column(w: Writer, column: Any, depth: int) -> None:
    """A column as a tuple: the kind of its dtype, what the dtype needs, the data."""
    numpy = sys.modules["numpy"]
    dtype = column.dtype
    if isinstance(dtype, numpy.dtype):
        w.put(("array", None, column.to_numpy()), depth)
    elif dtype.name == "category":
        categories = column.cat.categories
        w.put(("category", bool(dtype.ordered), [column.cat.codes.to_numpy(), categories.tolist()]), depth)
    elif dtype.name.startswith("datetime64"):
        unit, zone = dtype.unit, str(dtype.tz)
        w.put(("zoned", (unit, zone), column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()), depth)
    elif dtype.name in _NULLABLE:
        missing = column.isna().to_numpy()
        filled = column.fillna(False if dtype.name == "boolean" else 0).to_numpy(_NULLABLE[dtype.name])
        w.put(("nullable", dtype.name, [filled, missing]), depth)
    else:
        items = column.astype(object).where(column.notna(), None).tolist()
        w.put(("text" if dtype.name in ("str", "string") else "objects", None, items), depth)


_NULLABLE = {
    "Int8": "i1", "Int16": "i2", "Int32": "i4", "Int64": "i8", "UInt8": "u1", "UInt16": "u2", "UInt32": "u4",
    "UInt64": "u8", "Float32": "f4", "Float64": "f8", "boolean": "?",
}  # fmt: skip


# Reading


def read_table(r: Reader, tag: bytes, depth: int) -> Any:
    """The scalar, array, Series or DataFrame that starts after its tag."""
    if tag == f.NUMPY_SCALAR:
        return _read_scalar(r)
    if depth >= r.max_depth:
        raise ProtocolError("a value nests too deeply")
    r.check_time()
    if tag == f.ARRAY:
        return _read_array(r)
    if tag == f.OBJECT_ARRAY:
        return _read_object_array(r, depth)
    return _read_frame(r, depth) if tag == f.FRAME else _read_series(r, depth)


def _read_dtype(r: Reader) -> str:
    (size,) = r.take(1)
    return str(r.take(size), "ascii")


def _read_scalar(r: Reader) -> Any:
    dtype = _read_dtype(r)
    if not f.SCALAR_DTYPE.match(dtype):
        raise ProtocolError("a bad dtype in a value")
    kind = dtype[1:].partition("[")[0]
    data = r.take(8 if kind in ("M8", "m8") else _PLAIN[kind].size)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if kind == "b1":
            data = memoryview(b"\x01" if data[0] else b"\x00")
        return numpy.frombuffer(data, dtype=dtype)[0]
    return _plain(dtype, data)


def _plain(dtype: str, data: memoryview) -> Any:
    """A numpy scalar as Python's own kind."""
    order = ">" if dtype[0] == ">" else "<"
    kind, _, unit = dtype[1:].partition("[")
    if kind in ("M8", "m8"):
        return _plain_time(kind, unit.rstrip("]"), Struct(order + "q").unpack(data)[0])
    numbers = Struct(order + _PLAIN[kind].format).unpack(data)
    return complex(*numbers) if len(numbers) == 2 else numbers[0]


def _plain_time(kind: str, unit: str, number: int) -> Any:
    """datetime64 as date or datetime, timedelta64 as timedelta; the bare number where Python's types cannot hold it."""
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
    if dimensions > _MAX_DIMENSIONS:
        raise ProtocolError("an array of too many dimensions in a value")
    shape = tuple(f.INT64.unpack(r.take(8))[0] for _ in range(dimensions))
    count = 1
    for size in shape:
        if not 0 <= size < 1 << 40:
            raise ProtocolError("an array of an impossible shape in a value")
        count *= size
    return shape, count


def _library(r: Reader, name: str) -> Any:
    """A library where the caller asked for arrays and it can be imported, else None."""
    if not r.arrays:
        return None
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        return None


def _read_array(r: Reader) -> Any:
    dtype = _read_dtype(r)
    if not (f.SCALAR_DTYPE.match(dtype) or f.TEXT_DTYPE.match(dtype)):
        raise ProtocolError("a bad dtype in a value")
    shape, count = _read_shape(r)
    data = r.chunk()
    if count * _item_size(dtype) != len(data):
        raise ProtocolError(f"an array of shape {shape} and dtype {dtype} cannot have {len(data)} bytes")
    if not len(data):
        r.spend(count)  # nothing pays for its items: `S0`
    numpy = _library(r, "numpy")
    if numpy is None:
        r.spend(count)
        return _nested(_plain_items(dtype, data), shape)
    array = numpy.frombuffer(data, dtype=dtype, count=count) if len(data) else numpy.zeros(count, dtype=dtype)
    return _valid(numpy, array).reshape(shape).copy()


def _item_size(dtype: str) -> int:
    kind = dtype[1:].partition("[")[0]
    if kind[0] in "US":
        return int(kind[1:]) * (4 if kind[0] == "U" else 1)
    return 8 if kind in ("M8", "m8") else _PLAIN[kind].size


def _valid(numpy: Any, array: Any) -> Any:
    """Bytes that numpy itself takes on trust: truth values other than 0 and 1, code points beyond Unicode."""
    if array.dtype.kind == "b":
        return array.view(numpy.uint8) != 0
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        points = array.view(array.dtype.str[0] + "u4")
        if int(points.max()) > 0x10FFFF:
            raise ProtocolError("an array of text holds what is no character")
    return array


def _plain_items(dtype: str, data: memoryview) -> list[Any]:
    size = _item_size(dtype)
    pieces = [data[start : start + size] for start in range(0, len(data), size)] if size else []
    if dtype[1] == "U":
        codec = "utf-32-be" if dtype[0] == ">" else "utf-32-le"
        return [str(piece, codec, "surrogatepass").rstrip("\0") for piece in pieces]
    if dtype[1] == "S":
        return [bytes(piece).rstrip(b"\0") for piece in pieces]
    return [_plain(dtype, piece) for piece in pieces]


def _nested(items: list[Any], shape: tuple[int, ...]) -> Any:
    """A flat list as lists in lists; of no dimension: the one item."""
    if not shape:
        return items[0]
    for size in reversed(shape[1:]):
        items = [items[start : start + size] for start in range(0, len(items), size)] if size else []
    return items


def _read_object_array(r: Reader, depth: int) -> Any:
    if _read_dtype(r) != "|O":
        raise ProtocolError("a bad dtype in a value")
    shape, count = _read_shape(r)
    items = r.body(depth + 1)
    if len(items) != count:
        raise ProtocolError("an array of which shape and items differ")
    numpy = _library(r, "numpy")
    if numpy is None:
        return _nested(items, shape)
    array = numpy.empty(count, dtype=object)
    for position, item in enumerate(items):  # `array[:] = items` would look into items that are sequences
        array[position] = item
    return array.reshape(shape)


def _read_index(r: Reader, depth: int, pandas: Any) -> tuple[list[Any], Any]:
    names = r.value(depth)
    if type(names) is not list or not names or len(names) > 64:
        raise ProtocolError("an index without names in a value")
    if r.view[r.at] == f.TUPLE[0]:
        return names, _read_column(r, depth, pandas)
    labels = r.value(depth)
    if type(labels) not in (range, list):
        raise ProtocolError("a bad index in a value")
    if type(labels) is range:
        if len(labels) > 1 << 40:
            raise ProtocolError("an index of an impossible length in a value")
    elif any(type(label) is not tuple or len(label) != len(names) for label in labels):
        raise ProtocolError("a bad index in a value")
    return names, labels


def _index(pandas: Any, names: list[Any], labels: Any) -> Any:
    if type(labels) is range:
        return pandas.RangeIndex(labels, name=names[0])
    if type(labels) is list:
        return pandas.MultiIndex.from_tuples(labels, names=names)
    return pandas.Index(labels, name=names[0])


def _read_frame(r: Reader, depth: int) -> Any:
    pandas = _library(r, "pandas")
    rows = _read_index(r, depth + 1, pandas)
    columns = _read_index(r, depth + 1, pandas)
    count = r.length()
    if count > len(r.view) - r.at:
        raise ProtocolError("a DataFrame of too many columns in a value")
    r.spend(count)
    data = []
    for _ in range(count):
        r.check_time()
        data.append(_read_column(r, depth + 1, pandas))
    if len(columns[1]) != count or any(len(column) != len(rows[1]) for column in data):
        raise ProtocolError("a DataFrame of which index and columns differ in length")
    if pandas is None:
        return dict(zip(columns[1], data, strict=True))
    index = _index(pandas, *rows)
    frame = pandas.DataFrame(dict(enumerate(data)), index=range(len(index)) if count else index)
    frame.index = index
    frame.columns = _index(pandas, *columns)
    return frame


def _read_series(r: Reader, depth: int) -> Any:
    pandas = _library(r, "pandas")
    rows = _read_index(r, depth + 1, pandas)
    name = r.value(depth + 1)
    data = _read_column(r, depth + 1, pandas)
    if len(data) != len(rows[1]):
        raise ProtocolError("a Series of which index and values differ in length")
    if pandas is None:
        return data
    series = pandas.Series(data)
    series.index = _index(pandas, *rows)
    series.name = name
    return series


def _read_column(r: Reader, depth: int, pandas: Any) -> Any:
    """A column as something with a length that `pandas.Series` takes as it is; a list where pandas is missing."""
    parts = r.value(depth)
    if type(parts) is not tuple or len(parts) != 3:
        raise ProtocolError("a bad column in a value")
    kind, detail, data = parts
    if kind == "array" and (type(data) is list if pandas is None else getattr(data, "ndim", 0) == 1):
        return data
    if kind in ("text", "objects") and type(data) is list:
        return data if pandas is None else pandas.array(data, dtype="str" if kind == "text" else object)
    if kind == "zoned" and type(detail) is tuple and len(detail) == 2:
        return _zoned(r, detail, data, pandas)
    if kind in ("category", "nullable") and type(data) is list and len(data) == 2:
        read = _category if kind == "category" else _nullable
        return read(detail, data[0], data[1], pandas)
    raise ProtocolError("a bad column in a value")


def _zoned(r: Reader, detail: tuple[Any, Any], data: Any, pandas: Any) -> Any:
    from safeexec.protocol.values.decoder import UnknownZone, named_zone

    unit, name = detail
    if unit not in ("s", "ms", "us", "ns") or type(name) is not str:
        raise ProtocolError("a bad zone in a value")
    if pandas is None:
        return data
    if getattr(getattr(data, "dtype", None), "kind", "") != "M" or data.ndim != 1:
        raise ProtocolError("a bad column in a value")
    zone = "UTC" if name.startswith("UTC") else named_zone(r, name)
    series = pandas.Series(data).dt.tz_localize("UTC")
    return series if isinstance(zone, UnknownZone) else series.dt.tz_convert(zone)


def _category(ordered: Any, codes: Any, categories: Any, pandas: Any) -> Any:
    if type(categories) is not list or type(ordered) is not bool:
        raise ProtocolError("a bad column in a value")
    if pandas is None:
        return [categories[code] if 0 <= code < len(categories) else None for code in codes]
    return pandas.Categorical.from_codes(codes, categories=categories, ordered=ordered)


def _nullable(name: Any, filled: Any, missing: Any, pandas: Any) -> Any:
    if name not in _NULLABLE or len(filled) != len(missing):
        raise ProtocolError("a bad column in a value")
    if pandas is None:
        return [None if absent else item for item, absent in zip(filled, missing, strict=True)]
    array = pandas.array(filled, dtype=name)
    array[missing.astype(bool)] = pandas.NA
    return array
