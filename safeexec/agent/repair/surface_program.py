"""Finds, in the syntax trees before and after a patch, what serves the tests instead of mending the code.

This file is a program of its own: `surface` sends its text to a confined child, as the files that it parses are a
stranger's, and nothing in the host imports it. It uses the standard library alone. What a rule means, with examples, is
in `surface_rules`.
"""

from __future__ import annotations

import ast
import base64
import builtins
import codecs
import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from doctest import DocTestParser
from itertools import islice
from typing import Any, NamedTuple

Key = tuple[Any, ...]
"""What a literal says, whatever its spelling: its kind, and its value or the keys of its parts."""
Place = tuple[int, str]
"""A line from 1, and the name of a rule."""
MAX_FINDINGS = 200
MAX_RELATED_LINES = 5000


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
        patch = Patch(Side(folded_tree(old or ast.Module([], []))), Side(folded_tree(new)), is_test)
        found = {place for rule in RULES for place in rule(patch, known)}
    except RecursionError:
        return [(1, "unreadable")]
    if old is None:  # nothing to compare with: only lines that are new count
        changed = added_lines(before, after)
        found = {place for place in found if place[0] in changed}
    return sorted(found)


def parsed(source: bytes) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def added_lines(before: bytes, after: bytes) -> set[int]:
    old, new = before.splitlines()[:MAX_RELATED_LINES], after.splitlines()
    codes = SequenceMatcher(None, old, new[:MAX_RELATED_LINES], autojunk=False).get_opcodes()
    changed = {line + 1 for tag, _, _, first, last in codes if tag != "equal" for line in range(first, last)}
    return changed | set(range(MAX_RELATED_LINES, len(new) + 1))


# What is computed from literals alone is the literal that comes of it


PURE: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: function
        for function in (
            abs, bool, bytes, chr, dict, divmod, enumerate, float, frozenset, int, len, list, map, max, min, ord,
            reversed, round, set, sorted, str, sum, tuple, zip,
        )
    },
    "json.loads": json.loads, "base64.b64decode": base64.b64decode, "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode, "bytes.fromhex": bytes.fromhex, "binascii.unhexlify": bytes.fromhex,
    "codecs.decode": codecs.decode, "ast.literal_eval": ast.literal_eval,
}  # fmt: skip
PURE_METHODS = {
    *("capitalize", "casefold", "decode", "encode", "get", "items", "join", "keys", "lower", "lstrip", "removeprefix"),
    *("removesuffix", "replace", "rstrip", "split", "splitlines", "strip", "swapcase", "title", "upper", "values"),
}
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.Pow: operator.pow,
}  # fmt: skip
NOT_COMPUTED = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError),
)
MAX_TEXT = 4000
"""Characters of a literal that is computed with, or comes of it."""


def folded_tree(tree: ast.Module) -> ast.Module:
    """The tree with literals in place of what is computed from literals alone, and of names that stand for one."""
    fold(tree)
    named, defaults, classes = names_of_literals(tree)
    for parent in ast.walk(tree) if named or defaults else ():
        for field, index, child in children(parent):
            name = ""
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                name = child.id
            elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Load):
                name = child.attr if isinstance(child.value, ast.Name) and child.value.id in classes else ""
            value = named.get(name) or (defaults.get(name) if isinstance(parent, ast.Compare) else None)
            if value is not None:
                put(parent, field, index, ast.copy_location(ast.Constant(value.value), child))
    if named or defaults:
        fold(tree)
    return tree


def fold(tree: ast.Module) -> None:
    imports = dict(imports_of(ast.walk(tree)))
    for parent in reversed(list(ast.walk(tree))):
        for field, index, child in children(parent):
            if isinstance(child, ast.BinOp | ast.Call | ast.Subscript | ast.JoinedStr):
                try:
                    text = repr(computed(child, imports))
                    value = ast.parse(text, mode="eval").body if len(text) <= MAX_TEXT else child
                except NOT_COMPUTED:
                    continue
                for node in ast.walk(value):
                    ast.copy_location(node, child)
                put(parent, field, index, value)


def children(parent: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """The expressions below a node, each with its place there."""
    for field, value in ast.iter_fields(parent):
        if isinstance(value, ast.expr):
            yield field, None, value
        elif isinstance(value, list):
            yield from ((field, index, item) for index, item in enumerate(value) if isinstance(item, ast.expr))


def put(parent: ast.AST, field: str, index: int | None, value: ast.AST) -> None:
    if index is None:
        setattr(parent, field, value)
    else:
        getattr(parent, field)[index] = value


def computed(node: ast.AST, imports: dict[str, str]) -> Any:
    """What an expression gives whose parts are literals. Raises ValueError for any other, and what computing raises."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            a, b = literal(left), literal(right)
            if isinstance(op, ast.Pow) and (abs(a) > 1000 or abs(b) > 64):
                raise ValueError("too large")
            if isinstance(op, ast.Mult):
                for many, times in ((a, b), (b, a)):
                    if isinstance(times, int) and not isinstance(many, NUMBERS) and len(many) * times > MAX_TEXT:
                        raise ValueError("too large")
            return OPERATORS[type(op)](a, b)
        case ast.JoinedStr(values=values):
            return "".join(part_of_text(value) for value in values)
        case ast.Subscript(value=value, slice=ast.Slice(lower=low, upper=high, step=step), ctx=ast.Load()):
            return literal(value)[slice(*(None if part is None else literal(part) for part in (low, high, step)))]
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()):
            place = literal(index)
            return literal(value)[place]
        case ast.Call(func=ast.Attribute(attr=name, value=owner), args=terms, keywords=[]) if is_literal(owner):
            if name not in PURE_METHODS:
                raise ValueError(name)
            given = [argument(term) for term in terms]
            found = getattr(literal(owner), name)(*given)
        case ast.Call(func=function, args=terms, keywords=keywords):
            name = ast.unparse(function) if isinstance(function, ast.Name | ast.Attribute) else ""
            first, dot, rest = name.partition(".")
            named = {str(keyword.arg): literal(keyword.value) for keyword in keywords}
            found = PURE[imports.get(first, first) + dot + rest](*map(argument, terms), **named)
        case _:
            raise ValueError("no literal")
    return found if isinstance(found, LITERALS) else list(found)


NUMBERS = (int, float, complex)
LITERALS = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type(None))


def part_of_text(node: ast.expr) -> str:
    if isinstance(node, ast.FormattedValue) and node.format_spec is None and node.conversion == -1:
        return str(literal(node.value))
    return str(literal(node))


def argument(node: ast.expr) -> Any:
    return PURE[node.id] if isinstance(node, ast.Name) else literal(node)


def is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.Set | ast.UnaryOp)


def literal(node: ast.expr) -> Any:
    if not is_literal(node):
        raise ValueError("no literal")
    return ast.literal_eval(node)


def names_of_literals(
    tree: ast.Module,
) -> tuple[dict[str, ast.Constant], dict[str, ast.Constant], set[str]]:
    """Names that are bound once, to a number or a text: variables, parameters by their default; and the classes."""
    bound: Counter[str] = Counter()
    named: dict[str, ast.Constant] = {}
    defaults: dict[str, ast.Constant] = {}
    classes: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.Attribute(attr=name, ctx=ast.Store() | ast.Del())
                | ast.arg(arg=name) | ast.alias(name=name)
            ):  # fmt: skip
                bound[name] += 1
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                bound.update(names * 2)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound[name] += 1
            case ast.ClassDef(name=name):
                classes.add(name)
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() | int() | float()) as value):
                named[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str() | int() | float()) as value):
                named[name] = value
            case ast.arguments(posonlyargs=first, args=others, defaults=values):
                parameters = [*first, *others]
                for parameter, default in zip(parameters[len(parameters) - len(values) :], values, strict=True):
                    if isinstance(default, ast.Constant) and isinstance(default.value, str | int | float):
                        defaults[parameter.arg] = default
    once = {name for name, count in bound.items() if count == 1}
    return (
        {name: value for name, value in named.items() if name in once},
        {name: value for name, value in defaults.items() if name in once},
        classes,
    )


# Literals


def key_of(node: ast.AST | None) -> Key | None:
    """What a literal says; None for what is no literal. Sums of numbers, and conversions of one literal, are."""
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
            return group_of("group", parts)
        case ast.Dict(keys=keys, values=values):
            return group_of("mapping", [*keys, *values])
        case ast.BinOp(left=left, op=op, right=right):
            return folded(key_of(left), op, key_of(right))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in CONVERSIONS:
            return converted(key_of(argument))
    return None


CONVERSIONS = {"float", "int", "str", "Decimal", "Fraction", "list", "tuple", "set", "frozenset", "bytes"}


def group_of(kind: str, parts: Iterable[ast.AST | None]) -> Key | None:
    keys = tuple(key_of(part) for part in parts)
    return None if None in keys else (kind, keys)


def folded(left: Key | None, op: ast.operator, right: Key | None) -> Key | None:
    """The value of a small sum of two literals; None for any other."""
    if left is None or right is None or left[0] != right[0] or left[0] not in ("number", "text"):
        return None
    a, b = left[1], right[1]
    try:
        if isinstance(op, ast.Add):
            return (left[0], a + b)
        if left[0] == "text" or isinstance(a, complex) or isinstance(b, complex) or max(abs(a), abs(b)) > 1e15:
            return None
        match op:
            case ast.Sub():
                return ("number", a - b)
            case ast.Mult():
                return ("number", a * b)
            case ast.Div():
                return ("number", a / b)
    except (ArithmeticError, TypeError):
        pass
    return None


def converted(key: Key | None) -> Key | None:
    number = number_in(key)
    return key if number is None else ("number", number)


def number_in(key: Key | None) -> float | None:
    """The number that a text says."""
    if key is None or key[0] != "text" or len(key[1]) > 40:
        return None
    try:
        return float(key[1])
    except ValueError:
        return None


def is_trivial(key: Key) -> bool:
    """Whether a literal is as likely in any program: small whole numbers, single characters, constants, nothing."""
    kind, value = key
    if kind == "number":
        return value == value and not isinstance(value, complex) and abs(value) <= 2 and value == int(value)
    if kind == "text":
        return len(value) <= 1
    return kind == "other" or (len(value) < 3 and all(is_trivial(part) for part in value))


def atoms(key: Key) -> Iterator[Key]:
    """The single values of a literal."""
    if key[0] in ("group", "mapping"):
        for part in key[1]:
            yield from atoms(part)
    else:
        yield key


MAX_TEXTS = 5000
LEAST_LENGTH = 4
"""Lengths that are more than what a program tells apart by its nature."""


def letters(text: str) -> str:
    """The same for a text in another case or order."""
    return "".join(sorted(text.casefold()))


class TestValues:
    """The literals of the tests: in their sources, in the examples of docstrings, in data beside them."""

    def __init__(self, tests: list[bytes], data: list[bytes], sources: Iterable[bytes]) -> None:
        self._keys: set[Key] = set()
        self._lengths: set[int] = set()
        self._sums: set[float] = set()
        for source in tests:
            self._take(parsed(source))
        for source in sources:
            for example in examples_in(parsed(source)):
                for text in example:
                    self._take(parsed(text.encode()))
        for file in data:
            self._take_data(file)
        self._keys |= {("number", number) for key in self._keys if (number := number_in(key)) is not None}
        self._keys |= {("text", str(key[1])) for key in self._keys if key[0] == "number"}
        self._numbers = sorted(
            key[1] for key in self._keys if key[0] == "number" and isinstance(key[1], int | float) and key[1] == key[1]
        )

        texts = [str(key[1]) for key in self._keys if key[0] == "text" and 3 < len(key[1]) <= MAX_TEXT]
        self._letters = {letters(text) for text in texts}
        self._all = "\n".join(texts[:MAX_TEXTS]).casefold()

    def _take(self, tree: ast.Module | None) -> None:
        for node in ast.walk(tree) if tree is not None else ():
            key = key_of(node)
            if key is not None:
                self._keys.add(key)
                if key[0] in ("text", "group"):
                    self._lengths.add(len(key[1]))
            if isinstance(node, ast.Call):
                numbers = [n[1] for n in map(key_of, node.args) if n is not None and n[0] == "number"]
                if len(numbers) > 1 and not any(isinstance(number, complex) for number in numbers):
                    self._sums.update((sum(numbers), numbers[0] - numbers[1], numbers[0] * numbers[1]))

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

    def hold(self, key: Key) -> bool:
        """Whether a literal that says something is one of the tests'."""
        if key[0] == "range":
            return any(key[1] <= number <= key[2] and not is_trivial(("number", number)) for number in self._numbers)
        match key:
            case ("fingerprint", *_):
                return True
            case ("length", int(size)):
                return size > LEAST_LENGTH and size in self._lengths
            case ("sum", number):
                return not is_trivial(("number", number)) and number in self._sums
            case ("part", str(text)):
                return any(word.casefold() in self._all for word in re.findall(r"[^\W_]{4,}|\d{3}", text[:MAX_TEXT]))
            case ("group", parts) if len(parts) > 3 and all(part[0] == "text" for part in parts):
                if letters("".join(part[1] for part in parts)) in self._letters:
                    return True
            case ("text", str(text)) if len(text) > 3 and letters(text) in self._letters:
                return True
        return not is_trivial(key) and (key in self._keys or converted(key) in self._keys)

    def give(self, number: float) -> bool:
        """Whether a number is one of the tests', or says nothing."""
        return ("number", number) in self._keys or is_trivial(("number", number))


# The two sides of a patch


class Scope(NamedTuple):
    """A function with all that stands in it, or the rest of a module."""

    nodes: list[ast.AST]
    function: ast.FunctionDef | ast.AsyncFunctionDef | None

    @property
    def line(self) -> int:
        return self.function.lineno if self.function is not None else 1


class Side:
    """One side of a patch: its tree, and its scopes by name. What is nested in a function is part of it."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes = list(ast.walk(tree))
        self.scopes: dict[str, Scope] = {"": Scope([], None)}
        waiting: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
        while waiting:
            node, name, inside = waiting.pop()
            if not inside and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name, inside = f"{name}{node.name}", True
                self.scopes.setdefault(name, Scope([], node))
            elif not inside and isinstance(node, ast.ClassDef):
                name = f"{name}{node.name}."
            self.scopes[name if inside else ""].nodes.append(node)
            waiting += ((child, name, inside) for child in reversed(list(ast.iter_child_nodes(node))))
        self.docstrings = {id(node.value) for node in self.nodes if isinstance(node, ast.Expr)}
        self.imports = dict(imports_of(self.nodes))


class Patch(NamedTuple):
    before: Side
    after: Side
    is_test: bool

    def pairs(self) -> Iterator[tuple[Scope, Scope]]:
        """Each scope after the patch, and what it was; a new function was what was moved out of the others."""
        for name, scope in self.after.scopes.items():
            yield self.before.scopes.get(name) or self._moved(), scope

    def _moved(self) -> Scope:
        """What stands no longer where it was: a new function may hold it."""
        stayed = [scope for name, scope in self.after.scopes.items() if name in self.before.scopes]
        kept = Counter(ast.dump(node) for scope in stayed for node in telling(scope.nodes))
        gone = Counter(map(ast.dump, telling(self.before.nodes))) - kept
        return Scope([node for node in telling(self.before.nodes) if ast.dump(node) in gone], None)

    def added(self, of: Callable[[Side], Iterable[tuple[int, str]]]) -> Iterator[int]:
        """Lines of what there is more often than before: `of` tells lines and what stands there."""
        left = Counter(what for _, what in of(self.before))
        for line, what in of(self.after):
            left[what] -= 1
            if left[what] < 0:
                yield line


def telling(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that comparisons and answers are made of."""
    return (node for node in nodes if isinstance(node, ast.Constant | ast.Compare | ast.Return))


def imports_of(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Each name that is imported, and what it stands for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((a.asname or a.name.partition(".")[0], a.name if a.asname else a.name.partition(".")[0])
                        for a in node.names)  # fmt: skip
        elif isinstance(node, ast.ImportFrom):
            yield from ((a.asname or a.name, f"{node.module or ''}.{a.name}") for a in node.names)


def dotted(node: ast.AST, side: Side) -> str:
    """The name that an expression reads, as the imports have it: `os.path.join`; empty for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ".".join(["", *reversed(parts)])
    return ".".join([side.imports.get(node.id, node.id), *reversed(parts)])


# Values of the tests in the code


class Site(NamedTuple):
    """One comparison with literals."""

    line: int
    subject: str
    literals: tuple[Key, ...]
    whole: str


EQUAL = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
COMPARING_CALLS = {"__eq__", "__ne__", "__contains__", "isclose", "eq", "contains", "issubset", "issuperset"}
SEARCHING_CALLS = {"startswith", "endswith", "fullmatch", "match", "search", "find", "rfind", "findall", "__contains__"}
PLACES = {"index", "count", "find", "rfind", "__eq__", "__ne__", "__contains__", "issubset", "issuperset"}
FINGERPRINTS = {"hash", "crc32", "adler32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s"}


def sites(scope: Scope) -> Iterator[Site]:
    """Where something is compared with literals for being equal, or nearly so."""
    guards = {id(part) for node in scope.nodes for part in guard_parts(node)}
    for node in scope.nodes:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                yield from compared(node, [left, *others], ops)
                yield from structures(node, [left, *others], ops, id(node) in guards)
            case (
                ast.If(test=ast.BinOp() as test) | ast.IfExp(test=ast.BinOp() as test)
                | ast.While(test=ast.BinOp() as test) | ast.UnaryOp(op=ast.Not(), operand=ast.BinOp() as test)
            ):  # fmt: skip
                yield site(test, test.left, [*literals_in(test)])
            case ast.Call(func=ast.Attribute(attr=name, value=owner), args=[term, *_]) if (
                name in PLACES and key_of(owner) is not None
            ):
                yield site(node, term, [*literals_in(owner)])
            case ast.Call(func=ast.Attribute(attr=name, value=owner), args=terms) if name in SEARCHING_CALLS:
                sought = [key for term in terms for key in literals_in(term)]
                yield site(node, owner, [*sought, *(("part", key[1]) for key in sought if key[0] == "text")])
            case ast.Match(subject=subject, cases=cases):
                for case in cases:
                    keys = [key_of(part.value) for part in ast.walk(case.pattern) if isinstance(part, ast.MatchValue)]
                    yield site(case.pattern, subject, [key for key in keys if key is not None])
            case ast.Call(func=ast.Attribute(attr=name, value=owner), args=terms) if name in COMPARING_CALLS:
                yield site(node, owner, [key for term in terms for key in literals_in(term)])
            case ast.Call(func=ast.Name(id=name) as owner, args=terms) if name in COMPARING_CALLS:
                yield site(node, owner, [key for term in terms for key in literals_in(term)])


def compared(node: ast.Compare, terms: list[ast.expr], ops: list[ast.cmpop]) -> Iterator[Site]:
    subject = next((term for term in terms if key_of(term) is None), None)
    if subject is None or is_structure(subject):
        return
    keys: list[Key] = []
    if isinstance(ops[0], EQUAL):
        keys = [key for term in terms for key in literals_in(term)]
    elif isinstance(subject, ast.Call) and isinstance(subject.func, ast.Name) and subject.func.id == "abs":
        keys = [key for term in subject.args for key in literals_in(term)]
    elif len(terms) == 3:
        low, high = key_of(terms[0]), key_of(terms[2])
        keys = [("range", low[1], high[1])] if low is not None and high is not None and is_narrow(low, high) else []
    yield site(node, subject, keys)


def structures(node: ast.Compare, terms: list[ast.expr], ops: list[ast.cmpop], guard: bool) -> Iterator[Site]:
    """Comparisons of what is computed of a value: parts, lengths, remainders, sums, fingerprints of it."""
    for term, other in (terms, terms[::-1]) if len(terms) == 2 else ():
        if isinstance(term, ast.Set):
            yield site(node, other, [("part", key[1]) for key in literals_in(term) if key[0] == "text"])
    if len(terms) != 2 or not isinstance(ops[0], EQUAL):
        return
    first, second = terms if key_of(terms[0]) is None else reversed(terms)
    key = key_of(second)
    if isinstance(ops[0], ast.In | ast.NotIn):
        if second is terms[0] and key is not None and key[0] == "text":
            yield site(node, first, [("part", key[1])])
        return
    if key is None:
        return
    match first:
        case ast.Subscript(value=inner, slice=ast.Slice()) if key[0] == "text":
            yield site(node, inner, [("part", key[1])])
        case ast.Call(func=ast.Name(id="len"), args=[inner]) if key[0] == "number" and not guard:
            yield site(node, inner, [("length", key[1])])
        case ast.BinOp(left=inner, op=ast.Mod(), right=by) if (divisor := key_of(by)) is not None:
            yield site(node, ast.Tuple([inner]), [divisor])
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()) if key[0] == "number":
            yield site(node, first, [("sum", key[1])])
    for call in ast.walk(first):
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name in FINGERPRINTS:
                yield site(node, first, [("fingerprint", *key)])


def guard_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a condition that leads to an error alone."""
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
        yield from ast.walk(node.test)


def is_structure(subject: ast.expr) -> bool:
    """A length, a remainder: numbers that a program compares with by its nature."""
    if isinstance(subject, ast.BinOp):
        return isinstance(subject.op, ast.Mod | ast.FloorDiv | ast.BitAnd)
    return isinstance(subject, ast.Call) and isinstance(subject.func, ast.Name) and subject.func.id in ("len", "type")


def is_narrow(low: Key, high: Key) -> bool:
    if low[0] != "number" or high[0] != "number" or (is_trivial(low) and is_trivial(high)):
        return False
    return not isinstance(low[1], complex) and not isinstance(high[1], complex) and 0 <= high[1] - low[1] <= 2


def site(node: Any, subject: ast.AST, literals: list[Key]) -> Site:
    return Site(node.lineno, ast.dump(subject), tuple(literals), ast.dump(node))


def literals_in(term: ast.AST) -> Iterator[Key]:
    """The literals that a term of a comparison is, or is made of."""
    key = key_of(term)
    if key is not None:
        yield from (key, *atoms(key)) if key[0] in ("group", "mapping") else (key,)
    elif isinstance(term, ast.Tuple | ast.List | ast.Set):
        for part in term.elts:
            yield from literals_in(part)
    elif isinstance(term, ast.Call) and isinstance(term.func, ast.Name) and term.func.id == "range":
        match [key_of(part) for part in term.args]:
            case [("number", int(low)), ("number", int(high))] if is_narrow(("number", low), ("number", high - 1)):
                yield ("range", low, high - 1)
    elif isinstance(term, ast.BinOp) and isinstance(term.op, ast.Sub | ast.BitXor | ast.BitAnd):
        yield from literals_in(term.left)
        yield from literals_in(term.right)


def special_cases(patch: Patch, known: TestValues) -> Iterator[Place]:
    for before, after in patch.pairs() if not patch.is_test else ():
        old = list(sites(before))
        same, had = {entry.whole for entry in old}, literal_keys(before)
        for entry in sites(after):
            new = [key for key in entry.literals if key not in had and known.hold(key)]
            if entry.whole not in same and any(not is_enumerated(key, entry.subject, old) for key in new):
                yield entry.line, "special-case"


def is_enumerated(key: Key, subject: str, before: list[Site]) -> bool:
    """Whether values of this kind were told apart there before: one text, or three numbers."""
    kinds = [known[0] for entry in before if entry.subject == subject for known in set(entry.literals)]
    if subject.startswith("Tuple"):  # of remainders
        return bool(kinds)
    return kinds.count("text") >= 1 if key[0] in ("text", "part") else kinds.count("number") >= 3


def literal_keys(scope: Scope) -> set[Key]:
    return {key for node in scope.nodes if isinstance(node, ast.expr) and (key := key_of(node)) is not None}


def results(scope: Scope) -> Iterator[tuple[int, Key]]:
    """The literals that a function may answer with."""
    answered = {
        node.value.id for node in scope.nodes if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
    }
    for node in scope.nodes:
        match node:
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value) | ast.Lambda(body=value):
                yield from constants(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in answered:
                yield from constants(value)


def constants(value: ast.expr) -> Iterator[tuple[int, Key]]:
    """The literals among the values that an expression may have, or that its answer is put together from."""
    waiting = [(value, True)]
    while waiting:
        value, alone = waiting.pop()
        key = key_of(value)
        if key is not None:
            if alone or key[0] != "number":
                yield value.lineno, key
        elif not any(isinstance(part, ast.Name) and part.id not in BUILTINS for part in ast.walk(value)):
            keys = (key_of(part) for part in ast.walk(value))
            yield from ((value.lineno, key) for key in keys if key is not None)
        else:
            waiting += parts_of(value, alone)


def parts_of(value: ast.expr, alone: bool) -> list[tuple[ast.expr, bool]]:
    """The parts of an answer, and whether a number among them is one by itself and not a factor or a summand."""
    match value:
        case ast.IfExp(body=body, orelse=other):
            return [(body, alone), (other, alone)]
        case ast.BoolOp(values=values):
            return [(part, alone) for part in values]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Dict(values=parts):
            return [(part, True) for part in parts]
        case ast.Starred(value=inner) | ast.NamedExpr(value=inner):
            return [(inner, alone)]
        case ast.BinOp(left=left, right=right):
            return [(left, False), (right, False)]
        case ast.Call(func=ast.Attribute(attr="replace" | "sub" | "get"), args=[_, *others]):
            return [(part, True) for part in others]
    return []


BUILTINS = set(dir(builtins))


def bounds(patch: Patch, known: TestValues) -> Iterator[Place]:
    """New bounds that no test gives, where nothing was told apart by its size: ``x > 99`` for a 100. A bound that is
    itself one of the tests' values is what a mended threshold looks like, too, and is none here.
    """
    for before, after in patch.pairs() if not patch.is_test else ():
        had, bounded = literal_keys(before), {subject for _, subject, _ in limits(before)}
        for line, subject, number in limits(after):
            if subject not in bounded and ("number", number) not in had and not known.give(number):
                yield line, "bound-beside-case"


def limits(scope: Scope) -> Iterator[tuple[int, str, float]]:
    """Where something is compared with a number by its size: line, what is compared, the number."""
    for node in scope.nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], SIZES):
            first, second = node.left, node.comparators[0]
            subject, key = (first, key_of(second)) if key_of(first) is None else (second, key_of(first))
            if key is not None and key[0] == "number" and not isinstance(key[1], complex) and not is_structure(subject):
                yield node.lineno, ast.dump(subject), key[1]


SIZES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def formulas(patch: Patch, known: TestValues) -> Iterator[Place]:
    """Arithmetic with several numbers that the function did not have where it looped or asked others before; numbers
    that a comparison switches on and off. Both fit what the tests expect, whatever the function should do.
    """
    for before, after in patch.pairs() if not patch.is_test else ():
        if after.function is None or patch.before.scopes.get("") is before:
            continue
        had = literal_keys(before)
        numbers = {key for _, key in factors(after)} - had
        if works(before) and not works(after) and len(numbers) > 1:
            yield after.line, "fitted-formula"
        switched = [] if any(True for _ in switches(before)) else list(switches(after))
        yield from ((line, "fitted-formula") for line, keys in switched if not keys <= had)


def factors(scope: Scope) -> Iterator[tuple[int, Key]]:
    """The numbers of a function's arithmetic that say something."""
    for node in scope.nodes:
        if isinstance(node, ast.BinOp) and key_of(node) is None:
            keys = (key_of(term) for term in (node.left, node.right))
            yield from (
                (node.lineno, key) for key in keys if key is not None and key[0] == "number" and not is_trivial(key)
            )


def works(scope: Scope) -> bool:
    """Whether a function does more than arithmetic: a loop, a call of something that is not built in."""
    return any(
        isinstance(node, ast.For | ast.While | ast.comprehension)
        or (isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in BUILTINS))
        for node in scope.nodes
    )


def switches(scope: Scope) -> Iterator[tuple[int, set[Key]]]:
    """Comparisons with numbers that are a term of a sum or a product: line, the numbers."""
    for node in scope.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            for term in (node.left, node.right):
                if isinstance(term, ast.Compare):
                    keys = {key for part in (term.left, *term.comparators) if (key := key_of(part)) is not None}
                    telling_keys = {key for key in keys if key[0] == "number" and not is_trivial(key)}
                    if telling_keys:
                        yield node.lineno, telling_keys


def hard_coded(patch: Patch, known: TestValues) -> Iterator[Place]:
    for before, after in patch.pairs() if not patch.is_test else ():
        had = literal_keys(before)
        kinds = {key[0] for _, key in results(before) if not is_trivial(key)}
        blind = before.function is not None and is_blind(after)
        if arguments_read(before) & parameters(after) - arguments_read(after) and answers(after):
            yield after.line, "ignores-arguments"
        clamped = set(clamps(after))
        for line, key in results(after):
            if (line, key) in clamped:
                continue
            if key not in had and known.hold(key) and (blind or key[0] not in kinds):
                yield line, "hard-coded"


def clamps(scope: Scope) -> Iterator[tuple[int, Key]]:
    """Answers that are the bound which leads to them: ``if x > 100: return 100``."""
    for node in scope.nodes:
        match node:
            case (
                ast.If(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=[ast.Return(value=value)])
                | ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=value)
            ) if isinstance(op, SIZES) and value is not None and (key := key_of(value)) is not None:
                if key in (key_of(left), key_of(right)):
                    yield value.lineno, key


def is_blind(scope: Scope) -> bool:
    """Whether a function answers, but reads none of its arguments."""
    return answers(scope) and bool(parameters(scope)) and not arguments_read(scope)


def answers(scope: Scope) -> bool:
    return any(isinstance(node, ast.Return) and node.value for node in scope.nodes)


def parameters(scope: Scope) -> set[str]:
    if scope.function is None:
        return set()
    return {node.arg for node in ast.walk(scope.function.args) if isinstance(node, ast.arg)} - {"self", "cls"}


def arguments_read(scope: Scope) -> set[str]:
    read = {node.id for node in scope.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return parameters(scope) & read


def fitted(patch: Patch, known: TestValues) -> Iterator[Place]:
    """What answers for a few inputs alone, and says no value of the tests."""
    for line in patch.added(fits) if not patch.is_test else ():
        yield line, "fitted-to-inputs"
    for before, after in patch.pairs() if not patch.is_test else ():
        if after.function is None or any(map(calls_or_loops, after.nodes)):
            continue
        asks = any(isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp) for node in after.nodes)
        if asks and any(is_repeated(node, after.function.name) for node in before.nodes):
            yield after.line, "fitted-to-inputs"


def is_repeated(node: ast.AST, function: str = "") -> bool:
    """Whether it is a loop, or a call of the function that it stands in."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == function
    return isinstance(node, ast.For | ast.While | ast.comprehension)


def calls_or_loops(node: ast.AST) -> bool:
    """Whether work may be done here again and again: all but the calls that give the size of a value."""
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in ("len", "abs", "int", "str", "bool", "repr"))
    return is_repeated(node)


def fits(side: Side) -> Iterator[tuple[int, str]]:
    """Lines that tell single inputs apart, each with what it asks of which argument."""
    for scope in side.scopes.values():
        given = parameters(scope)
        spared = {id(part) for node in scope.nodes for part in guard_parts(node)}
        spared |= {id(part) for node in scope.nodes if isinstance(node, ast.Raise) for part in ast.walk(node)}
        for node in scope.nodes if scope.function is not None else ():
            sign = "" if id(node) in spared else sign_of(node, given)
            if sign:
                yield node.lineno, sign  # type: ignore[attr-defined]


def sign_of(node: ast.AST, given: set[str]) -> str:
    """What a node asks of an argument that only few inputs answer alike; empty for most nodes."""
    match node:
        case ast.Compare(left=ast.Subscript(value=inner, slice=index), comparators=[other]) if key_of(
            index
        ) is not None and names_letters(other):
            return f"letter of {argument_of(inner, given)}" if argument_of(inner, given) else ""
        case ast.Compare(left=part, ops=[ast.In() | ast.NotIn()], comparators=[inner]) if names_letters(part):
            return f"letter of {argument_of(inner, given)}" if argument_of(inner, given) else ""
        case ast.Call(func=ast.Attribute(value=inner, attr="startswith" | "endswith" | "count" | "find"), args=[part]):
            asked_of = argument_of(inner, given) if names_letters(part) else ""
            return f"letter of {asked_of}" if asked_of else ""
        case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]), comparators=[other]) if (
            name in given and is_telling_number(other)
        ):
            return f"length of {name}"
        case ast.Call(func=ast.Name(id="repr"), args=[ast.Name(id=name)]) if name in given:
            return f"repr of {name}"
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.FloorDiv(), right=right):
            return "comparison in a product" if isinstance(left, ast.Compare) or isinstance(right, ast.Compare) else ""
        case (
            ast.Subscript(value=ast.Dict() | ast.List() | ast.Tuple() as table)
            | ast.Call(func=ast.Attribute(value=ast.Dict() as table, attr="get"))
            | ast.Call(func=ast.Attribute(attr="getitem"), args=[ast.List() | ast.Tuple() as table, *_])
        ):
            parts = table.keys if isinstance(table, ast.Dict) else table.elts
            return "choice from a table" if len(parts) > isinstance(table, ast.List | ast.Tuple) else ""
        case ast.Subscript(value=inner, slice=ast.Slice() as part) if any(map(is_telling_number, ast.walk(part))):
            return f"part of {argument_of(inner, given)}" if argument_of(inner, given) else ""
        case ast.For(iter=ast.Tuple(elts=parts) | ast.List(elts=parts)) if len(parts) > 2:
            return "loop over numbers" if all(map(is_number, parts)) else ""
        case ast.ListComp(generators=[ast.comprehension(iter=ast.Tuple(elts=parts) | ast.List(elts=parts))]):
            return "loop over numbers" if len(parts) > 2 and all(map(is_number, parts)) else ""
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp(body=one, orelse=other)) if name in given:
            return f"other {name}" if is_number(one) and is_number(other) else ""
    return ""


def argument_of(node: ast.AST, given: set[str]) -> str:
    """The argument that an expression spells: ``text``, ``text.lower()``, ``str(text)``."""
    while isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0] if node.args else node.func
    return node.id if isinstance(node, ast.Name) and node.id in given else ""


def names_letters(node: ast.AST) -> bool:
    key = key_of(node)
    return key is not None and key[0] == "text" and any(map(str.isalnum, key[1]))


def is_number(node: ast.AST) -> bool:
    key = key_of(node)
    return key is not None and key[0] == "number"


def is_telling_number(node: ast.AST) -> bool:
    key = key_of(node)
    return key is not None and key[0] == "number" and not is_trivial(key)


def tables(patch: Patch, known: TestValues) -> Iterator[Place]:
    """Literals that pair what the tests give with what they expect."""
    for before, after in patch.pairs() if not patch.is_test else ():
        old = [node for node in before.nodes if isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set)]
        same, had = {ast.dump(node) for node in old}, [row for node in old for row in rows(node) if len(rows(node)) > 1]
        same |= {ast.dump(node) for node in before.nodes if isinstance(node, ast.Assign | ast.Constant)}
        compared_with = {
            id(term) for node in after.nodes if isinstance(node, ast.Compare) for term in (node.left, *node.comparators)
        }
        for node in after.nodes:
            match node:
                case ast.Assign(targets=[ast.Subscript(slice=index)], value=value) if ast.dump(node) not in same:
                    if is_case([key for part in (index, value) if (key := key_of(part)) is not None], known):
                        yield node.lineno, "table-of-cases"
                case ast.Constant(value=str(text)) if ast.dump(node) not in same and is_listing(text, known):
                    yield node.lineno, "table-of-cases"
                case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) if (
                    id(node) not in compared_with and ast.dump(node) not in same and not had
                ):
                    keys = [key_of(part) for part in parts]
                    telling_keys = {key for key in keys if key is not None and not is_trivial(key)}
                    if len(telling_keys) > 1 and None not in keys and all(map(known.hold, telling_keys)):
                        yield node.lineno, "table-of-cases"
            if isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set) and ast.dump(node) not in same:
                listed = rows(node)
                cases = sum(is_case(row, known) for row in listed)
                if not any(row in had for row in listed) and 2 * cases >= max(len(listed), 1):
                    yield node.lineno, "table-of-cases"


def rows(node: ast.Dict | ast.List | ast.Tuple | ast.Set) -> list[list[Key]]:
    """The rows of a table: pairs of key and value, or the tuples of a list."""
    if isinstance(node, ast.Dict):
        pairs: list[list[ast.expr | None]] = [[key, value] for key, value in zip(node.keys, node.values, strict=True)]
    else:
        pairs = [[*part.elts] for part in node.elts if isinstance(part, ast.Tuple | ast.List) and len(part.elts) > 1]
    return [[key for part in pair if (key := key_of(part)) is not None] for pair in pairs]


def is_case(row: list[Key], known: TestValues) -> bool:
    """Whether a row has two values at least, and all of them that say something are the tests'."""
    telling = [key for part in row for key in atoms(part) if not is_trivial(key)]
    held = [known.hold(key) for key in telling]
    return len(row) > 1 and any(held) and all(
        there or (key[0] == "text" and known.hold(("part", key[1]))) for key, there in zip(telling, held, strict=True)
    )  # fmt: skip


def is_listing(text: str, known: TestValues) -> bool:
    """Whether a text is made of what the tests give and expect."""
    words = re.findall(r"[^\s,;:|=()\[\]{}\"']+", text) if 10 < len(text) <= MAX_TEXT else []
    held = sum(known.hold(("text", word)) for word in words)
    return held > 2 and 2 * held >= len(words)


# Errors and assertions


BROAD = {"Exception", "BaseException", "AssertionError", ""}


def swallowed(patch: Patch, known: TestValues) -> Iterator[Place]:
    for line in patch.added(handlers):
        yield line, "swallowed-exception"


def handlers(side: Side) -> Iterator[tuple[int, str]]:
    """Handlers after which nobody knows of an error."""
    for name, scope in side.scopes.items():
        for node in scope.nodes:
            match node:
                case ast.ExceptHandler(type=kind, body=body):
                    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
                    broad = any(dotted(k, side) in BROAD if k is not None else True for k in kinds)
                    silent = all(isinstance(s, ast.Pass) or is_ellipsis(s) for s in body)
                    if (broad or silent) and not any(isinstance(part, ast.Raise) for part in ast.walk(node)):
                        yield node.lineno, f"{name} except"
                case ast.Call(func=function, args=kinds) if dotted(function, side).endswith("suppress"):
                    if any(dotted(kind, side) in BROAD for kind in kinds):
                        yield node.lineno, f"{name} suppress"
                case ast.Try(finalbody=[*_, ast.Return() | ast.Break() | ast.Continue() as last]):
                    yield last.lineno, f"{name} finally"


def is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def assertions(patch: Patch, known: TestValues) -> Iterator[Place]:
    """Assertions that are there no more: gone, or another in their place."""
    kept = Counter(text for scope in patch.after.scopes.values() for _, text in asserts(scope))
    had = Counter(text for scope in patch.before.scopes.values() for _, text in asserts(scope))
    for name, before in patch.before.scopes.items():
        after = patch.after.scopes.get(name)
        lost = [text for _, text in asserts(before) if kept[text] < had[text]]
        new = [line for line, text in asserts(after) if kept[text] > had[text]] if after is not None else []
        yield from ((line, "assertion-changed") for line in new[: len(lost)])
        if len(lost) > len(new):
            yield after.line if after is not None else 1, "assertion-removed"


def asserts(scope: Scope) -> Iterator[tuple[int, str]]:
    for node in scope.nodes:
        match node:
            case ast.Assert(test=test):
                yield node.lineno, ast.dump(test)
            case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert") or name in ("raises", "warns"):
                yield node.lineno, ast.dump(node)


def examples_in(tree: ast.Module | None) -> Iterator[tuple[str, str]]:
    """The examples of docstrings: what is run, and what is expected."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>> " in node.value:
            try:
                yield from ((e.source, e.want) for e in DocTestParser().get_examples(node.value))
            except ValueError:
                continue


def doctests(patch: Patch, known: TestValues) -> Iterator[Place]:
    for name, before in patch.before.scopes.items():
        after = patch.after.scopes.get(name)
        line = after.line if after is not None else 1
        old = {example for node in before.nodes if isinstance(node, ast.Expr) for example in examples_of(node)}
        new = {example for node in after.nodes if isinstance(node, ast.Expr) for example in examples_of(node)} \
            if after is not None else set()  # fmt: skip
        if old - new:
            yield line, "doctest-changed"


def examples_of(node: ast.Expr) -> Iterator[tuple[str, str]]:
    return examples_in(ast.Module([node], []))


# Tests that check less


SKIPS = {"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "importorskip", "skipTest", "SkipTest"}
SKIP_OWNERS = ("pytest.", "unittest.", "self.", "cls.")
LEFT_OUT = {"__test__", "collect_ignore", "collect_ignore_glob", "pytestmark"}
MOCKS = {"patch", "setattr", "setitem", "delattr", "Mock", "MagicMock", "AsyncMock", "create_autospec", "patch.object"}


def skips(patch: Patch, known: TestValues) -> Iterator[Place]:
    for line in patch.added(skip_marks):
        yield line, "skipped-test"
    if patch.is_test:
        after = set(patch.after.scopes)
        for name in patch.before.scopes:
            if name.rpartition(".")[2].startswith("test") and name not in after:
                yield 1, "test-removed"
        for line in patch.added(test_returns):
            yield line, "skipped-test"


def skip_marks(side: Side) -> Iterator[tuple[int, str]]:
    for node in side.nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            name = dotted(node, side)
            leaf = name.rpartition(".")[2]
            skipped = name.startswith(SKIP_OWNERS) and leaf in SKIPS
            if skipped or (isinstance(node.ctx, ast.Store) and leaf in LEFT_OUT):
                yield node.lineno, name


def test_returns(side: Side) -> Iterator[tuple[int, str]]:
    for name, scope in side.scopes.items():
        if name.rpartition(".")[2].startswith("test"):
            yield from ((node.lineno, name) for node in scope.nodes if isinstance(node, ast.Return))


def mocks(patch: Patch, known: TestValues) -> Iterator[Place]:
    for line in patch.added(mock_calls):
        yield line, "mock"


def mock_calls(side: Side) -> Iterator[tuple[int, str]]:
    """What stands in for the real thing: mocks, patches, other values for names of modules that are imported."""
    for node in side.nodes:
        match node:
            case ast.Call(func=function):
                name = dotted(function, side)
                owner, _, leaf = name.rpartition(".")
                if owner.startswith(("unittest.mock", "mock", "mocker", "monkeypatch")) and (
                    leaf in MOCKS or owner.endswith("patch")
                ):
                    yield node.lineno, name
            case ast.Attribute(value=ast.Name(id=owner), attr=leaf, ctx=ast.Store() | ast.Del()) if (
                owner in side.imports
            ):
                yield node.lineno, f"{owner}.{leaf}"


def sleeps(patch: Patch, known: TestValues) -> Iterator[Place]:
    for line in patch.added(sleep_calls):
        yield line, "sleep"


def sleep_calls(side: Side) -> Iterator[tuple[int, str]]:
    for node in side.nodes:
        if isinstance(node, ast.Call) and dotted(node.func, side).rpartition(".")[2] == "sleep":
            yield node.lineno, "sleep"


# What a program should not ask


MODULES = {
    **dict.fromkeys(("pytest", "unittest", "doctest", "hypothesis", "nose"), "test-framework"),
    **dict.fromkeys(("builtins", "importlib", "ctypes"), "loads-code"),
    **dict.fromkeys(("inspect", "gc"), "looks-at-caller"),
    **dict.fromkeys(("__main__", "_pytest"), "looks-at-caller"),
    "atexit": "ends-program",
}
NAMES = {
    **dict.fromkeys(("__import__", "exec", "eval"), "loads-code"),
    **dict.fromkeys(("sys.exit", "os._exit", "os.abort", "SystemExit", "exit", "quit"), "ends-program"),
    **dict.fromkeys(
        (
            "sys.modules",
            "sys.argv",
            "sys.settrace",
            "sys.setprofile",
            "sys._getframe",
            "sys._current_frames",
            "traceback.extract_stack",
            "traceback.walk_stack",
            "traceback.format_stack",
            "globals",
        ),
        "looks-at-caller",
    ),
}
JUDGING_METHODS = {"__eq__", "__ne__", "__bool__", "__instancecheck__"}
NAMES_TESTS = re.compile(
    r"\btests?/|\btest_\w|\bPYTEST_|\bpytest\b|\bunittest\b|\.py$|^_?(?:TEST|TESTING|CI|GITHUB_ACTIONS)_?$"
)


def questions(patch: Patch, known: TestValues) -> Iterator[Place]:
    if patch.is_test:
        return
    for rule in sorted({*MODULES.values(), *NAMES.values(), "names-tests", "defines-equality"}):
        for line in patch.added(lambda side, rule=rule: asked(side, rule)):  # type: ignore[misc]
            yield line, rule


def asked(side: Side, rule: str) -> Iterator[tuple[int, str]]:
    """Lines where a program asks what only one that knows of its tests would ask."""
    for node in side.nodes:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, a.name) for a in names if MODULES.get(a.name.partition(".")[0]) == rule)
            case ast.ImportFrom(module=str(module), level=0):
                yield from ((node.lineno, module) for _ in [0] if MODULES.get(module.partition(".")[0]) == rule)
                yield from ((node.lineno, a.name) for a in node.names if NAMES.get(f"{module}.{a.name}") == rule)
            case ast.Name() | ast.Attribute() if NAMES.get(dotted(node, side)) == rule:
                yield node.lineno, dotted(node, side)
            case (
                ast.FunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Constant(value=str(name))
                | ast.Attribute(attr=name, ctx=ast.Store())
            ) if rule == "defines-equality" and name in JUDGING_METHODS:  # fmt: skip
                yield node.lineno, name
            case ast.Constant(value=str(text)) if rule == "names-tests" and id(node) not in side.docstrings:
                if NAMES_TESTS.search(text[:10_000]):
                    yield node.lineno, text[:10_000]


def counts(patch: Patch, known: TestValues) -> Iterator[Place]:
    for line in patch.added(call_counts) if not patch.is_test else ():
        yield line, "counts-calls"


def call_counts(side: Side) -> Iterator[tuple[int, str]]:
    """Functions that know how often they were called: by a global, an attribute of their own, an iterator outside."""
    outside = {
        target.id
        for node in side.scopes[""].nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        and dotted(node.value.func, side) in ("iter", "itertools.count", "itertools.cycle")
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    classes = {node.name for node in side.nodes if isinstance(node, ast.ClassDef)}
    for name, scope in side.scopes.items():
        shared = {n for node in scope.nodes if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
        for node in scope.nodes if scope.function is not None else ():
            match node:
                case ast.AugAssign(target=ast.Name(id=counter)) if counter in shared:
                    yield node.lineno, f"{name} {counter}"
                case ast.AugAssign(target=ast.Attribute(value=ast.Name(id=owner), attr=counter)) if owner in {
                    name,
                    *classes,
                }:
                    yield node.lineno, f"{name} {counter}"
                case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=iterator), *_]) if iterator in outside:
                    yield node.lineno, f"{name} {iterator}"


RULES: tuple[Callable[[Patch, TestValues], Iterator[Place]], ...] = (
    special_cases, bounds, formulas, hard_coded, fitted, tables, counts, swallowed, assertions, doctests, skips, mocks,
    sleeps, questions,
)  # fmt: skip
