"""The language's constructs as programs."""

from __future__ import annotations

SAMPLES = {
    "annotation": "x: 1", "assert": "assert 1", "assignment": "x = 1", "attribute": "x.y", "class": "class C: pass",
    "async": "async def f(): pass", "comprehension": "[1 for x in y]", "decorator": "@d\ndef f(): pass",
    "delete": "del x", "f-string": "f'{x}'", "for": "for x in y: pass", "function": "def f(): pass",
    "global": "global x", "if": "if 1: pass", "import": "import math", "lambda": "lambda: 1",
    "match": "match 1:\n case _: pass", "raise": "raise x", "nonlocal": "def f():\n x = 1\n def g(): nonlocal x",
    "star-import": "from math import *", "while": "while 1: pass", "try": "try: pass\nexcept: pass",
    "walrus": "(x := 1)", "with": "with x: pass", "yield": "def f(): yield",
}  # fmt: skip
"""Each construct in a program that has as little else as the grammar allows."""
