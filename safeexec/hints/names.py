# ruff: noqa: E501 (one sentence, one line)
"""Rules for names that are not defined, are local before they have a value, or cannot be imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator

from safeexec.common.matching import TYPING_ERROR, did_you_mean, misspelt, nearest, quoted, same_name
from safeexec.hints.choice import choose, importable, provides
from safeexec.hints.failure import Failure, walk
from safeexec.hints.objects import MISSING, attribute_names, attribute_of, is_module, module_name
from safeexec.hints.remedies import hint_for, hint_for_member, hint_for_missing_member
from safeexec.hints.rules import HintRule
from safeexec.hints.tables.attributes import MODULE_ATTRIBUTES
from safeexec.hints.tables.foreign import MEMBERS, NAMES, ORDINARY
from safeexec.hints.tables.modules import ALIASES, MODULES, TOOLS_OF_OTHERS
from safeexec.hints.tables.origins import ORIGINS

_NAME = r"name '([^']+)' is not defined"
_LITERALS = ("true", "false", "null", "nil", "none", "undefined", "this")
_KEYWORDS = ("True", "False", "None", "pass", "break", "continue", "return")
_CONSTANTS = ("pi", "tau", "inf", "nan", "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "punctuation")


def _local(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a name that an assignment makes local, although another one was meant: of Python, the session,
    or outside.
    """
    name, line = match[1], failure.place.line if failure.place else 0
    if name in failure.builtins:
        yield f"`{name}` is assigned in this function, which makes it a local variable there and hides the builtin: give the local variable another name."
    if name in failure.namespace:
        yield f"`{name}` is assigned in this function, which makes it local there: pass the value in as an argument and return the new one, or write `global {name}` at the top of the function."
    if attribute_of(failure.locals.get("self", MISSING), name) is not MISSING:
        yield f"`{name}` belongs to the object: use `self.{name}`."
    functions = [node for node in walk(failure.source) if isinstance(node, _FUNCTIONS)]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or line)]
    for statement in (statement for function in around[:-1] for statement in function.body):
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            yield f"`{name}` belongs to the enclosing function: write `nonlocal {name}` at the top of the inner one to change it."
    yield f"`{name}` has no value yet on this path through the function: assign it before the `if`, loop or `try` that does."


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _name_at_hand(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Yield hints for a name that policy, host or program know, as it is or under another spelling."""
    name, rest, line, plan = match[1], failure.rest_of_line, failure.line, failure.plan
    word, visible, member = re.escape(name), failure.visible_names(), re.match(r"\.(\w+)", rest)
    yield plan.hints.get(name)
    if member and plan.tools and (member[1] in plan.tools or name in TOOLS_OF_OTHERS):
        tool = next(iter(nearest(member[1], plan.tools)), "")
        of_variable = any(hasattr(kind, member[1]) for kind in (list, dict, set))  # functions.append(f)
        yield f"Tools are called by their plain name: `{tool}(...)`." if tool else None
        yield None if of_variable else f"Tools are called by their plain name: {quoted(plan.tools)}."
    if name in failure.lost_names:
        yield f"`{name}` was lost when the session was restored: assign it again before you use it."
    if name.startswith("__"):  # if __nam__ == '__main__':
        yield did_you_mean(nearest(name, ("__name__", "__doc__", "__file__"))) or _of_language(failure, name)
    yield _defined_later(failure, name)
    if attribute_of(failure.locals.get("self", MISSING), name) is not MISSING:
        yield f"It belongs to the object: use `self.{name}`."
    yield did_you_mean(same_name(name, visible))
    # Python 2's spelling, which means two exceptions since CPython 3.14, and is a SyntaxError before
    if kind := re.match(rf"\s*except\s+([\w.]+)\s*,\s*{word}\s*:", line):
        yield f"To give the exception a name write `except {kind[1]} as {name}:`."
    in_f_string = re.search(rf"""\bf["'].*{{\s*{word}\s*:""", line)  # a format
    if rest.startswith(":") and re.search(rf"[{{,]\s*{word}\s*:", line) and not in_f_string:  # d = {name: 1}
        yield f"Put the key in quotes, `{{{name!r}: ...}}`, or assign `{name}` first."
    if name in _LITERALS:
        yield _of_language(failure, name)
    if rest.startswith("."):  # np.zeros(3)
        yield _not_imported(failure, name)
    if len(name) >= 5:
        yield did_you_mean(nearest(name, visible, worst=TYPING_ERROR))


def _name_elsewhere(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Yield hints for a name of another language or of a module, for a slip in one, and for one that is nowhere."""
    name, rest = match[1], failure.rest_of_line
    yield _of_imported_module(failure, name)
    yield _of_language(failure, name)
    yield _name_of_module(failure, name)
    yield _not_imported(failure, name)
    yield did_you_mean(nearest(name, failure.visible_names(), 2))
    yield _misspelt_known_name(failure, name)
    if rest.startswith("."):  # statistcs.mean([1])
        for module in misspelt(name, failure.plan.imports):
            if importable(module, failure.plan):
                yield f"Did you mean the module `{module}`? Import it first: `import {module}`."
    if re.search(rf"//\s*{re.escape(name)}\s*$", failure.line):
        yield f"Nothing is called `{name}` here: assign it first; a comment begins with `#`, not with `//`."
    yield _bound_elsewhere(failure, name)
    if rest.startswith("(") and "function" not in failure.plan.refused_constructs:
        yield f"No function or class is called `{name}` here: define it before this line, with `def {name}(...):`."
    if "assignment" in failure.plan.refused_constructs:
        yield f"Nothing is called `{name}` here: use what is given from outside, and the builtins."
    text = "" if rest.startswith((".", "[")) else ", or put quotes around it if it is a text"
    yield f"Nothing is called `{name}` here: assign it first{text}."


def _defined_later(failure: Failure, name: str) -> str | None:
    first = failure.place.line if failure.place else 0
    pattern = re.compile(rf"(?:(?:async\s+)?def|class)\s+{re.escape(name)}\b|{re.escape(name)}\s*(?::[^=]+)?=(?!=)")
    for number, line in enumerate(failure.source.split("\n")[first:], first + 1):
        if pattern.match(line):
            return f"`{name}` is defined only in line {number}, after it is used: move the definition before its first use."
    return None


def _of_language(failure: Failure, name: str) -> str | None:
    """Return a hint for a name of another language, of Python 2, or of a function of mathematics elsewhere."""
    rest, plan = failure.rest_of_line, failure.plan
    called = rest.startswith("(")
    if name not in NAMES:
        return hint_for_member("math", name, plan) if called and importable("math", plan) else None
    if name in ORDINARY and not called and not rest.startswith("."):
        return None
    if name == "var" and called:  # of numbers: a declaration is a syntax error
        return choose(NAMES["variance"], plan)
    member = re.match(r"\.(\w+)", rest)
    if member and name == "Math" and member[1] in failure.builtins:
        return f"Use the builtin `{member[1]}(...)`."
    return MEMBERS.get(f"{name}.{member[1]}" if member else "") or choose(NAMES[name], plan)


def _of_imported_module(failure: Failure, name: str) -> str | None:
    """Return a hint for a name of a module that the program has imported: sqrt(2) after `import math`"""
    used = failure.rest_of_line.startswith(("(", ".")) or name[:1].isupper()
    for text, module in failure.visible_modules() if used and not name.startswith("_") else ():
        found = attribute_of(module, name)
        if found is not MISSING and not is_module(found) and provides(f"{module_name(module)}.{name}", failure.plan):
            return f"It belongs to the module: use `{text}.{name}`."
    return None


def _name_of_module(failure: Failure, name: str) -> str | None:
    """Return a hint for a well-known name, where it is used as a function, class or constant."""
    module = ORIGINS.get(name)
    if module is None or not provides(f"{module}.{name}", failure.plan):
        return None
    used = failure.rest_of_line.startswith(("(", "[", ".")) or name[:1].isupper() or "_" in name or name in _CONSTANTS
    given = rf"(?:map|filter|reduce|starmap|partial|defaultdict)\(\s*{re.escape(name)}\b|key\s*=\s*{re.escape(name)}\b"
    if used or failure.line.startswith("@") or re.search(given, failure.line):
        return f"Import it first: `from {module} import {name}`."
    return None


def _not_imported(failure: Failure, name: str) -> str | None:
    plan = failure.plan
    module = ALIASES.get(name, name)
    member = re.match(r"\.(\w+)", failure.rest_of_line)
    if name == "sp" and member and provides(f"sympy.{member[1]}", plan):
        module = "sympy"
    if name == "datetime" and _OF_THE_CLASS.match(failure.rest_of_line) and provides("datetime.datetime", plan):
        return "Import it first: `from datetime import datetime`."
    if module.endswith(f".{name}") and member is None:  # metrics['loss'] = 1: a word like any other
        return None
    exists = plan.mode == "restricted" or module in sys.stdlib_module_names or name in ALIASES
    if importable(module, plan) and exists:
        return f"Import it first: `import {module}{f' as {name}' if name in ALIASES else ''}`."
    if name in ALIASES or (module in MODULES and failure.rest_of_line.startswith(".")):
        return _name_of_module(failure, name) or hint_for("module", module, plan)
    return None


_OF_THE_CLASS = re.compile(r"\.(?:now|today|utcnow|strptime|fromisoformat|fromtimestamp|combine)\b|\(")
"""The text behind `datetime` where the class is meant and not the module."""


def _misspelt_known_name(failure: Failure, name: str) -> str | None:
    """Return a hint for a slip in a builtin, in a name of a module of the policy, or in one of another language."""
    plan = failure.plan
    used = failure.rest_of_line.startswith(("(", "[", "."))

    def meant(known: Iterable[str]) -> list[str]:
        """Return the name that was meant. Where nothing is called or looked up, a plural is a variable."""
        return [one for one in misspelt(name, known) if used or name.lower() != f"{one.lower()}s"][:1]

    if builtin := meant([*_KEYWORDS, *(known for known in failure.builtins if not known.startswith("_"))]):
        return did_you_mean(builtin)
    for other in meant(ORIGINS if used else _CONSTANTS):
        if provides(f"{ORIGINS[other]}.{other}", plan):
            return f"Did you mean `{other}`? Import it first: `from {ORIGINS[other]} import {other}`."
    for foreign in meant(NAMES):
        if used or (same_name(name, [foreign]) and foreign.lower() not in ORDINARY):
            return choose(NAMES[foreign], plan)
    return None


def _bound_elsewhere(failure: Failure, name: str) -> str | None:
    """Return a hint for a name that has a value inside a function, a comprehension or an `except` block only."""
    nodes, storing = [node for _, node in failure.nodes(name)], set[int]()
    for node in reversed(nodes):  # what is in a node comes behind it: each is looked at once, however deep it is
        is_store = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        if is_store or any(id(child) in storing for child in ast.iter_child_nodes(node)):
            storing.add(id(node))
    for node in nodes:
        stores = id(node) in storing
        match node:
            case ast.ExceptHandler(name=bound) if bound == name:
                return f"`{name}` is deleted at the end of its `except` block: use it there, or assign it to another name, `error = {name}`."
            case ast.FunctionDef() | ast.AsyncFunctionDef() if stores:
                return f"`{name}` is a local variable of the function `{node.name}`: let it `return {name}`, and assign the result of the call."
            case ast.FunctionDef() | ast.AsyncFunctionDef() if any(arg.arg == name for arg in node.args.args):
                return f"`{name}` is a parameter of the function `{node.name}` and exists only inside of it: pass or assign a value here."
            case _ if stores and isinstance(node, _COMPREHENSIONS):
                return f"`{name}` exists only inside the comprehension: assign it outside, or use a `for` loop."
    return None


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _no_module(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    said = failure.said_by_exception("name")
    yield hint_for("module", said if type(said) is str else match[1], failure.plan)


def _not_in_module(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    name, module = match.groups()
    if f"{module}.{name}" in MODULES:
        yield hint_for("module", f"{module}.{name}", failure.plan)
    else:
        loaded = sys.modules.get(module)
        names = attribute_names(loaded) if loaded is not None else []
        yield hint_for_missing_member(module, name, names, failure.builtins, failure.plan)


def _removed(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Yield hints for a name whose import a library refuses in words of its own."""
    for node in walk(failure.segment.strip()):
        if isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (choose(MODULE_ATTRIBUTES[name], failure.plan) for name in names if name in MODULE_ATTRIBUTES)


RULES = (
    HintRule("UnboundLocalError", r"variable '([^']+)'", _local),
    HintRule("NameError", _NAME, _name_at_hand),
    HintRule("NameError", _NAME, _name_elsewhere),
    HintRule("ModuleNotFoundError", r"(?:No module named '|^import of )([\w.]+)", _no_module),
    HintRule("ImportError", r"cannot import name '([^']+)' from '([^']+)'", _not_in_module),
    HintRule("ImportError", "", _removed),
)
