"""Write what pandas has, and read it: DataFrames, Series and indexes column by column, and its own scalars.

A column is a tuple: the kind of its dtype, what the dtype needs, the data, which are arrays, lists or columns again.
pandas is imported to read where `arrays=True` and the data needs it; without it a frame is a dict of lists, and a
Series a list, or a dict by its labels where they say more than the position.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from safeexec.errors import ProtocolError
from safeexec.protocol.values import format as f
from safeexec.protocol.values.reader import UnknownZone, library, named_zone, refuse
from safeexec.protocol.values.writer import as_table, container

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from safeexec.protocol.values.reader import Reader
    from safeexec.protocol.values.writer import Write, Writer


class Labelled(list[Any]):
    """A Series where pandas is missing, for a reader that knows only later what it wants: its values, and `by_label`,
    the same as a dict; None where a label is there twice.
    """

    type = "Series"
    by_label: dict[Any, Any] | None


class Columns(dict[Any, Any]):
    """A DataFrame where pandas is missing, likewise: its columns by name."""

    type = "DataFrame"


_NULLABLE = {
    "Int8": "i1", "Int16": "i2", "Int32": "i4", "Int64": "i8", "UInt8": "u1", "UInt16": "u2", "UInt32": "u4",
    "UInt64": "u8", "Float32": "f4", "Float64": "f8", "boolean": "?",
}  # fmt: skip
_INDEXES = ("Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "PeriodIndex", "IntervalIndex",
            "CategoricalIndex")  # fmt: skip
_FREQUENCY = re.compile(r"-?[0-9]{0,6}[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,2}\Z")
_REGULAR = re.compile(r"-?[0-9]{0,6}(?:D|h|min|s|ms|us|ns)\Z")
_WALKED = re.compile(r"-?[0-9]{0,6}(?:B|W-[A-Z]{3}|BM[SE]|M[SE]|SM[SE]-[0-9]{1,2}|B?[QY][SE]-[A-Z]{3})\Z")
_MAX_WALKED = 1 << 16
_CLOSED = ("left", "right", "both", "neither")
_UNITS = ("s", "ms", "us", "ns")
_MAX_ROWS = 1 << 40
_MAX_LEVELS = 64
_SHARED_COLUMNS = 32
"""A frame of so few columns keeps each in an array of its own, as it came."""


# Writing


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
        pandas.Period: _own(lambda value: ("period", (value.ordinal, value.freqstr, str(value)))),
        pandas.Interval: _own(lambda value: ("interval", (value.left, value.right, value.closed))),
        type(pandas.NaT): _own(lambda value: ("NaT", None)),
        type(pandas.NA): _own(lambda value: ("NA", None)),
        **{getattr(pandas, name): _table(_write_index, f.INDEX) for name in _INDEXES},
    }
    if issubclass(kind, pandas.api.extensions.ExtensionArray):
        return _table(_write_array_value, f.INDEX)
    return writers.get(kind)


def _table(write: Write, tag: bytes) -> Write:
    return as_table(container(write, tag, cost=f.OBJECT))


def _write_timestamp(w: Writer, value: Any, depth: int) -> None:
    if value.nanosecond:
        _write_own(w, ("timestamp", (value.value, None if value.tz is None else str(value.tz))), depth)
    else:
        w.put(value.to_pydatetime(warn=False), depth)


def _write_timedelta(w: Writer, value: Any, depth: int) -> None:
    if value.nanoseconds:
        _write_own(w, ("timedelta", value.value), depth)
    else:
        w.put(value.to_pytimedelta(), depth)


def _own(pair_of: Callable[[Any], tuple[str, Any]]) -> Write:
    """Return what writes a scalar of pandas by its kind and what it holds."""
    return lambda w, value, depth: _write_own(w, pair_of(value), depth)


def _write_own(w: Writer, pair: tuple[str, Any], depth: int) -> None:
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
    if dtype.name in _NULLABLE:
        missing = numpy.asarray(column.isna())
        return "nullable", dtype.name, [column.to_numpy(dtype=_NULLABLE[dtype.name], na_value=0), missing]
    return _rare_column(column, dtype, pandas, numpy)


def _frequency_of(column: Any) -> str | None:
    """Return the frequency of an index, where it is kept."""
    name = getattr(column, "freqstr", None)
    return name if name is not None and _keeps(name, len(column)) else None


def _keeps(frequency: str, dates: int) -> bool:
    """Tell whether an index of so many dates crosses with its frequency. It arrives without one that its name does not
    tell in full (holidays, hours, `DateOffset(months=1)`), or for which pandas would take too long: it holds a
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


# Reading


def _read_frame(r: Reader, depth: int) -> Any:
    pandas = library(r, "pandas")
    levels, rows = _read_index(r, depth + 1, pandas)
    names = _read_index(r, depth + 1, pandas)[1]
    count = r.length()
    refuse(count > len(r.view) - r.at, "a DataFrame of too many columns in a value")
    r.spend(count)
    if count and r.view[r.at] == f.ARRAY[0]:
        return _of_block(r, levels, rows, names, r.value(depth + 1), pandas)
    data = []
    for _ in range(count):
        r.check_time()
        data.append(_built(r, r.value(depth + 1), pandas))
    refuse(
        len(names) != count or any(len(column) != len(rows) for column in data),
        "a DataFrame of which index and columns differ in length",
    )
    if pandas is None:
        return _plain_frame(r, levels, rows, names, data)
    frame = pandas.DataFrame(dict(enumerate(data)), index=rows, copy=count > _SHARED_COLUMNS)
    frame.columns = names
    return frame


def _of_block(r: Reader, levels: Any, rows: Any, names: Any, block: Any, pandas: Any) -> Any:
    """Return a frame whose columns are the rows of one array."""
    shape = (len(block), len(block[0]) if len(block) else 0) if type(block) is list else getattr(block, "shape", ())
    refuse(shape != (len(names), len(rows)), "a DataFrame of which index and columns differ in length")
    if pandas is None:
        return _plain_frame(r, levels, rows, names, block)
    return pandas.DataFrame(block.T, index=rows, columns=names, copy=False)


def _plain_frame(r: Reader, levels: list[Any], rows: Any, names: list[Any], columns: list[Any]) -> dict[Any, Any]:
    """Return the columns by name, after those of an index that says something, named as by `reset_index`."""
    if _says_something(r, levels, rows):
        if len(levels) == 1:
            parts, default = [rows], ["index"]
        else:
            parts, default = [list(part) for part in zip(*rows, strict=True)] or [[] for _ in levels], []
        for number, name in enumerate(levels):
            default += [f"level_{number}"]
            levels[number] = default[number] if name is None else name
        names, columns = [*levels, *names], [*parts, *columns]
    found = _columns_apart(r, names, columns)
    return Columns(found) if r.labels is None else found


def _says_something(r: Reader, levels: list[Any], rows: Any) -> bool:
    """Tell whether labels tell more than the position: they have a name, or are not 0, 1, 2, … as pandas makes them."""
    if levels == [None] and all(type(row) is int and row == number for number, row in enumerate(rows)):
        return False
    r.spend(len(rows) * len(levels))
    return True


def _columns_apart(r: Reader, names: Any, columns: Any) -> dict[Any, Any]:
    """Return the columns by name; a name that was there before gets a number, as `pandas.read_csv` names it: a, a.1,
    a.2.
    """
    taken = r.dict_of(names, columns)
    if len(taken) == len(names):
        return taken
    apart: dict[Any, Any] = {}
    numbers: dict[str, int] = {}
    for name, column in zip(names, columns, strict=True):
        r.check_time()
        key = name
        if key in apart:
            text = str(name)
            while key in apart or key in taken:
                numbers[text] = numbers.get(text, 0) + 1
                key = f"{text}.{numbers[text]}"
        apart[key] = column
    return apart


def _read_series(r: Reader, depth: int) -> Any:
    pandas = library(r, "pandas")
    levels, rows = _read_index(r, depth + 1, pandas)
    name = r.value(depth + 1)
    data = _built(r, r.value(depth + 1), pandas)
    refuse(len(data) != len(rows), "a Series of which index and values differ in length")
    if pandas is not None:
        return pandas.Series(data, index=rows, name=name, copy=False)
    if r.labels is False or not (_says_something(r, levels, rows) or r.labels is None):
        return data
    try:
        labelled = r.dict_of(rows, data)
    except TypeError:  # a label that is a list
        labelled = {}
    if r.labels is None:
        both = Labelled(data)
        both.by_label = labelled if len(labelled) == len(data) else None
        return both
    return labelled if len(labelled) == len(data) else list(zip(rows, data, strict=True))


def _read_index_value(r: Reader, depth: int) -> Any:
    return _read_index(r, depth + 1, library(r, "pandas"))[1]


def _read_index(r: Reader, depth: int, pandas: Any) -> tuple[list[Any], Any]:
    """Return the names of an index, and itself: where pandas is missing a list of labels; without names an array."""
    names, labels = r.value(depth), r.value(depth)
    refuse(type(names) is not list or len(names) > _MAX_LEVELS, "an index without names in a value")
    is_range = bool(names) and type(labels) is tuple and labels[:1] == ("range",)
    data = _of_range(labels, pandas) if is_range else _built(r, labels, pandas)
    if pandas is None:
        return names, list(data) if len(data) <= len(r.view) else data
    if not names:
        return names, pandas.Series(data).array
    if not isinstance(data, pandas.Index):
        data = pandas.Index(data)
    refuse(data.nlevels != len(names), "an index of which names and levels differ in number")
    kind, detail, _ = labels
    freq = detail if kind == "array" else detail[2] if kind == "zoned" else None
    if freq is not None:
        refuse(type(freq) is not str or not _keeps(freq, len(data)), "a bad frequency in a value")
        data = data.copy()
        data.freq = freq
    return names, data.set_names(names)


def _built(r: Reader, parts: Any, pandas: Any) -> Any:
    """Return a column as something with a length that `pandas.Series` takes as it is; a list where pandas is
    missing.
    """
    refuse(
        type(parts) is not tuple or len(parts) != 3 or type(parts[0]) is not str or parts[0] not in _BUILDERS,
        "a bad column in a value",
    )
    kind, detail, data = parts
    built = _BUILDERS[kind](r, detail, data, pandas)
    refuse(pandas is None and type(built) is not list, "a bad column in a value")
    return built


def _of_array(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    if pandas is None:
        return data
    refuse(type(data) is not sys.modules["numpy"].ndarray or data.ndim != 1, "a bad column in a value")
    return data


def _of_range(labels: Any, pandas: Any) -> Any:
    """Return a whole index: it has any length for few bytes, so it is no column, whose items take memory."""
    data = labels[-1]
    refuse(
        len(labels) != 3 or type(data) is not range or len(data) > _MAX_ROWS,
        "an index of an impossible length in a value",
    )
    return data if pandas is None else pandas.RangeIndex(data)


def _of_levels(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    """Return a MultiIndex; tuples where pandas is missing."""
    levels, codes = _two(data)
    refuse(
        type(levels) is not list or type(codes) is not list or not 0 < len(levels) == len(codes) <= _MAX_LEVELS,
        "a bad index in a value",
    )
    built = [_built(r, level, pandas) for level in levels]
    if pandas is not None:
        columns = [
            _coded(r, chosen, pandas.Index(level), False, pandas) for level, chosen in zip(built, codes, strict=True)
        ]
        levels = [column.categories for column in columns]
        refuse(len({len(column) for column in columns}) > 1, "an index of which the levels differ in length")
        return pandas.MultiIndex(levels, [column.codes for column in columns], verify_integrity=False)
    columns = [
        [level[code] if 0 <= code < len(level) else None for code in chosen]
        for level, chosen in zip(built, codes, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _of_text(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse(type(data) is not list or type(detail) is not tuple or len(detail) != 2, "a bad column in a value")
    if pandas is None:
        return data
    kind, storage = detail
    refuse(kind not in ("str", "string") or storage not in ("python", "pyarrow"), "a bad column in a value")
    missing = pandas.NA if kind == "string" else float("nan")
    try:
        dtype = pandas.StringDtype(storage, na_value=missing)
    except ImportError:
        dtype = pandas.StringDtype("python", na_value=missing)
    return pandas.array(data, dtype=dtype)


def _of_objects(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse(type(data) is not list, "a bad column in a value")
    return data if pandas is None else pandas.array(data, dtype=object)


def _of_arrow(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    """Return a column of Arrow's types, of those that have a name; of the others, and without pyarrow, plain
    objects.
    """
    refuse(type(detail) is not str or type(data) is not list, "a bad column in a value")
    pyarrow = library(r, "pyarrow") if pandas is not None else None
    if pyarrow is not None:
        try:
            return pandas.array(data, dtype=pandas.ArrowDtype(pyarrow.type_for_alias(detail)))
        except (ValueError, TypeError, pyarrow.ArrowException):
            pass
    return _of_objects(r, None, data, pandas)


def _of_zoned(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse(
        type(detail) is not tuple or len(detail) != 3 or detail[0] not in _UNITS or type(detail[1]) is not str,
        "a bad zone in a value",
    )
    name = detail[1]
    zone = UTC if name.startswith("UTC") else named_zone(r, name)
    if pandas is None:
        r.spend(len(data))
        return [_aware(moment, zone) if type(moment) is datetime else moment for moment in data]
    refuse(getattr(getattr(data, "dtype", None), "kind", "") != "M" or data.ndim != 1, "a bad column in a value")
    moments = pandas.DatetimeIndex(data).tz_localize("UTC")
    return moments if isinstance(zone, UnknownZone) else moments.tz_convert(zone)


def _aware(moment: datetime, zone: tzinfo | UnknownZone) -> datetime | f.Opaque:
    moment = moment.replace(tzinfo=UTC)
    return f.Opaque("datetime.datetime", str(moment)) if isinstance(zone, UnknownZone) else moment.astimezone(zone)


def _of_category(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    codes, categories = _two(data)
    refuse(type(detail) is not bool, "a bad column in a value")
    built = _built(r, categories, pandas)
    if pandas is None:
        return [built[code] if 0 <= code < len(built) else None for code in codes]
    categories = pandas.Index(built)
    refuse(categories.hasnans, "a missing category in a value")
    return _coded(r, codes, categories, detail, pandas)


def _coded(r: Reader, codes: Any, labels: Any, ordered: bool, pandas: Any) -> Any:
    """Return a Categorical, which checks its codes. That its labels differ is seen here: in pandas' own tables labels
    can be chosen to be compared each with all others, in one call.
    """
    refuse(len(r.set_of(labels.tolist())) < len(labels), "labels that are not different in a value")
    return pandas.Categorical.from_codes(codes, dtype=pandas.CategoricalDtype._from_fastpath(labels, ordered))


def _of_nullable(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    filled, missing = _two(data)
    refuse(detail not in _NULLABLE or len(filled) != len(missing), "a bad column in a value")
    if pandas is None:
        return [None if absent else item for item, absent in zip(filled, missing, strict=True)]
    array = pandas.array(filled, dtype=detail)
    array[missing.astype(bool)] = pandas.NA
    return array


def _of_period(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse(type(detail) is not tuple or len(detail) != 2, "a bad column in a value")
    detail, texts = detail
    if pandas is None:
        return texts
    refuse(getattr(getattr(data, "dtype", None), "str", "") not in ("<i8", "=i8"), "a bad column in a value")
    return pandas.PeriodIndex.from_ordinals(data, freq=_frequency(detail))


def _of_interval(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    left, right = (_built(r, side, pandas) for side in _two(data))
    refuse(detail not in _CLOSED or len(left) != len(right), "a bad column in a value")
    if pandas is None:
        return list(zip(left, right, strict=True))
    return pandas.arrays.IntervalArray.from_arrays(left, right, closed=detail)


def _of_sparse(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    return data if pandas is None else pandas.arrays.SparseArray(data, fill_value=detail)


def _two(data: Any) -> tuple[Any, Any]:
    refuse(type(data) is not list or len(data) != 2, "a bad column in a value")
    return data[0], data[1]


def _frequency(name: Any) -> Any:
    refuse(type(name) is not str or not _FREQUENCY.match(name), "a bad frequency in a value")
    return name


_BUILDERS: dict[str, Callable[[Reader, Any, Any, Any], Any]] = {
    "array": _of_array,
    "levels": _of_levels,
    "text": _of_text,
    "objects": _of_objects,
    "arrow": _of_arrow,
    "zoned": _of_zoned,
    "category": _of_category,
    "nullable": _of_nullable,
    "period": _of_period,
    "interval": _of_interval,
    "sparse": _of_sparse,
}


def _read_own(r: Reader, depth: int) -> Any:
    """Return a scalar of pandas where it is loaded; else what says the same in Python."""
    pair = r.value(depth + 1)
    refuse(type(pair) is not tuple or len(pair) != 2, "a bad scalar in a value")
    kind, detail = pair
    pandas = sys.modules.get("pandas")
    if kind in ("NaT", "NA"):
        return None if pandas is None else getattr(pandas, kind)
    if kind == "interval" and type(detail) is tuple and len(detail) == 3 and detail[2] in _CLOSED:
        return detail[:2] if pandas is None else pandas.Interval(*detail)
    if kind == "period" and type(detail) is tuple and [type(part) for part in detail] == [int, str, str]:
        ordinal, freq, shown = detail
        return shown if pandas is None else pandas.Period(ordinal=ordinal, freq=_frequency(freq))
    if kind == "timedelta" and type(detail) is int:
        return f.Opaque("pandas.Timedelta", f"{detail} ns") if pandas is None else pandas.Timedelta(detail, unit="ns")
    if kind == "timestamp" and type(detail) is tuple and len(detail) == 2 and type(detail[0]) is int:
        return _moment(r, detail[0], detail[1], pandas)
    raise ProtocolError("a bad scalar in a value")


def _moment(r: Reader, number: int, name: Any, pandas: Any) -> Any:
    if pandas is None:
        return f.Opaque("pandas.Timestamp", f"{number} ns since 1970")
    if name is None:
        return pandas.Timestamp(number, unit="ns")
    zone = "UTC" if str(name).startswith("UTC") else named_zone(r, str(name))
    return pandas.Timestamp(number, unit="ns", tz="UTC" if isinstance(zone, UnknownZone) else zone)


READERS: dict[bytes, Callable[[Reader, int], Any]] = {
    f.FRAME: _read_frame,
    f.SERIES: _read_series,
    f.INDEX: _read_index_value,
    f.PANDAS_SCALAR: _read_own,
}
