"""The language of one session: compiler, builtins and imports under one plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from safeexec.engine.child.step.program import Find, Language, ModuleSource, ProgramModules
from safeexec.engine.policy.access import module_access
from safeexec.language.builtins import make_builtins, unseen, watch_builtins
from safeexec.language.imports import Importer
from safeexec.language.judge import PolicyJudge
from safeexec.language.notebooks import SOURCES
from safeexec.language.rules import rules_of
from safeexec.language.workspace import WorkspaceModules
from safeexec.protocol.plan import LanguagePlan


class RestrictedLanguage(Language):
    """The language of a policy that says what a program may write and import."""

    def __init__(self, plan: LanguagePlan) -> None:
        super().__init__(plan)
        self.unseen = unseen
        self._rules = rules_of(plan)
        self.flags = self._rules.step_flags
        self._workspace: WorkspaceModules | None = None
        self._namespace: dict[str, Any] = {}

    def install(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        namespace.setdefault("__name__", "__main__")
        if self.plan.workspace != "none":
            self._workspace = WorkspaceModules(self.plan)
        self._rules.is_own = self._may_have
        self.judge = PolicyJudge(self._rules, namespace, self._workspace)
        importer = Importer(self._rules, self._find)
        self.builtins = namespace["__builtins__"] = make_builtins(self._rules, importer.import_)
        self.adopt(importer)

    def have(self, find: Find, place: str, names: frozenset[str]) -> ProgramModules:
        self._rules.is_own = lambda module: module.partition(".")[0] in names or _is_made(module)
        importer = Importer(self._rules, find, place=place)
        self.builtins["__import__"] = importer.import_
        return self.adopt(importer)

    def adopt(self, modules: ProgramModules) -> ProgramModules:
        modules.builtins = self.builtins
        return super().adopt(modules)

    def watch_builtins(self) -> None:
        watch_builtins(self.builtins)

    def _find(self, name: str) -> ModuleSource | None:
        """Return the source of a module of the program: a file of its workspace, or what notebooks show values with."""
        text = SOURCES.get(name)
        if text is not None and module_access(name, self.plan).allowed:
            return ModuleSource(f"<{name}>", text, is_package=name in ("IPython", "IPython.core"))
        return None if self._workspace is None else self._workspace.find(name)

    def _may_have(self, name: str) -> bool:
        return _is_made(name) or (self._workspace is not None and self._workspace.may_have(name))

    def shadowed(self, name: str) -> str | None:
        return None if self._workspace is None else self._workspace.shadowed(name)

    def close_paths(self, is_closed: Callable[[str], bool]) -> None:
        self._rules.is_closed_path = is_closed

    def judge_with_input(self) -> PolicyJudge:
        return PolicyJudge(self._rules.with_input, self._namespace, self._workspace)


def _is_made(name: str) -> bool:
    """Return whether the program has put this module into `sys.modules` itself: one that was loaded has a spec."""
    module = sys.modules.get(name, sys)
    return not (issubclass(type(module), ModuleType) and vars(module).get("__spec__") is not None)
