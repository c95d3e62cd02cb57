"""`StepTransformer`: what a step's syntax tree may hold, and the few places where a run-time guard goes in.

RestrictedPython's transformer decides about each node: by its own ``visit_…``, or by one of ours, whose first line
says why it differs. Most differ for speed: RestrictedPython turns every attribute, item and loop into a call of a
guard. Here every name that is written in the source is judged while compiling, and the code that runs is CPython's own;
a guard goes in only where the object decides (`names.GUARDED`), in class patterns with positional parts, before
`except*`, and where a library's class is written to. A node kind that neither knows is refused (`generic_visit`).

The tree is judged first and rewritten only when nothing in it is refused: diagnostics read what the program says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from RestrictedPython.transformer import RestrictingNodeTransformer

from safeexec.compiler import names
from safeexec.compiler.rules import GUARDED, PLAIN, REFUSED, Finding, Rules
from safeexec.compiler.templates import refused_field
from safeexec.facades.access import module_access, name_access
from safeexec.facades.build import facade_name
from safeexec.facades.tables import judge


class StepTransformer(RestrictingNodeTransformer):  # type: ignore[misc]  # RestrictedPython has no annotations mypy accepts
    """Checks one tree in place. `findings` holds every violation, `rewritten` tells whether the tree was changed."""

    def __init__(self, rules: Rules, known_names: Container[str] = ()) -> None:
        super().__init__()
        self.rules = rules
        self.known_names = known_names
        self.findings: list[Finding] = []
        self.guards: set[str] = set()
        """Names of the guards that the rewritten tree calls."""
        self._rewrites: list[Callable[[], None]] = []
        """What is to be changed in the tree, once nothing in it is refused."""
        self._replaced: dict[ast.AST, ast.AST] = {}
        """Node → the call of a guard that takes its place."""
        self._pending: list[Any] = []
        """Nodes that wait for `visit`."""
        self._denied: list[ast.Name] = []
        """Builtins that the policy leaves out, where they are read: refused unless the program binds the name."""
        self._imports: set[ast.Name] = set()
        """The name of each ``__import__("json")``, which is an import statement in other words."""
        self._aliases: dict[str, str] = {}
        """Name → the module that an import of this step binds to it."""
        self._imported: set[str] = set()
        """Names that imports of this step bind to anything else: a member of a module, a module of the workspace."""
        self._members: list[tuple[ast.expr, str, ast.AST]] = []
        """Each ``name.attribute`` that is read: the name, the attribute, the node."""
        self._targets: list[ast.Attribute] = []
        """Attributes that are assigned to or deleted."""
        self._formatted: set[ast.AST] = set()
        """The ``template.format`` of each call: the call has the guard, so that the attribute needs none."""
        self._excused: set[ast.AST] = set()
        """Imports that the program expects to fail: they are refused when they run, not before."""
        self._classes: list[ast.ClassDef] = []
        self._matched: list[str] = []
        """Temporary names, one for each class pattern with positional parts."""

    @property
    def rewritten(self) -> bool:
        """Whether the tree now calls guards and must be compiled again."""
        return bool(self.guards)

    def check(self, *trees: ast.AST) -> None:
        """Visit the trees of one program (its body and its last expression), and rewrite them if they may run."""
        for tree in trees:
            self.visit(tree)
        self._check_builtins(trees)
        self._check_members()
        self._check_targets()
        if not self.findings:
            self._rewrite(trees)

    def _rewrite(self, trees: tuple[ast.AST, ...]) -> None:
        for rewrite in self._rewrites:
            rewrite()
        for tree in trees if self._replaced else ():
            _replace(tree, self._replaced)
        internal = sorted(self.guards) + self._matched
        for node in self._classes if internal else ():
            _declare_guards(node, internal)

    # What the base class calls as it visits a tree

    def visit(self, tree: ast.AST) -> ast.AST:
        """Nodes wait in a list where the base class recurses, so that no nesting exhausts the stack."""
        pending = self._pending
        pending.append(tree)
        constructs = self.rules.constructs
        while pending:
            node = pending.pop()
            if node is None:  # an item of a list: the missing key of ``{**x}``
                continue
            kind = type(node)
            if kind in constructs:
                self.refuse("construct", constructs[kind], node)
            DECIDERS[kind](self, node)
        return tree

    def node_contents_visit(self, node: Any) -> Any:
        """The contents wait for `visit`; no node is replaced by another: a guard is written into the node itself."""
        pending = self._pending
        for field in NODES_IN[type(node)]:
            child = getattr(node, field, None)
            if type(child) is list:
                pending.extend(child)
            elif child is not None:
                pending.append(child)
        return node

    def error(self, node: ast.AST, info: str) -> None:
        """What the base class objects to is a finding like ours: with place, rule and hint."""
        self.refuse("construct", type(node).__name__, node, info)

    def refuse(self, kind: str, name: str, node: ast.AST, message: str = "", construct: str = "") -> None:
        """Record one violation; the parameters are the fields of `Finding`."""
        self.findings.append(Finding(kind, name, node, message, construct))

    def gen_tmp_name(self) -> str:
        """No program can spell it: ``_tmp0`` is a name that programs here may use."""
        self._tmp_idx += 1
        return names.TEMPORARY.format(self._tmp_idx)

    # Names

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        """Names with an underscore are the program's own; refused are the interpreter's and those of the guards."""
        if name in names.RESERVED:
            self.refuse("builtin" if name[:2] == "__" else "attribute", name, node)

    def check_names(self, node: ast.AST, group: list[str]) -> None:
        """The same for several names."""
        for name in group:
            self.check_name(node, name)

    def check_function_argument_names(self, node: Any) -> None:
        """Each parameter is judged where it is written, by `visit_arg`."""

    def check_import_names(self, node: Any) -> Any:
        """A policy decides about ``*``, and a name is refused where it is written."""
        if getattr(node, "is_lazy", 0):
            self.error(node, "Lazy import statements are not allowed.")
        for alias in node.names:
            self.check_name(alias, alias.name)
            self.check_name(alias, alias.asname)
        return self.node_contents_visit(node)

    def guard_iter(self, node: Any) -> Any:
        """Speed: what iterates is the object's own `__iter__`; its items are judged when they are used."""
        return self.node_contents_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        """A builtin that the policy leaves out may be a name of the program; `print` prints, nothing is collected."""
        name = node.id
        if node in self._imports:
            return node
        if name in self.rules.denied_builtins and type(node.ctx) is ast.Load:
            self._denied.append(node)
        elif name == names.CLASS_CELL and type(node.ctx) is ast.Load:
            self.refuse("builtin", name, node)
        else:
            self.check_name(node, name)
        return self.node_contents_visit(node)

    def _check_builtins(self, trees: tuple[ast.AST, ...]) -> None:
        if not self._denied:
            return
        bound = set[str]().union(*map(bound_names, trees))
        for node in self._denied:
            if node.id in names.RESERVED or (node.id not in bound and node.id not in self.known_names):
                self.refuse("builtin", node.id, node)

    # Attributes

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Speed: a name that leads nowhere is read without a guard; `_getattr_` goes in where the object decides."""
        name = node.attr
        if type(node.ctx) is not ast.Load:
            self._targets.append(node)
        elif self.rules.watched and type(node.value) is ast.Name:
            self._members.append((node.value, name, node))
        verdict = self.rules.attribute(name)
        if verdict == REFUSED:
            self.refuse("attribute", name, node)
        elif verdict == GUARDED:
            self._judge_guarded(node, name)
        return self.node_contents_visit(node)

    def _judge_guarded(self, node: ast.Attribute, name: str) -> None:
        if type(node.ctx) is not ast.Load:
            if name in names.UNASSIGNABLE:
                self.refuse("attribute", name, node)
        elif name == "__subclasses__" and type(node.value) is not ast.Name:
            # a plugin registry asks its own base class by name; what walks up to `object` does not
            self.refuse("attribute", name, node)
        elif node not in self._formatted and not (name in ("format", "format_map") and self._is_safe_template(node)):
            self._guard(node, names.GUARD_ATTRIBUTE, lambda: [node.value, _constant(name, node)])

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Allowed on attributes and items, without `_inplacevar_`; not on guarded names, where no guard could stand."""
        target = node.target
        if type(target) is ast.Attribute and self.rules.attribute(target.attr) == GUARDED:
            self.refuse("attribute", target.attr, target)
        if type(target) is ast.Name and target.id == names.CLASS_CELL:  # it is read, too
            self.refuse("builtin", target.id, target)
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Speed: no `_apply_`. `eval` and `exec` are guards themselves; ``template.format(...)`` becomes
        ``_format_(template)(...)``; ``__import__("json")`` is an import statement.
        """
        function = node.func
        if type(function) is ast.Name and function.id == "__import__" and _is_one_text(node):
            self._imports.add(function)
            self._check_module(node, node.args[0].value, node)  # type: ignore[attr-defined]
        elif (
            type(function) is ast.Attribute
            and function.attr == "format"
            and self.rules.attribute(function.attr) == GUARDED
        ):
            self._formatted.add(function)
            if not self._is_safe_template(function):
                self._guard_format(node, function)
        return self.node_contents_visit(node)

    def _guard_format(self, node: ast.Call, function: ast.Attribute) -> None:
        self.guards.add(names.GUARD_FORMAT)

        def rewrite() -> None:
            guard = ast.copy_location(ast.Name(names.GUARD_FORMAT, ast.Load()), function)
            node.func = ast.copy_location(ast.Call(guard, [function.value], []), function)

        self._rewrites.append(rewrite)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Speed: an item is what the object's own methods give and take; no attribute can be spelt as one."""
        return self.node_contents_visit(node)

    def _is_safe_template(self, node: ast.Attribute) -> bool:
        template = node.value
        if type(template) is not ast.Constant or type(template.value) is not str:
            return False
        field = refused_field(template.value, self.rules)
        if field is not None:
            self.refuse("attribute", field, template)
        return True

    def _check_members(self) -> None:
        """``module.name`` that the policy takes away, read through a name that an import bound."""
        for value, attribute, node in self._members:
            name = f"{self._module_of(value)}.{attribute}"
            if name in self.rules.watched:
                self.refuse("attribute", name, node)

    def _check_targets(self) -> None:
        """Libraries are read-only: assignment to a module is refused, to a class of a library when it runs."""
        for node in self._targets:
            module = self._module_of(node.value)
            if module is not None:
                if module not in ("sys", "builtins"):  # the streams may be set, and the builtins of the program
                    name = f"{module}.{node.attr}"
                    message = f"assignment to {name!r} is refused: modules are read-only"
                    self.refuse("attribute", name, node, message, construct="module-assignment")
                continue
            root: ast.expr = node.value
            while type(root) is ast.Attribute:
                root = root.value
            imported = type(root) is ast.Name and (root.id in self._imported or self._module_of(root) is not None)
            if imported or node.attr in names.JUDGED_STORES:
                self._guard_target(node)

    def _guard_target(self, node: ast.Attribute) -> None:
        """``x.name = …`` becomes ``_write_(x, 'name').name = …``."""
        self.guards.add(names.GUARD_TARGET)

        def rewrite() -> None:
            function = ast.copy_location(ast.Name(names.GUARD_TARGET, ast.Load()), node.value)
            call = ast.Call(function, [node.value, _constant(node.attr, node.value)], [])
            node.value = ast.copy_location(call, node.value)

        self._rewrites.append(rewrite)

    def _module_of(self, value: ast.expr) -> str | None:
        """The module that a name stands for, by an import of this step or of an earlier one."""
        if type(value) is not ast.Name:
            return None
        return self._aliases.get(value.id) or self._known_module(value.id)

    def _known_module(self, alias: str) -> str | None:
        """The module that `alias` became in an earlier step."""
        value = self.known_names.get(alias) if isinstance(self.known_names, Mapping) else None
        return facade_name(value)

    def _guard(self, node: ast.AST, guard: str, arguments: Callable[[], list[ast.expr]]) -> None:
        """Put a call of `guard` where `node` is."""
        self.guards.add(guard)

        def rewrite() -> None:
            function = ast.copy_location(ast.Name(guard, ast.Load()), node)
            self._replaced[node] = ast.copy_location(ast.Call(function, arguments(), []), node)

        self._rewrites.append(rewrite)

    # Imports

    def visit_Import(self, node: ast.Import) -> Any:
        """Every module named must be in the policy."""
        for alias in node.names:
            self._check_module(alias, alias.name, node)
            top = alias.name.partition(".")[0]
            if self.rules.is_own(top):
                self._imported.add(alias.asname or top)
            else:
                self._aliases[alias.asname or top] = alias.name if alias.asname else top
        return self.check_import_names(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """As `visit_Import`, and no name that the policy takes away from the module."""
        module = node.module or ""
        if not self.rules.star_imports and any(alias.name == "*" for alias in node.names):
            self.refuse("construct", "star-import", node)
        if not node.level and self._check_module(node, module, node):
            self._import_names(node, module)
        return self.check_import_names(node)

    def _import_names(self, node: ast.ImportFrom, module: str) -> None:
        if self.rules.is_own(module):
            self._imported.update(alias.asname or alias.name for alias in node.names)
            return
        for alias in node.names:
            name = alias.name
            dotted = f"{module}.{name}"
            if name == "*" or module_access(dotted, self.rules.plan).allowed:
                self._aliases[alias.asname or name] = dotted
            elif self._is_refused_member(module, name):
                if node not in self._excused:
                    self.refuse("attribute", dotted, alias)
            else:
                self._imported.add(alias.asname or name)

    def _is_refused_member(self, module: str, name: str) -> bool:
        """Tell a refused name from one that the module does not have: CPython's ImportError names the latter."""
        if module == "__future__" or name_access(module, name, self.rules.plan).allowed:
            return False
        verdict = judge(module, name)
        return verdict.allowed or verdict.tag not in ("", "internal")

    def _check_module(self, node: ast.AST, module: str, statement: ast.AST) -> bool:
        if self.rules.importable(module) or statement in self._excused:
            return True
        self.refuse("module", module, node)
        return False

    # Statements

    def visit_FunctionDef(self, node: Any) -> Any:
        """As the base class, and decorators are refused where the policy says so."""
        self._check_decorators(node)
        return super().visit_FunctionDef(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        """Allowed like any function: what a coroutine leads to (`cr_frame` …) is refused by name."""
        return self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Classes are CPython's own, with any metaclass: the guard `__metaclass__` is not needed."""
        self.check_name(node, node.name)
        self._check_decorators(node)
        self._classes.append(node)
        return self.node_contents_visit(node)

    def _check_decorators(self, node: Any) -> None:
        if node.decorator_list and not self.rules.decorators:
            self.refuse("construct", "decorator", node.decorator_list[0])

    def visit_arg(self, node: ast.arg) -> Any:
        """A parameter is a name that is bound: parameters of every kind are judged here."""
        self.check_name(node, node.arg)
        return self.node_contents_visit(node)

    def visit_keyword(self, node: ast.keyword) -> Any:
        """A keyword may become an attribute of the object that is made with it."""
        if node.arg is not None and node.arg not in names.DEFINABLE and self.rules.attribute(node.arg) == REFUSED:
            self.refuse("attribute", node.arg, node)
        return self.node_contents_visit(node)

    def visit_Global(self, node: ast.Global) -> Any:
        """The names that it declares may be bound behind it."""
        self.check_names(node, node.names)
        return self.node_contents_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        """Allowed: a closure is the program's own; its names are bound as those of `global` are."""
        self.check_names(node, node.names)
        return self.node_contents_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Speed: no `_unpack_sequence_`, as there is no `_getiter_`."""
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Unknown to the base class: a target like any other, and an annotation, which is an expression."""
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> Any:
        """Speed: no `_unpack_sequence_`, as there is no `_getiter_`."""
        return self.node_contents_visit(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        """Allowed as `with` is."""
        return self.visit_With(node)  # type: ignore[arg-type]

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        """Allowed as `for` is."""
        return self.visit_For(node)

    def visit_Await(self, node: ast.Await) -> Any:
        """Allowed: it runs what the program holds."""
        return self.node_contents_visit(node)

    def visit_Try(self, node: ast.Try) -> Any:
        """An import whose failure the program expects is refused when it runs, so that its fallback can run."""
        if any(_catches_import_errors(handler) for handler in node.handlers):
            self._excused.update(item for item in node.body if isinstance(item, ast.Import | ast.ImportFrom))
        return super().visit_Try(node)

    def visit_If(self, node: ast.If) -> Any:
        """An import for another interpreter or system, or for type hints, is refused when it runs: it may never run."""
        if _asks_for_environment(node.test):
            self._excused.update(item for item in node.body if isinstance(item, ast.Import | ast.ImportFrom))
        return super().visit_If(node)

    def visit_TryStar(self, node: Any) -> Any:
        """Allowed: `_except_group_` looks at a group first, as CPython trusts its `split` (CVE-2025-22153)."""
        self.guards.add(names.GUARD_GROUP)
        self._rewrites.append(lambda: _guard_group(node))
        return self.node_contents_visit(node)

    # Patterns and type parameters, which RestrictedPython does not know

    def visit_Match(self, node: ast.Match) -> Any:
        """Unknown to the base class: class patterns with positional parts match with what `_match_class_` makes."""
        patterns = [
            pattern
            for case in node.cases
            for pattern in ast.walk(case.pattern)
            if type(pattern) is ast.MatchClass and pattern.patterns
        ]
        if patterns:
            self.guards.add(names.GUARD_MATCH)
            self._rewrites.append(lambda: self._snapshot_classes(node, patterns))
        return self.node_contents_visit(node)

    def _snapshot_classes(self, node: ast.Match, patterns: list[ast.MatchClass]) -> None:
        """Match with what the guard makes of each class: the names in `__match_args__` as they were when it read them.
        All of them are looked up before the first case is tried, which Python does as it reaches them.

        ``match s: case C(x)`` becomes ``match (s, c := guard(C))[0]: case c(x)``. Between a look at the class and the
        match itself a program may run: descriptors, `__instancecheck__`, `__eq__`, a property `__class__`, a thread.
        """
        place = node.subject
        parts: list[ast.expr] = [node.subject]
        for pattern in patterns:
            name = self.gen_tmp_name()
            self._matched.append(name)
            call = ast.Call(ast.Name(names.GUARD_MATCH, ast.Load()), [pattern.cls], [])
            parts.append(ast.NamedExpr(ast.Name(name, ast.Store()), call))
            for new in (call, call.func, parts[-1], parts[-1].target):  # type: ignore[attr-defined]
                ast.copy_location(new, pattern.cls)
            pattern.cls = ast.copy_location(ast.Name(name, ast.Load()), pattern.cls)
        both = ast.copy_location(ast.Tuple(parts, ast.Load()), place)
        zero = ast.copy_location(ast.Constant(0), place)
        node.subject = ast.copy_location(ast.Subscript(both, zero, ast.Load()), place)

    def visit_match_case(self, node: ast.match_case) -> Any:
        """Unknown to the base class: a pattern, a condition and statements."""
        return self.node_contents_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """Unknown to the base class: an expression that is compared."""
        return self.node_contents_visit(node)

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        """Unknown to the base class: None, True or False."""
        return self.node_contents_visit(node)

    def visit_MatchSequence(self, node: ast.MatchSequence) -> Any:
        """Unknown to the base class: it unpacks, as an assignment does."""
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        """Unknown to the base class: ``**rest`` is bound."""
        self.check_name(node, node.rest)
        return self.node_contents_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """Unknown to the base class: its keywords are attribute reads, and no guard could stand before one."""
        for name in node.kwd_attrs:
            if self.rules.attribute(name) != PLAIN:
                self.refuse("attribute", name, node)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        """Unknown to the base class: ``*name`` is bound."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        """Unknown to the base class: the name is bound."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> Any:
        """Unknown to the base class: patterns."""
        return self.node_contents_visit(node)

    def visit_TypeAlias(self, node: Any) -> Any:
        """Unknown to the base class: its name is a target, its value an expression."""
        return self.node_contents_visit(node)

    def visit_TypeVar(self, node: Any) -> Any:
        """Unknown to the base class: the name is bound."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_ParamSpec(self, node: Any) -> Any:
        """Unknown to the base class: the name is bound."""
        return self.visit_TypeVar(node)

    def visit_TypeVarTuple(self, node: Any) -> Any:
        """Unknown to the base class: the name is bound."""
        return self.visit_TypeVar(node)


class _Deciders(dict[type, Callable[[StepTransformer, Any], Any]]):
    """Node kind → the method that decides about it, found at its first use."""

    def __missing__(self, kind: type) -> Callable[[StepTransformer, Any], Any]:
        decider: Any = getattr(StepTransformer, f"visit_{kind.__name__}", StepTransformer.generic_visit)
        if _only_visits_contents(decider):
            decider = StepTransformer.node_contents_visit
        self[kind] = decider
        return decider  # type: ignore[no-any-return]


def _only_visits_contents(method: Any) -> bool:
    """Tell whether a method visits the contents and does no more: then they are visited without calling it."""
    code, plain = method.__code__, RestrictingNodeTransformer.visit_Pass.__code__
    return (code.co_code, code.co_names) == (plain.co_code, plain.co_names)


class _NodesIn(dict[type, tuple[str, ...]]):
    """Node kind → its fields that hold nodes, as CPython's own grammar says: ``For(expr target, expr iter, …)``."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields = kind._fields  # type: ignore[attr-defined]
        of_text = {field for what, field in _FIELD.findall(kind.__doc__ or "") if what in _TEXT}
        self[kind] = found = tuple(field for field in fields if field not in of_text)
        return found


_FIELD: Final = re.compile(r"(\w+)[*?]? (\w+)[,)]")
_TEXT: Final = frozenset({"identifier", "string", "constant", "int"})
"""What a field of the grammar may hold that is no node."""

DECIDERS: Final = _Deciders()
NODES_IN: Final = _NodesIn()


def _guard_group(node: Any) -> None:
    """Have the guard give the types of each handler: it looks at the exception in flight, and may refuse it."""
    for handler in node.handlers:
        arguments = [handler.type, ast.Constant(len(node.handlers) > 1)]
        call = ast.Call(ast.Name(names.GUARD_GROUP, ast.Load()), arguments, [])
        for new in (call, call.func, arguments[1]):
            ast.copy_location(new, handler.type)
        handler.type = call


def _replace(tree: ast.AST, replaced: dict[ast.AST, ast.AST]) -> None:
    """Put each replacement in the place of its node: in the tree, and in other replacements."""
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        for field in NODES_IN[type(node)]:
            child = getattr(node, field, None)
            if type(child) is list:
                child[:] = [replaced.get(item, item) for item in child]
                pending += [item for item in child if item is not None]
            elif child is not None:
                if child in replaced:
                    setattr(node, field, child := replaced[child])
                pending.append(child)


def _is_one_text(node: ast.Call) -> bool:
    """Tell whether the call has one argument, a literal text."""
    return (
        len(node.args) == 1
        and not node.keywords
        and type(node.args[0]) is ast.Constant
        and type(node.args[0].value) is str
    )


def _constant(value: str, node: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Constant(value), node)


def _asks_for_environment(test: ast.expr) -> bool:
    """Whether one side of a condition is a name of `names.ENVIRONMENTS`, or an attribute, an item or a result of one:
    ``sys.version_info[0] < 3``.
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


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in names.IMPORT_FALLBACKS for kind in kinds)


def bound_names(tree: ast.AST) -> set[str]:
    """Every name that the program binds anywhere: to shadow a builtin is ordinary."""
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
"""What stands in ``def f[T]``: from 3.12 on."""


def _declare_guards(node: ast.ClassDef, guards: list[str]) -> None:
    """Make a class body look its guards up as globals: a namespace made by `__prepare__` must not answer for them."""
    first = node.body[0]
    text = first.value if isinstance(first, ast.Expr) else None
    has_docstring = isinstance(text, ast.Constant) and type(text.value) is str
    node.body.insert(int(has_docstring), ast.copy_location(ast.Global(guards), first))
