"""Libraries of numbers, from mpmath to sympy: what single classes and functions of theirs read, keep or load."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any, NoReturn

from safeexec.child.language.libraries.patching import change, put
from safeexec.facades.layout import write_to_class
from safeexec.facades.replacements.checked import checked_getattr

_setattr, _type = setattr, type


def guard() -> None:
    for module in ("mpmath.ctx_fp", "mpmath.ctx_iv", "mpmath.ctx_mp", "mpmath.ctx_mp_python"):
        put(module, "function_docs", partial(_texts, "mpmath.function_docs"))
    change("networkx.utils.backends", _check_dispatchable)
    change("networkx.utils.misc", _check_random)
    change("numpy.lib._user_array_impl", _check_container)
    change("scipy.integrate._quadrature", _keep_statistics)
    put("sklearn.utils.validation", "joblib", lambda: SimpleNamespace(Memory=_no_memory))
    put("statsmodels.iolib.smpickle", "load_pickle", lambda: _refused_pickle)
    put("statsmodels.iolib.smpickle", "save_pickle", lambda: _refused_pickle)
    put("sympy.core.core", "setattr", lambda: _setattr_of_registry)


def _texts(module: str) -> SimpleNamespace:
    """The texts of a module, by their names: mpmath looks there for what a function of the program is called."""
    return SimpleNamespace(**{name: text for name, text in vars(sys.modules[module]).items() if _type(text) is str})


def _check_dispatchable(backends: Any) -> None:
    """What networkx gives to other backends takes over the dict of the function that it is for: of a class, too."""
    cls = backends._dispatchable
    make = cls.__new__

    def __new__(cls: Any, func: Any = None, **options: Any) -> Any:
        if func is not None and _type(func) is not FunctionType:
            raise TypeError("_dispatchable is for a function")
        return make(cls, func, **options)

    write_to_class(cls, "__new__", staticmethod(__new__))


def _check_random(misc: Any) -> None:
    """It has the state of whatever it is made with."""
    numbers = misc.PythonRandomViaNumpyBits
    write_to_class(numbers, "getstate", lambda self: checked_getattr(self._rng, "__getstate__")())


def _check_container(home: Any) -> None:
    """A container of numpy answers for whatever it is made to contain."""
    container = home.container

    def __getattr__(self: Any, attr: str) -> Any:
        return checked_getattr(object.__getattribute__(self, "array"), attr)

    write_to_class(container, "__getattr__", __getattr__)


def _keep_statistics(quadrature: Any) -> None:
    """`qmc_quad` keeps the module `scipy.stats` in an attribute of itself: let that be one of something else."""
    real, found = quadrature._qmc_quad_iv, quadrature.qmc_quad
    vars(found).pop("stats", None)
    space = vars(quadrature) | {"qmc_quad": SimpleNamespace()}
    quadrature._qmc_quad_iv = FunctionType(real.__code__, space, real.__name__, real.__defaults__)


def _no_memory(location: Any = None, **options: Any) -> Any:
    """`joblib.Memory` that keeps nothing: what it reads back is a pickle, which the program can have written."""
    import joblib

    if location is not None:
        warnings.warn("memory= keeps nothing here: a cache on disk is a pickle, which could run code", stacklevel=4)
    return joblib.Memory(location=None, verbose=0)


def _refused_pickle(*_: object) -> NoReturn:
    raise PermissionError(
        "results of statsmodels are not kept as pickles here, which could run code: keep what you need of them "
        "(results.params.to_csv('params.csv')), and fit again"
    )


def _setattr_of_registry(target: type, name: str, value: Any) -> None:
    """`sympy.S` keeps its constants in its class, where ``S.__module__ = …`` would be stored as well."""
    if name[:2] == "__":
        raise AttributeError(f"assignment to 'S.{name}' is refused: it would be stored in sympy's class", name=name)
    _setattr(target, name, value)
