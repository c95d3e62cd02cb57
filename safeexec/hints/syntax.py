# ruff: noqa: E501 (one sentence, one line)
"""Hints for texts that are not Python: other languages, Python 2, and the text around code in a reply.

The rules are data (`tables.syntax`): first those for the line as it stands, then those for its code, then CPython's own
message; for a plain ``invalid syntax`` the shape of the line.
"""

from __future__ import annotations

import re
from contextlib import suppress
from keyword import kwlist

from safeexec.common.matching import TYPING_ERROR, nearest
from safeexec.hints.tables.syntax import CODE, LANGUAGES, MESSAGES

MAX_LINE = 5000
"""Characters of a line that is looked at. Patterns take quadratic time at worst: 100,000 brackets took 6 s, these 20 ms."""


def syntax_hint(error: SyntaxError, source: str) -> str | None:
    """Return one sentence that says what to write instead of the text that `error` points at, or None."""
    message = str(error.msg or "").lower()
    number = error.lineno or 1
    lines = [text if len(text) <= MAX_LINE else "_" for text in source.replace("\r\n", "\n").split("\n")]
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    return _surroundings(lines, number) or _by_line(message, line) or _by_message(message, line, lines, number)


def _surroundings(lines: list[str], number: int) -> str | None:
    """Return a hint for text around code that came along with it, or a source in another language."""
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    begins = not any(text.strip() for text in lines[: number - 1])
    if line.startswith(("```", "~~~")) or (begins and any(text.startswith(("```", "~~~")) for text in lines[number:])):
        return "Send the code alone, without the Markdown fence (```) and text around it."
    if re.match(r"(<\?php|<!DOCTYPE|</?(html|div|script|code|python|tool_call)\b|</?\w+>$)", line, re.IGNORECASE):
        return "Send Python code alone, without tags around it."
    for rule in LANGUAGES:
        if re.search(rule.pattern, line):
            return rule.hint
    written = [text for text in lines if text.strip()]
    if sum(_MARK.match(text) is not None for text in written) > 0.7 * len(written):
        return "Leave out what stands before each line (a prompt, a number, the `+` or `>` of a listing): send the code alone."
    if _PROSE.fullmatch(line):
        return _EXPLANATIONS
    if _OF_BRACES.fullmatch(_line_before(lines, number).strip()):
        return "In Python blocks begin with a colon and are indented, without braces `{ }`; a method is `def name(self):`, a constructor `def __init__(self):`."
    return None


_OF_BRACES = re.compile(r"(?:do|else|try|finally)\s*+\{|(?:\}\s*+)?(?:else if|\w++)?\s*+\w*+\s*+\([^=\[]*\)\s*+\{")
"""The first line of a block in a language of braces: ``} else if (x > 0) {``, ``function f(x) {``."""
_MARK = re.compile(r"\s*(?:>(?!=)|[+-](?=[A-Za-z_ ])(?! )|@@|\d{1,4}\s?[|:](?!=)|\d{1,4}\t)")
_EXPLANATIONS = "Send Python code alone: put explanations into comments that begin with `#`."
_PROSE = re.compile(r"[A-Z][a-z']+(?: [A-Za-z`'()_]+){2,20}[,.:!]?")
_BLOCK = re.compile(r"^\s*(if|elif|else|for|while|def|class|try|except|finally|with|match|case|async)\b")


def _by_line(message: str, line: str) -> str | None:
    if (
        not line.strip()
        or "never closed" in message
        or ("unterminated" in message and not re.search("[\u2018\u2019\u201c\u201d]", line))
    ):
        return None
    code = _without_strings(line)
    for rule in CODE:
        if rule.message in message and re.search(rule.pattern, code):
            return rule.hint
    return None


def _without_strings(line: str) -> str:
    """Return the line with the inside of its strings and its comment blanked, so that text is not taken for code."""
    return re.sub(r"#.*$", "", re.sub(r"(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')", "''", line))


def _by_message(message: str, line: str, lines: list[str], number: int) -> str | None:
    if "expected an indented block" in message:
        previous = _line_before(lines, number)
        if _BLOCK.match(previous):
            return f"Indent the body of `{previous.strip()[:40]}` by four more blanks; an empty body is `pass`."
        return "Indent the lines of one block alike, with four blanks per level."
    if "was never closed" in message:
        if re.match(r"\s*(if|for|while|else|elif|switch|try|class|def|do)\b.*\{\s*$", line):
            return "In Python blocks begin with a colon and are indented, without braces `{ }`."
        return f"Close every bracket: the one opened in line {number} has no partner."
    known = next((rule.hint for rule in MESSAGES if re.search(rule.pattern, message)), None)
    return known or (_invalid(line, lines, number) if "invalid syntax" in message else None)


def _line_before(lines: list[str], number: int) -> str:
    """Return the last line before this one that is not empty."""
    return next((text for text in reversed(lines[: number - 1]) if text.strip()), "")


def _invalid(line: str, lines: list[str], number: int) -> str | None:
    """Return a hint for `invalid syntax`, which says nothing by itself, by the shape of the line and the one before."""
    code = _without_strings(line)
    stripped = code.strip()
    first = re.match(r"\s*([A-Za-z]{3,9})(?=\s+[\w('\"]|\s*:\s*$)", code)  # retrun x, improt math, esle:
    if first is not None and first[1] not in _STATEMENTS:
        swapped = [word for word in _STATEMENTS if sorted(word) == sorted(first[1])]  # fro i in range(3):
        for meant in swapped or nearest(first[1], _STATEMENTS, worst=TYPING_ERROR):
            return f"Did you mean `{meant}` instead of `{first[1]}`?"
    if re.match(r"\s*(elif|else)\b", code):
        return "`elif` and `else` stand at the same indentation as their `if`, directly after its body."
    if re.search(r"(?:[-+*/%=<>&|^,.]|\b(?:and|or|not|in|is))\s*$", code):
        return "The line ends with an operator: put the missing value after it, or remove the operator."
    if keyword := _KEYWORD_ASSIGNED.search(code):
        return f"`{keyword[1]}` is a keyword of Python: use another name, for example `{keyword[1].lower()}_`."
    if re.search(r"\blambda\b[^:]*:\s*(return|raise|print\s+\w)\b", code):
        return "A lambda holds one expression, without `return`: `lambda x: x + 1`; for statements write a `def`."
    if malformed := _header(code):
        return malformed
    if _BLOCK.match(code) and ":" not in stripped and not stripped.startswith(("else if", "match ", "case ")):
        return "Put a colon `:` at the end of the line that opens the block."
    previous = _without_strings(_line_before(lines, number))
    if any(previous.count(left) > previous.count(right) for left, right in ("()", "[]", "{}")):
        return f"Close the brackets of the line before: `{previous.strip()[:60]}`."
    if re.match(r"^[A-Z][a-z]+ [a-z]+ ", line.strip()) or re.match(
        r"^(here|this|the|now|sure|first|next)\b.*\b\w+ \w+", line.strip(), re.IGNORECASE
    ):
        return _EXPLANATIONS
    attribute = re.search(rf"\.({'|'.join(kwlist)})\b", code)
    if attribute:
        return f"`{attribute.group(1)}` is a keyword of Python and cannot be an attribute name; use `['{attribute.group(1)}']` or another name."
    if re.search(r"\d[A-Za-z_]", stripped):
        return "Write the multiplication sign (`2 * x`), and begin names with a letter."
    if declared := re.match(r"(global|nonlocal)\b.*=", stripped):
        return f"`{declared[1]}` takes names alone: assign in a line of its own below it."
    statement = _BLOCK.match(code) or stripped.startswith(("import ", "from "))
    if re.search(r"(['\")\]\w])\s+(['\"(\[]|\w)", stripped) and not statement:
        return "Something is missing between two values: put a comma, an operator or a quote there."
    return None


def _header(code: str) -> str | None:
    """Return a hint for the first line of a function or class that cannot be read."""
    kind = re.match(r"\s*(?:async\s+)?(def|class)\b", code)
    header = re.match(r"[^:]*\([^()]*\)[^:]*:|[^:(]*:", code)
    if kind is None:
        return None
    with suppress(SyntaxError, ValueError):
        if header:
            compile(header[0].strip() + " pass", "<header>", "exec", dont_inherit=True)
            return None
    if kind[1] == "class":
        return "A class begins with `class Name:`, or `class Name(Base):` with a base class in closed brackets."
    return "A function begins with `def name(a, b=1):`: plain names with commas between them, in closed brackets, then a colon."


_STATEMENTS = (
    "import", "from", "for", "while", "def", "class", "return", "elif", "else", "try", "except", "finally", "with", "raise",
    "assert", "global", "lambda", "print", "async", "await", "yield", "del", "pass", "break", "continue", "match", "case",
)  # fmt: skip
_KEYWORD_ASSIGNED = re.compile(rf"(?:^|,)\s*({'|'.join(kwlist)})\s*=(?!=)")
