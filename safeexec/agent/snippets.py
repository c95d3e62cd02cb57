"""Judge and clean one piece of text that may be Python: does it parse, is it code or words, what is its plain source.

Replies are parsed here only to tell code from words; nothing is compiled further or run. `Parser` bounds the whole
work on one reply, so that a hostile reply costs time linear in its length.
"""

from __future__ import annotations

import ast
import re
import textwrap
import threading
import warnings

from safeexec.untrusted.source_text import costly_name

_WARNINGS_LOCK = threading.Lock()  # warnings.catch_warnings changes a global; two threads must not interleave it
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: (.*))?$", re.DOTALL)

# Ten candidate closers per block and at most ten blocks over any character: an honest reply needs less than twelve
# passes over its text, the rest is slack for small replies. A quarter of a megabyte of `a;` takes CPython 0.5 s and
# 350 MB to parse.
_PASSES = 12
_SLACK = 1 << 18
_CEILING = 3 << 20
_LONGEST_SOURCE = 1 << 18


class Parser:
    """Parses candidates of one reply within a budget of characters; past it nothing is tried any more."""

    def __init__(self, reply_length: int) -> None:
        self._budget = min(_PASSES * reply_length + _SLACK, _CEILING)

    def afford(self, characters: int) -> bool:
        """Charge the work on one candidate; False when the reply has used up its budget."""
        self._budget -= characters
        return self._budget >= 0

    def parse(self, source: str) -> ast.Module | None:
        """Return the module, or None where CPython refuses the text, or it or a name of it is too long."""
        if self._budget < 0 or len(source) > _LONGEST_SOURCE or costly_name(source):
            return None
        with _WARNINGS_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a plain string warns, and is an error under -W error
            try:
                return ast.parse(source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: NUL; MemoryError: nesting
                return None

    def parses(self, source: str) -> bool:
        return self.parse(source) is not None

    def looks_like_code(self, source: str) -> bool:
        """Return True for what parses and says more than words: `Done`, `-17.5`, `Paris, London` and `Answer: blue`."""
        module = self.parse(source)
        return module is not None and not all(_is_wordy_statement(statement) for statement in module.body)


def _is_wordy_statement(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is None
    return isinstance(statement, ast.Expr) and _is_words(statement.value)


def _is_words(expression: ast.expr) -> bool:
    pending = [expression]
    while pending:  # a loop: a dotted name may be thousands of parts long
        node = pending.pop()
        if isinstance(node, ast.Tuple):
            pending.extend(node.elts)
        elif isinstance(node, (ast.Starred, ast.Attribute)):
            pending.append(node.value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            pending.append(node.operand)
        elif not isinstance(node, (ast.Name, ast.Constant)):
            return False
    return True


def clean(text: str) -> str:
    """Return the plain source of a block: dedented, without outer blank lines, prompts, or outputs behind prompts."""
    source = _trim(text)
    if source.startswith(">>> ") or source.split("\n", 1)[0] == ">>>":
        prompted = (_PROMPT.match(line) for line in source.split("\n"))
        source = _trim("\n".join(match.group(1) or "" for match in prompted if match))
    return source


def _trim(text: str) -> str:
    lines = textwrap.dedent(text).split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:]).rstrip()
