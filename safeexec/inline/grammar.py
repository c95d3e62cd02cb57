"""The language of expressions: a table of kinds of nodes, and the walk that checks a tree and writes what runs.

`NODES` has a row per kind of node: the method that checks it and returns its code, or the sentence that refuses it;
what has no row is refused too. Attributes exist only as `math.sqrt(...)`, `math.pi` and their like, functions only in
the place where they are called, so no computation can walk from a value to its class.

The code is a tree again, of calls of guards, constants, `names["x"]`, displays, `and`, `or`, `not`, `if` and
comprehensions, and of nothing else; CPython compiles it. Its names are of our making (`$0`, which no source can spell),
but for the variables of a comprehension. Nodes keep their places in the source, so that a traceback names the column.

What each node costs stands beside its operator or function: `operators.OPERATORS`, `functions.BUILTINS` and `MODULES`.
A comprehension pays in advance for all its rounds: its container has a length, and its body a number of nodes.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms

from safeexec.common.typed import TYPE_CHECKING
from safeexec.inline import containers, functions, operators, text
from safeexec.inline.costs import PLAIN, admit
from safeexec.inline.operators import GUARDS
from safeexec.inline.report import FILENAME, at_node, failure, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from safeexec.errors import ExpressionError
    from safeexec.inline.costs import Fuel
    from safeexec.inline.report import Place

    Guard = Callable[..., Any]

MAX_DEPTH = 150
"""The deepest nesting of an expression."""
MAX_EXPONENT = 16
"""The largest constant exponent that needs no guard: 30 bits become 480."""
_LOAD, _STORE = ast.Load(), ast.Store()
_ANYWHERE: Any = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
_NAMES = ast.Name("$names", _LOAD, **_ANYWHERE)
_FUEL = ast.Name("$fuel", _LOAD, **_ANYWHERE)


class Builder:
    """Writes the code of one tree. `names` are those of the caller that it reads, with their first places; `places` the
    nodes by where they stand.
    """

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
        self.places: dict[Place, ast.expr] = {}
        self._guards: dict[int, ast.Name] = {}
        self._values: dict[str, Any] = {"__builtins__": {}}
        self._scopes: list[frozenset[str]] = []
        """Per comprehension around the node: the names that it binds."""
        self._depth = 0
        self._nodes = 0

    def compiled(self, tree: ast.expr) -> Callable[[Mapping[str, Any], Fuel], Any]:
        """Return the tree as a function of names and fuel."""
        arguments = [ast.arg(arg=name.id, **_ANYWHERE) for name in (_NAMES, _FUEL)]
        run = _lambda(tree, self.visit(tree), arguments)
        try:
            code = compile(ast.Expression(body=run), FILENAME, "eval", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise failure("the expression is nested too deeply", self.source, 1, 0, 1) from None
        made: Callable[[Mapping[str, Any], Fuel], Any] = eval(code, self._values)
        return made

    def visit(self, node: ast.expr) -> ast.expr:
        row = NODES.get(type(node))
        if row is None or isinstance(row, str):
            raise self.error(row or f"{type(node).__name__} is not available in expressions", node)
        self._nodes += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"the expression is nested more than {MAX_DEPTH} deep", node)
        code = row(self, node)
        self._depth -= 1
        return code

    def error(self, message: str, node: ast.expr | ast.keyword) -> ExpressionError:
        return at_node(message, self.source, node)

    def call(self, at: ast.expr, guard: Guard, *operands: ast.expr, options: Sequence[ast.keyword] = ()) -> ast.Call:
        """Return a call of a guard with the account and the operands. An error in it is one of the node `at`."""
        self.places[place_of(at)] = at
        return ast.Call(self.guard(guard), [_FUEL, *operands], [*options], **_place(at))

    def guard(self, guard: Guard) -> ast.Name:
        """Return the name of a guard. It cannot fail, so it stands anywhere; nor can the account, or a constant."""
        key = id(guard)
        known = self._guards.get(key)
        if known is None:
            known = self._guards[key] = ast.Name(f"${key}", _LOAD, **_ANYWHERE)
            self._values[known.id] = guard
        return known

    # values

    def constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) not in PLAIN:
            raise self.error(f"a constant of type {type(node.value).__name__} is not available in expressions", node)
        return node

    def name(self, node: ast.Name) -> ast.expr:
        key = node.id
        if self._is_bound(key):
            return node
        if self._is_constant(key):
            return self.call(node, _given, _NAMES, _constant(key), _constant(functions.CONSTANTS["math"][key]))
        self.places[place_of(node)] = node
        return ast.Call(self.guard(admit), [self.read(node)], [], **_place(node))

    def read(self, node: ast.Name) -> ast.expr:
        """Return a name of the caller's as it is given, not yet admitted."""
        self.names.setdefault(node.id, node)
        return ast.Subscript(_NAMES, _constant(node.id), _LOAD, **_place(node))

    def operand(self, node: ast.expr) -> ast.expr:
        """Return an operand of a guard, which looks at its type itself."""
        if not isinstance(node, ast.Name) or self._is_bound(node.id) or self._is_constant(node.id):
            return self.visit(node)
        self._nodes += 1
        return self.read(node)

    def _is_constant(self, key: str) -> bool:
        """Return whether the name is a constant where the caller gives none of that name."""
        return key in (functions.CONSTANTS["math"] if self.mathematics else _ALWAYS)

    def _is_bound(self, key: str) -> bool:
        return any(key in bound for bound in self._scopes)

    def attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name):
            module = node.value.id
            value = functions.CONSTANTS.get(module, {}).get(node.attr)
            if value is not None:
                return _constant(value)
            if node.attr in functions.MODULES.get(module, ()):
                raise self.error(f"{module}.{node.attr} is a function: it can only be called", node)
            if module in functions.MODULES:
                known = functions.MODULES[module]
                raise self.error(_unknown(f"{module} has no {node.attr} here", node.attr, known), node)
        raise self.error(_NO_ATTRIBUTES, node)

    def elements(self, nodes: list[ast.expr]) -> list[ast.expr]:
        """Return the items of a display, or the arguments of a call."""
        return [
            ast.Starred(
                self.call(node.value, containers.each, self.visit(node.value), _constant(1)),
                _LOAD,
                **_place(node),
            )
            if isinstance(node, ast.Starred)
            else self.visit(node)
            for node in nodes
        ]

    def display(self, node: ast.List | ast.Tuple | ast.Set) -> ast.expr:
        if isinstance(node, ast.Tuple):
            return ast.Tuple(self.elements(node.elts), _LOAD, **_place(node))
        items = ast.List(self.elements(node.elts), _LOAD, **_place(node))
        return items if isinstance(node, ast.List) else self.call(node, containers.to_set, items)

    def dict_display(self, node: ast.Dict) -> ast.expr:
        if all(isinstance(key, ast.Constant) and type(key.value) in (str, bool, type(None)) for key in node.keys):
            self._nodes += 1 + (len(node.keys) >> 1)  # the bytes of a dict, paid as nodes
            return ast.Dict(node.keys, [self.visit(value) for value in node.values], **_place(node))
        rows: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                mapping = self.call(value, containers.pairs, self.visit(value))
                rows.append(ast.Starred(mapping, _LOAD, **_place(value)))
            else:
                rows.append(self.pair(key, value))
        return self.call(node, containers.to_dict, ast.List(rows, _LOAD, **_place(node)))

    def pair(self, key: ast.expr, value: ast.expr) -> ast.expr:
        return ast.Tuple(self.elements([key, value]), _LOAD, **_place(key))

    def joined(self, node: ast.JoinedStr) -> ast.expr:
        parts = [self.field(part) if isinstance(part, ast.FormattedValue) else self.visit(part) for part in node.values]
        return self.call(node, text.joined, ast.List(parts, _LOAD, **_place(node)))

    def field(self, node: ast.FormattedValue) -> ast.expr:
        spec = [self.visit(node.format_spec)] if node.format_spec is not None else []
        return self.call(node, text.field, self.visit(node.value), _constant(node.conversion), *spec)

    # operators

    def operation(self, node: ast.expr, operator: type[ast.AST], left: ast.expr, right: ast.expr) -> ast.expr:
        guard = GUARDS.get(operator)
        if guard is None:
            raise self.error("this operator is not available in expressions", node)
        if operator is ast.Pow and _is_exponent(right):
            guard = operators.small_power
        elif self.mathematics and operator is ast.BitXor:
            guard = operators.exclusive_or
        return self.call(node, guard, self.operand(left), self.operand(right))

    def unary(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, operand, **_place(node))
        return self.call(node, GUARDS[type(node.op)], operand)

    def compare(self, node: ast.Compare) -> ast.expr:
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            if isinstance(operator, (ast.Is, ast.IsNot)) and not any(map(_is_singleton, operands[index : index + 2])):
                for operand in operands:
                    self.visit(operand)  # what is refused in them comes first
                raise self.error("`is` compares with None, True or False only here; write ==", node)
        if len(node.ops) > 1:
            return self.chain(node, operands)
        return self.operation(node, type(node.ops[0]), *operands)

    def chain(self, node: ast.Compare, operands: list[ast.expr]) -> ast.expr:
        """`a < b < c`: each operand is computed while all before it hold, and once."""
        guards = [GUARDS[type(operator)] for operator in node.ops]
        first, *others = map(self.visit, operands)
        later = [(self.guard(guard), _lambda(node, other, [])) for guard, other in zip(guards, others, strict=True)]
        return self.call(node, operators.chained, first, *(part for pair in later for part in pair))

    def subscript(self, node: ast.Subscript) -> ast.expr:
        container, window = self.visit(node.value), node.slice
        if isinstance(window, ast.Slice):
            bounds = [
                _constant(None) if bound is None else self.visit(bound)
                for bound in (window.lower, window.upper, window.step)
            ]
            return self.call(node, containers.part, container, *bounds)
        return self.call(node, containers.item, container, self.visit(window))

    # comprehensions

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.expr:
        rows = self.rounds(node)
        if isinstance(node, ast.ListComp):
            return rows
        return self.call(node, containers.to_set if isinstance(node, ast.SetComp) else containers.to_dict, rows)

    def rounds(self, node: Any, form: Callable[..., ast.expr] = ast.ListComp) -> ast.expr:
        """Visit the loops and then the body; each loop pays for its rounds times the nodes of all that it repeats."""
        loops: list[ast.comprehension] = node.generators
        targets = [self.targets(loop.target) for loop in loops]
        bound = frozenset(name for names in targets for name in names)
        written: list[ast.comprehension] = []
        prices: list[tuple[ast.Constant, int]] = []
        for loop, names in zip(loops, targets, strict=True):
            if loop.is_async:
                raise self.error("async is not available in expressions", node)
            price = _constant(0)
            guard = containers.each if len(names) == 1 else containers.unpacked
            rows = self.call(loop.iter, guard, self.visit(loop.iter), price)
            prices.append((price, self._nodes))
            if not written:
                self._scopes.append(bound)  # all but the first container sees what the loops bind
            tests = [self.visit(condition) for condition in loop.ifs]
            written.append(ast.comprehension(loop.target, rows, tests, 0))
        element = self.pair(node.key, node.value) if isinstance(node, ast.DictComp) else self.visit(node.elt)
        self._scopes.pop()
        for depth, (price, before) in enumerate(prices):
            price.value = 1 + self._nodes - before + depth  # an item passes through all loops around its own
        return form(element, written, **_place(node))

    def targets(self, target: ast.expr) -> tuple[str, ...]:
        """Return the names that a loop binds."""
        if isinstance(target, ast.Name):
            return (target.id,)
        if isinstance(target, ast.Tuple) and all(isinstance(name, ast.Name) for name in target.elts):
            return tuple(name.id for name in target.elts if isinstance(name, ast.Name))
        raise self.error("a loop in an expression binds a name, or names separated by commas", target)

    # calls

    def calling(self, node: ast.Call) -> ast.expr:
        name, guard = self.callee(node.func)
        if name in self.withheld:
            raise self.error(f"{name.rpartition('.')[2]} is not allowed by the policy", node)
        options: list[ast.keyword] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.error("** is not available in the calls of an expression", keyword)
            options.append(ast.keyword(keyword.arg, self.visit(keyword.value), **_place(keyword)))
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            lazy = guard in (functions.BUILTINS["any"], functions.BUILTINS["all"])
            arguments = [self.rounds(node.args[0], ast.GeneratorExp if lazy else ast.ListComp)]
        else:
            arguments = self.elements(node.args)
        return self.call(node, guard, *arguments, options=options)

    def callee(self, node: ast.expr) -> tuple[str, Guard]:
        """Return a function's guard, and the name by which a policy withholds it (empty for one of the host)."""
        if isinstance(node, ast.Name):
            if self._is_bound(node.id):
                raise self.error(f"{node.id} is a value, not a function", node)
            if node.id in self.host:
                return "", functions.from_host(self.host[node.id])
            if node.id in functions.BUILTINS:
                return node.id, functions.BUILTINS[node.id]
            if self.mathematics and node.id in functions.MATHEMATICS:
                return f"math.{node.id}", functions.MATHEMATICS[node.id]
            owner = next((module for module, table in functions.MODULES.items() if node.id in table), "")
            if owner:
                return f"{owner}.{node.id}", functions.MODULES[owner][node.id]
            if node.id in functions.MATHEMATICS:
                raise self.error(f'no function {node.id}: pass functions="mathematics"', node)
            known = (*functions.BUILTINS, *self.host, *functions.MATHEMATICS)
            raise self.error(_unknown(f"no function {node.id}", node.id, known), node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in functions.MODULES:
            module = node.value.id
            table = functions.MODULES[module]
            if node.attr in table:
                own = functions.MATHEMATICS if self.mathematics and module == "math" else table
                return f"{module}.{node.attr}", own.get(node.attr, table[node.attr])
            raise self.error(_unknown(f"{module} has no {node.attr} here", node.attr, table), node)
        if isinstance(node, ast.Attribute):
            raise self.error("methods are not available in expressions; pass the value to a function", node)
        raise self.error("only a function named here can be called; a product is written with *", node)


def _given(fuel: Fuel, names: Mapping[str, Any], key: str, default: float) -> Any:
    """Return what the caller gives for `key`, else its own value, as `pi` has one."""
    return admit(names[key]) if key in names else default


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
"""Names that other languages, and textbooks, give to functions of `math`."""
_OF_PROGRAMS = frozenset(("Decimal", "Fraction", "date", "datetime", "time", "timedelta"))
_NO_ATTRIBUTES = "attributes are not available in expressions; only functions and constants of math and statistics are"

NODES: dict[type[ast.AST], Callable[[Builder, Any], ast.expr] | str] = {
    ast.Constant: Builder.constant,
    ast.Name: Builder.name,
    ast.Attribute: Builder.attribute,
    ast.List: Builder.display,
    ast.Tuple: Builder.display,
    ast.Set: Builder.display,
    ast.Dict: Builder.dict_display,
    ast.JoinedStr: Builder.joined,
    ast.BinOp: lambda builder, node: builder.operation(node, type(node.op), node.left, node.right),
    ast.UnaryOp: Builder.unary,
    ast.BoolOp: lambda builder, node: ast.BoolOp(node.op, [*map(builder.visit, node.values)], **_place(node)),
    ast.IfExp: lambda builder, node: ast.IfExp(
        *map(builder.visit, (node.test, node.body, node.orelse)), **_place(node)
    ),
    ast.Compare: Builder.compare,
    ast.Subscript: Builder.subscript,
    ast.Call: Builder.calling,
    ast.ListComp: Builder.comprehension,
    ast.SetComp: Builder.comprehension,
    ast.DictComp: Builder.comprehension,
    ast.Lambda: "lambda is not available in expressions; write a comprehension",
    ast.NamedExpr: "assignments are not available in expressions",
    ast.Await: "await is not available in expressions",
    ast.Yield: "yield is not available in expressions",
    ast.YieldFrom: "yield is not available in expressions",
    ast.GeneratorExp: "a generator can only be the argument of a function here; write a list comprehension",
    ast.Starred: "a starred value can stand only in a display or a call",
    ast.Slice: "a slice can stand only alone in a subscript",
}


def _place(node: Any) -> Any:
    """Return where a node stands, as the keywords of another one."""
    return {name: getattr(node, name) for name in _ANYWHERE}


def _constant(value: Any) -> ast.Constant:
    return ast.Constant(value, **_ANYWHERE)


def _lambda(at: ast.expr, body: ast.expr, arguments: list[ast.arg]) -> ast.Lambda:
    given = ast.arguments(posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(given, body, **_place(at))


def _is_exponent(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (
        type(node.value) is float or (type(node.value) is int and node.value <= MAX_EXPONENT)
    )


def _is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or type(node.value) is bool)


def _unknown(message: str, name: str, known: Collection[str]) -> str:
    """Return the message with what to write instead: one of `known`, or another name."""
    from safeexec.common.matching import nearest  # with re and difflib 5 ms, for what is misspelt alone

    if name in _OTHER_NAMES:
        return f"{message}; it is {_OTHER_NAMES[name]}"
    if name in _OF_PROGRAMS:
        return f'{message}; exact numbers and dates are for a program, in Sandbox("calculator")'
    close = nearest(name, known)
    return (
        f"{message}; did you mean {close[0]}?" if close else f"{message}; known are {', '.join(sorted(known)[:12])} …"
    )
