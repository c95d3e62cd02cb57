"""The language of expressions: a table of kinds of nodes, and the walk that checks a tree and makes closures of it.

`NODES` has a row per kind of node: the method that checks it and returns its closure, or the sentence that refuses it;
what has no row is refused too. Attributes exist only as `math.sqrt(...)`, `math.pi` and their like, functions only in
the place where they are called, so no computation can walk from a value to its class.

What each node costs stands beside its operator or function: `operators.OPERATORS`, `functions.BUILTINS` and `MODULES`.
A comprehension pays in advance for all its rounds: its container has a length, and its body a number of nodes.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline import closures, containers, functions, mathematical, subscripts, text
from safeexec.inline.operators import GUARDS, QUICK, SWAPPED
from safeexec.inline.report import at_node

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from safeexec.errors import ExpressionError
    from safeexec.inline.closures import Clause, Guard, Run

MAX_DEPTH = 150
"""The deepest nesting of an expression."""
DIGIT = (1 << 30) - 1
"""Integers below this magnitude need no guard (CPython compares and computes those of one digit fastest)."""
MAX_EXPONENT = 16
"""The largest constant exponent that needs none: 30 bits become 480."""
FIELD = 20
"""Nodes that a field without a guard counts for: a float of 300 digits is written out in 2 us."""
MAX_KEY = 64
"""The longest constant key, in characters, that is looked up without a guard."""


class Builder:
    """Makes the closures of one tree. `names` are those of the caller that it reads, with their first places."""

    def __init__(
        self,
        source: str,
        host: Mapping[str, Callable[..., Any]],
        withheld: Collection[str] = (),
        mathematics: bool = False,
    ) -> None:
        self.source = source
        self.host = host
        self.withheld = withheld
        self.mathematics = mathematics
        self.names: dict[str, ast.Name] = {}
        self._scopes: list[tuple[frozenset[str], dict[str, None]]] = []
        """Per comprehension around the node: the names that it binds, and those that it uses of what is outside."""
        self._depth = 0
        self._nodes = 0

    def visit(self, node: ast.expr) -> Run:
        row = NODES.get(type(node))
        if row is None or isinstance(row, str):
            raise self.error(row or f"{type(node).__name__} is not available in expressions", node)
        self._nodes += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"the expression is nested more than {MAX_DEPTH} deep", node)
        run = row(self, node)
        self._depth -= 1
        return run

    def error(self, message: str, node: ast.expr | ast.keyword) -> ExpressionError:
        return at_node(message, self.source, node)

    # values

    def constant(self, node: ast.Constant) -> Run:
        if type(node.value) not in _CONSTANTS:
            raise self.error(f"a constant of type {type(node.value).__name__} is not available in expressions", node)
        return closures.constant(node.value)

    def name(self, node: ast.Name) -> Run:
        key = node.id
        if self._is_number(key) and not self._is_bound(key):
            self._use(key)
            return closures.name_or(node, key, mathematical.NUMBERS[key])
        return closures.name(node, self._read(node))

    def _read(self, node: ast.Name) -> str:
        if self._use(node.id) and node.id not in self.names:
            self.names[node.id] = node
        return node.id

    def _is_number(self, key: str) -> bool:
        """Whether the name is a constant where the caller gives none of that name."""
        return key in (mathematical.NUMBERS if self.mathematics else _ALWAYS)

    def _is_bound(self, key: str) -> bool:
        return any(key in bound for bound, _ in self._scopes)

    def _use(self, key: str) -> bool:
        """Whether the name is the caller's; the comprehensions around it take it along."""
        for bound, uses in reversed(self._scopes):
            if key in bound:
                return False
            uses[key] = None
        return True

    def attribute(self, node: ast.Attribute) -> Run:
        if isinstance(node.value, ast.Name):
            module = node.value.id
            value = functions.CONSTANTS.get(module, {}).get(node.attr)
            if value is not None:
                return closures.constant(value)
            if node.attr in functions.MODULES.get(module, ()):
                raise self.error(f"{module}.{node.attr} is a function: it can only be called", node)
            if module in functions.MODULES:
                known = functions.MODULES[module]
                raise self.error(_unknown(f"{module} has no {node.attr} here", node.attr, known), node)
        raise self.error(_NO_ATTRIBUTES, node)

    def elements(self, nodes: list[ast.expr]) -> Run:
        """A list of the items of a display, or of the arguments of a call."""
        return closures.gathered(
            [
                (closures.spread(node.value, self.visit(node.value)), True)
                if isinstance(node, ast.Starred)
                else (self.visit(node), False)
                for node in nodes
            ]
        )

    def list_display(self, node: ast.List) -> Run:
        return self.elements(node.elts)

    def tuple_display(self, node: ast.Tuple) -> Run:
        return closures.as_tuple(self.elements(node.elts))

    def set_display(self, node: ast.Set) -> Run:
        return closures.guarded(node, containers.to_set, self.elements(node.elts))

    def dict_display(self, node: ast.Dict) -> Run:
        if all(isinstance(key, ast.Constant) and type(key.value) in (str, bool, type(None)) for key in node.keys):
            self._nodes += 1 + (len(node.keys) >> 1)  # from 184 bytes
            keys = [key.value for key in node.keys]  # type: ignore[union-attr]
            return closures.dict_of(keys, [self.visit(value) for value in node.values])
        rows: list[tuple[Run, bool]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                rows.append((closures.guarded(value, containers.pairs, self.visit(value)), True))
            else:
                rows.append((self.pair(key, value), False))
        return closures.guarded(node, containers.to_dict, closures.gathered(rows))

    def pair(self, key: ast.expr, value: ast.expr) -> Run:
        return closures.as_tuple(self.elements([key, value]))

    def joined(self, node: ast.JoinedStr) -> Run:
        parts = [self.field(part) if isinstance(part, ast.FormattedValue) else self.visit(part) for part in node.values]
        return closures.text_of(node, parts)

    def field(self, node: ast.FormattedValue) -> Run:
        value = self.visit(node.value)
        spec: Any = node.format_spec
        if spec is None:
            plain: str | None = ""
        else:
            constant = isinstance(spec, ast.JoinedStr) and len(spec.values) == 1 and spec.values[0]
            plain = str(constant.value) if isinstance(constant, ast.Constant) else None
            if plain is not None and any(len(digits) > 2 for digits in text.numbers_in(plain)):
                plain = None
        if node.conversion != -1:
            plain = None
        if plain is not None:
            self._nodes += FIELD
        run = self.visit(spec) if spec is not None else None
        return closures.field(node, value, node.conversion, run, plain)

    # operators

    def binary(self, node: ast.BinOp) -> Run:
        return self.operation(node, type(node.op), node.left, node.right)

    def operation(self, node: ast.expr, operator: type[ast.AST], left: ast.expr, right: ast.expr) -> Run:
        """An operator of two operands, in the quickest form that there is for them."""
        guard = GUARDS.get(operator)
        if guard is None:
            raise self.error("this operator is not available in expressions", node)
        apply = QUICK.get(operator)
        if operator is ast.Pow and _is_exponent(right):
            apply = pow
        elif self.mathematics and operator is ast.BitXor:
            apply, guard = None, mathematical.exclusive_or
        if apply is None:
            return closures.guarded(node, guard, self.visit(left), self.visit(right))
        if _is_number(left) and apply in SWAPPED:  # of numbers, `2 * x` is `x * 2`
            apply, guard = SWAPPED[apply], closures.swapped(guard)
            left, right = right, left
        if _is_number(right):
            self._nodes += 1
            number = right.value  # type: ignore[attr-defined]
            if self._is_plain(left):
                return closures.binary_of_name_with_number(node, apply, guard, self._read(left), number)  # type: ignore[arg-type]
            return closures.binary_with_number(node, apply, guard, self.visit(left), number)
        if self._is_plain(left) and self._is_plain(right):
            return closures.binary_of_names(node, apply, guard, self._read(left), self._read(right))  # type: ignore[arg-type]
        return closures.binary(node, apply, guard, self.visit(left), self.visit(right))

    def _is_plain(self, node: ast.expr) -> bool:
        """Whether the node is a name without a value of its own; counts it, as the visit that it saves would."""
        plain = isinstance(node, ast.Name) and not self._is_number(node.id)
        self._nodes += plain
        return plain

    def unary(self, node: ast.UnaryOp) -> Run:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return closures.inverted(operand)
        return closures.guarded(node, GUARDS[type(node.op)], operand)

    def conjunction(self, node: ast.BoolOp) -> Run:
        operands = [self.visit(value) for value in node.values]
        return closures.all_of(operands) if isinstance(node.op, ast.And) else closures.any_of(operands)

    def conditional(self, node: ast.IfExp) -> Run:
        return closures.conditional(self.visit(node.test), self.visit(node.body), self.visit(node.orelse))

    def compare(self, node: ast.Compare) -> Run:
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            if isinstance(operator, (ast.Is, ast.IsNot)) and not any(map(_is_singleton, operands[index : index + 2])):
                for operand in operands:
                    self.visit(operand)  # what is refused in them comes first
                raise self.error("`is` compares with None, True or False only here; write ==", node)
        if len(node.ops) > 1:
            first, *others = map(self.visit, operands)
            links = [
                (QUICK.get(type(operator)), GUARDS[type(operator)], operand)
                for operator, operand in zip(node.ops, others, strict=True)
            ]
            return closures.chained(node, first, links)
        kind = type(node.ops[0])
        right: Any = operands[1]
        if kind in (ast.In, ast.NotIn) and _is_table(right):
            run, _ = self.visit(node.left), self.elements(right.elts)
            return closures.among(node, run, tuple(element.value for element in right.elts), kind is ast.NotIn)
        return self.operation(node, kind, node.left, right)

    def subscript(self, node: ast.Subscript) -> Run:
        container, window = self.visit(node.value), node.slice
        if isinstance(window, ast.Slice):
            bounds = [
                closures.constant(None) if bound is None else self.visit(bound)
                for bound in (window.lower, window.upper, window.step)
            ]
            return closures.slice_of(node, container, bounds)
        index = self.visit(window)
        constant = _constant_index(window)
        if type(constant) is str and len(constant) <= MAX_KEY:
            return closures.item_of_text(node, container, constant)
        if type(constant) is int:
            return closures.item_of_number(node, container, constant)
        return closures.guarded(node, subscripts.item, container, index)

    # comprehensions

    def list_comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Run:
        return self.rounds(node, lambda: self.visit(node.elt), closures.listed)

    def set_comprehension(self, node: ast.SetComp) -> Run:
        rows = self.rounds(node, lambda: self.visit(node.elt), closures.listed)
        return closures.guarded(node, containers.to_set, rows)

    def dict_comprehension(self, node: ast.DictComp) -> Run:
        rows = self.rounds(node, lambda: self.pair(node.key, node.value), closures.listed)
        return closures.guarded(node, containers.to_dict, rows)

    def rounds(self, node: Any, body: Callable[[], Run], form: Callable[..., Run]) -> Run:
        """Visits the loops and then the body; each loop pays for its rounds times the nodes of all that it repeats."""
        loops: list[ast.comprehension] = node.generators
        targets = [self.targets(loop.target) for loop in loops]
        bound = frozenset(name for names in targets for name in names)
        uses: dict[str, None] = {}
        clauses: list[tuple[Callable[[int], Run], Run | None, int]] = []
        for loop, names in zip(loops, targets, strict=True):
            if loop.is_async:
                raise self.error("async is not available in expressions", node)
            rows, before = self.paid(loop.iter, len(names)), self._nodes
            if not clauses:
                self._scopes.append((bound, uses))  # all but the first container sees what the loops bind
            tests = [self.visit(condition) for condition in loop.ifs]
            test = closures.all_of(tests) if len(tests) > 1 else tests[0] if tests else None
            clauses.append((rows, test, before))
        element = body()
        self._scopes.pop()
        done: list[Clause] = [
            (rows(1 + self._nodes - before + depth), names, test)  # an item passes through all loops around its own
            for depth, ((rows, test, before), names) in enumerate(zip(clauses, targets, strict=True))
        ]
        return form(node, element, done, uses)

    def paid(self, iterable: ast.expr, names_bound: int) -> Callable[[int], Run]:
        """The container of a loop, for the price of a round that is known when the body has been visited."""
        if isinstance(iterable, ast.Call) and not iterable.keywords and isinstance(iterable.func, ast.Name):
            name, guard = self.callee(iterable.func)
            if guard is functions.BUILTINS["zip"] and not any(map(_is_generator, iterable.args)):
                self._nodes += 1
                self.check_allowed(name, iterable)
                rows = self.elements(iterable.args)
                return lambda price: closures.paid_rows(iterable, rows, price)
        container = self.visit(iterable)
        return lambda price: closures.paid(iterable, container, names_bound, price)

    def targets(self, target: ast.expr) -> tuple[str, ...]:
        """The names that a loop binds."""
        if isinstance(target, ast.Name):
            return (target.id,)
        if isinstance(target, ast.Tuple) and all(isinstance(name, ast.Name) for name in target.elts):
            return tuple(name.id for name in target.elts if isinstance(name, ast.Name))
        raise self.error("a loop in an expression binds a name, or names separated by commas", target)

    # calls

    def calling(self, node: ast.Call) -> Run:
        name, guard = self.callee(node.func)
        self.check_allowed(name, node)
        options: list[tuple[str, Run]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.error("** is not available in the calls of an expression", keyword)
            options.append((keyword.arg, self.visit(keyword.value)))
        if len(node.args) == 1 and _is_generator(node.args[0]):
            generator: Any = node.args[0]
            lazy = guard in (functions.BUILTINS["any"], functions.BUILTINS["all"])
            form = closures.generated if lazy else closures.listed
            arguments = [self.rounds(generator, lambda: self.visit(generator.elt), form)]
        elif any(isinstance(arg, ast.Starred) for arg in node.args):
            return closures.call(node, guard, self.elements(node.args), options)
        else:
            arguments = [self.visit(arg) for arg in node.args]
        if options:
            return closures.call(node, guard, closures.gathered([(run, False) for run in arguments]), options)
        return closures.guarded(node, guard, *arguments)

    def check_allowed(self, name: str, node: ast.Call) -> None:
        if name in self.withheld:
            raise self.error(f"{name.rpartition('.')[2]} is not allowed by the policy", node)

    def callee(self, node: ast.expr) -> tuple[str, Guard]:
        """A function's guard, and the name by which a policy withholds it (empty for one of the host)."""
        if isinstance(node, ast.Name):
            if self._is_bound(node.id):
                raise self.error(f"{node.id} is a value, not a function", node)
            if node.id in self.host:
                return "", functions.from_host(self.host[node.id])
            if node.id in functions.BUILTINS:
                return node.id, functions.BUILTINS[node.id]
            if self.mathematics and node.id in mathematical.FUNCTIONS:
                return f"math.{node.id}", mathematical.FUNCTIONS[node.id]
            owner = next((module for module, table in functions.MODULES.items() if node.id in table), "")
            if owner:
                return f"{owner}.{node.id}", functions.MODULES[owner][node.id]
            if node.id in mathematical.FUNCTIONS:
                raise self.error(f'no function {node.id}: pass functions="mathematics"', node)
            known = (*functions.BUILTINS, *self.host, *mathematical.FUNCTIONS)
            raise self.error(_unknown(f"no function {node.id}", node.id, known, ""), node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in functions.MODULES:
            module = node.value.id
            table = functions.MODULES[module]
            if node.attr in table:
                own = mathematical.FUNCTIONS if self.mathematics and module == "math" else table
                return f"{module}.{node.attr}", own.get(node.attr, table[node.attr])
            raise self.error(_unknown(f"{module} has no {node.attr} here", node.attr, table), node)
        if isinstance(node, ast.Attribute):
            raise self.error("methods are not available in expressions; pass the value to a function", node)
        raise self.error("only a function named here can be called; a product is written with *", node)


_ALWAYS = ("pi", "tau")
"""Constants that are there by their bare names, too, where the caller gives no such name. `e` may be a slip."""
_OTHER_NAMES = {
    "ln": "log",
    "lg": "log10",
    "tg": "tan",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"ar{name}": f"a{name}" for name in ("sinh", "cosh", "tanh")},
    **dict.fromkeys(("binom", "binomial", "choose", "nCr", "ncr"), "comb"),
    **dict.fromkeys(("nPr", "npr"), "perm"),
    "fact": "factorial",
}
"""What other languages, and textbooks, call a function of `math`."""
_OTHER_WAYS = {
    "sec": "it is 1 / {0}cos(x)",
    **dict.fromkeys(("csc", "cosec"), "it is 1 / {0}sin(x)"),
    **dict.fromkeys(("cot", "ctg"), "it is 1 / {0}tan(x)"),
    "root": "the n-th root is x ** (1 / n)",
    "mod": "the remainder of a / b is a % b",
    **dict.fromkeys(("avg", "average"), "it is statistics.mean"),
    **dict.fromkeys(
        ("derivative", "diff", "expand", "factor", "integral", "integrate", "limit", "simplify", "solve", "symbols"),
        'formulas are changed by sympy, in a step of Sandbox("mathematics")',
    ),
}
"""The same where it is no function, with `{0}` for the module."""
_CONSTANTS = frozenset({int, float, complex, bool, str, type(None)})
_NO_ATTRIBUTES = "attributes are not available in expressions; only functions and constants of math and statistics are"

NODES: dict[type[ast.AST], Callable[[Builder, Any], Run] | str] = {
    ast.Constant: Builder.constant,
    ast.Name: Builder.name,
    ast.Attribute: Builder.attribute,
    ast.List: Builder.list_display,
    ast.Tuple: Builder.tuple_display,
    ast.Set: Builder.set_display,
    ast.Dict: Builder.dict_display,
    ast.JoinedStr: Builder.joined,
    ast.BinOp: Builder.binary,
    ast.UnaryOp: Builder.unary,
    ast.BoolOp: Builder.conjunction,
    ast.IfExp: Builder.conditional,
    ast.Compare: Builder.compare,
    ast.Subscript: Builder.subscript,
    ast.Call: Builder.calling,
    ast.ListComp: Builder.list_comprehension,
    ast.SetComp: Builder.set_comprehension,
    ast.DictComp: Builder.dict_comprehension,
    ast.Lambda: "lambda is not available in expressions; write a comprehension",
    ast.NamedExpr: "assignments are not available in expressions",
    ast.Await: "await is not available in expressions",
    ast.Yield: "yield is not available in expressions",
    ast.YieldFrom: "yield is not available in expressions",
    ast.GeneratorExp: "a generator can only be the argument of a function here; write a list comprehension",
    ast.Starred: "a starred value can stand only in a display or a call",
    ast.Slice: "a slice can stand only alone in a subscript",
}


def _is_number(node: ast.expr) -> bool:
    """A float or a small integer, as a constant."""
    if not isinstance(node, ast.Constant):
        return False
    return type(node.value) is float or (type(node.value) is int and node.value < DIGIT)


def _is_exponent(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (
        type(node.value) is float or (type(node.value) is int and node.value <= MAX_EXPONENT)
    )


def _is_generator(node: ast.expr) -> bool:
    return isinstance(node, ast.GeneratorExp)


def _constant_index(node: ast.expr) -> int | str | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, str):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        positive = _constant_index(node.operand)
        return -positive if isinstance(positive, int) else None
    return None


def _is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or type(node.value) is bool)


def _is_table(node: Any) -> bool:
    """A display of constants, as in `x in ("a", "b")`: comparing an item with it is bounded by the source."""
    return isinstance(node, (ast.List, ast.Tuple)) and all(isinstance(element, ast.Constant) for element in node.elts)


def _unknown(message: str, name: str, known: Collection[str], module: str = "math.") -> str:
    """`message`, and what to write instead: one of `known`, or a function that is `module` and a name."""
    from safeexec.common.matching import nearest  # with re and difflib 5 ms, for what is misspelt alone

    if name in _OTHER_NAMES:
        return f"{message}; it is {module}{_OTHER_NAMES[name]}"
    if name in _OTHER_WAYS:
        return f"{message}; {_OTHER_WAYS[name].format(module)}"
    close = nearest(name, known)
    return (
        f"{message}; did you mean {close[0]}?" if close else f"{message}; known are {', '.join(sorted(known)[:12])} …"
    )
