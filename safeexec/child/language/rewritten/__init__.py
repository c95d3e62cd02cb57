"""Modules that run as guest code: compiled under the same rules, with the same builtins.

`doctest` and `unittest` run what they are given, read attributes by name, import, swap streams. As guest code they can
do no more than the program that uses them. Their source is that of this interpreter, so that what they print is exact;
a `Rewrite` tells which definitions are left out and which are put in their place.
"""

from __future__ import annotations

import ast
import builtins
import gc
import io
import linecache
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import PathFinder
from types import CodeType, FunctionType, ModuleType, SimpleNamespace, TracebackType
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from safeexec.child.language.builtins import NamespaceView
from safeexec.child.language.modules import Modules, last_step, modules_by_name
from safeexec.compiler.diagnostics import Rejection, explain
from safeexec.compiler.names import UNASSIGNABLE
from safeexec.compiler.rules import REFUSED, Rules, rules_of
from safeexec.compiler.transformer import StepTransformer
from safeexec.facades.build import facade
from safeexec.facades.replacements.streams import format_exception
from safeexec.facades.sealed import Facade, OwnModule, replace_name
from safeexec.protocol.plan import ImportPlan, LanguagePlan

__all__ = ["Rewrite", "Rewritten"]


class Rewrite(NamedTuple):
    """How the source of one module is changed.

    drop     definitions, ``Class.method``s and imported modules that are left out; ``from:module`` is an import from
             one, ``if:main`` what a program alone runs
    put      Python text: its definitions replace those of the same name, methods those of the class; others come first
    swap     text → what stands in its place
    source   what the module is, where none of the standard library is changed
    """

    drop: str = ""
    put: str = ""
    swap: Mapping[str, str] = {}
    source: str = ""


_TABLES: Final = {
    "doctest": "doctests",
    "unittest": "unittests",
    "tokenize": "tokens",
    "shlex": "tokens",
    "token": "tokens",
    "timeit": "timing",
    "IPython": "notebooks",
}
"""Top-level module → the file of this folder that has its rewrites."""


def rewrites(top: str) -> Mapping[str, Rewrite]:
    """How this top-level module and those below it are rewritten; empty for one that is not."""
    file = _TABLES.get(top)
    if file is None:
        return {}
    table: Mapping[str, Rewrite] = import_module(f"{__name__}.{file}").REWRITES
    return {name: rewrite for name, rewrite in table.items() if name.partition(".")[0] == top}


class Rewritten:
    """The rewritten modules of one session."""

    def __init__(
        self, plan: LanguagePlan, table: Mapping[str, Any], written: Modules, *, like: Rewritten | None = None
    ) -> None:
        """`like` has compiled them for other modules of a program."""
        opened = {name: ImportPlan() for name in _OPEN.split()}
        self._plan = replace(plan, imports=opened | plan.imports)
        self._codes: dict[str, tuple[CodeType, bool]] = {} if like is None else like._codes
        """Name of a module → its code, and whether it is a package."""
        self._builtins = dict(table)
        self._builtins["__import__"] = self._import
        self._builtins["globals"] = lambda: NamespaceView(sys._getframe(1).f_globals)
        for name in ("setattr", "delattr"):
            self._builtins[name] = self._setter(name, plan)
        self._modules: dict[str, ModuleType] = {}
        self._main = written.loaded("__main__")
        self._helpers = _helpers(table["__import__"], written)

    def compile(self, top: str) -> None:
        """Compile a top-level module and those below it: for `unittest` that takes 20 ms."""
        for name, rewrite in rewrites(top).items():
            self._codes[name] = code_of(name, rewrite, self._plan)

    def module(self, name: str) -> ModuleType | None:
        """The module of this dotted name, loaded at its first use; None if it is not among them."""
        found = self._modules.get(name)
        if found is not None:
            return found
        rewrite = rewrites(name.partition(".")[0]).get(name)
        if rewrite is None:
            return None
        parent, _, leaf = name.rpartition(".")
        package = self.module(parent) if parent else None
        if name in self._modules:
            return self._modules[name]
        if name not in self._codes:
            self._codes[name] = code_of(name, rewrite, self._plan)
        code, is_package = self._codes[name]
        module = self._modules[name] = ModuleType(name)
        vars(module).update(self._helpers, __builtins__=self._builtins)
        vars(module)["__package__"] = name if is_package else parent
        try:
            exec(code, vars(module))
        except BaseException:
            del self._modules[name]
            raise
        if package is not None:
            setattr(package, leaf, module)
        return module

    def _setter(self, name: str, plan: LanguagePlan) -> Callable[..., None]:
        """`setattr` or `delattr` as rewritten modules have it. Their own classes obey it, as a mock has a class of its
        own; and `setattr` puts another object into a facade, as `patch` does.
        """
        usual, real = self._builtins[name], vars(builtins)[name]
        rules = rules_of(plan)

        def change(target: Any, attribute: str, /, *value: Any) -> None:
            if value and type(attribute) is str and issubclass(type(target), Facade):
                replace_name(target, attribute, *value)
                return
            own = issubclass(type(target), type) and vars(target).get("__module__") in self._modules
            if (
                own
                and type(attribute) is str
                and rules.attribute(attribute) != REFUSED
                and attribute not in UNASSIGNABLE
            ):
                real(target, attribute, *value)
            else:
                usual(target, attribute, *value)

        return change

    def _import(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0, /) -> Any:
        """The ``__import__`` of rewritten modules: each other, stand-ins, and facades whatever the policy opens."""
        if name == "__future__" or type(fromlist) is list:
            return import_module(name)
        if level:
            package = str(globals["__package__"])
            name = f"{package}.{name}" if name else package
        if name == "__main__":
            return self._main
        stand_in = self._helpers["<stand-ins>"].get(name)
        if stand_in is not None:
            return stand_in
        leaf = self.module(name)
        if leaf is None:
            found = facade(name, self._plan)
            return found if fromlist else facade(name.partition(".")[0], self._plan)
        for item in fromlist or ():
            if not hasattr(leaf, item):
                self.module(f"{name}.{item}")
        return leaf if fromlist else self.module(name.partition(".")[0])


_OPEN: Final = """
    __future__ argparse ast asyncio builtins collections contextlib contextvars copy dataclasses difflib enum fnmatch
    functools inspect io itertools keyword logging operator os os.path pprint queue random re string sys textwrap
    threading time traceback types typing warnings weakref
"""
"""What rewritten modules import."""


def source_of(name: str) -> tuple[str, bool]:
    """The source of a module of the standard library, and whether it is a package. Raises ModuleNotFoundError."""
    for finder in sys.meta_path:
        read: Callable[[str], tuple[str, bool] | None] | None = getattr(finder, "source", None)
        if read is not None and (found := read(name)) is not None:
            return found
    path = None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), path)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        path = spec.submodule_search_locations
    source = spec.loader.get_source(name) if spec is not None and spec.loader is not None else None  # type: ignore[attr-defined]
    if source is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return source, path is not None


def code_of(name: str, rewrite: Rewrite, plan: LanguagePlan) -> tuple[CodeType, bool]:
    """The code of a module, rewritten and judged, and whether it is a package. Raises `Rejection` for what the rewrite
    has left.
    """
    source, is_package = (rewrite.source, False) if rewrite.source else source_of(name)
    for old, new in rewrite.swap.items():
        source = source.replace(old, new)
    tree = ast.parse(source)
    _drop(tree, rewrite.drop.split())
    _put(tree, ast.parse(rewrite.put))
    rules = Rules(plan)
    rules.open_modules.update(_imported(tree))
    transformer = StepTransformer(rules, _Everything())
    transformer.check(tree)
    if transformer.findings:
        raise Rejection(explain(transformer.findings, source, rules, (tree,)))
    return compile(tree, f"python/{name}.py", "exec", dont_inherit=True, optimize=0), is_package


class _Everything:
    """The names that a rewritten module may find: the builtins that it uses are those of the session."""

    def __contains__(self, name: object) -> bool:
        return name != "__import__"


def _imported(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def _drop(tree: ast.Module | ast.ClassDef, names: list[str]) -> None:
    own = {name for name in names if "." not in name}
    tree.body = [node for node in tree.body if own.isdisjoint(_bound(node))] or [ast.Pass()]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            _drop(node, [name[len(node.name) + 1 :] for name in names if name.startswith(f"{node.name}.")])


def _bound(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
        case ast.Import(names=[alias]):
            return {alias.asname or alias.name}
        case ast.ImportFrom(module=str(module)):
            return {f"from:{module}"}
        case ast.Try(body=[first, *_]):
            return _bound(first)
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return {"if:main"}
    return set()


def _put(tree: ast.Module | ast.ClassDef, new: ast.Module | ast.ClassDef) -> None:
    places = {name: index for index, node in enumerate(tree.body) for name in _bound(node)}
    added: list[ast.stmt] = []
    for node in new.body:
        place = next((places[name] for name in _bound(node) if name in places), None)
        if place is None:
            added.append(node)
            continue
        old = tree.body[place]
        if isinstance(old, ast.ClassDef) and isinstance(node, ast.ClassDef) and not node.bases:
            _put(old, node)
        else:
            tree.body[place] = node
    start = 0
    while start < len(tree.body) and isinstance(tree.body[start], ast.Expr | ast.ImportFrom):
        if isinstance(tree.body[start], ast.ImportFrom) and tree.body[start].module != "__future__":  # type: ignore[attr-defined]
            break
        start += 1
    tree.body[start:start] = added


class _Traceback:
    """`traceback.TracebackException` as far as `unittest` uses it: the text of the guest's frames."""

    def __init__(self, kind: Any, value: Any, trace: Any, **_options: Any) -> None:
        lines = format_exception(kind, value, trace)
        self.format = lambda **_colours: iter(lines)


def _helpers(importer: Callable[..., Any], written: Modules) -> dict[str, Any]:
    """The names that rewritten modules have besides their own: each tells no more than a text, a number, yes or no, or
    gives a module that the program could import.
    """
    main = written.loaded("__main__")
    known = modules_by_name(lambda: written)

    def is_library(trace: Any) -> bool:
        return isinstance(trace, TracebackType) and "__unittest" in trace.tb_frame.f_globals

    def is_of_program(function: Any) -> bool:
        if not isinstance(function, FunctionType):
            return False
        space = function.__globals__
        return any(space is own for _, own in written.spaces())

    def first_line(function: Any) -> int | None:
        return function.__code__.co_firstlineno - 1 if is_of_program(function) else None

    def source_lines(thing: Any) -> list[str] | None:
        code = thing.__code__ if is_of_program(thing) else None
        name = code.co_filename if code is not None else file_of(thing)
        return linecache.cache[name][2] if name in linecache.cache else None  # type: ignore[misc]

    def file_of(thing: Any) -> str:
        module = thing if isinstance(thing, OwnModule) else known.get(getattr(thing, "__module__", ""), main)
        file = last_step() if module is main else getattr(module, "__file__", "")
        return file if type(file) is str else ""

    def import_by_name(name: Any) -> Any:
        if type(name) is str and written.knows(name):
            written.by_name(name)
            return written.loaded(name.partition(".")[0])
        return importer(name, None, None, ("*",), 0)

    return {
        "_is_library": is_library,
        "_is_of_program": is_of_program,
        "_first_line": first_line,
        "_source_lines": source_lines,
        "_import_by_name": import_by_name,
        "_is_facade": lambda thing: issubclass(type(thing), Facade),
        "_program_builtins": written.builtins,
        "_add_folder": lambda path: written.add_folder(path),
        "_program": main,
        "_modules": known,
        "_coroutine_mark": _coroutine_mark,
        "_Traceback": _Traceback,
        "<stand-ins>": _stand_ins(),
    }


def _stand_ins() -> dict[str, Any]:
    """In place of modules that no facade is made of."""
    return {
        "_colorize": SimpleNamespace(can_colorize=_no, ANSIColors=_NoColours(), get_colors=_NoColours),
        "signal": SimpleNamespace(SIGINT=2),
        "_tokenize": import_module("_tokenize"),
        "gc": SimpleNamespace(isenabled=gc.isenabled, enable=gc.enable, disable=gc.disable),
        "_io": SimpleNamespace(TextIOWrapper=_named_like(io.TextIOWrapper), BytesIO=io.BytesIO, open=_named_like(open)),
    }


def _named_like(thing: object) -> object:
    """Something that has the names of the thing, which opens files, and nothing behind them."""
    names = set(dir(thing)) - {*dir(object), "__qualname__", "__name__", "__dict__", "__weakref__", "__slots__"}
    return type("names", (), dict.fromkeys(names))


def _no(*_: object, **__: object) -> bool:
    return False


def _coroutine_mark() -> object:
    """What `asyncio.iscoroutinefunction` looks for."""
    from asyncio import coroutines

    return vars(coroutines).get("_is_coroutine")


class _NoColours:
    """Names of colours, each an empty text."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __getattr__(self, name: str) -> str:
        return ""
