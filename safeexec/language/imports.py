"""What an import statement of guest code gets: the real module, if the policy opens it, or a module of the program.

A program's own modules, files of its workspace or parts of a plugin, are ordinary modules with an ordinary spec, found
by a finder of `sys.meta_path`. Their source is compiled by the same rules as a step.

C code of libraries asks the guest's ``__import__``, too: `PyImport_Import` calls the one of the frame that runs, so
`datetime.strptime` asks for `_strptime` there. It passes an empty *list* as `fromlist`, where an import statement
passes a tuple or None: such an import is the library's own, and is not judged.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NamedTuple

from safeexec.engine.policy.access import module_access, name_access
from safeexec.engine.policy.refusals import canonical
from safeexec.language.diagnostics import Rejection
from safeexec.language.rules import Rules
from safeexec.language.step import compile_step

__all__ = ["Importer", "ModuleSource", "RefusedImport", "RefusedModule", "is_library"]


class RefusedImport(ImportError):
    """The policy does not let guest code import this name."""

    def __init__(self, module: str, attribute: str, rule: str, reason: str) -> None:
        what = f"import of {module}" if not attribute else f"import of {attribute} from {module}"
        super().__init__(f"{what} is refused{f' by {rule}' if rule else ''}: {reason}", name=module)
        self.rule = rule
        """The line of the profile that decides (``standard.yaml:12``), or ``""``."""
        self.refused = ("attribute", f"{module}.{attribute}") if attribute else ("module", module)
        """Kind and name, by which a hint is found."""


class RefusedModule(RefusedImport, ModuleNotFoundError):
    """The same of a module: what a program with a fallback catches is either of CPython's two exceptions."""


for _kind, _usual in (RefusedImport, ImportError), (RefusedModule, ModuleNotFoundError):
    _kind.__name__ = _kind.__qualname__ = _usual.__name__  # what a program prints of it, and its report
    _kind.__module__ = "builtins"


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


class Importer:
    """The ``__import__`` of one program, and the finder and loader of its own modules."""

    def __init__(self, rules: Rules, find: Find, *, place: str = "") -> None:
        self._rules = rules
        self.find = find
        self._place = place
        """Where modules are that are not there, for errors. The modules of a program with a place are siblings."""
        self.builtins: dict[str, Any] = {}
        """What modules of the program find as theirs."""
        self.given: dict[str, Any] = {}
        """What each of them finds in its namespace."""
        self.remember: Callable[[str, str], None] = _forget
        """Keeps the source of a module for tracebacks, under the name of its file."""
        self.refusals: list[tuple[ImportError, Rejection]] = []
        """The refusal of a module's source that was last raised, and what it was made of."""
        self.compiling = ""
        """The module that was compiled last."""

    def install(self) -> None:
        """Find the program's modules before all others: `find` knows which names are libraries'."""
        sys.meta_path.insert(0, self)

    # What an import statement asks

    def import_(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        """``__import__`` of guest code. Raises `RefusedImport`, and whatever importing the real module raises."""
        if type(fromlist) is list and not fromlist:  # as C code imports, for itself
            return builtins.__import__(name, globals, locals, fromlist, level)
        if level and self._place and not (type(globals) is dict and globals.get("__package__")):
            return self._sibling(name, globals, locals, fromlist, level)
        rules = self._rules
        if not level and type(name) is str:
            if not rules.importable(name):
                if not is_library(top := name.partition(".")[0]):
                    raise ModuleNotFoundError(f"No module named {top!r}", name=top)
                verdict = module_access(name, rules.plan)
                raise RefusedModule(name, "", verdict.rule, verdict.reason)
            for item in fromlist or ():
                self._check_member(canonical(name), item)
        return builtins.__import__(name, globals, locals, fromlist, level)

    def _check_member(self, module: str, name: str) -> None:
        rules = self._rules
        if f"{module}.{name}" in rules.closed or rules.refuses_member(module, name):
            verdict = name_access(module, name, rules.plan)
            raise RefusedImport(module, name, verdict.rule, verdict.reason)

    def _sibling(self, name: str, globals: Any, locals: Any, fromlist: Any, level: int) -> Any:
        """``from . import a`` and ``from .a import b`` in a module at the top of a plugin."""
        if level > 1:
            raise ImportError("attempted relative import beyond top-level package")
        if name:
            return builtins.__import__(name, globals, locals, fromlist, 0)
        found = ModuleType(self._place)
        for item in fromlist or ():
            vars(found)[item] = import_module(item)
        return found

    # Finder and loader

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module of the program; None for all others."""
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
        compiled = compile_step(source.text, self._rules.plan, filename=source.file, known_names=space)
        if compiled.body is not None:
            exec(compiled.body, space)
        if compiled.tail is not None:
            eval(compiled.tail, space)

    def as_refused(self, error: BaseException) -> BaseException:
        """The refusal of a module's source that this error was made of; the error itself if it was made of none."""
        return next((rejection for made, rejection in self.refusals if made is error), error)


class _Loader(Loader):
    """Runs one module of the program."""

    def __init__(self, importer: Importer, source: ModuleSource) -> None:
        self._importer = importer
        self._source = source

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        importer, space, name = self._importer, vars(module), module.__name__
        space.update(importer.given)
        if importer.builtins:
            space["__builtins__"] = importer.builtins
        try:
            importer.run(name, self._source, space)
        except Rejection as rejection:
            refused = _refused(name, self._source.file, rejection)
            importer.refusals[:] = [(refused, rejection)]
            raise refused from None

    def get_source(self, name: str) -> str:
        """The text, for `inspect` and `linecache`."""
        return self._source.text

    def is_package(self, name: str) -> bool:
        """Whether it has modules below it."""
        return self._source.is_package


def _refused(name: str, file: str, rejection: Rejection) -> ImportError:
    """What an import raises for a module whose source the policy refuses."""
    first, *others = rejection.diagnostics
    more = f" (and {len(others)} more)" if others else ""
    message = f"import of {name} is refused: {file}, line {first.line}: {first.message}{more}"
    refused: Any = ImportError(message, name=name, path=file)
    refused.rule, refused.refused = first.rule, (first.kind, first.name)
    return refused  # type: ignore[no-any-return]


def is_library(top: str) -> bool:
    """Whether a package of this name is Python's, or installed. True where that cannot be looked up."""
    if top in sys.stdlib_module_names or top in sys.modules:
        return True
    try:
        return PathFinder.find_spec(top) is not None
    except Exception:
        return True


def _forget(file: str, source: str) -> None: ...
