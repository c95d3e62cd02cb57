"""Finds, in the syntax trees before and after a patch, what serves the tests instead of mending the code.

This file is a program of its own: `surface` sends its text to a confined child, as the files that it parses are a
stranger's, and nothing in the host imports it. It uses the standard library alone. It goes from literals, and which of
them the tests know, over the two sides of a patch to the rules, by question. The tables of rules, and what runs them,
are at the end. What a rule says to a person, with an example that has the sign and one that has not, is in
`surface_rules`.
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
from functools import cached_property
from itertools import islice
from typing import Any

Key = tuple[Any, ...]
"""What a literal says, whatever its spelling: its kind, and its value or the keys of its parts."""
Place = tuple[int, str]
"""A line from 1, and the name of a rule."""
MAX_FINDINGS = 200
MAX_RELATED_LINES = 5000
MAX_TEXT = 4000
"""Characters of a literal that is computed with, or comes of it."""


def parsed(source: bytes) -> ast.Module | None:
    """The tree of a source, its literals folded; None for what is no Python, or too deep."""
    try:
        tree = Folding({}, {}).visit(ast.parse(source))
        return Folding(*named_literals(tree)).visit(tree)  # type: ignore[no-any-return]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


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
    "codecs.decode": codecs.decode, "ast.literal_eval": ast.literal_eval, "decimal.Decimal": float,
    "fractions.Fraction": float,
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
NUMBERS = (int, float, complex)
LITERALS = (*NUMBERS, str, bytes, tuple, list, dict, set, frozenset, type(None))


class Folding(ast.NodeTransformer):
    """Puts literals in place of what is computed from literals alone, and of names that stand for one: variables and
    attributes of classes, and in comparisons parameters with a default.
    """

    def __init__(self, named: dict[str, ast.Constant], defaults: dict[str, ast.Constant]) -> None:
        self._named, self._defaults = named, defaults
        self._imports: dict[str, str] = {}
        self._classes: set[str] = set()

    def visit_Module(self, tree: ast.Module) -> ast.AST:
        self._imports = dict(imports_of(ast.walk(tree)))
        self._classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        return self.generic_visit(tree)

    def visit(self, node: ast.AST) -> Any:
        found = super().visit(node)
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in self._named:
                found = ast.Constant(self._named[name].value)
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Load()) if owner in self._classes:
                found = ast.Constant(self._named[name].value) if name in self._named else node
            case ast.Compare(left=left, comparators=others):
                node.left, *node.comparators = map(self._by_default, (left, *others))
            case ast.BinOp() | ast.Call() | ast.Subscript() | ast.JoinedStr():
                try:
                    text = repr(computed(node, self._imports))
                    found = ast.parse(text, mode="eval").body if len(text) <= MAX_TEXT else node
                except NOT_COMPUTED:
                    pass
        for part in ast.walk(found) if found is not node else ():
            ast.copy_location(part, node)
        return found

    def _by_default(self, term: ast.expr) -> ast.expr:
        value = self._defaults.get(term.id) if isinstance(term, ast.Name) else None
        return term if value is None else ast.copy_location(ast.Constant(value.value), term)


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
            return "".join(map(part_of_text, values))
        case ast.Subscript(value=value, slice=ast.Slice(lower=low, upper=high, step=step), ctx=ast.Load()):
            return literal(value)[slice(*(None if part is None else literal(part) for part in (low, high, step)))]
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()):
            return literal(value)[literal(index)]
        case ast.Call(func=ast.Attribute(attr=name, value=owner), args=terms, keywords=[]) if isinstance(owner, SPELT):
            if name not in PURE_METHODS:
                raise ValueError(name)
            found = getattr(literal(owner), name)(*map(argument, terms))
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=terms, keywords=keywords):
            named = {str(keyword.arg): literal(keyword.value) for keyword in keywords}
            found = PURE[dotted(function, imports)](*map(argument, terms), **named)
        case _:
            raise ValueError("no literal")
    return found if isinstance(found, LITERALS) else list(found)


SPELT = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.UnaryOp)
"""What a literal may be; `ast.literal_eval` says whether it is."""


def literal(node: ast.expr) -> Any:
    if not isinstance(node, SPELT):
        raise ValueError("no literal")
    return ast.literal_eval(node)


def argument(node: ast.expr) -> Any:
    return PURE[node.id] if isinstance(node, ast.Name) else literal(node)


def part_of_text(node: ast.expr) -> str:
    plain = isinstance(node, ast.FormattedValue) and node.format_spec is None and node.conversion == -1
    return str(literal(node.value if plain else node))  # type: ignore[attr-defined]


def named_literals(tree: ast.Module) -> tuple[dict[str, ast.Constant], dict[str, ast.Constant]]:
    """Names that are bound once, to a number or a text: variables, and parameters by their default."""
    bound: Counter[str] = Counter()
    named: dict[str, ast.expr] = {}
    defaults: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.Attribute(attr=name, ctx=ast.Store() | ast.Del())
                | ast.arg(arg=name) | ast.alias(name=name) | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name))
            ):  # fmt: skip
                bound[name] += 1
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                bound.update(names * 2)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                named[name] = value
            case ast.arguments(posonlyargs=first, args=others, defaults=values):
                parameters = [*first, *others][-len(values) or MAX_TEXT :]
                defaults.update(zip((parameter.arg for parameter in parameters), values, strict=False))

    def once(values: dict[str, ast.expr]) -> dict[str, ast.Constant]:
        return {
            name: value for name, value in values.items()
            if bound[name] == 1 and isinstance(value, ast.Constant) and isinstance(value.value, str | int | float)
        }  # fmt: skip

    return once(named), once(defaults)


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
    """What a literal says; None for what is no literal."""
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
    """What those of the nodes say that are literals."""
    return [key for node in nodes if (key := key_of(node)) is not None]


def number_of(node: ast.AST | None) -> float | None:
    key = key_of(node)
    return key[1] if key is not None and key[0] == "number" and not isinstance(key[1], complex) else None


def number_in(key: Key) -> float | None:
    """The number that a text says."""
    if key[0] != "text" or len(key[1]) > 40:
        return None
    try:
        return float(key[1])
    except ValueError:
        return None


def is_trivial(key: Key) -> bool:
    """Whether a literal is as likely in any program: small whole numbers, single characters, constants, nothing."""
    kind, value = key
    if kind == "number":
        return not isinstance(value, complex) and abs(value) <= 2 and value == int(value)
    if kind == "text":
        return len(value) <= 1
    return kind == "other" or (len(value) < 3 and all(map(is_trivial, value)))


def is_telling(key: Key) -> bool:
    """Whether it is a number that says something."""
    return key[0] == "number" and not is_trivial(key)


def atoms(key: Key) -> Iterator[Key]:
    """The single values of a literal."""
    if key[0] in ("group", "mapping"):
        for part in key[1]:
            yield from atoms(part)
    else:
        yield key


# What the tests know


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
        shown = (parsed(source) for source in sources if b">>> " in source)
        examples = (text.encode() for tree in shown for example in examples_in(tree) for text in example)
        for source in (*tests, *examples):
            self._take(parsed(source))
        for file in data:
            self._take_data(file)
        self._keys |= {("number", number) for key in self._keys if (number := number_in(key)) is not None}
        self._keys |= {("text", str(key[1])) for key in self._keys if key[0] == "number"}
        self._numbers = [key[1] for key in self._keys if is_telling(key) and not isinstance(key[1], complex)]
        texts = [key[1] for key in self._keys if key[0] == "text" and 3 < len(key[1]) <= MAX_TEXT]
        self._letters = set(map(letters, texts))
        self._all = "\n".join(texts[:MAX_TEXTS]).casefold()

    def _take(self, tree: ast.Module | None) -> None:
        for node in ast.walk(tree) if tree is not None else ():
            key = key_of(node)
            if key is not None:
                self._keys.add(key)
                if key[0] in ("text", "group"):
                    self._lengths.add(len(key[1]))
            if isinstance(node, ast.Call):
                numbers = [number for term in node.args if (number := number_of(term)) is not None]
                if len(numbers) > 1:
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
        """Whether a literal that says something is one of the tests', or what is asked of a value points to one."""
        match key:
            case ("range", low, high):
                return any(low <= number <= high for number in self._numbers)
            case ("fingerprint", *_):
                return True
            case ("length", int(size)):
                return size > LEAST_LENGTH and size in self._lengths
            case ("sum", number):
                return is_telling(("number", number)) and number in self._sums
            case ("part", str(text)):
                return any(word.casefold() in self._all for word in re.findall(r"[^\W_]{4,}|\d{3}", text[:MAX_TEXT]))
            case ("group", parts) if len(parts) > 3 and all(part[0] == "text" for part in parts):
                if letters("".join(part[1] for part in parts)) in self._letters:
                    return True
            case ("text", str(text)) if len(text) > 3 and letters(text) in self._letters:
                return True
        return not is_trivial(key) and (key in self._keys or ("number", number_in(key)) in self._keys)

    def give(self, number: float) -> bool:
        """Whether a number is one of the tests', or says nothing."""
        return ("number", number) in self._keys or is_trivial(("number", number))


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
        return [LiteralComparison(*found) for node in self.nodes for found in compared(node, id(node) in self.guards)]

    @cached_property
    def guards(self) -> set[int]:
        """The ids of the parts of errors that are raised, and of conditions that lead to one alone."""
        tests = [n.test for n in self.nodes if isinstance(n, ast.If) and isinstance(n.body[-1], ast.Raise)]
        raised = [n for n in self.nodes if isinstance(n, ast.Raise)]
        return {id(part) for node in (*tests, *raised) for part in ast.walk(node)}

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
        """What stands no longer where it was: comparisons, answers and the literals in them."""
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
ASKING_CALLS = {
    *("__eq__", "__ne__", "__contains__", "isclose", "eq", "contains", "issubset", "issuperset", "index", "count"),
    *("startswith", "endswith", "fullmatch", "match", "search", "find", "rfind", "findall"),
}
FINGERPRINTS = {"hash", "crc32", "adler32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s"}


def compared(node: ast.AST, is_guard: bool) -> Iterator[tuple[ast.AST, ast.AST, list[Key]]]:
    """What a node compares with literals: the comparison, its subject, the literals and what else is asked of it."""
    match node:
        case ast.Compare(left=left, ops=[op, *_], comparators=others):
            subject = next((term for term in (left, *others) if key_of(term) is None), None)
            if subject is not None:
                yield from ((node, inner, keys) for inner, keys in asked_of(subject, op, [left, *others], is_guard))
        case (
            ast.If(test=ast.BinOp() as test) | ast.IfExp(test=ast.BinOp() as test)
            | ast.While(test=ast.BinOp() as test) | ast.UnaryOp(op=ast.Not(), operand=ast.BinOp() as test)
        ):  # fmt: skip
            yield test, test.left, [*literals_in(test)]
        case ast.match_case(pattern=pattern):
            yield (
                pattern,
                pattern,
                keys_of(part.value for part in ast.walk(pattern) if isinstance(part, ast.MatchValue)),
            )
        case (
            ast.Call(func=ast.Attribute(attr=name, value=owner), args=terms)
            | ast.Call(func=ast.Name(id=name) as owner, args=terms)
        ) if name in ASKING_CALLS:  # fmt: skip
            keys = [key for term in (owner, *terms) for key in literals_in(term)]
            yield node, terms[0] if terms and key_of(owner) is not None else owner, [*keys, *as_parts(keys)]


def asked_of(
    subject: ast.expr, op: ast.cmpop, terms: list[ast.expr], is_guard: bool
) -> Iterator[tuple[ast.AST, list[Key]]]:
    """What a comparison asks of what: the value, its parts, its length, a remainder, a sum, a fingerprint, a range."""
    keys = [key for term in terms for key in literals_in(term)]
    numbers = [number for term in terms if (number := number_of(term)) is not None]
    if isinstance(op, EQUAL) and not is_structure(subject):
        yield subject, keys
    match op, subject, numbers:
        case ast.In() | ast.NotIn(), _, _:
            if subject is not terms[0]:
                yield subject, as_parts(keys)
        case ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(), ast.Call(func=ast.Name(id="abs"), args=inner), _:
            yield subject, [key for term in inner for key in literals_in(term)]
        case ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(), _, [low, high] if len(terms) == 3 and is_narrow(low, high):
            yield subject, [("range", low, high)]
        case ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(), _, _:
            yield subject, as_parts(key for term in terms if isinstance(term, ast.Set) for key in literals_in(term))
        case _, ast.Subscript(value=inner, slice=ast.Slice()), _:
            yield inner, as_parts(keys)
        case _, ast.Call(func=ast.Name(id="len"), args=[inner]), [number] if not is_guard:
            yield inner, [("length", number)]
        case _, ast.BinOp(left=inner, op=ast.Mod(), right=by), _ if key_of(by) is not None:
            yield ast.Tuple([inner]), keys_of([by])
        case _, ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()), [number]:
            yield subject, [("sum", number)]
    called = (dotted(part.func, {}) for part in ast.walk(subject) if isinstance(part, ast.Call))
    if isinstance(op, EQUAL) and any(name.rpartition(".")[2] in FINGERPRINTS for name in called):
        yield subject, [("fingerprint", *keys)]


def is_structure(subject: ast.expr) -> bool:
    """A length, a remainder: numbers that a program compares with by its nature."""
    if isinstance(subject, ast.BinOp):
        return isinstance(subject.op, ast.Mod | ast.FloorDiv | ast.BitAnd)
    return isinstance(subject, ast.Call) and isinstance(subject.func, ast.Name) and subject.func.id in ("len", "type")


def is_narrow(low: float, high: float) -> bool:
    return 0 <= high - low <= 2 and not (is_trivial(("number", low)) and is_trivial(("number", high)))


def as_parts(keys: Iterable[Key]) -> list[Key]:
    """The texts among literals, as what a value has in it."""
    return [("part", key[1]) for key in keys if key[0] == "text"]


def literals_in(term: ast.AST) -> Iterator[Key]:
    """The literals that a term of a comparison is, or is made of."""
    key = key_of(term)
    match term:
        case _ if key is not None:
            yield from {key, *atoms(key)}
        case ast.Tuple(elts=terms) | ast.List(elts=terms) | ast.Set(elts=terms):
            yield from (key for part in terms for key in literals_in(part))
        case ast.BinOp(left=left, op=ast.Sub() | ast.BitXor() | ast.BitAnd(), right=right):
            yield from (*literals_in(left), *literals_in(right))
        case ast.Call(func=ast.Name(id="range"), args=[first, last]):
            low, high = number_of(first), number_of(last)
            if low is not None and high is not None and is_narrow(low, high - 1):
                yield ("range", low, high - 1)


def special_cases(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    had = {entry.whole for entry in before.comparisons}
    for entry in after.comparisons:
        new = [key for key in entry.keys if key not in before.keys and known.hold(key)]
        odd = [key for key in new if not is_enumerated(key, entry.subject, before)]
        if odd and entry.whole not in had and not is_vocabulary(entry, known):
            yield entry.line


def is_enumerated(key: Key, subject: str, before: Scope) -> bool:
    """Whether values of this kind were told apart there before: one text, or three numbers."""
    kinds = [known[0] for entry in before.comparisons if entry.subject == subject for known in set(entry.keys)]
    if subject.startswith("Tuple"):  # of remainders
        return bool(kinds)
    return "text" in kinds if key[0] in ("text", "part") else kinds.count("number") >= 3


def is_vocabulary(entry: LiteralComparison, known: TestValues) -> bool:
    """Whether it lists words of which the tests have few: ``in ("true", "yes", "on")`` for a "yes"."""
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
            case ast.Constant(value=str(text)):
                found = is_listing(text, known)
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
    """Whether a row has two values at least, and all of them that say something are the tests'."""
    telling = [key for part in row for key in atoms(part) if not is_trivial(key)]
    return (
        len(row) > 1
        and any(map(known.hold, telling))
        and all(known.hold(key) or any(map(known.hold, as_parts([key]))) for key in telling)
    )


def is_listing(text: str, known: TestValues) -> bool:
    """Whether a text is made of what the tests give and expect."""
    words = re.findall(r"[^\s,;:|=()\[\]{}\"']+", text) if 10 < len(text) <= MAX_TEXT else []
    held = sum(known.hold(("text", word)) for word in words)
    return held > 2 and 2 * held >= len(words)


# Does it compute what fits the tests alone?


def bounds(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    """New bounds that no test gives, where nothing was told apart by its size: ``x > 99`` for a 100. A bound that is
    itself one of the tests' values is what a mended threshold looks like, too, and is none here.
    """
    bounded = {subject for _, subject, _ in limits(before)}
    for line, subject, number in limits(after):
        if subject not in bounded and ("number", number) not in before.keys and not known.give(number):
            yield line


def limits(scope: Scope) -> Iterator[tuple[int, str, float]]:
    """Where something is compared with a number by its size: line, what is compared, the number."""
    for node in scope.nodes:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, SIZES):
                subject, other = (left, right) if key_of(left) is None else (right, left)
                number = number_of(other)
                if number is not None and not is_structure(subject):
                    yield node.lineno, ast.dump(subject), number


def formulas(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    """Arithmetic with several numbers that the function did not have where it looped or asked others before; numbers
    that a comparison switches on and off. Both fit what the tests expect, whatever the function should do.
    """
    if after.function is None:
        return
    terms = ((node.left, node.right) for node in after.nodes if isinstance(node, ast.BinOp))
    numbers = {key for pair in terms for key in keys_of(pair) if is_telling(key)} - before.keys
    works, still = (any(is_work(node, BUILTINS) for node in scope.nodes) for scope in (before, after))
    if works and not still and len(numbers) > 1:
        yield after.line
    if not any(True for _ in switches(before)):
        yield from (line for line, keys in switches(after) if not keys <= before.keys)


def is_work(node: ast.AST, spared: set[str]) -> bool:
    """Whether it is more than arithmetic: a loop, a call of something that is not spared."""
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in spared)
    return isinstance(node, ast.For | ast.While | ast.comprehension)


def switches(scope: Scope) -> Iterator[tuple[int, set[Key]]]:
    """Comparisons with numbers that are a term of a sum or a product: line, the numbers."""
    for node in scope.nodes:
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
                for term in (left, right):
                    if isinstance(term, ast.Compare):
                        keys = {key for key in keys_of([term.left, *term.comparators]) if is_telling(key)}
                        yield from [(node.lineno, keys)] if keys else ()


def unrolled(before: Scope, after: Scope, known: TestValues) -> Iterator[int]:
    """A function that looped, or called itself, and asks now without any work."""
    if after.function is None or any(is_work(node, SIZES_OF) for node in after.nodes):
        return
    loops = any(isinstance(node, ast.For | ast.While | ast.comprehension) for node in before.nodes)
    calls = (node.func for node in before.nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    repeated = loops or any(function.id == after.function.name for function in calls)
    if repeated and any(isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp) for node in after.nodes):
        yield after.line


SIZES_OF = {"len", "abs", "int", "str", "bool", "repr"}


def tells_inputs_apart(node: ast.AST, scope: Scope) -> Iterator[str]:
    """What a node asks of an argument that only few inputs answer alike: a letter, a length, a place."""
    given = scope.parameters
    if scope.function is None or id(node) in scope.guards:
        return
    match node:
        case (
            ast.Compare(left=ast.Subscript(value=inner, slice=ast.Constant() | ast.UnaryOp()), comparators=[part])
            | ast.Compare(left=part, ops=[ast.In() | ast.NotIn()], comparators=[inner])
            | ast.Call(func=ast.Attribute(value=inner, attr="startswith" | "endswith" | "count" | "find"), args=[part])
        ) if names_letters(part) and argument_of(inner, given):  # fmt: skip
            yield f"letter of {argument_of(inner, given)}"
        case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]), comparators=[other]):
            yield from [f"length of {name}"] if name in given and any(map(is_telling, keys_of([other]))) else ()
        case ast.Call(func=ast.Name(id="repr"), args=[ast.Name(id=name)]) if name in given:
            yield f"repr of {name}"
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.FloorDiv(), right=right):
            yield from (
                ["comparison in a product"] if isinstance(left, ast.Compare) or isinstance(right, ast.Compare) else ()
            )
        case (
            ast.Subscript(value=ast.List(elts=[_, _, *_]) | ast.Tuple(elts=[_, _, *_]) | ast.Dict(keys=[_, *_]))
            | ast.Call(func=ast.Attribute(value=ast.Dict(keys=[_, *_]), attr="get"))
            | ast.Call(func=ast.Attribute(attr="getitem"), args=[ast.List() | ast.Tuple(), *_])
        ):
            yield "choice from a table"
        case ast.Subscript(value=inner, slice=ast.Slice() as part) if argument_of(inner, given):
            yield from [f"part of {argument_of(inner, given)}"] if any(map(is_telling, keys_of(ast.walk(part)))) else ()
        case (
            ast.For(iter=ast.Tuple(elts=[_, _, _, *_] as parts) | ast.List(elts=[_, _, _, *_] as parts))
            | ast.ListComp(generators=[ast.comprehension(iter=ast.Tuple(elts=[_, _, _, *_] as parts))])
        ) if all(number_of(part) is not None for part in parts):  # fmt: skip
            yield "loop over numbers"
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp(body=one, orelse=other)) if name in given:
            yield from [f"other {name}"] if number_of(one) is not None and number_of(other) is not None else ()


def argument_of(node: ast.AST, given: set[str]) -> str:
    """The argument that an expression spells: ``text``, ``text.lower()``, ``str(text)``."""
    while isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0] if node.args else node.func
    return node.id if isinstance(node, ast.Name) and node.id in given else ""


def names_letters(node: ast.AST) -> bool:
    return any(key[0] == "text" and any(map(str.isalnum, key[1])) for key in keys_of([node]))


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
    """What stands in for the real thing: mocks, patches, other values for names of modules that are imported."""
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
    """What a function knows of its calls by: a global, an attribute of its own or its class, an iterator outside."""
    match node:
        case ast.AugAssign(target=ast.Name(id=counter)) if counter in scope.shared:
            yield counter
        case ast.AugAssign(target=ast.Attribute(value=ast.Name(id=owner), attr=counter)) if scope.function is not None:
            yield from [counter] if owner in {scope.name, *scope.side.classes} else ()
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=iterator), *_]) if scope.function is not None:
            yield from [iterator] if iterator in scope.side.iterators else ()


# The rules, and what runs them


NodeRule = Callable[[ast.AST, Scope], Iterator[str]]
"""What a node shows. There is a finding where the patch shows the same more often than what it was made of."""
ScopeRule = Callable[[Scope, Scope, TestValues], Iterator[int]]
"""The lines of findings in a function after the patch, beside what it was before."""

SCOPE_RULES: dict[ScopeRule, str] = {
    special_cases: "special-case", hard_coded: "hard-coded", ignores_arguments: "ignores-arguments",
    tables: "table-of-cases", bounds: "bound-beside-case", formulas: "fitted-formula", unrolled: "fitted-to-inputs",
}  # fmt: skip
NODE_RULES: dict[NodeRule, str] = {
    swallows: "swallowed-exception", skips: "skipped-test", mocks: "mock", sleeps: "sleep",
}  # fmt: skip
NODE_RULES_OF_CODE: dict[NodeRule, str] = NODE_RULES | {
    tells_inputs_apart: "fitted-to-inputs", counts_calls: "counts-calls", defines_equality: "defines-equality",
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
    """What the nodes of one side show: line, and the rule with what it is."""
    for scope in side.scopes.values():
        for node in scope.nodes:
            for rule, name in rules.items():
                yield from ((getattr(node, "lineno", scope.line), (name, what)) for what in rule(node, scope))


def added_lines(before: bytes, after: bytes) -> set[int]:
    old, new = before.splitlines()[:MAX_RELATED_LINES], after.splitlines()
    codes = SequenceMatcher(None, old, new[:MAX_RELATED_LINES], autojunk=False).get_opcodes()
    changed = {line + 1 for tag, _, _, first, last in codes if tag != "equal" for line in range(first, last)}
    return changed | set(range(MAX_RELATED_LINES, len(new) + 1))
