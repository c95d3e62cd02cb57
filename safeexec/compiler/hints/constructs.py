# ruff: noqa: E501 (a table of sentences)
"""What to do instead of a language construct that the policy refuses. See `advice` for the form of an entry."""

from __future__ import annotations

from safeexec.compiler.hints.advice import Advice

CONSTRUCTS: dict[str, Advice] = {
    **dict.fromkeys(("import-star", "star-import", "import_star"), (("", "Name what you import: `from math import sqrt, pi`, or `import math`."),)),
    **dict.fromkeys(("import", "imports"), (("", "Nothing can be imported here; use the builtins."),)),
    **dict.fromkeys(("relative-import", "import-relative"), (("", "Import modules by their full name: `import math`."),)),
    **dict.fromkeys(("class", "classes"), (("", "Use functions, and dicts or tuples for data."),)),
    **dict.fromkeys(("def", "function", "functions"), (("", "Write the computation out, without functions."),)),
    "lambda": (("", "Write a `def` with a name, or a comprehension."),),
    **dict.fromkeys(("async", "await", "async-def", "async-for", "async-with"), (("", "Write plain functions and call them one after the other."),)),
    **dict.fromkeys(("yield", "generators", "generator", "yield-from"), (("", "Build a list and return it."),)),
    **dict.fromkeys(("with",), (("", "Call the functions one after the other, without `with`."),)),
    **dict.fromkeys(("try", "except", "raise", "except-star"), (("", "Check the condition before, with `if`."),)),
    "while": (("", "Use a `for` loop over `range(n)`."),),
    "for": (("", "Use a comprehension, or `sum(...)` and `max(...)` over the values."),),
    **dict.fromkeys(("global", "nonlocal"), (("", "Return the value from the function and assign it outside."),)),
    **dict.fromkeys(("del", "delete"), (("", "Assign `None` instead."),)),
    "match": (("", "Use `if`, `elif` and `else`."),),
    "walrus": (("", "Assign the variable in a line of its own before."),),
    "decorators": (("", "Call the decorator yourself: `f = decorator(f)`."),),
    "assert": (("", "Use `if not condition: raise ValueError('why')`."),),
    **dict.fromkeys(("metaclass", "metaclasses"), (("", "Use a class decorator, or call a function on the class after its definition."),)),
    **dict.fromkeys(("type-alias", "annotations"), (("", "Leave the annotation out."),)),
    **dict.fromkeys(("comprehension", "comprehensions"), (("", "Use a `for` loop that appends to a list."),)),
    **dict.fromkeys(("f-string", "fstring"), (("", "Join texts with `+` and `str(...)`."),)),
    **dict.fromkeys(("top-level-await",), (("import:asyncio", "Put it into `async def main():` and call `asyncio.run(main())`."), ("", "Write plain functions and call them one after the other."))),
    **dict.fromkeys(("statement", "assign", "assignment"), (("", "Only expressions are allowed here; give the values as variables from outside."),)),
}  # fmt: skip
