# ruff: noqa: E501 (one sentence, one line)
"""Rules for keys that a dict, a set, an Enum or the environment does not have, and for indexes out of range."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from safeexec.common.identity import class_name, dict_of
from safeexec.common.matching import did_you_mean, nearest, quoted
from safeexec.hints.columns import column_hint, columns_of
from safeexec.hints.facts import fact
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING, attribute_of, bases_of, enum_members, is_of_guest, library_kind, members_of
from safeexec.hints.rules import HintRule

_MOST_KEYS = 2000
_TAKING_OUT = ("remove", "pop")
_GET = "For a key that may be missing use `.get(key, default)`, or ask `key in ...` first."


def _owner(failure: Failure) -> tuple[Any, str]:
    """Return what was subscripted and its source text."""
    tree = failure.expression.value if isinstance(failure.expression, ast.Subscript) else None
    return failure.resolve(tree), failure.text_of(tree, "the dict")


def _key(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Name the key that was meant, or those there are: of a dict, of the environment, of an Enum."""
    key, (owner, text) = failure.argument, _owner(failure)
    if isinstance(failure.expression, ast.Subscript) and owner is not MISSING:
        yield from _first_of_key(failure, text)
    if class_name(type(owner)) in ("_Environ", "_Environment"):
        yield f"There is no environment variable `{key}` here: use `os.environ.get({key!r}, default)`, or assign the value to a variable at the top of the code."
    keys = _keys_of(owner)
    if keys is not None:
        yield from _of_dict(key, keys, text)
    members = enum_members(owner) if owner is not MISSING and issubclass(type(owner), type) else []
    for found in nearest(key, members) if type(key) is str else ():
        yield f"Did you mean `{text}[{found!r}]`?"
    if members:
        yield f"`{text}` has the members {quoted(members, 10)}; by value use `{text}(value)`."
    has_get = owner is MISSING or attribute_of(type(owner), "get") is not MISSING  # (lambda: {'a': 1})()['b']
    if is_of_guest(type(key)) and "__eq__" not in members_of(type(key)):
        yield f"Each object of `{class_name(type(key))}` is a key of its own: define `__eq__` and `__hash__` there, or write `@dataclass(frozen=True)`."
    if isinstance(failure.expression, ast.Subscript) and has_get and not library_kind(owner):
        yield _GET


def _keys_of(owner: Any) -> list[Any] | None:
    """Return the keys of a dict, or of a mapping of a library; None of anything else."""
    if issubclass(type(owner), dict):
        return list(islice(dict.keys(owner), _MOST_KEYS))
    if owner is MISSING or any(map(is_of_guest, bases_of(owner))) or not issubclass(type(owner), Mapping):
        return None
    try:
        return list(islice(iter(owner), _MOST_KEYS))
    except Exception:
        return None


def _first_of_key(failure: Failure, text: str) -> Iterator[str]:
    """Yield hints for a key whose first value is to be counted up, or is a list to append to."""
    key = failure.text_of(failure.expression.slice, "key") if isinstance(failure.expression, ast.Subscript) else ""
    if match := re.match(r"\.(append|extend|add|update)\(", failure.rest_of_line):
        empty = {"add": "set()", "update": "{}"}.get(match[1], "[]")
        yield f"A key that is not there has no value to start from: `{text}.setdefault({key}, {empty}).{match[1]}(...)`, or make it a `collections.defaultdict`."
    if re.match(r"\s*\+=", failure.rest_of_line):
        yield f"A key that is not there has no value to start from: `{text}[{key}] = {text}.get({key}, 0) + ...`, or make it a `collections.Counter()`."


def _of_dict(key: Any, keys: list[Any], text: str) -> Iterator[str]:
    if not keys:
        yield f"`{text}` is empty here: fill it first, or use `.get(key, default)`."
    if type(key) is str and any(type(other) is int and str(other) == key for other in keys):
        yield f"The keys are numbers: use `{text}[{key}]`."
    names = [other for other in keys if type(other) is str]
    if type(key) in (int, float) and str(key) in names:
        yield f"The keys are strings: use `{text}[{str(key)!r}]`."
    if found := nearest(key, names, 2) if type(key) is str else []:
        yield f"There is no key {key!r}; did you mean {' or '.join(f'`{name!r}`' for name in found)}?"
    shown = [repr(other) for other in keys if type(other) in (str, int, float, bool) and len(repr(other)) <= 40]
    if len(shown) < len(keys) or len(keys) > 200:
        yield _GET
    yield f"The keys are {quoted(shown, 10)}; for a key that may be missing use `.get(key, default)`."


def _receiver(failure: Failure) -> tuple[Any, str]:
    """Return the object whose method was called, and its source text."""
    tree = failure.function.value if isinstance(failure.function, ast.Attribute) else None
    return failure.resolve(tree), failure.text_of(tree)


def _of_method(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Name the key that was meant, of a mapping that was asked by a method."""
    owner, text = _receiver(failure)
    if failure.called not in _TAKING_OUT and (keys := _keys_of(owner)):
        yield from _of_dict(failure.argument, keys, text)


def _member_of_set(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    owner, text = _receiver(failure)
    if type(owner) is set and failure.called == "pop":
        yield f"`{text}` is empty: check `if {text}:` before you pop."
    if type(owner) is set or (owner is MISSING and failure.called == "remove"):
        yield f"Use `{text}.discard(item)`, which does nothing if the item is not there."
    if issubclass(type(owner), dict):
        yield f"Use `{text}.pop(key, None)`, which does nothing if the key is not there."


def _chosen_from_dict(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    values = failure.text_of(failure.call.args[0], "mapping") if failure.call and failure.call.args else "mapping"
    yield f"It takes items by position: give a list, `{failure.text_of(failure.function)}(list({values}))`."


def _field_of_format(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    yield f"Give the value by name, `.{failure.called}({failure.argument}=...)`, or use an f-string; a brace that is text is doubled: `{{{{`."


def _out_of_range(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    owner, text = _owner(failure)
    if type(owner) not in (list, tuple, str, range):
        text = text if isinstance(failure.expression, ast.Subscript) else "values"
        yield f"Check the length first: the indexes of `{text}` go from 0 to `len({text}) - 1`."
    elif not len(owner):
        yield f"`{text}` is empty: check `if {text}:` first."
    else:
        yield f"`{text}` has {len(owner)} item{'' if len(owner) == 1 else 's'}: its indexes go from 0 to {len(owner) - 1}."


def _tables(failure: Failure) -> dict[str, list[str]]:
    """Return the tables that the program creates, and the frames that a query may name, with their columns."""
    found: dict[str, list[str]] = {}
    for text, value in failure.namespace.items():
        if columns := columns_of(value):
            found[text] = columns
    for source in failure.sources.values():
        for name, body in _CREATED.findall(source):
            parts = re.split(r",(?![^(]*\))", body)
            words = (re.match(r"\W*(\w+)", part) for part in parts)
            found[name] = [word[1] for word in words if word and word[1].lower() not in _CONSTRAINTS]
    return found


_CREATED = re.compile(
    r"(?i)create\s+(?:temp\w*\s+)?table\s+(?:if\s+not\s+exists\s+)?[\"'`\[]?(\w+)[\"'`\]]?\s*\(((?:[^()]|\([^()]*\))*)\)"
)
_CONSTRAINTS = ("primary", "foreign", "unique", "check", "constraint")


def _by_name(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a list or a tuple that is asked for a name."""
    (owner, text), tree = _owner(failure), failure.expression
    key = failure.resolve(tree.slice) if isinstance(tree, ast.Subscript) else MISSING
    fields = dict_of(type(owner)).get("_fields") if issubclass(type(owner), tuple) else ()
    if type(key) is not str:
        return
    if fields and key in fields:
        yield f"The fields of a namedtuple are its attributes: `{text}.{key}`."
    if type(owner) is list and owner and issubclass(type(owner[0]), dict):
        yield f"`{text}` is a list of dicts: take one first, `{text}[0][{key!r}]`, or go through them, `for item in {text}: item[{key!r}]`."
    if type(owner) is list:
        more = "; `csv.DictReader(file)` gives rows with names" if owner and type(owner[0]) is str else ""
        yield f"`{text}` is {fact(owner)}, and its items have positions: `{text}[0]`{more}."


def _in_database(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Name the table or the column that was meant, of those that the program itself creates, or that are frames."""
    tables = _tables(failure)
    table, column = match[1] or match[2] or match[3], match[4] or match[5]
    if table and tables:
        found = did_you_mean(nearest(table.rpartition(".")[2], tables))
        yield found or (f"The tables are {quoted(tables)}." if not match[3] else None)
    queries = [
        value for tree in (failure.call.args if failure.call else ()) if type(value := failure.resolve(tree)) is str
    ]
    said = " ".join(queries) or failure.source
    columns = [name for table, names in tables.items() if re.search(rf"\b{re.escape(table)}\b", said) for name in names]
    if column:
        yield column_hint(column.rpartition(".")[2], list(dict.fromkeys(columns)))


_OF_INDEX = r"(?:list|tuple|string|array|range object|deque|bytearray|pop) index out of range"
_NOT_IN_DATABASE = r'no such table: ([\w.]+)|Table with name (\w+) does not exist|near "(\w+)": syntax error|no such column: "?([\w.]+)|(?:no column named "?|Referenced column ")(\w+)'
RULES = (
    HintRule("KeyError", "", _key),
    HintRule("KeyError", "", _member_of_set, _TAKING_OUT),
    HintRule("KeyError", "", _of_method),
    HintRule("KeyError", "", _chosen_from_dict, ("choice", "sample")),
    HintRule("KeyError", "", _field_of_format, ("format", "format_map", "substitute")),
    HintRule("TypeError", "^(?:list|tuple) indices must be integers or slices, not str", _by_name),
    HintRule("IndexError", _OF_INDEX, _out_of_range),
    HintRule("OperationalError DatabaseError BinderException CatalogException", _NOT_IN_DATABASE, _in_database),
)
