"""`dataclasses.dataclass`, which builds source text from names, and types that may be asked about but not called."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any


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

        _check_fields(inspect.get_annotations(cls), cls.__mro__[1:])
        return dataclasses.dataclass(**options)(cls)

    return wrap if cls is None else wrap(cls)


def make_dataclass(cls_name: str, fields: Iterable[Any], *, bases: tuple[type, ...] = (), **options: Any) -> type:
    """`dataclasses.make_dataclass` for fields whose names are identifiers."""
    fields = [field if isinstance(field, str) else tuple(field) for field in fields]
    names = [field if isinstance(field, str) else field[0] for field in fields if field]
    _check_fields([cls_name, *names], [parent for base in bases for parent in getattr(base, "__mro__", ())])
    if sys.version_info >= (3, 12):  # before, the class takes the module of the frame that called, and names "types"
        options.setdefault("module", "__main__")
    return dataclasses.make_dataclass(cls_name, fields, bases=bases, **options)


class _OnlyAsked(type):
    """A type for `isinstance` and `issubclass`: guest code may ask whether an object is one, and cannot make one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _REAL[cls])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _REAL[cls])

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        raise TypeError(f"cannot create {cls.__name__!r} instances")

    def __repr__(cls) -> str:
        return f"<class {cls.__name__!r}>"


_REAL: dict[type, type] = {}


def _only_asked(name: str, real: type) -> type:
    made = _OnlyAsked(name, (), {"__slots__": ()})
    _REAL[made] = real
    return made


_FUNCTION = _only_asked("function", types.FunctionType)

REPLACEMENTS: dict[str, Callable[..., Any]] = {
    "dataclasses.dataclass": dataclass,
    "dataclasses.make_dataclass": make_dataclass,
    "types.FunctionType": _FUNCTION,
    "types.LambdaType": _FUNCTION,
    "types.ModuleType": _only_asked("module", types.ModuleType),
}
