"""What a library may find by a text that a program has given it: attributes, modules, templates, cached objects.

``rolling(win_type="__builtins__")``, ``BaseEstimator.get_params`` of a function with parameter names of the program's
choice, ``savefig(backend="module://os")``: a library calls `getattr` or `import_module` with a name that the compiler
has never seen. In the modules that do so (`sites.READERS`, found from their source) `getattr` is a guarded one. A name
that the library itself spells, in the function that asks or in its callers, is read as ever. Any other name is judged
as in the program's own `getattr`, and so is the value that comes back. Where another library's module is asked, its
facade answers: ``agg("load")`` is the `load` of the facade of numpy.

``tqdm(bar_format="{bar.__init__.__globals__}")`` is the same: in the functions that format by a template of the
program's (`sites.FORMATTERS`), what `str.format` gives is what the program's own code is given.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
import textwrap
import typing
import warnings
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cache, partial, reduce
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Final, NoReturn

from safeexec.child.language.guards import constants, exact, is_of_program, leads_away, makes_bases, refusal, wraps
from safeexec.child.language.on_import import after_import
from safeexec.child.language.sites import FORMATTERS, OF_ITS_KIND, READERS
from safeexec.compiler import names
from safeexec.compiler.rules import PLAIN, REFUSED, Rules
from safeexec.facades.access import name_access
from safeexec.facades.build import facade, imported
from safeexec.facades.replacements.annotations import get_type_hints, getmembers
from safeexec.facades.replacements.attributes import attrgetter, check_states, methodcaller
from safeexec.facades.replacements.guards import checked_getattr, checked_setattr, checked_vars
from safeexec.facades.sealed import Facade, make_no_more, names_of, note_bases, sealed, very_dict, write_to_class
from safeexec.facades.tables import refusals, table
from safeexec.identity import dict_of, dict_of_module, identity, mro_of, name_of

_getattr, _setattr, _delattr, _type = getattr, setattr, delattr, type

IMPORTERS: Final = {
    "matplotlib.backend_bases": ("matplotlib.",),
    "matplotlib.backends.registry": ("matplotlib.backends.",),
    "matplotlib.colors": ("matplotlib.", "__main__"),
    "matplotlib.pyplot": ("matplotlib.",),
    "_plotly_utils.basevalidators": ("plotly.graph_objs", "PIL"),
    "pandas.plotting._core": ("pandas.plotting._matplotlib",),
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


def guard_reads(rules: Rules, given: dict[str, Any]) -> None:
    """Put the guards into the modules of libraries, now or when each is imported. `given` are the builtins of the
    program.
    """
    known: set[str] = set()
    setter, deleter = _library_setters(rules)
    for module in READERS:
        _put(module, "getattr", partial(library_getattr, module, rules, known))
        _put(module, "setattr", lambda: setter)
        _put(module, "delattr", lambda: deleter)
    for module, prefixes in IMPORTERS.items():
        name = "importlib" if module.startswith(("matplotlib", "pandas")) else "import_module"
        _put(module, name, partial(_importer, name, module, prefixes))
    for module, library in _STORED.items():
        _put(module, "import_module", partial(_stored, library, rules))
    for module in ("matplotlib.style", "matplotlib.style.core"):  # the newer releases and the older ones
        _change(module, _open_packages)
    _hold()
    for place in OF_ITS_KIND:
        module, _, name = place.partition(":")
        _change(module, _for_its_kind, name)
    for place, other in _OF_OTHERS.items():
        module, _, name = place.partition(":")
        _change(module, _for_its_kind, name, *other)

    # Of the standard library
    for module in ("argparse", "matplotlib.colors", "sklearn.utils._array_api"):
        _put(module, "vars", lambda: checked_vars)
    _change("copy", check_states)
    _change("dataclasses", _keep_code)
    _change("enum", _check_members, rules)
    _put("functools", "set", lambda: _Identities)
    _change("functools", _check_cached_property)
    _change("functools", _check_partialmethod)
    _change("codecs", _check_streams)
    _put("inspect", "eval", partial(_named, rules))
    _put("inspect", "getmembers", lambda: getmembers)
    _change("inspect", _show_defaults, rules, given)
    _change("io", _copy_buffers)
    _change("_decimal", _keep_context)
    _change("linecache", _keep_lines)
    _change("mimetypes", lambda mimetypes: mimetypes.knownfiles.clear())  # no files of the machine
    _change("operator", _close_getters)
    _change("sqlite3", _close_databases)
    _change("tarfile", _close_streams)
    _put("traceback", "__import__", lambda: sys.modules.__getitem__)  # which looks for the name of an ImportError
    _put("typing", "get_type_hints", lambda: get_type_hints)  # what `functools.singledispatch` of a library asks
    _change("typing", _keep_typing)
    _change("typing_extensions", _keep_extensions)
    for module in ("typing", "typing_extensions"):
        _change(module, note_bases)
    _change("warnings", _drop_sources)
    _change("safeexec.facades.replacements.loops", lambda loops: loops.close_bases())

    # Of other libraries
    _change("bs4.css", _close_selectors)
    for module in ("mpmath.ctx_fp", "mpmath.ctx_iv", "mpmath.ctx_mp", "mpmath.ctx_mp_python"):
        _put(module, "function_docs", partial(_texts, "mpmath.function_docs"))
    _put("narwhals._compliant.expr", "hasattr", lambda: _is_of_narwhals)
    _change("narwhals._utils", _close_protocols)
    _change("narwhals.translate", _check_tables)
    _change("networkx.utils.backends", _check_dispatchable)
    _change("networkx.utils.misc", _check_random)
    _change("numpy.lib._user_array_impl", _check_container)
    _change("openpyxl.descriptors", _check_descriptors)
    _put("pandas.core.accessor", "setattr", _setattr_of_accessors)
    _change("pandas.io.formats.style", _close_styler)
    _put("_plotly_utils.basevalidators", "eval", lambda: _validator)
    _change("plotly.express.trendline_functions", _drop_results)
    _change("plotly.graph_objs._layout", _drop_module)
    _change("scipy._lib._bunch", _check_bunches)
    _change("scipy.integrate._quadrature", _keep_statistics)
    _put("sklearn.utils.validation", "joblib", lambda: SimpleNamespace(Memory=_no_memory))
    _put("statsmodels.iolib.smpickle", "load_pickle", lambda: _refused_pickle)
    _put("statsmodels.iolib.smpickle", "save_pickle", lambda: _refused_pickle)
    if "formulaic" not in rules.plan.imports:  # the other reader of formulas that statsmodels would ask
        sys.modules.setdefault("formulaic", None)  # type: ignore[arg-type]
    _put("sympy.core.core", "setattr", lambda: _setattr_of_registry)
    _change("yaml.constructor", _check_yaml_objects)
    _change("yaml.representer", _check_yaml_states)
    _change("zipfile", _show_paths)
    for place in FORMATTERS:
        _change(place.partition(":")[0], _check_formats, place)


def _put(module: str, name: str, make: Callable[[], Any]) -> None:
    """Once a module is loaded: let its own `name` be what `make` gives."""
    _change(module, lambda loaded: loaded.__dict__.update({name: make()}))


def _change(module: str, change: Callable[..., object], *arguments: object) -> None:
    """Once a module is loaded: call `change` with it and the arguments."""
    after_import(module, lambda: change(sys.modules[module], *arguments))


_OF_OTHERS: Final = {
    "pprint:PrettyPrinter._pprint_simplenamespace": (1, "types", "SimpleNamespace"),
    "statsmodels.base.model:GenericLikelihoodModelResults.__init__": (2, "statsmodels.base.model", "Results"),
    "statsmodels.discrete.discrete_model:DiscreteResults.__init__": (2, "statsmodels.base.model", "Results"),
}
"""Methods that do what those in `sites.OF_ITS_KIND` do, with an argument → its position, and its class."""


def _for_its_kind(module: ModuleType, method: str, position: int = 0, home: str = "", kind: str = "") -> None:
    """Let a method be called with an instance of its class, or of another one, alone. It is a function:
    ``Namespace._get_kwargs(type)`` would give the descriptors that are in the dict of `type`.
    """
    name, _, attribute = method.partition(".")
    cls = vars(module).get(name)
    if cls is None or attribute not in dict_of(cls):  # in another version of the library
        return

    def wanted() -> type:
        found: type = vars(importlib.import_module(home))[kind] if home else cls
        return found

    write_to_class(cls, attribute, _with_its_kind(dict_of(cls)[attribute], method, position, cache(wanted)))


def _with_its_kind(real: Any, method: str, position: int, wanted: Callable[[], type]) -> Callable[..., Any]:
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
            write_to_class(made, name, _with_its_kind(dict_of(made)[name], method, 0, lambda: made))

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


def _check_yaml_objects(constructor: Any) -> None:
    """An object of the program's class is what its ``__new__`` gives."""

    def construct_yaml_object(self: Any, node: Any, cls: Any) -> Any:
        data = cls.__new__(cls)
        yield data
        if hasattr(data, "__setstate__"):
            data.__setstate__(self.construct_mapping(node, deep=True))
        else:
            for name, value in self.construct_mapping(node).items():
                checked_setattr(data, name, value)

    constructor.SafeConstructor.construct_yaml_object = construct_yaml_object


def _check_dispatchable(backends: Any) -> None:
    """What networkx gives to other backends takes over the dict of the function that it is for: of a class, too."""
    cls = backends._dispatchable
    make = cls.__new__

    def __new__(cls: Any, func: Any = None, **options: Any) -> Any:
        if func is not None and _type(func) is not FunctionType:
            raise TypeError("_dispatchable is for a function")
        return make(cls, func, **options)

    write_to_class(cls, "__new__", staticmethod(__new__))


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
    return vars(sys.modules[home]).get(name_of(kind)) is kind and (not name or hasattr(value, name))


def _close_protocols(utils: Any) -> None:
    real = utils._hasattr_static

    def _hasattr_static(obj: Any, attr: str) -> bool:
        return bool(real(obj, attr)) and (attr in _OF_ANYBODY or _is_of_narwhals(obj))

    _replace({identity(real): _hasattr_static}, "narwhals")


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

    _replace({identity(real): _from_native_impl}, "narwhals")


def _is_native(value: Any) -> bool:
    loaded = [library for library in _NATIVE if library in sys.modules]
    kinds = [vars(sys.modules[library]).get(name) for library in loaded for name in _NATIVE[library]]
    return any(cls is kind for cls in mro_of(_type(value)) for kind in kinds)


def _check_random(misc: Any) -> None:
    """It has the state of whatever it is made with."""
    numbers = misc.PythonRandomViaNumpyBits
    write_to_class(numbers, "getstate", lambda self: checked_getattr(self._rng, "__getstate__")())


def _texts(module: str) -> SimpleNamespace:
    """The texts of a module, by their names: mpmath looks there for what a function of the program is called."""
    return SimpleNamespace(**{name: text for name, text in vars(sys.modules[module]).items() if _type(text) is str})


class _Identities:
    """`set` of `functools`. `singledispatch` looks for each class below `object` among those that a class says it is
    derived from: a metaclass would be asked whether they are equal.
    """

    __slots__ = ("_items", "_known")

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = tuple(items)
        self._known = frozenset(map(identity, self._items))

    def __contains__(self, item: Any) -> bool:
        return identity(item) in self._known


def _check_cached_property(functools: ModuleType) -> None:
    """`cached_property` reads and writes the dict of whatever it is asked of: `type` has one, too."""

    def __get__(self: Any, instance: Any, owner: Any = None) -> Any:
        name = self.attrname
        if instance is None:
            return self
        if _type(name) is not str:
            raise TypeError("Cannot use cached_property instance without calling __set_name__ on it.")
        kind = _type(instance)
        if dict_of(kind).get(name) is not self and all(dict_of(cls).get(name) is not self for cls in mro_of(kind)):
            raise TypeError("a cached_property is for the objects of a class that has it")
        try:
            cache = instance.__dict__
        except AttributeError:
            raise TypeError(
                f"No '__dict__' attribute on {kind.__name__!r} instance to cache {name!r} property."
            ) from None
        if name in cache:
            return checked_getattr(instance, name)
        value = self.func(instance)
        try:
            cache[name] = value
        except TypeError:
            what = f"The '__dict__' attribute on {kind.__name__!r} instance"
            raise TypeError(f"{what} does not support item assignment for caching {name!r} property.") from None
        return value

    write_to_class(vars(functools)["cached_property"], "__get__", __get__)


def _keep_lines(linecache: ModuleType) -> None:
    """Let the lines that tracebacks show be those of files and of modules that are loaded. A frame that a program makes
    up has a loader of its own, which would say what is in the file of a library, and a name that is equal to any other.
    """
    for name in ("checkcache", "getlines", "lazycache", "updatecache"):
        vars(linecache)[name] = _of_files(vars(linecache)[name])


def _of_files(real: Callable[..., Any]) -> Callable[..., Any]:
    def asked(filename: Any = None, *spaces: Any) -> Any:
        if filename is not None:
            filename = exact(filename) if issubclass(_type(filename), str) else ""
        return real(filename, *(space if _is_loaded(space) else None for space in spaces))

    return asked


def _is_loaded(space: Any) -> bool:
    """Whether this is the namespace of a module that is loaded under the name that it says."""
    name: Any = space.get("__name__") if _type(space) is dict else None
    return _type(name) is str and _getattr(sys.modules.get(name), "__dict__", None) is space


def _check_partialmethod(functools: ModuleType) -> None:
    """A `partialmethod` keeps the ``__self__`` of what it makes a `partial` of: of a builtin that is `builtins`, of a
    guard its function.
    """
    real = vars(functools.partialmethod)["__get__"]

    def __get__(self: Any, obj: Any, cls: Any = None) -> Any:
        made = real(self, obj, cls)
        if _type(made) is functools.partial and _type(made.func) is not MethodType:
            vars(made).pop("__self__", None)
        return made

    write_to_class(functools.partialmethod, "__get__", __get__)


def _close_getters(operator: ModuleType) -> None:
    """Libraries keep an `attrgetter` where a program finds it (``PurePath.drive.fget``), and its class makes one of any
    name. So libraries have those that a program has, and the ones in C are made no more.
    """
    pairs = [(vars(operator)[ours.__name__], ours) for ours in (attrgetter, methodcaller)]
    _replace({identity(real): ours for real, ours in pairs if real is not ours})
    for real, ours in pairs:
        if real is not ours:
            make_no_more(real)


class _Copied:
    """A raw stream as buffered streams have it: a copy of their memory is what it reads into and writes."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        return _getattr(self.raw, name)

    def readinto(self, buffer: memoryview) -> Any:
        data = bytearray(len(buffer))
        count = self.raw.readinto(memoryview(data))
        buffer[:] = data
        return count

    def write(self, data: memoryview) -> Any:
        return self.raw.write(memoryview(bytes(data)))


def _copy_buffers(io: Any) -> None:
    """The C code of a buffered stream lends its memory to the raw stream, which may keep it: beyond the buffered stream
    it would read and write memory that is in use for something else.
    """
    keep_nothing = (vars(io)["FileIO"], io.BytesIO, _Copied)

    def copied(raw: Any) -> Any:
        return raw if any(_type(raw) is kind for kind in keep_nothing) else _Copied(raw)

    def given(raw: Any) -> Any:
        return raw.raw if _type(raw) is _Copied else raw

    def change(cls: type, initialize: Any, release: Any, read: Any) -> None:
        def __init__(self: Any, raw: Any, buffer_size: int = io.DEFAULT_BUFFER_SIZE) -> None:
            initialize(self, copied(raw), buffer_size)

        def detach(self: Any) -> Any:
            return given(release(self))

        for method in (__init__, detach):
            method.__qualname__, method.__annotations__ = f"{cls.__name__}.{method.__name__}", {}
            write_to_class(cls, method.__name__, method)
        write_to_class(cls, "raw", property(lambda self: given(read(self))))

    for cls in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom):
        held = dict_of(cls)
        if _type(held["__init__"]) is not FunctionType:  # else it does already
            change(cls, held["__init__"], held["detach"], held["raw"].__get__)


def _keep_context(decimal: Any) -> None:
    """The context of `decimal` is a variable that ``contextvars.copy_context()`` gives to anybody, and its C code takes
    whatever is there for one.
    """
    store, context = vars(ContextVar)["set"], decimal.Context

    def set(self: Any, value: Any, /) -> Any:
        if self.name == "decimal_context" and not issubclass(_type(value), context):
            raise TypeError("the context of decimal must be a decimal.Context")
        return store(self, value)

    with very_dict(ContextVar) as space:
        space["set"] = set


def _check_streams(codecs: ModuleType) -> None:
    """A stream of `codecs` answers for another with the `getattr` that is a default of its method."""
    for name in ("StreamReader", "StreamReaderWriter", "StreamRecoder", "StreamWriter"):
        vars(vars(codecs)[name])["__getattr__"].__defaults__ = (vars(codecs)["getattr"],)


def _check_container(home: Any) -> None:
    """A container of numpy answers for whatever it is made to contain."""
    container = home.container

    def __getattr__(self: Any, attr: str) -> Any:
        return checked_getattr(object.__getattribute__(self, "array"), attr)

    write_to_class(container, "__getattr__", __getattr__)


def _drop_sources(warnings: Any) -> None:
    """A warning about what was not closed has it: a socket, a file of the class that opens any."""
    real = warnings.WarningMessage.__init__

    def __init__(
        self: Any,
        message: Any,
        category: Any,
        filename: Any,
        lineno: Any,
        file: Any = None,
        line: Any = None,
        source: Any = None,
    ) -> None:
        real(self, message, category, filename, lineno, file, line)

    write_to_class(warnings.WarningMessage, "__init__", __init__)


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


def _check_members(enum: ModuleType, rules: Rules) -> None:
    """A member of an enum looks for its name in the dicts of the classes that are said to be above it."""
    member, kind = vars(enum)["_proto_member"], vars(enum)["EnumType"]
    real = vars(member)["__set_name__"]

    def __set_name__(self: Any, enum_class: Any, member_name: Any) -> None:
        meta = _type(enum_class)
        if not issubclass(meta, kind) or any("__mro__" in dict_of(cls) for cls in mro_of(meta) if cls is not type):
            raise TypeError("members are those of an enum")
        if _type(member_name) is not str or rules.attribute(member_name) == REFUSED or member_name[:2] == "__":
            raise ValueError(f"invalid name of a member: {member_name!r}")
        real(self, enum_class, member_name)

    write_to_class(member, "__set_name__", __set_name__)


def _keep_code(dataclasses: ModuleType) -> None:
    """From 3.12 on a table of `asdict` has the type of code, which makes code of bytes: a metaclass compares its class
    with what is there.
    """
    if types := vars(dataclasses).get("_ATOMIC_TYPES"):
        vars(dataclasses)["_ATOMIC_TYPES"] = types - {CodeType}


_METHODS: Final = (FunctionType, MethodDescriptorType)
_ASKS_IF_CALLABLE: Final = ("runtime_checkable", "_ProtocolMeta.__init__.<locals>.<genexpr>")
"""Of `typing`, about the members of a protocol: the one from 3.12.2 on, the other before."""


def _is_asked_if_callable(frame: FrameType) -> bool:
    return frame.f_code.co_qualname in _ASKS_IF_CALLABLE and not is_of_program(frame)


def library_getattr(module: str, rules: Rules, known: set[str]) -> Callable[..., Any]:
    """The `getattr` of a library's module. `known` holds plain names that were read before."""
    own = module.partition(".")[0]

    def getattr(value: Any, name: Any, *default: Any) -> Any:
        if _type(name) is not str or not (name in known or is_plain(name)):
            if name != "__dict__" and _is_spelled(name):  # that of a class has what `type` itself would not give
                found = _getattr(value, name, *default)
                # An enum compares its methods with those of `object`: an object of the program would be asked with them
                return found if own != "enum" or name != "__reduce_ex__" or _type(found) in _METHODS else object()
            if module == "typing" and _is_asked_if_callable(sys._getframe(1)):
                return _getattr(value, name, *default)  # 3.12: it asks whether a member can be called, and drops it
            if name == "__dict__" and _is_open(value, found := _getattr(value, name, *default)):
                return found  # what every `wraps` asks for
            if _type(name) is str and rules.attribute(name) == REFUSED:
                raise refusal(rules, "attribute", name, AttributeError)  # a default of the library's would hide why
            return checked_getattr(value, name, *default)
        if _type(value) is ModuleType and not _is_spelled(name):
            value = as_given(value)
        found = _getattr(value, name, *default)
        if leads_away(found) and not _is_spelled(name):
            raise refusal(rules, "attribute", name, AttributeError)
        return found

    def as_given(read: ModuleType) -> Any:
        """The facade of a module of another library; the module where the program has none."""
        name = read.__name__
        if name.partition(".")[0] == own:  # it may be half imported
            return read
        try:
            return facade(name, rules.plan)
        except ImportError:
            return read

    def is_plain(name: str) -> bool:
        if rules.attribute(name) != PLAIN:
            return False
        known.add(name)
        return True

    return getattr


def _library_setters(rules: Rules) -> tuple[Callable[[Any, Any, Any], None], Callable[[Any, Any], None]]:
    """`setattr` and `delattr` of a library, which may have been told the name, and of what."""

    def is_told(target: Any, name: Any) -> bool:
        """Whether the rules have something to say. Of a class they have it where it is stored (`sealed`), but for
        ``__module__``, which tells a class of the program from those of libraries.
        """
        is_class = issubclass(_type(target), type)
        if _type(name) is not str or (is_class and name == "__module__"):
            return True
        verdict = rules.attribute(name)
        return not (verdict == PLAIN or (is_class and verdict != REFUSED) or _is_spelled(name, 3))

    def setattr(target: Any, name: Any, value: Any) -> None:
        if is_told(target, name):
            checked_setattr(target, name, value)
        else:
            _setattr(target, name, value)

    def delattr(target: Any, name: Any) -> None:
        if is_told(target, name):
            raise refusal(rules, "attribute", exact(name), AttributeError)
        _delattr(target, name)

    return setattr, delattr


def _is_open(value: Any, found: Any) -> bool:
    """Whether a ``__dict__`` has nothing that the program may not read."""
    return (
        _type(found) is dict
        and not makes_bases(found)
        and not wraps(value, found)
        and names.OWN_ONLY.isdisjoint(found)
        and not any(map(leads_away, (found, *found.values())))
    )


def _is_spelled(name: Any, depth: int = 2) -> bool:
    """Whether the function of a library that asks for this name spells it, or one of the same library that has called
    it: of another function's names the program chooses. It also says what its own module is called.
    """
    frame: FrameType | None = sys._getframe(depth)
    own = _library_of(frame)
    while frame is not None and not is_of_program(frame) and _library_of(frame) == own:
        if name in set(constants(frame.f_code)):
            return True
        frame = frame.f_back
    return False


def _library_of(frame: FrameType | None) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0] if frame is not None else ""


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
    name = name_of(value) if issubclass(kind, type) else value.__name__
    reviewed = table(home)
    if reviewed is not None and (name in reviewed.allowed or name in reviewed.refused):
        if name in reviewed.replaced:
            made = imported(rules.plan).get(home)
            return made is None or names_of(made).get(name) is not value
        return not name_access(home, name, rules.plan).allowed
    return is_function and home.partition(".")[0] in _OF_PYTHON  # what has no table, as `_socket`


_OF_PYTHON: Final = frozenset(name.lstrip("_") for name in sys.stdlib_module_names)


def _importer(name: str, module: str, prefixes: tuple[str, ...]) -> Any:
    def import_module(wanted: str, package: str | None = None) -> Any:
        if _type(wanted) is not str or not wanted.startswith(prefixes):
            raise ImportError(f"import of {wanted} is refused: no library imports what a program names", name=wanted)
        return importlib.import_module(wanted, package)

    if module.startswith("_plotly"):
        return import_module
    if name == "import_module":  # that of sympy, which answers None for what is not installed
        from sympy.external import import_module as real

        return lambda wanted, **options: import_module(wanted) and real(wanted, **options)
    return SimpleNamespace(import_module=import_module, reload=_refused_reload)


def _open_packages(style: ModuleType) -> None:
    """``style.use("package.name")`` looks in a package, which `files` would import: here it is one that is loaded."""
    real: Any = vars(style).get("importlib")
    if real is None:  # what gives the older names to others
        return

    def files(package: str) -> Any:
        if package not in sys.modules:
            raise ModuleNotFoundError(f"no module named {package!r} is loaded", name=package)
        return real.resources.files(package)

    vars(style)["importlib"] = SimpleNamespace(resources=SimpleNamespace(files=files))


def _validator(name: str) -> Any:
    """`eval` where plotly means a class of its validators: text in other letters (NFKC) would be any code."""
    space = vars(sys.modules["_plotly_utils.basevalidators"])
    found = space.get(name)
    if not (isinstance(found, type) and issubclass(found, space["BaseValidator"])):
        raise NameError(f"name {name!r} is not defined", name=name)
    return found


@cache
def _replaced_of_numpy() -> frozenset[str]:
    reviewed = table("numpy")
    return refusals("numpy") | (reviewed.replaced if reviewed is not None else frozenset())


def _hold() -> None:
    """Let namespaces stand for the modules in `HELD`, now or when each is imported."""
    made: dict[int, Any] = {}
    for name in reversed(HELD):  # what is in a package comes before it
        if module := sys.modules.get(name):
            made[identity(module)] = _namespace(module, made)
        else:
            _change(name, lambda module: _namespace(module, {}))
    if made:
        _replace(made, "scipy", "sklearn")


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


def _replace(made: dict[int, Any], *libraries: str) -> None:
    """Let the modules of these libraries, or all of them, have what was made for an object, by its identity."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and (not libraries or name.partition(".")[0] in libraries):
            space = vars(module)
            if not made.keys().isdisjoint(map(identity, space.values())):
                space.update({key: made[identity(item)] for key, item in space.items() if identity(item) in made})


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


def _close_streams(tarfile: ModuleType) -> None:
    """A stream of `tarfile` keeps `zlib` as an attribute: let it be a namespace of a few names instead."""
    stream = vars(tarfile)["_Stream"]
    made = vars(stream)["__init__"]

    def import_names(name: str, *rest: Any) -> Any:
        found = __import__(name, *rest)
        return SimpleNamespace(**{item: vars(found)[item] for item in _OF_ZLIB}) if name == "zlib" else found

    space = vars(tarfile) | {"__builtins__": vars(builtins) | {"__import__": import_names}}
    changed = FunctionType(made.__code__, space, made.__name__, made.__defaults__, made.__closure__)
    changed.__kwdefaults__ = made.__kwdefaults__
    write_to_class(stream, "__init__", changed)


_OF_ZLIB: Final = ("DEFLATED", "DEF_MEM_LEVEL", "MAX_WBITS", "compressobj", "crc32", "decompressobj", "error")


def _close_databases(sqlite3: Any) -> None:
    """Keep `fts3_tokenizer` from SQL: a program gives it the address of machine code, as a value of a query."""
    connection, deny, function = sqlite3.Connection, sqlite3.SQLITE_DENY, sqlite3.SQLITE_FUNCTION
    initialize, authorize = connection.__init__, connection.set_authorizer

    def decide_with(own: Any) -> Any:
        def decide(action: int, first: str | None, second: str | None, *where: str | None) -> Any:
            if action == function and str(second).lower() == "fts3_tokenizer":
                return deny
            return 0 if own is None else own(action, first, second, *where)

        return decide

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        initialize(self, *args, **options)
        authorize(self, decide_with(None))

    def set_authorizer(self: Any, authorizer_callback: Any) -> None:
        authorize(self, decide_with(authorizer_callback))

    write_to_class(connection, "__init__", __init__)
    write_to_class(connection, "set_authorizer", set_authorizer)


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


def _setattr_of_registry(target: type, name: str, value: Any) -> None:
    """`sympy.S` keeps its constants in its class, where ``S.__module__ = …`` would be stored as well."""
    if name[:2] == "__":
        raise AttributeError(f"assignment to 'S.{name}' is refused: it would be stored in sympy's class", name=name)
    _setattr(target, name, value)


def _drop_results(trendlines: ModuleType) -> None:
    """`trendline="ols"` without the objects of statsmodels that fitted it: they load pickles and run formulas."""
    space = vars(trendlines)
    fit = space["ols"]
    space["ols"] = lambda *args: (*fit(*args)[:2], None)


def _refused_pickle(*_: object) -> NoReturn:
    raise PermissionError(
        "results of statsmodels are not kept as pickles here, which could run code: keep what you need of them "
        "(results.params.to_csv('params.csv')), and fit again"
    )


def _refused_reload(module: object) -> NoReturn:
    raise ImportError("importlib.reload is refused")


def _no_memory(location: Any = None, **options: Any) -> Any:
    """`joblib.Memory` that keeps nothing: what it reads back is a pickle, which the program can have written."""
    import joblib

    if location is not None:
        warnings.warn("memory= keeps nothing here: a cache on disk is a pickle, which could run code", stacklevel=4)
    return joblib.Memory(location=None, verbose=0)


def _check_formats(home: ModuleType, place: str) -> None:
    """Let a function of a library have the guarded `format`: its code is made anew, in which `format` is asked for as
    the program's own code asks for it.
    """
    space = vars(home)
    classes, _, name = place.partition(":")[2].rpartition(".")
    found = dict_of(space[classes])[name] if classes else space[name]
    function: Any = inspect.unwrap(_getattr(found, "fget", None) or _getattr(found, "__func__", found))
    code = function.__code__
    spec = function.__globals__["__spec__"]  # `linecache` has for any name what a program's loader told `traceback`
    lines = spec.loader.get_source(spec.name).splitlines(keepends=True)[code.co_firstlineno - 1 :]
    tree = ast.parse(textwrap.dedent("".join(inspect.getblock(lines))))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    if classes:  # for names that begin with __
        tree.body = [ast.ClassDef(classes, [], [], [definition], [])]
    ast.increment_lineno(ast.fix_missing_locations(_Formats().visit(tree)), code.co_firstlineno - 1)
    flags = code.co_flags & annotations.compiler_flag
    made = _code_in(compile(tree, code.co_filename, "exec", flags, dont_inherit=True), name)
    function.__code__ = made.replace(co_qualname=code.co_qualname)
    function.__globals__[names.GUARD_ATTRIBUTE] = checked_getattr


class _Formats(ast.NodeTransformer):
    """``x.format`` as ``_getattr_(x, "format")``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr not in ("format", "format_map"):
            return node
        guard = ast.Name(names.GUARD_ATTRIBUTE, ast.Load())
        return ast.copy_location(ast.Call(guard, [node.value, ast.Constant(node.attr)], []), node)


def _code_in(code: CodeType, name: str) -> CodeType:
    """The code of the first function of this name in `code`."""
    inner = [item for item in code.co_consts if isinstance(item, CodeType)]
    return next((item for item in inner if item.co_name == name), None) or _code_in(inner[0], name)


def _keep_statistics(quadrature: Any) -> None:
    """`qmc_quad` keeps the module `scipy.stats` in an attribute of itself: let that be one of something else."""
    real, found = quadrature._qmc_quad_iv, quadrature.qmc_quad
    vars(found).pop("stats", None)
    space = vars(quadrature) | {"qmc_quad": SimpleNamespace()}
    quadrature._qmc_quad_iv = FunctionType(real.__code__, space, real.__name__, real.__defaults__)


def _drop_module(layout: Any) -> None:
    """A class of plotly keeps the module `re`."""
    if "re" in dict_of(layout.Layout):
        del layout.Layout.re


def _show_paths(zipfile: Any) -> None:
    """A path in an archive keeps the template of its `repr` in an attribute."""
    zipfile.Path.__repr__ = lambda self: f"{_type(self).__name__}({self.root.filename!r}, {self.at!r})"


def _close_selectors(css: ModuleType) -> None:
    """`tag.css.api` is the module soupsieve: let it be a namespace of its functions."""
    if isinstance(real := vars(css).get("soupsieve"), ModuleType):
        vars(css)["soupsieve"] = SimpleNamespace(**{name: _getattr(real, name) for name in (*real.__all__, "escape")})


def _check_yaml_states(representer: Any) -> None:
    """What `object.__getstate__` gives holds whatever ``__slotnames__`` lists."""

    def represent_yaml_object(self: Any, tag: Any, data: Any, cls: Any, flow_style: Any = None) -> Any:
        return self.represent_mapping(tag, checked_getattr(data, "__getstate__")(), flow_style=flow_style)

    representer.SafeRepresenter.represent_yaml_object = represent_yaml_object


class _ClosedAttribute:
    """Stands in a class for what guest code may not have."""

    def __init__(self, name: str) -> None:
        self._message = f"{name} is refused: a jinja2 template runs code"

    def __get__(self, instance: object, owner: object = None) -> NoReturn:
        raise AttributeError(self._message)


class _Template:
    """A template of pandas' own: it can be rendered, and leads to no environment."""

    __slots__ = ("globals", "render")

    def __init__(self, real: Any, all_of_them: dict[int, Any]) -> None:
        def render(**names: Any) -> str:
            return str(real.render(**{name: all_of_them.get(id(value), value) for name, value in names.items()}))

        self.globals: dict[str, Any] = real.globals
        self.render = render


def _close_styler(style: Any) -> None:
    """The environment and the loader of `Styler` run any template, and their templates lead to them."""
    renderer: Any = sys.modules["pandas.io.formats.style_render"].StylerRenderer
    real: dict[int, Any] = {}
    for name in [name for name in vars(renderer) if name.startswith("template_") and name != "template_dir"]:
        template = vars(renderer)[name]
        made = _Template(template, real)
        real[id(made)] = template
        _setattr(renderer, name, made)
    for name in ("env", "loader"):
        _setattr(renderer, name, _ClosedAttribute(f"Styler.{name}"))

    def from_custom_template(cls: type, /, *args: object, **options: object) -> NoReturn:
        """Refused."""
        raise PermissionError("Styler.from_custom_template is refused: a jinja2 template runs code")

    style.Styler.from_custom_template = classmethod(from_custom_template)
