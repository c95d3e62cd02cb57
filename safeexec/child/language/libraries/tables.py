"""Libraries of tables, pandas and narwhals: which objects they take for theirs, and what they put into classes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, Final

from safeexec.child.language.libraries.patching import change, put, replace_everywhere
from safeexec.facades.layout import very_dict
from safeexec.identity import class_name, dict_of, exact, identity, mro_of

_type = type


def guard() -> None:
    put("narwhals._compliant.expr", "hasattr", lambda: _is_of_narwhals)
    change("narwhals._utils", _close_protocols)
    change("narwhals.translate", _check_tables)
    put("pandas.core.accessor", "setattr", _setattr_of_accessors)
    change("pandas._libs.ops_dispatch", _check_functions)


_NATIVE: Final = {"pandas": ("DataFrame", "Index", "Series"), "pyarrow": ("ChunkedArray", "Table")}
"""Libraries → their classes that narwhals makes its objects of."""


_OF_ANYBODY: Final = frozenset({"__arrow_c_array__", "__arrow_c_stream__", "__dataframe__"})
"""Protocols that narwhals asks for and that tell the object nothing."""


def _is_of_narwhals(value: Any, name: str = "") -> bool:
    """Whether narwhals itself has made an object. It stands for `hasattr` there, too: what has a method that narwhals
    is to call (``__narwhals_series__``) is told a version of it, which has modules for attributes.
    """
    kind = _type(value)
    home: Any = dict_of(kind).get("__module__")
    if _type(home) is not str or home.partition(".")[0] != "narwhals" or home not in sys.modules:
        return False
    return vars(sys.modules[home]).get(class_name(kind)) is kind and (not name or hasattr(value, name))


def _close_protocols(utils: Any) -> None:
    real = utils._hasattr_static

    def _hasattr_static(obj: Any, attr: str) -> bool:
        return bool(real(obj, attr)) and (attr in _OF_ANYBODY or _is_of_narwhals(obj))

    replace_everywhere({identity(real): _hasattr_static}, "narwhals")


def _check_tables(translate: Any) -> None:
    """What narwhals makes its objects of, for plotly and sklearn: tables and columns of a library, whatever the class
    of another object says it is. What a program has written by the protocol of tables becomes a table of pandas first.
    """
    real = translate._from_native_impl

    def _from_native_impl(native_object: Any, *, pass_through: bool = False, **options: Any) -> Any:
        if not _is_native(native_object) and not _is_of_narwhals(native_object):
            if not (options.get("eager_or_interchange_only") and hasattr(_type(native_object), "__dataframe__")):
                if pass_through:
                    return native_object
                raise TypeError(f"Unsupported dataframe type, got: {_type(native_object)}")
            native_object = importlib.import_module("pandas").api.interchange.from_dataframe(native_object)
        return real(native_object, pass_through=pass_through, **options)

    replace_everywhere({identity(real): _from_native_impl}, "narwhals")


def _is_native(value: Any) -> bool:
    loaded = [library for library in _NATIVE if library in sys.modules]
    kinds = [vars(sys.modules[library]).get(name) for library in loaded for name in _NATIVE[library]]
    return any(cls is kind for cls in mro_of(_type(value)) for kind in kinds)


def _check_functions(dispatch: Any) -> None:
    """Compiled code calls the method that is named after a function of numpy: after nothing else."""
    real = dispatch.maybe_dispatch_ufunc_to_dunder_op

    def maybe_dispatch_ufunc_to_dunder_op(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if _type(ufunc) is not vars(sys.modules["numpy"])["ufunc"]:
            return NotImplemented
        return real(self, ufunc, method, *inputs, **options)

    dispatch.maybe_dispatch_ufunc_to_dunder_op = maybe_dispatch_ufunc_to_dunder_op
    replace_everywhere({identity(real): maybe_dispatch_ufunc_to_dunder_op}, "pandas")


def _setattr_of_accessors() -> Callable[[type, str, Any], None]:
    """What `pandas.api.extensions.register_…_accessor` puts an accessor into a class of pandas with: it is a new name,
    or that of an accessor which the program has registered before.
    """
    registered: set[tuple[type, str]] = set()

    def setattr(target: type, name: Any, accessor: Any) -> None:
        name = exact(name)
        known = any(name in dict_of(cls) for cls in mro_of(target))
        if _type(name) is str and (name[:2] == "__" or (known and (target, name) not in registered)):
            raise AttributeError(
                f"the accessor {name!r} is refused: {target.__name__} has this name already", name=name
            )
        with very_dict(target) as space:  # who stores is asked no more
            space[name] = accessor
        registered.add((target, name))

    return setattr
