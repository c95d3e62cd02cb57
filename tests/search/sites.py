"""Where the libraries turn text into an attribute, a module, code or an object: found in their source.

    python -m tests.search.sites            the sites that nobody has judged, and those that are gone
    python -m tests.search.sites --all      every site, with its verdict

A name that is spelled in the source is not a site: a literal, or text that begins with a literal (``f"visit_{kind}"``)
which is no beginning of a refused name.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from safeexec.child.language.sites import JUDGED, READERS

LIBRARIES = ("numpy", "pandas", "scipy", "sklearn", "sympy", "mpmath", "matplotlib", "mpl_toolkits", "seaborn", "PIL",
             "dateutil", "tqdm", "yaml", "openpyxl", "networkx", "xlrd", "bs4", "soupsieve",
             "html5lib", "lxml", "plotly", "_plotly_utils", "pyarrow")  # fmt: skip
STANDARD = ("enum", "functools", "typing", "collections", "configparser", "contextlib", "gettext", "json", "pprint",
            "reprlib", "tarfile", "string", "statistics", "random", "decimal", "fractions", "datetime", "calendar",
            "warnings", "weakref", "abc", "inspect", "ast")  # fmt: skip
OUTSIDE = frozenset({"tests", "testing", "f2py", "_examples", "_build_utils", "conftest", "setup", "benchmarks",
                     "array_api_compat", "array_api_extra", "distutils", "_pyinstaller", "sphinxext", "cli", "autowrap",
                     "cython_utils", "benchmark"})  # fmt: skip
"""Parts of libraries that no facade leads to: their tests, and what builds them."""
KINDS = {"getattr": "attribute", "setattr": "attribute", "delattr": "attribute", "attrgetter": "attribute",
         "import_module": "module", "__import__": "module", "eval": "code", "exec": "code", "compile": "code",
         "from_string": "template", "Template": "template"}  # fmt: skip
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
    pending: list[tuple[ast.AST, str]] = [(ast.parse(path.read_bytes()), "")]
    while pending:
        node, function = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        if isinstance(node, ast.Call) and (found := _kind(node)):
            yield Site(module, function, *found)
        pending += [(child, function) for child in ast.iter_child_nodes(node)]


def _kind(node: ast.Call) -> tuple[str, str] | None:
    function = node.func
    owner = getattr(function, "value", None)
    call = getattr(function, "id", None) or getattr(function, "attr", "")
    if call in ("load", "loads") and "pickle" in getattr(owner, "id", ""):
        return "pickle", call
    kind = KINDS.get(call)
    if kind is None or (kind == "code" and owner is not None) or (kind == "template" and owner is None):
        return None
    position = 1 if call in ("getattr", "setattr", "delattr") else 0
    if kind in ("attribute", "module") and len(node.args) > position and _is_spelled(node.args[position]):
        return None
    return kind, call


def _is_spelled(name: ast.expr) -> bool:
    if isinstance(name, ast.Constant):
        return True
    if isinstance(name, ast.BinOp) and isinstance(name.op, ast.Add):
        name = name.left
    elif isinstance(name, ast.JoinedStr) and name.values:
        name = name.values[0]
    return isinstance(name, ast.Constant) and type(name.value) is str and not name.value.startswith(DANGEROUS)


def unjudged(found: set[Site]) -> list[str]:
    """The sites without a verdict, a line each."""
    patterns = [pattern for places in JUDGED.values() for pattern in places.split()]
    exact, wide = {pattern for pattern in patterns if "*" not in pattern}, [item for item in patterns if "*" in item]
    return sorted(
        f"{site.module} {site.function or '(module)'}: {site.call} ({site.kind})"
        for site in found
        if not (site.kind == "attribute" and site.module in READERS)
        and (place := f"{site.module}:{site.function}") not in exact
        and not any(fnmatchcase(place, pattern) for pattern in wide)
    )


if __name__ == "__main__":
    everything = sites()
    if "--all" in sys.argv:
        print(*(" ".join(site) for site in sorted(everything)), sep="\n")
    else:
        print(*unjudged(everything), sep="\n")
