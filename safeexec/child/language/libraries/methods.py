"""Methods that lead away from a program, and those that read or write the whole ``__dict__`` of their object.

Each of the latter is a function that takes any object: ``Namespace._get_kwargs(type)`` would give the descriptors that
are in the dict of `type`. Those in `sites.OF_ITS_KIND` and here are for the objects of one class alone.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache
from types import GetSetDescriptorType, ModuleType
from typing import Any, Final

from safeexec.child.language.libraries.patching import change
from safeexec.child.language.libraries.sites import OF_ITS_KIND
from safeexec.facades.judged import judge_methods
from safeexec.facades.layout import write_to_class
from safeexec.identity import dict_of, mro_of

_type = type


def guard() -> None:
    for place in OF_ITS_KIND:
        module, _, name = place.partition(":")
        change(module, _for_its_kind, name)
    for place, other in _OF_OTHERS.items():
        module, _, name = place.partition(":")
        change(module, _for_its_kind, name, *other)
    change("openpyxl.descriptors", _check_descriptors)
    change("scipy._lib._bunch", _check_bunches)


def judge() -> None:
    """Let methods that lead away from a program ask who wants them: a library that is told a name would read them."""
    for place, methods in _JUDGED.items():
        module, _, name = place.partition(":")
        change(module, lambda loaded, name=name, methods=methods: judge_methods(vars(loaded)[name], methods))


_JUDGED: Final = {
    "_asyncio:Task": ("get_stack", "print_stack"),
    "_sqlite3:Connection": ("enable_load_extension", "load_extension", "setconfig"),
    "enum:EnumType": ("_convert_",),
    "inspect:Signature": ("from_callable",),
    "typing:ForwardRef": ("_evaluate",),
}
"""Modules and their classes → methods that give frames, run text or machine code, or write into any module."""
_OF_OTHERS: Final = {
    "pprint:PrettyPrinter._pprint_simplenamespace": (1, "types", "SimpleNamespace"),
    "statsmodels.base.model:GenericLikelihoodModelResults.__init__": (2, "statsmodels.base.model", "Results"),
    "statsmodels.discrete.discrete_model:DiscreteResults.__init__": (2, "statsmodels.base.model", "Results"),
}
"""Methods that do what those in `sites.OF_ITS_KIND` do, with an argument → its position, and its class."""


def _for_its_kind(module: ModuleType, method: str, position: int = 0, home: str = "", kind: str = "") -> None:
    """Let a method be called with an instance of its class, or of another one, alone."""
    name, _, attribute = method.partition(".")
    cls = vars(module).get(name)
    if cls is None or attribute not in dict_of(cls):  # in another version of the library
        return

    def wanted() -> type:
        found: type = vars(importlib.import_module(home))[kind] if home else cls
        return found

    write_to_class(cls, attribute, with_its_kind(dict_of(cls)[attribute], method, position, cache(wanted)))


def with_its_kind(real: Any, method: str, position: int, wanted: Callable[[], type]) -> Callable[..., Any]:
    def of_its_kind(*arguments: Any, **options: Any) -> Any:
        kind = wanted()
        given = _type(arguments[position]) if len(arguments) > position else object
        if given is not kind:  # what a metaclass says of its classes does not count
            spaces = [dict_of(cls) for cls in mro_of(given)]
            dicts = [space["__dict__"] for space in spaces if "__dict__" in space]
            is_kind = any(cls is kind for cls in mro_of(given))
            if not is_kind or any(_type(found) is not GetSetDescriptorType for found in dicts):
                raise TypeError(f"{method}() is for a {kind.__name__!r} object")
        return real(*arguments, **options)

    of_its_kind.__name__, of_its_kind.__qualname__ = method.rpartition(".")[2], method
    of_its_kind.__module__, of_its_kind.__doc__ = real.__module__, real.__doc__
    return of_its_kind


def _check_bunches(bunch: Any) -> None:
    """The methods of each class that is made there: like those in `sites.OF_ITS_KIND`."""
    real = bunch._make_tuple_bunch

    def _make_tuple_bunch(
        typename: str, field_names: Any, extra_field_names: Any = None, module: str | None = None
    ) -> Any:
        made = real(typename, field_names, extra_field_names, module or sys._getframe(1).f_globals["__name__"])
        check(made)
        return made

    def check(made: type) -> None:
        for name in ("__init__", "__setattr__", "_asdict", "__getnewargs_ex__"):
            method = f"{made.__name__}.{name}"
            write_to_class(made, name, with_its_kind(dict_of(made)[name], method, 0, lambda: made))

    bunch._make_tuple_bunch = _make_tuple_bunch
    for known in type.__subclasses__(tuple):
        if "_extra_fields" in dict_of(known):  # it was loaded before the guards
            check(known)


def _check_descriptors(descriptors: Any) -> None:
    """A descriptor of openpyxl stores by the name that it has been told in whatever it is told to."""
    kinds = (descriptors.MetaStrict, descriptors.MetaSerialisable)

    def check(cls: type) -> None:
        real = dict_of(cls)["__set__"]

        def __set__(self: Any, instance: Any, value: Any) -> None:
            if not issubclass(_type(_type(instance)), kinds):
                raise TypeError("a descriptor of openpyxl is for an object of openpyxl")
            real(self, instance, value)

        write_to_class(cls, "__set__", __set__)

    check(descriptors.Descriptor)
    check(descriptors.sequence.MultiSequencePart)
