# ruff: noqa: E501 (one sentence, one line)
"""Rules for keys that a dict, a set, an Enum or the environment does not have, and for indexes out of range."""

from __future__ import annotations

import ast
import re
from itertools import islice
from typing import Any

from safeexec.common.identity import class_name
from safeexec.common.matching import nearest, quoted
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING, enum_members, library_kind
from safeexec.hints.rules import HintRules

RULES = HintRules()
_MOST_KEYS = 2000
_GET = "For a key that may be missing use `.get(key, default)`, or ask `key in ...` first."


def _owner(failure: Failure) -> tuple[Any, str]:
    """Return what was subscripted and its source text."""
    tree = failure.expression.value if isinstance(failure.expression, ast.Subscript) else None
    return failure.resolve(tree), failure.text_of(tree, "the dict")


@RULES.when("KeyError")  # d = {'retries': 1}; d['retires']
def _of_dict(failure: Failure, match: re.Match[str]) -> str | None:
    """Name the key that was meant, or those there are."""
    owner, text = _owner(failure)
    if not issubclass(type(owner), dict):
        return None
    key, keys = failure.argument, list(islice(dict.keys(owner), _MOST_KEYS))
    if not keys:
        return f"`{text}` is empty here: fill it first, or use `.get(key, default)`."
    if type(key) is str and any(type(other) is int and str(other) == key for other in keys):
        return f"The keys are numbers: use `{text}[{key}]`."
    names = [other for other in keys if type(other) is str]
    if type(key) in (int, float) and str(key) in names:
        return f"The keys are strings: use `{text}[{str(key)!r}]`."
    if found := nearest(key, names, 2) if type(key) is str else []:
        return f"There is no key {key!r}; did you mean {' or '.join(f'`{name!r}`' for name in found)}?"
    shown = [repr(other) for other in keys if type(other) in (str, int, float, bool) and len(repr(other)) <= 40]
    if len(shown) < len(keys) or len(keys) > 200:
        return _GET
    return f"The keys are {quoted(shown, 10)}; for a key that may be missing use `.get(key, default)`."


@RULES.when("KeyError")  # os.environ['API_KEY']
def _environment(failure: Failure, match: re.Match[str]) -> str | None:
    if class_name(type(_owner(failure)[0])) not in ("_Environ", "_Environment"):
        return None
    return f"No environment variable is set here: use `os.environ.get({failure.argument!r}, default)`, or assign the value to a variable at the top of the code."


@RULES.when("KeyError")  # C['red']
def _member_by_name(failure: Failure, match: re.Match[str]) -> str | None:
    owner, text = _owner(failure)
    members = enum_members(owner) if owner is not MISSING and issubclass(type(owner), type) else []
    found = nearest(failure.argument, members) if type(failure.argument) is str else []
    if found:
        return f"Did you mean `{text}[{found[0]!r}]`?"
    return f"`{text}` has the members {quoted(members, 10)}; by value use `{text}(value)`." if members else None


@RULES.when("KeyError")  # (lambda: {'a': 1})()['b']
def _missing_key(failure: Failure, match: re.Match[str]) -> str | None:
    return _GET if isinstance(failure.expression, ast.Subscript) and not library_kind(_owner(failure)[0]) else None


@RULES.when("KeyError", calls=("remove", "pop"))  # s = {1}; s.remove(2)
def _member_of_set(failure: Failure, match: re.Match[str]) -> str | None:
    function = failure.function.value if isinstance(failure.function, ast.Attribute) else None
    owner, text = failure.resolve(function), failure.text_of(function)
    if type(owner) is set and failure.called == "pop":
        return f"`{text}` is empty: check `if {text}:` before you pop."
    if type(owner) is set or (owner is MISSING and failure.called == "remove"):
        return f"Use `{text}.discard(item)`, which does nothing if the item is not there."
    return (
        f"Use `{text}.pop(key, None)`, which does nothing if the key is not there."
        if issubclass(type(owner), dict)
        else None
    )


@RULES.when("KeyError", calls=("choice", "sample"))  # random.choice({'a': 1, 'b': 2})
def _chosen_from_dict(failure: Failure, match: re.Match[str]) -> str | None:
    values = failure.text_of(failure.call.args[0], "mapping") if failure.call and failure.call.args else "mapping"
    return f"It takes items by position: give a list, `{failure.text_of(failure.function)}(list({values}))`."


@RULES.when("KeyError", calls=("format", "format_map"))  # '{name}'.format(1)
def _field_of_format(failure: Failure, match: re.Match[str]) -> str | None:
    return f"Give the value by name, `.format({failure.argument}=...)`, or use an f-string; a brace that is text is doubled: `{{{{`."


@RULES.when(
    "IndexError", r"(?:list|tuple|string|array|range object|deque|bytearray|pop) index out of range"
)  # x = [1, 2]; x[5]
def _out_of_range(failure: Failure, match: re.Match[str]) -> str | None:
    owner, text = _owner(failure)
    if type(owner) not in (list, tuple, str, range):
        text = text if isinstance(failure.expression, ast.Subscript) else "values"
        return f"Check the length first: the indexes of `{text}` go from 0 to `len({text}) - 1`."
    if not len(owner):
        return f"`{text}` is empty: check `if {text}:` first."
    return f"`{text}` has {len(owner)} item{'' if len(owner) == 1 else 's'}: its indexes go from 0 to {len(owner) - 1}."
