"""The language of one session: compiler, builtins and imports under one plan."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import msgspec

from safeexec.engine.policy.access import module_access
from safeexec.language.builtins import leave, make_builtins
from safeexec.language.imports import Find, Importer, ModuleSource
from safeexec.language.notebooks import SOURCES
from safeexec.language.rules import rules_of
from safeexec.language.step import CompiledStep, compile_step
from safeexec.language.workspace import WorkspaceModules
from safeexec.protocol.plan import LanguagePlan

_READ_INPUT = frozenset({"input", "open"})
"""Builtins of a step that has a standard input. `open` opens that alone where the policy gives no files."""


class Language:
    """What guest code may write and what it finds: built once per plan, installed into the guest's namespace."""

    def __init__(self, plan: LanguagePlan) -> None:
        self.plan = plan
        self._with_input: LanguagePlan | None = None
        self.builtins: dict[str, Any] = vars(builtins)
        self.importer: Importer | None = None
        """Where the program's own modules are judged, or are a plugin's."""
        self.remember: Callable[[str, str], None] = _forget
        """Keeps the source of a module for tracebacks, under the name of its file."""
        self._workspace: WorkspaceModules | None = None
        self._namespace: dict[str, Any] = {}

    def install(self, namespace: dict[str, Any]) -> None:
        """Make `namespace` (the dict of the guest's `__main__`) the one that this language runs in."""
        self._namespace = namespace
        namespace.setdefault("__name__", "__main__")
        if self.plan.mode == "python":
            # The zygote runs without `site`, which gives programs these two.
            self.builtins.update(exit=leave, quit=leave)
        else:
            rules = rules_of(self.plan)
            if self.plan.workspace != "none":
                self._workspace = WorkspaceModules(self.plan)
                rules.is_own = self._workspace.may_have
            self.importer = Importer(rules, self._find)
            self.builtins = make_builtins(rules, self.importer.import_)
            self._adopt(self.importer)
        namespace["__builtins__"] = self.builtins

    def have(self, find: Find, place: str, names: frozenset[str]) -> Importer:
        """Let the program be a plugin's modules: `names`, which `find` gives the sources of."""
        rules = rules_of(self.plan)
        importer = self.importer = Importer(rules, find, place=place)
        if self.plan.mode != "python":
            rules.is_own = lambda module: module == "__main__" or module.partition(".")[0] in names
            self.builtins["__import__"] = importer.import_
        self._adopt(importer)
        return importer

    def _adopt(self, importer: Importer) -> None:
        importer.remember = lambda file, source: self.remember(file, source)
        importer.builtins = self.builtins if self.plan.mode != "python" else {}
        importer.install()

    def _find(self, name: str) -> ModuleSource | None:
        """The source of a module of the program: a file of its workspace, or what notebooks show values with."""
        text = SOURCES.get(name)
        if text is not None and module_access(name, self.plan).allowed:
            return ModuleSource(f"<{name}>", text, is_package=name in ("IPython", "IPython.core"))
        return None if self._workspace is None else self._workspace.find(name)

    def shadowed(self, name: str) -> str | None:
        """The hint for a library's module whose name a file of the workspace has, too."""
        return None if self._workspace is None else self._workspace.shadowed(name)

    def close_paths(self, is_closed: Callable[[str], bool]) -> None:
        """Refuse to open, before a step runs, the paths that `is_closed` tells."""
        rules_of(self.plan).is_closed_path = is_closed

    def compile(self, source: str, filename: str, *, stdin: bool = False) -> CompiledStep:
        """Compile one step; with `stdin` it may read its standard input. Raises as `compile_step` does."""
        if self._workspace is not None:
            self._workspace.source = source
        plan = self.plan if not stdin else self._reading_input()
        return compile_step(source, plan, filename=filename, known_names=self._namespace)

    def _reading_input(self) -> LanguagePlan:
        """The plan of a step that has a standard input."""
        if self._with_input is None:
            plan = self.plan
            self._with_input = msgspec.structs.replace(plan, builtins=plan.builtins | _READ_INPUT, stdin=True)
            rules, usual = rules_of(self._with_input), rules_of(plan)
            rules.is_own, rules.is_closed_path = usual.is_own, usual.is_closed_path
            rules.input_only = "open" not in plan.builtins
        return self._with_input


def _forget(file: str, source: str) -> None: ...
