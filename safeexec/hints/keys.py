# ruff: noqa: E501 (one sentence, one line)
"""Rules for keys that a dict, a set, an Enum or the environment does not have, and for indexes out of range."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from safeexec.common.identity import class_name
from safeexec.common.matching import did_you_mean, nearest, quoted
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING, attribute_of, enum_members, library_kind
from safeexec.hints.rules import HintRule

_MOST_KEYS = 2000
_GET = "For a key that may be missing use `.get(key, default)`, or ask `key in ...` first."


def _owner(failure: Failure) -> tuple[Any, str]:
    """Return what was subscripted and its source text."""
    tree = failure.expression.value if isinstance(failure.expression, ast.Subscript) else None
    return failure.resolve(tree), failure.text_of(tree, "the dict")


def _key(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Name the key that was meant, or those there are: of a dict, of the environment, of an Enum."""
    key, (owner, text) = failure.argument, _owner(failure)
    if issubclass(type(owner), dict):
        yield from _of_dict(key, list(islice(dict.keys(owner), _MOST_KEYS)), text)
    if class_name(type(owner)) in ("_Environ", "_Environment"):
        yield f"There is no environment variable `{key}` here: use `os.environ.get({key!r}, default)`, or assign the value to a variable at the top of the code."
    members = enum_members(owner) if owner is not MISSING and issubclass(type(owner), type) else []
    for found in nearest(key, members) if type(key) is str else ():
        yield f"Did you mean `{text}[{found!r}]`?"
    if members:
        yield f"`{text}` has the members {quoted(members, 10)}; by value use `{text}(value)`."
    has_get = owner is MISSING or attribute_of(type(owner), "get") is not MISSING  # (lambda: {'a': 1})()['b']
    if isinstance(failure.expression, ast.Subscript) and has_get and not library_kind(owner):
        yield _GET


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


def _member_of_set(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    function = failure.function.value if isinstance(failure.function, ast.Attribute) else None
    owner, text = failure.resolve(function), failure.text_of(function)
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


def _in_database(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Name the table or the column that was meant, of those that the program itself creates."""
    created = " ".join(re.findall(r"(?i)create\s+table[^;]*?\)", "\n".join(failure.sources.values())))
    names = dict.fromkeys(re.findall(r"\w+", created))
    yield did_you_mean(nearest((match[1] or match[2]).rpartition(".")[2], names))


_OF_INDEX = r"(?:list|tuple|string|array|range object|deque|bytearray|pop) index out of range"
RULES = (
    HintRule("KeyError", "", _key),
    HintRule("KeyError", "", _member_of_set, ("remove", "pop")),
    HintRule("KeyError", "", _chosen_from_dict, ("choice", "sample")),
    HintRule("KeyError", "", _field_of_format, ("format", "format_map", "substitute")),
    HintRule("IndexError", _OF_INDEX, _out_of_range),
    HintRule("OperationalError", r"no such (?:table|column): ([\w.]+)|no column named (\w+)", _in_database),
)
