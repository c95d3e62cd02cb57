# ruff: noqa: E501 (a table of sentences)
"""Hints for language constructs that the policy refuses. How an entry is read: `safeexec.hints.needs`."""

from __future__ import annotations

from safeexec.hints.needs import Advice

CONSTRUCTS: dict[str, Advice] = {
    "annotation": "Leave the annotation out.",
    "assert": "Use `if not condition: raise ValueError('why')`.",
    "assignment": "Only expressions are allowed here: give the values as variables from outside.",
    "async": "Write plain functions and call them one after the other.",
    "attribute": "Use builtins and operators on the values themselves; attributes cannot be read here.",
    "class": "Use functions, and dicts or tuples for data.",
    "comprehension": "Use a `for` loop that appends to a list, or `map` and `filter`.",
    "decorator": "Call the decorator yourself: `f = decorator(f)`.",
    "delete": "Assign `None` instead, or make a new list or dict without the item.",
    "f-string": "Join texts with `+` and `str(...)`.",
    "for": "Use a comprehension, or `sum(...)` and `max(...)` over the values.",
    "function": "Write the computation out, without functions.",
    "global": "Return the value from the function and assign it outside.",
    "if": "Use an expression: `a if condition else b`.",
    "import": "Nothing can be imported here; use the builtins.",
    "lambda": "Write a `def` with a name, or a comprehension.",
    "match": "Use `if`, `elif` and `else`.",
    "module-assignment": "A module cannot be changed: call its function, `plt.title('text')`, or keep the value in a variable of your own.",
    "nonlocal": "Return the value from the inner function, or keep it in a dict or an instance attribute.",
    "raise": "Return a value that says what went wrong, for example `None`.",
    "star-import": "Name what you import: `from math import sqrt, pi`, or `import math`.",
    "try": "Check the condition before, with `if`.",
    "type-alias": "Write the type out where it is used, or leave it out.",
    "walrus": "Assign the variable in a line of its own before.",
    "while": "Use a `for` loop over `range(n)`.",
    "with": "Call the functions one after the other, without `with`.",
    "yield": "Build a list and return it.",
    "relative-import": "Import modules by their full name: `import math`.",
}
