"""The language's constructs by the words that people have for them: keywords (`async def`) and their names in books."""

from __future__ import annotations

from safeexec.common.own import ast
from safeexec.engine.policy.names import CONSTRUCTS

WORDS: dict[str, str] = {
    "async def": "async",
    "async for": "async",
    "async with": "async",
    "await": "async",
    "def": "function",
    "return": "function",
    "del": "delete",
    "except": "try",
    "except*": "try",
    "finally": "try",
    "from": "import",
    "elif": "if",
    "else": "if",
    "case": "match",
    "break": "while",
    "continue": "while",
    "yield from": "yield",
    "generator": "yield",
    **dict.fromkeys(("pass", "and", "or", "not", "in", "is", "True", "False", "None"), ""),
    ":=": "walrus",
    "=": "assignment",
    "@": "decorator",
    "import *": "star-import",
    "star import": "star-import",
    "type alias": "type-alias",
    **{f"{kind} comprehension": "comprehension" for kind in ("list", "set", "dict")},
    "generator expression": "comprehension",
}
"""Keyword or other spelling → construct; an empty one is what no policy can refuse."""


def construct_of(word: str) -> str | None:
    """Return the construct that a name or a keyword stands for; None for anything else."""
    return word if word in CONSTRUCTS else WORDS.get(word)


def is_syntax_here(construct: str) -> bool:
    """Tell whether the Python that runs here has the construct: some came with later versions."""
    labels = CONSTRUCTS.get(construct)
    return not labels or any(hasattr(ast, label) for label in labels)
