"""The modules that a library imports for a program, or keeps where a program finds them.

``savefig(backend="module://os")`` is refused: a library imports what it names itself. What a library keeps of another
one, in an attribute of an object, is a namespace or a facade.
"""

from __future__ import annotations

import importlib
import opcode
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn

from safeexec.child.language.libraries.patching import change, put, replace_everywhere
from safeexec.child.language.program import frames_of_library, is_of_program, library_of
from safeexec.child.language.spelling import spelt
from safeexec.compiler.rules import Rules
from safeexec.facades.build import facade
from safeexec.facades.sealed import Facade, sealed
from safeexec.facades.tables import refusals, table
from safeexec.identity import exact, identity

_type = type
_IMPORT: Final = opcode.opmap["IMPORT_NAME"]
"""The instruction of an import statement."""


def guard(rules: Rules) -> None:
    for module, prefixes in IMPORTERS.items():
        name = "importlib" if module.startswith(("matplotlib", "pandas")) else "import_module"
        put(module, name, partial(_importer, name, module, prefixes))
    for module, library in _STORED.items():
        put(module, "import_module", partial(_stored, library, rules))
    for module in ("matplotlib.style", "matplotlib.style.core"):  # the newer releases and the older ones
        change(module, _open_packages)
    change("dateutil._tzdata_impl", _open_zones)
    change("zoneinfo._common", _load_zones)
    put("pickle", "__import__", lambda: _loaded)  # it looks for what a program names in an object
    _hold()
    if "formulaic" not in rules.plan.imports:  # the other reader of formulas that statsmodels would ask
        sys.modules.setdefault("formulaic", None)  # type: ignore[arg-type]


def judge() -> None:
    """Let libraries import what they may: for a process that runs guest code alone."""
    sys.meta_path.insert(0, _Asked())
    change("importlib.metadata", _open_no_entries)


IMPORTERS: Final = {
    "matplotlib.backend_bases": ("matplotlib.",),
    "matplotlib.backends.registry": ("matplotlib.backends.",),
    "matplotlib.colors": ("matplotlib.", "__main__"),
    "matplotlib.pyplot": ("matplotlib.",),
    "_plotly_utils.basevalidators": ("plotly.graph_objs", "PIL"),
    "pandas.plotting._core": ("pandas.plotting._matplotlib",),
    "plotly.data": ("cudf", "modin", "pandas", "polars", "pyarrow"),
    "sympy.stats.rv": ("numpy", "scipy"),
    "sympy.stats.joint_rv": ("numpy", "scipy"),
    "sympy.stats.matrix_distributions": ("numpy", "scipy"),
}
"""Modules that import what a program names → what such a name may begin with."""


_COMPAT: Final = tuple(
    f"{home}.array_api_compat.numpy" for home in ("scipy._lib", "scipy._external", "sklearn.externals")
)


HELD: Final = (
    *(f"{module}{part}" for module in _COMPAT for part in ("", ".linalg", ".fft")),
    "scipy.spatial.transform._rotation_cy",
    "scipy.spatial.transform._rotation_xp",
    "scipy.spatial.transform._rigid_transform_cy",
    "scipy.spatial.transform._rigid_transform_xp",
)
"""Modules that objects of libraries hold (``rotation._xp``), or give to methods that a program may override."""


def _importer(name: str, module: str, prefixes: tuple[str, ...]) -> Any:
    def import_module(wanted: str, package: str | None = None) -> Any:
        if module == "matplotlib.pyplot" and sys._getframe(1).f_code.co_name == "figure":
            raise ImportError("the setting figure.hooks is refused: it has functions of matplotlib called by any name")
        if _type(wanted) is not str or not wanted.startswith(prefixes):
            raise ImportError(f"import of {wanted} is refused: no library imports what a program names", name=wanted)
        return importlib.import_module(wanted, package)

    if module.startswith(("_plotly", "plotly")):
        return import_module
    if name == "import_module":  # that of sympy, which answers None for what is not installed
        from sympy.external import import_module as real

        return lambda wanted, **options: import_module(wanted) and real(wanted, **options)
    return SimpleNamespace(import_module=import_module, reload=_refused_reload)


def _refused_reload(module: object) -> NoReturn:
    raise ImportError("importlib.reload is refused")


def _open_packages(style: ModuleType) -> None:
    """``style.use("package.name")`` looks in a package, which `files` would import: here it is one that is loaded."""
    real: Any = vars(style).get("importlib")
    if real is None:  # what gives the older names to others
        return

    def files(package: str) -> Any:
        if package not in sys.modules:
            raise _not_loaded(package)
        return real.resources.files(package)

    vars(style)["importlib"] = SimpleNamespace(resources=SimpleNamespace(files=files))


class _Asked:
    """Finds no module that a program has named: a library imports its own parts, and what it spells. (``__module__`` of
    an object is such a name, for `pickle` and for what a library has put into `copyreg`.)

    An import statement spells what it asks for, and so does code in C, but for the pickler, which has no frame.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        frame: FrameType | None = sys._getframe(1)
        asked = False
        while frame is not None and library_of(frame) in ("functools", "importlib"):  # it calls by `singledispatch`
            asked = asked or frame.f_globals.get("__name__") == "importlib"  # `import_module`
            frame = frame.f_back
        if frame is None or frame.f_code.co_code[frame.f_lasti] == _IMPORT:
            return
        called = frozenset(frame.f_code.co_names)
        if asked or "__import__" in called:
            if not _imports(frame, name.partition(".")[0]):
                message = f"import of {name} is refused: no library imports what a program names"
                raise ModuleNotFoundError(message, name=name)
        elif not called.isdisjoint(("dump", "dumps")) and name.partition(".")[0] not in sys.modules:
            raise _not_loaded(name)


def _imports(frame: FrameType, package: str) -> bool:
    """Tell whether the function of a frame may import from a package: one of safeexec, of the package itself, or of a
    library that spells it, in this function or in those of its own that have called it.
    """
    own = library_of(frame)
    if is_of_program(frame):
        return False
    if own in ("safeexec", package) or package.startswith(_OF_OTHERS.get(own, ())):
        return True
    asking = (spelt(calling.f_code) for calling in frames_of_library(frame))
    texts = (text for found in asking for text in (*found.elsewhere, *found.asks.values()))
    return any(text.partition(".")[0] == package for text in texts)


_OF_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "_plotly_utils": ("plotly",),
    "six": tuple(sys.stdlib_module_names),
    "sysconfig": ("_sysconfigdata",),
}
"""Libraries that import by names of their own, which they spell elsewhere → how these begin."""


def _open_no_entries(metadata: Any) -> None:
    """What is installed names functions for libraries to load and call: networkx asks for its backends. Here a library
    has what it brings itself.
    """
    vars(metadata)["entry_points"] = lambda **_: metadata.EntryPoints(())


class _Closed:
    """Finds no module in a directory."""

    def find_spec(self, name: str, target: object = None) -> None: ...

    def invalidate_caches(self) -> None: ...


def close_directory(directory: str) -> None:
    """Let no import find modules below a directory: the program's own are compiled under its policy, and found there by
    its own importer. `unittest` and others put a directory where Python looks, and would run them as they are.
    """
    top = os.path.join(os.path.realpath(directory), "")

    def find_nothing(path: Any) -> _Closed:
        if os.path.join(os.path.realpath(os.fsdecode(path)), "").startswith(top):
            return _Closed()
        raise ImportError("another one looks there")

    sys.path_hooks.insert(0, find_nothing)
    sys.path_importer_cache.clear()


def _loaded(name: str, *_: object, **__: object) -> ModuleType:
    try:
        return sys.modules[name]
    except KeyError:
        raise _not_loaded(name) from None


def _not_loaded(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"no module named {name!r} is loaded", name=name)


def _load_zones(common: Any) -> None:
    """``ZoneInfo(key)`` looks below a package of zones, which it makes of the key."""
    real = common.load_tzdata
    common.load_tzdata = lambda key: real(exact(key))


def _open_zones(impl: ModuleType) -> None:
    """``gettz(name)`` looks below a package of zones, which it makes of the name."""
    real: Any = vars(impl)["importlib"]

    def files(package: str) -> Any:
        if type(package) is not str or not f"{package}.".startswith("tzdata.zoneinfo."):
            raise ModuleNotFoundError(f"no zones are in {package!s}", name="tzdata")
        return real.resources.files(package)

    vars(impl)["importlib"] = SimpleNamespace(resources=SimpleNamespace(files=files))


def _hold() -> None:
    """Let namespaces stand for the modules in `HELD`, now or when each is imported."""
    made: dict[int, Any] = {}
    for name in reversed(HELD):  # what is in a package comes before it
        if module := sys.modules.get(name):
            made[identity(module)] = _namespace(module, made)
        else:
            change(name, lambda module: _namespace(module, {}))
    if made:
        replace_everywhere(made, "scipy", "sklearn")


def _namespace(module: ModuleType, others: dict[int, Any]) -> Facade:
    """What stands for a module in `HELD`: there is no dict to hand over or to write into, no module that is not one of
    `others`, and no function that the facade of numpy replaces.
    """
    names = vars(module).keys() - _replaced_of_numpy()
    held = {name: others.get(identity(value), value) for name, value in vars(module).items() if name in names}
    values = {
        name: value
        for name, value in held.items()
        if _type(value) not in (ModuleType, dict, list) and (name[:2] != "__" or name in _OF_ARRAYS)
    }
    made: Facade = sealed(module.__name__, {**values, "__deepcopy__": lambda memo: made})
    sys.modules[module.__name__] = made  # type: ignore[assignment]  # what an import gives
    return made


_OF_ARRAYS: Final = frozenset({"__array_api_version__", "__array_namespace_info__", "__version__"})


@cache
def _replaced_of_numpy() -> frozenset[str]:
    reviewed = table("numpy")
    return refusals("numpy") | (reviewed.replaced if reviewed is not None else frozenset())


_STORED: Final = {
    "sympy.plotting.backends.matplotlibbackend.matplotlib": "matplotlib",
    "sympy.plotting.plotgrid": "matplotlib",
    "sympy.plotting.experimental_lambdify": "numpy",
}
"""Modules of sympy that keep another library in an object → which. A class of the program that is derived from theirs
is given what they store, by its `__setattr__`, a slot or a descriptor: that is the facade.
"""


def _stored(library: str, rules: Rules) -> Callable[..., Any]:
    from sympy.external import import_module as real

    def import_module(module: str, **options: Any) -> Any:
        found = real(module, **options)
        return facade(module, rules.plan) if found is not None and module == library else found

    return import_module
