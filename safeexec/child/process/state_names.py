"""What a saved state may name: an exact list. A pickle is a program, and what it names is all that it can do.

Three kinds of names are on the list: those that guest code has anyway (what a facade of the policy holds, under the
module and name that the object says are its own), the builtins of the policy, and `INTERNALS`: the functions and
classes that the objects of libraries are put together with. No name is a path: ``Field.__repr__.__globals__`` is not.
"""

from __future__ import annotations

import builtins
import pickle
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from safeexec.compiler.names import UNASSIGNABLE
from safeexec.compiler.rules import PLAIN, rules_of
from safeexec.facades.access import module_access
from safeexec.facades.build import RefusedImport, facade
from safeexec.facades.sealed import MODULES
from safeexec.protocol.plan import LanguagePlan

INTERNALS: Final[dict[str, str]] = {
    "_codecs": "encode",
    "_collections": "_tuplegetter",
    "_functools": "reduce",
    "_operator": "getitem or_",
    "_random": "Random",
    "_thread": "get_ident",
    "array": "_array_reconstructor",
    "cloudpickle.cloudpickle": (
        "_builtin_type _class_setstate _get_dataclass_field_type_sentinel _make_cell _make_dict_items "
        "_make_dict_keys _make_dict_values _make_empty_cell _make_skeleton_class _make_skeleton_enum "
        "_make_typevar "
    ),
    "collections": "_tuplegetter",
    "contextlib": "_AsyncGeneratorContextManager _GeneratorContextManager",
    "copyreg": "__newobj__ __newobj_ex__ _reconstructor",
    "dataclasses": "_DataclassParams _HAS_DEFAULT_FACTORY_CLASS _MISSING_TYPE",
    "enum": "Enum.__new__",
    "matplotlib.artist": "_stale_axes_callback",
    "matplotlib.axes._axes": "Axes._remove_legend",
    "matplotlib.axes._base": "_AxesBase._unit_change_handler",
    "matplotlib.backend_bases": "_key_handler _mouse_handler",
    "matplotlib.cbook": "_exception_printer",
    "matplotlib.colorbar": (
        "Colorbar._cbar_cla Colorbar._get_view Colorbar._set_view Colorbar._set_view_from_bbox "
        "Colorbar.drag_pan _remove_cbar_axes "
    ),
    "matplotlib.colors": "_create_empty_object_of_class",
    "matplotlib.figure": "Figure.pick FigureBase.delaxes",
    "matplotlib.legend": "Legend._findoffset",
    "matplotlib.markers": (
        "MarkerStyle._set_circle MarkerStyle._set_nothing MarkerStyle._set_tickdown MarkerStyle._set_tickleft "
        "MarkerStyle._set_tickright MarkerStyle._set_tickup "
    ),
    "matplotlib.patches": "BoxStyle.Round",
    "matplotlib.transforms": (
        "Affine2DBase.inverted Affine2DBase.transform_affine AffineBase.get_affine AffineBase.transform "
        "AffineBase.transform_non_affine AffineBase.transform_path AffineBase.transform_path_affine "
        "AffineBase.transform_path_non_affine BlendedAffine2D.get_matrix BlendedGenericTransform.get_affine "
        "BlendedGenericTransform.inverted BlendedGenericTransform.transform_non_affine "
        "CompositeGenericTransform.get_affine CompositeGenericTransform.inverted "
        "CompositeGenericTransform.transform_affine CompositeGenericTransform.transform_non_affine "
        "CompositeGenericTransform.transform_path_non_affine Transform.get_matrix Transform.transform "
        "Transform.transform_affine Transform.transform_path Transform.transform_path_affine "
        "Transform.transform_path_non_affine "
    ),
    "mpl_toolkits.mplot3d.axes3d": "Axes3D._button_press Axes3D._button_release Axes3D._on_move",
    "numpy._core._internal": "_convert_to_stringdtype_kwargs",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy._core.numeric": "_frombuffer",
    "numpy.ma.core": "_mareconstruct",
    "numpy.random._pickle": "__bit_generator_ctor __generator_ctor __randomstate_ctor",
    "numpy.random.bit_generator": "__pyx_unpickle_SeedSequence",
    "pandas._libs.arrays": "__pyx_unpickle_NDArrayBacked",
    "pandas._libs.internals": "_unpickle_block",
    "pandas._libs.interval": "__pyx_unpickle_IntervalMixin",
    "pandas._libs.tslibs.nattype": "_nat_unpickle",
    "pandas._libs.tslibs.timedeltas": "_timedelta_unpickle",
    "pandas._libs.tslibs.timestamps": "_unpickle_timestamp",
    "pandas.core.indexes.base": "_new_Index",
    "pandas.core.indexes.datetimes": "_new_DatetimeIndex",
    "pandas.core.indexes.interval": "_new_IntervalIndex",
    "pandas.core.indexes.timedeltas": "_new_TimedeltaIndex",
    "pandas.io.formats.style_render": "_default_formatter",
    "pandas.plotting._matplotlib.converter": "_daily_finder",
    "pandas.plotting._matplotlib.timeseries": "_format_coord",
    "pyarrow.lib": "_reconstruct_record_batch _reconstruct_table",
    "re": "_compile",
    "safeexec.facades.replacements.arrow": "py_buffer restore_array",
    "scipy._lib.array_api_compat.numpy._aliases": "asarray",
    "scipy.interpolate._interpolate": "interp1d._call_linear_np",
    "scipy.stats._distn_infrastructure": "rv_discrete._entropy",
    "sklearn.cluster._kmeans": "_kmeans_single_lloyd",
    "sklearn.metrics._dist_metrics": "newObj",
    "sklearn.neighbors._kd_tree": "newObj",
    "sympy.core.expr": "Expr._eval_is_extended_negative Expr._eval_is_extended_positive",
    "sympy.core.function": "Function._eval_is_commutative",
    "typing": (
        "_ProtocolMeta _TypedDictMeta _allow_reckless_class_checks _get_protocol_attrs "
        "_is_callable_members_only _no_init_or_replace_init "
    ),
}
"""Module → the names in it that a state may name besides those of facades and builtins."""
_ARROW: Final = "safeexec.facades.replacements.arrow"
_CHECKED: Final = {
    ("pyarrow.lib", "_restore_array"): (_ARROW, "restore_array"),
    ("pyarrow.lib", "py_buffer"): (_ARROW, "py_buffer"),
}
"""Module and name → those of the function of ours that does the same, and checks what it is given."""
_REPLACEMENTS: Final = "safeexec.facades.replacements."
_OF_DATACLASSES: Final = ("_replace", "_dataclass_getstate", "_dataclass_setstate")
"""Functions of ours that are methods of a program's dataclasses."""
_COMPANIONS: Final = frozenset({"dateutil", "pytz", "pyarrow", "mpl_toolkits", "kiwisolver", "cycler", "PIL", "mpmath"})
"""Packages whose objects those of libraries are made of."""
_CLASSES: Final = frozenset({
    "PIL", "bs4", "dateutil", "matplotlib", "mpl_toolkits", "mpmath", "networkx", "numpy", "openpyxl", "pandas",
    "scipy", "seaborn", "sklearn", "sympy", "xlrd"
})  # fmt: skip
"""Libraries whose classes a state may name, each where it is defined: results and the parts of what programs make."""
_NOT_OF_PROGRAMS: Final = frozenset({
    "_build_utils", "_testing", "autowrap", "backends", "codegen", "configs", "conftest", "decorators", "distutils",
    "f2py", "interactive", "lambdify", "lazy_imports", "parsing", "testing", "tests",
})  # fmt: skip
"""Parts of libraries whose objects no program holds."""


def refused(module: str, name: str) -> pickle.UnpicklingError:
    """The refusal of a name."""
    return pickle.UnpicklingError(f"the saved state names {module}.{name}, which the policy does not allow")


def find(module: str, name: str, plan: LanguagePlan) -> Any:
    """The object that a saved state means by this name. Raises UnpicklingError where it is not on the list."""
    if type(module) is not str or type(name) is not str:
        raise pickle.UnpicklingError("the saved state names something by other than text")
    module, name = _CHECKED.get((module, name), (module, name))
    if name in INTERNALS.get(module, "").split():
        return _member(import_module(module), name)
    if not name.isidentifier() or rules_of(plan).attribute(name) != PLAIN:
        raise refused(module, name)
    if module == "builtins":
        return _builtin(name, plan)
    if module.startswith(_REPLACEMENTS):
        return _of_class(module, name)
    if module.partition(".")[0] not in {entry.partition(".")[0] for entry in plan.imports} | _COMPANIONS:
        raise refused(module, name)
    found = _of_facade(module, name, plan)
    if found is None and module.partition(".")[0] in _CLASSES and _NOT_OF_PROGRAMS.isdisjoint(module.split(".")):
        return _of_class(module, name)
    if found is None:
        raise refused(module, name)
    return found


def _member(found: Any, path: str) -> Any:
    """A name of `INTERNALS`, which may be that of a method: read from the dict of the class."""
    first, *rest = path.split(".")
    found = getattr(found, first)
    for part in rest:
        found = next(vars(base)[part] for base in found.__mro__ if part in vars(base))
        found = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    return found


def _builtin(name: str, plan: LanguagePlan) -> Any:
    found = getattr(builtins, name, None)
    plain = isinstance(found, type) or name in ("Ellipsis", "NotImplemented")
    if not plain or name not in plan.builtins | {"Ellipsis", "NotImplemented", "object"}:
        raise refused("builtins", name)
    return found


def _of_class(module: str, name: str) -> Any:
    """A class, or a function that a program has in place of a library's, of this very module and name."""
    space = vars(import_module(module))
    found = space.get(name)
    given: list[Any] = []
    if module.startswith(_REPLACEMENTS):
        given = [*space.get("REPLACEMENTS", {}).values(), *(space.get(own) for own in _OF_DATACLASSES)]
    callable_here = isinstance(found, type) or any(found is value for value in given)
    if not callable_here or (getattr(found, "__module__", ""), getattr(found, "__qualname__", "")) != (module, name):
        raise refused(module, name)
    return found


def _of_facade(module: str, name: str, plan: LanguagePlan) -> Any:
    """The value `name` of the facade of `module`, or of a package above it whose value says that it is from there."""
    above = module
    while above:
        if module_access(above, plan).allowed:
            try:
                found = getattr(facade(above, plan), name, None)
            except (RefusedImport, ModuleNotFoundError):
                found = None
            if found is not None and (above == module or getattr(found, "__module__", None) == module):
                return None if issubclass(type(found), MODULES) else found
        above = above.rpartition(".")[0]
    return None


class _InertType(type):
    """The type of `Inert`, with what a pickle does to the objects that it makes."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        return cls

    def __setstate__(cls, state: object) -> None:
        for part in state if type(state) is tuple else (state,):
            for key in dict.keys(part) if isinstance(part, dict) else ():
                if key in UNASSIGNABLE or key in ("__class__", "__dict__", "__code__", "__globals__"):
                    raise pickle.UnpicklingError(f"the saved state sets {key!r} of an object, which is refused")

    def __setitem__(cls, key: object, value: object) -> None: ...

    def append(cls, item: object) -> None:
        """Nothing."""

    def extend(cls, items: object) -> None:
        """Nothing."""

    def add(cls, item: object) -> None:
        """Nothing."""


class Inert(metaclass=_InertType):
    """Stands for whatever a state makes, classes too, while only its names are looked at."""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        return cls


class _UntouchedType(_InertType):
    def __setstate__(cls, state: object) -> None:
        raise pickle.UnpicklingError("what the saved state sets of its objects is known only when they are made")


class Untouched(Inert, metaclass=_UntouchedType):
    """The same where nothing of an object may be set: what a program's own functions make of it is not seen here."""


class _Names(pickle.Unpickler):
    def __init__(self, file: Any, judge: Callable[[str, str], object], made: type[Inert]) -> None:
        super().__init__(file)
        self._judge = judge
        self._made = made
        self._seen: set[tuple[str, str]] = set()

    def find_class(self, module: str, name: str) -> type[Inert]:
        if (module, name) not in self._seen:
            self._judge(module, name)
            self._seen.add((module, name))
        return self._made


def judge(file: Any, allowed: Callable[[str, str], object], made: type[Inert]) -> None:
    """Ask `allowed` for each name that the state in `file` holds, and look at what it sets; nothing of it is run.
    `made` stands for its objects.
    """
    unpickler = _Names(file, allowed, made)
    for _ in variables(unpickler):
        unpickler.load()


def variables(unpickler: Any) -> list[str]:
    """The names of the variables that the next pickles are. Raises UnpicklingError."""
    names = unpickler.load()
    if type(names) is not list or not all(type(name) is str for name in names):
        raise pickle.UnpicklingError("the saved state holds no variables")
    return names
