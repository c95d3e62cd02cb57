"""Compile one step: parse it, check it against the policy, split off the last expression.

The value of a step is the value of its last expression statement, as in a notebook: `tail` is that expression's code,
`body` the code of everything before it.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Container
from types import CodeType
from typing import Final

from safeexec.compiler.diagnostics import Rejection, explain
from safeexec.compiler.rules import Rules, rules_of
from safeexec.compiler.screen import is_clean
from safeexec.protocol.plan import LanguagePlan

__all__ = ["CompiledStep", "Rejection", "compile_step", "compile_text"]

TOO_DEEP: Final = "the source is nested too deeply to be compiled"


class CompiledStep:
    """The code of one step: run `body` if there is one, then evaluate `tail` if there is one."""

    __slots__ = ("body", "tail")

    def __init__(self, body: CodeType | None, tail: CodeType | None) -> None:
        self.body = body
        self.tail = tail


def compile_step(
    source: str,
    plan: LanguagePlan,
    *,
    filename: str,
    known_names: Container[str] = (),
    source_bytes: int | None = None,
) -> CompiledStep:
    """Compile `source` under `plan`.

    `known_names` are the names that the session already has (they may shadow a builtin that the policy leaves out);
    `source_bytes` bounds the length of the source in UTF-8.

    Raises `Rejection` with every violation of the policy, SyntaxError as CPython does (also for null bytes and for
    nesting that exhausts the parser), ValueError for text that is no text (lone surrogates) or is too long, TypeError
    for what is not a str.
    """
    _check_text(source, source_bytes)
    try:
        return _compile(source, rules_of(plan), filename, known_names)
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP, (filename, 1, 1, None)) from None


def compile_text(source: str, rules: Rules, filename: str, mode: str) -> CodeType:
    """Compile `source` for the guarded `eval` (mode ``eval``) and `exec` (mode ``exec``). Raises as `compile_step`."""
    _check_text(source, None)
    try:
        tree = ast.parse(source, filename, mode)
        code: CodeType = compile(tree, filename, mode, dont_inherit=True, optimize=0)
        if not is_clean(code, rules) and _check(source, rules, (), tree):
            code = compile(tree, filename, mode, dont_inherit=True, optimize=0)
        return code
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP, (filename, 1, 1, None)) from None


def _check_text(source: str, source_bytes: int | None) -> None:
    if type(source) is not str:
        raise TypeError(f"the source must be str, not {type(source).__name__}")
    if source_bytes is not None and len(source) > source_bytes // 4 and len(source.encode("utf-8", "replace")) > source_bytes:
        raise ValueError(f"the source is longer than the {source_bytes} bytes that the policy allows")


def _compile(source: str, rules: Rules, filename: str, known_names: Container[str]) -> CompiledStep:
    # The trees are young garbage without cycles; a collection in the middle would only traverse them.
    collecting = gc.isenabled()
    gc.disable()
    try:
        tree = ast.parse(source, filename)
        last = _split_tail(tree, source)
        step = CompiledStep(_code(tree, filename, "exec") if tree.body else None, _code(last, filename, "eval") if last else None)
        if rules.plan.mode == "python":
            return step
        clean = (step.body is None or is_clean(step.body, rules)) and (step.tail is None or is_clean(step.tail, rules))
        trees = (tree,) if last is None else (tree, last)
        if not clean and _check(source, rules, known_names, *trees):
            step.body = _code(tree, filename, "exec") if tree.body else None
            step.tail = _code(last, filename, "eval") if last else None
        return step
    finally:
        if collecting:
            gc.enable()


def _check(source: str, rules: Rules, known_names: Container[str], *trees: ast.AST) -> bool:
    """Visit the trees; raise `Rejection`, or tell whether they were rewritten."""
    from safeexec.compiler.transformer import StepTransformer

    transformer = StepTransformer(rules, known_names)
    transformer.check(*trees)
    if transformer.findings:
        raise Rejection(explain(transformer.findings, source, rules))
    return transformer.rewritten


def _code(tree: ast.Module | ast.Expression, filename: str, mode: str) -> CodeType:
    # dont_inherit: the future statements of this file are not the guest's. optimize=0: its assert statements run.
    code: CodeType = compile(tree, filename, mode, dont_inherit=True, optimize=0)
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


def _ends_with_semicolon(last: ast.Expr, source: str) -> bool:
    lines = ast._splitlines_no_ff(source)  # type: ignore[attr-defined]  # lines as the parser counts them
    rest = lines[last.end_lineno - 1].encode()[last.end_col_offset :].decode("utf-8", "replace")  # type: ignore[operator]
    return any(line.strip(" \t\f)\\").startswith(";") for line in (rest, *lines[last.end_lineno :]) if line.strip())
