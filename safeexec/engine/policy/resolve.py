"""Applies a chain of policy files, the base first, to one `Policy`: what `extends` means."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from safeexec.common.matching import TYPING_ERROR
from safeexec.common.text import spelt
from safeexec.engine.policy.access import STDLIB, WORDS
from safeexec.engine.policy.checks import check_names, is_module
from safeexec.engine.policy.document import Document
from safeexec.engine.policy.loader import Mistake, PolicyFile, fail
from safeexec.engine.policy.settings import ALL, SETTINGS, Attributes, P, PolicyData, Selection

NOTHING = Selection(names=())


def resolve(name: str, chain: Sequence[PolicyFile], make: type[P], *, start: P | None = None) -> P:
    """Return the policy that the files of `chain`, base first, make together, laid over `start` if there is one.

    Raises `PolicyError` with the mistakes of all files. Its `draft` is the policy without the settings that are wrong.
    """
    # What a file inherits is unknown if its parent cannot be read.
    lost = "extends" in chain[0].content or "extends" in chain[0].dropped
    draft = _Draft(start, unknown=[*Document.__struct_fields__] if lost else ())
    mistakes: list[Mistake] = []
    for source in chain:
        draft.apply(source)
        mistakes += source.mistakes
        mistakes += check_names(source)
        if draft.settings["language"]["mode"] == "python" and not draft.is_unknown("language.mode"):
            mistakes += _without_effect(source)
            draft.imports.clear()  # what is inherited of a language layer holds nobody
            draft.settings["language"]["constructs"] = ALL
            draft.settings |= {"builtins": (), "attributes": asdict(Attributes())}
    files = tuple(source.path or source.file for source in reversed(chain))
    files += start.files if start else ()
    policy = msgspec.convert({**draft.settings, "name": name, "origins": draft.origins, "files": files}, make)
    reported = {(one.file, one.path) for one in mistakes}  # a name that does not exist is reported once
    mistakes += [one for one in draft.mistakes if (one.file, one.path) not in reported]
    wall, most = policy.limits.wall_seconds, policy.limits.max_wall_seconds
    if wall > most and not any(map(draft.is_unknown, ("limits.wall_seconds", "limits.max_wall_seconds"))):
        text = f"wall_seconds ({wall:g}) is more than max_wall_seconds ({most:g})"
        mistakes.append(chain[-1].mistake("limits.wall_seconds", text))
    if mistakes:
        raise fail(mistakes, policy)
    return policy


def _without_effect(source: PolicyFile) -> list[Mistake]:
    """Return what a file says of a language layer that its mode does not have. Empty settings say nothing of it."""
    content = source.content
    said = {
        "builtins": content.get("builtins"),
        "imports": content.get("imports"),
        "attributes": any(content.get("attributes", {}).values()),
        "language.constructs": content.get("language", {}).get("constructs", "all") != "all",
    }
    text = "has no effect with `language.mode: python`: take it out, or extend a profile whose mode is restricted"
    return [source.mistake(path, text) for path, written in said.items() if written]


def _spelt(names: Any) -> Any:
    """Return names of tools, in a list or an edit, as Python spells identifiers (NFKC): as the functions are named."""
    if isinstance(names, dict):
        return {verb: _spelt(listed) for verb, listed in names.items()}
    return [*map(spelt, names)] if isinstance(names, list) else names


def _mutable(value: Any) -> Any:
    """Return a setting as what can be changed: a section as a mapping."""
    if isinstance(value, msgspec.Struct) and not isinstance(value, Selection):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else value


class _Draft:
    """The settings so far, and where each is written."""

    def __init__(self, start: PolicyData | None, unknown: Iterable[str]) -> None:
        start = start or PolicyData()
        self.unknown = {*unknown}
        """Dotted paths of what could not be read."""
        self.settings: dict[str, Any] = {key: _mutable(getattr(start, key)) for key in SETTINGS}
        """By their names; sections as mappings."""
        self.imports: dict[str, Selection] = self.settings["imports"]
        self.origins: dict[str, str] = dict(start.origins)
        self.mistakes: list[Mistake] = []

    def apply(self, source: PolicyFile) -> None:
        """Lay one file over what its parents say."""
        self.unknown.update(source.dropped)
        for key, value in source.content.items():
            if key in ("imports", "hints", "determinism"):
                self.origins[key] = source.rule(key)
            if key == "imports":
                self._modules(value, source)
            elif key == "danger_allow_modules":
                self._allow_modules(value, source)
            elif key == "hints":
                self.settings[key].update(value)
                self.origins |= {f"{key}.{name}": source.rule(f"{key}.{name}") for name in value}
            elif key == "determinism":
                self.settings[key] = None if value is None else {**(self.settings[key] or {}), **value}
            elif key in SETTINGS and isinstance(section := self.settings[key], dict):
                if source.marks:  # an edit by a program has none: the section's line stays that of the file
                    self.origins[key] = source.rule(key)
                for inner, written in value.items():
                    given = _spelt(written) if key == "tools" else written
                    self._overlay(section, inner, f"{key}.{inner}", given, source)
            elif key in SETTINGS:
                self._overlay(self.settings, key, key, value, source)

    def _overlay(self, settings: dict[str, Any], key: str, path: str, value: Any, source: PolicyFile) -> None:
        """Lay what a file says of one setting over what is inherited. An edit has lines of its own for what it adds and
        removes; the list stays where it is written.
        """
        if not isinstance(value, dict) or "except" in value or ("." in path and path not in self.origins):
            self.origins[path] = source.rule(path)
        inherited = settings[key]
        if isinstance(inherited, Selection):
            settings[key] = self._selection(inherited, value, path, source)
        elif isinstance(inherited, tuple):
            settings[key] = self._selection(Selection(names=inherited), value, path, source).names
            # A profile's builtins stand together, and a refused one is in no line.
            if isinstance(value, list) and "." in path:
                self.origins.update({f"{path}.{name}": source.rule(f"{path}[{at}]") for at, name in enumerate(value)})
        else:
            settings[key] = value

    def _selection(self, inherited: Selection, value: Any, path: str, source: PolicyFile) -> Selection:
        """Return what ``all``, ``none``, a list, all except some, or an edit makes of the inherited choice."""
        if not isinstance(value, dict):
            self._forget(path)
            words = {"all": ALL, "none": NOTHING}
            return words[value] if isinstance(value, str) else Selection(names=tuple(dict.fromkeys(value)))
        chosen = inherited
        if "except" in value:
            self._forget(path)
            chosen = Selection(refused=tuple(dict.fromkeys(value["except"])))
        add, remove = value.get("add", ()), value.get("remove", ())
        for verb in ("add", "remove", "except"):
            self.origins |= {
                f"{path}.{name}": source.rule(f"{path}.{verb}[{at}]") for at, name in enumerate(value.get(verb, ()))
            }
        if chosen.names is None:
            refused = [name for name in chosen.refused if name not in add]
            return Selection(refused=tuple(dict.fromkeys([*refused, *remove])))
        self._check_removed(remove, chosen.names, path, source)
        names = [name for name in chosen.names if name not in remove]
        return Selection(names=tuple(dict.fromkeys([*names, *add])))

    def _modules(self, lines: dict[str, Any], source: PolicyFile) -> None:
        """Lay the lines of `imports` over those that are inherited."""
        inherited = [*self.imports]
        for word in WORDS:  # what a word takes exception to loses the line of its own that is inherited
            entry = lines.get(word)
            left_out = [*entry.get("except", ()), *entry.get("remove", ())] if isinstance(entry, dict) else []
            below = tuple(f"{name}." for name in left_out)
            for known in inherited if left_out else ():
                if known in self.imports and known not in lines and f"{known}.".startswith(below):
                    del self.imports[known]
                    self.origins[f"imports.{known}"] = source.rule(f"imports.{word}")
        for module, entry in lines.items():
            self._module(module, entry, source)
        for module, entry in lines.items():  # after the line of its package, wherever that is written
            if entry == "none" and not self._take_from_package(module):
                self._check_taken(module, inherited, source)

    def _module(self, module: str, entry: Any, source: PolicyFile) -> None:
        """Lay one line of `imports`."""
        path = f"imports.{module}"
        inherited = self.imports.get(module)
        self.origins[path] = source.rule(path)
        if entry == "none":
            for name in [known for known in self.imports if known == module or known.startswith(module + ".")]:
                del self.imports[name]
                self.origins[f"imports.{name}"] = source.rule(path)
            for word in WORDS if module not in WORDS else ():
                chosen = self.imports.get(word)
                if chosen is None or (word == STDLIB and module.partition(".")[0] not in sys.stdlib_module_names):
                    continue
                self.origins[f"imports.{word}.{module}"] = source.rule(path)
                if module not in chosen.refused:
                    self.imports[word] = Selection(names=chosen.names, refused=(*chosen.refused, module))
            return
        if isinstance(entry, dict) and inherited is None:
            if "remove" in entry:
                text = f"{module} is not inherited, so nothing can be removed; write except instead"
                self._note(source.mistake(f"{path}.remove", text))
            inherited = NOTHING if "add" in entry else ALL
        self.imports[module] = self._selection(inherited or ALL, entry, path, source)

    def _allow_modules(self, value: Any, source: PolicyFile) -> None:
        """Lay `danger_allow_modules`, as files of before 0.10 spell lines of `imports`."""
        verb, written = ("add", value.get("add", ())) if isinstance(value, dict) else ("", value)
        at = f"danger_allow_modules{verb and f'.{verb}'}"
        for index, module in enumerate(written):
            self.imports[module] = ALL
            self.origins[f"imports.{module}"] = source.rule(f"{at}[{index}]")
        if written:
            self.origins["danger_allow_modules"] = source.rule("danger_allow_modules")
        for module in value.get("remove", ()) if isinstance(value, dict) else ():
            self.imports.pop(module, None)

    def _take_from_package(self, module: str) -> bool:
        """Leave a module out of the entry of the nearest package above, which covers it. False if none does."""
        above = module.rpartition(".")[0]
        while above and above not in self.imports:
            above = above.rpartition(".")[0]
        if not above:
            return False
        chosen, part = self.imports[above], module[len(above) + 1 :]
        if chosen.names is None:
            self.imports[above] = Selection(refused=tuple(dict.fromkeys([*chosen.refused, part])))
            return False
        self.imports[above] = Selection(names=tuple(name for name in chosen.names if name != part))
        for name in chosen.names:
            if part.startswith(f"{name}."):  # it lists a package in between, of which all but this is left
                self.imports[f"{above}.{name}"] = Selection(refused=(part[len(name) + 1 :],))
        return True

    def _check_taken(self, module: str, inherited: Collection[str], source: PolicyFile) -> None:
        """Note a slip in a name that is not inherited: `none` says nothing then, and another module stays open."""
        if any(known == module or known.startswith(f"{module}.") or known in WORDS for known in inherited):
            return
        if not is_module(module) and (meant := source.meant.nearest(module, inherited, worst=TYPING_ERROR)):
            text = f"{module} is not inherited, so nothing is taken away; did you mean {meant}?"
            self._note(source.mistake(f"imports.{module}", text))

    def _check_removed(self, names: Iterable[str], inherited: Collection[str], path: str, source: PolicyFile) -> None:
        """Check that what is taken away is there."""
        for index, name in enumerate(names):
            if name not in inherited:
                text = f"{name} is not inherited{source.meant.end(name, inherited)}"
                self._note(source.mistake(f"{path}.remove[{index}]", text))

    def _note(self, mistake: Mistake) -> None:
        """Keep a mistake about what is inherited, unless that could not be read."""
        if not self.is_unknown(mistake.path):
            self.mistakes.append(mistake)

    def is_unknown(self, path: str) -> bool:
        """Return whether a setting, or what it stands in, is one that could not be read."""
        return any(path == known or path.startswith((f"{known}.", f"{known}[")) for known in self.unknown)

    def _forget(self, path: str) -> None:
        """Forget the lines of earlier edits, which explain nothing any more: a plain value stands for itself."""
        if path.startswith("imports."):
            return
        for known in [known for known in self.origins if known.startswith(path + ".")]:
            del self.origins[known]
