"""The language of one session: compiler, builtins and imports under one plan."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from safeexec.child.language.builtins import leave, make_builtins
from safeexec.child.language.callers import judge_of_class_stores, judges_of_attributes
from safeexec.child.language.libraries import imports, methods, standard
from safeexec.child.language.libraries.install import guard_libraries
from safeexec.child.language.modules import Modules, importlib_of, modules_by_name
from safeexec.child.language.program import GuestProgram
from safeexec.child.language.workspace import WorkspaceModules
from safeexec.compiler.diagnostics import Diagnostic, Rejection
from safeexec.compiler.rules import rules_of
from safeexec.compiler.step import CompiledStep, compile_step
from safeexec.facades.access import module_access
from safeexec.facades.build import facade, importer, set_loader
from safeexec.facades.judged import judge_attributes, judge_class_stores
from safeexec.facades.replacements.streams import set_modules
from safeexec.facades.sealing import seal_classes
from safeexec.facades.tables.groups import OF_SESSIONS, REWRITTEN
from safeexec.protocol.plan import LanguagePlan

if TYPE_CHECKING:
    from safeexec.child.language.rewritten import Rewritten

_READ_INPUT = frozenset({"input", "open"})
"""Builtins of a step that has a standard input. `open` opens that alone where the policy gives no files."""


class Language:
    """What guest code may write and what it finds: built once per plan, installed into the guest's namespace."""

    def __init__(self, plan: LanguagePlan) -> None:
        self.plan = plan
        self._with_input: LanguagePlan | None = None
        self._rewrites: Rewritten | None = None
        self._pickle: ModuleType | None = None
        self.builtins: dict[str, Any] = vars(builtins)
        self.seals = False
        """Whether the classes of Python itself are made immutable: in a process that runs nothing but guest code."""
        self.modules: Modules
        """The program's own module, and those of its workspace or its plugin; not there where they are imported as
        Python does.
        """
        self.remember: Callable[[str, str], None] = _forget
        """Keeps the source of a module for tracebacks, under the name of its file."""
        self._workspace: WorkspaceModules | None = None
        self._namespace: dict[str, Any] = {}
        self.program = GuestProgram("__main__", self._namespace)

    def install(self, namespace: dict[str, Any]) -> None:
        """Make `namespace` (the dict of the guest's `__main__`) the one that this language runs in."""
        self._namespace = namespace
        self.program = GuestProgram("__main__", namespace)
        namespace.setdefault("__name__", "__main__")
        if self.plan.mode == "python":
            # The zygote runs without `site`, which gives programs these two.
            self.builtins.update(exit=leave, quit=leave)
        else:
            rules = rules_of(self.plan)
            self.builtins = make_builtins(rules, namespace, self._importer(), self.program)
            guard_libraries(rules, namespace, self.builtins)
            set_loader(self._rewritten, self._seal)
            set_modules(modules_by_name(lambda: self.modules))
        namespace["__builtins__"] = self.builtins
        if self.plan.mode != "python":
            self.modules.adopt(namespace, "__main__")

    def have(self, modules: Modules) -> None:
        """Let the program be these modules: a plugin's."""
        self.modules = modules
        self.builtins["__import__"] = modules.import_
        if self._rewrites is not None:
            self._rewrites = type(self._rewrites)(self.plan, self.builtins, modules, like=self._rewrites)

    def prepare(self, names: Iterable[str]) -> None:
        """Make once what each session would make when it first imports one of these modules.

        A facade takes 0.2 ms, that of numpy 4; the code of `unittest`, which runs as guest code, 20.
        """
        for name in names:
            if not module_access(name, self.plan).allowed:
                continue
            if name in REWRITTEN:
                self._as_guest_code().compile(name)
            elif name in sys.modules and name.partition(".")[0] not in OF_SESSIONS:
                facade(name, self.plan)

    def seal(self) -> None:
        """Let no program change a class that is not its own, nor a function of others, nor have what leads away from
        it, from now on: for a process that runs guest code alone.
        """
        self.seals = True
        judge_attributes(*judges_of_attributes(rules_of(self.plan)))
        methods.judge()
        imports.judge()
        standard.judge(rules_of(self.plan), self.builtins)
        judge_class_stores(judge_of_class_stores(self.program))

    def _seal(self) -> None:
        if self.seals:
            seal_classes()

    def shadowed(self, name: str) -> str | None:
        """The hint for a library's module whose name a file of the workspace has, too."""
        return None if self._workspace is None else self._workspace.shadowed(name)

    def _importer(self) -> Callable[..., Any]:
        """What an import statement asks: for modules of the program, and of libraries."""
        workspace = None if self.plan.workspace == "none" else WorkspaceModules(self.plan)
        modules = self.modules = Modules(
            self.plan,
            self.program,
            workspace.find if workspace is not None else _nothing,
            importer(self.plan),
            knows=workspace.knows if workspace is not None else _is_none,
            remember=lambda file, source: self.remember(file, source),
        )
        self._workspace = workspace
        if workspace is not None:
            rules = rules_of(self.plan)
            rules.may_have, rules.shadowed = workspace.may_have, workspace.shadowed
            modules.add_folder, modules.shadowed = workspace.add_folder, workspace.shadowed
        return modules.statement

    def _rewritten(self, name: str) -> ModuleType | None:
        """The module of this name, if it runs as guest code or, as `pickle` and `importlib`, has a version of ours."""
        if name == "pickle":
            if self._pickle is None:
                from safeexec.child.language import pickles  # for programs that import pickle

                self._pickle = pickles.make(self.plan, lambda: self.modules)
            return self._pickle
        if name == "builtins":  # where no module of the program asks: those are given `Modules.builtins`
            made = ModuleType(name)
            vars(made).update({item: value for item, value in self.builtins.items() if item[:1] != "_"})
            return made
        if name == "importlib":
            return importlib_of(self.modules)
        if name.partition(".")[0] not in OF_SESSIONS:
            return None
        return self._as_guest_code().module(name)

    def _as_guest_code(self) -> Rewritten:
        """The modules of the standard library that run as guest code."""
        if self._rewrites is None:
            from safeexec.child.language.rewritten import Rewritten  # with the transformer, which comes late

            self._rewrites = Rewritten(self.plan, self.builtins, self.modules)
        return self._rewrites

    def compile(self, source: str, filename: str, *, stdin: bool = False) -> CompiledStep:
        """Compile one step; with `stdin` it may read its standard input. Raises as `compile_step` does."""
        plan = self.plan if not stdin else self._reading_input()
        self._seal()  # what the step before this one has loaded, or trusted code for it
        if self._workspace is not None:
            self._workspace.source = source
        return compile_step(source, plan, filename=filename, known_names=self._namespace)

    def check(self, source: str, *, stdin: bool = False) -> None:
        """Compile a source as one step. Raises as `compile`, with `stdin` also for each file that it opens by name and
        that is refused when it runs.
        """
        found: list[Diagnostic] = []
        try:
            self.compile(source, "<check>", stdin=stdin)
        except Rejection as rejection:
            found = rejection.diagnostics
        if stdin and self.plan.mode == "restricted" and "open" not in self.plan.builtins and "open" in source:
            from safeexec.compiler.named_files import named_files

            found += named_files(source, self.plan, self._namespace)
        if found:
            raise Rejection(sorted(found, key=lambda one: (one.line, one.column)))

    def _reading_input(self) -> LanguagePlan:
        """The plan of a step that has a standard input."""
        if self._with_input is None:
            plan = self.plan
            self._with_input = msgspec.structs.replace(plan, builtins=plan.builtins | _READ_INPUT, stdin=True)
            rules, usual = rules_of(self._with_input), rules_of(plan)
            rules.may_have, rules.shadowed = usual.may_have, usual.shadowed
        return self._with_input


def _forget(file: str, source: str) -> None: ...


def _nothing(name: str) -> None: ...


def _is_none(top: str) -> bool:
    return False
