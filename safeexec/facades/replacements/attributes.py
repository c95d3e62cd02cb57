"""What reads or sets attributes by computed names: operator, functools, string.Formatter, copy, ast.iter_fields."""

from __future__ import annotations

import functools
import string
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any

from safeexec.facades.program import own
from safeexec.facades.replacements.checked import (
    Lazy,
    check_name,
    checked_getattr,
    checked_setattr,
    leads_away,
    readable_state,
)
from safeexec.identity import module_of


class attrgetter:
    """`operator.attrgetter` through the checked getattr."""

    __slots__ = ("_paths",)

    def __init__(self, attr: str, /, *attrs: str) -> None:
        paths = []
        for name in (attr, *attrs):
            if type(name) is not str:
                raise TypeError("attribute name must be a string")
            paths.append(tuple(name.split(".")))
        self._paths = tuple(paths)

    def __call__(self, obj: Any, /) -> Any:
        values = tuple(functools.reduce(checked_getattr, path, obj) for path in self._paths)
        return values[0] if len(values) == 1 else values

    def __repr__(self) -> str:
        return f"operator.attrgetter({', '.join(repr('.'.join(path)) for path in self._paths)})"


class methodcaller:
    """`operator.methodcaller` through the checked getattr."""

    __slots__ = ("_arguments", "_keywords", "_name")

    def __init__(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        if type(name) is not str:
            raise TypeError("method name must be a string")
        self._name, self._arguments, self._keywords = name, args, kwargs

    def __call__(self, obj: Any, /) -> Any:
        return checked_getattr(obj, self._name)(*self._arguments, **self._keywords)

    def __repr__(self) -> str:
        shown = [repr(self._name), *map(repr, self._arguments)]
        shown += [f"{key}={value!r}" for key, value in self._keywords.items()]
        return f"operator.methodcaller({', '.join(shown)})"


def _checked_names(names: Iterable[str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """The names as a tuple of exact str; one that is not among the usual ones must be one that is not refused."""
    names = tuple(names)
    for name in names:
        if type(name) is not str or name not in usual:
            check_name(name)
    return names


def update_wrapper(
    wrapper: Any,
    wrapped: Any,
    assigned: Iterable[str] = functools.WRAPPER_ASSIGNMENTS,
    updated: Iterable[str] = functools.WRAPPER_UPDATES,
) -> Any:
    """`functools.update_wrapper` for names that may be read."""
    assigned = _checked_names(assigned, functools.WRAPPER_ASSIGNMENTS)
    updated = _checked_names(updated, functools.WRAPPER_UPDATES)
    return functools.update_wrapper(wrapper, wrapped, assigned, updated)


def wraps(
    wrapped: Any,
    assigned: Iterable[str] = functools.WRAPPER_ASSIGNMENTS,
    updated: Iterable[str] = functools.WRAPPER_UPDATES,
) -> Callable[[Any], Any]:
    """`functools.wraps` for names that may be read."""
    return functools.partial(update_wrapper, wrapped=wrapped, assigned=assigned, updated=updated)


_NOT_IN_FIELDS = frozenset({"__mro__", "__bases__", "__base__"})
"""Allowed in code, where one sees them. In a template they serve only who walks from a value to its classes."""


class Formatter:
    """`string.Formatter` whose fields walk attributes under the rules. Not a subclass: see the package's docstring."""

    format: Any = string.Formatter.format
    vformat: Any = string.Formatter.vformat
    _vformat: Any = string.Formatter._vformat
    check_unused_args: Any = string.Formatter.check_unused_args
    convert_field: Any = string.Formatter.convert_field
    format_field: Any = string.Formatter.format_field
    get_value: Any = string.Formatter.get_value
    parse: Any = string.Formatter.parse

    def get_field(self, field_name: str, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
        """The object that a replacement field names, and the argument it starts from."""
        import _string  # type: ignore[import-not-found]

        first, rest = _string.formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            if not is_attribute:
                value = value[key]
            elif key in _NOT_IN_FIELDS:
                raise AttributeError(f"{key!r} is refused in a format field; read it in code")
            else:
                value = checked_getattr(value, key)
        return value, first


def iter_fields(node: Any) -> Iterator[tuple[str, Any]]:
    """`ast.iter_fields`: the fields that ``node._fields`` names, read under the rules."""
    for field in node._fields:
        try:
            yield field, checked_getattr(node, field)
        except AttributeError:
            continue


def load_again(name: str) -> ModuleType:
    """A module of the standard library once more, beside the one that is imported."""
    from importlib.util import module_from_spec

    # Not by the loader that it came with: a session may have no files any more, and find its modules elsewhere.
    spec = next(spec for finder in sys.meta_path if (spec := finder.find_spec(name, None)) is not None)
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def copy_module() -> ModuleType:
    """The copy module once more, under the rules: `copy._reconstruct` sets what ``__reduce_ex__`` names."""
    module = load_again("copy")
    vars(module)["setattr"] = checked_setattr
    check_states(module)
    return module


def check_states(copy: ModuleType) -> None:
    """Let this copy module show a program what it may read, and nothing else.

    A `__setstate__` takes the state; the memo of a deep copy has it, and may say what stands for each argument of what
    makes the copy: that of a method of a value is `getattr`. An object of a library says by its attributes what makes
    its copy, and of what: an alias of `typing` an item of any global of `typing`. A metaclass compares its class with
    those in the tables.
    """
    space = vars(copy)
    real = space["_reconstruct"]
    if real.__module__ != "copy":  # it does already
        return

    def _reconstruct(x: Any, memo: Any, func: Any, args: Any, state: Any = None, *rest: Any, **options: Any) -> Any:
        if func is getattr:
            func = checked_getattr

        def judged(part: Any) -> Any:
            if leads_away(part):
                raise TypeError(f"cannot copy {type(x).__name__!r} object: its parts lead out of the program")
            return part

        def make(*arguments: Any) -> Any:
            made = judged(func(*arguments))
            home = module_of(type(x))
            # An iterator of Python's makes one of a list.
            if type(home) is str and home != "builtins" and own(home) is None and not issubclass(type(made), type(x)):
                # What makes it was found by attributes of the object, which a program may have written.
                raise TypeError(f"cannot copy {type(x).__name__!r} object: what is made is no such object")
            if "__mro_entries__" in getattr(made, "__dict__", ()):  # the state would go into it
                raise TypeError("what makes classes is not made by a copy")
            return made

        if state is not None:
            state = readable_state(x, state)
        return real(x, memo, make, tuple(map(judged, args)), state, *rest, **options)

    space["_reconstruct"] = _reconstruct
    for table in ("_copy_dispatch", "_deepcopy_dispatch"):
        space[table].pop(CodeType, None)
        space[table][typing.ForwardRef] = lambda reference, _memo=None: reference  # it holds code, and never changes


REPLACEMENTS: dict[str, Any] = {
    "operator.attrgetter": attrgetter,
    "operator.methodcaller": methodcaller,
    "functools.update_wrapper": update_wrapper,
    "functools.wraps": wraps,
    "string.Formatter": Formatter,
    "ast.iter_fields": iter_fields,
    "copy.Error": Lazy(lambda: copy_module().Error),
    "copy.error": Lazy(lambda: copy_module().error),
    "copy.copy": Lazy(lambda: copy_module().copy),
    "copy.deepcopy": Lazy(lambda: copy_module().deepcopy),
    "copy.replace": Lazy(lambda: getattr(copy_module(), "replace", None)),
}
