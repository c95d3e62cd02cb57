"""Mistakes that the shape of a policy file cannot show: names that do not exist, invalid paths and instants."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from safeexec.compiler.names import CONSTRUCTS, SITE_BUILTINS
from safeexec.facades import tables
from safeexec.facades.tables.groups import GROUPS, REFUSED_MODULES
from safeexec.facades.tables.reasons import UNREVIEWED
from safeexec.matching import suggestion
from safeexec.policy import requirements
from safeexec.policy.loader import PolicyFile
from safeexec.policy.mistakes import Mistake
from safeexec.policy.settings import PROTECTIONS

MOST_HINTS = 500
"""Of one policy file: each is looked up when the policy is reviewed, or shown to a model."""
BUILTINS = frozenset(dir(builtins)) | SITE_BUILTINS | {"PythonFinalizationError", "reveal_type"}
"""Builtin names of all supported versions of Python, with `site` or without (PythonFinalizationError is of 3.13)."""


def check_names(source: PolicyFile) -> list[Mistake]:
    """The mistakes among the names in one file."""
    content = source.content
    found: list[Mistake] = []
    for path, name in _written(content.get("builtins"), "builtins"):
        if name not in BUILTINS:
            found.append(source.mistake(path, f"Python has no builtin {name}{suggestion(name, BUILTINS)}"))
    for path, name in _written(content.get("require"), "require"):
        for one in name.split(" or "):
            if one.strip() not in PROTECTIONS:
                expected = suggestion(one, PROTECTIONS) or f"; known are {', '.join(PROTECTIONS)}"
                found.append(source.mistake(path, f"no mechanism is called {one.strip()!r}{expected}"))
    found += _constructs(source)
    found += _imports(source)
    found += _attributes(source)
    found += _hints(source)
    found += _rest(source)
    return found


def _written(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each name in a list or in an edit, with its path."""
    if isinstance(value, list):
        yield from ((f"{path}[{index}]", name) for index, name in enumerate(value))
    elif isinstance(value, dict):
        for verb in ("except", "add", "remove"):
            yield from ((f"{path}.{verb}[{index}]", name) for index, name in enumerate(value.get(verb, ())))


def _constructs(source: PolicyFile) -> Iterable[Mistake]:
    written = list(_written(source.content.get("language", {}).get("constructs"), "language.constructs"))
    if not written:
        return
    for path, name in written:
        if name not in CONSTRUCTS:
            hint = suggestion(name, CONSTRUCTS) or f"; known are {', '.join(CONSTRUCTS)}"
            yield source.mistake(path, f"no construct is called {name!r}{hint}")


def _imports(source: PolicyFile) -> Iterable[Mistake]:
    """A module that nobody reviewed stays refused whatever a policy says, so a line for it is a mistake."""
    reviewed = frozenset(" ".join(GROUPS.values()).split())
    for module, entry in source.content.get("imports", {}).items():
        path = f"imports.{module}"
        if not all(part.isidentifier() for part in module.split(".")):
            text = "a module is written as in an import statement, such as numpy or os.path"
            yield source.mistake(path, text)
        elif module.partition(".")[0] not in reviewed and entry != "none":
            if module in REFUSED_MODULES:
                yield source.mistake(path, f"no policy can allow this module: {REFUSED_MODULES[module].text}")
            else:
                hint = suggestion(module, reviewed)
                text = f"no module of this name has been reviewed, so it stays refused{hint}"
                yield source.mistake(
                    path,
                    text + ("" if hint else "; `danger_allow_modules` allows one as it is, `requirements` fetches one"),
                )
        for where, name in _written(entry, path):
            if not all(part.isidentifier() for part in name.split(".")):
                yield source.mistake(where, f"{name!r} is no name")


def _attributes(source: PolicyFile) -> Iterable[Mistake]:
    for key, value in source.content.get("attributes", {}).items():
        for path, name in _written(value, f"attributes.{key}"):
            if not all(part.isidentifier() for part in name.split(".")):
                yield source.mistake(path, f"{name!r} is no attribute name")
            elif key == "danger_allow" and "." in name:
                yield source.mistake(
                    path, "only bare attribute names are allowed here; a module's names belong under imports"
                )


def _hints(source: PolicyFile) -> Iterable[Mistake]:
    written = source.content.get("hints", {})
    if not written:
        return
    if len(written) > MOST_HINTS:
        yield source.mistake("hints", f"{len(written)} hints; a policy has at most {MOST_HINTS}")
    for name, text in written.items():
        if not (name in CONSTRUCTS or all(part.isidentifier() for part in name.split("."))):
            expected = "a refused name, such as random, numpy.load, open, __globals__ or while"
            yield source.mistake(f"hints.{name}", f"expected {expected}")
        if not text.strip() or len(text) > 500:
            yield source.mistake(f"hints.{name}", "expected one or two sentences of at most 500 characters")


def is_module(module: str) -> bool:
    """Whether Python, or the review, knows a module of this name."""
    if module in sys.stdlib_module_names or tables.module_reason(module) is not UNREVIEWED:
        return True
    return tables.table(module) is not None or bool(tables.submodules(module))


def unallowable(module: str) -> str:
    """Why no policy can allow a module that has no reviewed table; "" if one can."""
    top = module.partition(".")[0]
    if reason := REFUSED_MODULES.get(module) or REFUSED_MODULES.get(top):
        return f"no policy can allow this module: {reason.text}"
    if top in sys.stdlib_module_names or top == "safeexec":
        return f"of {'Python' if top != 'safeexec' else 'safeexec'} only reviewed modules can be allowed"
    return ""


def _unreviewed(source: PolicyFile) -> Iterable[Mistake]:
    """What `danger_allow_modules` cannot allow: whatever has been judged, and Python's own modules."""
    written = list(_written(source.content.get("danger_allow_modules"), "danger_allow_modules"))
    if not written:
        return
    reviewed = frozenset(" ".join(GROUPS.values()).split())
    for path, name in written:
        top = name.partition(".")[0]
        if not all(part.isidentifier() for part in name.split(".")) or name.startswith("_"):
            yield source.mistake(path, f"expected a package as in an import statement, found {name!r}")
        elif top in reviewed and name not in REFUSED_MODULES:
            yield source.mistake(path, f"{top} has been reviewed: it belongs under imports")
        elif reason := unallowable(name):
            yield source.mistake(path, reason)


def _requirements(source: PolicyFile) -> Iterable[Mistake]:
    """What is no name of an index. What is taken away again is inherited, and has been judged there."""
    written = [*_written(source.content.get("requirements"), "requirements")]
    places = [path for path, _ in written if ".remove[" not in path]
    for at, text in requirements.mistakes(line for path, line in written if ".remove[" not in path):
        yield source.mistake(places[at], text)


def _rest(source: PolicyFile) -> Iterable[Mistake]:
    content = source.content
    for path, name in _written(content.get("filesystem", {}).get("read"), "filesystem.read"):
        if not name.startswith("/") or ".." in name.split("/") or "\0" in name:
            yield source.mistake(path, f"expected an absolute path without .., found {name!r}")
        elif not name.strip("/"):
            yield source.mistake(path, "the whole file system cannot be opened; name the directories")
    for path, name in _written(content.get("danger_allow_commands"), "danger_allow_commands"):
        if not name.strip() or " " in name:
            yield source.mistake(path, f"expected the name or path of one program without arguments, found {name!r}")
    yield from _unreviewed(source)
    yield from _requirements(source)
    clock = (content.get("determinism") or {}).get("clock", "real")
    if clock != "real":
        from datetime import datetime

        try:
            datetime.fromisoformat(clock)
        except ValueError:
            yield source.mistake(
                "determinism.clock",
                f"expected real or an ISO 8601 instant such as 2025-01-01T00:00:00+00:00, found {clock!r}",
            )
