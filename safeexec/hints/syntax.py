# ruff: noqa: E501 (a table of sentences)
"""What to write instead of a text that is not Python: other languages, Python 2, and what surrounds code in a reply.

`RULES` are tried in order on the line of the error (and, where they say so, on the whole source); the first whose
pattern fits gives the hint. CPython's own message decides first where it is specific.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from safeexec.hints.matching import TYPING_ERROR, nearest


class _Rule(NamedTuple):
    pattern: str
    hint: str
    message: str = ""
    """What the message of CPython must contain for the rule to be tried; empty: anything."""


def syntax_hint(error: SyntaxError, source: str) -> str | None:
    """One sentence that says what to write instead of the text that `error` points at, or None."""
    message = str(error.msg or "").lower()
    number = error.lineno or 1
    lines = source.replace("\r\n", "\n").split("\n")
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    return _surroundings(source, lines, number) or _by_line(message, line) or _by_message(message, line, lines, number)


def _surroundings(source: str, lines: list[str], number: int) -> str | None:
    """The text around code that came along with it, or a source in another language."""
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    if line.startswith(("```", "~~~")):
        return "Send the code alone, without the Markdown fence (```)."
    if re.match(r"(<\?php|<!DOCTYPE|</?(html|div|script|code|python|tool_call)\b)", line, re.IGNORECASE):
        return "Send Python code alone, without tags around it."
    for pattern, hint in _LANGUAGES:
        if re.search(pattern, line):
            return hint
    before = next((text for text in reversed(lines[: number - 1]) if text.strip()), "")
    if re.search(
        r"^\s*(?:do|else|try|finally)\s*\{\s*$|^\s*(?:\}\s*)?(?:if|for|while|else if|function|switch|catch|\w+)?\s*\w*\s*\([^=\[]*\)\s*\{\s*$",
        before,
    ):
        return "In Python blocks begin with a colon and are indented, without braces `{ }`; a method is `def name(self):`, a constructor `def __init__(self):`."
    return None


_LANGUAGES: tuple[tuple[str, str], ...] = (
    (r"^#include\b|^using namespace\b|^int main\s*\(", "This is C or C++: write the program in Python."),
    (
        r"^(public|private|protected)\s+(static\s+)?(class|void|int|String)\b",
        "This is Java: write the program in Python.",
    ),
    (
        r"^(SELECT|INSERT INTO|CREATE TABLE|UPDATE|DELETE FROM)\b.*(\bFROM\b|\bVALUES\b|\bSET\b|\(|;$)",
        "This is SQL: put it into a string, or write the query in Python.",
    ),
    (
        r"^(pip3?|conda|apt(-get)?|npm|brew)\s+(install|update)\b",
        "Nothing can be installed here: import only the modules that the sandbox has.",
    ),
    (
        r"^[!%]\s*(pip|conda)\b",
        "Nothing can be installed here: remove the line, and import only the modules that the sandbox has.",
    ),
    (
        r"^%{1,2}[a-z]\w*|^\w+\?{1,2}$",
        "This is not a notebook: remove lines that begin with `%` or end with `?`, and write plain Python.",
    ),
    (r"^!\s*\w+", "There is no shell here: remove lines that begin with `!`, and write plain Python."),
    (r"^(\$|>>>|In \[\d+\]:)\s", "Send the code alone, without the prompt (`>>>`, `$`, `In [1]:`)."),
    (
        r"^(cd|ls|mkdir|rm|echo|cat|curl|wget|export|sudo|git|python3?)\s+[\w./$~\"'-]+(\s|$)(?!=)",
        "There is no shell here: write it in Python.",
    ),
    (
        r"^(package|func)\s+\w+.*\{?$|^fn\s+\w+\s*\(|^let\s+mut\b",
        "This is another language: write it in Python; functions are defined with `def name(x):`.",
    ),
    (r"^library\(\w+\)|<-\s*(c|function)\(", "This is R: write it in Python, with `=` for assignment."),
)

RULES: tuple[_Rule, ...] = (
    _Rule(
        "[\u2018\u2019\u201a\u201c\u201d\u201e\u2032\u2033\u00ab\u00bb]",
        "Use straight quotes: ' or \" instead of typographic ones.",
    ),
    _Rule("[\u2010-\u2015\u2212]", "Use the plain minus sign `-` instead of a dash."),
    _Rule("[\u00d7\u00b7\u22c5\u00f7]", "Use `*` for a product and `/` for a quotient."),
    _Rule("[\u00b2\u00b3\u2070\u00b9\u2074-\u2079]", "Use `**` for powers: `x ** 2`."),
    _Rule("[\u2264\u2265\u2260]", "Use `<=`, `>=` and `!=`."),
    _Rule("\u221a", "Use `math.sqrt(x)`."),
    _Rule("[\uff0c\uff1b\uff1a\uff08\uff09]", "Use the plain characters `,`, `;`, `:`, `(` and `)`."),
    _Rule(
        "[\u00a0\u2000-\u200b\u2028\u2029\u202f\u2060\u3000\ufeff]",
        "Remove the invisible characters (non-breaking or zero-width spaces) and use plain blanks.",
    ),
    _Rule(r"^\s*(puts|echo|printf|println|say)\s+['\"\w]", "In Python use `print(...)`, with parentheses."),
    _Rule(r"^\s*print\s+[^(=\s]", "In Python 3 `print` is a function: `print(...)`, with parentheses."),
    _Rule(r"^\s*print\s*>>", "In Python 3 `print` is a function: `print(..., file=sys.stderr)`, with parentheses."),
    _Rule(r"^\s*exec\s+[\"'\w]", "Write the code directly as plain code of this step."),
    _Rule(r"^\s*raise\s+\w+\s*,", "In Python 3 write `raise Kind(message)`, with parentheses."),
    _Rule(
        r"^\s*except\s+[\w.]+\s*,\s*\w+\s*:",
        "In Python 3 write `except Kind as name:`; several kinds need parentheses: `except (A, B):`.",
    ),
    _Rule(r"<>", "In Python 3 it is `!=` instead of `<>`."),
    _Rule(
        r"\b0[0-7]+\b",
        "In Python 3 octal numbers begin with `0o`, and other numbers have no leading zeros.",
        "leading zeros",
    ),
    _Rule(r"\b\d+[lL]\b", "In Python 3 integers have no `L` at the end.", "invalid decimal"),
    _Rule(
        r"^\s*class\s+\w+\s*\[",
        "Type parameters in brackets came with Python 3.12: write `class Stack(Generic[T]):` with `T = TypeVar('T')` of `typing`.",
    ),
    _Rule(
        r"^\s*(?:async\s+)?def\s+\w+\s*\[",
        "Type parameters in brackets came with Python 3.12: use `T = TypeVar('T')` of `typing` and write `def f(x: T) -> T:`.",
    ),
    _Rule(
        r"^\s*type\s+\w+(?:\[.*\])?\s*=",
        "The `type` statement came with Python 3.12: write `Alias = int` without `type`.",
    ),
    _Rule(r"^\s*delete\s+\w", "In Python it is `del mapping[key]` instead of `delete`."),
    _Rule(r"\b[uU][rR]['\"]", "In Python 3 write `r'...'`: every text is Unicode, the prefix `ur` is gone."),
    _Rule(r"^\s*for\s*\(.*;.*;", "In Python write `for i in range(n):` and an indented body."),
    _Rule(r"\[\s*\.\.\.\s*\w|\(.*\.\.\.\s*\w+", "In Python spread a list with a star: `[*a, 5]`, `f(*values)`."),
    _Rule(
        r"\{\s*\.\.\.\s*\w|,\s*\.\.\.\s*\w",
        "In Python spread a dict with two stars, `{**a, 'key': 2}`, and a list with one, `[*a, 5]`.",
    ),
    _Rule(r"\btypeof\s+[\w.]+", "In Python it is `type(x)`, or `isinstance(x, str)`."),
    _Rule(r"\b(instanceof)\b", "In Python it is `isinstance(x, Kind)`."),
    _Rule(r"\bArray\.from\s*\(", "In Python use `list(values)`."),
    _Rule(
        r"^\s*(import|from)\s+scikit-learn",
        "The module is called `sklearn`: `from sklearn.linear_model import LinearRegression`.",
    ),
    _Rule(
        r"^\s*(import|from)\s+\w+(-\w+)+",
        "Names of modules have no `-`: use `_`, or the name that the package is imported by.",
    ),
    _Rule(r"^\s*(from\s+[\w.]+\s+)?import\s*$", "Name what to import: `from math import sqrt`, or `import math`."),
    _Rule(r"(?<!&)&&(?!&)", "In Python it is `and` instead of `&&`."),
    _Rule(r"\|\|", "In Python it is `or` instead of `||`."),
    _Rule(
        r"(\+\+|--)\s*($|[;)\]:])|^\s*(\+\+|--)\w", "In Python there is no `++` or `--`: write `x += 1` or `x -= 1`."
    ),
    _Rule(r"(===|!==)", "In Python it is `==` instead of `===`, and `!=` instead of `!==`."),
    _Rule(r"=>", "In Python write `lambda x: ...`, or a function with `def`, instead of `=>`.", ""),
    _Rule(r"\?[^:?.]*:", "In Python write `a if condition else b` instead of `condition ? a : b`."),
    _Rule(r"\?\?|\?\.", "In Python write `a if a is not None else b` instead of `??` and `?.`."),
    _Rule(
        r"^\s*(const|let|var)\s+[\w\[{]",
        "In Python a variable is assigned directly: `x = 1`, without `const`, `let` or `var`.",
    ),
    _Rule(
        r"^\s*(int|float|double|string|String|bool|char|long|auto)\s+\w+\s*(=|;|$)",
        "In Python a variable is assigned directly: `x = 1`, without a type before it.",
    ),
    _Rule(r"^\s*(async\s+)?function\b", "In Python functions are defined with `def name(x):` and an indented body."),
    _Rule(
        r"^\s*(fn|func|fun|sub|proc|void)\s+\w+\s*\(",
        "In Python functions are defined with `def name(x):` and an indented body.",
    ),
    _Rule(
        r"^\s*(switch|case\b.*:\s*$|default\s*:)",
        "In Python write `match value:` with `case ...:` inside, or `if` and `elif`.",
    ),
    _Rule(r"\b(else\s+if|elseif|elsif)\b", "In Python it is `elif` instead of `else if`."),
    _Rule(r"^\s*for\s*\(?\s*(const|let|var)\s", "In Python write `for item in items:` and an indented body."),
    _Rule(r"^\s*for\s+\w+\s*=", "In Python write `for i in range(start, stop):`."),
    _Rule(r"^\s*foreach\b", "In Python write `for item in items:`."),
    _Rule(r"^\s*do\s*[:{]?\s*$", "In Python write `while True:` with `break` at the end of the body."),
    _Rule(r"^\s*(until|unless|loop|repeat)\b.*", "In Python write `while not condition:` or `if not condition:`."),
    _Rule(
        r"^\s*(try|else|finally|do)\s*\{|^\s*\}\s*(else|catch|finally)|^\s*\}\s*;?\s*$|\)\s*\{\s*$|(if|while|for)\b.*\{\s*$",
        "In Python blocks begin with a colon and are indented, without braces `{ }`.",
    ),
    _Rule(r"\bcatch\b", "In Python it is `except Exception as e:` instead of `catch`."),
    _Rule(r"^\s*throw\b", "In Python it is `raise ValueError('why')` instead of `throw`."),
    _Rule(r"\bnew\s+\w+\s*\(", "In Python call the class itself: `Kind(...)`, without `new`."),
    _Rule(r"^\s*(import\s+.*\s+from\s+|import\s*\{)", "In Python write `from module import name`."),
    _Rule(r"^\s*import\s+[\w.]+\s+as\s*$", "Give the name after `as`: `import numpy as np`."),
    _Rule(
        r"^\s*(/\*|\*/|\*\s)|^\s*//|;\s*//|\s//\s*[a-zA-Z]\w*\s+(?!(?:and|or|if|else|for|in|not|is)\b)[a-zA-Z]",
        "In Python comments begin with `#`.",
    ),
    _Rule(r"(?<![=!<>])!\s*[\w(]", "In Python it is `not x` instead of `!x`."),
    _Rule(r"\bthen\s*:?\s*$", "In Python a condition ends with a colon: `if condition:`, without `then`."),
    _Rule(
        r"^\s*(end|endif|fi|done|endwhile|endfor)\s*;?\s*$",
        "In Python a block ends with its indentation: remove `end`.",
    ),
    _Rule(
        r"`[^`]*`",
        "Backquotes have no meaning in Python: write `repr(x)`, or an f-string, `f'{name}'`, for a template.",
    ),
    _Rule(r"\$\{?\w+", "In Python names have no `$`; in texts use an f-string: `f'{name}'`."),
    _Rule(r";\s*;|^\s*;", "Remove the semicolons: one statement per line needs none."),
    _Rule(
        r"^\s*(export|module\.exports)\b",
        "Nothing is exported in Python: remove `export`; what a step defines stays there for the next one.",
    ),
    _Rule(
        r"\[[^\[\]]*\bfor\b[^\[\]]*\bif\b[^\[\]]*\belse\b",
        "In a comprehension a condition with `else` goes before `for`: `[a if condition else b for x in values]`.",
    ),
    _Rule(r"^\s*(@\w+\s*)?\w+\s*:=", "In Python assign with `=`; `:=` belongs inside an expression, in parentheses."),
    _Rule(r":=", "Put an assignment expression into parentheses: `(x := value)`."),
    _Rule(
        r"^\s*(if|while|elif)\b[^=!<>]*[^=!<>:]=[^=]",
        "Compare with `==`; a single `=` assigns.",
        "invalid syntax. maybe you meant",
    ),
)
"""Tried in order on the code of the line, without its comment and the inside of its strings (quotes stay)."""

_BLOCK = re.compile(r"^\s*(if|elif|else|for|while|def|class|try|except|finally|with|match|case|async)\b")


def _by_line(message: str, line: str) -> str | None:
    if (
        not line.strip()
        or "never closed" in message
        or ("unterminated" in message and not re.search("[\u2018\u2019\u201c\u201d]", line))
    ):
        return None
    code = _without_strings(line)
    for pattern, hint, needed in RULES:
        if needed in message and re.search(pattern, code):
            return hint
    return None


def _without_strings(line: str) -> str:
    """The line with the inside of its strings and its comment blanked, so that text is not taken for code."""
    return re.sub(r"#.*$", "", re.sub(r"(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')", "''", line))


def _by_message(message: str, line: str, lines: list[str], number: int) -> str | None:
    for words, hint in MESSAGES:
        if words in message:
            return hint(line, lines, number) if callable(hint) else hint
    return None


def _indented(line: str, lines: list[str], number: int) -> str:
    previous = next((text for text in reversed(lines[: number - 1]) if text.strip()), "")
    if _BLOCK.match(previous):
        return f"Indent the body of `{previous.strip()[:40]}` by four more blanks; an empty body is `pass`."
    return "Indent the lines of one block alike, with four blanks per level."


def _unclosed(line: str, lines: list[str], number: int) -> str:
    if re.match(r"\s*(if|for|while|else|elif|switch|try|class|def|do)\b.*\{\s*$", line):
        return "In Python blocks begin with a colon and are indented, without braces `{ }`."
    return f"Close every bracket: the one opened in line {number} has no partner."


def _invalid(line: str, lines: list[str], number: int) -> str | None:
    """`invalid syntax` says nothing by itself: look at the shape of the line and of the one before."""
    code = _without_strings(line)
    stripped = code.strip()
    if meant := _misspelt_keyword(code):
        return meant
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
    previous = _without_strings(next((text for text in reversed(lines[: number - 1]) if text.strip()), ""))
    if any(previous.count(left) > previous.count(right) for left, right in ("()", "[]", "{}")):
        return f"Close the brackets of the line before: `{previous.strip()[:60]}`."
    if re.match(r"^[A-Z][a-z]+ [a-z]+ ", line.strip()) or re.match(
        r"^(here|this|the|now|sure|first|next)\b.*\b\w+ \w+", line.strip(), re.IGNORECASE
    ):
        return "Send Python code alone: put explanations into comments that begin with `#`."
    attribute = re.search(
        r"\.(class|from|import|in|is|not|and|or|if|else|for|while|with|as|try|del|async|await|print|pass|lambda)\b",
        code,
    )
    if attribute:
        return f"`{attribute.group(1)}` is a keyword of Python and cannot be an attribute name; use `['{attribute.group(1)}']` or another name."
    if re.search(r"\d[A-Za-z_]", stripped):
        return "Write the multiplication sign (`2 * x`), and begin names with a letter."
    if re.search(r"(['\")\]\w])\s+(['\"(\[]|\w)", stripped) and not _BLOCK.match(code):
        return "Something is missing between two values: put a comma, an operator or a quote there."
    return None


def _header(code: str) -> str | None:
    """For the first line of a function or class that cannot be read."""
    kind = re.match(r"\s*(?:async\s+)?(def|class)\b", code)
    header = re.match(r"[^:]*\([^()]*\)[^:]*:|[^:(]*:", code)
    if kind is None or (header and ":" not in code) or (header and _is_code(header[0].strip() + " pass")):
        return None
    if kind[1] == "class":
        return "A class begins with `class Name:`, or `class Name(Base):` with a base class in closed brackets."
    return "A function begins with `def name(a, b=1):`: plain names with commas between them, in closed brackets, then a colon."


def _is_code(text: str) -> bool:
    try:
        compile(text, "<header>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _misspelt_keyword(code: str) -> str | None:
    """The keyword that a statement was to begin with: ``retrun x``, ``improt math``, ``esle:``."""
    match = re.match(r"\s*([A-Za-z]{3,9})(?=\s+[\w('\"]|\s*:\s*$)", code)
    if match is None or match[1] in _STATEMENTS:
        return None
    found = nearest(match[1], _STATEMENTS, worst=TYPING_ERROR)
    return f"Did you mean `{found[0]}` instead of `{match[1]}`?" if found else None


_STATEMENTS = (
    "import", "from", "for", "while", "def", "class", "return", "elif", "else", "try", "except", "finally", "with", "raise",
    "assert", "global", "lambda", "print", "async", "await", "yield", "del", "pass", "break", "continue", "match", "case",
)  # fmt: skip
_KEYWORD_ASSIGNED = re.compile(
    r"(?:^|,)\s*(class|def|return|import|from|pass|lambda|global|in|is|not|and|or|if|else|for|while|with|as|try|del|async|await|yield|raise"
    r"|assert|None|True|False|break|continue|except|finally|nonlocal)\s*=(?!=)"
)
_Explain = Callable[[str, list[str], int], "str | None"]
MESSAGES: tuple[tuple[str, str | _Explain], ...] = (
    ("missing parentheses in call to 'print'", "In Python 3 `print` is a function: `print(...)`, with parentheses."),
    ("missing parentheses in call", "In Python 3 it is a function: write its argument in parentheses."),
    ("expected ':'", "Put a colon `:` at the end of the line that opens the block."),
    ("expected an indented block", _indented),
    ("unexpected indent", "Remove the blanks at the beginning of the line: it belongs to no block."),
    ("unindent does not match", "Indent the lines of one block alike, with four blanks per level."),
    ("inconsistent use of tabs", "Indent with blanks only, four per level, without tabs."),
    ("was never closed", _unclosed),
    ("does not match opening", "Close the brackets in the order in which they were opened: `(` with `)`, `[` with `]`, `{` with `}`."),
    ("f-string: unmatched", "Use the other kind of quotes inside the braces of the f-string, or compute the value before it."),
    ("unmatched", "Remove the closing bracket that has no partner, or open it before."),
    ("unterminated triple-quoted", "Close the text with the same three quotes that opened it."),
    ("unterminated f-string", "Close the text with the quote that opened it; use the other kind of quotes inside the braces."),
    ("unterminated string", "Close the text with the quote that opened it; a text over several lines needs three quotes, and a quote inside it a backslash."),
    ("f-string: expecting '}'", "Use the other kind of quotes inside the braces of the f-string, or compute the value before it; a brace as text is doubled: `{{`."),
    ("f-string expression part cannot include a backslash", "Compute the value before the f-string and put its name into the braces."),
    ("f-string: single '}'", "Double a brace that is text: `{{` and `}}`."),
    ("f-string: empty expression", "Put a name or an expression into the braces of the f-string; a brace as text is doubled: `{{}}`."),
    ("f-string: valid expression required", "Put a name or an expression into the braces of the f-string; a brace as text is doubled: `{{}}`."),
    ("f-string", "Compute the value before the f-string and put its name into the braces."),
    ("'await' outside", "Put it into `async def main():` and call `asyncio.run(main())`."),
    ("'async for' outside", "Put it into `async def main():` and call `asyncio.run(main())`."),
    ("'async with' outside", "Put it into `async def main():` and call `asyncio.run(main())`."),
    ("asynchronous comprehension outside", "Put it into `async def main():` and call `asyncio.run(main())`."),
    ("'return' outside", "A step is no function: let its last line be the value, or `print(...)` it."),
    ("'yield' outside", "Put it into a function with `def`, and loop over its call."),
    ("'break' outside", "Use `break` inside a loop only; to leave a function use `return`."),
    ("'continue' not properly", "Use `continue` inside a loop only."),
    ("cannot assign to function call", "Assign to a name or an item: `values[i] = x` with square brackets; compare with `==`."),
    ("cannot assign to literal", "Assign to a name, or compare with `==`."),
    ("cannot assign to expression", "Assign to a name: a name may hold letters, digits and `_`; compare with `==`."),
    ("cannot assign to comparison", "Compare with `==` on one side only, and assign to a name."),
    ("cannot assign to attribute here", "Compare with `==`; a single `=` assigns."),
    ("cannot assign to subscript here", "Compare with `==`; a single `=` assigns."),
    ("cannot assign to conditional", "Assign to a name: `x = a if condition else b`."),
    ("cannot assign to true", "`True` cannot be assigned; use another name."),
    ("cannot assign to false", "`False` cannot be assigned; use another name."),
    ("cannot assign to none", "`None` cannot be assigned; use another name."),
    ("cannot assign to", "Assign to a name, an attribute or an item; compare with `==`."),
    ("cannot delete", "Delete a name, an attribute or an item: `del values[i]`."),
    ("maybe you meant '=='", "Compare with `==`; a single `=` assigns."),
    ("perhaps you forgot a comma", "Something is missing between two values: put a comma, an operator or a quote there, and close the brackets."),
    ("positional argument follows keyword", "Put the arguments without a name before the ones with a name."),
    ("keyword argument repeated", "Give each keyword argument once."),
    ("expression cannot contain assignment", "A keyword argument is a plain name: `f(name=value)`; compare with `==`."),
    ("non-default argument follows default", "Put parameters with a default after those without."),
    ("parameter without a default follows", "Put parameters with a default after those without."),
    ("duplicate argument", "Give each parameter a name of its own."),
    ("is parameter and global", "Remove the `global` line, or rename the parameter."),
    ("prior to global declaration", "Put the `global` line at the top of the function."),
    ("prior to nonlocal declaration", "Put the `nonlocal` line at the top of the function."),
    ("no binding for nonlocal", "Assign the variable in the enclosing function first, or use `global` for one of the module."),
    ("nonlocal declaration not allowed", "Assign the variable directly: `nonlocal` belongs into a function inside a function."),
    ("multiple exception types must be parenthesized", "Write `except (A, B):`, or `except A as name:`."),
    ("expected 'except' or 'finally'", "Add `except Exception as e:` (or `finally:`) after the body of `try`."),
    ("default 'except:' must be last", "Put the bare `except:` after the others."),
    ("leading zeros", "Write the number without leading zeros; octal numbers begin with `0o`."),
    ("invalid decimal literal", "Write numbers with digits, and `_` between digits only; begin names with a letter, and write the multiplication sign: `2 * x`."),
    ("invalid hexadecimal", "A hexadecimal number is `0x` and the digits 0-9 and a-f."),
    ("invalid non-printable character", "Remove the invisible characters and use plain blanks."),
    ("invalid character", "Use plain ASCII operators, quotes and blanks outside of strings."),
    ("unexpected character after line continuation", "Remove the backslash `\\`, or let it be the last character of the line; write texts with a backslash inside quotes."),
    ("unexpected eof", "The code ends too early: close the brackets and finish the last block."),
    ("(unicode error)", "Double the backslashes in the text, or write it as a raw string: r'...'."),
    ("bytes can only contain ascii", "Write text without `b` before the quotes, and use `.encode('utf-8')` for bytes."),
    ("import * only allowed at module level", "Put the import at the top of the code."),
    ("future feature", "Remove the line: the features of `__future__` are not needed in this version of Python."),
    ("from __future__", "Remove the line: the features of `__future__` are not needed in this version of Python."),
    ("trailing comma not allowed without", "Put parentheses around the names of the import, or remove the last comma."),
    ("generator expression must be parenthesized", "Put parentheses around the generator: `f((x for x in xs), y)`."),
    ("did you forget parentheses around the comprehension target", "Put parentheses around the pair: `[(a, b) for ...]`."),
    ("':' expected after dictionary key", "Give every key a value: `{'a': 1, 'b': 2}`; without values it is a set, `{'a', 'b'}`."),
    ("assignment expression cannot be used", "Assign the variable in a line of its own before: `:=` does not work there."),
    ("assignment expression within", "Assign the variable in a line of its own before: `:=` does not work there."),
    ("parameters cannot be parenthesized", "A parameter is a plain name: take the pair and unpack it inside, `def f(pair): a, b = pair`."),
    ("too many statically nested blocks", "Move inner loops into functions of their own: more than 20 nested blocks are not possible."),
    ("too many nested parentheses", "Split the expression into several assignments."),
    ("source code string cannot contain null bytes", "Remove the null characters from the code."),
    ("starred expression", "Put the star into a list or a call: `[*values]`, `f(*values)`."),
    ("expected 'else' after 'if'", "Write `a if condition else b`; a condition without `else` goes to the end of a comprehension."),
    ("named arguments must follow bare", "Put parameters after the bare `*`, or leave it out: `def f(a, *, b):`."),
    ("named argument", "Compare with `==`; put an assignment expression into parentheses."),
    ("'{' was never closed", _unclosed),
    ("invalid syntax", _invalid),
)  # fmt: skip
"""Words of CPython's message (3.11 to 3.13, lower case) → hint, or a function of line, lines and line number."""
