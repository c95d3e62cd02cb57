"""YAML text → a checked document with the place of every key.

The usual file is right: it is validated in one go; only if that fails are the parts looked at one by one, so that each
mistake can name file, line, column and dotted path.
"""

from __future__ import annotations

from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

from safeexec.common.matching import Suggestions
from safeexec.common.text import shorten
from safeexec.engine.policy.document import Choice, Document, Edit
from safeexec.errors import PolicyError
from safeexec.untrusted.yaml_text import START, Mark, kind_of, read_yaml

_SWITCHES = {"*": "all", "yes": "all", "on": "all", True: "all", "no": "none", "off": "none", False: "none"}
UNITS = {"seconds": "a number of seconds, such as 5.0", "mb": "a whole number of MiB", "kb": "a whole number of KiB"}
_QUOTED = frozenset(",[]{}#:&*!|>'\"%@`")
"""Signs for which a text in a list of YAML is written in quotes."""

MOST = 100
"""Mistakes that one error lists."""


class Mistake(NamedTuple):
    """One thing that is wrong: `path` is dotted (``limits.wall_seconds``), `text` says what was expected."""

    file: str
    mark: Mark | None
    path: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.mark.line}:{self.mark.column}" if self.mark else self.file
        path = shorten(self.path if self.path.isprintable() else repr(self.path), 120)
        return f"{place}: {path}: {self.text}" if path else f"{place}: {self.text}"


def fail(mistakes: list[Mistake], draft: object = None) -> PolicyError:
    """Return the one error for all that is wrong, file by file, from top to bottom. `draft`: the policy without it."""
    files = [mistake.file for mistake in mistakes]
    unique = sorted({*mistakes}, key=lambda mistake: (files.index(mistake.file), mistake.mark or (), mistake))
    shown = [f"  {mistake}" for mistake in unique[:MOST]]
    if len(unique) > MOST:
        shown.append(f"  and {len(unique) - MOST} more")
    message = str(unique[0]) if len(unique) == 1 else f"{len(unique)} mistakes:\n" + "\n".join(shown)
    error = PolicyError(message)
    error.mistakes, error.draft = tuple(unique), draft
    return error


class PolicyFile(msgspec.Struct, frozen=True):
    """One file, read and checked: its plain content and where each dotted path is written."""

    file: str
    """The name errors and rules use: the file's own name without its directory."""
    path: str
    """The path of the file, or the empty string for text without a file."""
    content: dict[str, Any]
    """The content of the file, without the settings that are wrong."""
    marks: dict[str, Mark]
    mistakes: list[Mistake] = []
    dropped: list[str] = []
    """The dotted paths of the settings that are wrong and were taken out."""
    meant: Suggestions = msgspec.field(default_factory=Suggestions)

    def mistake(self, path: str, text: str) -> Mistake:
        """Return a mistake at the place where `path`, or the nearest thing above it, is written."""
        at = path
        while at and at not in self.marks:
            at = at[: max(at.rfind("."), at.rfind("["), 0)]
        return Mistake(self.file, self.marks.get(at), path, text)

    def rule(self, path: str) -> str:
        """Return ``standard.yaml:41`` for the place of `path`."""
        mark = self.marks.get(path)
        return f"{self.file}:{mark.line}" if mark else self.file


def read(text: str, *, file: str, path: str = "") -> PolicyFile:
    """Return the content of one policy file, with its mistakes; no content where the text is not YAML."""
    found = read_yaml(text, "a policy")
    mistakes = [Mistake(file, *problem) for problem in found.problems]
    if not found.readable:
        return PolicyFile(file, path, {}, {}, mistakes, dropped=[*_fields(Document)])
    return checked(PolicyFile(file, path, found.content, found.marks, mistakes))


def unreadable(file: str, path: str, text: str, mark: Mark = START) -> PolicyFile:
    """Return a file that cannot be read, as the one mistake that it is."""
    return PolicyFile(file, path, {}, {}, [Mistake(file, mark, "", text)], dropped=[*_fields(Document)])


def checked(source: PolicyFile, shape: type[msgspec.Struct] = Document) -> PolicyFile:
    """Return `source` with every mistake in its shape noted, and the settings that are wrong taken out."""
    try:
        _check_type(source.content, shape)
    except msgspec.ValidationError:
        _drop_wrong(source.content, shape, "", source)
    return source


def _check_type(value: Any, expected: Any) -> None:
    """Raise msgspec.ValidationError for a value that is not of the type `expected`."""
    try:
        msgspec.json.encode(msgspec.convert(value, expected))
    except UnicodeEncodeError:  # half of a character: a program can spell it, no file and no message holds it
        raise msgspec.ValidationError("Expected text, found half of a character in it") from None


def _drop_wrong(value: Any, expected: Any, path: str, source: PolicyFile) -> bool:
    """Note each way in which `value` is not of the type `expected`, and take what is wrong out of a section. Returns
    whether what is left can stand.
    """
    arms = [arm for arm in _arms(expected) if arm is not UnsetType]
    if value is None and NoneType in arms:
        return True
    struct = next((arm for arm in arms if isinstance(arm, type) and issubclass(arm, msgspec.Struct)), None)
    mapping = next((arm for arm in arms if get_origin(arm) is dict), None)
    sequence = next((arm for arm in arms if get_origin(arm) is list), None)
    if isinstance(value, dict) and struct is not None:
        return _drop_wrong_keys(value, struct, path, source)
    if isinstance(value, dict) and mapping is not None:
        for key in list(value):
            where = f"{path}.{key}"
            if not isinstance(key, str):
                source.mistakes.append(source.mistake(path, f"expected names as keys; found {kind_of(key)}"))
                del value[key]
            elif not _drop_wrong(value[key], get_args(mapping)[1], where, source):
                _drop(value, key, where, source)
        return True
    if isinstance(value, list) and sequence is not None:
        right = [_drop_wrong(item, get_args(sequence)[0], f"{path}[{at}]", source) for at, item in enumerate(value)]
        return all(right)  # without an item, the others would stand at other places
    try:
        _check_type(value, expected)
    except msgspec.ValidationError as error:
        source.mistakes.append(source.mistake(path, _complaint(value, arms, str(error), path, source)))
        return False
    return True


def _drop_wrong_keys(value: dict[str, Any], struct: type[msgspec.Struct], path: str, source: PolicyFile) -> bool:
    fields = _fields(struct)
    before = len(source.mistakes)
    for key in list(value):
        where = f"{path}.{key}" if path else key
        if key not in fields:
            hint = (
                _elsewhere(key, struct) or source.meant.end(key, fields) or f"; the keys here are {', '.join(fields)}"
            )
            source.mistakes.append(source.mistake(where, f"unknown key{hint}"))
            _drop(value, key, where, source)
        elif not _drop_wrong(value[key], fields[key], where, source):
            _drop(value, key, where, source)
    if (wrong := len(source.mistakes) > before) and struct in (Edit, Choice):
        return False  # what is left of an edit may say something else
    # Each key is right by itself; the type may object to what they say together.
    try:
        _check_type(value, struct)
    except msgspec.ValidationError as error:
        if not wrong:
            source.mistakes.append(source.mistake(path, str(error)))
        return False
    return True


def _elsewhere(key: str, struct: type[msgspec.Struct]) -> str:
    """Return where a policy has this key, for one that stands in another section of it."""
    sections: dict[str, Any] = {"": Document}
    for name, kind in _fields(Document).items():
        for arm in _arms(kind):
            if isinstance(arm, type) and issubclass(arm, msgspec.Struct) and arm is not Edit:
                sections[name] = arm
    if struct not in sections.values():
        return ""
    there = [f"{name}.{key}".lstrip(".") for name, section in sections.items() if key in _fields(section)]
    return f"; did you mean {' or '.join(there)}?" if there else ""


def _drop(section: dict[str, Any], key: str, path: str, source: PolicyFile) -> None:
    del section[key]
    source.dropped.append(path)


def _complaint(value: Any, arms: list[Any], error: str, path: str, source: PolicyFile) -> str:
    """Return what was expected and what was found, in words of the policy language."""
    unit = UNITS.get(path.rpartition("_")[2], "")
    if error.startswith("Expected `") and (">" in error or "<" in error):
        # The type is right and the value is out of range: msgspec says which bound.
        bound = error.removeprefix("Expected ").partition(" - at")[0].replace("`", "")
        return f"expected {bound}{unit and f' ({unit})'}, found {kind_of(value)}"
    bare = [get_args(arm)[0] if get_origin(arm) is Annotated else arm for arm in arms]
    words = [word for arm in bare if get_origin(arm) is Literal for word in get_args(arm)]
    expected = [" or ".join(words)] if words else []
    expected += [_in_words(arm, unit) for arm in bare if arm is not NoneType and get_origin(arm) is not Literal]
    return f"expected {', or '.join(expected)}; found {kind_of(value)}{_remedy(value, bare, words, source)}"


def _in_words(arm: Any, unit: str) -> str:
    """Return what a value of this type is called: ``a list of names``."""
    if get_origin(arm) is list:
        return "a list of names"
    if get_origin(arm) is dict:
        return "a mapping"
    if isinstance(arm, type) and issubclass(arm, msgspec.Struct):
        return f"a mapping with {', '.join(_fields(arm))}"
    if arm in (int, float):
        return unit or ("a whole number" if arm is int else "a number")
    return {str: "text", bool: "true or false"}.get(arm, str(arm))


def _remedy(value: Any, arms: list[Any], words: list[str], source: PolicyFile) -> str:
    """Return what to write instead of a value that is none of these types, nor one of the `words`; "" if unknown."""
    kinds = {get_origin(arm) for arm in arms}
    if isinstance(value, list) and dict in kinds:
        return f"; write `{value[0]}: …` for each" if value and isinstance(value[0], str) else ""
    if not isinstance(value, str | bool):
        return ""
    if "all" in words and value in _SWITCHES:
        return f"; did you mean {_SWITCHES[value]}?"
    if isinstance(value, bool):
        return ""
    if words and (hint := source.meant.end(value, words)):
        return hint
    verb, _, names = value.replace(":", " ", 1).partition(" ")
    if Choice in arms and verb in ("except", "add", "remove") and (chosen := names.strip(" []")):
        return f"; did you mean {{{verb}: [{_listed(chosen)}]}}?"
    if value and list in kinds:
        return f"; a list of one name is [{_listed(value)}]" if value not in (*_SWITCHES, *_SWITCHES.values()) else ""
    if {bool, int, float} & {*arms} and (value.isdecimal() or value in ("true", "false")):
        return "; write it without quotes"
    return ""


def _listed(names: str) -> str:
    """Return names as a list of YAML holds them, shortened: in quotes where they would say something else."""
    shown = shorten(names, 120)
    return shown if _QUOTED.isdisjoint(shown.replace(", ", "")) else "'" + shown.replace("'", "''") + "'"


@lru_cache(maxsize=64)
def _fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}


def _arms(expected: Any) -> list[Any]:
    """Return the alternatives of a type, unions flattened."""
    if get_origin(expected) in (Union, UnionType):
        return [one for arm in get_args(expected) for one in _arms(arm)]
    return [expected]
