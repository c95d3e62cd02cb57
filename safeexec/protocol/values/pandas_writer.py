"""Write what pandas has: DataFrames, Series and indexes column by column, and its own scalars.

A column is a tuple: the kind of its dtype, what the dtype needs, the data, which are arrays, lists or columns again.
pandas is not imported: what is in `sys.modules` decides.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from safeexec.protocol.values import format as f
from safeexec.protocol.values.writer import as_table, container

if TYPE_CHECKING:
    from collections.abc import Callable

    from safeexec.protocol.values.writer import Write, Writer

NULLABLE = {
    "Int8": "i1", "Int16": "i2", "Int32": "i4", "Int64": "i8", "UInt8": "u1", "UInt16": "u2", "UInt32": "u4",
    "UInt64": "u8", "Float32": "f4", "Float64": "f8", "boolean": "?",
}  # fmt: skip
"""dtype of pandas that can miss items → the one of numpy that holds them."""
_INDEXES = ("Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "PeriodIndex", "IntervalIndex",
            "CategoricalIndex")  # fmt: skip
_REGULAR = re.compile(r"-?[0-9]{0,6}(?:D|h|min|s|ms|us|ns)\Z")
"""Frequencies whose dates are all equally far apart."""
_WALKED = re.compile(r"-?[0-9]{0,6}(?:B|W-[A-Z]{3}|BM[SE]|M[SE]|SM[SE]-[0-9]{1,2}|B?[QY][SE]-[A-Z]{3})\Z")
"""Frequencies by which pandas walks from one date to the next."""
_MAX_WALKED = 1 << 16
"""Dates of an index for which it may."""


def writer_of(kind: type) -> Write | None:
    """Return what writes this type of pandas, or None where it is written like any other."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    writers: dict[Any, Write] = {
        pandas.DataFrame: _table(_write_frame, f.FRAME),
        pandas.Series: _table(_write_series, f.SERIES),
        pandas.Timestamp: _write_timestamp,
        pandas.Timedelta: _write_timedelta,
        pandas.Period: _scalar_writer(lambda value: ("period", (value.ordinal, value.freqstr, str(value)))),
        pandas.Interval: _scalar_writer(lambda value: ("interval", (value.left, value.right, value.closed))),
        type(pandas.NaT): _scalar_writer(lambda value: ("NaT", None)),
        type(pandas.NA): _scalar_writer(lambda value: ("NA", None)),
        **{getattr(pandas, name): _table(_write_index, f.INDEX) for name in _INDEXES},
    }
    if issubclass(kind, pandas.api.extensions.ExtensionArray):
        return _table(_write_array_value, f.INDEX)
    return writers.get(kind)


def _table(write: Write, tag: bytes) -> Write:
    return as_table(container(write, tag, cost=f.OBJECT))


def _write_timestamp(w: Writer, value: Any, depth: int) -> None:
    if value.nanosecond:
        _write_scalar(w, ("timestamp", (value.value, None if value.tz is None else str(value.tz))), depth)
    else:
        w.put(value.to_pydatetime(warn=False), depth)


def _write_timedelta(w: Writer, value: Any, depth: int) -> None:
    if value.nanoseconds:
        _write_scalar(w, ("timedelta", value.value), depth)
    else:
        w.put(value.to_pytimedelta(), depth)


def _scalar_writer(pair_of: Callable[[Any], tuple[str, Any]]) -> Write:
    """Return what writes a scalar of pandas by its kind and what it holds."""
    return lambda w, value, depth: _write_scalar(w, pair_of(value), depth)


def _write_scalar(w: Writer, pair: tuple[str, Any], depth: int) -> None:
    w.spend(f.OBJECT)
    w.emit(f.PANDAS_SCALAR, 1)
    w.put(pair, depth + 1)


def _write_frame(w: Writer, value: Any, depth: int) -> None:
    _write_index(w, value.index, depth)
    _write_index(w, value.columns, depth)
    w.emit(f.LENGTH.pack(value.shape[1]), 4)
    if (block := _block(value)) is not None:
        w.put(block, depth)
        return
    for position in range(value.shape[1]):
        w.put(_column(value.iloc[:, position]), depth)


def _block(frame: Any) -> Any:
    """Return all columns of a frame as the rows of one array, where they are of one kind (4 columns: 0.1 ms instead of
    0.5; 100: 0.2 instead of 10).
    """
    kinds = set(frame.dtypes)
    if len(kinds) != 1 or frame.shape[1] < 2 or not f.SCALAR_DTYPE.match(getattr(kinds.pop(), "str", "")):
        return None
    return frame.to_numpy().T


def _write_series(w: Writer, value: Any, depth: int) -> None:
    _write_index(w, value.index, depth)
    w.put(value.name, depth)
    w.put(_column(value), depth)


def _write_array_value(w: Writer, value: Any, depth: int) -> None:
    """Write `df["a"].array`, a Categorical: an index without a name carries it; what comes back is its array."""
    w.put([], depth)
    w.put(_column(sys.modules["pandas"].Series(value)), depth)


def _write_index(w: Writer, index: Any, depth: int) -> None:
    """Write an index: its names and one column, which for a range is a range, and for a MultiIndex levels and codes."""
    pandas = sys.modules["pandas"]
    w.put(list(index.names), depth)
    if type(index) is pandas.RangeIndex:
        w.put(("range", None, range(index.start, index.stop, index.step)), depth)
    elif isinstance(index, pandas.MultiIndex):
        codes = [sys.modules["numpy"].asarray(codes) for codes in index.codes]
        w.put(("levels", None, [[_column(level) for level in index.levels], codes]), depth)
    else:
        w.put(_column(index), depth)


def _column(column: Any) -> tuple[str, Any, Any]:
    """Return a Series or an Index of one level as kind, detail and data."""
    pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
    dtype = column.dtype
    if isinstance(dtype, numpy.dtype):
        return "array", _frequency_of(column), column.to_numpy()
    if isinstance(dtype, pandas.StringDtype):
        kind = "string" if dtype.na_value is pandas.NA else "str"
        return "text", (kind, dtype.storage), column.to_numpy(dtype=object, na_value=None).tolist()
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = column.cat.codes if isinstance(column, pandas.Series) else column.codes
        return "category", bool(dtype.ordered), [numpy.asarray(codes), _column(dtype.categories)]
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = pandas.DatetimeIndex(column).tz_convert("UTC").tz_localize(None).to_numpy()
        return "zoned", (dtype.unit, str(dtype.tz), _frequency_of(column)), moments
    if dtype.name in NULLABLE:
        missing = numpy.asarray(column.isna())
        return "nullable", dtype.name, [column.to_numpy(dtype=NULLABLE[dtype.name], na_value=0), missing]
    return _rare_column(column, dtype, pandas, numpy)


def _frequency_of(column: Any) -> str | None:
    """Return the frequency of an index, where it is kept."""
    name = getattr(column, "freqstr", None)
    return name if name is not None and keeps_frequency(name, len(column)) else None


def keeps_frequency(frequency: str, dates: int) -> bool:
    """Return whether an index of so many dates crosses with its frequency. It arrives without one that its name does
    not give in full (holidays, hours, `DateOffset(months=1)`), or for which pandas would take too long: it holds a
    frequency against every date, and walks from one to the next unless all are equally far apart (5 us; a custom month:
    40).
    """
    return bool(_REGULAR.match(frequency) or (dates <= _MAX_WALKED and _WALKED.match(frequency)))


def _rare_column(column: Any, dtype: Any, pandas: Any, numpy: Any) -> tuple[str, Any, Any]:
    if isinstance(dtype, pandas.PeriodDtype):
        texts = [str(item) if item is not pandas.NaT else None for item in column]
        return "period", (dtype.name[7:-1], texts), numpy.asarray(column.array.asi8)
    if isinstance(dtype, pandas.IntervalDtype):
        array = column.array
        return "interval", dtype.closed, [_column(pandas.Index(array.left)), _column(pandas.Index(array.right))]
    if isinstance(dtype, pandas.SparseDtype):
        return "sparse", dtype.fill_value, numpy.asarray(column)
    items = column.to_numpy(dtype=object, na_value=None).tolist()
    if isinstance(dtype, pandas.ArrowDtype):
        return "arrow", str(dtype.pyarrow_dtype), items
    return "objects", None, items
