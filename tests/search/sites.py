"""Where the libraries turn text into an attribute, a module, code or an object, format by a template, look at the dict
of an object or at a frame, or keep a module in an object or give one back: found in their source.

    python -m tests.search.sites            the sites that nobody has judged, and those that are gone
    python -m tests.search.sites --all      every site, with its verdict

A name that is spelled in the source is not a site: a literal other than ``"__dict__"``, or text that begins with a
literal (``f"visit_{kind}"``) which is no beginning of a refused name. (One that is added to a literal is a site: a kind
of `str` says what comes of that.) Nor is a template that is made of literals alone (`tests.search.templates`), or a
``__dict__`` that is asked for a name which is spelled, or that is given no others.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from safeexec.child.language.libraries.sites import FORMATTERS, LIBRARIES, OF_ITS_KIND, READERS
from safeexec.compiler import names
from tests.search.judged import FORMATTING, JUDGED
from tests.search.templates import Templates

NOT_REACHED = {
    "statsmodels is not given it, a second reader of formulas (`libraries.imports`)": "formulaic interface_meta wrapt",
    "matplotlib puts fonts into files with it, and gives nobody an object of it": "fontTools",
    "joblib asks it how many processors there are": "psutil",
    "tqdm and plotly show things with it in notebooks, and give nobody an object of it": "IPython pygments traitlets",
}
"""Packages that come with what programs import, and of which no object comes to a program: why → which."""
STANDARD = (
    "enum", "functools", "typing", "collections", "configparser", "contextlib", "gettext", "json", "pprint",
    "reprlib", "tarfile", "string", "statistics", "random", "decimal", "fractions", "datetime", "calendar",
    "warnings", "weakref", "abc", "inspect", "ast", "argparse", "asyncio", "base64", "bisect", "codecs", "colorsys",
    "concurrent", "contextvars", "copy", "csv", "dataclasses", "difflib", "fnmatch", "glob", "graphlib", "gzip",
    "hashlib", "heapq", "hmac", "html", "io", "ipaddress", "keyword", "logging", "lzma", "numbers", "operator",
    "pathlib", "pickle", "queue", "re", "sched", "secrets", "shlex", "shutil", "sqlite3", "tempfile", "textwrap",
    "threading", "tomllib", "traceback", "types", "urllib", "uuid", "zipfile", "zoneinfo",
    "copyreg", "email", "encodings", "xml",  # no facade, but objects of theirs that libraries hand on
)  # fmt: skip
OUTSIDE = frozenset({"tests", "__main__", "process", "unix_events", "windows_events", "windows_utils",
                     "testing", "f2py", "_examples", "_build_utils", "conftest", "setup", "benchmarks",
                     "array_api_compat", "array_api_extra", "distutils", "_pyinstaller", "sphinxext", "cli", "autowrap",
                     "cython_utils", "benchmark"})  # fmt: skip
"""Parts of libraries that no facade leads to: their tests, and what builds them."""
KINDS = {"getattr": "attribute", "setattr": "attribute", "delattr": "attribute", "attrgetter": "attribute",
         "__getattribute__": "attribute", "__setattr__": "attribute", "__delattr__": "attribute",
         "import_module": "module", "__import__": "module", "eval": "code", "exec": "code", "exec_": "code",
         "compile": "code", "get_type_hints": "code", "from_string": "template", "Template": "template",
         "find_spec": "module", "resolve_name": "module",
         "getmembers": "members", "getmembers_static": "members", "getattr_static": "members",
         "classify_class_attrs": "members"}  # fmt: skip
IMPORTS = frozenset({"import_module", "__import__", "import_optional_dependency"})
NAMED_SECOND = frozenset({"getattr", "setattr", "delattr", "getattr_static"})
ARGUMENTS = {"__getattribute__": 1, "__setattr__": 2, "__delattr__": 1}
"""Methods that are given the name of an attribute → how many arguments they have, the name first."""
RESOURCES = frozenset({"files", "open_binary", "open_text", "read_binary", "read_text", "as_file", "contents"})
"""Of `importlib.resources`: they import the package that they are asked of."""
FRAMES = frozenset({"_getframe", "currentframe", "stack", "_getframemodulename"})
STATES = frozenset({"__getstate__", "__reduce__", "__reduce_ex__"})
SPELLED = frozenset({"get", "pop", "setdefault"})
WRITTEN = frozenset({"update", "clear", "keys"})
FORMATS = frozenset({"format", "format_map"})
DANGEROUS = ("_", "f_", "gi_", "cr_", "ag_", "tb_", "co_", "func_")


class Site(NamedTuple):
    """One place: `function` is its qualified name, `call` what is called there."""

    module: str
    function: str
    kind: str
    call: str


def sites(packages: tuple[str, ...] = (*LIBRARIES, *STANDARD)) -> set[Site]:
    """The sites of the packages that are installed here."""
    return {site for package in packages for module, path in modules(package) for site in sites_of(module, path)}


def modules(package: str) -> Iterator[tuple[str, Path]]:
    """The modules of a package, without those of `OUTSIDE`."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return
    for location in spec.submodule_search_locations or ():
        root = Path(location)
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            if OUTSIDE.isdisjoint(parts) and not any(part.startswith("test_") for part in parts):
                yield ".".join((package, *(part for part in parts if part != "__init__"))), path
    if spec.submodule_search_locations is None and spec.origin and spec.origin.endswith(".py"):
        yield package, Path(spec.origin)
    elif spec.origin == "frozen":
        yield package, Path(importlib.import_module(package).__file__ or "")


def sites_of(module: str, path: Path) -> Iterator[Site]:
    """The sites of one file."""
    tree = ast.parse(path.read_bytes())
    imported, templates = _imported(tree, path), Templates(tree)
    pending: list[tuple[ast.AST, ast.AST, ast.AST, str]] = [(tree, tree, tree, "")]
    while pending:
        node, above, scope, function = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function, scope = f"{function}.{node.name}".lstrip("."), node
        if isinstance(node, ast.Call) and (found := _kind(node)):
            yield Site(module, function, *found)
        elif isinstance(node, ast.Attribute) and node.attr in FORMATS and templates.is_open(node, above):
            yield Site(module, function, "format", ast.unparse(node))
        elif isinstance(node, ast.Attribute) and node.attr == "__dict__" and function and not _is_harmless(node, above):
            yield Site(module, function, "dict", "__dict__")
        for name in _held(node, scope, imported):
            yield Site(module, function, "held", name)
        for name in _returned(node, imported):
            yield Site(module, function, "returned", name)
        # The function of a call stands for the call: ``x.__dict__.get`` is looked at with its arguments.
        is_method = isinstance(node, ast.Attribute) and isinstance(above, ast.Call) and above.func is node
        pending += [(child, above if is_method else node, scope, function) for child in ast.iter_child_nodes(node)]


def _is_harmless(node: ast.Attribute, above: ast.AST) -> bool:
    """Is the ``__dict__`` asked for a name that is spelled, or that of a method's own object, which is given names that
    are spelled?
    """
    if isinstance(above, ast.Compare):
        return node is not above.left and isinstance(above.ops[0], ast.In | ast.NotIn)
    if isinstance(above, ast.Subscript) and above.value is node:
        return isinstance(above.slice, ast.Constant)
    if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.func.value is node:
        spelled = above.func.attr in SPELLED and bool(above.args) and isinstance(above.args[0], ast.Constant)
        given = [*above.args, *(keyword for keyword in above.keywords if keyword.arg is None)]
        return spelled or (above.func.attr in WRITTEN and not given)
    return False


def _imported(tree: ast.AST, path: Path) -> set[str]:
    """The names that imports bind to modules, as far as the files tell."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            top, *rest = (node.module or "").split(".")
            start = path.parents[node.level - 1].joinpath(top) if node.level else _folder(top)
            if start is None:
                continue
            folder = start.joinpath(*rest)
            names = {alias.name: alias.asname or alias.name for alias in node.names}
            found.update(
                bound for name, bound in names.items() if (folder / name).is_dir() or any(folder.glob(f"{name}.*"))
            )
    return found


@cache
def _folder(package: str) -> Path | None:
    """Where a package is whose modules are files."""
    spec = importlib.util.find_spec(package)
    return Path(*spec.submodule_search_locations[:1]) if spec and spec.submodule_search_locations else None


def _held(node: ast.AST, scope: ast.AST, imported: set[str]) -> Iterator[str]:
    """The names of attributes, of an instance or of a class, that a statement makes a module."""
    if isinstance(scope, ast.ClassDef) and isinstance(node, ast.Import):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign) and _is_module(node.value, imported):
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                yield target.attr
            elif isinstance(scope, ast.ClassDef) and isinstance(target, ast.Name):
                yield target.id


def _is_module(value: ast.expr, imported: set[str]) -> bool:
    if isinstance(value, ast.Call):
        return (getattr(value.func, "id", None) or getattr(value.func, "attr", "")) in IMPORTS
    return isinstance(value, ast.Name) and value.id in imported


def _returned(node: ast.AST, imported: set[str]) -> Iterator[str]:
    """The names of modules that a function gives back, alone or among others."""
    if isinstance(node, ast.Return) and node.value is not None:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        yield from (ast.unparse(value) for value in values if _is_module(value, imported))


def _kind(node: ast.Call) -> tuple[str, str] | None:
    function = node.func
    owner = getattr(function, "value", None)
    call = getattr(function, "id", None) or getattr(function, "attr", "")
    if call in ("load", "loads") and "pickle" in getattr(owner, "id", ""):
        return "pickle", call
    if call in FRAMES and (call != "stack" or getattr(owner, "id", "") == "inspect"):
        return "frame", call
    if call in STATES and getattr(owner, "id", "") != "self" and not isinstance(owner, ast.Call):
        return "state", call
    if call == "vars" and owner is None and node.args:
        return "dict", call
    kind = "module" if call in RESOURCES and "resources" in getattr(owner, "attr", getattr(owner, "id", "")) else None
    kind = kind or KINDS.get(call)
    if kind == "members" and getattr(owner, "id", "inspect") != "inspect":
        return None
    if kind is None or (kind == "code" and owner is not None) or (kind == "template" and owner is None):
        return None
    # A name of two underscores is that of a method, bound or not.
    position = len(node.args) - ARGUMENTS[call] if call in ARGUMENTS else call in NAMED_SECOND
    if kind in ("attribute", "module", "members") and len(node.args) > position and _is_spelled(node.args[position]):
        return None
    return kind, call


def _is_spelled(name: ast.expr) -> bool:
    if isinstance(name, ast.Constant):
        return name.value != "__dict__"
    if isinstance(name, ast.JoinedStr) and name.values:
        name = name.values[0]
    return isinstance(name, ast.Constant) and type(name.value) is str and not name.value.startswith(DANGEROUS)


def unjudged(found: set[Site]) -> list[str]:
    """The sites without a verdict, and the verdicts that cover more places than they were given for, a line each."""
    open_ = {site for site in found if _is_open(site)}
    lines = [
        f"{site.module} {site.function or '(module)'}: {site.call} ({site.kind})"
        for site in open_
        if not any(fnmatchcase(_place(site), pattern) for pattern in _verdicts(site).wide)
    ]
    for verdicts in (_PLACES, _FORMATS):
        places = {_place(site) for site in open_ if _verdicts(site) is verdicts}
        for pattern, most in verdicts.wide.items():
            covered = sum(fnmatchcase(place, pattern) for place in places)
            if covered > most:
                lines.append(f"{pattern}: it covers {covered} places, and was judged for {most}")
    return sorted(lines)


class _Verdicts(NamedTuple):
    """The places that are spelled, and the patterns with a ``*`` → for how many places each was given."""

    exact: frozenset[str]
    wide: dict[str, int]


def _read(judged: Iterable[str]) -> _Verdicts:
    items = " ".join(judged).split()
    wide = {pattern: int(most) for pattern, _, most in (item.partition("=") for item in items if "*" in item)}
    return _Verdicts(frozenset(items), wide)


_PLACES = _read([*OF_ITS_KIND, *JUDGED.values()])
_FORMATS = _read([*FORMATTERS, *FORMATTING.values()])


def _verdicts(site: Site) -> _Verdicts:
    return _FORMATS if site.kind == "format" else _PLACES


def _place(site: Site) -> str:
    return f"{site.module}:{site.function}"


def _is_open(site: Site) -> bool:
    """Does the site need a verdict that covers more than one place?"""
    if site.call in ("getattr", "setattr", "delattr") and site.module in READERS:
        return False
    if site.kind == "held" and site.call in names.GUARDED | names.REFUSED_PLAIN_NAMES:
        return False
    return _place(site) not in _verdicts(site).exact and not any(
        site.kind == "format" and _place(site).startswith(f"{place}.") for place in FORMATTERS
    )


if __name__ == "__main__":
    everything = sites()
    if "--all" in sys.argv:
        print(*(" ".join(site) for site in sorted(everything)), sep="\n")
    else:
        print(*unjudged(everything), sep="\n")
