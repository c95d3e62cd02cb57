"""The language of expressions: checks a syntax tree node by node and puts guards where a cost is not bounded.

An allow list of node kinds: what has no method here is refused. Attributes exist only as `math.sqrt(...)`, `math.pi`
and their like, functions only in the place where they are called, so no computation can walk from a value to its
class.

Each visit returns the tree to compile and the kind of its value (`safeexec.inline.kinds`), as far as it is known
before it runs. Operators over bounded numbers and texts are compiled as they are. All others become calls of their
guard, `<fuel>` first. The kinds of names are given: the code that is compiled checks them once when it is entered. A
comprehension pays in advance for all its rounds: its container has a length, and its body a number of nodes.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms

from safeexec.inline import containers, functions, mathematical, natives, subscripts, text
from safeexec.inline.kinds import (
    FLOAT_BITS,
    NATIVE_BITS,
    NATIVE_TEXT,
    RESULT_BITS,
    Numbers,
    Text,
    constant_power_bits,
    container_of,
    join,
)
from safeexec.inline.operators import GUARDS
from safeexec.inline.report import at_node, located

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from safeexec.errors import ExpressionError
    from safeexec.inline.kinds import Kind

    Typed = tuple[ast.expr, Kind]
    Part = tuple[str, int | str]

MAX_DEPTH = 150
"""The deepest nesting of an expression."""


FUEL = "<fuel>"
HELPERS: dict[str, Callable[..., Any]] = {
    "<item>": subscripts.item,
    "<part>": subscripts.part,
    "<items>": containers.items,
    "<each>": containers.each,
    "<unpacked>": containers.unpacked,
    "<rows>": containers.rows,
    "<spread>": containers.spread,
    "<pairs>": containers.pairs,
    "<set>": containers.to_set,
    "<dict>": containers.to_dict,
    "<interpolated>": text.interpolated,
    "<host>": functions.from_host,
    "<exclusive or>": mathematical.exclusive_or,
    **{f"<{kind.__name__}>": guard for kind, guard in GUARDS.items()},
}

HINTS: dict[str, str] = {
    "Attribute": "attributes are not available in expressions; only functions and constants of math and statistics are",
    "Lambda": "lambda is not available in expressions; write a comprehension",
    "NamedExpr": "assignments are not available in expressions",
    "Await": "await is not available in expressions",
    "Yield": "yield is not available in expressions",
    "YieldFrom": "yield is not available in expressions",
    "GeneratorExp": "a generator can only be the argument of a function here; write a list comprehension",
    "Starred": "a starred value can stand only in a display or a call",
    "Slice": "a slice can stand only alone in a subscript",
}


class Translator:
    """Checks and rewrites one tree for names of the given kinds; `names` and `globals` collect what the code needs.

    `parts` are the subscripts of names by constants, as name and constant: the entry may read and check them like
    names. They too have kinds, under the keys of `parts`, and are guarded where they have none.
    """

    def __init__(
        self,
        source: str,
        kinds: Mapping[str, Kind],
        default: Kind,
        host: Collection[str] = (),
        withheld: Collection[str] = (),
        mathematics: bool = False,
    ) -> None:
        self.source = source
        self.kinds = kinds
        self.default = default
        self.host = host
        self.withheld = withheld
        self.mathematics = mathematics
        self.names: dict[str, ast.Name] = {}
        self.globals: dict[str, Any] = {}
        self.metered = False
        self.scanned: set[str] = set()
        self.parts: dict[str, Part] = {}
        self._bound: list[dict[str, Kind]] = []
        self._depth = 0
        self._nodes = 0
        self._temporaries = 0

    def visit(self, node: ast.expr) -> Typed:
        method = _METHODS.get(type(node))
        if method is None:
            name = type(node).__name__
            raise self.error(HINTS.get(name, f"{name} is not available in expressions"), node)
        self._nodes += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"the expression is nested more than {MAX_DEPTH} deep", node)
        typed = method(self, node)
        self._depth -= 1
        return typed

    def error(self, message: str, node: ast.expr | ast.keyword) -> ExpressionError:
        return at_node(message, self.source, node)

    def call(self, node: ast.expr, helper: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.expr:
        """A call of a guard at the place of the node, the fuel first."""
        self.metered = True
        if helper in HELPERS:
            self.globals[helper] = HELPERS[helper]
        fuel = located(ast.Name(FUEL, _LOAD), node)
        return self.direct(node, helper, fuel, *args, keywords=keywords)

    def direct(self, node: ast.expr, name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.expr:
        function = located(ast.Name(name, _LOAD), node)
        return located(ast.Call(function, list(args), keywords or []), node)

    # values

    def constant(self, node: ast.Constant) -> Typed:
        value = node.value
        if type(value) is int:
            bits = value.bit_length()
            return node, bits if bits <= NATIVE_BITS else None
        if type(value) in (float, complex):
            return node, 0
        if type(value) is bool:
            return node, 1
        if type(value) is str:
            return node, Text(len(value)) if len(value) <= NATIVE_TEXT else None
        if value is None:
            return node, None
        raise self.error(f"a constant of type {type(value).__name__} is not available in expressions", node)

    def name(self, node: ast.Name) -> Typed:
        for scope in reversed(self._bound):
            if node.id in scope:
                return node, scope[node.id]
        if self.mathematics and node.id in mathematical.NUMBERS and node.id not in self.kinds:
            return located(ast.Constant(mathematical.NUMBERS[node.id]), node), 0
        self.names.setdefault(node.id, node)
        return node, self.kinds.get(node.id, self.default)

    def attribute(self, node: ast.Attribute) -> Typed:
        if isinstance(node.value, ast.Name):
            module = node.value.id
            value = functions.CONSTANTS.get(module, {}).get(node.attr)
            if value is not None:
                return located(ast.Constant(value), node), 0
            if node.attr in functions.MODULES.get(module, ()):
                raise self.error(f"{module}.{node.attr} is a function: it can only be called", node)
            if module in functions.MODULES:
                raise self.error(
                    _unknown(f"{module} has no {node.attr} here", node.attr, functions.MODULES[module]), node
                )
        raise self.error(HINTS["Attribute"], node)

    def sequence(self, node: ast.List | ast.Tuple) -> Typed:
        node.elts, kind = self.elements(node.elts)
        return node, kind

    def elements(self, nodes: list[ast.expr]) -> tuple[list[ast.expr], Kind]:
        """The items of a display or the arguments of a call; the kind of a container of them."""
        elements: list[ast.expr] = []
        kinds: list[int | None] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                value, kind = self.visit(node.value)
                node.value = self.call(value, "<spread>", value)
                elements.append(node)
                kinds.append(None)
            else:
                element, kind = self.visit(node)
                elements.append(element)
                kinds.append(kind if isinstance(kind, int) else None)
        bounds = [kind for kind in kinds if kind is not None]
        return elements, Numbers(max(bounds)) if bounds and len(bounds) == len(kinds) else None

    def set_display(self, node: ast.Set) -> Typed:
        elements, kind = self.elements(node.elts)
        return self.call(node, "<set>", located(ast.List(elements, _LOAD), node)), kind

    def dict_display(self, node: ast.Dict) -> Typed:
        if all(isinstance(key, ast.Constant) and type(key.value) in (str, bool, type(None)) for key in node.keys):
            node.values = [self.visit(value)[0] for value in node.values]
            self._nodes += 1 + (len(node.keys) >> 1)  # from 184 bytes
            return node, None
        rows: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            right = self.visit(value)[0]
            if key is None:
                rows.append(located(ast.Starred(self.call(value, "<pairs>", right), _LOAD), value))
            else:
                rows.append(located(ast.Tuple([self.visit(key)[0], right], _LOAD), value))
        return self.call(node, "<dict>", located(ast.List(rows, _LOAD), node)), None

    def joined(self, node: ast.JoinedStr) -> Typed:
        parts: list[ast.expr] = []
        length = 0
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value, kind = self.visit(part.value)
                length += self.printed(part, kind)
                part.value = value
                spec: ast.expr = located(ast.Constant(""), part)
                if part.format_spec is not None:
                    spec = self.visit(part.format_spec)[0]
                conversion = located(ast.Constant(part.conversion), part)
                parts.append(located(ast.Tuple([value, conversion, spec], _LOAD), part))
            else:
                constant, kind = self.visit(part)
                length += self.printed(part, kind)
                parts.append(constant)
        if length <= NATIVE_TEXT:
            self._nodes += length >> 4
            return node, Text(length)
        return self.call(node, "<interpolated>", *parts), None

    def printed(self, part: ast.expr, kind: Kind) -> int:
        """The longest text that a part of an f-string makes, if it needs no guard; else more than allowed."""
        spec = part.format_spec if isinstance(part, ast.FormattedValue) else None
        widths = 0
        if isinstance(spec, ast.JoinedStr) and spec.values:
            if len(spec.values) > 1 or not isinstance(spec.values[0], ast.Constant):
                return NATIVE_TEXT + 1
            digits = text.numbers_in(str(spec.values[0].value))
            if any(len(number) > 3 for number in digits):
                return NATIVE_TEXT + 1
            widths = sum(map(int, digits)) + FLOAT_BITS
        if isinstance(kind, int) and kind <= FLOAT_BITS:
            return widths + kind + 64
        return widths + kind.length * text.ESCAPED if isinstance(kind, Text) else NATIVE_TEXT + 1

    # operators

    def binary(self, node: ast.BinOp) -> Typed:
        node.left, left = self.visit(node.left)
        node.right, right = self.visit(node.right)
        operator = type(node.op)
        if self.mathematics and operator is ast.BitXor:
            return self.call(node, "<exclusive or>", node.left, node.right), None
        if isinstance(left, int) and isinstance(right, int):
            rule = RESULT_BITS.get(operator)
            bits = constant_power_bits(left, node.right) if operator is ast.Pow else rule(left, right) if rule else None
            if bits is not None and bits <= NATIVE_BITS:
                self._nodes += bits >> 7
                return node, bits
        elif operator is ast.Add and isinstance(left, Text) and isinstance(right, Text):
            length = left.length + right.length
            if length <= NATIVE_TEXT:
                self._nodes += length >> 4
                return node, Text(length)
        return self.guarded(node, operator, node.left, node.right), None

    def guarded(self, node: ast.expr, operator: type[ast.AST], *operands: ast.expr) -> ast.expr:
        if operator not in GUARDS:
            raise self.error("this operator is not available in expressions", node)
        return self.call(node, f"<{operator.__name__}>", *operands)

    def unary(self, node: ast.UnaryOp) -> Typed:
        node.operand, kind = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return node, 1
        if isinstance(kind, int) and not isinstance(node.op, ast.Invert):
            return node, kind + 1
        return self.guarded(node, type(node.op), node.operand), None

    def boolean(self, node: ast.BoolOp) -> Typed:
        typed = [self.visit(value) for value in node.values]
        node.values = [value for value, _ in typed]
        return node, join([kind for _, kind in typed])

    def conditional(self, node: ast.IfExp) -> Typed:
        node.test, _ = self.visit(node.test)
        node.body, body = self.visit(node.body)
        node.orelse, orelse = self.visit(node.orelse)
        return node, join([body, orelse])

    def compare(self, node: ast.Compare) -> Typed:
        typed = [self.visit(operand) for operand in (node.left, *node.comparators)]
        operands = [operand for operand, _ in typed]
        native = all(isinstance(kind, (int, Text)) for _, kind in typed)
        for index, operator in enumerate(node.ops):
            if isinstance(operator, (ast.Is, ast.IsNot)):
                if not any(_is_singleton(operand) for operand in operands[index : index + 2]):
                    raise self.error("`is` compares with None, True or False only here; write ==", node)
                if any(_is_folded(operand) for operand in operands[index : index + 2]):
                    break
            elif not native or type(operator) in (ast.In, ast.NotIn):
                break
        else:
            node.left, *node.comparators = operands
            return node, 1
        if len(node.ops) == 1:
            scalar = isinstance(typed[0][1], (int, Text))
            if scalar and isinstance(node.ops[0], (ast.In, ast.NotIn)) and _is_table(operands[1]):
                node.left, node.comparators = operands[0], operands[1:]
                return node, 1
            return self.link(node, node.ops[0], operands[0], operands[1]), 1
        return self.chain(node, operands), 1

    def link(self, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
        if isinstance(operator, (ast.Is, ast.IsNot)) and not _is_folded(left) and not _is_folded(right):
            return located(ast.Compare(left, [operator], [right]), node)
        return self.guarded(node, type(operator), left, right)

    def chain(self, node: ast.Compare, operands: list[ast.expr]) -> ast.expr:
        """`a < b < c` as `(lambda a, b: a < b and b < c)(a, b)`: each operand is computed once, if needed."""
        self._temporaries += 2
        names = [f"<{self._temporaries - 1}>", f"<{self._temporaries}>"]
        left, right = (located(ast.Name(name, _LOAD), node) for name in names)
        first = self.link(node, node.ops[0], left, right)
        if len(operands) > 3:
            later = located(ast.Compare(right, node.ops[1:], operands[2:]), node)
            rest = self.chain(later, [right, *operands[2:]])
        else:
            rest = self.link(node, node.ops[1], right, operands[2])
        body = located(ast.BoolOp(ast.And(), [first, rest]), node)
        parameters = [located(ast.arg(name), node) for name in names]
        function = ast.Lambda(ast.arguments([], parameters, None, [], [], None, []), body)
        return located(ast.Call(located(function, node), operands[:2], []), node)

    def subscript(self, node: ast.Subscript) -> Typed:
        value, kind = self.visit(node.value)
        if isinstance(node.slice, ast.Slice):
            window = node.slice
            bounds = [
                self.visit(bound)[0] if bound is not None else located(ast.Constant(None), node)
                for bound in (window.lower, window.upper, window.step)
            ]
            return self.call(node, "<part>", value, *bounds), kind
        index, index_kind = self.visit(node.slice)
        part = self.part(value, index)
        if part is not None and kind is None and self.kinds.get(part) is not None:
            return located(ast.Name(part, _LOAD), node), self.kinds[part]
        item_kind: Kind = kind.bits if isinstance(kind, Numbers) and kind.depth == 1 else None
        if isinstance(kind, Text):
            item_kind = Text(1)
        if item_kind is not None and isinstance(index_kind, int) and not isinstance(value, ast.Constant):
            node.value, node.slice = value, index
            return node, item_kind
        return self.call(node, "<item>", value, index), item_kind

    def part(self, value: ast.expr, index: ast.expr) -> str | None:
        """The key of `order["total"]` or `xs[-1]` in `parts`: a name of the caller's, a constant."""
        constant = _constant_index(index)
        if constant is None or not isinstance(value, ast.Name) or any(value.id in scope for scope in self._bound):
            return None
        for key, part in self.parts.items():
            if part == (value.id, constant):
                return key
        key = f"<part {len(self.parts)}>"
        self.parts[key] = (value.id, constant)
        return key

    # comprehensions

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Typed:
        kind = self.rounds(node.generators, node, lambda: self._element(node))
        numbers = Numbers(kind) if isinstance(kind, int) else None
        if isinstance(node, ast.SetComp):
            rows = located(ast.ListComp(node.elt, node.generators), node)
            return self.call(node, "<set>", rows), numbers
        return node, numbers

    def _element(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Kind:
        node.elt, kind = self.visit(node.elt)
        return kind

    def dict_comprehension(self, node: ast.DictComp) -> Typed:
        pair = located(ast.Tuple([node.key, node.value], _LOAD), node.key)
        rows = located(ast.ListComp(pair, node.generators), node)
        self.rounds(node.generators, node, lambda: self._element(rows))
        return self.call(node, "<dict>", rows), None

    def rounds(self, generators: list[ast.comprehension], node: ast.expr, body: Callable[[], Kind]) -> Kind:
        """Visits the loops and then the body; each loop pays for its rounds times the nodes of all that it repeats."""
        prices: list[tuple[ast.Constant, int]] = []
        for generator in generators:
            if generator.is_async:
                raise self.error("async is not available in expressions", node)
            iterable, kind = self.visit(generator.iter)
            price = located(ast.Constant(0), iterable)
            prices.append((price, self._nodes))
            self._bound.append(self.targets(generator.target, kind))
            generator.iter = self.paid(iterable, kind, generator.target, price)
            generator.ifs = [self.visit(condition)[0] for condition in generator.ifs]
        kind = body()
        for price, before in prices:
            price.value = 1 + self._nodes - before
            self._bound.pop()
        return kind

    def paid(self, iterable: ast.expr, kind: Kind, target: ast.expr, price: ast.expr) -> ast.expr:
        """The container of a loop behind the guard that takes the price of its rounds."""
        callee = iterable.func if isinstance(iterable, ast.Call) and not iterable.keywords else None
        if isinstance(iterable, ast.Call) and isinstance(callee, ast.Name) and callee.id == "<call zip>":
            return self.call(iterable, "<rows>", price, *iterable.args[1:])
        if isinstance(iterable, ast.Name):
            self.scanned.add(iterable.id)
        if isinstance(kind, Numbers):
            return self.call(iterable, "<items>", iterable, price)
        return self.call(iterable, "<unpacked>" if isinstance(target, ast.Tuple) else "<each>", iterable, price)

    def targets(self, target: ast.expr, kind: Kind) -> dict[str, Kind]:
        """The names that a loop binds, with their kinds."""
        if isinstance(target, ast.Name):
            return {target.id: kind.bits if isinstance(kind, Numbers) and kind.depth == 1 else None}
        if isinstance(target, ast.Tuple) and all(isinstance(name, ast.Name) for name in target.elts):
            bits = kind.bits if isinstance(kind, Numbers) and kind.depth == 2 else None
            if isinstance(kind, Numbers) and kind.depth == 1:
                raise self.error("numbers cannot be unpacked", target)
            return {name.id: bits for name in target.elts if isinstance(name, ast.Name)}
        raise self.error("a loop in an expression binds a name, or names separated by commas", target)

    # calls

    def calling(self, node: ast.Call) -> Typed:
        name, guard, table = self.callee(node.func)
        if self.withheld and guard is not None and f"{table.removeprefix('call ')}{name}" in self.withheld:
            raise self.error(f"{name} is not allowed by the policy", node)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.error("** is not available in the calls of an expression", keyword)
            keyword.value, _ = self.visit(keyword.value)
        generator = node.args[0] if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp) else None
        if generator is not None:
            argument, kind = self.comprehension(generator)
            args, kinds = [argument], [kind]
        else:
            typed = [self.elements([arg]) if isinstance(arg, ast.Starred) else self.visit(arg) for arg in node.args]
            args = [arg[0] if isinstance(arg, list) else arg for arg, _ in typed]
            kinds = [kind for _, kind in typed]
        if guard is None:
            function = located(ast.Name(f"<host {name}>", _LOAD), node)
            if generator is not None:
                args = [located(ast.ListComp(generator.elt, generator.generators), generator)]
            return self.call(node, "<host>", function, *args, keywords=node.keywords), None
        self.scanned.update(arg.id for arg in args if isinstance(arg, ast.Name))
        native = None if node.keywords else self.native(node, name, args, kinds, generator is not None)
        if native is not None:
            return native
        if generator is not None and name not in ("any", "all"):
            args = [located(ast.ListComp(generator.elt, generator.generators), generator)]
        helper = f"<{table}{name}>"
        self.globals[helper] = guard
        result = None if node.keywords else container_of(name, kinds)
        return self.call(node, helper, *args, keywords=node.keywords), result

    def callee(self, node: ast.expr) -> tuple[str, Callable[..., Any] | None, str]:
        """Name, guard (None for a function of the host) and the prefix that makes the name unique."""
        if isinstance(node, ast.Name):
            if any(node.id in scope for scope in self._bound):
                raise self.error(f"{node.id} is a value, not a function", node)
            if node.id in self.host:
                return node.id, None, ""
            if node.id in functions.BUILTINS:
                return node.id, functions.BUILTINS[node.id], "call "
            if self.mathematics and node.id in mathematical.FUNCTIONS:
                return node.id, mathematical.FUNCTIONS[node.id], "math."
            if node.id in mathematical.FUNCTIONS:
                message = f'no function {node.id}: write math.{node.id}(...), or pass functions="mathematics"'
                raise self.error(message, node)
            known = (*functions.BUILTINS, *self.host, *(mathematical.FUNCTIONS if self.mathematics else ()))
            raise self.error(_unknown(f"no function {node.id}", node.id, known), node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in functions.MODULES:
            table = functions.MODULES[node.value.id]
            if node.attr in table:
                own = mathematical.FUNCTIONS if self.mathematics and node.value.id == "math" else table
                return node.attr, own.get(node.attr, table[node.attr]), node.value.id + "."
            raise self.error(_unknown(f"{node.value.id} has no {node.attr} here", node.attr, table), node)
        if isinstance(node, ast.Attribute):
            raise self.error("methods are not available in expressions; pass the value to a function", node)
        raise self.error("only a function named here can be called", node)

    def native(
        self, node: ast.Call, name: str, args: list[ast.expr], kinds: list[Kind], generator: bool
    ) -> Typed | None:
        """The function itself, without a guard, where its arguments are bounded numbers."""
        module = node.func.value.id if isinstance(node.func, ast.Attribute) else ""  # type: ignore[attr-defined]
        function, bits = natives.choose(module, name, args, kinds)
        if function is None or bits > NATIVE_BITS or (function is round and len(args) > 1 and self._bound):
            return None  # in a loop, round() costs by the magnitude of a float
        if isinstance(kinds[0], Numbers) and not generator and name != "len":
            price = located(ast.Constant(1 + (bits >> 9)), node)
            args = [self.call(node, "<items>", args[0], price)]
        self.globals[f"<plain {name}>"] = function
        return self.direct(node, f"<plain {name}>", *args), bits


_LOAD = ast.Load()
_METHODS: dict[type[ast.AST], Callable[[Translator, Any], Typed]] = {
    ast.Constant: Translator.constant,
    ast.Name: Translator.name,
    ast.Attribute: Translator.attribute,
    ast.List: Translator.sequence,
    ast.Tuple: Translator.sequence,
    ast.Set: Translator.set_display,
    ast.Dict: Translator.dict_display,
    ast.JoinedStr: Translator.joined,
    ast.BinOp: Translator.binary,
    ast.UnaryOp: Translator.unary,
    ast.BoolOp: Translator.boolean,
    ast.IfExp: Translator.conditional,
    ast.Compare: Translator.compare,
    ast.Subscript: Translator.subscript,
    ast.Call: Translator.calling,
    ast.ListComp: Translator.comprehension,
    ast.SetComp: Translator.comprehension,
    ast.DictComp: Translator.dict_comprehension,
}


def _constant_index(node: ast.expr) -> int | str | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, str):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        positive = _constant_index(node.operand)
        return -positive if isinstance(positive, int) else None
    return None


def _is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or type(node.value) is bool)


def _is_folded(node: ast.expr) -> bool:
    """Whether the compiler may see a constant here, and warn on the host's stderr that `is` compares it."""
    return not isinstance(node, (ast.Name, ast.Call)) and not _is_singleton(node)


def _is_table(node: ast.expr) -> bool:
    """A display of constants, as in `x in ("a", "b")`: comparing an item with it is bounded by the source."""
    return isinstance(node, (ast.List, ast.Tuple)) and all(isinstance(element, ast.Constant) for element in node.elts)


def _unknown(message: str, name: str, known: Collection[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, 1, 0.75)
    return (
        f"{message}; did you mean {close[0]}?" if close else f"{message}; known are {', '.join(sorted(known)[:12])} …"
    )
