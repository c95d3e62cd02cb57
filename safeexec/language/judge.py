"""Compile one step, or a text for `eval` and `exec`, once it is checked against the policy.

Most steps use nothing but plain names. For them the look at the syntax tree, which costs as much as the compiler
itself, is not needed: a code object lists every identifier, attribute and keyword of its program, on every CPython,
and the text shows what it imports. What `PolicyJudge.passes` lets pass, `StepTransformer` would have let pass
unchanged: a test compares the two for thousands of programs of a grammar. The one difference is what CPython leaves
out because it can never run: ``if 0: import os``.
"""

from __future__ import annotations
import __future__

import functools
import operator
import re
from collections.abc import Collection, Container, Iterable, Sequence
from types import CodeType, ModuleType
from typing import Final

from safeexec.common.own import ast
from safeexec.engine.child.step.program import (
    TOO_DEEP,
    CompiledStep,
    Rejection,
    compile_code,
    compile_program,
)
from safeexec.engine.policy.access import parents
from safeexec.engine.policy.refusals import CALLS, canonical
from safeexec.language.diagnostics import explain
from safeexec.language.rules import Rules, rules_of
from safeexec.language.workspace import WorkspaceModules
from safeexec.protocol.plan import LanguagePlan

PyCF_MASK: Final = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""The flags of `compile` that are future statements."""


class PolicyJudge:
    """A `ProgramJudge` by the rules of a policy. `known_names` is the namespace of the session, or its names."""

    def __init__(self, rules: Rules, known_names: Container[str], workspace: WorkspaceModules | None = None) -> None:
        self._rules = rules
        self._known_names = known_names
        self._workspace = workspace

    def passes(self, source: str, codes: Collection[CodeType]) -> bool:
        """Return whether nothing in the `codes` of `source` needs a look: no suspicious name, no refused import."""
        if self._workspace is not None:
            self._workspace.source = source
        rules = self._rules
        if rules.constructs or not (rules.decorators and rules.star_imports):
            return False
        imported = _imported(source) if "import" in source else ()
        if imported is None or not all(map(rules.importable, imported)):
            return False
        every = [*codes]
        read: set[str] = set()
        bound: set[str] = set()
        for code in every:
            read.update(code.co_names)
            bound.update(code.co_varnames, code.co_cellvars)
            for constant in code.co_consts:
                if type(constant) is CodeType:
                    every.append(constant)
                elif type(constant) is tuple:  # of keyword arguments; or an ordinary one, which the visit then clears
                    bound.update(item for item in constant if type(item) is str)
        known = rules.plain
        for names in read, bound:
            if not known.issuperset(names) and not all(name in known or rules.is_plain(name) for name in names):
                return False
        return not _reads_refused(read, imported, rules, self._known_names)

    def rewrite(self, source: str, trees: Sequence[ast.AST]) -> bool:
        from safeexec.language.transformer import StepTransformer  # with RestrictedPython 15 ms: the screen passes most

        if self._workspace is not None:
            self._workspace.source = source
        transformer = StepTransformer(self._rules, self._known_names)
        transformer.check(*trees)
        if transformer.findings:
            raise Rejection(explain(transformer.findings, source, self._rules, trees))
        return transformer.rewritten


def compile_step(
    source: str,
    plan: LanguagePlan,
    *,
    filename: str,
    known_names: Container[str] = (),
) -> CompiledStep:
    """Compile `source` under `plan`.

    `known_names` are the names that the session already has (they may shadow a builtin that the policy leaves out).

    Raises `Rejection` with every violation of the policy, and what `compile_program` raises.
    """
    rules = rules_of(plan)
    judge = PolicyJudge(rules, known_names) if plan.mode == "restricted" else None
    return compile_program(source, filename, rules.step_flags, judge)


def compile_text(
    source: str, rules: Rules, filename: str, mode: str, known_names: Container[str], flags: int
) -> CodeType:
    """Compile `source` for the guarded `eval`, `exec` and `compile`; `mode` and `flags` (of future statements) are
    theirs. Raises as `compile_step`.
    """
    if type(source) is not str:
        raise TypeError(f"the source must be str, not {type(source).__name__}")
    judge = PolicyJudge(rules, known_names)
    flags &= PyCF_MASK
    try:
        code = compile_code(source, filename, mode, flags)
        if judge.passes(source, (code,)):
            return code
        tree = ast.parse(source, filename, mode)
        return compile_code(tree, filename, mode, flags) if judge.rewrite(source, (tree,)) else code
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP, (filename, 1, 1, None)) from None


# The screen: what passes by its code alone

_WORD: Final = re.compile(r"\bimport\b")
_DOTTED: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_AS: Final = r"(?:[ \t]+as[ \t]+\w+)?"
_STATEMENT: Final = re.compile(
    rf"(?m)(?:^|;)[ \t]*(?:import[ \t]+({_DOTTED}{_AS}(?:,[ \t]*{_DOTTED}{_AS})*)"
    rf"|from[ \t]+({_DOTTED})[ \t]+import[ \t]+(\w+{_AS}(?:,[ \t]*\w+{_AS})*))[ \t]*(?=$|;|#)"
)
"""An import on a line of its own, as nearly all are written."""

_NOTHING: Final[frozenset[str]] = frozenset()


def _imported(source: str) -> set[str] | None:
    """Return the modules that the text imports; None where the word stands elsewhere, or in other statements."""
    statements = _STATEMENT.findall(source)
    if len(statements) != len(_WORD.findall(source)):
        return None
    return {part.split()[0] for plain, module, _ in statements for part in (plain or module).split(",")}


def _reads_refused(names: set[str], imported: Iterable[str], rules: Rules, known_names: Container[str]) -> bool:
    """Return whether a module is at hand, by an import of this text or of an earlier step, and a name of it that is
    refused is among `names`.
    """
    modules = {canonical(above) for module in imported for above in parents(module)} if imported else set()
    if type(known_names) is dict:
        for name in names:
            if type(found := known_names.get(name)) is ModuleType:
                modules.add(canonical(found.__name__))
    for module in modules:
        if module in CALLS and not names.isdisjoint(CALLS[module].split()):
            return True
        if module in rules.choosing or not rules.members.get(module, _NOTHING).isdisjoint(names):
            return True
        if any(f"{module}.{name}" in rules.closed for name in names):
            return True
    return False
