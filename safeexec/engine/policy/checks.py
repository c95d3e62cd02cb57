"""Mistakes that the shape of a policy file cannot show: names that do not exist, invalid paths and instants."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from pkgutil import iter_modules
from typing import Any

from safeexec.common.matching import TYPING_ERROR, Suggestions
from safeexec.engine.policy import requirements
from safeexec.engine.policy.access import WORDS, is_here, module_of
from safeexec.engine.policy.loader import Mistake, PolicyFile
from safeexec.engine.policy.names import CONSTRUCTS, KNOWN_BUILTINS
from safeexec.engine.policy.settings import PROTECTIONS

MOST_HINTS = 500
"""The most hints of one policy file: each is looked up when the policy is reviewed, or shown to a model."""
BUILTINS = KNOWN_BUILTINS | {"ImportCycleError", "PythonFinalizationError", "frozendict", "reveal_type", "sentinel"}
"""Builtin names of all supported versions of Python, with `site` or without: `ImportCycleError`, `frozendict` and
`sentinel` came with 3.15.
"""


def check_names(source: PolicyFile) -> list[Mistake]:
    """Return the mistakes among the names in one file."""
    found = [
        source.mistake(at, text)
        for path, wrong in _WRONG.items()
        for at, name in _written(_said(source, path), path)
        if (text := wrong(name))
    ]
    return [*found, *_unknown(source), *_imports(source), *_hints(source), *_rest(source)]


def _said(source: PolicyFile, path: str) -> Any:
    section, _, key = path.partition(".")
    written = source.content.get(section)
    return (written or {}).get(key) if key else written


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _attribute(name: str) -> str:
    return "" if _is_dotted(name) else f"{name!r} is no attribute name"


def _bare_attribute(name: str) -> str:
    dotted = "only bare attribute names are allowed here; a module's names belong under imports"
    return _attribute(name) or (dotted if "." in name else "")


def _path(name: str) -> str:
    if not name.startswith("/") or ".." in name.split("/") or "\0" in name:
        return f"expected an absolute path without .., found {name!r}"
    return "" if name.strip("/") else "the whole file system cannot be opened; name the directories"


def _program(name: str) -> str:
    fits = name.strip() and " " not in name
    return "" if fits else f"expected the name or path of one program without arguments, found {name!r}"


def _tool(name: str) -> str:
    return "no tool has a `*` in its name, and patterns are not read" if "*" in name else ""


def _asked(name: str) -> str:
    return "every tool is '*' here" if name == "all" else "" if name == "*" else _tool(name)


_WRONG: dict[str, Callable[[str], str]] = {
    "attributes.danger_allow": _bare_attribute,
    "attributes.refuse": _attribute,
    "danger_allow_modules": lambda name: "" if _is_dotted(name) else f"{name!r} is no name",
    "filesystem.read": _path,
    "danger_allow_commands": _program,
    "tools.allow": _tool,
    "tools.approval": _asked,
}
"""Setting that lists names → what is wrong with one of them; "" for nothing."""


_KNOWN: dict[str, tuple[str, Collection[str]]] = {
    "builtins": ("Python has no builtin {}", BUILTINS),
    "require": ("no mechanism is called {!r}", PROTECTIONS),
    "language.constructs": ("no construct is called {!r}", CONSTRUCTS),
}
"""Setting that lists words → what is said of one that is not known, and all that are."""


def _unknown(source: PolicyFile) -> Iterable[Mistake]:
    """Yield words that are not known."""
    for path, (text, known) in _KNOWN.items():
        there_are = "" if known is BUILTINS else f"; known are {', '.join(known)}"
        for at, name in _written(_said(source, path), path):
            words = map(str.strip, name.split(" or ")) if path == "require" else (name,)
            if (word := next((word for word in words if word not in known), None)) is not None:
                yield source.mistake(at, text.format(word) + (source.meant.end(word, known) or there_are))


def _written(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each name in a list or in an edit, with its path."""
    if isinstance(value, list):
        yield from ((f"{path}[{index}]", name) for index, name in enumerate(value))
    elif isinstance(value, dict):
        for verb in ("except", "add", "remove"):
            yield from ((f"{path}.{verb}[{index}]", name) for index, name in enumerate(value.get(verb, ())))


def _imports(source: PolicyFile) -> Iterable[Mistake]:
    """Yield names that are none, and slips: a module that is not installed, one letter away from one that is."""
    known = [*WORDS, *(name for name in sys.stdlib_module_names if name[0] != "_"), *_OF_DATA]
    for line, entry in source.content.get("imports", {}).items():
        path = f"imports.{line}"
        names = [*_written(entry, path)]
        for at, module in [(path, line), *(names if line in WORDS else ())]:
            top = module.partition(".")[0]
            if not _is_dotted(module):
                yield source.mistake(at, "a module is written as in an import statement, such as numpy or os.path")
            elif (
                not is_module(module)
                and top not in _OF_DATA
                and (meant := source.meant.nearest(module, known, worst=TYPING_ERROR))
            ):
                yield source.mistake(at, f"no module of this name is installed; did you mean {meant}?")
            elif top in sys.stdlib_module_names and (lacking := lacking_part(module, source.meant)):
                yield source.mistake(at, lacking)
        for at, name in names if line not in WORDS else ():
            if not _is_dotted(name):
                yield source.mistake(at, f"{name!r} is no name")


def lacking_part(module: str, meant: Suggestions) -> str:
    """Return that the package of a module has no such part, and which was meant; "" where it has. Nothing is
    imported, so that a part which the package makes when it runs counts as one that it does not have.
    """
    above, rest, folders = ("", "", ()) if module in sys.modules else module_of(module)
    if not rest:
        return ""
    parts = (found.name for found in iter_modules(folders))  # looked for where a suggestion is left
    return f"{above} has no module of this name{meant.end(rest.partition('.')[0], parts)}"


_OF_DATA = (
    *("numpy", "pandas", "scipy", "sklearn", "matplotlib", "sympy", "mpmath", "seaborn", "statsmodels", "patsy"),
    *("duckdb", "pyarrow", "PIL", "dateutil", "pytz", "tabulate", "typing_extensions", "openpyxl", "xlrd", "networkx"),
    *("plotly", "lxml", "bs4", "tqdm", "IPython", "yaml"),
)
"""Libraries that policies name whether they are installed or not."""


def _hints(source: PolicyFile) -> Iterable[Mistake]:
    written = source.content.get("hints", {})
    if len(written) > MOST_HINTS:
        yield source.mistake("hints", f"{len(written)} hints; a policy has at most {MOST_HINTS}")
    for name, text in written.items():
        if not is_hinted(name):
            expected = "a refused name, such as random, numpy.load, open, __globals__ or while"
            yield source.mistake(f"hints.{name}", f"expected {expected}")
        if not text.strip() or len(text) > 500:
            yield source.mistake(f"hints.{name}", "expected one or two sentences of at most 500 characters")


def is_hinted(name: str) -> bool:
    """Return whether a hint may stand for this name: a construct, or a name such as a program writes."""
    return name in CONSTRUCTS or _is_dotted(name)


def is_module(module: str) -> bool:
    """Return whether the top-level package of this module is Python's, or installed here."""
    return module in WORDS or is_here(module)


def _rest(source: PolicyFile) -> Iterable[Mistake]:
    """Yield what is no name of an index, and a clock that is none. Requirements that are taken away again are
    inherited, and have been judged there.
    """
    written = [*_written(source.content.get("requirements"), "requirements")]
    written = [(path, line) for path, line in written if ".remove[" not in path]
    for at, text in requirements.mistakes(line for _, line in written):
        yield source.mistake(written[at][0], text)
    clock = _said(source, "determinism.clock")
    try:
        datetime.fromisoformat("2025-01-01" if clock in (None, "real") else clock)
    except ValueError:
        expected = "expected real or an ISO 8601 instant such as 2025-01-01T00:00:00+00:00"
        yield source.mistake("determinism.clock", f"{expected}, found {clock!r}")
