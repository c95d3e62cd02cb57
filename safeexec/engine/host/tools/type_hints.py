"""The type hints of host tools: what an argument of guest code is converted to, and what is said of one that cannot be.

Guest code sees the hints as text. A class of the host says nothing there, so its shape is shown too: ``Point: a dict
with x: int, y: int = 0``.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import operator
import re
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import inspect as shapes

from safeexec.common.signatures import shown
from safeexec.common.text import default_text, short_repr, shorten, type_name
from safeexec.errors import ToolError
from safeexec.protocol.values import Opaque
from safeexec.protocol.values.pandas_reader import Columns, Labelled

_EXACT = (bytes, bytearray)
"""Never made of text: msgspec would read it as base64."""
_ITSELF = frozenset({int, str, float, bool, bytes})
"""Types whose values need no conversion: 0.1 us instead of 0.4 for the usual argument."""
_SHOWN = 60
_DETAIL = 1000
_MISMATCH = re.compile(r"Expected `(.+?)`, got `(.+?)`$")
_MISSING = re.compile(r"Object missing required field `(.+)`$")
_WORDS = {"array": "list", "object": "dict", "null": "None", "duration": "timedelta"}
_PATH = re.compile(r"\.(\w+)")
_NESTED = ("fields", "types", "item_types", "item_type", "key_type", "value_type", "type")


def checked(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the hints of the parameters that can be checked. Raises `ToolError`."""
    target = function
    while isinstance(target, partial):
        target = target.func
    if isinstance(target, type):
        target = vars(target).get("__init__", target.__init__)  # type: ignore[misc]
    elif not inspect.isroutine(target):
        target = type(target).__call__
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except Exception as error:
        raise ToolError(f"the type hints of the tool {name!r} cannot be read: {error}") from None
    hints.pop("return", None)
    for parameter, hint in hints.items():
        if Callable in (hint, typing.get_origin(hint), *map(typing.get_origin, typing.get_args(hint))):
            raise ToolError(f"{name}({parameter}): a tool cannot take a function of the guest; pass data instead")
    found = {}
    for parameter, hint in hints.items():
        if hint is not Any and hint is not object:
            if problem := _unchecked(hint):
                raise ToolError(f"{name}({parameter}): values cannot be checked against its type hint: {problem}")
            found[parameter] = hint
    return found


def convert(call: str, parameter: str, hint: Any, given: Any) -> Any:
    """Return `given` as `hint` says. A TypeError names the call, the parameter, what was expected and what came."""
    if type(given) is hint and hint in _ITSELF:
        return given
    return made(f"{call} argument {parameter!r}", parameter, hint, given)


def made(what: str, name: str, hint: Any, given: Any) -> Any:
    """Return plain data as `hint` says. Raises TypeError that begins with `what` and calls the value `name`."""
    try:
        value = _converted(given, hint)
        if isinstance(given, (dict, list, tuple, set, frozenset)) and _may_hold_dataclass(hint):
            _complete(value, set())
    except Exception as error:  # classes of the host raise what they like: `__post_init__`, `_missing_`, validators
        kind = given.type if isinstance(given, Opaque | Labelled | Columns) else type_name(type(given))
        got = f"{kind} {short_repr(given, _SHOWN)}"
        detail = shorten(_detail(_message(error), name), _DETAIL)
        raise TypeError(f"{what}: expected {_wanted(hint)}, got {got}{detail}") from None
    if type(given) is dict and (known := _keys(hint)) is not None:
        # msgspec would drop silently what the class has not
        for key in given:
            if key not in known:
                raise TypeError(f"{what}: unknown key {short_repr(key, _SHOWN)}; expected {_wanted(hint)}")
    return value


def _converted(given: Any, hint: Any) -> Any:
    """Return `given` as it came, else as plain data: a Series as a list, a frame by its columns; else as a dict by
    labels and a list of rows. A host that has imported numpy and pandas gets their objects: a tool's hint says which it
    wants.
    """
    failed: Exception | None = None
    for form in (None, False, True):
        plain = given if form is None else _plain(given, form)
        if form is None or plain is not given:
            try:
                return msgspec.convert(plain, hint, builtin_types=_EXACT, dec_hook=_made)
            except Exception as error:
                failed = error
    assert failed is not None
    raise failed


def _plain(given: Any, labels: bool, depth: int = 20) -> Any:
    """Return `given` with plain numbers, lists and dicts for what numpy and pandas have; itself where there is none."""
    kind = type(given)
    if kind in (list, tuple) and depth:
        items = [_plain(item, labels, depth - 1) for item in given]
        return given if all(map(operator.is_, items, given)) else kind(items)
    if kind is dict and depth:
        values = [_plain(item, labels, depth - 1) for item in given.values()]
        keys = [_plain(key, labels, depth - 1) for key in given]
        same = all(map(operator.is_, values, given.values())) and all(map(operator.is_, keys, given))
        return given if same else dict(zip(keys, values, strict=True))
    if kind is Labelled and labels and given.by_label is not None:
        return given.by_label
    if kind is Columns and labels:
        return [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
    if kind.__module__.partition(".")[0] not in ("numpy", "pandas") or not depth:
        return given
    if hasattr(given, "columns"):
        return _plain(given.to_dict(orient="records" if labels else "list"), labels, depth - 1)
    if labels and hasattr(given, "to_dict") and given.index.is_unique:
        return _plain(given.to_dict(), labels, depth - 1)
    return _plain(given.tolist(), labels, depth - 1) if hasattr(kind, "tolist") else given


def _may_hold_dataclass(hint: Any) -> bool:
    try:
        return _holds_dataclass(hint)
    except TypeError:  # what `Annotated` says of it cannot be hashed
        return True


@lru_cache(1000)
def _holds_dataclass(hint: Any) -> bool:
    return any(dataclasses.is_dataclass(info.cls) for info in _classes(shapes.type_info(hint), set()))


def _complete(value: Any, seen: set[int]) -> None:
    """Set defaults of dataclasses, which msgspec leaves to be read from the class: who writes the object needs them."""
    if id(value) in seen:  # `__post_init__` may make a circle
        return
    seen.add(id(value))
    if isinstance(value, dict):
        parts = [*value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = [*value]
    elif dataclasses.is_dataclass(value):
        own: dict[str, Any] = getattr(value, "__dict__", {})  # with slots it has its defaults
        names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        for name in names:
            own.setdefault(name, getattr(value, name))
        parts = [getattr(value, name) for name in names]
    elif isinstance(value, msgspec.Struct):
        parts = [getattr(value, name) for name in value.__struct_fields__]
    else:
        return
    for part in parts:
        _complete(part, seen)


def _message(error: Exception) -> str:
    """Return what an exception says, which may quote the guest at length, or fail to be printed."""
    try:
        return str(error)[: 4 * _DETAIL]
    except Exception:
        return type_name(type(error))


def _made(kind: type, given: Any) -> Any:
    """Return what msgspec does not know by itself: paths of text, pydantic's models of a dict, arrays and frames as
    they are. Raises ValueError, or NotImplementedError for a class of another kind.
    """
    if issubclass(kind, PurePath):
        if type(given) is str:
            return kind(given)
    elif validate := getattr(kind, "model_validate", None):
        return validate(given)
    elif kind.__module__.partition(".")[0] in ("numpy", "pandas"):
        if isinstance(given, kind):
            return given
    else:
        raise NotImplementedError(f"Type {type_name(kind)} is not supported")
    raise ValueError(f"Expected `{type_name(kind)}`, got `{type_name(type(given))}`")


def can_be_checked(hint: Any) -> bool:
    """Return whether values can be checked against a type hint."""
    return not _unchecked(hint)


def _unchecked(hint: Any) -> str:
    """Say why no value can be checked against a type hint; "" where one can."""
    try:
        msgspec.convert(None, hint, dec_hook=_made)
    except msgspec.ValidationError:
        pass
    except Exception as error:  # NameError where a field of a class is known to type checkers alone
        return str(error) or type_name(type(error))
    return ""


def names_class(hint: Any) -> bool:
    """Return whether a type hint names a class of the host that values can be made for, at any depth."""
    if not can_be_checked(hint):
        return False
    found: set[Any] = set()
    for _ in _classes(shapes.type_info(hint), found):
        pass
    return bool(found)


def legend(hints: Iterable[Any]) -> str:
    """Return the classes of the host that hints name, a line each: what a dict for one holds, an enum's values."""
    shapes_by_name: dict[str, str] = {}
    for hint in hints:
        for found in _classes(shapes.type_info(hint), set()):
            shapes_by_name.setdefault(found.cls.__name__, _shape(found))
    return "\n".join(f"{name}: {shape}" for name, shape in shapes_by_name.items())


def _wanted(hint: Any) -> str:
    info = shapes.type_info(hint)
    if isinstance(info, shapes.EnumType):
        return _shape(info)
    return f"{shown(hint)}, {_shape(info)}" if hasattr(info, "fields") else shown(hint)


def _detail(message: str, parameter: str) -> str:
    """Return what msgspec says beyond the type of the whole: where inside, and what there."""
    problem, _, place = message.partition(" - at ")
    where = _place(place, parameter)
    if match := _MISMATCH.match(problem):
        return f": {where} is {_words(match[2])}, not {_words(match[1])}" if place else ""
    if match := _MISSING.match(problem):
        return f": {where} lacks {match[1]!r}"
    if problem.startswith("Invalid enum value"):
        return f": {where} is not one of them" if place else ""
    if problem.startswith("Expected "):
        return f": {where} must be {_words(problem[len('Expected ') :])}"
    if problem.startswith("Invalid "):
        return f": {where} is an {_words(problem[:1].lower() + problem[1:])}"
    lines = [line.strip() for line in problem.splitlines() if "https://" not in line]  # pydantic has several
    return f": {where}: {' '.join(lines)}"


def _place(path: str, parameter: str) -> str:
    """Return msgspec's ``$.rows[1]`` as Python."""
    inner = path.replace("`", "")
    prefix = ""
    if inner.startswith("key in "):
        prefix, inner = "a key of ", inner[len("key in ") :]
    return prefix + parameter + _PATH.sub(r"['\1']", inner[1:])


def _words(text: str) -> str:
    """Return msgspec's words, which are JSON's, as Python's."""
    return re.sub(r"[a-z]+", lambda match: _WORDS.get(match[0], match[0]), text.replace("`", "")).replace(" | ", " or ")


@lru_cache(1000)
def _keys(hint: Any) -> frozenset[str] | None:
    """Return the keys that a dict for `hint` may have, where that is a class of the host."""
    fields = getattr(shapes.type_info(hint), "fields", None)
    return None if fields is None else frozenset(field.encode_name for field in fields)


def _classes(info: Any, seen: set[Any]) -> Iterator[Any]:
    """Yield the classes of the host in a described type, the outermost first; `seen` gets arrays and frames, too."""
    if isinstance(info, tuple):
        for part in info:
            yield from _classes(part, seen)
        return
    named = getattr(info, "cls", None)
    if named in seen and named is not None:
        return
    if named is not None:
        seen.add(named)
        if isinstance(info, shapes.EnumType) or hasattr(info, "fields"):
            yield info
    for attribute in _NESTED:
        part = getattr(info, attribute, None)
        if part is not None and part is not ...:
            yield from _classes(part, seen)


def _shape(info: Any) -> str:
    """Return what may be passed for one class."""
    if isinstance(info, shapes.EnumType):
        values: list[Any] = [member.value for member in typing.cast("Iterable[enum.Enum]", info.cls)]
        return f"one of {', '.join(map(repr, values))}"
    hints = typing.get_type_hints(info.cls)
    rows = []
    for field in info.fields:
        hint = f": {shown(hints[field.name])}" if field.name in hints else ""
        default = "" if field.required else " (optional)"
        if field.default is not msgspec.NODEFAULT:
            default = f" = {default_text(field.default, hint)}"
        rows.append(f"{field.encode_name}{hint}{default}")
    kind = "a tuple of" if isinstance(info, shapes.NamedTupleType) else "a dict with"
    return f"{kind} {', '.join(rows)}"
