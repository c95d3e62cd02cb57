"""Find, in the syntax trees before and after a patch, what serves the tests instead of mending the code.

This file is a program of its own: `surface` sends its text to a confined child, as the files that it parses are a
stranger's, and nothing in the host imports it. It uses the standard library alone. It goes from literals, and which of
them the tests know, over the two sides of a patch to the rules, by question. The tables of rules, and what runs them,
are at the end. What a rule says to a person is in `surface`. It reads what is written, and computes nothing: a value in
disguise is for held-out checks to find.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from doctest import DocTestParser
from functools import cached_property
from itertools import islice
from typing import Any

Key = tuple[Any, ...]
"""A literal, whatever its spelling: its kind, and its value or the keys of its parts."""
Place = tuple[int, str]
"""A line from 1, and the name of a rule."""
MAX_FINDINGS = 200
MAX_RELATED_LINES = 5000


def parsed(source: bytes) -> ast.Module | None:
    """The tree of a source; None for what is no Python, or too deep."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def imports_of(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Each name that is imported, and what it stands for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((a.asname or a.name.partition(".")[0], a.name if a.asname else a.name.partition(".")[0])
                        for a in node.names)  # fmt: skip
        elif isinstance(node, ast.ImportFrom):
            yield from ((a.asname or a.name, f"{node.module or ''}.{a.name}") for a in node.names)


def dotted(node: ast.AST, imports: dict[str, str]) -> str:
    """The name that an expression reads, as the imports have it: `os.path.join`; `.join` of a computed value."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([imports.get(node.id, node.id) if isinstance(node, ast.Name) else "", *reversed(parts)])


# What a literal says


def key_of(node: ast.AST | None) -> Key | None:
    """Return the key of a literal; None for what is no literal."""
    match node:
        case ast.Constant(value=bool() | None):
            return ("other", node.value)
        case ast.Constant(value=int() | float() | complex()):
            return ("number", node.value)
        case ast.Constant(value=str(text)):
            return ("text", text)
        case ast.Constant(value=bytes(data)):
            return ("text", data.decode("latin-1"))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = key_of(operand)
            return ("number", -inner[1]) if inner is not None and inner[0] == "number" else None
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            keys = keys_of(parts)
            return ("group", tuple(keys)) if len(keys) == len(parts) else None
        case ast.Dict(keys=names, values=values):
            keys = keys_of([*names, *values])
            return ("mapping", tuple(keys)) if len(keys) == 2 * len(values) else None
    return None


def keys_of(nodes: Iterable[ast.AST | None]) -> list[Key]:
    """Return the keys of those of the nodes that are literals."""
    return [key for node in nodes if (key := key_of(node)) is not None]


def number_in(key: Key) -> float | None:
    """The number that a text says."""
    if key[0] != "text" or len(key[1]) > 40:
        return None
    try:
        return float(key[1])
    except ValueError:
        return None


def is_trivial(key: Key) -> bool:
    """Return whether any program may have a literal: small whole numbers, single characters, constants, nothing."""
    kind, value = key
    if kind == "number":
        return not isinstance(value, complex) and abs(value) <= 2 and value == int(value)
    if kind == "text":
        return len(value) <= 1
    return kind == "other" or (len(value) < 3 and all(map(is_trivial, value)))


def atoms(key: Key) -> Iterator[Key]:
    """The single values of a literal."""
    if key[0] in ("group", "mapping"):
        for part in key[1]:
            yield from atoms(part)
    else:
        yield key


# What the tests know


class TestValues:
    """The literals of the tests: in their sources, in the examples of docstrings, in data beside them."""

    def __init__(self, tests: list[bytes], data: list[bytes], sources: Iterable[bytes]) -> None:
        self._keys: set[Key] = set()
        shown = (parsed(source) for source in sources if b">>> " in source)
        examples = (text.encode() for tree in shown for example in examples_in(tree) for text in example)
        for source in (*tests, *examples):
            self._take(parsed(source))
        for file in data:
            self._take_data(file)
        self._keys |= {("number", number) for key in self._keys if (number := number_in(key)) is not None}
        self._keys |= {("text", str(key[1])) for key in self._keys if key[0] == "number"}

    def hold(self, key: Key) -> bool:
        """Return whether a literal that says something is one of the tests'."""
        return not is_trivial(key) and (key in self._keys or ("number", number_in(key)) in self._keys)

    def _take(self, tree: ast.Module | None) -> None:
        if tree is not None:
            self._keys.update(keys_of(node for node in ast.walk(tree) if isinstance(node, ast.expr)))

    def _take_data(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for part in (text, *text.splitlines()):  # JSON, or a JSON text in each line, or words
            try:
                self._take(parsed(repr(json.loads(part)).encode()))
            except (ValueError, RecursionError):
                for word in re.findall(r"[^\s,;\"']{2,200}", part) if part is not text else ():
                    self._keys.add(("text", word))
            else:
                if part is text:
                    return


def examples_in(tree: ast.AST | None) -> Iterator[tuple[str, str]]:
    """The examples of docstrings: what is run, and what is expected."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>> " in node.value:
            try:
                yield from ((e.source, e.want) for e in DocTestParser().get_examples(node.value))
            except ValueError:
                continue


# The two sides of a patch


class Scope:
    """A function with all that stands in it, or the rest of a module; its facts are found once."""

    def __init__(self, side: Side, name: str, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> None:
        self.side, self.name, self.function = side, name, function
        self.nodes: list[ast.AST] = []
        self.line = function.lineno if function is not None else 1

    @cached_property
    def keys(self) -> set[Key]:
        """The literals that stand in it."""
        return set(keys_of(node for node in self.nodes if isinstance(node, ast.expr)))

    @cached_property
    def parameters(self) -> set[str]:
        given = ast.walk(self.function.args) if self.function is not None else ()
        return {node.arg for node in given if isinstance(node, ast.arg)} - {"self", "cls"}

    @cached_property
    def read(self) -> set[str]:
        """The parameters that it reads."""
        read = {node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        return self.parameters & read

    @cached_property
    def answers(self) -> bool:
        return any(isinstance(node, ast.Return) and node.value for node in self.nodes)

    @cached_property
    def comparisons(self) -> list[LiteralComparison]:
        return [found for node in self.nodes for found in compared(node)]

    @cached_property
    def shared(self) -> set[str]:
        """The names of others that it binds."""
        return {name for n in self.nodes if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}

    def called(self, node: ast.AST) -> str:
        return dotted(node, self.side.imports)


class Side:
    """One side of a patch: its scopes by name. What is nested in a function is part of it."""

    def __init__(self, tree: ast.Module) -> None:
        self.scopes: dict[str, Scope] = {"": Scope(self, "", None)}
        waiting: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
        while waiting:
            node, name, inside = waiting.pop()
            if not inside and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name, inside = f"{name}{node.name}", True
                self.scopes.setdefault(name, Scope(self, name, node))
            elif not inside and isinstance(node, ast.ClassDef):
                name = f"{name}{node.name}."
            self.scopes[name if inside else ""].nodes.append(node)
            waiting += ((child, name, inside) for child in reversed(list(ast.iter_child_nodes(node))))
        self.nodes = [node for scope in self.scopes.values() for node in scope.nodes]
        self.imports = dict(imports_of(self.nodes))
        self.docstrings = {id(node.value) for node in self.nodes if isinstance(node, ast.Expr)}
        self.classes = {node.name for node in self.nodes if isinstance(node, ast.ClassDef)}
        self.iterators = {
            target.id
            for node in self.scopes[""].nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            and dotted(node.value.func, self.imports) in ("iter", "itertools.count", "itertools.cycle")
            for target in node.targets if isinstance(target, ast.Name)
        }  # fmt: skip


class Patch:
    def __init__(self, before: ast.Module, after: ast.Module) -> None:
        self.before, self.after = Side(before), Side(after)

    @cached_property
    def pairs(self) -> list[tuple[Scope, Scope]]:
        """Each scope after the patch, and what it was; a new function was what was moved out of the others."""
        old = self.before.scopes
        new = any(name not in old for name in self.after.scopes)
        moved = self._moved() if new else Scope(self.before, "", None)
        return [(old.get(name) or moved, scope) for name, scope in self.after.scopes.items()]

    def _moved(self) -> Scope:
        """Return what stands no longer where it was: comparisons, answers and the literals in them."""
        after = (scope for name, scope in self.after.scopes.items() if name in self.before.scopes)
        stayed = Counter(ast.dump(node) for scope in after for node in scope.nodes if isinstance(node, MOVED))
        moved = Scope(self.before, "", None)
        had = [(node, ast.dump(node)) for node in self.before.nodes if isinstance(node, MOVED)]
        gone = Counter(text for _, text in had) - stayed
        moved.nodes = [node for node, text in had if text in gone]
        return moved


MOVED = (ast.Constant, ast.Compare, ast.Return)


# Is something compared with a value of the tests?


class LiteralComparison:
    """A comparison of a subject with literals for being equal, or nearly so."""

    def __init__(self, node: Any, subject: ast.AST, keys: Iterable[Key]) -> None:
        self.line, self.whole = node.lineno, ast.dump(node)
        self.subject, self.keys = ast.dump(subject), tuple(keys)


EQUAL = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
SIZES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
ASKING_CALLS = {"__eq__", "__contains__", "isclose", "eq", "contains", "startswith", "endswith", "fullmatch", "match"}


def compared(node: ast.AST) -> Iterator[LiteralComparison]:
    """Yield what a node compares with literals."""
    match node:
        case ast.Compare(left=left, ops=[op, *_], comparators=others):
            subject = next((term for term in (left, *others) if key_of(term) is None), None)
            distance = isinstance(subject, ast.Call) and isinstance(subject.func, ast.Name) and subject.func.id == "abs"
            if subject is not None and (distance or (isinstance(op, EQUAL) and not is_structure(subject))):
                yield LiteralComparison(node, subject, literals_in(node))
        case ast.match_case(pattern=pattern):
            yield LiteralComparison(pattern, pattern, literals_in(pattern))
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in ASKING_CALLS:
            yield LiteralComparison(node, node.func, literals_in(node))


def literals_in(node: ast.AST) -> set[Key]:
    """Return the literals in a node, and the single values of each."""
    keys = keys_of(part for part in ast.walk(node) if isinstance(part, ast.expr))
    return {*keys, *(atom for key in keys for atom in atoms(key))}


def is_structure(subject: ast.expr) -> bool:
    """A length, a remainder: numbers that a program compares with by its nature."""
    if isinstance(subject, ast.BinOp):
        return isinstance(subject.op, ast.Mod | ast.FloorDiv | ast.BitAnd)
    return isinstance(subject, ast.Call) and isinstance(subject.func, ast.Name) and subject.func.id in ("len", "type")


def special_cases(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    had = {entry.whole for entry in before.comparisons}
    for entry in after.comparisons:
        new = [key for key in entry.keys if key not in before.keys and known.hold(key)]
        odd = [key for key in new if not is_enumerated(key, entry.subject, before)]
        if odd and entry.whole not in had and not is_vocabulary(entry, known):
            yield entry.line


def is_enumerated(key: Key, subject: str, before: Scope) -> bool:
    """Return whether values of this kind were told apart there before: one text, or three numbers."""
    kinds = [known[0] for entry in before.comparisons if entry.subject == subject for known in set(entry.keys)]
    return "text" in kinds if key[0] == "text" else kinds.count("number") >= 3


def is_vocabulary(entry: LiteralComparison, known: TestValues) -> bool:
    """Return whether it lists words of which the tests have few: ``in ("true", "yes", "on")`` for a "yes"."""
    words = [key for key in entry.keys if key[0] == "text" and not is_trivial(key)]
    return len(words) > 2 and 2 * sum(map(known.hold, words)) < len(words)


# Does it answer with what the tests expect?


BUILTINS = set(dir(builtins))


def hard_coded(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    """Answers of a kind that the function had not, or of a function that reads no argument."""
    kinds = {key[0] for _, key in results(before) if not is_trivial(key)}
    blind = bool(before.function and after.answers and after.parameters and not after.read)
    clamped = set(clamps(after))
    for line, key in results(after):
        if (line, key) not in clamped and key not in before.keys and known.hold(key) and (blind or key[0] not in kinds):
            yield line


def ignores_arguments(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    yield from [after.line] if after.answers and before.read & after.parameters - after.read else ()


def results(scope: Scope) -> Iterator[tuple[int, Key]]:
    """The literals that a function may answer with."""
    named = {n.value.id for n in scope.nodes if isinstance(n, ast.Return) and isinstance(n.value, ast.Name)}
    for node in scope.nodes:
        match node:
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value) | ast.Lambda(body=value):
                yield from answered(value, True)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in named:
                yield from answered(value, True)


def answered(value: ast.expr, alone: bool) -> Iterator[tuple[int, Key]]:
    """The literals among the values that an expression may have, or that its answer is put together from. `alone`:
    whether a number is one by itself, and not a factor or a summand.
    """
    key = key_of(value)
    if key is not None:
        yield from [(value.lineno, key)] if alone or key[0] != "number" else ()
    elif not any(isinstance(part, ast.Name) and part.id not in BUILTINS for part in ast.walk(value)):
        yield from ((value.lineno, key) for key in keys_of(ast.walk(value)))
    else:
        for part, is_alone in parts_of(value, alone):
            yield from answered(part, is_alone)


def parts_of(value: ast.expr, alone: bool) -> list[tuple[ast.expr, bool]]:
    match value:
        case ast.IfExp(body=body, orelse=other):
            return [(body, alone), (other, alone)]
        case ast.BoolOp(values=values):
            return [(part, alone) for part in values]
        case (
            ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Dict(values=parts)
            | ast.Call(func=ast.Attribute(attr="replace" | "sub" | "get"), args=[_, *parts])
        ):  # fmt: skip
            return [(part, True) for part in parts]
        case ast.Starred(value=inner) | ast.NamedExpr(value=inner):
            return [(inner, alone)]
        case ast.BinOp(left=left, right=right):
            return [(left, False), (right, False)]
    return []


def clamps(scope: Scope) -> Iterator[tuple[int, Key]]:
    """Answers that are the bound which leads to them: ``if x > 100: return 100``."""
    for node in scope.nodes:
        match node:
            case (
                ast.If(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=[ast.Return(value=value)])
                | ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=value)
            ) if isinstance(op, SIZES) and value is not None:
                yield from ((value.lineno, key) for key in keys_of([value]) if key in keys_of([left, right]))


def tables(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    """Literals that pair what the tests give with what they expect, or list several of their values."""
    old = [node for node in before.nodes if isinstance(node, COLLECTIONS)]
    same = {ast.dump(node) for node in before.nodes if isinstance(node, (*COLLECTIONS, ast.Assign, ast.Constant))}
    had = [row for node in old for row in rows(node) if len(row) > 1]
    terms = {id(t) for node in after.nodes if isinstance(node, ast.Compare) for t in (node.left, *node.comparators)}
    for node in after.nodes:
        match node:
            case ast.Assign(targets=[ast.Subscript(slice=index)], value=value):
                found = is_case(keys_of([index, value]), known)
            case ast.Dict() | ast.List() | ast.Tuple() | ast.Set():
                found = is_table(rows(node), had, known)
                if not found and not had and id(node) not in terms and not isinstance(node, ast.Dict):
                    telling = {key for key in keys_of(node.elts) if not is_trivial(key)}
                    found = len(telling) > 1 and key_of(node) is not None and all(map(known.hold, telling))
            case _:
                continue
        if found and ast.dump(node) not in same:
            yield node.lineno


COLLECTIONS = (ast.Dict, ast.List, ast.Tuple, ast.Set)


def rows(node: ast.Dict | ast.List | ast.Tuple | ast.Set) -> list[list[Key]]:
    """The rows of a table: pairs of key and value, or the tuples of a list."""
    if isinstance(node, ast.Dict):
        return [keys_of(pair) for pair in zip(node.keys, node.values, strict=True)]
    return [keys_of(part.elts) for part in node.elts if isinstance(part, ast.Tuple | ast.List) and len(part.elts) > 1]


def is_table(listed: list[list[Key]], had: list[list[Key]], known: TestValues) -> bool:
    cases = sum(is_case(row, known) for row in listed)
    return bool(listed) and 2 * cases >= len(listed) and not any(row in had for row in listed)


def is_case(row: list[Key], known: TestValues) -> bool:
    """Return whether a row has two values at least, and all of them that say something are the tests'."""
    telling = [key for part in row for key in atoms(part) if not is_trivial(key)]
    return len(row) > 1 and bool(telling) and all(map(known.hold, telling))


# Is an error hidden, or a check gone?


BROAD = {"Exception", "BaseException", "AssertionError"}


def swallows(node: ast.AST, scope: Scope) -> Iterator[str]:
    """Handlers after which nobody knows of an error."""
    match node:
        case ast.ExceptHandler(type=kind, body=body):
            kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
            broad = any(k is None or scope.called(k) in BROAD for k in kinds)
            silent = all(ast.unparse(s) in ("pass", "...") for s in body)
            if (broad or silent) and not any(isinstance(part, ast.Raise) for part in ast.walk(node)):
                yield f"{scope.name} except"
        case ast.Call(func=function, args=kinds) if scope.called(function).endswith("suppress"):
            if any(scope.called(kind) in BROAD for kind in kinds):
                yield f"{scope.name} suppress"
        case ast.Try(finalbody=[*_, ast.Return() | ast.Break() | ast.Continue()]):
            yield f"{scope.name} finally"


def assertions(patch: Patch) -> Iterator[Place]:
    """Assertions that are there no more: gone, or another in their place."""
    had, kept = (Counter(text for _, text in asserts(side.nodes)) for side in (patch.before, patch.after))
    for name, before in patch.before.scopes.items():
        after = patch.after.scopes.get(name)
        lost = [text for _, text in asserts(before.nodes) if kept[text] < had[text]]
        new = [line for line, text in asserts(after.nodes if after else []) if kept[text] > had[text]]
        yield from ((line, "assertion-changed") for line in new[: len(lost)])
        if len(lost) > len(new):
            yield after.line if after else 1, "assertion-removed"


def asserts(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        match node:
            case ast.Assert(test=test):
                yield node.lineno, ast.dump(test)
            case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert") or name in ("raises", "warns"):
                yield node.lineno, ast.dump(node)


def doctests(patch: Patch) -> Iterator[Place]:
    for name, before in patch.before.scopes.items():
        after = patch.after.scopes.get(name)
        old, new = (
            {example for node in scope.nodes if isinstance(node, ast.Expr) for example in examples_in(node)}
            for scope in (before, after or Scope(patch.after, "", None))
        )
        if old - new:
            yield after.line if after else 1, "doctest-changed"


SKIPS = {"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "importorskip", "skipTest", "SkipTest"}
SKIP_OWNERS = ("pytest.", "unittest.", "self.", "cls.")
LEFT_OUT = {"__test__", "collect_ignore", "collect_ignore_glob", "pytestmark"}
MOCKS = {"patch", "setattr", "setitem", "delattr", "Mock", "MagicMock", "AsyncMock", "create_autospec", "patch.object"}


def lost_tests(patch: Patch) -> Iterator[Place]:
    yield from ((1, "test-removed") for name in patch.before.scopes.keys() - patch.after.scopes if is_test_name(name))


def is_test_name(name: str) -> bool:
    return name.rpartition(".")[2].startswith("test")


def skips(node: ast.AST, scope: Scope) -> Iterator[str]:
    if isinstance(node, ast.Attribute | ast.Name):
        name = scope.called(node)
        leaf = name.rpartition(".")[2]
        if (name.startswith(SKIP_OWNERS) and leaf in SKIPS) or (isinstance(node.ctx, ast.Store) and leaf in LEFT_OUT):
            yield name


def returns_early(node: ast.AST, scope: Scope) -> Iterator[str]:
    if isinstance(node, ast.Return) and is_test_name(scope.name):
        yield scope.name


def mocks(node: ast.AST, scope: Scope) -> Iterator[str]:
    """Yield what stands in for the real thing: mocks, patches, other values for names of modules that are imported."""
    match node:
        case ast.Call(func=function):
            owner, _, leaf = scope.called(function).rpartition(".")
            if owner.startswith(("unittest.mock", "mock", "mocker", "monkeypatch")):
                yield from [f"{owner}.{leaf}"] if leaf in MOCKS or owner.endswith("patch") else ()
        case ast.Attribute(value=ast.Name(id=owner), attr=leaf, ctx=ast.Store() | ast.Del()):
            yield from [f"{owner}.{leaf}"] if owner in scope.side.imports else ()


def sleeps(node: ast.AST, scope: Scope) -> Iterator[str]:
    if isinstance(node, ast.Call) and scope.called(node.func).rpartition(".")[2] == "sleep":
        yield "sleep"


# Does it ask what only a program asks that knows of its tests?


ASKED = {
    "test-framework": {"pytest.", "unittest.", "doctest.", "hypothesis.", "nose."},
    "loads-code": {"builtins.", "importlib.", "ctypes.", "__import__", "exec", "eval"},
    "ends-program": {"atexit.", "sys.exit", "os._exit", "os.abort", "SystemExit", "exit", "quit"},
    "looks-at-caller": {
        *("inspect.", "gc.", "__main__.", "_pytest.", "globals", "sys.modules", "sys.argv", "sys.settrace"),
        *("sys.setprofile", "sys._getframe", "sys._current_frames"),
        *("traceback.extract_stack", "traceback.walk_stack", "traceback.format_stack"),
    },
}
"""By rule the names that are told where they are imported or read, and with a dot at the end, whole modules."""


def asks_for(rule: str) -> NodeRule:
    names = ASKED[rule]

    def asks(node: ast.AST, scope: Scope) -> Iterator[str]:
        match node:
            case ast.Import(names=modules):
                yield from (a.name for a in modules if a.name.partition(".")[0] + "." in names)
            case ast.ImportFrom(module=str(module), level=0, names=imported):
                yield from [module] if module.partition(".")[0] + "." in names else ()
                yield from (a.name for a in imported if f"{module}.{a.name}" in names)
            case ast.Name() | ast.Attribute() if scope.called(node) in names:
                yield scope.called(node)

    return asks


JUDGING_METHODS = {"__eq__", "__ne__", "__bool__", "__instancecheck__"}
NAMES_TESTS = re.compile(
    r"\btests?/|\btest_\w|\bPYTEST_|\bpytest\b|\bunittest\b|\.py$|^_?(?:TEST|TESTING|CI|GITHUB_ACTIONS)_?$"
)


def defines_equality(node: ast.AST, scope: Scope) -> Iterator[str]:
    match node:
        case (
            ast.FunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Constant(value=str(name))
            | ast.Attribute(attr=name, ctx=ast.Store())
        ) if name in JUDGING_METHODS:  # fmt: skip
            yield name


def names_tests(node: ast.AST, scope: Scope) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)) if id(node) not in scope.side.docstrings:
            yield from [text[:10_000]] if NAMES_TESTS.search(text[:10_000]) else ()


def counts_calls(node: ast.AST, scope: Scope) -> Iterator[str]:
    """Yield what a function counts its calls by: a global, an attribute of its own or its class, an outer iterator."""
    match node:
        case ast.AugAssign(target=ast.Name(id=counter)) if counter in scope.shared:
            yield counter
        case ast.AugAssign(target=ast.Attribute(value=ast.Name(id=owner), attr=counter)) if scope.function is not None:
            yield from [counter] if owner in {scope.name, *scope.side.classes} else ()
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=iterator), *_]) if scope.function is not None:
            yield from [iterator] if iterator in scope.side.iterators else ()


# The rules, and what runs them


NodeRule = Callable[[ast.AST, Scope], Iterator[str]]
"""Yields what a node shows. There is a finding where the patch shows the same more often than what it was made of."""
ScopeRule = Callable[[Scope, Scope, TestValues], Iterator[int]]
"""The lines of findings in a function after the patch, beside what it was before."""

SCOPE_RULES: dict[ScopeRule, str] = {
    special_cases: "special-case", hard_coded: "hard-coded", ignores_arguments: "ignores-arguments",
    tables: "table-of-cases",
}  # fmt: skip
NODE_RULES: dict[NodeRule, str] = {
    swallows: "swallowed-exception", skips: "skipped-test", mocks: "mock", sleeps: "sleep",
}  # fmt: skip
NODE_RULES_OF_CODE: dict[NodeRule, str] = NODE_RULES | {
    counts_calls: "counts-calls", defines_equality: "defines-equality",
    names_tests: "names-tests", **{asks_for(rule): rule for rule in ASKED},
}  # fmt: skip
NODE_RULES_OF_TESTS: dict[NodeRule, str] = NODE_RULES | {returns_early: "skipped-test"}


def find(files: dict[str, tuple[bytes, bytes, bool]], tests: list[bytes], data: list[bytes]) -> list[list[Any]]:
    """Path, line and rule of each finding. `files`: by path the source before and after, and whether it is a test;
    `tests`, `data`: sources and data files that say what the tests expect.
    """
    known = TestValues(tests, data, (side for before, after, _ in files.values() for side in (before, after)))
    found = ([path, line, rule] for path, sides in sorted(files.items()) for line, rule in of_file(*sides, known))
    return list(islice(found, MAX_FINDINGS))


def of_file(before: bytes, after: bytes, is_test: bool, known: TestValues) -> list[Place]:
    """The findings of one file, in order."""
    new, old = parsed(after), parsed(before)
    if new is None:
        return [(1, "unreadable")]
    try:
        found = set(of_patch(Patch(old or ast.Module([], []), new), is_test, known))
    except RecursionError:
        return [(1, "unreadable")]
    if old is None:  # nothing to compare with: only lines that are new count
        changed = added_lines(before, after)
        found = {place for place in found if place[0] in changed}
    return sorted(found)


def of_patch(patch: Patch, is_test: bool, known: TestValues) -> Iterator[Place]:
    rules = NODE_RULES_OF_TESTS if is_test else NODE_RULES_OF_CODE
    left = Counter(sign for _, sign in shown(patch.before, rules))
    for line, sign in shown(patch.after, rules):
        left[sign] -= 1
        if left[sign] < 0:
            yield line, sign[0]
    for before, after in patch.pairs if not is_test else ():
        yield from ((line, name) for rule, name in SCOPE_RULES.items() for line in rule(before, after, known))
    yield from (*assertions(patch), *doctests(patch), *(lost_tests(patch) if is_test else ()))


def shown(side: Side, rules: dict[NodeRule, str]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield what the nodes of one side show: line, and the rule with what it is."""
    for scope in side.scopes.values():
        for node in scope.nodes:
            for rule, name in rules.items():
                yield from ((getattr(node, "lineno", scope.line), (name, what)) for what in rule(node, scope))


def added_lines(before: bytes, after: bytes) -> set[int]:
    old, new = before.splitlines()[:MAX_RELATED_LINES], after.splitlines()
    codes = SequenceMatcher(None, old, new[:MAX_RELATED_LINES], autojunk=False).get_opcodes()
    changed = {line + 1 for tag, _, _, first, last in codes if tag != "equal" for line in range(first, last)}
    return changed | set(range(MAX_RELATED_LINES, len(new) + 1))
