# ruff: noqa: E501 (one sentence, one line)
"""Rules for names that are not defined, are local before they have a value, or cannot be imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable

from safeexec.common.matching import TYPING_ERROR, did_you_mean, misspelt, nearest, same_name
from safeexec.hints.failure import Failure, walk
from safeexec.hints.needs import choose, importable, provides
from safeexec.hints.objects import MISSING, attribute_names, attribute_of
from safeexec.hints.refusals import hint_for, missing_in_module, missing_name
from safeexec.hints.rules import HintRules
from safeexec.hints.tables.attributes import MODULE_ATTRIBUTES
from safeexec.hints.tables.foreign import MEMBERS, NAMES, ORDINARY
from safeexec.hints.tables.modules import ALIASES, MODULES
from safeexec.hints.tables.origins import ORIGINS

RULES = HintRules()
_NAME = r"name '([^']+)' is not defined"
_LOCAL = r"variable '([^']+)'"
_LITERALS = ("true", "false", "null", "nil", "none", "undefined", "this")
_KEYWORDS = ("True", "False", "None", "pass", "break", "continue", "return")
_CONSTANTS = ("pi", "tau", "inf", "nan", "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "punctuation")


@RULES.when("UnboundLocalError", _LOCAL)  # len = len([1]); f(); n += 1; f()
def _local(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a name that an assignment makes local, although another one was meant: of Python, the session, or outside."""
    name, line = match[1], failure.place.line if failure.place else 0
    if name in failure.builtins:
        return f"`{name}` is assigned in this function, which makes it a local variable there and hides the builtin: give the local variable another name."
    if name in failure.namespace:
        return f"`{name}` is assigned in this function, which makes it local there: pass the value in as an argument and return the new one, or write `global {name}` at the top of the function."
    functions = [node for node in walk(failure.source) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or line)]
    if any(_assigns(statement, name) for function in around[:-1] for statement in function.body):
        return f"`{name}` belongs to the enclosing function: write `nonlocal {name}` at the top of the inner one to change it."
    return f"`{name}` has no value yet on this path through the function: assign it before the `if`, loop or `try` that does."


def _assigns(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


@RULES.when("NameError", _NAME)  # price(); functions.fetch_price('a'); lost.strip()
def _of_host(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a name that the policy or the host knows: by its own hint, as a tool, as one that was lost."""
    name, member = match[1], re.match(r"\.(\w+)", failure.rest_of_line)
    if own := failure.plan.hints.get(name):
        return own
    if member and member[1] in failure.plan.tools:
        return f"Tools are called by their plain name: `{member[1]}(...)`."
    lost = name in failure.lost_names
    return f"`{name}` was lost when the session was restored: assign it again before you use it." if lost else None


@RULES.when("NameError", _NAME)  # if __nam__ == '__main__':
def _dunder(failure: Failure, match: re.Match[str]) -> str | None:
    if not match[1].startswith("__"):
        return None
    return did_you_mean(nearest(match[1], ("__name__", "__doc__", "__file__"))) or _of_language(failure, match)


@RULES.when("NameError", _NAME)  # helper() above its def
def _defined_later(failure: Failure, match: re.Match[str]) -> str | None:
    first = failure.place.line if failure.place else 0
    name = re.escape(match[1])
    pattern = re.compile(rf"(?:(?:async\s+)?def|class)\s+{name}\b|{name}\s*(?::[^=]+)?=(?!=)")
    for number, line in enumerate(failure.source.split("\n")[first:], first + 1):
        if pattern.match(line):
            return f"`{match[1]}` is defined only in line {number}, after it is used: move the definition before its first use."
    return None


@RULES.when("NameError", _NAME)  # A().a()
def _of_self(failure: Failure, match: re.Match[str]) -> str | None:
    if attribute_of(failure.locals.get("self", MISSING), match[1]) is MISSING:
        return None
    return f"It belongs to the object: use `self.{match[1]}`."


@RULES.when("NameError", _NAME)  # date_of_birth = 3; dateofbirth
def _written_otherwise(failure: Failure, match: re.Match[str]) -> str | None:
    return did_you_mean(same_name(match[1], failure.visible_names()))


@RULES.when("NameError", _NAME)
def _named_exception(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for Python 2's spelling, which means two exceptions since CPython 3.14, and is a SyntaxError before."""
    kind = re.match(rf"\s*except\s+([\w.]+)\s*,\s*{re.escape(match[1])}\s*:", failure.line)
    return f"To give the exception a name write `except {kind[1]} as {match[1]}:`." if kind else None


@RULES.when("NameError", _NAME)  # d = {name: 1}
def _key_of_dict(failure: Failure, match: re.Match[str]) -> str | None:
    name = match[1]
    if not failure.rest_of_line.startswith(":") or not re.search(rf"[{{,]\s*{re.escape(name)}\s*:", failure.line):
        return None
    if re.search(rf"""\bf["'].*{{\s*{re.escape(name)}\s*:""", failure.line):  # a format in an f-string
        return None
    return f"Put the key in quotes, `{{{name!r}: ...}}`, or assign `{name}` first."


@RULES.when("NameError", _NAME)  # x = true
def _literal(failure: Failure, match: re.Match[str]) -> str | None:
    return _of_language(failure, match) if match[1] in _LITERALS else None


@RULES.when("NameError", _NAME)  # np.zeros(3)
def _module_with_member(failure: Failure, match: re.Match[str]) -> str | None:
    return _not_imported(failure, match) if failure.rest_of_line.startswith(".") else None


@RULES.when("NameError", _NAME)  # lenght = 3; print(length)
def _misspelt(failure: Failure, match: re.Match[str]) -> str | None:
    return did_you_mean(nearest(match[1], failure.visible_names(), worst=TYPING_ERROR)) if len(match[1]) >= 5 else None


@RULES.when("NameError", _NAME)  # xrange(3)
def _of_language(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a name of another language, of Python 2, or of a function of mathematics elsewhere."""
    called = failure.rest_of_line.startswith("(")
    if match[1] not in NAMES:
        return (
            missing_in_module("math", match[1], failure.plan) if called and importable("math", failure.plan) else None
        )
    if match[1] in ORDINARY and not called and not failure.rest_of_line.startswith("."):
        return None
    if match[1] == "var" and called:  # of numbers: a declaration is a syntax error
        return choose(NAMES["variance"], failure.plan)
    member = re.match(r"\.(\w+)", failure.rest_of_line)
    if member and match[1] == "Math" and member[1] in failure.builtins:
        return f"Use the builtin `{member[1]}(...)`."
    return MEMBERS.get(f"{match[1]}.{member[1]}" if member else "") or choose(NAMES[match[1]], failure.plan)


@RULES.when("NameError", _NAME)  # sqrt(2)
def _name_of_module(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a well-known name, where it is used as a function, class or constant."""
    name, module = match[1], ORIGINS.get(match[1])
    if module is None or not provides(f"{module}.{name}", failure.plan):
        return None
    used = failure.rest_of_line.startswith(("(", "[", ".")) or name[:1].isupper() or "_" in name or name in _CONSTANTS
    given = rf"(?:map|filter|reduce|starmap|partial|defaultdict)\(\s*{re.escape(name)}\b|key\s*=\s*{re.escape(name)}\b"
    if used or failure.line.startswith("@") or re.search(given, failure.line):
        return f"Import it first: `from {module} import {name}`."
    return None


@RULES.when("NameError", _NAME)  # print(math)
def _not_imported(failure: Failure, match: re.Match[str]) -> str | None:
    name, plan = match[1], failure.plan
    module = ALIASES.get(name, name)
    member = re.match(r"\.(\w+)", failure.rest_of_line)
    if name == "sp" and member and provides(f"sympy.{member[1]}", plan):
        module = "sympy"
    if name == "datetime" and _OF_THE_CLASS.match(failure.rest_of_line) and provides("datetime.datetime", plan):
        return "Import it first: `from datetime import datetime`."
    exists = plan.mode == "restricted" or module in sys.stdlib_module_names or name in ALIASES
    if importable(module, plan) and exists:
        return f"Import it first: `import {module}{f' as {name}' if name in ALIASES else ''}`."
    if name in ALIASES or (module in MODULES and failure.rest_of_line.startswith(".")):
        return _name_of_module(failure, match) or hint_for("module", module, plan)
    return None


_OF_THE_CLASS = re.compile(r"\.(?:now|today|utcnow|strptime|fromisoformat|fromtimestamp|combine)\b|\(")
"""The text behind `datetime` where the class is meant and not the module."""


@RULES.when("NameError", _NAME)  # print(average_price)
def _resembles(failure: Failure, match: re.Match[str]) -> str | None:
    return did_you_mean(nearest(match[1], failure.visible_names(), 2))


@RULES.when("NameError", _NAME)  # printt('x'), squrt(2), parseint('3')
def _misspelt_known_name(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a slip in a builtin, in a name that a module of the policy has, or in one of another language."""
    name, rest, plan = match[1], failure.rest_of_line, failure.plan
    used = rest.startswith(("(", "[", "."))

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


@RULES.when("NameError", _NAME)  # statistcs.mean([1])
def _misspelt_module(failure: Failure, match: re.Match[str]) -> str | None:
    if not failure.rest_of_line.startswith("."):
        return None
    found = [module for module in nearest(match[1], failure.plan.imports) if importable(module, failure.plan)]
    return f"Did you mean the module `{found[0]}`? Import it first: `import {found[0]}`." if found else None


@RULES.when("NameError", _NAME)  # x = 1; x //quotient
def _comment_with_slashes(failure: Failure, match: re.Match[str]) -> str | None:
    if not re.search(rf"//\s*{re.escape(match[1])}\s*$", failure.line):
        return None
    return f"Nothing is called `{match[1]}` here: assign it first; a comment begins with `#`, not with `//`."


@RULES.when("NameError", _NAME)  # print(problem)
def _bound_elsewhere(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a name that has a value inside a function, a comprehension or an `except` block only."""
    name = match[1]
    for _, node in failure.nodes(name):
        match node:
            case ast.ExceptHandler(name=bound) if bound == name:
                return f"`{name}` is deleted at the end of its `except` block: use it there, or assign it to another name, `error = {name}`."
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() if _stores(node, name):
                return f"`{name}` exists only inside the comprehension: assign it outside, or use a `for` loop."
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _stores(node, name):
                return f"`{name}` is a local variable of the function `{node.name}`: let it `return {name}`, and assign the result of the call."
            case ast.FunctionDef() | ast.AsyncFunctionDef() if any(arg.arg == name for arg in node.args.args):
                return f"`{name}` is a parameter of the function `{node.name}` and exists only inside of it: pass or assign a value here."
    return None


def _stores(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store) for part in ast.walk(node)
    )


@RULES.when("NameError", _NAME)  # quxbaz(1)
def _nowhere(failure: Failure, match: re.Match[str]) -> str | None:
    if failure.rest_of_line.startswith("("):
        return f"No function or class is called `{match[1]}` here: define it before this line, with `def {match[1]}(...):`."
    text = "" if failure.rest_of_line.startswith((".", "[")) else ", or put quotes around it if it is a text"
    return f"Nothing is called `{match[1]}` here: assign it first{text}."


@RULES.when("ModuleNotFoundError", r"(?:No module named '|^import of )([\w.]+)")  # import maths
def _no_module(failure: Failure, match: re.Match[str]) -> str | None:
    said = failure.said_by_exception("name")
    return hint_for("module", said if type(said) is str else match[1], failure.plan)


_IMPORT = r"cannot import name '([^']+)' from '([^']+)'"


@RULES.when("ImportError", _IMPORT)  # from math import squrt
def _not_in_module(failure: Failure, match: re.Match[str]) -> str | None:
    name, module = match.groups()
    if f"{module}.{name}" in MODULES:
        return hint_for("module", f"{module}.{name}", failure.plan)
    loaded = sys.modules.get(module)
    names = attribute_names(loaded) if loaded is not None else []
    return missing_name(module, name, names, failure.builtins, failure.plan)


@RULES.when("ImportError")  # from sklearn.datasets import load_boston
def _removed(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a name whose import a library refuses in words of its own."""
    for node in walk(failure.segment.strip()):
        if isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            return next(
                (choose(MODULE_ATTRIBUTES[name], failure.plan) for name in names if name in MODULE_ATTRIBUTES), None
            )
    return None
