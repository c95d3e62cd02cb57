"""What libraries make of text: names of attributes, expressions, source that they print and run.

``df.eval("f.__globals__")``, ``series.agg("__reduce__")``, ``sympify("__import__('os')")``: a library reads and runs
what the compiler has never seen. Here the functions with which it does so are replaced, in the library's own modules,
by those that guest code has: names are judged by the same rules, text is compiled under them and run with the same
builtins.
"""

from __future__ import annotations

import ast
import builtins
import gc
import re
import sys
from contextlib import nullcontext
from functools import partial
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from safeexec.child.language.builtins import code_of, is_hidden, locals_of, text_guards, without_own
from safeexec.child.language.libraries.patching import change, put
from safeexec.child.language.native import builtin
from safeexec.child.language.program import is_of_program
from safeexec.compiler.names import RESERVED
from safeexec.compiler.rules import PLAIN, Rules
from safeexec.facades.layout import write_to_class
from safeexec.facades.replacements.checked import checked_vars
from safeexec.facades.sealed import MODULES

_IMPORT = re.compile(r"from ([A-Za-z][\w.]*) import (\w+)")
_REAL = vars(builtins)


def guard(rules: Rules, guest_globals: dict[str, Any], table: dict[str, Any]) -> None:
    """Replace what libraries read and run text with, now or when each is imported. `table`: the guest's builtins."""
    put("pandas.core.computation.scope", "inspect", _NoStack)
    # The names in ``df.eval("x + @y")`` and in ``np.bmat("A, B")``.
    for module in ("pandas.core.computation.scope", "numpy.matrixlib.defmatrix", "numpy.lib._index_tricks_impl"):
        put(module, "sys", _Frames)
    for module in ("sympy", "sympy.core", "sympy.core.symbol"):
        put(module, "var", lambda: var)
    for module in ("sympy.polys.rings", "sympy.polys.fields"):
        put(module, "pollute", lambda: _pollute)
    text = _Text(rules, guest_globals, table)
    put("mpmath.identification", "eval", lambda: text.evaluate)
    put("mpmath.identification", "dir", lambda: partial(_plain_names, rules))
    for module in ("mpmath.ctx_mp_python", "mpmath.libmp.libhyper"):
        put(module, "exec_", lambda: text.run)
    for module in ("sympy.parsing.sympy_parser", "sympy.parsing.ast_parser"):
        put(module, "eval", lambda: text.evaluate)
        put(module, "compile", lambda: _unparsed)
        put(module, "exec", lambda: text.import_names)
    # Its namespace, which transformations of the program are given, is made of the builtins.
    put("sympy.parsing.sympy_parser", "builtins", partial(_builtins, table))
    for module in ("sympy.plotting.experimental_lambdify", "scipy.stats._distn_infrastructure"):
        put(module, "exec", lambda: text.run)
    change("sympy.utilities.lambdify", _change_lambdify, text)
    change("patsy.eval", _change_formulas, text)
    change("networkx.utils.decorators", _change_decorators)


def _plain_names(rules: Rules, value: object) -> list[str]:
    """`dir` for what makes a namespace of all attributes."""
    return [name for name in dir(value) if type(name) is str and rules.attribute(name) == PLAIN]


class _Frames:
    """`sys` for what looks names up in the frame of its caller: pandas in any above, too, by ``level=``."""

    def __init__(self) -> None:
        self.version_info = sys.version_info

    @staticmethod
    def _getframe(depth: int = 0) -> Any:
        frame = sys._getframe(depth + 1)
        shown = _shown(frame)
        if depth == 0:
            shown.f_back = _shown(frame.f_back)
        return shown


def _shown(frame: FrameType | None) -> SimpleNamespace:
    if frame is None or not is_of_program(frame):
        return SimpleNamespace(f_globals={}, f_locals={})
    return SimpleNamespace(f_globals=without_own(frame.f_globals), f_locals=without_own(locals_of(frame)))


def var(names: Any, **options: Any) -> Any:
    """Make symbols, and names of the program for them: `sympy.var`."""
    import sympy

    made = sympy.symbols(names, **options)
    pending = [] if made is None else [made]
    while pending:
        symbol = pending.pop()
        if isinstance(symbol, sympy.Basic):
            _bind(sys._getframe(1), symbol.name, symbol)
        elif isinstance(symbol, sympy.FunctionClass):
            _bind(sys._getframe(1), symbol.__name__, symbol)
        else:
            pending += symbol
    return made


def _pollute(names: list[str], objects: list[object]) -> None:
    """`sympy.utilities.magic.pollute`, which `vring` and `vfield` call."""
    for name, value in zip(names, objects, strict=False):
        _bind(sys._getframe(2), name, value)


def _bind(frame: FrameType, name: object, value: object) -> None:
    """Bind a name where a program calls; it is one that the program itself could bind."""
    if not is_of_program(frame):
        raise ValueError("a library cannot bind names: call it in the program itself")
    if type(name) is not str or is_hidden(name) or name in RESERVED:
        raise ValueError(f"{name!r} is no name that a program can bind")
    frame.f_globals[name] = value


class _NoStack:
    """`inspect` for the same: a scope within a scope looks through all frames."""

    @staticmethod
    def stack() -> list[Any]:
        return []


def _builtins(table: dict[str, Any]) -> SimpleNamespace:
    """The guest's builtins as a module. A function that it has not is there by its name, and refuses to be called."""

    def refused(name: str) -> Any:
        def refuse(*_: object, **__: object) -> NoReturn:
            raise NameError(f"builtin {name!r} is refused", name=name)

        return builtin(refuse, name)

    functions = {name: refused(name) for name, value in _REAL.items() if type(value) is BuiltinFunctionType}
    return SimpleNamespace(**functions | {name: value for name, value in table.items() if name[:1] != "_"})


def _unparsed(node: ast.AST, *_: object) -> str:
    """In place of `compile`: text again, which is compiled where it is run."""
    return ast.unparse(ast.fix_missing_locations(node))


class _Caller:
    """`inspect` for patsy, which walks a number of frames up to the one whose names a formula may use: that is the
    nearest one of the program, through whatever a library calls it.
    """

    @staticmethod
    def currentframe() -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not is_of_program(frame):
            frame = frame.f_back
        shown = _shown(frame)
        shown.f_code = SimpleNamespace(co_flags=0)
        shown.f_back = shown
        return shown


def _change_formulas(module: ModuleType, text: _Text) -> None:
    """What patsy runs the Python in a formula with: each name in it is looked up first, where patsy looks."""
    quote = vars(sys.modules["patsy.builtins"])["Q"]

    def evaluate(source: str, _globals: dict[str, Any], found: Any) -> Any:
        def quoted(name: str) -> Any:
            try:
                return found[name]
            except KeyError:
                raise NameError(f"no data named {name!r} found") from None

        names = {node.id for node in ast.walk(ast.parse(source, mode="eval")) if isinstance(node, ast.Name)}
        space = {name: found[name] for name in names if name in found}
        if space.get("Q") is quote:
            space["Q"] = quoted
        return text.evaluate(source, space)

    vars(module).update(inspect=_Caller(), compile=lambda source, *_: source.strip(), eval=evaluate)


_NODES = """
    Assign Call Constant Expr Load Name Return Starred Store Subscript Try Tuple USub UnaryOp keyword
"""
_OF_DECORATORS = frozenset(_NODES.split())
"""Kinds of nodes in the function that networkx compiles around one: it calls functions with what it is given."""


def _change_decorators(module: ModuleType) -> None:
    """What networkx compiles around a function when that is first called, of the names of its parameters, and of what
    the function's attributes say: of any text, that is. Here it is calls of names that networkx has made, and no more.
    """
    space = vars(module)
    argmap = space["argmap"]
    call, compile_for = vars(argmap)["__call__"], vars(argmap)["compile"]
    made_of: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
    """Function → the decorator, and what it is around."""
    compiled: list[CodeType] = []
    """The code of the functions that were compiled last."""

    def compile(source: str, filename: str, _mode: str) -> CodeType:
        tree = ast.parse(source)
        match tree.body:
            # With nothing but names before its body: what stands there is looked up outside of the function.
            case [ast.FunctionDef(args=arguments, body=body, decorator_list=[], returns=None)]:
                parameters = list(ast.walk(arguments))
                known = {"list"} | {node.arg for node in parameters if type(node) is ast.arg}
                is_bare = all(type(node) in (ast.arguments, ast.arg) for node in parameters)
                kinds = {type(node).__name__ for part in body for node in ast.walk(part)}
                used = {node.id for part in body for node in ast.walk(part) if type(node) is ast.Name}
                if is_bare and kinds <= _OF_DECORATORS and all(name in known or is_made(name) for name in used):
                    code = builtins.compile(tree, filename, "exec")
                    compiled.extend(item for item in code.co_consts if type(item) is CodeType)
                    return code
        raise SyntaxError("a decorator of networkx calls functions, and does nothing else")

    def is_made(name: str) -> bool:
        return name.startswith("argmap_")

    def __call__(self: Any, f: Any) -> Any:
        """Note what networkx makes: a program can write what a function has as its ``__argmap__``."""
        func = call(self, f)
        made_of[func] = self, f
        return func

    def _lazy_compile(func: Any) -> Any:
        """Let a function have the code that is compiled for it."""
        if type(func) is not FunctionType or func not in made_of:
            raise TypeError("a decorator of networkx is for a function")
        decorator, wrapped = made_of[func]
        with argmap._compile_lock if hasattr(argmap, "_compile_lock") else nullcontext():
            compiled.clear()
            made = compile_for(decorator, wrapped)
            if type(made) is not FunctionType or all(made.__code__ is not code for code in compiled):
                raise TypeError("a decorator of networkx makes a function")
            space.update({name: value for name, value in made.__globals__.items() if is_made(name)})
            vars(func).update(vars(made))
            func.__code__ = made.__code__
        return func

    if "networkx.algorithms" in sys.modules:  # it was loaded before the guards: these have the code to be replaced
        (code,) = [item for item in call.__code__.co_consts if type(item) is CodeType]
        for func in gc.get_referrers(code):
            if type(func) is FunctionType:
                made_of[func] = vars(func)["__argmap__"], vars(func)["__wrapped__"]
    write_to_class(argmap, "__call__", __call__)
    argmap._lazy_compile = staticmethod(_lazy_compile)
    space["compile"] = compile


class _Source(str):
    """Text that a library has given to `compile`."""

    __slots__ = ("filename",)
    filename: str


def _change_lambdify(module: ModuleType, text: _Text) -> None:
    space = vars(module)
    modules, namespace_of = space["MODULES"], space["_get_namespace"]
    text.trusted = frozenset(command for _, _, _, commands in modules.values() for command in commands)

    def compile(source: str, filename: str, _mode: str) -> _Source:
        made = _Source(source)
        made.filename = filename
        return made

    def _get_namespace(given: Any) -> Any:
        """A class for a module would make names of what its ``__dict__`` holds."""
        return namespace_of(given) if isinstance(given, (str, dict, *MODULES)) else checked_vars(given)

    space.update(compile=compile, exec=text.run, _get_namespace=_get_namespace)


class _Text:
    """`eval` and `exec` for what libraries run, in namespaces that they have made."""

    def __init__(self, rules: Rules, guest_globals: dict[str, Any], table: dict[str, Any]) -> None:
        evaluate = text_guards(rules, guest_globals, table)["eval"]
        shown = SimpleNamespace(**{name: value for name, value in table.items() if not name.startswith("_")})

        def of_guest(name: str, value: object) -> object:
            """What stands for a name of the library's namespace: modules are those that guest code may import."""
            if value is builtins:
                return shown
            if not isinstance(value, ModuleType) or value is guest_globals.get(name):
                return value
            try:
                return table["__import__"](value.__name__, {}, {}, ("*",), 0)
            except Exception:
                return None

        imported: dict[str, dict[str, Any]] = {}

        def import_names(source: str, namespace: dict[str, Any], local: dict[str, Any] | None = None) -> None:
            """Run a library's own import statements: each name is what guest code may import by it, or is not there.

            The library's `numpy.load` reads pickles; what a facade has by that name does not.
            """
            if source not in imported:
                names: dict[str, Any] = {}
                for statement in ast.parse(source).body:
                    found: dict[str, Any] = {}
                    exec(ast.unparse(statement), {}, found)
                    if isinstance(statement, ast.ImportFrom):
                        found = given_by(str(statement.module), found)
                    names.update(found)
                imported[source] = names
            (namespace if local is None else local).update(imported[source])

        def given_by(module: str, names: dict[str, Any]) -> dict[str, Any]:
            try:
                facade = table["__import__"](module, {}, {}, ("*",), 0)
            except ImportError:  # part of a package that has the names, too
                facade = table["__import__"](module.partition(".")[0], {}, {}, ("*",), 0)
            missing = object()
            found = {name: getattr(facade, name, missing) for name in names}
            return {name: value for name, value in found.items() if value is not missing}

        def namespace_for(given: dict[str, Any]) -> dict[str, Any]:
            # Without the real builtins, which the guest's own stand in for, and without names of guards.
            own = {name: value for name, value in without_own(given).items() if value is not _REAL.get(name, given)}
            return {name: of_guest(name, value) for name, value in own.items()}

        def code(source: str) -> CodeType:
            return code_of(
                str.__str__(source), rules, "exec", "exec", guest_globals, getattr(source, "filename", "<string>")
            )

        def run(source: str, namespace: dict[str, Any], local: dict[str, Any] | None = None) -> None:
            if type(source) is not _Source:
                source = str.__str__(source)  # one of the program's own could be equal to what is trusted
            if source in self.trusted:
                import_names(source, namespace, local)
            elif local is not None and (found := _IMPORT.fullmatch(source)):
                local[found[2]] = getattr(table["__import__"](found[1], {}, {}, (found[2],), 0), found[2])
            else:
                own = namespace_for(namespace)
                own["__builtins__"] = table
                exec(code(source), own, local)
                namespace.update({name: own[name] for name in without_own(own).keys() - namespace.keys()})

        def evaluated(source: str, namespace: dict[str, Any], local: dict[str, Any] | None = None) -> Any:
            return evaluate(source, namespace_for(namespace), local)

        self.trusted: frozenset[str] = frozenset()
        self.run = run
        self.import_names = import_names
        self.evaluate = evaluated
