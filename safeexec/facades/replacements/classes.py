"""`dataclasses`, which builds source text from names, and types that may be asked about but not called.

The decorator runs text that it makes of field names, and `replace`, `asdict` and `astuple` read the attributes that
``__dataclass_fields__`` names: a metaclass with such fields would give ``type.__subclasses__``. Fields can be changed
at any time, also by descriptors that the decorator itself calls, so what counts is looked at where it is used: the
functions of the module run here with an `exec` that reads the text first and with the guarded `getattr`.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import re
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from safeexec.facades import program
from safeexec.facades.replacements.attributes import copy_module, update_wrapper
from safeexec.facades.replacements.checked import check_name, checked_getattr, is_guarded
from safeexec.facades.sealed import MODULES, Facade

_checked: dict[str, Any] = {}
"""The functions of the dataclasses module once more, with a checked exec and getattr among their globals."""


def _function(wanted: str) -> Any:
    if not _checked:
        _checked.update(vars(dataclasses))
        _checked.update(
            (item, _rebound(value))
            for item, value in vars(dataclasses).items()
            if isinstance(value, types.FunctionType) or item == "_FuncBuilder"  # 3.13: what runs the text there
        )
        _checked.update(getattr=field_value, exec=_run_methods, copy=copy_module())
        _checked["_is_type"] = _is_type
        _checked["sys"] = types.SimpleNamespace(**{**vars(sys), "modules": program.Lookup()})
        for method in (
            _replace,
            _dataclass_getstate,
            _dataclass_setstate,
        ):  # a class that has them is pickled with their names
            name = method.__name__
            if name in _checked:
                _checked[f"<{name}>"], _checked[name] = _checked[name], method
    return _checked[wanted]


def _is_type(annotation: str, cls: type, a_module: Any, a_type: Any, is_type_predicate: Callable[..., Any]) -> bool:
    """`dataclasses._is_type`: does the text name ``typing.ClassVar``, `InitVar` or `KW_ONLY`, by whatever name?

    The module that it is named through is a facade in the namespace of guest code.
    """
    found = _ANNOTATION.match(annotation)
    space = vars(program.Lookup().get(cls.__module__) or types.SimpleNamespace())
    if found is None:
        return False
    if found[1]:
        module = space.get(found[1])
        if not (module is a_module or (isinstance(module, Facade) and module.__name__ == a_module.__name__)):
            return False
        space = vars(sys.modules[a_type.__module__])
    return bool(is_type_predicate(space.get(found[2]), a_module))


_ANNOTATION = re.compile(r"(?:\s*(\w+)\s*\.)?\s*(\w+)")
"""What `dataclasses._MODULE_IDENTIFIER_RE` reads: a name, and the one before a dot."""


def _rebound(value: Any) -> Any:
    """A function of the module, or a class with its methods, with `_checked` for its globals."""
    if isinstance(value, type):
        return type(value.__name__, value.__bases__, {name: _rebound(item) for name, item in vars(value).items()})
    if not isinstance(value, types.FunctionType) or value.__module__ != "dataclasses":
        return value
    made = types.FunctionType(value.__code__, _checked, value.__name__, value.__defaults__, value.__closure__)
    made.__kwdefaults__ = value.__kwdefaults__
    return made


_ASKED_FOR = frozenset({
    "__dataclass_fields__", "__dataclass_params__", "__dictrefoffset__", "__doc__", "__qualname__", "__set_name__",
    "__weakrefoffset__",
})  # fmt: skip
"""What the module asks for by names of its own."""


def field_value(value: Any, name: str, *default: Any) -> Any:
    """The `getattr` of `dataclasses`, whose fields a program may have given any name."""
    if name in _ASKED_FOR:
        return builtins.getattr(value, name, *default)
    return checked_getattr(value, name, *default)


_NODES = """
    Add And Assign Attribute BinOp BoolOp Call Compare Constant Eq Expr FormattedValue Gt GtE If IfExp In Is JoinedStr
    Load Lt LtE Name Or Pass Raise Return Set Store Tuple arg arguments
"""
_NAMES = frozenset({"NotImplemented", "hash", "super", "type", "object", "None", "True", "False"})
_WRITTEN = frozenset({
    "__delattr__", "__eq__", "__ge__", "__gt__", "__hash__", "__init__", "__le__", "__lt__", "__repr__", "__setattr__",
})  # fmt: skip
"""The methods that a dataclass is given as text."""
_ATTRIBUTES = frozenset({"__class__", "__post_init__", "__qualname__"})
_SETTERS = frozenset({"__delattr__", "__setattr__"})
_OBJECT = "__dataclass_builtins_object__"


def _run_methods(text: str, globals: dict[str, Any], namespace: dict[str, Any]) -> None:
    """Run the methods that a dataclass of the program is given."""
    tree = _methods(text)
    _guard(tree, namespace, reads=True)
    if not program.is_of_program(globals):  # of whatever module its class says that it is
        globals = vars(program.own("__main__"))
    exec(compile(tree, "<string>", "exec", dont_inherit=True), globals, namespace)


def run_methods_of_libraries(text: str, globals: dict[str, Any], namespace: dict[str, Any]) -> None:
    """The same for a dataclass of a library: a program may have changed the fields of those that it is derived from."""
    tree = _methods(text)
    _guard(tree, namespace, reads=False)
    exec(compile(tree, "<string>", "exec", dont_inherit=True), globals, namespace)


def _methods(text: str) -> ast.Module:
    """The tree of methods, if the text is made of what 3.11 to 3.13 make them of: a function around them, whose
    arguments they use, and that returns them.
    """
    tree = ast.parse(text)
    match tree.body:
        case [ast.FunctionDef(args=around, body=[*methods, ast.Return(value=returned)])]:
            given = _NAMES.union(arg.arg for arg in around.args)
            are_methods = all(isinstance(method, ast.FunctionDef) and _is_method(method, given) for method in methods)
            names = returned.elts if isinstance(returned, ast.Tuple) else [returned]
            are_names = all(isinstance(name, ast.Name) and name.id in _WRITTEN for name in names)
            if are_methods and are_names and not (around.defaults or around.kwonlyargs):
                return tree
    raise TypeError(_NO_FIELD)


def _is_method(method: ast.FunctionDef, given: frozenset[str]) -> bool:
    """May a dataclass be given this method? It uses its own arguments and what is `given`, and is one that it needs."""
    arguments = {node.arg for node in ast.walk(method.args) if isinstance(node, ast.arg)}
    if method.name not in _WRITTEN or any(_is_of_python(name) for name in arguments) or not _sets_its_own(method):
        return False
    around = [*method.decorator_list, method.args, *([method.returns] if method.returns is not None else [])]
    return all(_is_made_of(part, given) for part in around) and all(
        _is_made_of(part, given | arguments) for part in method.body
    )


def _sets_its_own(method: ast.FunctionDef) -> bool:
    """Does it set, past what a class says about that, fields of its own object alone? The names of fields can be text
    that gives another piece of source each time, so it is the tree that says of what.
    """
    own, *rest = [arg.arg for arg in method.args.args] or [""]
    setters = [node for node in ast.walk(method) if isinstance(node, ast.Attribute) and node.attr in _SETTERS]
    called = [node for node in ast.walk(method) if isinstance(node, ast.Call) and node.func in setters]
    for call in called:
        given = [ast.unparse(argument) for argument in call.args]
        match ast.unparse(call.func), call.args:
            case (f, [first, ast.Constant(value=str()), _]) if f == f"{_OBJECT}.__setattr__":
                is_own = ast.unparse(first) == own
            case (f, _):  # of a frozen class: what it does for a class that is derived from it
                is_own = f == f"super(cls, {own}).{method.name}" and given == rest
        if not is_own or call.keywords:
            return False
    return len(called) == len(setters)


def _is_made_of(part: ast.AST, known: frozenset[str]) -> bool:
    nodes = _NODES.split()
    return all(
        type(node).__name__ in nodes
        and (not isinstance(node, ast.Name) or node.id in known)
        and (not isinstance(node, ast.Attribute) or _is_attribute(node))
        and (not isinstance(node, ast.Constant) or type(node.value) is not str or _is_field(node.value))
        for node in ast.walk(part)
    )


def _is_of_python(name: str) -> bool:
    return name[:2] == "__" == name[-2:] and not name.startswith("__dataclass_")


_NO_FIELD = "Field names must be valid identifiers, and not names of the interpreter's own"


def _is_attribute(node: ast.Attribute) -> bool:
    """May a method of a dataclass read or set this? What sets any name `_sets_its_own` has looked at."""
    return node.attr in _SETTERS or _is_field(node.attr)


def _is_field(name: str) -> bool:
    """May the methods of a dataclass read this attribute? They are functions, and take any object for `self`."""
    if name[:2] == "__" == name[-2:]:
        return name in _ATTRIBUTES
    try:
        check_name(name)
    except AttributeError:
        return False
    return True


def _guard(tree: ast.Module, namespace: dict[str, Any], *, reads: bool) -> None:
    """Let the methods set fields of instances of a dataclass alone and, with `reads`, read what depends on the object
    (a field `format`) by the guard. They have both as defaults of the function around them.
    """

    class Guarded(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            if ast.unparse(node.func) == f"{_OBJECT}.__setattr__":
                node.args[:1] = [ast.Call(ast.Name(_INSTANCE, ast.Load()), node.args[:1], [])]
                namespace[_INSTANCE] = _instance
            return node

        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            self.generic_visit(node)
            if not reads or not isinstance(node.ctx, ast.Load) or node.attr in _SETTERS or not is_guarded(node.attr):
                return node
            call = ast.Call(ast.Name(_GUARD, ast.Load()), [node.value, ast.Constant(node.attr)], [])
            namespace[_GUARD] = checked_getattr
            return ast.copy_location(call, node)

    Guarded().visit(tree)
    for name in {_GUARD, _INSTANCE} & namespace.keys():
        around = tree.body[0]
        assert isinstance(around, ast.FunctionDef)
        around.args.kwonlyargs.append(ast.arg(name))
        around.args.kw_defaults.append(ast.Name(name, ast.Load()))
        ast.fix_missing_locations(tree)


_GUARD, _INSTANCE = "<guard>", "<instance>"


def _instance(value: Any) -> Any:
    """An object whose attributes a frozen dataclass sets: past what its class says about that."""
    if not hasattr(type(value), "__dataclass_fields__"):
        raise TypeError(f"{type(value).__name__!r} object is no instance of a dataclass")
    return value


def replace(obj: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`, whose fields are read under the rules."""
    return _function("replace")(obj, **changes)


def _replace(self: Any, /, **changes: Any) -> Any:
    return _function("<_replace>")(self, **changes)


def _dataclass_getstate(self: Any) -> Any:
    return _function("<_dataclass_getstate>")(self)


def _dataclass_setstate(self: Any, state: Iterable[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=False):
        name = field.name
        if type(name) is not str or not _is_field(name):
            raise TypeError(_NO_FIELD)
        object.__setattr__(self, name, value)


def asdict(obj: Any, *, dict_factory: Callable[..., Any] = dict) -> Any:
    """`dataclasses.asdict`, whose fields are read under the rules."""
    return _function("asdict")(obj, dict_factory=dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[..., Any] = tuple) -> Any:
    """`dataclasses.astuple`, whose fields are read under the rules."""
    return _function("astuple")(obj, tuple_factory=tuple_factory)


def _check_names(names: Iterable[object]) -> None:
    """Only exact str: a subclass can claim to be an identifier and be formatted as something else."""
    for name in names:
        if type(name) is not str or not name.isidentifier():
            raise TypeError(f"Field names must be valid identifiers: {name!r}")


def _check_fields(annotated: Iterable[object], bases: Iterable[type]) -> None:
    """Check every name that the generated methods of a dataclass will be made of."""
    _check_names(annotated)
    for base in bases:
        for field in (base.__dict__.get("__dataclass_fields__") or {}).values():
            if type(field) is not dataclasses.Field:
                raise TypeError(f"{base.__name__} is not a dataclass")
            _check_names([field.name])


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """`dataclasses.dataclass` for fields whose names are identifiers."""

    def wrap(cls: type) -> type:
        import inspect

        if not issubclass(type(cls), type):  # a proxy of one: what is asked of it are names that a text gives
            raise TypeError("dataclass() is for classes")
        _check_fields(inspect.get_annotations(cls), cls.__mro__[1:])
        made: type = _function("dataclass")(**options)(cls)
        return made

    return wrap if cls is None else wrap(cls)


def make_dataclass(cls_name: str, fields: Iterable[Any], *, bases: tuple[type, ...] = (), **options: Any) -> type:
    """`dataclasses.make_dataclass` for fields whose names are identifiers."""
    fields = [tuple(field) if isinstance(field, Sequence) and not isinstance(field, str) else field for field in fields]
    names = [
        field if isinstance(field, str) else field[0]
        for field in fields
        if isinstance(field, str) or (isinstance(field, tuple) and len(field) in (2, 3))  # others are refused there
    ]
    _check_fields(names, [parent for base in bases for parent in getattr(base, "__mro__", ())])
    if sys.version_info >= (3, 12):  # before, the class takes the module of the frame that called, and names "types"
        options.setdefault("module", "__main__")
    made: type = _function("make_dataclass")(cls_name, fields, bases=bases, **options)
    return made


def coroutine(func: Any) -> Any:
    """`types.coroutine`, which marks the code of a function: that of a library's stays as it is."""
    if not callable(func):
        raise TypeError("types.coroutine() expects a callable")
    if type(func) is types.FunctionType and program.is_of_program(func.__globals__):
        return types.coroutine(func)
    return update_wrapper(types.coroutine(lambda *args, **kwargs: func(*args, **kwargs)), func)


def global_enum(cls: Any, update_str: bool = False) -> Any:
    """`enum.global_enum` of a class of the program: its members become names of the program."""
    members = dict(cls.__members__)
    _check_names(members)
    module = program.own(cls.__module__)
    if type(cls).__module__ != "enum" or module is None or any(name[:1] == "_" for name in members):
        raise TypeError("global_enum is for an enum that the program itself defines")
    real = vars(enum)
    cls.__repr__ = real["global_flag_repr"] if issubclass(cls, enum.Flag) else real["global_enum_repr"]
    if not issubclass(cls, enum.ReprEnum) or update_str:
        cls.__str__ = real["global_str"]
    vars(module).update(members)
    return cls


class _OnlyAsked(type):
    """A type for `isinstance` and `issubclass`: guest code may ask whether an object is one, and cannot make one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, MODULES)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, MODULES)

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        raise TypeError(f"cannot create {cls.__name__!r} instances")

    def __repr__(cls) -> str:
        return f"<class {cls.__name__!r}>"


_MODULE = _OnlyAsked("module", (), {"__slots__": ()})


REPLACEMENTS: dict[str, Callable[..., Any]] = {
    "dataclasses.asdict": asdict,
    "dataclasses.astuple": astuple,
    "dataclasses.dataclass": dataclass,
    "dataclasses.make_dataclass": make_dataclass,
    "dataclasses.replace": replace,
    "enum.global_enum": global_enum,
    "types.coroutine": coroutine,
    "types.ModuleType": _MODULE,
}
