"""The files that a program with a standard input names, where `open` is there for that input alone.

Such an `open` is refused when it runs: whoever asks beforehand wants to know. What a program tries, it goes on without.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from safeexec.compiler.diagnostics import Diagnostic, explain
from safeexec.compiler.rules import Finding, rules_of
from safeexec.compiler.transformer import bound_names
from safeexec.protocol.plan import LanguagePlan


def named_files(source: str, plan: LanguagePlan, known_names: Container[str]) -> list[Diagnostic]:
    """What `plan`, which leaves `open` out, says of each `open("name")` in a source that has been compiled."""
    try:
        tree = ast.parse(source)
    except (RecursionError, MemoryError):  # text may be compiled that nests too deeply for a tree
        return []
    found = [Finding("builtin", "open", call.func) for call in _calls(tree)]
    if not found or "open" in known_names or "open" in bound_names(tree):
        return []
    return explain(found, source, rules_of(plan), (tree,))


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open" and node.args:
            file = node.args[0]
            if isinstance(file, ast.Constant) and file.value != 0:
                yield node
        tried = {*node.body} if isinstance(node, ast.Try) and node.handlers else ()
        pending.extend(child for child in ast.iter_child_nodes(node) if child not in tried)
