"""Lines that are typed, as steps: a statement, or a block up to its blank line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from token import COMMENT, DEDENT, INDENT, NEWLINE, NL, OP
from tokenize import TokenError, TokenInfo, generate_tokens

from safeexec.cli.common import tell
from safeexec.common.text import one_line

COMPOUND = {"if", "for", "while", "try", "with", "def", "class", "async", "@"}
"""The words that begin a block; it ends with a blank line. `match` begins one by its colon."""
FIRST, MORE = ">>> ", "... "
"""How the first line of a step is asked for, and each further one."""
MAX_LINES = 200_000
"""Lines of one step; a policy's `limits.step_source_kb` is reached before."""


def read_step(ask: Callable[[str], str]) -> str:
    """Return one complete step: a statement, or a block up to its blank line. At the end of the input, what there is.

    Raises EOFError where there is nothing more. Lines are looked at once each, as tokens, and nothing is compiled here:
    that would be quadratic, and deep nesting would end the process. Whatever is no Python goes on as it is; the session
    says so.
    """
    lines = [ask(FIRST)]
    if lines[0].startswith(":"):
        return lines[0]
    unread = iter([f"{lines[0]}\n"])

    def more() -> str:
        for line in unread:
            return line
        if len(lines) >= MAX_LINES:
            return ""
        try:
            lines.append(ask(MORE))
        except EOFError:
            return ""
        return f"{lines[-1]}\n"

    with suppress(TokenError, SyntaxError, ValueError):
        if _skip_statement(generate_tokens(more)):
            typed = lines[-1].strip(" \t")
            tell(
                f"{one_line(typed)}: the statement before it was not finished, and is dropped",
                file=sys.stderr,
            )
            return typed
    return "\n".join(lines)


def _skip_statement(tokens: Iterator[TokenInfo]) -> bool:
    """Take the tokens of one statement, asking for no line more than it has. True: a line of it is a `:` command, as no
    line of Python begins with a colon outside of brackets.
    """
    depth, first, last = 0, "", ""
    for token in tokens:
        if token.type == OP and token.string == ":" and not depth and not token.line[: token.start[1]].strip(" \t"):
            return True
        if token.type == OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type == NEWLINE and not (first in COMPOUND or last == ":"):
            return False
        if token.type == NEWLINE:
            first = "@"  # in a block, which a blank line ends
        elif token.type == NL:
            if depth <= 0 and (not first or not token.line.strip()):
                return False
        elif token.type not in (COMMENT, INDENT, DEDENT):
            first, last = first or token.string, token.string
    return False
