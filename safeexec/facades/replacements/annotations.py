"""Annotations that are text, resolved without running them; and the questions of `inspect` that are harmless.

`typing.get_type_hints` hands text to `eval`. Here it is parsed, and only what annotations are made of is allowed:
names, attributes, subscripts, ``|``, constants and lists.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import functools
import inspect
import operator
import sys
import typing
from collections.abc import Callable, Mapping
from types import DynamicClassAttribute, FunctionType, GenericAlias, GetSetDescriptorType
from typing import Any, TypeGuard

from safeexec.facades import program
from safeexec.facades.replacements.checked import checked_getattr, leads_away
from safeexec.facades.sealed import MODULES, Facade, OwnModule, names_of
from safeexec.identity import dict_of, mro_of

_BUILTIN_TYPES = {
    name: value for name, value in vars(builtins).items() if isinstance(value, type) and not name.startswith("_")
}
"""The types that every program has. As a module, `builtins` has its loader, too, which is a class."""
_NONE = object()


def resolve(text: str, names: Mapping[str, Any]) -> Any:
    """The object that an annotation's text means. Raises NameError, AttributeError, SyntaxError as evaluation would.

    TypeError: the text holds more than an annotation needs (a call, a lambda, …).
    """
    text = text.strip()
    if text[:1] == "*":  # of ``*args: '*Ts'``
        (unpacked,) = resolve(text[1:], names)
        return unpacked
    return _resolve(ast.parse(text, mode="eval").body, names)


def _resolve(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            found = names.get(name, _BUILTIN_TYPES.get(name, _NONE))
            if found is _NONE or leads_away(found):
                raise NameError(f"name {name!r} is not defined", name=name)
            return found
        case ast.Attribute(value=value, attr=attribute):
            return checked_getattr(_resolve(value, names), attribute)
        case ast.Subscript(value=value, slice=index):
            return _resolve(value, names)[_resolve(index, names)]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return operator.or_(_resolve(left, names), _resolve(right, names))
        case ast.Tuple(elts=items):
            return tuple(_resolve(item, names) for item in items)
        case ast.List(elts=items):
            return [_resolve(item, names) for item in items]
    raise TypeError(f"an annotation given as text may not contain {ast.unparse(node)!r}")


def _names_of(obj: Any, globalns: Mapping[str, Any] | None, localns: Mapping[str, Any] | None) -> dict[str, Any]:
    while hasattr(obj, "__wrapped__"):
        obj = obj.__wrapped__
    if globalns is None and _is_shown(obj):
        globalns = _guest_names(names_of(obj))
    if globalns is None:
        globalns = _names_around(obj)
    names = dict(globalns)
    if issubclass(type(obj), type) and localns is None:
        names |= _names_in(obj)
    for parameter in getattr(obj, "__type_params__", ()):
        names[parameter.__name__] = parameter
    names |= localns or {}
    return names


def _names_in(cls: type) -> dict[str, Any]:
    """The names in a class of the program. Those of other classes are descriptors and modules that no program reads."""
    held = dict_of(cls)
    if program.own(held.get("__module__")) is None:
        return {}
    return {name: value for name, value in held.items() if not str(name).startswith("__")}


def _names_around(obj: Any) -> dict[str, Any]:
    """The names of the module that a function or class is of."""
    found = getattr(obj, "__globals__", None)
    if not isinstance(found, dict):
        return _names_of_module(getattr(obj, "__module__", None) or "")
    return _guest_names(found) if program.is_of_program(found) else _library_names()


def _names_of_module(name: str) -> dict[str, Any]:
    module = program.own(name) or sys.modules.get(name)
    found = {} if module is None else vars(module)
    return _guest_names(found) if program.is_of_program(found) else _library_names()


def _is_shown(obj: Any) -> TypeGuard[Facade | OwnModule]:
    """Whether it is a module as guest code holds one."""
    return issubclass(type(obj), (Facade, OwnModule))


def _guest_names(namespace: dict[str, Any]) -> dict[str, Any]:
    """What guest code may name in its own namespace: neither ``__builtins__`` nor the guards of the compiler."""
    return {name: value for name, value in namespace.items() if str(name).isidentifier() and name != "__builtins__"}


def _library_names() -> dict[str, Any]:
    """What annotations that are not of guest code may name: typing's own forms, besides the builtin types.

    The namespace of a library holds modules and functions that no facade gives, and guest code can write into the
    ``__annotations__`` of a library's function or claim any ``__module__`` for its class.
    """
    forms = {name: getattr(typing, name) for name in typing.__all__}
    return {name: value for name, value in forms.items() if not isinstance(value, FunctionType)}


_check: Callable[..., Any] = vars(typing)["_type_check"]
"""What typing says of a text's meaning: no ``ClassVar`` but as the hint of an attribute, no instance of a class."""


def _meaning(
    value: Any,
    names: Mapping[str, Any],
    within: frozenset[str] = frozenset(),
    *,
    is_argument: bool = True,
    in_class: bool = False,
) -> Any:
    """Replace text and forward references in an annotation, at any depth.

    `within` are the texts that this one is part of the meaning of: what names itself stays a reference. A text stands
    in brackets or is an argument's hint, or that of an attribute, of a class or of a module. Raises TypeError for what
    may not stand there.
    """
    if value is None:
        return type(None)
    if isinstance(value, typing.ForwardRef):
        is_argument, in_class = value.__forward_is_argument__, value.__forward_is_class__
        if type(home := value.__forward_module__) is str:  # a TypedDict of another module
            names = _names_of_module(home) | dict(names)
        value = value.__forward_arg__
    if isinstance(value, str):
        if value in within:
            return typing.ForwardRef(value)
        found = resolve(value, names)
        if not isinstance(found, (str, typing.ForwardRef)):
            found = _check(
                found,
                "Forward references must evaluate to types.",
                is_argument=is_argument,
                allow_special_forms=in_class,
            )
        return _meaning(found, names, within | {value}, is_argument=is_argument, in_class=in_class)
    arguments = getattr(value, "__args__", None)
    if not isinstance(arguments, tuple) or isinstance(value, type):
        return value
    if typing.get_origin(value) is typing.Literal:
        return value
    known = tuple(
        argument if argument is None or isinstance(argument, (list, tuple)) else _meaning(argument, names, within)
        for argument in arguments
    )
    if type(value) is GenericAlias and value.__unpacked__:
        made: Any = value.__origin__[known]  # type: ignore[index]
        return typing.Unpack[made]
    if known == arguments:
        return value
    if not hasattr(value, "copy_with"):
        origin = typing.get_origin(value)
        if origin is None or isinstance(value, type(int | str)):
            return functools.reduce(operator.or_, known)
        if origin is collections.abc.Callable:
            return origin[list(known[:-1]), known[-1]]
        return origin[known]
    return value.copy_with(known)


def get_type_hints(
    obj: Any,
    globalns: Mapping[str, Any] | None = None,
    localns: Mapping[str, Any] | None = None,
    include_extras: bool = False,
) -> dict[str, Any]:
    """`typing.get_type_hints` that resolves text without running it."""
    if getattr(obj, "__no_type_check__", None):
        return {}
    layers: list[Any]
    if isinstance(obj, type):
        layers = [base for base in reversed(obj.__mro__) if base is not object]
    else:
        layers = [obj]
    hints: dict[str, Any] = {}
    is_module = isinstance(obj, MODULES)
    for layer in layers:
        if is_module:
            found = names_of(obj).get("__annotations__") if _is_shown(obj) else None
        elif isinstance(layer, type):
            found = vars(layer).get("__annotations__")
        else:
            found = getattr(layer, "__annotations__", None)
        if found is None or isinstance(found, GetSetDescriptorType):
            if is_module or callable(layer):
                continue
            raise TypeError(f"{obj!r} is not a module, class, method, or function.")
        names = _names_of(layer, globalns, localns)
        if isinstance(layer, type) and globalns is None and localns is None:
            names |= _names_around(layer)  # CPython asks the module first, then the class
        for name, value in dict(found).items():
            hints[name] = _meaning(value, names, is_argument=not is_module, in_class=isinstance(layer, type))
    return hints if include_extras else {name: _without_extras(value) for name, value in hints.items()}


def no_type_check(arg: Any) -> Any:
    """`typing.no_type_check`: of a class also its functions and the classes that it has."""
    if isinstance(arg, type):
        for value in list(dict_of(arg).values()):
            inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if not isinstance(inner, type | FunctionType) or inner.__module__ != arg.__module__:
                continue
            if inner.__qualname__ == f"{arg.__qualname__}.{inner.__name__}":
                no_type_check(inner)
    arg.__no_type_check__ = True
    return arg


def _without_extras(value: Any) -> Any:
    """Take ``Annotated``, ``Required`` and ``NotRequired`` away, as the real function does."""
    strip: Callable[[Any], Any] = typing._strip_annotations  # type: ignore[attr-defined]
    return strip(value)


def get_annotations(
    obj: Any,
    *,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    eval_str: bool = False,
) -> dict[str, Any]:
    """`inspect.get_annotations`; with `eval_str`, text is resolved without running it."""
    found = inspect.get_annotations(obj)
    if not eval_str:
        return found
    names = _names_of(obj, globals, locals)
    return {name: resolve(value, names) if isinstance(value, str) else value for name, value in found.items()}


def signature(
    obj: Any,
    *,
    follow_wrapped: bool = True,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    eval_str: bool = False,
) -> inspect.Signature:
    """`inspect.signature`; with `eval_str`, text is resolved without running it."""
    found = inspect.signature(obj, follow_wrapped=follow_wrapped)
    if not eval_str:
        return found
    names = _names_of(obj, globals, locals)

    def known(value: Any) -> Any:
        return resolve(value, names) if isinstance(value, str) else value

    parameters = [item.replace(annotation=known(item.annotation)) for item in found.parameters.values()]
    return found.replace(parameters=parameters, return_annotation=known(found.return_annotation))


_bases_of: Callable[[type], tuple[type, ...]] = type.__dict__["__bases__"].__get__
_GUARDED_SLOTS = frozenset({"__getattribute__", "__setattr__", "__delattr__"})
_PREDICATES = [value for name, value in vars(inspect).items() if name.startswith("is")]
"""Those of inspect itself look at the type alone and keep nothing."""


def getmembers(object: Any, predicate: Callable[[Any], Any] | None = None) -> list[tuple[str, Any]]:
    """`inspect.getmembers` without the members that may not be read."""
    members = []
    alone: dict[str, Any] = {}
    inherited: list[str] = []
    if isinstance(object, type):
        alone = {name: value for cls in reversed(mro_of(object)) for name, value in _of_instances(cls)}
        inherited = [name for base in _bases_of(object) for name, _ in _of_instances(base)]
    names = dir(object)
    for place, name in enumerate([*names, *inherited]):
        try:
            if place >= len(names) and name in names:
                raise AttributeError(name)
            value = checked_getattr(object, name)
        except AttributeError:
            if name not in alone:
                continue
            value = alone[name]
        # A guard is a function; the slot of a class of Python's own that it stands for is none.
        harmless = name in _GUARDED_SLOTS and any(predicate is known for known in _PREDICATES)
        judged = getattr(object, name) if harmless else value
        if predicate is None or predicate(judged):
            members.append((name, value))
    return sorted(members, key=lambda member: member[0])


def _of_instances(cls: type) -> list[tuple[str, Any]]:
    """What instances have and the class itself has not: the ``name`` and ``value`` of an Enum."""
    return [item for item in dict_of(cls).items() if isinstance(item[1], DynamicClassAttribute)]


def unwrap(func: Any, *, stop: Callable[[Any], Any] | None = None) -> Any:
    """`inspect.unwrap`, as far as `__wrapped__` may be read: not to the originals of a library."""
    seen = [func]
    while (stop is None or not stop(func)) and (found := checked_getattr(func, "__wrapped__", _NONE)) is not _NONE:
        func = found
        if any(func is one for one in seen) or len(seen) >= sys.getrecursionlimit():
            raise ValueError(f"wrapper loop when unwrapping {seen[0]!r}")
        seen.append(func)
    return func


def ismodule(object: Any) -> bool:
    """`inspect.ismodule`, which takes a facade for a module."""
    return isinstance(object, MODULES)


REPLACEMENTS: dict[str, Any] = {
    "inspect.ismodule": ismodule,
    "typing.get_type_hints": get_type_hints,
    "typing.no_type_check": no_type_check,
    "typing_extensions.no_type_check": no_type_check,
    "typing_extensions.get_type_hints": get_type_hints,
    "inspect.get_annotations": get_annotations,
    "inspect.getmembers": getmembers,
    "inspect.signature": signature,
    "inspect.unwrap": unwrap,
}
