"""YAML of strangers: one mapping of plain values, read event by event, with the place of every key.

The one reader for policies, manifests and whatever else is written in YAML. No tags, no anchors, aliases or merges, no
directives, one document. The length of the text and of each key, the number of values, the depth and the digits of a
number are bounded before anything is built, and every mistake names its line, column and path: no exception of
the parser gets out. What is no number, word or nothing stays text: a date, for one.

The scanner is libyaml's (PyYAML's own where that is missing). Doubling 40 hostile texts to 1 MB showed it linear but
for two things, which cost it minutes: deep nesting in flow style, at which the reader stops after `MAX_DEPTH` levels,
and many directives, which it refuses before it scans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from safeexec.common.text import one_line, short_repr

if TYPE_CHECKING:
    from yaml.error import MarkedYAMLError
    from yaml.events import Event

MAX_LENGTH = 256 * 1024
"""Characters of the longest text that is read."""
MAX_VALUES = 5000
"""Keys and values of one text."""
MAX_DEPTH = 16
"""Levels of nesting."""
MAX_KEY = 200
"""Characters of a key: the path of each value repeats those above it."""
MAX_NUMBER = 400
"""Characters of a number; a longer one stays text."""

_DIRECTIVE = re.compile("(?:\\A\ufeff?|[\n\r\x85\u2028\u2029])%")
_ADVICE = {
    "\t": "a tab cannot indent; use spaces",
    **dict.fromkeys("@`%", "a text that begins with this character is written in quotes"),
    "*": "`*` begins an alias; write it in quotes: '*'",
    "&": "`&` begins an anchor; a text that begins with it is written in quotes",
}
"""The character at which a text stops being YAML → what to write instead."""


class Mark(NamedTuple):
    """A place in a text; line and column count from 1."""

    line: int
    column: int


START = Mark(1, 1)


class Problem(NamedTuple):
    """One thing that is wrong: `path` is dotted (``limits.wall_seconds``, ``exports[2]``)."""

    mark: Mark
    path: str
    text: str


class YamlText(NamedTuple):
    """One text, read: its plain content, where each dotted path is written, and what is wrong."""

    content: dict[str, Any]
    marks: dict[str, Mark]
    problems: list[Problem]
    readable: bool
    """False where the text stops being YAML, or too much of it, at the last of `problems`; `content` is empty then."""


def read_yaml(text: str, holder: str) -> YamlText:
    """Return the mapping that `text` holds. `holder` is what it should be, for the messages: ``a policy``."""
    reader = _YamlReader(text, holder)
    try:
        return YamlText(reader.document(), reader.marks, reader.problems, True)
    except _Stopped as stopped:
        return YamlText({}, {}, [*reader.problems, stopped.problem], False)


class _Stopped(Exception):
    """Nothing after this place can be understood."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


class _YamlReader:
    """Turns the events of the parser into plain values, and notes where each path is written.

    Events and not `yaml.compose`: that one recurses in C without a bound and ends the process at about 20,000 levels.
    """

    def __init__(self, text: str, holder: str) -> None:
        self.text, self.holder = text, holder
        self.problems: list[Problem] = []
        self.marks: dict[str, Mark] = {}
        self.values = 0
        self.events: Iterator[Event] = iter(())

    def document(self) -> dict[str, Any]:
        """Return the mapping that the one document is. Raises `_Stopped`."""
        import yaml  # 10 ms, which the shipped profiles do without

        if len(self.text) > MAX_LENGTH:
            raise _stop(START, f"the file is too long; {self.holder} has at most {MAX_LENGTH} characters")
        if directive := _DIRECTIVE.search(self.text):
            raise _stop(self._place(directive.end() - 1), "not YAML: directives (`%`) are not read")
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.events = yaml.parse(self.text, Loader=loader)
        try:
            for event in self.events:
                if isinstance(event, yaml.DocumentStartEvent):
                    return self._one_mapping()
        except yaml.MarkedYAMLError as error:
            at: Any = error.problem_mark or error.context_mark
            raise _stop(Mark(at.line + 1, at.column + 1), self._not_yaml(error, at.line, at.column)) from None
        except (yaml.YAMLError, UnicodeEncodeError):
            raise self._no_text() from None
        raise _stop(START, "the file is empty; expected keys such as description")

    def _one_mapping(self) -> dict[str, Any]:
        import yaml

        value = self._value(next(self.events), "", 0)
        next(self.events)
        following = next(self.events)
        if isinstance(following, yaml.DocumentStartEvent):
            raise _stop(_mark(following), f"a file holds one {self.holder.partition(' ')[2]}; a second begins here")
        if not isinstance(value, dict):
            raise _stop(START, f"expected a mapping of keys, found {kind_of(value)}")
        return value

    def _not_yaml(self, error: MarkedYAMLError, line: int, column: int) -> str:
        """Return what is wrong with the text at a place, and where known, what to write."""
        problem = str(error.problem or error.context)
        advice = None
        if problem == "mapping values are not allowed in this context":
            advice = "a text that holds `: ` is written in quotes"
        elif problem.startswith(("found character that cannot start", "did not find expected alphabetic")):
            written = "".join(self.text.splitlines()[line : line + 1])
            # libyaml stands behind the sign of an alias, and at any other.
            advice = _ADVICE.get(written[max(column - 1, 0) : column + 1].lstrip(" ")[:1])
        return f"not YAML: {problem}{f'; {advice}' if advice else ''}"

    def _no_text(self) -> _Stopped:
        """Return the error for the first character that no YAML text may hold: the parser does not give its line."""
        from yaml.reader import Reader

        found = Reader.NON_PRINTABLE.search(self.text)
        if found is None:
            return _stop(START, "not YAML")
        return _stop(
            self._place(found.start()), f"not YAML: control characters such as {found.group()!a} are not allowed"
        )

    def _place(self, index: int) -> Mark:
        before = self.text[:index]
        return Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))

    def _value(self, event: Event, path: str, depth: int) -> Any:
        import yaml

        self.values += 1
        if self.values > MAX_VALUES:
            raise _stop(_mark(event), f"the file holds too much; {self.holder} has at most {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise _stop(_mark(event), f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.AliasEvent):
            self._problem(event, path, f"anchors and aliases are not read in {self.holder}; write the value out")
            return None
        if getattr(event, "tag", None) is not None:
            self._problem(event, path, f"tags (`!`) are not read in {self.holder}; write the plain value")
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
                self._problem(event, path, "a key must be a plain word")
                self._value(event, path, depth + 1)
                self._value(next(self.events), path, depth + 1)
                continue
            key = event.value
            if len(key) > MAX_KEY:
                raise _stop(_mark(event), f"a key has at most {MAX_KEY} characters")
            where = f"{path}.{key}" if path else key
            repeated = key in values
            if repeated:
                self._problem(event, where, f"the key is written twice, first in line {self.marks[where].line}")
            else:
                self.marks[where] = _mark(event)
            value = self._value(next(self.events), where, depth + 1)
            if not repeated:
                values[key] = value
        return values

    def _problem(self, event: Event, path: str, text: str) -> None:
        self.problems.append(Problem(_mark(event), path, text))


def _stop(mark: Mark, text: str) -> _Stopped:
    return _Stopped(Problem(mark, "", text))


def _mark(event: Event) -> Mark:
    start: Any = event.start_mark
    return Mark(start.line + 1, start.column + 1)


_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


def plain_scalar(text: str) -> Any:
    """Return a plain value by YAML 1.2: `on`, `off`, `yes`, `no` are words (``checkpoints: off``), 010 is ten."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > MAX_NUMBER:
        return text
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def kind_of(value: Any) -> str:
    """Return what a value is, for the message that something else was expected."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return f"a mapping ({', '.join(one_line(str(key), 40) for key in list(value)[:3])})"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, (bool, int, float)):
        return short_repr(value, 40).lower()
    return f"the text {short_repr(value, 80)}" if isinstance(value, str) else f"a value of type {type(value).__name__}"
