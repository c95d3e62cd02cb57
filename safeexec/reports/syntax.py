"""The language's constructs as tiny programs, so that the compiler itself can be asked about each.

A construct is asked for by the name a policy uses (``walrus``), by its keyword (``lambda``, ``async def``), or by the
name of its syntax node (``NamedExpr``).
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

NODES: dict[str, tuple[str, str]] = {
    "AnnAssign": ("annotation", "x: 1"),
    "Assert": ("assert", "assert 1"),
    "Assign": ("assignment", "x = 1"),
    "AugAssign": ("assignment", "x += 1"),
    "AsyncFor": ("async", "async def f():\n async for x in y: pass"),
    "AsyncFunctionDef": ("async", "async def f(): pass"),
    "AsyncWith": ("async", "async def f():\n async with x: pass"),
    "Attribute": ("attribute", "x.y"),
    "Await": ("async", "async def f(): await x"),
    "BinOp": ("", "x + y"),
    "BoolOp": ("", "x and y"),
    "Break": ("while", "while x: break"),
    "Call": ("", "x()"),
    "ClassDef": ("class", "class C: pass"),
    "Compare": ("", "x < y"),
    "Constant": ("", "1"),
    "Continue": ("while", "while x: continue"),
    "Delete": ("delete", "del x"),
    "Dict": ("", "{x: y}"),
    "DictComp": ("comprehension", "{1: 1 for x in y}"),
    "ExceptHandler": ("try", "try: pass\nexcept x: pass"),
    "Expr": ("", "x"),
    "Expression": ("", "x"),
    "For": ("for", "for x in y: pass"),
    "FormattedValue": ("f-string", "f'{x}'"),
    "FunctionDef": ("function", "def f(): pass"),
    "GeneratorExp": ("comprehension", "(1 for x in y)"),
    "Global": ("global", "global x"),
    "If": ("if", "if 1: pass"),
    "IfExp": ("", "x if y else z"),
    "Import": ("import", "import math"),
    "ImportFrom": ("import", "from math import pi"),
    "JoinedStr": ("f-string", "f'{x}'"),
    "Lambda": ("lambda", "lambda: 1"),
    "List": ("", "[x]"),
    "ListComp": ("comprehension", "[1 for x in y]"),
    "Match": ("match", "match 1:\n case _: pass"),
    "MatchAs": ("match", "match 1:\n case x: pass"),
    "MatchClass": ("match", "match 1:\n case x(): pass"),
    "MatchMapping": ("match", "match 1:\n case {}: pass"),
    "MatchOr": ("match", "match 1:\n case 1 | 2: pass"),
    "MatchSequence": ("match", "match 1:\n case []: pass"),
    "MatchSingleton": ("match", "match 1:\n case None: pass"),
    "MatchStar": ("match", "match 1:\n case [*x]: pass"),
    "MatchValue": ("match", "match 1:\n case 1: pass"),
    "Module": ("", "x"),
    "Name": ("", "x"),
    "NamedExpr": ("walrus", "(x := 1)"),
    "Nonlocal": ("nonlocal", SAMPLES["nonlocal"]),
    "Pass": ("", "pass"),
    "Raise": ("raise", "raise x"),
    "Return": ("function", "def f(): return"),
    "Set": ("", "{x}"),
    "SetComp": ("comprehension", "{1 for x in y}"),
    "Slice": ("", "x[y:z]"),
    "Starred": ("", "[*x]"),
    "Subscript": ("", "x[y]"),
    "Try": ("try", "try: pass\nexcept: pass"),
    "TryStar": ("try", "try: pass\nexcept* x: pass"),
    "Tuple": ("", "(x, y)"),
    "UnaryOp": ("", "-x"),
    "While": ("while", "while 1: pass"),
    "With": ("with", "with x: pass"),
    "Yield": ("yield", "def f(): yield"),
    "YieldFrom": ("yield", "def f(): yield from x"),
    "alias": ("import", "import math"),
    "arg": ("", "lambda x: x"),
    "arguments": ("lambda", "lambda x: x"),
    "comprehension": ("comprehension", "[1 for x in y]"),
    "keyword": ("", "x(y=z)"),
    "match_case": ("match", "match 1:\n case _: pass"),
    "withitem": ("with", "with x: pass"),
    **{
        name: ("", f"x {sign} y")
        for name, sign in {
            "Add": "+",
            "Sub": "-",
            "Mult": "*",
            "MatMult": "@",
            "Div": "/",
            "FloorDiv": "//",
            "Mod": "%",
            "Pow": "**",
            "LShift": "<<",
            "RShift": ">>",
            "BitOr": "|",
            "BitXor": "^",
            "BitAnd": "&",
            "And": "and",
            "Or": "or",
            "Eq": "==",
            "NotEq": "!=",
            "Lt": "<",
            "LtE": "<=",
            "Gt": ">",
            "GtE": ">=",
            "Is": "is",
            "IsNot": "is not",
            "In": "in",
            "NotIn": "not in",
        }.items()
    },
    **{name: ("", f"{sign} x") for name, sign in {"UAdd": "+", "USub": "-", "Not": "not", "Invert": "~"}.items()},
    "Load": ("", "x"),
    "Store": ("assignment", "x = 1"),
    "Del": ("delete", "del x"),
}
"""Syntax node → (construct, sample)."""
if sys.version_info >= (3, 12):
    NODES["TypeAlias"] = ("type-alias", "type X = 1")
    NODES["TypeVar"] = ("function", "def f[T](): pass")
    NODES["TypeVarTuple"] = ("function", "def f[*T](): pass")
    NODES["ParamSpec"] = ("function", "def f[**T](): pass")


NEWER: dict[str, str] = {}
"""Other spellings of constructs that only later versions of Python have → the construct."""
if sys.version_info < (3, 12):
    NEWER |= dict.fromkeys(("type-alias", "type alias", "TypeAlias"), "type-alias")
    del WORDS["type alias"]


def construct_of(word: str) -> tuple[str, str] | None:
    """(construct, sample program) for a construct's name, keyword or syntax node; None for anything else."""
    if word in SAMPLES:
        return word, SAMPLES[word]
    return WORDS.get(word) or NODES.get(word)
