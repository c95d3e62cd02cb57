"""`StepTransformer`: what a step's syntax tree may hold, and the few places where a run-time guard goes in.

RestrictedPython's transformer rewrites every attribute, item and loop into a guard call. Here every name that is
written in the source is judged while compiling, and the code that runs is CPython's own; a guard goes in only where the
object decides (`names.GUARDED`), in class patterns with positional parts, and before `except*`. From RestrictedPython
stays its best property: a node kind that nobody has judged is refused (`generic_visit`).
"""

from __future__ import annotations

import ast
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
        self._pending: list[ast.AST] = []
        self._denied: list[ast.Name] = []
        self._bound: set[str] = set()
        self._aliases: dict[str, str] = {}
        self._imported: set[str] = set()
        self._members: list[tuple[ast.expr, str, ast.AST]] = []
        self._targets: list[ast.Attribute] = []
        self._excused: set[ast.AST] = set()
        self._classes: list[ast.ClassDef] = []
        self._class_patterns: list[tuple[ast.Match, list[ast.MatchClass]]] = []
        self._texts: list[tuple[ast.Name, ast.expr]] = []

    @property
    def rewritten(self) -> bool:
        """Whether the tree now calls guards and must be compiled again."""
        return bool(self.guards)

    def check(self, *trees: ast.AST) -> None:
        """Visit the trees of one program (its body and its last expression)."""
        for tree in trees:
            self.visit(tree)
        self._check_builtins(trees)
        self._check_texts(trees)
        self._check_members()
        self._check_targets()
        internal = sorted(self.guards) + self._snapshot_classes()
        for node in self._classes if internal else ():
            _declare_guards(node, internal)

    def visit(self, tree: ast.AST) -> ast.AST:
        """Visit `tree` through the table, without recursion: no nesting exhausts the stack."""
        pending = self._pending
        pending.append(tree)
        constructs = self.rules.constructs
        while pending:
            node = pending.pop()
            kind = type(node)
            if kind in constructs:
                self.refuse("construct", constructs[kind], node)
            check = CHECKS.get(kind)
            if check is not None:
                check(self, node)
                kind = type(node)  # a check may have turned the node into a guard call
            fields = FIELDS.get(kind)
            if fields is None:
                self.generic_visit(node)
                continue
            for field in fields:
                child = getattr(node, field, None)
                if child is None:
                    continue
                if type(child) is list:
                    pending.extend([item for item in child if item is not None])
                else:
                    pending.append(child)
        return tree

    # What RestrictedPython's generic_visit calls for a node kind that is not in the table.

    def warn(self, node: ast.AST, info: str) -> None:
        """Nothing is merely doubtful here: `not_allowed` follows."""

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse a node kind that nobody has judged."""
        self.refuse("construct", type(node).__name__, node)

    def error(self, node: ast.AST, info: str) -> None:
        """Refuse what RestrictedPython itself objects to."""
        self.refuse("construct", info, node)

    def refuse(self, kind: str, name: str, node: ast.AST, message: str = "") -> None:
        """Record one violation."""
        self.findings.append(Finding(kind, name, node, message))

    # Names

    def check_identifier(self, node: ast.AST, name: str | None) -> None:
        """Refuse to read or bind an identifier that belongs to the interpreter."""
        if name in names.RESERVED:
            self.refuse("builtin" if name[:2] == "__" else "attribute", name, node)

    def check_identifiers(self, node: ast.AST, group: list[str]) -> None:
        """The same for the names of `global`, `nonlocal` and type parameters."""
        for name in group:
            self.check_identifier(node, name)

    def visit_Name(self, node: ast.Name) -> None:
        """Judge an identifier; a builtin that the policy leaves out may still be a name of the program."""
        name = node.id
        if name in self.rules.denied_builtins and type(node.ctx) is ast.Load:
            self._denied.append(node)
        elif name in names.RESERVED:
            self.check_identifier(node, name)

    def _check_builtins(self, trees: tuple[ast.AST, ...]) -> None:
        if not self._denied:
            return
        for tree in trees:
            self._bound.update(bound_names(tree))
        for node in self._denied:
            if node.id in names.RESERVED or (node.id not in self._bound and node.id not in self.known_names):
                self.refuse("builtin", node.id, node)

    def _check_texts(self, trees: tuple[ast.AST, ...]) -> None:
        """`eval` and `exec` of a text that the program itself holds: written as code, it is judged as a whole."""
        if not self._texts:
            return
        held = {name for tree in trees for name in _names_of_texts(tree)}
        for function, text in self._texts:
            if _is_text(text) or (type(text) is ast.Name and text.id in held):
                message = f"{function.id} of a text that the program itself holds is refused"
                self.refuse("builtin", function.id, function, message)

    # Attributes

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Judge an attribute name: nothing to do, a diagnostic, or a guard around the read."""
        name = node.attr
        if type(node.ctx) is not ast.Load:
            self._targets.append(node)
        elif self.rules.watched and type(node.value) is ast.Name:
            self._members.append((node.value, name, node))  # a guard may take the node apart
        verdict = self.rules.attribute(name)
        if verdict == PLAIN:
            return
        if verdict == REFUSED:
            self.refuse("attribute", name, node)
        elif type(node.ctx) is not ast.Load:
            if name in names.UNASSIGNABLE:
                self.refuse("attribute", name, node)
        elif name == "__subclasses__" and type(node.value) is not ast.Name:
            # a plugin registry asks its own base class by name; what walks up to `object` does not
            self.refuse("attribute", name, node)
        elif not (name in ("format", "format_map") and self._is_safe_template(node)):
            self._guard(node, names.GUARD_ATTRIBUTE, [node.value, _constant(name, node)])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """An augmented assignment hands the old value to the other operand's method: no guard could stand between."""
        target = node.target
        if type(target) is ast.Attribute and self.rules.attribute(target.attr) == GUARDED:
            self.refuse("attribute", target.attr, target)

    def visit_Call(self, node: ast.Call) -> None:
        """Turn ``template.format(...)`` into a call of the guard, unless the template is written out and harmless."""
        function = node.func
        if type(function) is ast.Name and function.id in self.rules.text_runners and node.args:
            self._texts.append((function, node.args[0]))
        if type(function) is not ast.Attribute or function.attr not in ("format", "format_map"):
            return
        if self.rules.attribute(function.attr) != GUARDED or self._is_safe_template(function):
            return
        guard = names.GUARD_FORMAT if function.attr == "format" else names.GUARD_FORMAT_MAP
        self.guards.add(guard)
        node.args.insert(0, function.value)
        node.func = ast.copy_location(ast.Name(guard, ast.Load()), function)

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
                if module != "sys":  # its facade takes stdout and stderr
                    name = f"{module}.{node.attr}"
                    self.refuse("attribute", name, node, f"assignment to {name!r} is refused: modules are read-only")
                continue
            root: ast.expr = node.value
            while type(root) is ast.Attribute:
                root = root.value
            if type(root) is ast.Name and (root.id in self._imported or self._module_of(root) is not None):
                self.guards.add(names.GUARD_TARGET)
                function = ast.copy_location(ast.Name(names.GUARD_TARGET, ast.Load()), node.value)
                call = ast.Call(function, [node.value, _constant(node.attr, node.value)], [])
                node.value = ast.copy_location(call, node.value)

    def _module_of(self, value: ast.expr) -> str | None:
        """The module that a name stands for, by an import of this step or of an earlier one."""
        if type(value) is not ast.Name:
            return None
        return self._aliases.get(value.id) or self._known_module(value.id)

    def _known_module(self, alias: str) -> str | None:
        """The module that `alias` became in an earlier step."""
        value = self.known_names.get(alias) if isinstance(self.known_names, Mapping) else None
        return facade_name(value)

    def _guard(self, node: ast.AST, guard: str, arguments: list[ast.expr]) -> None:
        """Turn `node` itself into a call of `guard`: its parent need not know."""
        self.guards.add(guard)
        function = ast.copy_location(ast.Name(guard, ast.Load()), node)
        for field in node._fields:
            delattr(node, field)
        node.__class__ = ast.Call
        node.func, node.args, node.keywords = function, arguments, []  # type: ignore[attr-defined]

    # Imports

    def visit_Import(self, node: ast.Import) -> None:
        """Every module named must be in the policy."""
        for alias in node.names:
            self.check_identifier(alias, alias.asname or alias.name)
            self._check_module(alias, alias.name, node)
            self._aliases[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0]
            )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """As `visit_Import`, and no name that the policy takes away from the module."""
        module = node.module or ""
        for alias in node.names:
            self.check_identifier(alias, alias.asname or alias.name)
            if alias.name == "*" and not self.rules.star_imports:
                self.refuse("construct", "star-import", node)
        if node.level or not self._check_module(node, module, node):
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

    # Statements with names of their own

    def visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """The name of a function or class is bound like any other."""
        self.check_identifier(node, node.name)
        if type(node) is ast.ClassDef:
            self._classes.append(node)
        if node.decorator_list and not self.rules.decorators:
            self.refuse("construct", "decorator", node.decorator_list[0])

    def visit_keyword(self, node: ast.keyword) -> None:
        """A keyword may become an attribute of the object that is made with it."""
        if node.arg is not None and node.arg not in names.DEFINABLE and self.rules.attribute(node.arg) == REFUSED:
            self.refuse("attribute", node.arg, node)

    def visit_Try(self, node: ast.Try) -> None:
        """An import whose failure the program expects is refused when it runs, so that its fallback can run."""
        if any(_catches_import_errors(handler) for handler in node.handlers):
            self._excused.update(item for item in node.body if isinstance(item, ast.Import | ast.ImportFrom))

    def visit_TryStar(self, node: ast.AST) -> None:
        """Look at a group before `except*` splits it: CPython trusts an overridden `split` (CVE-2025-22153)."""
        if ast.TryStar in self.rules.constructs:
            return
        self.guards.add(names.GUARD_GROUP)
        body: list[ast.stmt] = node.body  # type: ignore[attr-defined]
        call = ast.Call(ast.Name(names.GUARD_GROUP, ast.Load()), [], [])
        handler = ast.ExceptHandler(call, None, [ast.Pass()])
        # the guard is the handler's type: it looks at the exception in flight, raises, or matches nothing
        inner = ast.copy_location(ast.Try(body, [handler], [], []), body[0])
        inner.end_lineno, inner.end_col_offset = body[-1].end_lineno, body[-1].end_col_offset
        for new in (call, call.func, handler, handler.body[0]):
            ast.copy_location(new, body[0])
        node.body = [inner]  # type: ignore[attr-defined]

    def visit_Match(self, node: ast.Match) -> None:
        """Class patterns with positional parts look up the names in `__match_args__`: see `_snapshot_classes`."""
        patterns = [
            pattern
            for case in node.cases
            for pattern in ast.walk(case.pattern)
            if type(pattern) is ast.MatchClass and pattern.patterns
        ]
        if patterns:
            self.guards.add(names.GUARD_MATCH)
            self._class_patterns.append((node, patterns))

    def _snapshot_classes(self) -> list[str]:
        """Match with what the guard makes of each class: the names in `__match_args__` as they were when it read them.

        ``match s: case C(x)`` becomes ``match (s, c := guard(C))[0]: case c(x)``. Between a look at the class and the
        match itself a program may run: descriptors, `__instancecheck__`, `__eq__`, a property `__class__`, a thread.
        Returns the names bound.
        """
        bound: list[str] = []
        for node, patterns in self._class_patterns:
            place = node.subject
            parts: list[ast.expr] = [node.subject]
            for pattern in patterns:
                bound.append(names.MATCHED_CLASS.format(len(bound) + 1))
                call = ast.Call(ast.Name(names.GUARD_MATCH, ast.Load()), [pattern.cls], [])
                parts.append(ast.NamedExpr(ast.Name(bound[-1], ast.Store()), call))
                for new in (call, call.func, parts[-1], parts[-1].target):  # type: ignore[attr-defined]
                    ast.copy_location(new, pattern.cls)
                pattern.cls = ast.copy_location(ast.Name(bound[-1], ast.Load()), pattern.cls)
            both = ast.copy_location(ast.Tuple(parts, ast.Load()), place)
            zero = ast.copy_location(ast.Constant(0), place)
            node.subject = ast.copy_location(ast.Subscript(both, zero, ast.Load()), place)
        return bound

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """The keywords of a class pattern are attribute reads."""
        for name in node.kwd_attrs:
            if self.rules.attribute(name) != PLAIN:
                self.refuse("attribute", name, node)


Check = Callable[[StepTransformer, Any], None]

CHECKS: Final[dict[type[ast.AST], Check]] = {
    ast.Name: StepTransformer.visit_Name,
    ast.Attribute: StepTransformer.visit_Attribute,
    ast.AugAssign: StepTransformer.visit_AugAssign,
    ast.Call: StepTransformer.visit_Call,
    ast.Import: StepTransformer.visit_Import,
    ast.ImportFrom: StepTransformer.visit_ImportFrom,
    ast.FunctionDef: StepTransformer.visit_function,
    ast.AsyncFunctionDef: StepTransformer.visit_function,
    ast.ClassDef: StepTransformer.visit_function,
    ast.keyword: StepTransformer.visit_keyword,
    ast.Try: StepTransformer.visit_Try,
    ast.TryStar: StepTransformer.visit_TryStar,
    ast.Match: StepTransformer.visit_Match,
    ast.MatchClass: StepTransformer.visit_MatchClass,
    ast.arg: lambda self, node: self.check_identifier(node, node.arg),
    ast.ExceptHandler: lambda self, node: self.check_identifier(node, node.name),
    ast.MatchAs: lambda self, node: self.check_identifier(node, node.name),
    ast.MatchStar: lambda self, node: self.check_identifier(node, node.name),
    ast.MatchMapping: lambda self, node: self.check_identifier(node, node.rest),
    ast.Global: lambda self, node: self.check_identifiers(node, node.names),
    ast.Nonlocal: lambda self, node: self.check_identifiers(node, node.names),
}
"""Node kind → what there is to check about it."""

for _label in ("TypeVar", "ParamSpec", "TypeVarTuple"):
    if hasattr(ast, _label):
        CHECKS[getattr(ast, _label)] = lambda self, node: self.check_identifier(node, node.name)

FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    getattr(ast, label): fields for label, fields in names.CHILDREN.items() if hasattr(ast, label)
}
"""Node kind → the fields to visit; a kind that is missing here is refused."""


def _constant(value: str, node: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Constant(value), node)


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
    return found


def _is_text(node: ast.AST | None) -> bool:
    return type(node) is ast.Constant and isinstance(node.value, str | bytes)


def _names_of_texts(tree: ast.AST) -> set[str]:
    """Names that the program binds once, to a text that is written out."""
    texts = {
        node.targets[0].id
        for node in ast.walk(tree)
        if type(node) is ast.Assign and type(node.targets[0]) is ast.Name and _is_text(node.value)
    }
    stores = [node.id for node in ast.walk(tree) if type(node) is ast.Name and type(node.ctx) is not ast.Load]
    return {name for name in texts if stores.count(name) == 1}


def _declare_guards(node: ast.ClassDef, guards: list[str]) -> None:
    """Make a class body look its guards up as globals: a namespace made by `__prepare__` must not answer for them."""
    first = node.body[0]
    text = first.value if isinstance(first, ast.Expr) else None
    has_docstring = isinstance(text, ast.Constant) and type(text.value) is str
    node.body.insert(int(has_docstring), ast.copy_location(ast.Global(guards), first))
