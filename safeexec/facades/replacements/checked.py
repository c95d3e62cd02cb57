"""The checked reads and writes of the replacements: strict ones, until the child puts its own in."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

_FRAMES = ("gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_")
_MISSING = object()


class Lazy:
    """Makes a replacement when its module is first asked for: what needs an import of its own."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> Any:
        return self._make()


def _check(name: object) -> str:
    if type(name) is not str:
        raise TypeError("attribute name must be a str")
    if name.startswith("__") or name.startswith(_FRAMES) or name in ("format", "format_map", "mro"):
        raise AttributeError(f"access to the attribute {name!r} is refused")
    return name


def _strict_getattr(value: Any, name: str, default: Any = _MISSING) -> Any:
    _check(name)
    return builtins.getattr(value, name) if default is _MISSING else builtins.getattr(value, name, default)


def _strict_setattr(value: Any, name: str, new: Any) -> None:
    builtins.setattr(value, _check(name), new)


def _strict_vars(value: Any) -> Any:
    if isinstance(value, (type, ModuleType)):
        raise TypeError("vars() of a class is refused")
    return builtins.vars(value)


def _strict_state(value: Any, state: Any) -> Any:
    return state


def _is_module(value: Any) -> bool:
    return isinstance(value, ModuleType)


_away: Callable[[Any], bool] = _is_module
_getattr: Callable[..., Any] = _strict_getattr
_name: Callable[[str], object] = _check
_guarded: frozenset[str] = frozenset()
_setattr: Callable[[Any, str, Any], None] = _strict_setattr
_state: Callable[[Any, Any], Any] = _strict_state
_vars: Callable[..., Any] = _strict_vars


def set_guards(
    *,
    getattr: Callable[..., Any],
    setattr: Callable[[Any, str, Any], None],
    state: Callable[[Any, Any], Any],
    vars: Callable[..., Any],
    name: Callable[[str], object],
    guarded: frozenset[str],
    away: Callable[[Any], bool],
) -> None:
    """Use these instead of the strict ones. Called with the builtins of each module of the program."""
    global _getattr, _setattr, _state, _vars, _name, _guarded, _away
    _getattr, _setattr, _state, _vars = getattr, setattr, state, vars
    _name, _guarded, _away = name, guarded, away


def check_name(name: Any) -> None:
    """Raise AttributeError for the name of an attribute that is refused, TypeError for what is no exact str."""
    if type(name) is not str:
        raise TypeError("attribute name must be a str")
    _name(name)


def is_guarded(name: str) -> bool:
    """Tell a name that is judged by the object which has it."""
    return name in _guarded


def checked_getattr(value: Any, name: str, *default: Any) -> Any:
    """`getattr` by the rules of the language. A refused name is the default, if there is one, or AttributeError."""
    return _getattr(value, name, *default)


def checked_setattr(value: Any, name: str, new: Any) -> None:
    """`setattr` under the language layer's rules."""
    _setattr(value, name, new)


def checked_vars(value: Any) -> Any:
    """`vars` of an object under the language layer's rules."""
    return _vars(value)


def readable_state(value: Any, state: Any) -> Any:
    """What the program may see of the state of `value`, where its own methods are given it."""
    return _state(value, state)


def leads_away(value: Any) -> bool:
    """Tell what never comes to a program: a module that is no facade, the namespace of one, a frame, a code object."""
    return _away(value)
