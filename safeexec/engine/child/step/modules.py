"""The program's own modules, parts of a plugin or files of its workspace: ordinary modules with an ordinary spec, found
by a finder of `sys.meta_path`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from msgspec import Struct


class CompiledStep(Struct, eq=False):
    """The code of a step or a module: run `body` if there is one, then evaluate `tail` if there is one. Where the top
    level awaits, what `eval` makes of it is a coroutine (`inspect.CO_COROUTINE`).
    """

    body: CodeType | None
    tail: CodeType | None


class ModuleSource(NamedTuple):
    """Where a module of the program comes from. A package may be a mere folder, without a text."""

    file: str
    """Its name in tracebacks."""
    text: str
    is_package: bool = False
    path: str = ""
    """What its ``__file__`` says, if it is a file."""


Find = Callable[[str], "ModuleSource | None"]
"""The source of a module (a dotted name) if it is one of the program's. May raise ImportError."""
Compile = Callable[[str, str, dict[str, Any]], CompiledStep]
"""Source, file and namespace → code. Raises what compiling raises."""


class ProgramModules:
    """Finder and loader of the modules of one program."""

    def __init__(self, find: Find, compile: Compile, *, place: str = "") -> None:
        self.find = find
        self._compile = compile
        self.place = place
        """Where modules are that are not there, for errors. The modules of a program with a place are siblings."""
        self.builtins: dict[str, Any] = {}
        """What modules of the program find as theirs; nothing: Python's own."""
        self.given: dict[str, Any] = {}
        """What each of them finds in its namespace."""
        self.remember: Callable[[str, str], None] = forget_source
        """Keeps the source of a module for tracebacks, under the name of its file."""
        self.compiling = ""
        """The module that was compiled last."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of the program; None for all others."""
        parent = name.rpartition(".")[0]
        if parent and not isinstance(getattr(sys.modules.get(parent), "__loader__", None), _Loader):
            return None
        source = self.find(name)
        if source is None:
            return None
        spec = ModuleSpec(name, _Loader(self, source), origin=source.path or source.file, is_package=source.is_package)
        spec.has_location = bool(source.path)
        if source.is_package and source.path:
            spec.submodule_search_locations = [source.path.rpartition("/")[0]]
        return spec

    def run(self, name: str, source: ModuleSource, space: dict[str, Any]) -> None:
        """Compile and run the source of one module in its namespace; a mere folder has none."""
        if source.is_package and not source.text:
            return
        self.remember(source.file, source.text)
        self.compiling = name
        compiled = self._compile(source.text, source.file, space)
        if compiled.body is not None:
            exec(compiled.body, space)
        if compiled.tail is not None:
            eval(compiled.tail, space)

    def as_refused(self, error: BaseException) -> BaseException:
        """Return the refusal of a module's source that this error was made of, or the error itself."""
        return error


class _Loader(Loader):
    """Runs one module of the program."""

    def __init__(self, modules: ProgramModules, source: ModuleSource) -> None:
        self._modules = modules
        self._source = source

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        modules, space, name = self._modules, vars(module), module.__name__
        space.update(modules.given)
        if modules.builtins:
            space["__builtins__"] = modules.builtins
        modules.run(name, self._source, space)

    def get_source(self, name: str) -> str:
        """Return the text, for `inspect` and `linecache`."""
        return self._source.text

    def is_package(self, name: str) -> bool:
        """Tell whether it has modules below it."""
        return self._source.is_package


def is_library(top: str) -> bool:
    """Tell whether a package of this name is Python's, or installed. True where that cannot be looked up."""
    if top in sys.stdlib_module_names or top in sys.modules:
        return True
    try:
        return PathFinder.find_spec(top) is not None
    except Exception:
        return True


def forget_source(file: str, source: str) -> None:
    """Stand for a `remember` that keeps nothing."""
