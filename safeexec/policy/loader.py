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
from safeexec.policy.mistakes import START, Mark, Mistake, nearest
from safeexec.text import short_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.error import MarkedYAMLError
    from yaml.events import Event

MAX_LENGTH = 256 * 1024
"""Characters of the longest policy file that is read."""

MAX_VALUES = 5000
"""Keys and values of one file; what is wrong with each is looked for, which takes a fraction of a millisecond."""

MAX_DEPTH = 16
"""Levels of nesting; the schema needs five."""

ADVICE = {
    "\t": "a tab cannot indent; use spaces",
    **dict.fromkeys("@`%", "a text that begins with this character is written in quotes"),
    "*": "`*` begins an alias; write it in quotes: '*'",
    "&": "`&` begins an anchor; a text that begins with it is written in quotes",
}
"""The character at which a text stops being YAML → what to write instead."""

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
    dropped: list[str] = []
    """The settings that are wrong and were taken out."""

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
    """The content of one policy file, with its mistakes; no content where the text is not YAML."""
    if len(text) > MAX_LENGTH:
        return unreadable(file, path, f"the file is too long; a policy has at most {MAX_LENGTH} characters")
    mistakes: list[Mistake] = []
    reader = _Reader(text, file, mistakes)
    try:
        content = reader.document()
    except _NotRead as error:
        return _nothing(file, path, [*mistakes, error.mistake])
    return checked(Source(file, path, content, reader.marks, mistakes))


def unreadable(file: str, path: str, text: str, mark: Mark = START) -> Source:
    """A file that cannot be read, as the one mistake that it is."""
    return _nothing(file, path, [Mistake(file, mark, "", text)])


def _nothing(file: str, path: str, mistakes: list[Mistake]) -> Source:
    return Source(file, path, {}, {}, mistakes, dropped=[*_fields(Document)])


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
                source.dropped.append(key)
    return source


class _NotRead(Exception):
    """The text ends being a policy at one place, and nothing after it can be understood."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake)
        self.mistake = mistake


class _Reader:
    """Turns the events of a YAML parser into plain values, and notes where each path is written.

    Events and not `yaml.compose`: that one recurses in C without a bound and ends the process at about 20,000 levels.
    """

    def __init__(self, text: str, file: str, mistakes: list[Mistake]) -> None:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.events: Iterator[Event] = yaml.parse(text, Loader=loader)
        self.text, self.file, self.mistakes = text, file, mistakes
        self.marks: dict[str, Mark] = {}
        self.values = 0

    def document(self) -> dict[str, Any]:
        """The mapping that the one document is. Raises `_NotRead`."""
        import yaml

        try:
            for event in self.events:
                if isinstance(event, yaml.DocumentStartEvent):
                    value = self._value(next(self.events), "", 0)
                    next(self.events)
                    following = next(self.events)
                    if isinstance(following, yaml.DocumentStartEvent):
                        raise self._stop(_mark(following), "a file holds one policy; a second begins here")
                    if not isinstance(value, dict):
                        raise self._stop(START, f"expected a mapping of keys, found {_kind(value)}")
                    return value
        except yaml.MarkedYAMLError as error:
            at: Any = error.problem_mark or error.context_mark
            raise self._stop(Mark(at.line + 1, at.column + 1), self._not_yaml(error, at.line, at.column)) from None
        except (yaml.YAMLError, UnicodeEncodeError):
            raise self._no_text() from None
        raise self._stop(START, "the file is empty; expected keys such as description, extends, imports, limits")

    def _stop(self, mark: Mark, text: str) -> _NotRead:
        return _NotRead(Mistake(self.file, mark, "", text))

    def _not_yaml(self, error: MarkedYAMLError, line: int, column: int) -> str:
        """What is wrong with the text at a place, and where known, what to write."""
        problem = str(error.problem or error.context)
        advice = None
        if problem == "mapping values are not allowed in this context":
            advice = "a text that holds `: ` is written in quotes"
        elif problem.startswith(("found character that cannot start", "did not find expected alphabetic")):
            written = "".join(self.text.splitlines()[line : line + 1])
            # libyaml stands behind the sign of an alias, and at any other.
            advice = ADVICE.get(written[max(column - 1, 0) : column + 1].lstrip(" ")[:1])
        return f"not YAML: {problem}{f'; {advice}' if advice else ''}"

    def _no_text(self) -> _NotRead:
        """The first character that no YAML text may hold: the parser itself does not say in which line it is."""
        from yaml.reader import Reader

        found = Reader.NON_PRINTABLE.search(self.text)
        if found is None:
            return self._stop(START, "not YAML")
        before = self.text[: found.start()]
        mark = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        return self._stop(mark, f"not YAML: control characters such as {found.group()!a} are not allowed")

    def _value(self, event: Event, path: str, depth: int) -> Any:
        import yaml

        self.values += 1
        if self.values > MAX_VALUES:
            raise self._stop(_mark(event), f"the file holds too much; a policy has at most {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise self._stop(_mark(event), f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.AliasEvent):
            self._mistake(event, path, "anchors and aliases are not read in a policy; write the value out")
            return None
        if getattr(event, "tag", None) is not None:
            self._mistake(event, path, "tags (`!`) are not read in a policy; write the plain value")
        if isinstance(event, yaml.ScalarEvent):
            return plain_scalar(event.value) if event.implicit[0] else event.value
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


def plain_scalar(text: str) -> Any:
    """A plain value by the rules of YAML 1.2: `on`, `off`, `yes`, `no` are words (``checkpoints: off``), 010 is ten."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text) and len(text) < 400:
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
        before = len(mistakes)
        for key, item in value.items():
            where = f"{path}.{key}" if path else key
            if key in fields:
                _check(item, fields[key], where, source, mistakes)
            else:
                hint = nearest(key, fields) or f"; the keys here are {', '.join(fields)}"
                mistakes.append(source.mistake(where, f"unknown key{hint}"))
        if len(mistakes) == before:
            # Each key is right by itself; the type may object to what they say together.
            try:
                msgspec.convert(value, struct)
            except msgspec.ValidationError as error:
                mistakes.append(source.mistake(path, str(error)))
    elif isinstance(value, dict) and mapping is not None:
        for key, item in value.items():
            if isinstance(key, str):
                _check(item, get_args(mapping)[1], f"{path}.{key}", source, mistakes)
            else:
                mistakes.append(source.mistake(path, f"expected names as keys; found {_kind(key)}"))
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
        return f"expected {bound}{f' ({unit})' if unit else ''}, found {_kind(value)}"
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
    if isinstance(value, (bool, int, float)):
        return short_repr(value, 40).lower()
    return f"the text {short_repr(value, 80)}" if isinstance(value, str) else f"a value of type {type(value).__name__}"


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
