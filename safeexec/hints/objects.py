"""A careful look at objects of guest code: with `type`, class dictionaries and the built-in types' own methods.

No method of a guest's class is called here, no property is read.
"""

from __future__ import annotations

import re
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any

from safeexec.common.identity import class_name, dict_of, dict_of_module, module_of, mro_of, read_getset

MISSING: Any = object()
MAX_NAMES = 3000
CO_VARARGS, CO_VARKEYWORDS, CO_COROUTINE, CO_FUTURE_ANNOTATIONS = 0x04, 0x08, 0x80, 0x1000000
"""Flags of code objects, as `inspect` and `__future__` have them, which are not imported for this."""
_GETSET = type(BaseException.__dict__["__dict__"])
_C_FUNCTIONS: tuple[type, ...] = (type(len), type([].append), type(str.split))
_NOT_NAMES = ("self", "module", "type", "None", "True", "False")


def class_of(obj: Any) -> type:
    """Return `obj` itself if it is a class, else its class."""
    return obj if issubclass(type(obj), type) else type(obj)


def bases_of(obj: Any) -> tuple[type, ...]:
    """Return the classes in which an attribute of `obj` is looked for, the nearest first."""
    bases: tuple[type, ...] = mro_of(class_of(obj))
    return bases


def is_of_guest(obj: Any) -> bool:
    """Return whether the class, or the class of the object, was written by the guest."""
    return bool(module_of(class_of(obj)) == "__main__")


def is_class_of_guest(obj: Any) -> bool:
    """Return whether it is a class that the guest wrote."""
    return issubclass(type(obj), type) and is_of_guest(obj)


def is_of_python(kind: type) -> bool:
    """Return whether the class is one of Python itself or of its standard library."""
    module = module_of(kind)
    top = module.partition(".")[0] if type(module) is str else ""
    return top in sys.stdlib_module_names and not is_of_guest(kind)


def is_module(obj: Any) -> bool:
    """Return whether it is a module."""
    return issubclass(type(obj), ModuleType)


def members_of(kind: type) -> dict[str, Any]:
    """Return what the body of a class defines."""
    return dict(dict_of(kind))


def enum_members(obj: Any) -> list[str]:
    """Return the names of the members, if `obj` is a class made with Enum, or one of its members."""
    names = dict_of(class_of(obj)).get("_member_names_")
    return names if type(names) is list else []


def attribute_of(owner: Any, name: str) -> Any:
    """Return ``owner.name`` of the dictionary of the module, instance or class, without descriptors; or `MISSING`."""
    if owner is MISSING:
        return MISSING
    if is_module(owner):
        return dict_of_module(owner).get(name, MISSING)
    if name in (own := instance_dict(owner)):
        return own[name]
    for base in bases_of(owner):
        if name in (names := dict_of(base)):
            value = names[name]
            return value.__func__ if type(value) in (staticmethod, classmethod) else value
    return MISSING


def instance_dict(obj: Any) -> dict[str, Any]:
    """Return the instance dictionary of `obj`, or an empty one; the ``__dict__`` of a class's own is not called."""
    for base in mro_of(type(obj)):
        if "__dict__" in (names := dict_of(base)):
            found = read_getset(names["__dict__"], obj) if type(names["__dict__"]) is _GETSET else None
            return found if type(found) is dict else {}
    return {}


def attribute_names(obj: Any) -> list[str]:
    """Return the names of a module, or of an instance and its classes, read from their dictionaries."""
    found: dict[Any, None] = {}
    if is_module(obj):
        found.update(dict.fromkeys(dict_of_module(obj)))
        exported: Any = dict_of_module(obj).get("__all__")
        found.update(dict.fromkeys(exported if type(exported) in (list, tuple) else ()))
    else:
        found.update(dict.fromkeys(instance_dict(obj)))
        for base in bases_of(obj):
            found.update(dict.fromkeys(() if base is object else dict_of(base)))
    return [name for name in found if type(name) is str][:MAX_NAMES]


def public_names(obj: Any) -> list[str]:
    """Return the `attribute_names` that do not begin with an underscore."""
    return [name for name in attribute_names(obj) if not name.startswith("_")]


def module_name(module: Any) -> str:
    """Return the name of a module as it says itself, or an empty string."""
    name = dict_of_module(module).get("__name__")
    return name if type(name) is str else ""


_LIBRARY_KINDS = {
    "DataFrame": "pandas",
    "Series": "pandas",
    "Index": "pandas",
    "GroupBy": "pandas",
    "BaseGroupBy": "pandas",
    "Figure": "matplotlib.figure",
    "FigureBase": "matplotlib.figure",
    "Axes": "matplotlib.axes",
    "DatetimeProperties": "pandas",
    "ndarray": "numpy",
    "Generator": "numpy.random",
    "ImageDraw": "PIL.ImageDraw",
}


def library_kind(obj: Any) -> str:
    """Return ``pandas.DataFrame``, ``.Series``, ``.Index``, ``.GroupBy``, ``numpy.ndarray``, ``.Generator``,
    ``matplotlib.Figure`` or ``.Axes``, ``PIL.ImageDraw``; else empty.
    """
    for base in mro_of(type(obj)):
        module, name = module_of(base), class_name(base)
        home = _LIBRARY_KINDS.get(name)
        if home and type(module) is str and f"{module}.".startswith(f"{home}."):
            return f"{home.partition('.')[0]}.{name.removesuffix('Base').removeprefix('Base')}"
    return ""


def library_class(name: str, library: str = "pandas") -> Any:
    """Return a class of pandas or numpy, if that is imported: its methods may be called on objects of exactly this
    class.
    """
    return getattr(sys.modules.get(library), name, MISSING)


def parameters(function: Any) -> list[str]:
    """Return the names of a function's or class's parameters, without ``self``; empty if they are not known."""
    if type(function) is MethodType:
        function = function.__func__
    if issubclass(type(function), type):
        made = attribute_of(function, "__init__")
        made = made if type(made) is FunctionType else attribute_of(function, "__new__")
        function = made if type(made) is FunctionType else function
    if type(function) is FunctionType:
        return _of_code(function)
    signature = getattr(function, "__text_signature__", None) if type(function) in (*_C_FUNCTIONS, type) else None
    if type(signature) is not str and (numpy := sys.modules.get("numpy")):
        if type(function) is type(numpy.linspace):
            return parameters(getattr(function, "_implementation", None))
        if type(function) is type(dict_of(numpy.random.Generator)["integers"]):
            # The signature that the documentation begins with: ``normal(loc=0.0, size=None)``.
            written = re.match(r"\s*\w+(\([^()]*(?:\([^()]*\)[^()]*)*\))", str(function.__doc__))
            signature = written and written[1]
    found = re.findall(r"(?<![\w=.'\"*])([A-Za-z_]\w*)\s*(?=[=,)])", signature if type(signature) is str else "")
    return [name for name in found if name not in _NOT_NAMES]


def _of_code(function: FunctionType) -> list[str]:
    inspect = sys.modules.get("inspect")
    signature: Any = function.__dict__.get("__signature__")  # which a tool of the host has
    if inspect is not None and type(signature) is inspect.Signature:
        every = signature.parameters.values()
        return [one.name for one in every if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    wrapped, code = function.__dict__.get("__wrapped__"), function.__code__
    if type(wrapped) is FunctionType and code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return parameters(wrapped)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [name for name in names if name not in ("self", "cls", "_cls")]
