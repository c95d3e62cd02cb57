# ruff: noqa: E501 (a table of sentences)
"""Hints for builtins that the policy does not have. How an entry is read: `safeexec.hints.needs`."""

from __future__ import annotations

from safeexec.engine.policy.refusals import by_name
from safeexec.hints.needs import Advice

BUILTINS: dict[str, Advice] = by_name(
    {
        "eval": {
            "import:ast.literal_eval": "Write the expression directly as code; to read a literal from text use `ast.literal_eval(text)`.",
            "import:json": "Write the expression directly as code; to read data from text use `json.loads(text)`.",
            "": "Write the expression directly as code; turn text into a number with `int(text)` or `float(text)`.",
        },
        "exec": "Write the code directly as plain code of this step: a `def` or an assignment needs no string around it.",
        "execfile": "Write the code directly as plain code of this step.",
        "compile": "Write the code directly as plain code of this step; to keep a formula for later, define a function: `def f(x): return ...`.",
        "open": {
            "builtin:open workspace": "Open files of the workspace with names relative to it: `open('name.txt')`.",
            "workspace": "This policy has a workspace, but not this builtin: whoever writes it must add `builtins: {add: [open]}`; until then keep the text in a variable.",
            "import:io": "There are no files here: keep the text in a variable (`io.StringIO(text)` reads it as a file) and print the result.",
            "": "There are no files here: keep the text in a variable and print the result.",
        },
        "file": {
            "workspace builtin:open": "Use `open('name.txt')` with a name relative to the workspace.",
            "": "There are no files here: keep the text in a variable and print the result.",
        },
        "input raw_input": {
            "tool:ask": "There is no interactive user; call the host tool `{tool}(...)`, or assign the value to a variable.",
            "": "There is no interactive user to answer; assign the value to a variable instead, for example `n = 7`.",
        },
        "breakpoint": "There is no interactive debugger; remove the call and `print(...)` the values you want to see.",
        "exit quit": "Remove it: a step ends by itself at its last line; to stop early use `break` in a loop, `return` in a function, or `raise ValueError('why')`.",
        "__builtins__": "Call the builtin directly by its name: `len(values)`.",
        "__loader__ __spec__": "Import the module with a plain import statement.",
        "__class__": "Use `type(self)`, `super()`, or the class by its name.",
        "__classdict__": "Read the attributes of the class by their names.",
        "__build_class__": "Write the class with a `class` statement.",
        "__import__": "Write the import statement directly, for example `import json`.",
        "reload": "Remove it: modules cannot change, so there is nothing to reload.",
        "globals locals": "Use the variables directly by their names, or keep the values in a dict of your own: `values = {'x': 1}`.",
        "vars": "Read the attributes by their names, or keep the data in a dict or a dataclass (`dataclasses.asdict(obj)`).",
        "dir": "Use the attributes you know by their names; print `type(obj).__name__` to see what an object is.",
        "getattr": "Write the attribute directly (`obj.name`), or keep values that are chosen by name in a dict: `values[name]`.",
        "setattr": "Assign the attribute directly (`obj.name = value`), or keep values that are chosen by name in a dict: `values[name] = value`.",
        "delattr": "Delete the attribute directly: `del obj.name`.",
        "hasattr": "Use `isinstance(obj, Kind)`, or a `try` around `obj.name` with `except AttributeError`.",
        "help": "There is no pager here: print the text, `print(name.__doc__)`, or try the call on a small example.",
        "memoryview": "Use `bytes` or `bytearray` and slices of them.",
        "id": "Compare objects with `is`, or use a key of your own.",
        "type": "Use `isinstance(obj, Kind)`; write classes with a `class` statement.",
        "super": "Call the method of the base class by its name: `Base.method(self)`.",
        "print": "Let the last line of the step be the value to show.",
        "display": "Let the last line of the step be the value to show, or `print(...)` it.",
        "get_ipython": "There is no IPython here: leave out `get_ipython()`, and write plain Python.",
    }
)
