"""`StepTransformer`: what a step's syntax tree may hold.

RestrictedPython's transformer decides about each node: by its own ``visit_…``, or by one of ours, whose first line says
why it differs. Most differ for speed: RestrictedPython turns every attribute, item and loop into a call of a guard.
Here every name that is written in the source is judged while compiling, and the code that runs is CPython's own.
Guards go in where a name is computed: before `format` of a template that is no literal, and in `getattr` and its kind.

The tree is judged first and rewritten only when nothing in it is refused: diagnostics read what the program says.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from RestrictedPython.transformer import RestrictingNodeTransformer

from safeexec.common.own import ast
from safeexec.engine.policy import names
from safeexec.engine.policy.refusals import canonical, of_call
from safeexec.language.rules import Finding, Rules


class StepTransformer(RestrictingNodeTransformer):  # type: ignore[misc]  # RestrictedPython has no annotations mypy accepts
    """Checks one tree in place. `findings` holds every violation, `rewritten` says whether the tree was changed."""

    def __init__(self, rules: Rules, known_names: Container[str] = ()) -> None:
        super().__init__()
        self.rules = rules
        self.known_names = known_names
        self.findings: list[Finding] = []
        self._templates: list[tuple[ast.Call, ast.Attribute]] = []
        """Each ``template.format(...)`` whose template is no literal."""
        self._computed: list[ast.Call] = []
        """Each call of `getattr` and its kind with plain arguments."""
        self._pending: list[Any] = []
        """Nodes that wait for `visit`."""
        self._denied: list[ast.Name] = []
        """Builtins that the policy leaves out, where they are read: refused unless the program binds the name."""
        self._aliases: dict[str, str] = {}
        """Name → the module that an import of this step binds to it."""
        self._imported: dict[str, ast.AST] = {}
        """Module → the first import of it."""
        self._members: list[tuple[str, ast.expr | str, ast.AST]] = []
        """The names that are read or imported of modules: the name, the module or what stands for it, the node."""
        self._closed: list[tuple[str, ast.AST]] = []
        """Modules that the policy does not open, where they are imported: refused unless the program makes them."""
        self._excused: set[ast.AST] = set()
        """Imports that the program expects to fail: they are refused when they run, not before."""
        self._bound: set[str] = set()
        """Every name that the program binds anywhere: to shadow a builtin is ordinary."""
        self._spelt: set[str] = set()
        """Texts of the program. What one of them spells, as ``patch("os.system")`` does, the program replaces
        itself; with ``sys.modules["boto3"] = Mock()`` it makes a module.
        """

    @property
    def rewritten(self) -> bool:
        """Return whether the tree calls guards and must be compiled again."""
        return bool(self._templates or self._computed)

    def check(self, *trees: ast.AST) -> None:
        """Visit the trees of one program (its body and its last expression), and rewrite them if they may run."""
        for tree in trees:
            self.visit(tree)
        self._bound = set[str]().union(*map(bound_names, trees))
        self._computed = [call for call in self._computed if not self._is_own_name(call.func.id)]  # type: ignore[attr-defined]
        for node in self._denied:
            if not self._is_own_name(node.id):
                self.refuse("builtin", node.id, node)
        makes_modules = "sys.modules" in self._spelt or any(name == "modules" for name, _, _ in self._members)
        for module, statement in self._closed:
            if not (makes_modules and module in self._spelt):
                self.refuse("module", module, statement)
        for tree in trees:
            self._check_sure(tree)
        self._check_members()
        if not self.findings:
            for call, function in self._templates:
                guard = ast.copy_location(ast.Name(names.GUARD_FORMAT, ast.Load()), function)
                method = [] if function.attr == "format" else [ast.Constant(function.attr)]
                call.func = ast.Call(guard, [function.value, *method], [])
                ast.copy_location(call.func, function)
                ast.fix_missing_locations(call.func)
            for call in self._computed:
                self._judge_first(call)

    # What the base class calls as it visits a tree

    def visit(self, tree: ast.AST) -> ast.AST:
        """Nodes wait in a list where the base class recurses, so that no nesting exhausts the stack."""
        pending = self._pending
        pending.append(tree)
        constructs = self.rules.constructs
        while pending:
            node = pending.pop()
            if not isinstance(node, ast.AST):  # an item of a list: a name of `global`, the missing key of ``{**x}``
                continue
            kind = type(node)
            if kind in constructs:
                self.refuse("construct", constructs[kind], node)
            DECIDERS[kind](self, node)
        return tree

    def node_contents_visit(self, node: Any) -> Any:
        """The contents wait for `visit`."""
        pending = self._pending
        for field in node._fields:
            child = getattr(node, field, None)
            if type(child) is list:
                pending.extend(child)
            elif isinstance(child, ast.AST):
                pending.append(child)
        return node

    def generic_visit(self, node: ast.AST) -> Any:
        """Syntax that RestrictedPython does not know: `match`, type parameters, and what a CPython of tomorrow
        brings. It is made of expressions and names, which are judged like all others. Refused as a whole where the
        policy says which constructs may be written, and none of them covers it.
        """
        kind = type(node)
        if self.rules.plan.refused_constructs and not any(isinstance(node, known) for known in _JUDGED):
            self.refuse("construct", kind.__name__, node)
        for field in ("name", "rest"):
            if type(bound := getattr(node, field, None)) is str:
                self.check_name(node, bound)
        return self.node_contents_visit(node)

    def error(self, node: ast.AST, info: str) -> None:
        """Record what RestrictedPython refuses as one of our findings, with its place and its rule."""
        self.refuse("construct", type(node).__name__, node, info)

    def refuse(self, kind: str, name: str, node: ast.AST, message: str = "") -> None:
        """Record one violation; the parameters are the fields of `Finding`."""
        self.findings.append(Finding(kind, name, node, message))

    # Names

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        """Names with an underscore are the program's own; refused are the interpreter's and those of the guards."""
        if name in names.RESERVED:
            self.refuse("builtin" if name[:2] == "__" else "attribute", name, node)

    def check_function_argument_names(self, node: Any) -> None:
        """Each parameter is judged where it is written, by `visit_arg`."""

    def check_import_names(self, node: Any) -> Any:
        """A policy decides about ``*``, and a name is refused where it is written. A lazy import is an import."""
        for alias in node.names:
            self.check_name(alias, alias.asname)
        return self.node_contents_visit(node)

    def guard_iter(self, node: Any) -> Any:
        """Speed: what iterates is the object's own `__iter__`; its items are judged when they are used."""
        return self.node_contents_visit(node)

    def visit_Constant(self, node: ast.Constant) -> Any:
        """Visit as the base class does, and remember texts: a program may spell what it is about to replace."""
        if type(node.value) is str:
            self._spelt.add(node.value)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        """A builtin that the policy leaves out may be a name of the program; `print` prints, nothing is collected."""
        name = node.id
        if type(node.ctx) is not ast.Load:
            self.check_name(node, name)
        elif name in self.rules.denied_builtins:
            self._denied.append(node)
        elif name in names.RESERVED and name != "__import__":
            self.check_name(node, name)
        return node

    # Attributes

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Speed: a name that leads nowhere is read without a guard."""
        name = node.attr
        if self.rules.refuses(name):
            self.refuse("attribute", name, node)
        elif type(node.ctx) is ast.Load and type(node.value) in (ast.Name, ast.Attribute):
            self._members.append((name, node.value, node))
        elif name in names.FORMAT and _is_text(node.value):
            field = self.rules.refused_field(node.value.value)  # type: ignore[attr-defined]
            if field is not None:
                self.refuse("attribute", field, node.value)
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Speed: no `_apply_`. ``template.format(...)`` becomes ``_format_(template)(...)``; ``__import__("json")``
        is an import statement.
        """
        function = node.func
        if type(function) is ast.Attribute and function.attr in names.FORMAT:
            if not _is_text(function.value) and not self.rules.refuses(function.attr):
                self._templates.append((node, function))
        elif type(function) is ast.Name and function.id in names.UNGUARDED:
            if len(node.args) > 1 and not node.keywords and not any(type(one) is ast.Starred for one in node.args):
                self._computed.append(node)
        elif _name_of(function) in ("__import__", "import_module") and node.args and _is_text(node.args[0]):
            self._check_module(node, node.args[0].value, node)  # type: ignore[attr-defined]
        return self.node_contents_visit(node)

    def _judge_first(self, call: ast.Call) -> None:
        """Call the real `getattr` where the name is plain, and the guard where it is not.

        getattr(x, "size")    _getattr_(x, "size")
        getattr(x, name)      (_getattr_ if name not in _refused_ else getattr)(x, name)
        getattr(x, f())       _getattr_(x, _attribute_[f()])

        Measured for `getattr` in a loop of nothing else: 1.4 and 1.6 times the plain call; the guard takes 4.1 times.
        """
        guard, name = call.func, call.args[1]
        assert type(guard) is ast.Name
        real = ast.Name(names.UNGUARDED[guard.id], ast.Load())
        if _is_text(name):
            text = name.value  # type: ignore[attr-defined]
            if not (text in self.rules.refused or text in self.rules.leaves):
                call.func = real
        elif type(name) is ast.Name:
            plain = ast.Compare(
                ast.Name(name.id, ast.Load()), [ast.NotIn()], [ast.Name(names.GUARD_REFUSED, ast.Load())]
            )
            call.func = ast.IfExp(plain, real, guard)
        elif guard.id != "hasattr" and len(call.args) == 2 + (guard.id == "setattr"):
            call.func = real
            call.args[1] = ast.copy_location(
                ast.Subscript(ast.Name(names.GUARD_ATTRIBUTE, ast.Load()), name, ast.Load()), name
            )
        ast.copy_location(call.func, guard)
        ast.fix_missing_locations(call)

    def _check_members(self) -> None:
        """Refuse ``module.name`` that a row or a line refuses, through a name that an import bound or imported."""
        for name, owner, node in self._members:
            module = owner if type(owner) is str else self._module_of(owner)
            if module is None:
                continue
            dotted = f"{module}.{name}"
            refused = self.rules.refuses_member(module, name) or dotted in self.rules.closed
            if refused and not {dotted, name} & self._spelt:
                self.refuse("module" if dotted in self.rules.closed else "attribute", dotted, node)

    def _module_of(self, value: Any) -> str | None:
        """Return the module that an expression stands for, by an import of this step or of an earlier one."""
        if type(value) is ast.Attribute:
            above = self._module_of(value.value)
            dotted = f"{above}.{value.attr}" if above is not None else ""
            return dotted if dotted in self._imported or dotted in self.rules.members else None
        if type(value) is not ast.Name:
            return None
        known = self.known_names.get(value.id) if isinstance(self.known_names, Mapping) else None
        earlier = canonical(known.__name__) if type(known) is ModuleType else None
        return self._aliases.get(value.id) or earlier

    # Files

    def _check_sure(self, tree: ast.AST) -> None:
        """Refuse calls that fail where they are sure to run: ``open("/etc/passwd")``, `input` without an input,
        ``subprocess.run(...)``. Elsewhere they are refused when they run.
        """
        rules = self.rules
        for call in _sure_calls(tree):
            function, path = call.func, call.args[0] if call.args else None
            if (dotted := self._called(function)) is not None:
                self._check_call(dotted, call)
            elif type(function) is not ast.Name or f"builtins.{function.id}" in self._spelt:
                continue
            elif function.id == "input" and not ("input" in rules.plan.builtins or self._is_own_name("input")):
                self.refuse("builtin", "input", function)
            elif function.id != "open" or path is None or not _is_text(path) or self._is_own_name("open"):
                continue
            elif rules.input_only and path.value != names.INPUT_FILE:  # type: ignore[attr-defined]
                self.refuse("builtin", "open", function)
            elif rules.is_closed_path(path.value):  # type: ignore[attr-defined]
                outside = "the workspace" if rules.plan.workspace != "none" else "what can be read here"
                message = f"open() of {path.value!r} is refused: it lies outside of {outside}"  # type: ignore[attr-defined]
                self.refuse("builtin", "open", call, message)

    def _called(self, function: ast.expr) -> str | None:
        """Return the dotted name of what is called, if it is a module's."""
        if type(function) is ast.Name:
            return self._aliases.get(function.id)
        module = self._module_of(function.value) if type(function) is ast.Attribute else None
        return None if module is None else f"{module}.{function.attr}"  # type: ignore[attr-defined]

    def _check_call(self, dotted: str, call: ast.Call) -> None:
        """Refuse a call that the kernel would, at the import that is of no use then."""
        module, _, name = dotted.rpartition(".")
        row = of_call(module, name)
        if (
            row is None
            or not self.rules.importable(module)  # the import is refused already
            or self.rules.is_own(module)
            or (row.tag == "network" and self.rules.plan.tools)
            or not self._spelt.isdisjoint((dotted, name, module))
        ):
            return
        self.refuse("module", module, self._imported.get(module, call), f"{dotted}() is refused: {row.text}")

    def _is_own_name(self, name: str) -> bool:
        return name in self._bound or name in self.known_names

    # Imports

    def visit_Import(self, node: ast.Import) -> Any:
        """Every module named must be in the policy."""
        for alias in node.names:
            self._check_module(alias, alias.name, node)
            self._imported.setdefault(alias.name, alias)
            top = alias.name.partition(".")[0]
            self._aliases[alias.asname or top] = canonical(alias.name if alias.asname else top)
        return self.check_import_names(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """Judge as `visit_Import`, and refuse a name that the policy takes away from the module."""
        module = canonical(node.module or "")
        if not self.rules.star_imports and any(alias.name == "*" for alias in node.names):
            self.refuse("construct", "star-import", node)
        if not node.level and self._check_module(node, module, node):
            for alias in node.names:
                self._imported.setdefault(module, alias)
                self._aliases[alias.asname or alias.name] = canonical(f"{module}.{alias.name}")
                if node not in self._excused and (alias.name != "*" or module in self.rules.choosing):
                    self._members.append((alias.name, module, alias))
        return self.check_import_names(node)

    def _check_module(self, node: ast.AST, module: str, statement: ast.AST) -> bool:
        if module[:1] == "." or self.rules.importable(module) or statement in self._excused:
            return True
        self._closed.append((module, node))
        return False

    # Statements

    def visit_FunctionDef(self, node: Any) -> Any:
        """Visit as the base class does, and refuse decorators where the policy says so."""
        self._check_decorators(node)
        return super().visit_FunctionDef(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        """Allowed like any function."""
        return self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Classes are CPython's own, with any metaclass: the guard `__metaclass__` is not needed."""
        self.check_name(node, node.name)
        self._check_decorators(node)
        return self.node_contents_visit(node)

    def _check_decorators(self, node: Any) -> None:
        if node.decorator_list and not self.rules.decorators:
            self.refuse("construct", "decorator", node.decorator_list[0])

    def visit_arg(self, node: ast.arg) -> Any:
        """Judge a parameter, of every kind, as a name that is bound."""
        self.check_name(node, node.arg)
        return self.node_contents_visit(node)

    def visit_Try(self, node: ast.Try) -> Any:
        """An import whose failure the program expects is refused when it runs, so that its fallback can run."""
        kinds = [kind for handler in node.handlers for kind in getattr(handler.type, "elts", [handler.type])]
        if any(kind is None or getattr(kind, "id", "") in names.IMPORT_FALLBACKS for kind in kinds):
            self._excused.update(item for item in node.body if isinstance(item, ast.Import | ast.ImportFrom))
        return self.node_contents_visit(node)

    def visit_If(self, node: ast.If) -> Any:
        """An import for another interpreter or system, or for type hints, is refused when it runs: it may never run."""
        if _asks_for_environment(node.test):
            self._excused.update(item for item in node.body if isinstance(item, ast.Import | ast.ImportFrom))
        return super().visit_If(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """Its keywords are attribute reads."""
        for name in node.kwd_attrs:
            if self.rules.refuses(name):
                self.refuse("attribute", name, node)
        return self.node_contents_visit(node)


_LABELS: Final = {"pattern", "match_case", "type_param", "Interpolation"}.union(*names.CONSTRUCTS.values())
_JUDGED: Final[tuple[Any, ...]] = tuple(kind for label in _LABELS if (kind := getattr(ast, label, None)) is not None)
"""The nodes that a construct covers, by themselves or as parts of it."""


ONLY_CONTENTS: Final = {
    "AnnAssign": "Allowed: a target like any other, and an annotation, which is an expression.",
    "Assign": "Speed: no `_unpack_sequence_`, as there is no `_getiter_`.",
    "AsyncFor": "Allowed as `for` is.",
    "AsyncWith": "Allowed as `with` is.",
    "AugAssign": "Allowed on attributes and items, without `_inplacevar_`.",
    "Await": "Allowed: it runs what the program holds.",
    "Nonlocal": "Allowed: a closure is the program's own.",
    "Subscript": "Speed: an item is what the object's own methods give and take; no attribute can be spelt as one.",
    "TryStar": "Allowed as `try` is.",
    "With": "Speed: no `_unpack_sequence_`, as there is no `_getiter_`.",
}
"""Node kind of which only the contents are visited → why, where the base class refuses it or does more."""


class _Deciders(dict[type, Callable[[StepTransformer, Any], Any]]):
    """Node kind → the method that decides about it, found at its first use."""

    def __missing__(self, kind: type) -> Callable[[StepTransformer, Any], Any]:
        method = "node_contents_visit" if kind.__name__ in ONLY_CONTENTS else f"visit_{kind.__name__}"
        found: Any = getattr(StepTransformer, method, StepTransformer.generic_visit)
        self[kind] = found
        return found  # type: ignore[no-any-return]


DECIDERS: Final = _Deciders()


def _name_of(function: ast.AST) -> str:
    return function.id if type(function) is ast.Name else getattr(function, "attr", "")


def _is_text(node: ast.AST) -> bool:
    return type(node) is ast.Constant and type(node.value) is str


_SURE: Final = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.For, ast.Expression)
_LATER: Final = (
    ast.Lambda, ast.IfExp, ast.BoolOp, ast.GeneratorExp, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try,
    ast.TryStar, ast.Match, ast.If, ast.While,
)  # fmt: skip


def _sure_calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls at the top level that no condition, function or `try` encloses: they run, but for those in a
    `for` or a comprehension over nothing.
    """
    pending = (
        [node for node in getattr(tree, "body", ()) if isinstance(node, _SURE)]
        if isinstance(tree, ast.Module)
        else [tree]
    )
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
        within: Any = ast.iter_child_nodes(node)
        if isinstance(node, ast.With):
            contexts = [item.context_expr for item in node.items]
            if not all(isinstance(one, ast.Call) and _name_of(one.func) == "open" for one in contexts):
                within = node.items  # any other than `open` may catch what its body raises, as `suppress` does
        pending += [child for child in within if not isinstance(child, _LATER)]


def _asks_for_environment(test: ast.expr) -> bool:
    """Return whether one side of a condition is a name of `names.ENVIRONMENTS`, or an attribute, an item or a result of
    one: ``sys.version_info[0] < 3``.
    """
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
    while sides:
        match sides.pop():
            case ast.Attribute(ast.Name("os"), "name"):
                return True
            case ast.Name(name) | ast.Attribute(_, name) if name in names.ENVIRONMENTS:
                return True
            case ast.Attribute(inner) | ast.Subscript(inner) | ast.Call(inner):
                sides.append(inner)
    return False


def bound_names(tree: ast.AST) -> set[str]:
    """Return every name that the program binds anywhere: to shadow a builtin is ordinary."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
            case _ if isinstance(node, _TYPE_PARAMETERS):
                found.add(node.name)
    return found


_TYPE_PARAMETERS: Any = getattr(ast, "type_param", ())
"""The node in ``def f[T]``: from 3.12 on."""
