"""Compile one step: parse it, check it against the policy, split off the last expression.

The value of a step is the value of its last expression statement, as in a notebook: `tail` is that expression's code,
`body` the code of everything before it. Each may be that of a coroutine, see `CompiledStep`.
"""

from __future__ import annotations
import __future__

import functools
import operator
import re
from collections.abc import Container
from types import CodeType
from typing import Any, Final

from msgspec import Struct

from safeexec.common.own import ast, gc
from safeexec.language.diagnostics import Rejection, explain
from safeexec.language.rules import Rules, rules_of
from safeexec.language.screen import is_clean
from safeexec.protocol.plan import LanguagePlan

__all__ = ["CompiledStep", "Rejection", "compile_step", "compile_text"]

PyCF_MASK: Final = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""The flags of `compile` that are future statements."""
TOO_DEEP: Final = "the source is nested too deeply to be compiled"


class CompiledStep(Struct, eq=False):
    """The code of one step: run `body` if there is one, then evaluate `tail` if there is one. Where the top level
    awaits, what `eval` makes of it is a coroutine (`inspect.CO_COROUTINE`).
    """

    body: CodeType | None
    tail: CodeType | None

    @property
    def codes(self) -> tuple[CodeType, ...]:
        """Both, as far as they are there."""
        return tuple(code for code in (self.body, self.tail) if code is not None)


def compile_step(source: str, plan: LanguagePlan, *, filename: str, known_names: Container[str] = ()) -> CompiledStep:
    """Compile `source` under `plan`.

    `known_names` are the names that the session already has (they may shadow a builtin that the policy leaves out).

    Raises `Rejection` with every violation of the policy, SyntaxError as CPython does (also for null bytes and for
    nesting that exhausts the parser), ValueError for text that is no text (lone surrogates), TypeError for what is not
    a str.
    """
    _check_text(source)
    try:
        return _compile(source, rules_of(plan), filename, known_names)
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP, (filename, 1, 1, None)) from None


def compile_text(
    source: str, rules: Rules, filename: str, mode: str, known_names: Container[str], flags: int
) -> CodeType:
    """Compile `source` for the guarded `eval`, `exec` and `compile`; `mode` and `flags` (of future statements) are
    theirs. Raises as `compile_step`.
    """
    _check_text(source)
    flags &= PyCF_MASK
    try:
        code = _code(source, filename, mode, flags)
        if is_clean((code,), rules, source, known_names):
            return code
        tree = ast.parse(source, filename, mode)
        return _code(tree, filename, mode, flags) if _check(source, rules, known_names, tree) else code
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP, (filename, 1, 1, None)) from None


def _check_text(source: str) -> None:
    if type(source) is not str:
        raise TypeError(f"the source must be str, not {type(source).__name__}")


def _compile(source: str, rules: Rules, filename: str, known_names: Container[str]) -> CompiledStep:
    restricted = rules.plan.mode == "restricted"
    # A guess that only saves time, and may be wrong: where a name is computed the tree is needed anyway.
    computes = restricted and (".format" in source or "attr(" in source)
    step = None if computes else _compile_text(source, filename, rules.step_flags)
    if step is not None and (not restricted or is_clean(step.codes, rules, source, known_names)):
        return step
    # The tree is young garbage without cycles; a collection in the middle would only traverse it.
    collecting = gc.isenabled()
    gc.disable()
    try:
        tree = ast.parse(source, filename)
        last = _split_tail(tree, source)
        rewritten = restricted and _check(source, rules, known_names, *((tree,) if last is None else (tree, last)))
        return _compile_tree(tree, last, filename, rules.step_flags) if step is None or rewritten else step
    finally:
        if collecting:
            gc.enable()


def _compile_tree(tree: ast.Module, last: ast.Expression | None, filename: str, flags: int) -> CompiledStep:
    body = _code(tree, filename, "exec", flags) if tree.body else None
    return CompiledStep(body, _code(last, filename, "eval", flags) if last is not None else None)


def _compile_text(source: str, filename: str, flags: int) -> CompiledStep | None:
    """Compile without a syntax tree, which takes as long again, if the text itself shows where the last statement is.

    That is so when the text before the last line that is not indented, and the text from there on, are complete
    programs each: then no bracket, string or block is open between them. None means: look at the tree.
    """
    start = _last_statement(source)
    head, last = source[:start], source[start:]
    if ";" in last or '"""' in last or "'''" in last or head.endswith("\\\n") or "\r" in source or "\f" in source:
        return None
    lines_above = "\n" * head.count("\n")
    try:
        if _NO_EXPRESSION.match(last) is None:
            tail = _code(lines_above + last, filename, "eval", flags)
            return CompiledStep(_code(head, filename, "exec", flags) if head else None, tail)
        if head:
            _code(last, filename, "exec", flags)
        return CompiledStep(_code(source, filename, "exec", flags), None)
    except (SyntaxError, ValueError):
        return None  # a mistake, or not so simple after all: the parser of the whole text will tell


_NO_EXPRESSION: Final = re.compile(
    r"[^\W\d]\w*\s*(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=[^=]"
    r"|@|(?:assert|async|class|def|del|for|from|global|if|import|nonlocal|pass|raise|try|while|with)\b"
)
"""What a line that is no expression begins with."""


def _last_statement(source: str) -> int:
    """Where the last line begins that is not blank, not indented, no comment and no closing bracket."""
    end = len(source)
    while end > 0:
        start = source.rfind("\n", 0, end) + 1
        if source[start:end].strip() and source[start] not in " \t#)]}":
            return start
        end = start - 1
    return 0


def _check(source: str, rules: Rules, known_names: Container[str], *trees: ast.AST) -> bool:
    """Visit the trees; raise `Rejection`, or tell whether they were rewritten."""
    from safeexec.language.transformer import StepTransformer  # with RestrictedPython 15 ms: the screen passes most

    transformer = StepTransformer(rules, known_names)
    transformer.check(*trees)
    if transformer.findings:
        raise Rejection(explain(transformer.findings, source, rules, trees))
    return transformer.rewritten


def _code(tree: Any, filename: str, mode: str, flags: int = 0) -> CodeType:
    # dont_inherit: the future statements of this file are not the guest's. optimize=0: its assert statements run.
    code: CodeType = compile(tree, filename, mode, flags, dont_inherit=True, optimize=0)
    return code


def _split_tail(tree: ast.Module, source: str) -> ast.Expression | None:
    """Take the last expression statement off `tree`, unless a semicolon behind it says that its value is not wanted."""
    if not tree.body:
        return None
    last = tree.body[-1]
    if type(last) is not ast.Expr or (";" in source and _ends_with_semicolon(last, source)):
        return None
    tree.body.pop()
    return ast.Expression(last.value)


_LINE_ENDS: Final = re.compile(r"\r\n|\r|\n")
"""Lines as the parser counts them: a form feed ends none."""


def _ends_with_semicolon(last: ast.Expr, source: str) -> bool:
    lines = _LINE_ENDS.split(source)
    rest = lines[last.end_lineno - 1].encode()[last.end_col_offset :].decode("utf-8", "replace")  # type: ignore[operator]
    return any(line.strip(" \t\f)\\").startswith(";") for line in (rest, *lines[last.end_lineno :]) if line.strip())
