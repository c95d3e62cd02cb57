# ruff: noqa: E501 (one sentence, one line)
"""Hints for keys that a dict, and columns that a DataFrame, do not have."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from safeexec.hints.failure import MISSING, attribute_of, frames_of, library_kind
from safeexec.hints.matching import nearest, quoted

if TYPE_CHECKING:
    from safeexec.hints.failure import Failure

MAX_KEYS = 2000
APPLIED = (
    "`apply` gives the function one column after the other: for rows use `df.apply(function, axis=1)`, or compute with"
    " whole columns, `df['a'] + df['b']`."
)


def hint(failure: Failure) -> str | None:
    """For a KeyError: the nearest key or column, or the ones there are."""
    frames = _data_frames(failure)
    if frames and (merged := _of_merge(failure)):
        return merged
    if frames:
        return _of_frames(failure, frames)
    tree = failure.expression
    key = failure.first_arg
    if isinstance(tree, ast.Subscript):
        owner = failure.resolve(tree.value)
        if issubclass(type(owner), dict):
            return _of_dict(owner, key, failure.text_of(tree.value, "the dict"))
        if type(owner).__name__ == "_Environment":
            return (
                f"No environment variable is set here: use `os.environ.get({key!r}, default)`, or assign the value to a"
                " variable at the top of the code."
            )
        members = (
            type.__dict__["__dict__"].__get__(owner).get("_member_names_") if issubclass(type(owner), type) else None
        )
        if type(members) is list and members:
            text, found = failure.text_of(tree.value), nearest(key, members) if type(key) is str else []
            return (
                f"Did you mean `{text}[{found[0]!r}]`?"
                if found
                else f"`{text}` has the members {quoted(members, 10)}; by value use `{text}(value)`."
            )
        if not library_kind(owner):
            return "For a key that may be missing use `.get(key, default)`, or ask `key in ...` first."
    if (call := failure.call) is not None and isinstance(call.func, ast.Attribute):
        return _of_method(failure, call.func, key)
    return None


def column_in_message(failure: Failure) -> str | None:
    """For a ValueError that names columns which a frame does not have (``usecols``, ``to_numeric`` of a name …)."""
    match = re.search(r"Usecols do not match columns, columns expected but not found: \[(.*)\]", failure.message)
    if match:
        return (
            _of_file(failure, re.findall(r"'([^']*)'", match.group(1)))
            or f"The file has no column {match.group(1)}: read it without `usecols` and print `df.columns`."
        )
    match = re.search(r"[Mm]issing column provided to 'parse_dates': '(.*)'", failure.message)
    if match:
        return _of_file(failure, match.group(1).split(", "))
    if _converts_text(failure) and failure.libraries[0].f_code.co_name in _OF_NUMBERS:
        return "Some columns are text: use `numeric_only=True`, or choose the numeric columns with `df.select_dtypes('number')`."
    if _converts_text(failure):
        return "Some values are no numbers: use `pd.to_numeric(column, errors='coerce')`, which makes NaN of them."
    if re.search(r"not in list|is not in list", failure.message):
        return "Ask `item in values` before `values.index(item)` or `values.remove(item)`."
    return None


def undefined_in_query(failure: Failure) -> str | None:
    """For a name in `query` or `eval` of a frame that is neither a column nor a variable."""
    match = re.search(r"name '(.*)' is not defined", failure.message)
    if match is None:
        return None
    columns = [column for frame in _data_frames(failure) for column in columns_of(frame)]
    found = nearest(match.group(1), dict.fromkeys(columns), 2)
    if found:
        return f"There is no column {match.group(1)!r}; did you mean {' or '.join(f'`{column}`' for column in found)}?"
    return None


def _of_file(failure: Failure, wanted: list[str]) -> str | None:
    """The column of a file that was meant; its header is among the local variables of the parser."""
    for variables in frames_of(failure):
        for name in ("columns", "names", "usecols_dtype"):
            header: Any = variables.get(name)
            labels = [label for label in header if type(label) is str] if type(header) in (list, tuple) else []
            if labels and wanted and not set(wanted) <= set(labels):
                missing = next(label for label in wanted if label not in labels)
                return column_hint(missing, labels)
    return None


def _converts_text(failure: Failure) -> bool:
    if not re.match(r"invalid literal for int\(\)|could not convert string to float", failure.message):
        return False
    return any(frame.f_globals.get("__name__", "").startswith("pandas.") for frame in failure.libraries[:3])


_OF_NUMBERS = ("corr", "cov", "corrwith", "mean", "sum", "std", "var", "median", "quantile", "skew", "kurt", "sem")
"""Methods of a frame that take `numeric_only`."""


def columns_of(frame: Any) -> list[str]:
    """The column names of a DataFrame that are plain strings."""
    import sys

    pandas = sys.modules.get("pandas")
    if pandas is None or type(frame) is not pandas.DataFrame:
        return []
    found: list[str] = []
    for column in frame.columns[:MAX_KEYS]:
        if type(column) is str:
            found.append(column)
        elif type(column) is tuple:
            found.extend(part for part in column if type(part) is str)
    return found


def column_hint(name: str, columns: list[str], text: str = "df") -> str | None:
    """The column that was meant, or the ones there are."""
    if not columns:
        return None
    blank = [column for column in columns if column != name and column.strip() == name.strip()]
    if blank:
        return (
            f"The column is called `{blank[0]!r}`, with blanks around it: use that name, or first"
            f" `{text}.columns = {text}.columns.str.strip()`."
        )
    found = nearest(name, columns, 2)
    if found:
        return f"There is no column {name!r}; did you mean {' or '.join(f'`{column!r}`' for column in found)}?"
    return f"There is no column {name!r}; the columns are {quoted(map(repr, columns), 12)}."


def _data_frames(failure: Failure) -> list[Any]:
    """The DataFrames and Series among the local variables of the library, outermost first."""
    found: list[Any] = []
    for variables in frames_of(failure):
        values = list(variables.values())
        grouped = variables.get("self", MISSING)
        if library_kind(grouped) == "pandas.GroupBy" or _is_indexer(grouped):
            values.append(attribute_of(grouped, "obj"))
        for value in values:
            if library_kind(value) in ("pandas.DataFrame", "pandas.Series") and all(
                value is not other for other in found
            ):
                found.append(value)
    return found[:8]


def _is_indexer(obj: Any) -> bool:
    return type(obj).__name__ in ("_LocIndexer", "_iLocIndexer", "_AtIndexer", "_iAtIndexer")


def _of_frames(failure: Failure, frames: list[Any]) -> str | None:
    first = frames[0]
    text = _frame_text(failure)
    columns = list(dict.fromkeys(column for frame in frames for column in columns_of(frame)))
    wanted = _wanted(failure)
    called = failure.libraries[0].f_code.co_name if failure.libraries else ""
    if library_kind(first) == "pandas.Series":
        return _of_series(first, wanted, failure)
    if type(failure.first_arg) is tuple and len(wanted) > 1 and all(name in columns for name in wanted):
        return f"Give the columns as a list, with two pairs of brackets: `{text}[[{', '.join(map(repr, wanted))}]]`."
    if called == "drop" and "axis" in failure.message and any(name in columns for name in wanted):
        name = next(name for name in wanted if name in columns)
        return f"`drop` removes rows unless told otherwise: use `{text}.drop(columns={name!r})`."
    missing = next((name for name in wanted if name not in columns), None)
    if missing is None:
        if any(name in columns for name in wanted) and _uses_loc(failure):
            return f"{wanted[0]!r} is a column, not a row label: use `{text}[{wanted[0]!r}]` or `{text}.loc[:, {wanted[0]!r}]`."
        if type(failure.first_arg) in (int, float) and _uses_loc(failure):
            return f"There is no row with the label {failure.first_arg}: `.loc` takes labels of the index; rows by position are `{text}.iloc[i]`, and `len({text})` is their number."
        if type(failure.first_arg) in (int, float) and not _uses_loc(failure):
            return f"Rows by position are `{text}.iloc[{failure.first_arg}]`; the columns are {quoted(map(repr, columns), 12)}."
        return None
    if missing in _index_names(first):
        return f"{missing!r} is the index, not a column: use `{text}.reset_index()` first, or `{text}.index`."
    if _names_column(failure, missing):
        return column_hint(missing, columns, text)
    if _uses_loc(failure) and not nearest(missing, columns):
        return f"There is no row with the label {missing!r}: `.loc` takes labels of the index; select rows by a condition, `{text}[{text}[column] == {missing!r}]`."
    return column_hint(missing, columns, text)


def _of_merge(failure: Failure) -> str | None:
    """A key of `merge` that one of the two frames does not have, although the other does."""
    name = failure.first_arg
    if type(name) is not str or not any(frame.f_code.co_name == "merge" for frame in failure.libraries[:3]):
        return None
    for variables in frames_of(failure):
        left, right = columns_of(variables.get("left")), columns_of(variables.get("right"))
        if left and right and (name in left) != (name in right):
            lacking = right if name in left else left
            side, found = ("right" if name in left else "left"), nearest(name, lacking, 1)
            given = f"it has {found[0]!r}" if found else f"its columns are {quoted(map(repr, lacking), 12)}"
            keys = (name, found[0]) if found else (name, "...")
            keys = keys if name in left else (keys[1], keys[0])
            return f"The {side} frame has no column {name!r}, {given}: name both, `left_on={keys[0]!r}, right_on={keys[1]!r}`."
    return None


def _wanted(failure: Failure) -> list[str]:
    """The names that the message or the key says are missing."""
    key = failure.first_arg
    if type(key) in (tuple, list):
        return [part for part in key if type(part) is str]
    if type(key) is not str:
        return re.findall(r"'([^']*)'", failure.message.partition("dtype=")[0]) if library_kind(key) else []
    if match := re.match(r"Columns? not found: ([^']+)$", key):
        return match.group(1).split(", ")
    if re.search(_IN_SENTENCE, key):
        key = key[key.find("[") :] if "labels are not columns" in key else key
        return re.findall(r"'((?:[^'\\]|\\.)*)'", re.sub(r"dtype='\w+'", "", key)) or [key]
    return [key]


_IN_SENTENCE = (
    r"not in index|not found in axis|are in the|not in columns|Column\(s\)|Columns? not found|do not exist"
    r"|not present in the DataFrame|not found in columns|labels are not columns|^\['.*'\]$"
)
"""What tells a sentence about columns from the name of a column."""


def _of_series(series: Any, wanted: list[str], failure: Failure) -> str | None:
    import sys

    pandas = sys.modules["pandas"]
    if type(series) is not pandas.Series:
        return None
    if wanted and is_applied_to_columns(failure, wanted[0]):
        return APPLIED
    labels = [label for label in series.index[:MAX_KEYS] if type(label) is str]
    key = failure.first_arg
    if type(key) is int:
        return f"The index has no label {key}: by position use `.iloc[{key}]`."
    if wanted and labels:
        found = nearest(wanted[0], labels, 2)
        if found:
            return (
                f"The index has no label {wanted[0]!r}; did you mean {' or '.join(f'`{label!r}`' for label in found)}?"
            )
        return f"The index has no label {wanted[0]!r}; the labels are {quoted(map(repr, labels), 10)}."
    if wanted:
        return f"The index has no label {wanted[0]!r}: a Series has one column of values; by position use `.iloc[0]`."
    return None


def is_applied_to_columns(failure: Failure, name: str) -> bool:
    """Does `DataFrame.apply` call the guest's function with columns, and is `name` one of the frame's columns?"""
    frame = failure.frame.frame.f_back if failure.frame is not None else None
    for _ in range(12):
        if frame is None:
            return False
        owner = frame.f_locals.get("self", MISSING)
        if frame.f_code.co_name == "apply" and library_kind(owner) == "pandas.DataFrame":
            return name in columns_of(owner)
        frame = frame.f_back
    return False


def _names_column(failure: Failure, name: str) -> bool:
    """Does the name stand behind the comma of ``.loc[rows, name]``?"""
    tree = failure.expression
    return (
        isinstance(tree, ast.Subscript)
        and isinstance(tree.slice, ast.Tuple)
        and len(tree.slice.elts) == 2
        and any(isinstance(part, ast.Constant) and part.value == name for part in ast.walk(tree.slice.elts[1]))
    )


def _index_names(frame: Any) -> list[str]:
    import sys

    pandas = sys.modules.get("pandas")
    if pandas is None or type(frame) is not pandas.DataFrame:
        return []
    return [name for name in frame.index.names if type(name) is str]


def _uses_loc(failure: Failure) -> bool:
    return re.search(r"\.(loc|at)\s*\[", failure.segment) is not None


def _frame_text(failure: Failure) -> str:
    """How the program names the frame; ``df`` if it has no short name."""
    tree: ast.AST | None = failure.expression
    while isinstance(tree, ast.Subscript | ast.Attribute | ast.Call):
        tree = tree.func if isinstance(tree, ast.Call) else tree.value
    if isinstance(tree, ast.Name) and library_kind(failure.lookup(tree.id)) == "pandas.DataFrame":
        return tree.id
    return "df"


def _of_dict(owner: dict[Any, Any], key: Any, text: str) -> str | None:
    keys = []
    for count, other in enumerate(dict.keys(owner)):
        if count >= MAX_KEYS:
            break
        keys.append(other)
    names = [other for other in keys if type(other) is str]
    if type(key) is str:
        if key in [str(other) for other in keys if type(other) is int]:
            return f"The keys are numbers: use `{text}[{key}]`."
        found = nearest(key, names, 2)
        if found:
            return f"There is no key {key!r}; did you mean {' or '.join(f'`{name!r}`' for name in found)}?"
    elif type(key) in (int, float) and str(key) in names:
        return f"The keys are strings: use `{text}[{str(key)!r}]`."
    if not keys:
        return f"`{text}` is empty here: fill it first, or use `.get(key, default)`."
    shown = [repr(other) for other in keys if type(other) in (str, int, float, bool) and len(repr(other)) <= 40]
    if len(shown) == len(keys) and len(keys) <= 200:
        return f"The keys are {quoted(shown, 10)}; for a key that may be missing use `.get(key, default)`."
    return "For a key that may be missing use `.get(key, default)`, or ask `key in ...` first."


def _of_method(failure: Failure, function: ast.Attribute, key: Any) -> str | None:
    owner = failure.resolve(function.value)
    text = failure.text_of(function.value)
    if (function.attr == "remove" and type(owner) in (set, MISSING)) or type(owner) is set:
        return f"Use `{text}.discard(item)`, which does nothing if the item is not there."
    if function.attr == "pop" and issubclass(type(owner), dict):
        return f"Use `{text}.pop(key, None)`, which does nothing if the key is not there."
    if function.attr in ("choice", "sample") and failure.call is not None and failure.call.args:
        values = failure.text_of(failure.call.args[0], "mapping")
        return f"It takes items by position: give a list, `{text}.{function.attr}(list({values}))`."
    if function.attr in ("format", "format_map"):
        return f"Give the value by name, `.format({key}=...)`, or use an f-string; a brace that is text is doubled: `{{{{`."
    return None
