"""YAML text → a checked document with the place of every key.

YAML is read event by event with its marks, so that each mistake can name file, line, column and dotted path. The
usual file is right: it is validated in one go; only if that fails are the parts looked at one by one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

from safeexec.policy.document import Document
from safeexec.policy.mistakes import Mark, Mistake, fail, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.events import Event

MAX_BYTES = 256 * 1024
"""Characters of the longest policy file that is read."""

MAX_DEPTH = 16
"""Levels of nesting; the schema needs five."""

NOTHING = object()

UNITS = {"seconds": "a number of seconds, such as 5.0", "mb": "a whole number of MiB", "kb": "a whole number of KiB"}


class Source(msgspec.Struct, frozen=True):
    """One file, read and checked: its plain content and where each dotted path is written."""

    file: str
    """The name errors and rules use: the file's own name without its directory."""
    path: str
    """Where the file is, or the empty string for text without a file."""
    content: dict[str, Any]
    """What the file says, without the settings that are wrong."""
    marks: dict[str, Mark]
    mistakes: list[Mistake] = []

    def mistake(self, path: str, text: str) -> Mistake:
        """A mistake at the place where `path`, or the nearest thing above it, is written."""
        at = path
        while at and at not in self.marks:
            at = re.sub(r"(\.[^.\[]*|\[\d+\]|^[^.\[]*)$", "", at)
        return Mistake(self.file, self.marks.get(at), path, text)

    def rule(self, path: str) -> str:
        """``standard.yaml:41`` for the place of `path`."""
        mark = self.marks.get(path)
        return f"{self.file}:{mark.line}" if mark else self.file


def read(text: str, *, file: str, path: str = "") -> Source:
    """The content of one policy file, with its mistakes. Raises `PolicyError` where the text is not YAML."""
    if len(text) > MAX_BYTES:
        raise fail([Mistake(file, None, "", f"the file has {len(text)} characters; a policy has at most {MAX_BYTES}")])
    mistakes: list[Mistake] = []
    reader = _Reader(text, file, mistakes)
    content = reader.document()
    if content is NOTHING:
        raise fail(
            [Mistake(file, None, "", "the file is empty; expected keys such as description, extends, imports, limits")]
        )
    if not isinstance(content, dict):
        raise fail([Mistake(file, Mark(1, 1), "", f"expected a mapping of keys, found {_kind(content)}")])
    return checked(Source(file, path, content, reader.marks, mistakes))


def checked(source: Source) -> Source:
    """`source` with every mistake in its shape noted, and the settings that are wrong taken out."""
    try:
        msgspec.convert(source.content, Document)
    except msgspec.ValidationError:
        fields = _fields(Document)
        for key in list(source.content):
            before = len(source.mistakes)
            _check({key: source.content[key]}, Document, "", source, source.mistakes)
            if len(source.mistakes) > before or key not in fields:
                del source.content[key]
    return source


class _Reader:
    """Turns the events of a YAML parser into plain values, and notes where each path is written.

    Events and not `yaml.compose`: that one recurses in C without a bound and ends the process at about 20,000 levels.
    """

    def __init__(self, text: str, file: str, mistakes: list[Mistake]) -> None:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.events: Iterator[Event] = yaml.parse(text, Loader=loader)
        self.file, self.mistakes = file, mistakes
        self.marks: dict[str, Mark] = {}

    def document(self) -> Any:
        """The value of the one document; `NOTHING` if there is none. Raises `PolicyError` where it is not YAML."""
        import yaml

        try:
            for event in self.events:
                if isinstance(event, yaml.DocumentStartEvent):
                    value = self._value(next(self.events), "", 0)
                    next(self.events)
                    following = next(self.events)
                    if isinstance(following, yaml.DocumentStartEvent):
                        raise fail(
                            [Mistake(self.file, _mark(following), "", "a file holds one policy; a second begins here")]
                        )
                    return value
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark or error.context_mark
            mark = Mark(at.line + 1, at.column + 1) if at else None
            raise fail([Mistake(self.file, mark, "", f"not YAML: {error.problem or error.context}")]) from None
        except (yaml.YAMLError, UnicodeEncodeError) as error:
            raise fail([Mistake(self.file, None, "", f"not YAML: {error}")]) from None
        return NOTHING

    def _value(self, event: Event, path: str, depth: int) -> Any:
        import yaml

        if depth > MAX_DEPTH:
            raise fail([Mistake(self.file, _mark(event), "", f"nested more than {MAX_DEPTH} levels deep")])
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value) if event.implicit[0] else event.value
        if isinstance(event, yaml.AliasEvent):
            self._mistake(event, path, "anchors and aliases are not read in a policy; write the value out")
            return None
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path, depth)
        values: list[Any] = []
        while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
            where = f"{path}[{len(values)}]"
            self.marks[where] = _mark(item)
            values.append(self._value(item, where, depth + 1))
        return values

    def _mapping(self, path: str, depth: int) -> dict[str, Any]:
        import yaml

        values: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self._mistake(event, path, "a key must be a plain word")
                self._value(event, path, depth + 1)
                self._value(next(self.events), path, depth + 1)
                continue
            key = event.value
            where = f"{path}.{key}" if path else key
            repeated = key in values
            if repeated:
                self._mistake(event, where, f"the key is written twice, first in line {self.marks[where].line}")
            else:
                self.marks[where] = _mark(event)
            value = self._value(next(self.events), where, depth + 1)
            if not repeated:
                values[key] = value
        return values

    def _mistake(self, event: Event, path: str, text: str) -> None:
        self.mistakes.append(Mistake(self.file, _mark(event), path, text))


def _mark(event: Event) -> Mark:
    start: Any = event.start_mark
    return Mark(start.line + 1, start.column + 1)


_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


def _scalar(text: str) -> Any:
    """A plain value by the rules of YAML 1.2: `on`, `off`, `yes`, `no` are words (``checkpoints: off``), 010 is ten."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text) and len(text) < 20:
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def _check(value: Any, expected: Any, path: str, source: Source, mistakes: list[Mistake]) -> None:
    """Adds each way in which `value` is not of the type `expected`."""
    arms = [arm for arm in _arms(expected) if arm is not UnsetType]
    if value is None and NoneType in arms:
        return
    struct = next((arm for arm in arms if isinstance(arm, type) and issubclass(arm, msgspec.Struct)), None)
    mapping = next((arm for arm in arms if get_origin(arm) is dict), None)
    sequence = next((arm for arm in arms if get_origin(arm) is list), None)
    if isinstance(value, dict) and struct is not None:
        fields = _fields(struct)
        for key, item in value.items():
            where = f"{path}.{key}" if path else key
            if key in fields:
                _check(item, fields[key], where, source, mistakes)
            else:
                hint = nearest(key, fields) or f"; the keys here are {', '.join(fields)}"
                mistakes.append(source.mistake(where, f"unknown key{hint}"))
    elif isinstance(value, dict) and mapping is not None:
        for key, item in value.items():
            _check(item, get_args(mapping)[1], f"{path}.{key}", source, mistakes)
    elif isinstance(value, list) and sequence is not None:
        for index, item in enumerate(value):
            _check(item, get_args(sequence)[0], f"{path}[{index}]", source, mistakes)
    else:
        try:
            msgspec.convert(value, expected)
        except msgspec.ValidationError as error:
            mistakes.append(source.mistake(path, _complaint(value, arms, path, str(error))))


def _complaint(value: Any, arms: list[Any], path: str, error: str) -> str:
    """What was expected and what was found, in words of the policy language."""
    bare = [get_args(arm)[0] if get_origin(arm) is Annotated else arm for arm in arms]
    words = [word for arm in bare if get_origin(arm) is Literal for word in get_args(arm)]
    unit = UNITS.get(path.rpartition("_")[2])
    if error.startswith("Expected `") and (">" in error or "<" in error):
        # The type is right and the value is out of range: msgspec says which bound.
        bound = error.removeprefix("Expected ").partition(" - at")[0].replace("`", "")
        return f"expected {bound}{f' ({unit})' if unit else ''}, found {value!r}"
    parts = [" or ".join(words)] if words else []
    for arm in bare:
        if get_origin(arm) is list:
            parts.append("a list of names")
        elif get_origin(arm) is dict:
            parts.append("a mapping")
        elif isinstance(arm, type) and issubclass(arm, msgspec.Struct):
            parts.append(f"a mapping with {', '.join(_fields(arm))}")
        elif arm in (int, float):
            parts.append(unit or ("a whole number" if arm is int else "a number"))
        elif arm is not NoneType and get_origin(arm) is not Literal:
            parts.append({str: "text", bool: "true or false"}.get(arm, str(arm)))
    hint = nearest(value, words) if isinstance(value, str) and words else ""
    return f"expected {', or '.join(parts)}; found {_kind(value)}{hint}"


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return f"a mapping ({', '.join(map(str, list(value)[:3]))})"
    if isinstance(value, list):
        return "a list"
    return repr(value) if isinstance(value, (int, float)) else f"the text {value!r}"


@lru_cache(maxsize=64)
def _fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}


def _arms(expected: Any) -> list[Any]:
    """The alternatives of a type, unions flattened; an annotation stays on what it annotates, except around a union."""
    if get_origin(expected) is Annotated:
        inner = get_args(expected)[0]
        return (
            _arms(inner)
            if get_origin(inner) in (Union, UnionType) or get_origin(inner) is dict or get_origin(inner) is list
            else [expected]
        )
    if get_origin(expected) in (Union, UnionType):
        return [one for arm in get_args(expected) for one in _arms(arm)]
    return [expected]
