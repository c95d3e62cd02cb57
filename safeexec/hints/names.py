# ruff: noqa: E501 (one sentence, one line)
"""Hints for names that are not defined, are local before they have a value, or cannot be imported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from safeexec.hints.failure import MISSING, attribute_names, attribute_of
from safeexec.hints.matching import TYPING_ERROR, TYPING_ERRORS, nearest, same_name
from safeexec.hints.needs import choose, importable, provides
from safeexec.hints.refusals import hint_for, missing_in_module

if TYPE_CHECKING:
    from safeexec.hints.failure import Failure

_KEYWORDS = ("True", "False", "None", "pass", "break", "continue", "return")
_LITERALS = ("true", "false", "null", "nil", "none", "undefined", "this")
_CONSTANTS = ("pi", "tau", "inf", "nan", "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "punctuation")


def undefined(failure: Failure) -> str | None:
    """For a NameError: lost, defined later, a method of `self`, not imported, of another language, or misspelt."""
    name = _name_of(failure)
    if not name:
        return None
    if own := failure.plan.hints.get(name):
        return own
    if name in failure.lost_names:
        return f"`{name}` was lost when the session was restored: assign it again before you use it."
    if "free variable" in failure.message:
        return f"Assign `{name}` in the enclosing function before the inner function is called."
    names = failure.visible_names()
    if name.startswith("__"):
        return _did_you_mean(nearest(name, ("__name__", "__doc__", "__file__"))) or _foreign(failure, name)
    return (
        _defined_later(failure, name)
        or _of_self(failure, name)
        or _did_you_mean(same_name(name, names))
        or _key_of_dict(failure, name)
        or (_foreign(failure, name) if name in _LITERALS else None)
        or (_module(failure, name) if failure.rest_of_line.startswith(".") else None)
        or (_did_you_mean(nearest(name, names, worst=TYPING_ERROR)) if len(name) >= 5 else None)
        or _foreign(failure, name)
        or _origin(failure, name)
        or _module(failure, name)
        or _did_you_mean(nearest(name, names, 2))
        or _did_you_mean(
            nearest(name, [*_KEYWORDS, *(n for n in failure.builtins if not n.startswith("_"))], 2, worst=TYPING_ERRORS)
        )
        or _misspelt_module(failure, name)
        or _slashes(failure, name)
        or (_misspelt_foreign(failure, name) if len(name) >= 5 else None)
        or _bound_elsewhere(failure, name)
        or _nowhere(failure, name)
    )


def unbound_local(failure: Failure) -> str | None:
    """For an UnboundLocalError: the name is assigned somewhere in the function, so it is local in all of it."""
    name = _name_of(failure)
    if not name:
        return None
    if name in failure.builtins:
        return (
            f"`{name}` is assigned in this function, which makes it a local variable there and hides the builtin:"
            f" give the local variable another name."
        )
    if name in failure.namespace:
        return (
            f"`{name}` is assigned in this function, which makes it local there: pass the value in as an argument and"
            f" return the new one, or write `global {name}` at the top of the function."
        )
    if _is_of_enclosing(failure, name):
        return f"`{name}` belongs to the enclosing function: write `nonlocal {name}` at the top of the inner one to change it."
    return f"`{name}` has no value yet on this path through the function: assign it before the `if`, loop or `try` that does."


def _is_of_enclosing(failure: Failure, name: str) -> bool:
    """Does a function around the one that failed assign the name too?"""
    import ast

    if failure.frame is None:
        return False
    try:
        tree = ast.parse(failure.sources.get(failure.frame.filename, ""))
    except (SyntaxError, ValueError, RecursionError):
        return False
    line = failure.frame.line
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or line)
    ]
    return any(
        isinstance(target, ast.Name) and target.id == name
        for function in around[:-1]
        for statement in function.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    )


def import_failed(failure: Failure) -> str | None:
    """For an ImportError: the nearest name of the module, or what to use instead of the module."""
    if issubclass(failure.kind, ModuleNotFoundError):
        name = ImportError.__dict__["name"].__get__(failure.exc)
        if type(name) is not str and (match := re.search(r"No module named '([\w.]+)'", failure.message)):
            name = match.group(1)
        return hint_for("module", name, failure.plan) if type(name) is str and name else None
    match = re.search(r"cannot import name '([^']+)' from '([^']+)'", failure.message)
    if match is None:
        return _removed(failure)
    name, module = match.groups()
    import sys

    from safeexec.hints.tables.modules import MODULES

    if f"{module}.{name}" in MODULES:
        return hint_for("module", f"{module}.{name}", failure.plan)

    loaded = sys.modules.get(module)
    candidates = attribute_names(loaded) if loaded is not None else []
    if text := missing_in_module(module, name, failure.plan, candidates):
        return text
    for other in _homes(name):
        if other != module and provides(f"{other}.{name}", failure.plan):
            return f"It is in another module: `from {other} import {name}`."
    if name in failure.builtins:
        return f"It is a builtin: use `{name}(...)` without an import."
    from safeexec.hints.attributes import no_such_name

    return no_such_name(module, name, candidates, failure)


def _removed(failure: Failure) -> str | None:
    """What took the place of a name whose import a library refuses in words of its own."""
    import ast

    from safeexec.hints.tables.libraries import REMOVED

    try:
        body = ast.parse(failure.segment.strip()).body
    except (SyntaxError, ValueError):
        return None
    match body:
        case [ast.ImportFrom(module=str(module), names=names)]:
            found = [f"{module}.{alias.name}" for alias in names if f"{module}.{alias.name}" in REMOVED]
            return REMOVED[found[0]] if found else None
    return None


def _name_of(failure: Failure) -> str:
    name = NameError.__dict__["name"].__get__(failure.exc)
    if type(name) is str:
        return name
    match = re.search(r"(?:name|variable) '([^']+)'", failure.message)
    return match.group(1) if match else ""


def _did_you_mean(found: list[str]) -> str | None:
    return f"Did you mean {' or '.join(f'`{name}`' for name in found)}?" if found else None


def _module(failure: Failure, name: str) -> str | None:
    from safeexec.hints.tables.modules import ALIASES, MODULES

    module = ALIASES.get(name, name)
    member = re.match(r"\.(\w+)", failure.rest_of_line)
    if name == "sp" and member and provides(f"sympy.{member[1]}", failure.plan):
        module = "sympy"
    if name == "datetime" and _OF_THE_CLASS.match(failure.rest_of_line) and provides("datetime.datetime", failure.plan):
        return "Import it first: `from datetime import datetime`."
    if (importable(module, failure.plan) and failure.plan.mode == "restricted") or module in _stdlib(failure):
        return (
            f"Import it first: `import {module} as {name}`."
            if name in ALIASES
            else f"Import it first: `import {module}`."
        )
    if name in ALIASES or (module in MODULES and failure.rest_of_line.startswith(".")):
        if origin := _origin(failure, name):
            return origin
        return hint_for("module", module, failure.plan)
    return None


_OF_THE_CLASS = re.compile(r"\.(?:now|today|utcnow|strptime|fromisoformat|fromtimestamp|combine)\b|\(")
"""What follows `datetime` where the class is meant and not the module."""


def _stdlib(failure: Failure) -> frozenset[str]:
    """In the mode without a language layer, the modules that may be meant by a bare name."""
    if failure.plan.mode != "python":
        return frozenset()
    import sys

    from safeexec.hints.tables.modules import ALIASES

    return sys.stdlib_module_names | frozenset(ALIASES.values())


def _misspelt_module(failure: Failure, name: str) -> str | None:
    if not failure.rest_of_line.startswith("."):
        return None
    found = [module for module in nearest(name, failure.plan.imports) if importable(module, failure.plan)]
    return f"Did you mean the module `{found[0]}`? Import it first: `import {found[0]}`." if found else None


def _foreign(failure: Failure, name: str) -> str | None:
    from safeexec.hints.tables.foreign import MEMBERS, NAMES

    if name not in NAMES:
        return None
    member = re.match(r"\.(\w+)", failure.rest_of_line)
    if member and name == "Math" and member[1] in ("max", "min", "abs", "round", "pow"):
        return f"Use the builtin `{member[1]}(...)`."
    if member and (text := MEMBERS.get(f"{name}.{member[1]}")):
        return text
    return choose(NAMES[name], failure.plan)


def _misspelt_foreign(failure: Failure, name: str) -> str | None:
    from safeexec.hints.tables.foreign import NAMES

    return next((choose(NAMES[near], failure.plan) for near in nearest(name, NAMES, worst=TYPING_ERROR)), None)


def _key_of_dict(failure: Failure, name: str) -> str | None:
    """A key of a dict that is written without quotes."""
    pattern = rf"[{{,]\s*{re.escape(name)}\s*:"
    if failure.rest_of_line.lstrip().startswith(":") and "{" in _line(failure) and re.search(pattern, _line(failure)):
        return f"Put the key in quotes, `{{{name!r}: ...}}`, or assign `{name}` first."
    return None


def _nowhere(failure: Failure, name: str) -> str:
    """A name that is not known in any way."""
    if failure.rest_of_line.startswith("("):
        return f"No function or class is called `{name}` here: define it before this line, with `def {name}(...):`."
    text = "" if failure.rest_of_line.startswith((".", "[")) else ", or put quotes around it if it is a text"
    return f"Nothing is called `{name}` here: assign it first{text}."


def _slashes(failure: Failure, name: str) -> str | None:
    """A comment of one word that begins with two slashes."""
    if re.search(rf"//\s*{re.escape(name)}\s*$", _line(failure)):
        return f"Nothing is called `{name}` here: assign it first; a comment begins with `#`, not with `//`."
    return None


def _bound_elsewhere(failure: Failure, name: str) -> str | None:
    """A name that has a value inside a function, a comprehension or an `except` block only."""
    import ast

    for _, node in failure.nodes_of_steps(name):
        match node:
            case ast.ExceptHandler(name=bound) if bound == name:
                return f"`{name}` is deleted at the end of its `except` block: use it there, or assign it to another name, `error = {name}`."
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                targets = [part for generator in node.generators for part in ast.walk(generator.target)]
                if any(isinstance(part, ast.Name) and part.id == name for part in targets):
                    return f"`{name}` exists only inside the comprehension: assign it outside, or use a `for` loop."
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if any(
                    isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
                    for part in ast.walk(node)
                ):
                    return f"`{name}` is a local variable of the function `{node.name}`: let it `return {name}`, and assign the result of the call."
                if any(argument.arg == name for argument in node.args.args):
                    return f"`{name}` is a parameter of the function `{node.name}` and exists only inside of it: pass or assign a value here."
    return None


def _origin(failure: Failure, name: str) -> str | None:
    """The import of a well-known name, if it is used as a function, class or constant."""
    from safeexec.hints.tables.origins import ORIGINS

    module = ORIGINS.get(name)
    if module is None:
        return None
    used = failure.rest_of_line.startswith(("(", "[", ".")) or name[:1].isupper() or "_" in name or name in _CONSTANTS
    used = used or _line(failure).startswith("@") or _is_function_argument(failure, name)
    return (
        f"Import it first: `from {module} import {name}`."
        if used and provides(f"{module}.{name}", failure.plan)
        else None
    )


def _is_function_argument(failure: Failure, name: str) -> bool:
    """Is the name given where a function belongs: ``map(sqrt, values)``, ``key=itemgetter``?"""
    pattern = (
        rf"(?:map|filter|reduce|starmap|partial|defaultdict)\(\s*{re.escape(name)}\b|key\s*=\s*{re.escape(name)}\b"
    )
    return re.search(pattern, _line(failure)) is not None


def _line(failure: Failure) -> str:
    """The line that failed, without its indentation."""
    if failure.frame is None:
        return ""
    lines = failure.sources.get(failure.frame.filename, "").split("\n")
    return lines[failure.frame.line - 1].strip() if 0 < failure.frame.line <= len(lines) else ""


def _homes(name: str) -> list[str]:
    from safeexec.hints.tables.origins import ORIGINS

    return [ORIGINS[name]] if name in ORIGINS else []


def _defined_later(failure: Failure, name: str) -> str | None:
    """A definition further down in the step at module level."""
    if failure.frame is None:
        return None
    lines = failure.sources.get(failure.frame.filename, "").split("\n")
    pattern = re.compile(rf"(?:(?:async\s+)?def|class)\s+{re.escape(name)}\b|{re.escape(name)}\s*(?::[^=]+)?=(?!=)")
    for number, line in enumerate(lines[failure.frame.line :], failure.frame.line + 1):
        if pattern.match(line):
            return f"`{name}` is defined only in line {number}, after it is used: move the definition before its first use."
    return None


def _of_self(failure: Failure, name: str) -> str | None:
    """A method or attribute of the object that is written without ``self.``."""
    self = failure.locals.get("self", MISSING)
    if self is not MISSING and attribute_of(self, name) is not MISSING:
        return f"It belongs to the object: use `self.{name}`."
    return None
