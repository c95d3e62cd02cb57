# ruff: noqa: E501 (one sentence, one line)
"""Shows the values of a failing expression, in words: plain data by its text, a table by its columns, an array by its
shape. That holds for any library, and for any release. No code of the program runs for it.
"""

from __future__ import annotations

import ast
import datetime
import re
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from safeexec.common.identity import class_name, dict_of
from safeexec.common.matching import nearest, quoted
from safeexec.common.text import short_repr
from safeexec.hints.columns import columns_of
from safeexec.hints.failure import Failure
from safeexec.hints.objects import (
    CO_FUTURE_ANNOTATIONS,
    CO_VARARGS,
    MISSING,
    attribute_of,
    is_module,
    is_of_guest,
    library_class,
    parameters,
)
from safeexec.hints.rules import HintRule

_SHOWN, _ITEMS, _MOST = 60, 20, 4
"""Characters of a value, items of a container, and values that a sentence may have."""
_SCALARS = frozenset({bool, int, float, complex, str, bytes, type(None)})
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, type(str.split))


def fact(value: Any) -> str | None:
    """Return what a value is: plain data as Python writes it, a container of other data or of much by its size, an array
    by its shape, a table by its columns; None where nothing is known.
    """
    if value is MISSING or is_module(value) or issubclass(type(value), (type, property)):
        return None
    if type(value) in _SCALARS:
        return short_repr(value, _SHOWN)
    if type(value) in (list, tuple, set, frozenset, dict):
        items = [*value, *(value.values() if type(value) is dict else ())] if len(value) <= _ITEMS else [value]
        plain = _SCALARS.issuperset(map(type, items))
        return short_repr(value, _SHOWN) if plain else f"a {type(value).__name__} of {len(value)}"
    if type(value) is library_class("DataFrame"):
        columns = f" with the columns {quoted(map(repr, columns_of(value)), 8)}" if columns_of(value) else ""
        return f"a DataFrame of {len(value)} rows{columns}"
    if type(value) in (library_class("Series"), library_class("Index")):
        return f"a {type(value).__name__} of {len(value)} values ({value.dtype})"
    if type(value) is library_class("ndarray", "numpy"):
        return f"an array of shape {value.shape} ({value.dtype})"
    if type(value) in _FUNCTIONS:
        return "a function"
    # What has `__get__` stands in a class for a value that only its code knows.
    return None if attribute_of(type(value), "__get__") is not MISSING else f"of type `{class_name(type(value))}`"


def facts_of(failure: Failure) -> dict[str, str]:
    """Return the names, attributes and items in the failing expression, as text, with what each is; functions that it
    calls left out.
    """
    found: dict[str, str] = {}
    parts = list(ast.walk(failure.expression)) if failure.expression else []
    called = {id(part.func) for part in parts if isinstance(part, ast.Call)}
    for part in parts:
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and id(part) not in called:
            text = fact(failure.resolve(part))
            if text is not None:
                found.setdefault(failure.text_of(part), text)
    return dict([*found.items()][:_MOST])


def given(failure: Failure) -> str:
    """Return how a library's function is called, what it is given, and what it says of itself; of that the arguments alone
    that the message names, where it names some. Empty where that is not known.
    """
    call, callee = failure.call, failure.callee
    if call is None or callee is MISSING or any(isinstance(arg, ast.Starred) for arg in call.args):
        return ""
    names = parameters(callee)
    if is_of_guest(type(callee)) or not (names or type(callee) in _FUNCTIONS or issubclass(type(callee), type)):
        return ""
    usage, _, says = (about := _about(callee)).strip().partition("\n")
    first, call_of_it = f"{usage}\n{says}".partition("\n\n")[0], rf"^ +({re.escape(failure.called)}\(.*\))$"
    if names:
        takes, says = f"takes ({', '.join(names[:_PARAMETERS])}{', ...' if len(names) > _PARAMETERS else ''})", usage
    elif ways := re.findall(_SIGNATURE, first, re.MULTILINE):  # in which functions of C are described
        takes, says = f"is called so: {quoted(ways, 3)}", says.partition("\n\n")[2].strip().partition("\n")[0]
    elif listed := re.findall(call_of_it, about, re.MULTILINE):  # plt.subplot(2, 2), which takes any arguments
        takes, says = f"is called so: {quoted(listed, 3)}", usage
    else:
        return ""
    bound, said = _bound(failure), _NAMED.findall(failure.message)
    function = failure.text_of(failure.function, failure.called)
    words = re.findall(r"\w+", str(said))
    lacking = [name for name in names if name in words and name not in dict(bound)]
    if lacking and _NEEDED.search(failure.message):
        return f"`{function}` needs {' or '.join(f'`{name}`' for name in lacking[:_MOST])} too: give it by name, `{function}(..., {lacking[0]}=...)`."
    texts = [(name, tree) for name, tree in bound if _is_named(failure, tree)]
    values = [_argument(failure, callee, name, tree) for name, tree in (texts or bound)[:_MOST]]
    says = says.partition(". ")[0].rstrip(".")
    itself = f" It says of itself: {says}." if 0 < len(says) <= _SAID and "->" not in says else ""
    return f"`{function}` {takes}, and is given {', '.join(values) or 'nothing'}.{itself}"


_PARAMETERS, _SAID = 8, 120
"""Parameters of a function, and characters of its documentation, that a sentence has."""
_SIGNATURE = r"^\w+\(.+\)(?= -+>|$)"
_READ = 100_000
"""Characters of a documentation that are read: of pandas the longest has 30,000. A guest may write one of any length."""
_NAMED = re.compile(r"['\"`](\w+)['\"`]|parameters: ([\w, ]+)")
_NEEDED = re.compile(r"^(?!.*(?:[Cc]annot|both|only|not )).*\b(?:[Mm]ust|required?|needs?)\b")
"""How a message names parameters, and says that some are to be given."""


def _about(function: Any) -> str:
    """Return the documentation of a function or class; empty if it has none."""
    about = dict_of(function).get("__doc__") if issubclass(type(function), type) else function.__doc__
    return about[:_READ] if type(about) is str else ""


def _bound(failure: Failure) -> list[tuple[str, ast.expr]]:
    """Return the arguments of the failing call with their names, which are empty where they are not known."""
    call, callee = failure.call, failure.callee
    if call is None or callee is MISSING:
        return []
    names = parameters(callee)
    starred = type(callee) is FunctionType and callee.__code__.co_flags & CO_VARARGS
    named = [*([] if starred else names[: len(call.args)]), *[""] * len(call.args)]
    return [*zip(named, call.args, strict=False), *((keyword.arg or "**", keyword.value) for keyword in call.keywords)]


def _is_named(failure: Failure, tree: ast.expr) -> bool:
    """Return whether the message has the text that an argument is."""
    value = failure.resolve(tree)
    return type(value) is str and value != "" and (value if len(value) > 1 else repr(value)) in failure.message


def _documented(function: Any, name: str) -> str:
    """Return what the documentation of a library's function says of a parameter, its type first; empty if nothing."""
    said = re.escape(name)  # possessive: of the 10,000 names that a guest may write in a line, all others took 4 s
    item = name and re.search(
        rf"^( *+)(?:(?!{said}\b)\w++, )*+{said}(?:, \w++)*+ *+:(.*\n(?:\1 ++.*\n| *+\n)*+)",
        _about(function),
        re.MULTILINE,
    )
    return item[2] if item else ""


_WORDS = re.compile(r"(?<!\w)['\"]([A-Za-z][\w .+-]{0,24})['\"](?!\w)")


def choices(failure: Failure, *, in_braces: bool = False) -> Iterator[str]:
    """Yield a hint for a text that is none of those that the documentation of the parameter names, or names as its type,
    in braces: df.to_dict(orient='rows')
    """
    for name, tree in _bound(failure) if not is_of_guest(type(failure.callee)) else ():
        value = failure.resolve(tree)
        if type(value) is not str or value.isdigit():
            continue
        about = _documented(failure.callee, name)
        first = about.partition("\n")[0]
        words = [*dict.fromkeys(_WORDS.findall(first if "{" in first or in_braces else about))]  # also 'C' and 'F'
        named = (
            _is_named(failure, tree)
            or re.search(rf"\b{re.escape(name)}\b", failure.message)
            or first.strip().startswith("{")
        )
        enough = len(words) > (1 if "{" in first else 2)  # fewer are examples: freq='D'
        if enough and value not in words and named:
            meant = "".join(f"did you mean `{name}={word!r}`? " for word in nearest(value, words))
            yield f"{value!r} is none of its values: {meant}`{name}` takes {quoted(map(repr, words), 12)}."


def _argument(failure: Failure, function: Any, name: str, tree: ast.expr) -> str:
    """Return an argument with its value, and the type that the function takes by its documentation, or by annotations
    that are text: others are the guest's objects, or made by code of the guest when they are read.
    """
    known = None if isinstance(tree, ast.Constant) else fact(failure.resolve(tree))
    text = f"`{name}{'=' if name.isidentifier() else ''}{failure.text_of(tree, '...')}`"
    if known and not known.startswith("of type") and isinstance(tree, ast.Name | ast.Attribute | ast.Subscript):
        text += f" ({known})"
    written = _documented(function, name).partition("\n")[0].partition(", default")[0].strip()
    if not written and type(function) is FunctionType and function.__code__.co_flags & CO_FUTURE_ANNOTATIONS:
        annotation = function.__annotations__.get(name)
        written = annotation if type(annotation) is str else ""
    return f"{text}, which is to be `{written}`" if 0 < len(written) <= _SHOWN and "array" not in written else text


def _twice(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    yield f"`{match[1]}` is given twice, by position and by name: {given(failure) or 'leave one of them out.'}"


def _argument_of_library(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a value that a function cannot take apart: bisect.insort(3, [1, 2])"""
    if failure.libraries or (failure.call and len(failure.call.args) > 1):
        yield given(failure)


def _asserted(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield the values that the failed condition was about, of plain data alone."""
    seen = {} if failure.libraries else facts_of(failure)
    if seen := {name: value for name, value in seen.items() if not value.startswith("of type")}:
        yield "When it failed, " + ", ".join(f"`{name}` was {value}" for name, value in seen.items()) + "."


# dates as text

_WRITTEN = re.compile(
    r"(?P<year_first>\b\d{4}([-/.])\d\d?\2\d\d?)|(?P<year_last>\b(\d\d?)([-/.])(\d\d?)\5\d{4}\b)|(?P<seconds>\b\d\d?:\d\d:\d\d)|(?P<minutes>\b\d\d?:\d\d)"
)


def format_of(text: str) -> str:
    """Return how a date of numbers is written, for `strptime`; of two up to 12 the first is the day where a point parts them."""

    def one(match: re.Match[str]) -> str:
        if match["year_first"]:
            return f"%Y{match[2]}%m{match[2]}%d"
        if match["year_last"]:
            day_first = int(match[4]) > 12 or (int(match[6]) <= 12 and match[5] != "/")
            return match[5].join((*(("%d", "%m") if day_first else ("%m", "%d")), "%Y"))
        return "%H:%M:%S" if match["seconds"] else "%H:%M"

    return _WRITTEN.sub(one, text)


def _date_format(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a format that does not fit the text, with one that does."""
    texts = [match[1], *(failure.resolve(tree) for tree in (failure.call.args[:1] if failure.call else ()))]
    text = next((text for text in texts if type(text) is str), "")
    written = format_of(text[:_SHOWN])
    if "%" in text and failure.call:
        yield f"The text comes first, and then its format: `{failure.rewritten(failure.call.args[::-1], [], 'strptime(text, format)')}`."
    try:
        if "%" in text or "%" not in written:
            return
        datetime.datetime.strptime(text, written)
    except ValueError:
        return
    if failure.called == "to_datetime":
        yield f"{text!r} is written as `{written!r}`: `pd.to_datetime(column, format={written!r})`; where each is written in its own way, `format='mixed'`; `errors='coerce'` makes NaT of what is no date."
    other = (
        f", or `{written.replace('%m/%d', '%d/%m')!r}` if the day stands first"
        if re.match(r"(0?\d|1[012])/(0?\d|1[012])/", text)
        else ""
    )
    yield f"{text!r} is written as `{written!r}`{other}: `datetime.strptime(text, {written!r})`."


def _facts(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield what a function takes and what the values are, where no other rule knows more."""
    own = [frame for frame in failure.libraries if str(frame.f_globals.get("__name__")).startswith("safeexec.")]
    if own or is_of_guest(failure.kind) or issubclass(failure.kind, SyntaxError):
        return  # `own`: a tool of the host has raised it, in its own words
    yield from choices(failure)
    yield given(failure)
    known = facts_of(failure)
    if not all(value.startswith("of type") for value in known.values()):
        yield f"Look at what is given there: {', '.join(f'`{name}` is {what}' for name, what in known.items())}."


_NOT_IN_FORMAT = r"time data ['\"](.*?)['\"] (?:doesn't|does not) match format|unconverted data remains"
_NO_CONTAINER = "'(?:int|float|bool)' object is not (?:iterable|subscriptable)|of type '(?:int|float|bool)' has no len"
RULES = (
    HintRule("AssertionError", "", _asserted),
    HintRule("ValueError", _NOT_IN_FORMAT, _date_format),
    HintRule("ValueError", "Invalid isoformat string: '(.*)'", _date_format),
    HintRule("TypeError", r"got multiple values for (?:keyword )?argument '(\w+)'", _twice),
    HintRule("TypeError", _NO_CONTAINER, _argument_of_library),
)
LAST = (HintRule("Exception", "", _facts),)
