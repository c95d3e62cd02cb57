"""What a hint is found from: the exception, the failing expression, and a careful look at the objects in it."""

from __future__ import annotations

from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Container, Iterator, Mapping
    from types import FrameType

    from safeexec.protocol.plan import LanguagePlan

MISSING: Any = object()
MAX_NAMES = 3000
_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_module_of = type.__dict__["__module__"].__get__
_module_dict = vars(ModuleType)["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__
_args_of = BaseException.__dict__["args"].__get__


def type_name(kind: type) -> str:
    """``__name__`` of a class, whatever its metaclass says."""
    return str.__str__(_name_of(kind))


class Place(NamedTuple):
    """Where guest code failed. `frame` is alive only while the hint is looked for."""

    frame: FrameType
    filename: str
    line: int


class Failure:
    """One exception of guest code. `release` it when the hint is found: it holds frames."""

    def __init__(
        self,
        *,
        exc: BaseException,
        message: str,
        frame: Place | None,
        segment: str,
        rest_of_line: str,
        libraries: list[FrameType],
        sources: Mapping[str, str],
        namespace: dict[str, Any],
        plan: LanguagePlan,
        lost_names: Container[str] = (),
        workspace_files: Callable[[], list[str]] | None = None,
    ) -> None:
        self.exc = exc
        self.kind = type(exc)
        self.message = message
        self.frame = frame
        self.segment = segment
        """Source text of the expression that failed."""
        self.rest_of_line = rest_of_line
        """What follows the expression in its line."""
        self.libraries = libraries
        """The frames that the expression called into, outermost first."""
        self.sources = sources
        self.namespace = namespace
        self.plan = plan
        self.lost_names = lost_names
        self.workspace_files = workspace_files
        self._expression: ast.expr | None = MISSING
        self._locals: dict[str, Any] | None = None

    def nodes_of_steps(self, *texts: str) -> Iterator[tuple[str, ast.AST]]:
        """File name and node of every step so far that has one of `texts` in it and can be parsed."""
        import ast

        for filename, source in self.sources.items():
            if not any(text in source for text in texts):
                continue
            try:
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError):
                continue
            for node in ast.walk(tree):
                yield filename, node

    def release(self) -> None:
        """Let go of the frames."""
        self.frame = None
        self.libraries = []
        self._locals = None

    @property
    def first_arg(self) -> Any:
        """The exception's first argument, or None."""
        args: tuple[Any, ...] = _args_of(self.exc)
        return args[0] if args else None

    def raised_by_guest(self) -> bool:
        """Did a ``raise`` or ``assert`` of guest code raise it, and not Python or a library?"""
        if self.libraries:
            return False
        return self.segment.startswith(("raise ", "raise(", "assert ")) or (not self.segment and self.frame is None)

    @property
    def expression(self) -> ast.expr | None:
        """The failing expression as a tree, or None if it is a statement."""
        if self._expression is MISSING:
            import ast

            text = self.segment.strip()
            try:
                self._expression = ast.parse(f"({text}\n)", mode="eval").body if text else None
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._expression = self._from_statement(text)
        return self._expression

    @staticmethod
    def _from_statement(text: str) -> ast.expr | None:
        """The value of ``x += 1`` as the expression ``x + 1``, and of ``a, b = c`` as ``c``."""
        import ast

        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        match body:
            case [ast.AugAssign(target=target, op=op, value=value)]:
                return ast.BinOp(left=target, op=op, right=value)
            case [ast.Assign(value=value)] | [ast.Return(value=ast.expr() as value)]:
                return value
            case [ast.For(iter=iterable)] | [ast.AsyncFor(iter=iterable)]:
                return iterable
        return None

    @property
    def call(self) -> ast.Call | None:
        """The failing expression if it is a call (or the ``await`` of one)."""
        import ast

        tree = self.expression
        if isinstance(tree, ast.Await):
            tree = tree.value
        return tree if isinstance(tree, ast.Call) else None

    @property
    def locals(self) -> dict[str, Any]:
        """The local variables of the innermost guest frame."""
        if self._locals is None:
            self._locals = dict(self.frame.frame.f_locals) if self.frame else {}
        return self._locals

    @property
    def builtins(self) -> dict[str, Any]:
        """The builtins that the guest has."""
        return self.frame.frame.f_builtins if self.frame else {}

    def visible_names(self) -> list[str]:
        """The names of the frame and of the session, without private ones."""
        every = dict.fromkeys([*self.locals, *self.namespace])
        return [name for name in every if type(name) is str and not name.startswith("__")][:MAX_NAMES]

    def lookup(self, name: str) -> Any:
        """The object that a name stands for in the frame, or `MISSING`."""
        for scope in (self.locals, self.frame.frame.f_globals if self.frame else {}, self.namespace, self.builtins):
            if name in scope:
                return scope[name]
        return MISSING

    def resolve(self, tree: ast.AST | None) -> Any:
        """The object of an expression of names, attributes and constant indexes of plain containers, or `MISSING`."""
        import ast

        match tree:
            case ast.Name(id=name):
                return self.lookup(name)
            case ast.Constant(value=value):
                return value
            case ast.Attribute(value=value, attr=name):
                return attribute_of(self.resolve(value), name)
            case ast.Subscript(value=value, slice=index):
                owner, key = self.resolve(value), self.resolve(index)
                if type(owner) is dict and type(key) in (str, int) and key in owner:
                    return owner[key]
                if type(owner) in (list, tuple) and type(key) is int and -len(owner) <= key < len(owner):
                    return owner[key]
        return MISSING

    def text_of(self, tree: ast.AST | None, default: str = "x") -> str:
        """The source text of an expression if it is short enough for a sentence."""
        import ast

        if tree is None:
            return default
        try:
            text = ast.unparse(tree)
        except (ValueError, AttributeError, RecursionError):
            return default
        return text if len(text) <= 40 and "\n" not in text else default


def attribute_of(owner: Any, name: str) -> Any:
    """``owner.name`` from the dictionary of the module, instance or class, without descriptors; or `MISSING`."""
    if owner is MISSING:
        return MISSING
    if issubclass(type(owner), ModuleType):
        return _module_dict(owner).get(name, MISSING)
    found = instance_dict(owner).get(name, MISSING)
    if found is not MISSING:
        return found
    bases = _mro_of(owner) if issubclass(type(owner), type) else _mro_of(type(owner))
    for base in bases:
        if name in (names := _dict_of(base)):
            value = names[name]
            return value.__func__ if type(value) in (staticmethod, classmethod) else value
    return MISSING


def instance_dict(obj: Any) -> dict[str, Any]:
    """The instance dictionary of `obj`, or an empty one; a class that redefines ``__dict__`` is not asked."""
    for base in _mro_of(type(obj)):
        if "__dict__" in (names := _dict_of(base)):
            descriptor = names["__dict__"]
            if type(descriptor) is not type(BaseException.__dict__["__dict__"]):
                return {}
            found = descriptor.__get__(obj)
            return found if type(found) is dict else {}
    return {}


def attribute_names(obj: Any) -> list[str]:
    """The names of the instance and of its classes, read from their dictionaries."""
    found: dict[str, None] = {}
    if issubclass(type(obj), ModuleType):
        names = _module_dict(obj)
        found.update(dict.fromkeys(names))
        exported = names.get("__all__")
        if type(exported) in (list, tuple):
            found.update(dict.fromkeys(exported))
        return [name for name in found if type(name) is str][:MAX_NAMES]
    found.update(dict.fromkeys(instance_dict(obj)))
    for base in _mro_of(obj) if issubclass(type(obj), type) else _mro_of(type(obj)):
        if base is not object:
            found.update(dict.fromkeys(_dict_of(base)))
    return [name for name in found if type(name) is str][:MAX_NAMES]


def module_name(module: ModuleType) -> str:
    """The name of a module as it says itself, or an empty string."""
    name = _module_dict(module).get("__name__")
    return name if type(name) is str else ""


def library_kind(obj: Any) -> str:
    """``pandas.DataFrame``, ``.Series``, ``.Index``, ``.GroupBy``, ``numpy.ndarray``, ``.Generator``,
    ``matplotlib.Figure`` or ``.Axes``; else empty.
    """
    for base in _mro_of(type(obj)):
        module = _module_of(base)
        if type(module) is not str:
            continue
        name = type_name(base)
        if module.startswith("pandas"):
            if name in ("DataFrame", "Series", "Index"):
                return f"pandas.{name}"
            if name in ("GroupBy", "BaseGroupBy"):
                return "pandas.GroupBy"
        elif module == "matplotlib.figure" and name in ("Figure", "FigureBase"):
            return "matplotlib.Figure"
        elif module.startswith("matplotlib.axes") and name == "Axes":
            return "matplotlib.Axes"
        elif module == "numpy" and name == "ndarray":
            return "numpy.ndarray"
        elif module == "numpy.random._generator" and name == "Generator":
            return "numpy.Generator"
    return ""


def is_builtin_kind(kind: type) -> bool:
    """Is the class one of Python itself, so that its name says what it is?"""
    return _module_of(kind) in ("builtins", "collections", "datetime", "re", "decimal", "fractions")


def parameters(function: Any) -> list[str]:
    """The names of a function's or class's parameters, without ``self``; empty if they are not known."""
    if type(function) is MethodType:
        function = function.__func__
    if issubclass(type(function), type):
        made = attribute_of(function, "__init__")
        function = made if type(made) is FunctionType else attribute_of(function, "__new__")
    code = getattr(function, "__code__", None) if type(function) is FunctionType else None
    if code is not None:
        wrapped = function.__dict__.get("__wrapped__")
        if type(wrapped) is FunctionType and code.co_flags & 0x0C:
            return parameters(wrapped)
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        return [name for name in names if name not in ("self", "cls", "_cls")]
    signature = getattr(function, "__text_signature__", None) if type(function) in _C_FUNCTIONS else None
    if type(signature) is not str and (compiled := _compiled_kinds()):
        if type(function) is compiled[0]:
            return parameters(getattr(function, "_implementation", None))
        if type(function) is compiled[1]:
            signature = _first_line(function.__doc__)
    if type(signature) is str:
        import re

        return [
            name
            for name in re.findall(r"(?<![\w=.'\"*])([A-Za-z_]\w*)\s*(?=[=,)])", signature)
            if name not in _NOT_NAMES
        ]
    return []


def _first_line(documentation: Any) -> str | None:
    """The signature that the documentation of a compiled function begins with: ``normal(loc=0.0, size=None)``."""
    import re

    found = re.match(r"\s*\w+(\([^()]*(?:\([^()]*\)[^()]*)*\))", documentation) if type(documentation) is str else None
    return found[1] if found else None


def _compiled_kinds() -> tuple[type, type] | None:
    """The types of numpy's functions and of the methods that Cython compiled, if numpy is there."""
    import sys

    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    return type(numpy.linspace), type(_dict_of(numpy.random.Generator)["integers"])


_C_FUNCTIONS: tuple[type, ...] = (type(len), type([].append), type(str.split))
_NOT_NAMES = ("self", "module", "type", "None", "True", "False")


def frames_of(failure: Failure) -> Iterator[dict[str, Any]]:
    """The local variables of the library frames, outermost first."""
    for frame in failure.libraries[:40]:
        yield dict(frame.f_locals)


def called_name(call: ast.Call) -> str:
    """The last name of what is called; empty where it has none."""
    import ast

    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
