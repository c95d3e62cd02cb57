"""Mistakes that the shape of a policy file cannot show: names that do not exist, invalid paths and instants."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from safeexec.common.matching import TYPING_ERROR, nearest, suggestion
from safeexec.engine.policy import requirements
from safeexec.engine.policy.access import WORDS
from safeexec.engine.policy.loader import PolicyFile
from safeexec.engine.policy.mistakes import Mistake
from safeexec.engine.policy.names import CONSTRUCTS, SITE_BUILTINS
from safeexec.engine.policy.settings import PROTECTIONS

MOST_HINTS = 500
"""The most hints of one policy file: each is looked up when the policy is reviewed, or shown to a model."""
BUILTINS = (
    frozenset(dir(builtins))
    | SITE_BUILTINS
    | {"ImportCycleError", "PythonFinalizationError", "frozendict", "reveal_type", "sentinel"}
)
"""Builtin names of all supported versions of Python, with `site` or without: `ImportCycleError`, `frozendict` and
`sentinel` came with 3.15.
"""


def check_names(source: PolicyFile) -> list[Mistake]:
    """Return the mistakes among the names in one file."""
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
    for path, name in _written(content.get("language", {}).get("constructs"), "language.constructs"):
        if name not in CONSTRUCTS:
            hint = suggestion(name, CONSTRUCTS) or f"; known are {', '.join(CONSTRUCTS)}"
            found.append(source.mistake(path, f"no construct is called {name!r}{hint}"))
    found += _imports(source)
    found += _attributes(source)
    found += _hints(source)
    found += _rest(source)
    return found


def _written(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each name in a list or in an edit, with its path."""
    if isinstance(value, list):
        yield from ((f"{path}[{index}]", name) for index, name in enumerate(value))
    elif isinstance(value, dict):
        for verb in ("except", "add", "remove"):
            yield from ((f"{path}.{verb}[{index}]", name) for index, name in enumerate(value.get(verb, ())))


def _imports(source: PolicyFile) -> Iterable[Mistake]:
    """Yield names that are none, and slips: a module that is not installed, one letter away from one that is."""
    for module, entry in source.content.get("imports", {}).items():
        path = f"imports.{module}"
        if not all(part.isidentifier() for part in module.split(".")):
            text = "a module is written as in an import statement, such as numpy or os.path"
            yield source.mistake(path, text)
        elif (
            not is_module(module)
            and module.partition(".")[0] not in _OF_DATA
            and (meant := nearest(module, _known(), worst=TYPING_ERROR))
        ):
            yield source.mistake(path, f"no module of this name is installed; did you mean {meant[0]}?")
        elif missing := _missing_part(module):
            yield source.mistake(path, missing)
        for where, name in _written(entry, path):
            if not all(part.isidentifier() for part in name.split(".")):
                yield source.mistake(where, f"{name!r} is no name")


def _missing_part(module: str) -> str:
    """Return what is wrong with a dotted module of the standard library that is not there. Nothing is imported."""
    folders: list[str] | None = None
    above = ""
    for part in module.split(".") if module.partition(".")[0] in sys.stdlib_module_names else ():
        if f"{above}.{part}".lstrip(".") not in sys.modules:
            spec = PathFinder.find_spec(part, folders)
            if spec is None and above:
                return f"{above} has no module of this name{suggestion(part, _inside(folders))}"
            folders = list(spec.submodule_search_locations or ()) if spec is not None else []
        else:
            folders = list(getattr(sys.modules[f"{above}.{part}".lstrip(".")], "__path__", ()))
        above = f"{above}.{part}".lstrip(".")
    return ""


def _inside(folders: list[str] | None) -> list[str]:
    return [found.name for found in iter_modules(folders)] if folders else []


def _known() -> list[str]:
    """Return the modules that a slip may have meant."""
    return [*WORDS, *(name for name in sys.stdlib_module_names if name[0] != "_"), *_OF_DATA]


_OF_DATA = (
    *("numpy", "pandas", "scipy", "sklearn", "matplotlib", "sympy", "mpmath", "seaborn", "statsmodels", "patsy"),
    *("duckdb", "pyarrow", "PIL", "dateutil", "pytz", "tabulate", "typing_extensions", "openpyxl", "xlrd", "networkx"),
    *("plotly", "lxml", "bs4", "tqdm", "IPython", "yaml"),
)
"""Libraries that policies name whether they are installed or not."""


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
    if len(written) > MOST_HINTS:
        yield source.mistake("hints", f"{len(written)} hints; a policy has at most {MOST_HINTS}")
    for name, text in written.items():
        if not (name in CONSTRUCTS or all(part.isidentifier() for part in name.split("."))):
            expected = "a refused name, such as random, numpy.load, open, __globals__ or while"
            yield source.mistake(f"hints.{name}", f"expected {expected}")
        if not text.strip() or len(text) > 500:
            yield source.mistake(f"hints.{name}", "expected one or two sentences of at most 500 characters")


def is_module(module: str) -> bool:
    """Return whether the top-level package of this module is Python's, or installed here."""
    top = module.partition(".")[0]
    if module in WORDS or top in sys.stdlib_module_names:
        return True
    try:
        return find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def _requirements(source: PolicyFile) -> Iterable[Mistake]:
    """Yield what is no name of an index. What is taken away again is inherited, and has been judged there."""
    written = [*_written(source.content.get("requirements"), "requirements")]
    places = [path for path, _ in written if ".remove[" not in path]
    for at, text in requirements.mistakes(line for path, line in written if ".remove[" not in path):
        yield source.mistake(places[at], text)


def _rest(source: PolicyFile) -> Iterable[Mistake]:
    content = source.content
    for path, name in _written(content.get("danger_allow_modules"), "danger_allow_modules"):
        if not all(part.isidentifier() for part in name.split(".")):
            yield source.mistake(path, f"{name!r} is no name")
    for path, name in _written(content.get("filesystem", {}).get("read"), "filesystem.read"):
        if not name.startswith("/") or ".." in name.split("/") or "\0" in name:
            yield source.mistake(path, f"expected an absolute path without .., found {name!r}")
        elif not name.strip("/"):
            yield source.mistake(path, "the whole file system cannot be opened; name the directories")
    for path, name in _written(content.get("danger_allow_commands"), "danger_allow_commands"):
        if not name.strip() or " " in name:
            yield source.mistake(path, f"expected the name or path of one program without arguments, found {name!r}")
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
