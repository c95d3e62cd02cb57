"""Read what pandas has, as `pandas_writer` has written it.

pandas is imported where `arrays=True` and the data needs it; without it a frame is a dict of lists, and a Series a
list, or a dict by its labels where they say more than the position. Each builder of a column is given pandas, or None.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from safeexec.errors import ProtocolError
from safeexec.protocol.values import format as f
from safeexec.protocol.values.pandas_writer import NULLABLE, keeps_frequency
from safeexec.protocol.values.reader import UnknownZone, library, named_zone, refuse_if

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from safeexec.protocol.values.reader import Reader


class Labelled(list[Any]):
    """A Series where pandas is missing, for a reader that knows only later what it needs: its values, and `by_label`,
    the same as a dict; None where a label is there twice.
    """

    type = "Series"
    by_label: dict[Any, Any] | None


class Columns(dict[Any, Any]):
    """A DataFrame where pandas is missing, likewise: its columns by name."""

    type = "DataFrame"


_FREQUENCY = re.compile(r"-?[0-9]{0,6}[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,2}\Z")
"""The name of a frequency, of whatever kind: short, so that pandas reads it at once."""
_CLOSED = ("left", "right", "both", "neither")
_UNITS = ("s", "ms", "us", "ns")
_MAX_ROWS = 1 << 40
_MAX_LEVELS = 64
_SHARED_COLUMNS = 32
"""A frame of so few columns keeps each in an array of its own, as it came."""


def _read_frame(r: Reader, depth: int) -> Any:
    pandas = library(r, "pandas")
    levels, rows = _read_index(r, depth + 1, pandas)
    names = _read_index(r, depth + 1, pandas)[1]
    count = r.length()
    refuse_if(count > len(r.view) - r.at, "a DataFrame of too many columns in a value")
    r.spend(count)
    if count and r.view[r.at] == f.ARRAY[0]:
        return _build_block(r, levels, rows, names, r.value(depth + 1), pandas)
    data = []
    for _ in range(count):
        r.check_time()
        data.append(_built(r, r.value(depth + 1), pandas))
    refuse_if(
        len(names) != count or any(len(column) != len(rows) for column in data),
        "a DataFrame of which index and columns differ in length",
    )
    if pandas is None:
        return _plain_frame(r, levels, rows, names, data)
    frame = pandas.DataFrame(dict(enumerate(data)), index=rows, copy=count > _SHARED_COLUMNS)
    frame.columns = names
    return frame


def _build_block(r: Reader, levels: Any, rows: Any, names: Any, block: Any, pandas: Any) -> Any:
    """Return a frame whose columns are the rows of one array."""
    shape = (len(block), len(block[0]) if len(block) else 0) if type(block) is list else getattr(block, "shape", ())
    refuse_if(shape != (len(names), len(rows)), "a DataFrame of which index and columns differ in length")
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
    """Return whether labels say more than the position: they have a name, or are not 0, 1, 2, … as pandas has them."""
    if levels == [None] and all(type(row) is int and row == number for number, row in enumerate(rows)):
        return False
    r.spend(len(rows) * len(levels))
    return True


def _columns_apart(r: Reader, names: Any, columns: Any) -> dict[Any, Any]:
    """Return the columns by name; a name that was there gets a number, as `pandas.read_csv` does it: a, a.1, a.2."""
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
    refuse_if(len(data) != len(rows), "a Series of which index and values differ in length")
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
    refuse_if(type(names) is not list or len(names) > _MAX_LEVELS, "an index without names in a value")
    is_range = bool(names) and type(labels) is tuple and labels[:1] == ("range",)
    data = _build_range(labels, pandas) if is_range else _built(r, labels, pandas)
    if pandas is None:
        return names, list(data) if len(data) <= len(r.view) else data
    if not names:
        return names, pandas.Series(data).array
    if not isinstance(data, pandas.Index):
        data = pandas.Index(data)
    refuse_if(data.nlevels != len(names), "an index of which names and levels differ in number")
    kind, detail, _ = labels
    freq = detail if kind == "array" else detail[2] if kind == "zoned" else None
    if freq is not None:
        refuse_if(type(freq) is not str or not keeps_frequency(freq, len(data)), "a bad frequency in a value")
        data = data.copy()
        data.freq = freq
    return names, data.set_names(names)


def _built(r: Reader, parts: Any, pandas: Any) -> Any:
    """Return a column as something with a length that `pandas.Series` takes as it is; a list without pandas."""
    refuse_if(
        type(parts) is not tuple or len(parts) != 3 or type(parts[0]) is not str or parts[0] not in _BUILDERS,
        "a bad column in a value",
    )
    kind, detail, data = parts
    built = _BUILDERS[kind](r, detail, data, pandas)
    refuse_if(pandas is None and type(built) is not list, "a bad column in a value")
    return built


def _build_array(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    if pandas is None:
        return data
    refuse_if(type(data) is not sys.modules["numpy"].ndarray or data.ndim != 1, "a bad column in a value")
    return data


def _build_range(labels: Any, pandas: Any) -> Any:
    """Return a whole index: it has any length for few bytes, so it is no column, whose items take memory."""
    data = labels[-1]
    refuse_if(
        len(labels) != 3 or type(data) is not range or len(data) > _MAX_ROWS,
        "an index of an impossible length in a value",
    )
    return data if pandas is None else pandas.RangeIndex(data)


def _build_levels(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    """Return a MultiIndex; tuples where pandas is missing."""
    levels, codes = _two(data)
    refuse_if(
        type(levels) is not list or type(codes) is not list or not 0 < len(levels) == len(codes) <= _MAX_LEVELS,
        "a bad index in a value",
    )
    built = [_built(r, level, pandas) for level in levels]
    if pandas is not None:
        columns = [
            _coded(r, chosen, pandas.Index(level), False, pandas) for level, chosen in zip(built, codes, strict=True)
        ]
        levels = [column.categories for column in columns]
        refuse_if(len({len(column) for column in columns}) > 1, "an index of which the levels differ in length")
        return pandas.MultiIndex(levels, [column.codes for column in columns], verify_integrity=False)
    columns = [
        [level[code] if 0 <= code < len(level) else None for code in chosen]
        for level, chosen in zip(built, codes, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _build_text(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse_if(type(data) is not list or type(detail) is not tuple or len(detail) != 2, "a bad column in a value")
    if pandas is None:
        return data
    kind, storage = detail
    refuse_if(kind not in ("str", "string") or storage not in ("python", "pyarrow"), "a bad column in a value")
    missing = pandas.NA if kind == "string" else float("nan")
    try:
        dtype = pandas.StringDtype(storage, na_value=missing)
    except ImportError:
        dtype = pandas.StringDtype("python", na_value=missing)
    return pandas.array(data, dtype=dtype)


def _build_objects(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse_if(type(data) is not list, "a bad column in a value")
    return data if pandas is None else pandas.array(data, dtype=object)


def _build_arrow(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    """Return a column of Arrow's types, of those that have a name; of others, and without pyarrow, plain objects."""
    refuse_if(type(detail) is not str or type(data) is not list, "a bad column in a value")
    pyarrow = library(r, "pyarrow") if pandas is not None else None
    if pyarrow is not None:
        try:
            return pandas.array(data, dtype=pandas.ArrowDtype(pyarrow.type_for_alias(detail)))
        except (ValueError, TypeError, pyarrow.ArrowException):
            pass
    return _build_objects(r, None, data, pandas)


def _build_zoned(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse_if(
        type(detail) is not tuple or len(detail) != 3 or detail[0] not in _UNITS or type(detail[1]) is not str,
        "a bad zone in a value",
    )
    name = detail[1]
    zone = UTC if name.startswith("UTC") else named_zone(r, name)
    if pandas is None:
        r.spend(len(data))
        return [_aware(moment, zone) if type(moment) is datetime else moment for moment in data]
    refuse_if(getattr(getattr(data, "dtype", None), "kind", "") != "M" or data.ndim != 1, "a bad column in a value")
    moments = pandas.DatetimeIndex(data).tz_localize("UTC")
    return moments if isinstance(zone, UnknownZone) else moments.tz_convert(zone)


def _aware(moment: datetime, zone: tzinfo | UnknownZone) -> datetime | f.Opaque:
    moment = moment.replace(tzinfo=UTC)
    return f.Opaque("datetime.datetime", str(moment)) if isinstance(zone, UnknownZone) else moment.astimezone(zone)


def _build_category(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    codes, categories = _two(data)
    refuse_if(type(detail) is not bool, "a bad column in a value")
    built = _built(r, categories, pandas)
    if pandas is None:
        return [built[code] if 0 <= code < len(built) else None for code in codes]
    categories = pandas.Index(built)
    refuse_if(categories.hasnans, "a missing category in a value")
    return _coded(r, codes, categories, detail, pandas)


def _coded(r: Reader, codes: Any, labels: Any, ordered: bool, pandas: Any) -> Any:
    """Return a Categorical, which checks its codes. That its labels differ is seen here: in pandas' own tables labels
    can be chosen to be compared each with all others, in one call.
    """
    refuse_if(len(r.set_of(labels.tolist())) < len(labels), "labels that are not different in a value")
    dtype = pandas.CategoricalDtype()
    dtype.__setstate__({"categories": labels, "ordered": ordered})  # as from a pickle: nothing is compared
    return pandas.Categorical.from_codes(codes, dtype=dtype)


def _build_nullable(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    filled, missing = _two(data)
    refuse_if(detail not in NULLABLE or len(filled) != len(missing), "a bad column in a value")
    if pandas is None:
        return [None if absent else item for item, absent in zip(filled, missing, strict=True)]
    array = pandas.array(filled, dtype=detail)
    array[missing.astype(bool)] = pandas.NA
    return array


def _build_period(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    refuse_if(type(detail) is not tuple or len(detail) != 2, "a bad column in a value")
    detail, texts = detail
    if pandas is None:
        return texts
    refuse_if(getattr(getattr(data, "dtype", None), "str", "") not in ("<i8", "=i8"), "a bad column in a value")
    return pandas.PeriodIndex.from_ordinals(data, freq=_checked_frequency(detail))


def _build_interval(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    left, right = (_built(r, side, pandas) for side in _two(data))
    refuse_if(detail not in _CLOSED or len(left) != len(right), "a bad column in a value")
    if pandas is None:
        return list(zip(left, right, strict=True))
    return pandas.arrays.IntervalArray.from_arrays(left, right, closed=detail)


def _build_sparse(r: Reader, detail: Any, data: Any, pandas: Any) -> Any:
    return data if pandas is None else pandas.arrays.SparseArray(data, fill_value=detail)


def _two(data: Any) -> tuple[Any, Any]:
    refuse_if(type(data) is not list or len(data) != 2, "a bad column in a value")
    return data[0], data[1]


def _checked_frequency(name: Any) -> Any:
    refuse_if(type(name) is not str or not _FREQUENCY.match(name), "a bad frequency in a value")
    return name


_BUILDERS: dict[str, Callable[[Reader, Any, Any, Any], Any]] = {
    "array": _build_array,
    "levels": _build_levels,
    "text": _build_text,
    "objects": _build_objects,
    "arrow": _build_arrow,
    "zoned": _build_zoned,
    "category": _build_category,
    "nullable": _build_nullable,
    "period": _build_period,
    "interval": _build_interval,
    "sparse": _build_sparse,
}


def _read_scalar(r: Reader, depth: int) -> Any:
    """Return a scalar of pandas where it is loaded; else what says the same in Python."""
    pair = r.value(depth + 1)
    refuse_if(type(pair) is not tuple or len(pair) != 2, "a bad scalar in a value")
    kind, detail = pair
    pandas = sys.modules.get("pandas")
    if kind in ("NaT", "NA"):
        return None if pandas is None else getattr(pandas, kind)
    if kind == "interval" and type(detail) is tuple and len(detail) == 3 and detail[2] in _CLOSED:
        return detail[:2] if pandas is None else pandas.Interval(*detail)
    if kind == "period" and type(detail) is tuple and [type(part) for part in detail] == [int, str, str]:
        ordinal, freq, shown = detail
        return shown if pandas is None else pandas.Period(ordinal=ordinal, freq=_checked_frequency(freq))
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
    f.PANDAS_SCALAR: _read_scalar,
}
