"""Takes away what stands around a program: an editor's byte order mark, a model's Markdown fence, and the lines of a
notebook that do nothing here.

None of these is Python, so no program means something else by it. Lines keep their numbers.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"\s*(?P<mark>`{3,}|~{3,})[ \t]*(?:[\w+.-]{1,20}[ \t]*)?(?:\r?\n|\Z)")
_AFTER = re.compile(r"\s*+(?:<end_code>|</?code>)?\s*\Z")
_MAGIC = re.compile(
    r"[ \t]*%(?:matplotlib|config|load_ext|reload_ext|autoreload)\b[^\n]*\Z|%%(?:time|capture)\b[^\n]*\Z"
)


def without_fence(source: str) -> str:
    """Return the program in the only fence of a text that begins with one, without the indent of that fence; any other
    text as it is, but for the byte order mark that Python passes over in a file.
    """
    source = source.removeprefix("\ufeff")
    opened = _FENCE.match(source)
    if opened is None:
        return source
    before = source[: opened.end()].count("\n")
    body = source[opened.end() :]
    ends = [*re.finditer(rf"^[ \t]*{re.escape(opened['mark'])}", body, re.MULTILINE)]
    if ends:
        last = next((end for end in ends if _AFTER.match(body, end.end())), None)  # a text in it may hold others
        if last is None:
            return source  # there is more: the error says so
        body = body[: last.start()]
    at = opened.start("mark")
    if indent := at - source.rfind("\n", 0, at) - 1:
        body = re.sub(rf"^[ \t]{{1,{indent}}}", "", body, flags=re.MULTILINE)
    return "\n" * before + body


def without_magics(source: str) -> str:
    """Return the text without the lines that set up a notebook: `%matplotlib inline`, `%load_ext autoreload`. For a
    text that is no Python: in a Python program such a line may belong to an expression, or to a text.
    """
    if "%" not in source:
        return source
    return "\n".join("" if _MAGIC.match(line) else line for line in source.split("\n"))
