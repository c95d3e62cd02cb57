"""Compile one step, or a text for `eval` and `exec`, once it is checked against the policy."""

from __future__ import annotations
import __future__

import functools
import operator
from collections.abc import Container
from types import CodeType
from typing import Final

from safeexec.common.own import ast
from safeexec.engine.child.step.program import (
    TOO_DEEP,
    CompiledStep,
    Rejection,
    Review,
    check_text,
    compile_code,
    compile_program,
)
from safeexec.language.diagnostics import explain
from safeexec.language.rules import Rules, rules_of
from safeexec.language.screen import is_clean
from safeexec.protocol.plan import LanguagePlan

PyCF_MASK: Final = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""The flags of `compile` that are future statements."""


class PolicyJudge:
    """A `ProgramJudge` by the rules of a policy."""

    __slots__ = ("_known_names", "_rules", "_source")

    def __init__(self, source: str, rules: Rules, known_names: Container[str]) -> None:
        self._source = source
        self._rules = rules
        self._known_names = known_names

    def needs_tree(self) -> bool:
        return ".format" in self._source or "attr(" in self._source  # a name may be computed

    def passes(self, *codes: CodeType) -> bool:
        return is_clean(codes, self._rules, self._source, self._known_names)

    def visit(self, *trees: ast.AST) -> bool:
        from safeexec.language.transformer import StepTransformer  # with RestrictedPython 15 ms: the screen passes most

        transformer = StepTransformer(self._rules, self._known_names)
        transformer.check(*trees)
        if transformer.findings:
            raise Rejection(explain(transformer.findings, self._source, self._rules, trees))
        return transformer.rewritten


def compile_step(
    source: str,
    plan: LanguagePlan,
    *,
    filename: str,
    known_names: Container[str] = (),
    review: Review | None = None,
) -> CompiledStep:
    """Compile `source` under `plan`; `review` as for `compile_program`.

    `known_names` are the names that the session already has (they may shadow a builtin that the policy leaves out).

    Raises `Rejection` with every violation of the policy, and what `compile_program` raises.
    """
    rules = rules_of(plan)
    judge = PolicyJudge(source, rules, known_names) if plan.mode == "restricted" else None
    return compile_program(source, filename, rules.step_flags, judge, review)


def compile_text(
    source: str, rules: Rules, filename: str, mode: str, known_names: Container[str], flags: int
) -> CodeType:
    """Compile `source` for the guarded `eval`, `exec` and `compile`; `mode` and `flags` (of future statements) are
    theirs. Raises as `compile_step`.
    """
    check_text(source)
    judge = PolicyJudge(source, rules, known_names)
    flags &= PyCF_MASK
    try:
        code = compile_code(source, filename, mode, flags)
        if judge.passes(code):
            return code
        tree = ast.parse(source, filename, mode)
        return compile_code(tree, filename, mode, flags) if judge.visit(tree) else code
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP, (filename, 1, 1, None)) from None
