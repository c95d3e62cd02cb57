"""What `inspect` shows of a function: its defaults, and the members of an object."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial, reduce
from types import BuiltinFunctionType, CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

from safeexec.child.language.libraries.patching import change, put
from safeexec.child.language.program import leads_away
from safeexec.compiler.rules import Rules
from safeexec.facades.access import name_access
from safeexec.facades.build import facade, imported
from safeexec.facades.replacements.annotations import getmembers
from safeexec.facades.replacements.checked import checked_getattr
from safeexec.facades.sealed import names_of
from safeexec.facades.tables import table
from safeexec.identity import class_name, dict_of, dict_of_module

_getattr, _type = getattr, type


def guard(rules: Rules, given: dict[str, Any]) -> None:
    """`given` are the builtins of the program."""
    put("inspect", "eval", partial(_named, rules))
    put("inspect", "getmembers", lambda: getmembers)
    change("inspect", _show_defaults, rules, given)


def _named(rules: Rules) -> Callable[..., Any]:
    """`eval` where `inspect` means the default of a parameter in text (``sys.maxsize``): what the program may name."""

    def evaluate(text: str, space: dict[str, Any]) -> Any:
        module, *path = text.split(".")
        try:
            return reduce(checked_getattr, path, facade(module, rules.plan))
        except ImportError:
            raise NameError(f"name {module!r} is not defined", name=module) from None

    return evaluate


_signature_of: Final[Callable[..., Any]] = vars(inspect)["_signature_from_function"]


def _show_defaults(inspect: Any, rules: Rules, given: dict[str, Any]) -> None:
    """A signature has the defaults of a function, which are the real modules and functions that a library has kept for
    when the interpreter ends. What shows a function in any way (`getfullargspec`, `getcallargs`, a class of signatures
    of the program's) begins with the function that is changed here.
    """

    def _signature_from_function(cls: Any, func: Any, *arguments: Any, **options: Any) -> Any:
        return _signature_of(cls, _with_shown_defaults(func, rules, given), *arguments, **options)

    inspect._signature_from_function = _signature_from_function


def _with_shown_defaults(function: Any, rules: Rules, given: dict[str, Any]) -> Any:
    """A function, or one like it whose defaults a program may have. What stands for a function could answer with others
    when it is asked again: that is always copied.
    """
    positional, keyword = function.__defaults__, function.__kwdefaults__
    values = (*(positional or ()), *(keyword or {}).values())
    if _type(function) is FunctionType and not any(_is_withheld(value, rules, given) for value in values):
        return function
    code = function.__code__
    cells = tuple(CellType() for _ in code.co_freevars)
    made = FunctionType(code, {}, function.__name__, None, cells)
    if positional:
        made.__defaults__ = tuple(_shown(value, rules, given) for value in positional)
    if keyword:
        made.__kwdefaults__ = {name: _shown(value, rules, given) for name, value in keyword.items()}
    made.__annotations__ = function.__annotations__ or {}
    return made


class Withheld:
    """Stands for a default that no program may have."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}>"


def _shown(value: Any, rules: Rules, given: dict[str, Any]) -> Any:
    return Withheld(_getattr(value, "__name__", _type(value).__name__)) if _is_withheld(value, rules, given) else value


def _is_withheld(value: Any, rules: Rules, given: dict[str, Any]) -> bool:
    """Tell a module, code, a frame, and a function or class that no import gives the program, or another in its place.
    `given` are its builtins. No facade is made for it: it may be a module half imported that wants a signature.
    """
    if leads_away(value) or any(value is kind for kind in (CellType, CodeType, FrameType)):
        return True
    kind = _type(value)
    if kind in (dict, list, tuple):
        return any(map(leads_away, value.values() if kind is dict else value))
    is_function = kind is BuiltinFunctionType and issubclass(_type(value.__self__), ModuleType)
    if is_function:
        home: Any = dict_of_module(value.__self__).get("__name__")
        is_given = given.get(value.__name__) is value
        if is_given or home == "builtins":  # `open` is of `_io`
            return not is_given
    elif kind is FunctionType:
        home = value.__globals__.get("__name__")
    elif issubclass(kind, type):
        home = dict_of(value).get("__module__")
    else:
        return False
    if _type(home) is not str:
        return False
    home = "os" if home == "posix" else home.lstrip("_")
    name = class_name(value) if issubclass(kind, type) else value.__name__
    reviewed = table(home)
    if reviewed is not None and (name in reviewed.allowed or name in reviewed.refused):
        if name in reviewed.replaced:
            made = imported(rules.plan).get(home)
            return made is None or names_of(made).get(name) is not value
        return not name_access(home, name, rules.plan).allowed
    return is_function and home.partition(".")[0] in _OF_PYTHON  # what has no table, as `_socket`


_OF_PYTHON: Final = frozenset(name.lstrip("_") for name in sys.stdlib_module_names)
