"""Make errors with a column and a caret: from a node, from a SyntaxError, or from the traceback of what failed."""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms
from itertools import islice

from safeexec.common.typed import TYPE_CHECKING
from safeexec.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Place = tuple[int | None, int | None, int | None, int | None]

FILENAME = "<expression>"
MAX_MESSAGE = 300
"""Characters of a message of Python's that an error repeats: the key of a KeyError may be long."""


_WRITTEN = {
    **dict.fromkeys("×·∙⋅", "a product is written with *"),
    "÷": "a quotient is written with /",
    "−": "write the minus sign of the keyboard, -",
    "√": "a root is sqrt(x)",
    "²": "a square is x ** 2",
    "³": "a cube is x ** 3",
    "!": "n! is factorial(n)",
    "|": "an absolute value is abs(x)",
    **dict.fromkeys("“”‘’„", "write straight quotes"),
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "=": "equality is ==; a name gets its value from the caller",
    "°": "an angle is written in radians: radians(x)",
    **dict.fromkeys("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞", "a fraction is written with /, (1 / 2)"),
    "?": "leave the question mark out",
    **dict.fromkeys("$€£¥", "an amount is written without its currency"),
}
"""Advice how mathematics is written here, by the character that the parser stopped at."""
_STATEMENTS = frozenset(
    ("assert", "class", "def", "del", "for", "from", "global", "if", "import", "raise", "return", "try", "while")
)


def lines_of(source: str) -> list[str]:
    """Return the lines as the parser counts them: a carriage return ends one too."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def failure(message: str, source: str, line: int, start: int, end: int) -> ExpressionError:
    """Return an error at the characters [start, end) of a line of the source; lines from 1, characters from 0. The
    caret shows the column in the text, without what a terminal would obey.
    """
    from safeexec.common import text as shown  # with `re`: 3 ms that only a failure pays

    lines = lines_of(source)
    text = lines[line - 1] if 0 < line <= len(lines) else source
    start = max(0, min(start, len(text)))
    before, marked, after = map(shown.printable, (text[:start], text[start:end], text[max(start, end) :]))
    caret = f"{before}{marked}{after}\n{shown.blank(before)}{'^' * max(1, shown.columns(marked))}"
    return ExpressionError(f"{shown.printable(message)}\n{caret}", column=start + 1, caret=caret)


def at_node(message: str, source: str, node: ast.expr | ast.keyword | None) -> ExpressionError:
    """Return an error at a node; without one, at the whole first line."""
    if node is None:
        return failure(message, source, 1, 0, len(source))
    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
    end = end if end_line == node.lineno else len(source.encode())
    text = lines_of(source)[node.lineno - 1].encode()  # places of the parser and of the compiler count bytes of UTF-8
    first, last = (len(text[:offset].decode(errors="replace")) for offset in (node.col_offset, end))
    return failure(message, source, node.lineno, first, last)


def at_syntax_error(error: Exception, source: str) -> ExpressionError:
    """Return what the parser refused: a SyntaxError, a null byte, a lone surrogate, too much nesting."""
    if isinstance(error, SyntaxError):
        line = error.lineno or 1
        start = (error.offset or len(lines_of(source)[line - 1]) + 1) - 1
        end = error.end_offset - 1 if error.end_offset and error.end_lineno == line else start + 1
        message = error.msg.removesuffix(f" (detected at line {line})")
        advice = _advice(message, source, line, start)
        return failure(f"not an expression: {message}{advice and f'; {advice}'}", source, line, start, end)
    if isinstance(error, (MemoryError, RecursionError)):
        return failure("the expression is nested too deeply", source, 1, 0, 1)
    return failure(f"not an expression: {error}", source, 1, 0, 1)


def _advice(message: str, source: str, line: int, start: int) -> str:
    """Return how to write what the parser stopped at, or an empty text."""
    if not source.strip():
        return "it is empty"
    if message == "invalid decimal literal":
        return _WRITTEN["×"]
    if source.split()[0] in _STATEMENTS:
        return "only an expression is taken; a program with statements runs in a Sandbox"
    return _WRITTEN.get("".join(lines_of(source)[line - 1 : line])[start : start + 1], "")


def described(error: Exception) -> str:
    """Return type and message of what Python raised; no message that cannot be printed (KeyError of a wide integer)."""
    try:
        message = str(error)
    except Exception:
        message = ""
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]} …"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def called(node: ast.Call) -> str:
    """Return the function of a call, by its last name."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "the function")


def place_of(node: ast.expr) -> Place:
    """Return where a node stands, as the code that is made of it says it."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def failed(error: Exception, places: Mapping[Place, ast.expr]) -> tuple[ast.expr | None, bool]:
    """Return the innermost node that failed, and whether it failed by itself and not in a guard."""
    found: ast.expr | None = None
    by_itself = True
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILENAME:
            place = next(islice(code.co_positions(), trace.tb_lasti // 2, None), (None,) * 4)
            found, by_itself = places.get(place), True
        elif str(trace.tb_frame.f_globals.get("__name__")).startswith(_PACKAGE):
            by_itself = False
        trace = trace.tb_next
    return found, by_itself


_PACKAGE = __name__.rpartition(".")[0]
