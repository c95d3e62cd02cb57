"""Explain refusals: where in the source, and by which rule of the policy. What to do instead: `hints.remedies`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from safeexec.common.text import blank, columns
from safeexec.engine.child.step.program import Diagnostic
from safeexec.language.rules import Finding, Rules

if TYPE_CHECKING:
    from asttokens import ASTText

MESSAGES: Final = {
    "module": "import of {!r} is refused",
    "builtin": "builtin {!r} is refused",
    "attribute": "attribute {!r} is refused",
    "construct": "{} is refused",
}
"""Kind of a refusal → its message."""

_LINE = 400
"""Characters that are shown of a longer line."""


def explain(findings: Sequence[Finding], source: str, rules: Rules, trees: Sequence[ast.AST]) -> list[Diagnostic]:
    """Build the diagnostics of `findings` in `trees`, sorted by place, one for each place and name."""
    from asttokens import ASTText  # only a refused program pays for it

    program = ast.Module(list(trees), [])  # type: ignore[arg-type]  # one root for what was split
    text = ASTText(source, program)
    found = {}
    for finding in findings:
        diagnostic = _explain(finding, source, text, rules)
        found[(diagnostic.line, diagnostic.column, diagnostic.end_column, diagnostic.name)] = diagnostic
    return [found[place] for place in sorted(found)]


def _explain(finding: Finding, source: str, text: ASTText, rules: Rules) -> Diagnostic:
    node = _placed(finding.node, text)
    (line, column), (end_line, end_column) = text.get_text_positions(node, padded=False)
    start, end = text.get_text_range(node, padded=False)
    leaf = finding.name.rpartition(".")[2]
    if isinstance(node, ast.Attribute) and source[end - len(leaf) : end] == leaf:
        line, column, start = end_line, end_column - len(leaf), end - len(leaf)  # the name behind the last dot
    return Diagnostic(
        line=line,
        column=column + 1,
        end_line=end_line,
        end_column=end_column + 1,
        caret=_caret(source, start, end),
        rule=rules.rule(finding.kind, finding.name),
        message=finding.message or MESSAGES[finding.kind].format(finding.name),
        kind=finding.kind,
        name=finding.name,
    )


def _placed(node: ast.AST, text: ASTText) -> ast.AST:
    """Return the node that asttokens knows the place of: before 3.12 that may be the f-string which holds this one."""
    if text.get_text_range(node, padded=False) != (0, 0):
        return node
    around = [outer for outer in ast.walk(text.tree) if type(outer) is ast.JoinedStr and node in ast.walk(outer)]
    known = [outer for outer in around if text.get_text_range(outer, padded=False) != (0, 0)]
    return known[-1] if known else node  # the innermost: `walk` goes from outside to inside


def _caret(source: str, start: int, end: int) -> str:
    """Return the line that `start` is on, with carets under its part; of a long line what is around it."""
    line_start = max(source.rfind("\n", 0, start), source.rfind("\r", 0, start)) + 1
    line_end = min((at for at in (source.find("\n", start), source.find("\r", start)) if at >= 0), default=len(source))
    first, last = line_start, line_end
    if line_end - line_start > _LINE:
        first = max(line_start, start - _LINE // 4)
        last = min(line_end, first + _LINE)
    before = ("..." if first > line_start else "") + source[first:start]
    marked, after = source[start : min(end, last)], "..." if last < line_end else ""
    carets = "^" * max(1, columns(marked))
    return f"{before}{marked}{source[start + len(marked) : last]}{after}\n{blank(before)}{carets}"
