"""Objects of `typing` and of `typing_extensions`: all modules share them, and nobody changes them."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn

from safeexec.child.language.libraries.patching import change, put
from safeexec.facades.layout import write_to_class
from safeexec.facades.replacements.annotations import get_type_hints
from safeexec.facades.sealing import note_bases
from safeexec.identity import dict_of


def guard() -> None:
    put("typing", "get_type_hints", lambda: get_type_hints)  # what `functools.singledispatch` of a library asks
    put("typing", "compile", lambda: _without_code)
    change("typing", _keep_typing)
    change("typing_extensions", _keep_extensions)
    for module in ("typing", "typing_extensions"):
        change(module, note_bases)


def _without_code(source: str, *options: Any) -> None:
    """What a forward reference makes of its text, and stores in any object that is given for it: here it is checked to
    be an expression, and `get_type_hints` compiles it when it is needed.
    """
    compile(source, *options)


def _keep_typing(typing: Any) -> None:
    """`typing.Mapping` and `typing.Optional` are asked for what is in their brackets by all modules, also by those that
    are imported late: typing sets each of their attributes once, and nobody else does. (msgspec notes there, once, what
    it knows of a union, and looks at what it finds.)
    """
    alias, form = typing._BaseGenericAlias, typing._SpecialForm
    dict_of_alias = vars(alias)["__dict__"].__get__
    loading = vars(sys.modules["_frozen_importlib"])
    listed = vars(alias)["__dir__"]

    def keep(self: Any, name: str, *_: object) -> NoReturn:
        raise AttributeError(f"assignment to {name!r} is refused: objects of typing are read-only", name=name)

    def __setattr__(self: Any, name: str, value: object) -> None:
        homes = (vars(typing), vars(sys.modules.get("typing_extensions", typing)))
        space = sys._getframe(1).f_globals
        may = name == "__msgspec_cache__" or any(space is home for home in homes)
        # What stands above the code of an extension that is loaded: pandas names an alias that it has just made.
        if space is not loading and (name in dict_of_alias(self) or not may):
            keep(self, name)
        object.__setattr__(self, name, value)

    write_to_class(alias, "__setattr__", __setattr__)
    write_to_class(alias, "__delattr__", keep)
    write_to_class(alias, "__dir__", lambda self: list({*listed(self), *dict_of_alias(self)}))
    for kind in [kind for kind in vars(typing).values() if isinstance(kind, type) and issubclass(kind, alias)]:
        if "__dict__" in dict_of(kind):
            write_to_class(kind, "__dict__", property(lambda self: MappingProxyType(dict_of_alias(self))))
    for name in form.__slots__:
        write_to_class(form, name, _set_once(vars(form)[name], partial(keep, name=name)))


def _keep_extensions(extensions: ModuleType) -> None:
    """Some aliases of `typing_extensions` have a way to store of their own, which ends in that of `object`."""
    alias = vars(typing)["_BaseGenericAlias"]
    for kind in vars(extensions).values():
        if isinstance(kind, type) and issubclass(kind, alias) and "__setattr__" in dict_of(kind):
            write_to_class(kind, "__setattr__", dict_of(alias)["__setattr__"])


def _set_once(slot: Any, keep: Callable[[Any], NoReturn]) -> property:
    def set_once(self: Any, value: object) -> None:
        try:
            slot.__get__(self)
        except AttributeError:
            slot.__set__(self, value)
        else:
            keep(self)

    return property(slot.__get__, set_once)
