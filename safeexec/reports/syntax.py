"""The language's constructs as tiny programs, so that the compiler itself can be asked about each.

A construct is asked for by the name a policy uses (``walrus``), or by its keyword (``lambda``, ``async def``).
"""

from __future__ import annotations

import sys

SAMPLES: dict[str, str] = {
    # Each sample uses as little else as Python's grammar allows. It need not run, only compile.
    "annotation": "x: 1",
    "assert": "assert 1",
    "assignment": "x = 1",
    "async": "async def f(): pass",
    "attribute": "x.y",
    "class": "class C: pass",
    "comprehension": "[1 for x in y]",
    "decorator": "@d\ndef f(): pass",
    "delete": "del x",
    "f-string": "f'{x}'",
    "for": "for x in y: pass",
    "function": "def f(): pass",
    "global": "global x",
    "if": "if 1: pass",
    "import": "import math",
    "lambda": "lambda: 1",
    "match": "match 1:\n case _: pass",
    "nonlocal": "def f():\n x = 1\n def g(): nonlocal x",
    "raise": "raise x",
    "star-import": "from math import *",
    "try": "try: pass\nexcept: pass",
    "walrus": "(x := 1)",
    "while": "while 1: pass",
    "with": "with x: pass",
    "yield": "def f(): yield",
}
if sys.version_info >= (3, 12):
    SAMPLES["type-alias"] = "type X = 1"

WORDS: dict[str, tuple[str, str]] = {
    "async def": ("async", "async def f(): pass"),
    "async for": ("async", "async def f():\n async for x in y: pass"),
    "async with": ("async", "async def f():\n async with x: pass"),
    "await": ("async", "async def f(): await x"),
    "def": ("function", "def f(): pass"),
    "return": ("function", "def f(): return"),
    "del": ("delete", "del x"),
    "except": ("try", "try: pass\nexcept x: pass"),
    "except*": ("try", "try: pass\nexcept* x: pass"),
    "finally": ("try", "try: pass\nfinally: pass"),
    "from": ("import", "from math import pi"),
    "elif": ("if", "if x: pass\nelif y: pass"),
    "else": ("if", "if x: pass\nelse: pass"),
    "case": ("match", "match 1:\n case _: pass"),
    "break": ("while", "while x: break"),
    "continue": ("while", "while x: continue"),
    "yield from": ("yield", "def f(): yield from x"),
    "pass": ("", "pass"),
    "and": ("", "x and y"),
    "or": ("", "x or y"),
    "not": ("", "not x"),
    "in": ("", "x in y"),
    "is": ("", "x is y"),
    "True": ("", "True"),
    "False": ("", "False"),
    "None": ("", "None"),
    ":=": ("walrus", "(x := 1)"),
    "=": ("assignment", "x = 1"),
    "@": ("decorator", "@d\ndef f(): pass"),
    "import *": ("star-import", "from math import *"),
    "star import": ("star-import", "from math import *"),
    "type alias": ("type-alias", "type X = 1"),
    "list comprehension": ("comprehension", "[1 for x in y]"),
    "set comprehension": ("comprehension", "{1 for x in y}"),
    "dict comprehension": ("comprehension", "{1: 1 for x in y}"),
    "generator expression": ("comprehension", "(1 for x in y)"),
    "generator": ("yield", "def f(): yield"),
}
"""Keyword or other spelling → (construct, sample); an empty construct is one that no policy can refuse."""

NEWER: dict[str, str] = {}
"""Other spellings of constructs that only later versions of Python have → the construct."""
if sys.version_info < (3, 12):
    NEWER |= dict.fromkeys(("type-alias", "type alias"), "type-alias")
    del WORDS["type alias"]


def construct_of(word: str) -> tuple[str, str] | None:
    """(construct, sample program) for a construct's name or keyword; None for anything else."""
    if word in SAMPLES:
        return word, SAMPLES[word]
    return WORDS.get(word)
