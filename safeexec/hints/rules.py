"""The rules for exceptions, and the engine that finds the one that speaks.

A rule says for which exception and message it holds, and what to write instead. Examples that fail, and their mended
forms, are in the tests (`tests/hints/mended.jsonl`), which show that every rule answers one: so no rule hides another.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from safeexec.common.identity import class_name
from safeexec.hints.choice import importable
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING, bases_of, is_of_guest, parameters
from safeexec.hints.tables.modules import ALIASES

Finder = Callable[[Failure, "re.Match[str]"], "Iterable[str | None]"]
"""Yields what may be said, the most certain first. The first that says something is the hint."""


class HintRule(NamedTuple):
    """Which sentence an exception is answered with."""

    kinds: str
    """The names of the exceptions' classes, or of bases of them, separated by blanks."""
    pattern: str
    """A regular expression that its message has."""
    hint: str | Finder
    """The sentence, or a function that makes it of the objects at hand and may know none. In a sentence ``{1}`` is the
    first group of the pattern, and the names of `_PARTS` stand for source text. What not every policy allows stands
    behind a semicolon: `permitted` leaves it out."""
    calls: tuple[str, ...] = ()
    """The rule holds only where the failing expression calls one of these; empty: anywhere."""


class HintRules:
    """Rules by exception; the first that gives a hint counts."""

    def __init__(self, rules: Iterable[HintRule]) -> None:
        self.rules = tuple(rules)
        self._by_kind: dict[str, list[HintRule]] = {}
        for rule in self.rules:
            for kind in rule.kinds.split():
                self._by_kind.setdefault(kind, []).append(rule)

    def answer(self, failure: Failure) -> tuple[HintRule, str] | None:
        """Return the rule that speaks and its sentence: one for the exception's class, else for the nearest base."""
        for base in bases_of(failure.kind):
            for rule in () if is_of_guest(base) else self._by_kind.get(class_name(base), ()):
                if text := _ask(rule, failure):
                    return rule, text
        return None


def _ask(rule: HintRule, failure: Failure) -> str | None:
    if rule.calls and failure.called not in rule.calls:
        return None
    wanted = needles(rule.pattern)
    if wanted and not any(needle in failure.message for needle in wanted):
        return None
    match = re.search(rule.pattern, failure.message)
    if match is None:
        return None
    texts = [fill(rule.hint, match, failure)] if isinstance(rule.hint, str) else rule.hint(failure, match)
    return next(filter(None, (permitted(text, failure) for text in texts if text)), None)


def permitted(text: str, failure: Failure) -> str:
    """Return a sentence without the clauses that name what the policy refuses; empty if that is the first. The policy's
    own sentences stay as they are.
    """
    if text in failure.plan.hints.values():
        return text
    first, *others = re.findall(r"(?:`[^`]*`|;(?! )|[^;])+", text) or [""]  # a semicolon within code parts nothing
    kept = [clause for clause in others if not _refused(clause, failure)]
    if _refused(first, failure):
        return ""
    return text if kept == others else ";".join([first, *kept]).removesuffix(".") + "."


def _refused(clause: str, failure: Failure) -> bool:
    """Return whether the code in a clause calls a builtin, or uses a module, that the policy refuses."""
    plan = failure.plan
    for code in re.findall("`([^`]+)`", clause):
        for name, behind in re.findall(r"(?<![\w.'\"])([a-z]\w*)([.(])(?=[\w)'\"\[])", code):
            if behind == "(" and name in _BUILTINS and plan.mode == "restricted" and name not in plan.builtins:
                return True
            module = ALIASES[name] if name in ("np", "pd", "plt") else name
            known = module != name or name in sys.stdlib_module_names
            if behind == "." and known and not importable(module, plan) and failure.lookup(name) is MISSING:
                return True
    return False


_BUILTINS = frozenset(dir(builtins))


def fill(text: str, match: re.Match[str], failure: Failure) -> str:
    """Return a sentence with the groups of the message and parts of the failing expression in it."""
    for number, value in enumerate(match.groups(), 1):
        text = text.replace("{" + str(number) + "}", value or "")
    for name, part in _PARTS.items():
        if "{" + name + "}" in text:
            value = part(failure)
            text = text.replace("{{{" + name + "}}}", "{" + value + "}").replace("{" + name + "}", value)
    return text


def _operand(index: int, default: str) -> Callable[[Failure], str]:
    def part(failure: Failure) -> str:
        match failure.expression:
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                tree = (left, right)[index]
                number = isinstance(tree, ast.Constant) and issubclass(failure.kind, ArithmeticError)
                return default if number else failure.text_of(tree, default)
        return default

    return part


_LOOPING = (enumerate, reversed, zip, map, filter)
"""Classes that go through what they are given: of ``enumerate(5)`` the number is what is wrong."""


def _first(failure: Failure) -> str:
    """Return the operand of the type that the message names, or the first one where none of them is known."""
    callee = failure.resolve(failure.function)
    if "iterable" in failure.message and failure.is_looped_over and not any(callee is kind for kind in _LOOPING):
        return failure.text_of(failure.expression, "values")
    named = re.search(r"'(?:\w+\.)*(\w+)'(?: object)?|^(list|tuple|string) ind", failure.message)
    kind = {"string": "str"}.get(named[2], named[1] or named[2]) if named else ""
    values = [(tree, failure.resolve(tree)) for tree in failure.operands()]
    of_kind = [tree for tree, value in values if value is not MISSING and class_name(type(value)) == kind]
    unknown = [tree for tree, value in values if value is MISSING]
    if kind in ("int", "float", "bool"):  # list(chain(1, 2)): the number is in it
        made = (ast.Call,)
        unknown = [one for one in unknown if not isinstance(one, made) or type(failure.resolve(one.func)) is not type]
    return failure.text_of(next(iter(of_kind + unknown), None), "values")


def _text(failure: Failure) -> str:
    values = ((tree, failure.resolve(tree)) for tree in failure.operands())
    texts = (tree for tree, value in values if type(value) is str and re.fullmatch(r"\s*[-+]?[\d.]*\d\s*", value))
    return failure.text_of(next(texts, None), "text")


def _argument(failure: Failure) -> str:
    match failure.expression:
        case ast.Call(args=[tree, *_]) | (ast.Name() as tree):
            return failure.text_of(tree)
    return "x"


def _gathered(make: Callable[[list[ast.expr]], ast.expr], default: str) -> Callable[[Failure], str]:
    """Return the failing call with its arguments as one list or tuple."""

    def part(failure: Failure) -> str:
        if failure.call is None:
            return default
        named = default.format(failure.text_of(failure.function, failure.called))
        return failure.rewritten([make(list(failure.call.args))], failure.call.keywords, named)

    return part


def _sized(failure: Failure) -> str:
    """Return the failing call of a random array with the arguments that are its size as one tuple."""
    args, names = failure.call.args if failure.call else [], parameters(failure.callee)
    before = names.index("size") if "size" in names else len(args)
    size = ast.keyword(arg="size", value=ast.Tuple(elts=args[before:], ctx=ast.Load()))
    default = f"{failure.text_of(failure.function, failure.called)}(..., size=(3, 3))"
    return failure.rewritten(args[:before], [size], default) if args[before:] else default


_PARTS: dict[str, Callable[[Failure], str]] = {
    "left": _operand(0, "a"),
    "right": _operand(1, "b"),
    "it": _first,
    "text": _text,
    "arg": _argument,
    "function": lambda failure: failure.text_of(failure.function, failure.called),
    "as_list": _gathered(lambda items: ast.List(elts=items, ctx=ast.Load()), "{}([a, b])"),
    "sized": _sized,
    "as_tuple": _gathered(lambda items: ast.Tuple(elts=items, ctx=ast.Load()), "{}((3, 4))"),
}
"""Parts of the failing expression: its operands, the first thing that may be wrong, a text in it, an argument, what is
called, and the call with its arguments as one list or tuple."""


@cache
def needles(pattern: str) -> tuple[str, ...]:
    """Return texts of which one is in every text that `pattern` matches; empty if that cannot be said.

    A table of patterns is searched without compiling those that cannot match: compiling costs 100 us each, this 6 us.
    """
    rest = _ESCAPED.sub("\0", pattern)
    while (inner := _GROUP.sub("\0", rest)) != rest:
        rest = inner
    found = []
    for alternative in _OPTIONAL.sub("\0", rest).split("|"):
        longest = max(_NOT_LITERAL.split(alternative), key=len)
        if len(longest) < 3:
            return ()
        found.append(longest)
    return tuple(found)


_ESCAPED = re.compile(r"\\.|\[\^?\]?[^\]]*\]")
_GROUP = re.compile(r"\([^()]*\)[?*]?")
_OPTIONAL = re.compile(r".(?:[?*]|\{[^}]*\})")
_NOT_LITERAL = re.compile(r"[\0.^$+{}]")
