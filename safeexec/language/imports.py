"""Answer import statements of guest code: with the real module, if the policy opens it, or a module of the program.

The source of a program's own modules is compiled by the same rules as a step.

C code of libraries asks the guest's ``__import__``, too: `PyImport_Import` calls the one of the frame that runs, so
`datetime.strptime` asks for `_strptime` there. It passes an empty *list* as `fromlist`, where an import statement
passes a tuple or None: such an import is the library's own, and is not judged.
"""

from __future__ import annotations

import builtins
from importlib import import_module
from types import ModuleType
from typing import Any

from safeexec.engine.child.step.program import CompiledStep, Find, ModuleSource, ProgramModules, Rejection, is_library
from safeexec.engine.policy.access import module_access, name_access
from safeexec.engine.policy.refusals import canonical
from safeexec.language.judge import compile_step
from safeexec.language.rules import Rules


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
    """A refused module: what a program with a fallback catches is either of CPython's two exceptions."""


for _kind, _usual in (RefusedImport, ImportError), (RefusedModule, ModuleNotFoundError):
    _kind.__name__ = _kind.__qualname__ = _usual.__name__  # what a program prints of it, and its report
    _kind.__module__ = "builtins"


class Importer(ProgramModules):
    """The ``__import__`` of one program, and the finder and loader of its own modules."""

    def __init__(self, rules: Rules, find: Find, *, place: str = "") -> None:
        super().__init__(find, self._judged, place=place)
        self._rules = rules
        self._refusals: list[tuple[ImportError, Rejection]] = []
        """The refusal of a module's source that was last raised, and what it was made of."""

    def import_(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        """Import for guest code. Raises `RefusedImport`, and whatever importing the real module raises."""
        if type(fromlist) is list and not fromlist:  # as C code imports, for itself
            return builtins.__import__(name, globals, locals, fromlist, level)
        if level and self.place and not (type(globals) is dict and globals.get("__package__")):
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
        """Import ``from . import a`` and ``from .a import b`` in a module at the top of a plugin."""
        if level > 1:
            raise ImportError("attempted relative import beyond top-level package")
        if name:
            return builtins.__import__(name, globals, locals, fromlist, 0)
        found = ModuleType(self.place)
        for item in fromlist or ():
            vars(found)[item] = import_module(item)
        return found

    def _judged(self, source: str, file: str, space: dict[str, Any]) -> CompiledStep:
        return compile_step(source, self._rules.plan, filename=file, known_names=space)

    def run(self, name: str, source: ModuleSource, space: dict[str, Any]) -> None:
        """Compile and run the source of one module. An import of one that the policy refuses is an ImportError."""
        try:
            super().run(name, source, space)
        except Rejection as rejection:
            if space.get("__spec__") is None:  # the main module of a plugin, which nothing imports
                raise
            refused = _refused(name, source.file, rejection)
            self._refusals[:] = [(refused, rejection)]
            raise refused from None

    def as_refused(self, error: BaseException) -> BaseException:
        """Return the refusal of a module's source that this error was made of; the error itself if of none."""
        return next((rejection for made, rejection in self._refusals if made is error), error)


def _refused(name: str, file: str, rejection: Rejection) -> ImportError:
    """Return what an import raises for a module whose source the policy refuses."""
    first, *others = rejection.diagnostics
    more = f" (and {len(others)} more)" if others else ""
    message = f"import of {name} is refused: {file}, line {first.line}: {first.message}{more}"
    refused: Any = ImportError(message, name=name, path=file)
    refused.rule, refused.refused = first.rule, (first.kind, first.name)
    return refused  # type: ignore[no-any-return]
