"""`pickle` of guest code: any object can be written; what is read makes plain values and the program's own objects.

A pickle is a program. The C unpickler reads those that name nothing. The others are read by one of ours, which finds
names as a saved state does (`child.process.state_names`), calls nothing that it has not found by name, and sets
attributes under the rules. The C pickler looks for names in `sys.modules`, where the program's own modules are not:
where it fails, the one in Python writes what is theirs.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import pickle
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, ClassVar, Final, NewType, ParamSpec, TypeVar, TypeVarTuple

from safeexec.child.language.builtins import without_own
from safeexec.child.language.modules import Modules
from safeexec.child.language.native import builtin
from safeexec.child.process import state_names
from safeexec.facades.replacements.checked import checked_getattr, checked_setattr
from safeexec.identity import dict_of
from safeexec.protocol.plan import LanguagePlan

_NAMES: Final = "DEFAULT_PROTOCOL HIGHEST_PROTOCOL PickleError PicklingError UnpicklingError"
_PLAIN: Final = {
    "builtins": (
        "Ellipsis NotImplemented bool bytearray bytes complex dict enumerate filter float frozenset getattr int iter "
        "list map object range reversed set slice str tuple zip"
    ),
    "_codecs": "encode",
    "array": "_array_reconstructor array",
    "collections": "ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque",
    "copyreg": "__newobj__ __newobj_ex__ _reconstructor",
    "datetime": "date datetime time timedelta timezone tzinfo",
    "decimal": "Context Decimal",
    "fractions": "Fraction",
    "functools": "partial",
    "ipaddress": ("IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network"),
    "itertools": (
        "accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse "
        "groupby islice permutations product repeat starmap takewhile zip_longest"
    ),
    "numpy": "dtype ndarray",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy._core.numeric": "_frombuffer",
    "pandas": (
        "ArrowDtype BooleanDtype Categorical CategoricalDtype DataFrame DatetimeIndex DatetimeTZDtype "
        "Float32Dtype Float64Dtype Index Int16Dtype Int32Dtype Int64Dtype Int8Dtype Interval IntervalDtype "
        "IntervalIndex MultiIndex NA Period PeriodDtype PeriodIndex RangeIndex Series SparseDtype StringDtype "
        "TimedeltaIndex Timestamp UInt16Dtype UInt32Dtype UInt64Dtype UInt8Dtype"
    ),
    "pandas._libs.arrays": "__pyx_unpickle_NDArrayBacked",
    "pandas._libs.internals": "_unpickle_block",
    "pandas._libs.interval": "Interval __pyx_unpickle_IntervalMixin",
    "pandas._libs.sparse": "BlockIndex IntIndex",
    "pandas._libs.tslibs.nattype": "_nat_unpickle",
    "pandas._libs.tslibs.offsets": (
        "BHalfYearBegin BHalfYearEnd BQuarterBegin BQuarterEnd BYearBegin BYearEnd BusinessDay BusinessHour "
        "BusinessMonthBegin BusinessMonthEnd CustomBusinessDay CustomBusinessHour CustomBusinessMonthBegin "
        "CustomBusinessMonthEnd DateOffset Day Easter FY5253 FY5253Quarter HalfYearBegin HalfYearEnd Hour "
        "LastWeekOfMonth Micro Milli Minute MonthBegin MonthEnd Nano QuarterBegin QuarterEnd Second SemiMonthBegin "
        "SemiMonthEnd Week WeekOfMonth YearBegin YearEnd"
    ),
    "pandas._libs.tslibs.timedeltas": "_timedelta_unpickle",
    "pandas._libs.tslibs.timestamps": "_unpickle_timestamp",
    "pandas.arrays": (
        "ArrowExtensionArray ArrowStringArray BooleanArray DatetimeArray FloatingArray IntegerArray IntervalArray "
        "PeriodArray SparseArray StringArray TimedeltaArray"
    ),
    "pandas.core.indexes.base": "_new_Index",
    "pandas.core.indexes.datetimes": "_new_DatetimeIndex",
    "pandas.core.indexes.interval": "_new_IntervalIndex",
    "pandas.core.indexes.timedeltas": "_new_TimedeltaIndex",
    "pandas.core.internals.managers": "BlockManager SingleBlockManager",
    "operator": "itemgetter",
    "pathlib": "PurePath PurePosixPath PureWindowsPath",
    "pyarrow.lib": (
        "_reconstruct_record_batch _reconstruct_table _restore_array binary chunked_array decimal128 decimal256 "
        "dictionary field list_ map_ py_buffer scalar schema struct timestamp type_for_alias"
    ),
    "random": "Random",
    "statistics": "NormalDist",
    "types": "SimpleNamespace",
    "uuid": "SafeUUID UUID",
    "zoneinfo": "ZoneInfo",
}
"""Module → the names in it that any pickle may name; of libraries only where the policy opens them."""
_values: Final = {("builtins", "object"): object, ("builtins", "iter"): iter, ("builtins", "getattr"): checked_getattr}
"""What is given for a name. Pickles write an iterator, a method and a class within a class as calls of these."""
_MISSING: Final = object()

_values_of_builtins: Final = {name for module, name in _values if module == "builtins"}
_VARIABLES: Final = (TypeVar, ParamSpec, TypeVarTuple, NewType)

Find = Callable[[str, str], Any]


def make(plan: LanguagePlan, written: Callable[[], Modules]) -> ModuleType:
    """The module that the facade is made of, for a program with these modules."""

    def own(module: Any, name: Any) -> Any:
        """What the program calls so: a class, a function of this very module, a type variable. None for all else."""
        space = written().space(module)
        if space is None or type(name) is not str:
            return None
        first, *inner = str.split(name, ".")
        found: Any = without_own(space).get(first)
        for part in inner:
            found = dict_of(found).get(part) if is_own_class(found) else None
        is_function = isinstance(found, FunctionType) and found.__globals__ is space
        return found if isinstance(found, type) or is_function or type(found) in _VARIABLES else None

    def home(found: Any, name: str) -> str | None:
        """The module of the program that calls this object so, or the builtins; None for what is in `sys.modules`."""
        module = getattr(found, "__module__", None)
        if module != "__main__" and own(module, name) is found:
            return str(module)
        main = written().space("__main__") or {}
        return "builtins" if name in _values_of_builtins and main["__builtins__"].get(name) is found else None

    def is_own_class(found: Any) -> bool:
        return issubclass(type(found), type) and written().space(dict_of(found).get("__module__")) is not None

    def find(module: str, name: str) -> Any:
        if type(module) is str and written().knows(module) and module != "builtins":
            if module != "__main__":
                written().by_name(module)
            if (found := own(module, name)) is not None:
                return found
        elif module in ("builtins", "exceptions", "__builtin__") and _is_exception(name) and name in plan.builtins:
            return getattr(builtins, name)
        else:
            module, name = _RENAMED.get(module, module), _RENAMED.get(name, name)
            if name in _PLAIN.get(module, "").split():
                return _values[module, name] if (module, name) in _values else state_names.find(module, name, plan)
        raise pickle.UnpicklingError(f"the pickle names {module}.{name}: it may name plain types and the program's own")

    def load(file: Any, **options: Any) -> Any:
        data = io.BytesIO(file.read())
        try:
            value = _load(data, find, is_own_class, options)
        finally:
            rest = data.read()
            if rest and hasattr(file, "seek"):
                file.seek(-len(rest), 1)
        return value

    def loads(data: Any, /, **options: Any) -> Any:
        return _load(io.BytesIO(bytes(data)), find, is_own_class, options)

    def dump(obj: Any, file: Any, protocol: int | None = None, *, fix_imports: bool = True) -> None:
        file.write(dumps(obj, protocol, fix_imports=fix_imports))

    def dumps(obj: Any, protocol: int | None = None, *, fix_imports: bool = True) -> bytes:
        try:
            return pickle.dumps(obj, protocol, fix_imports=fix_imports)
        except pickle.PicklingError as error:
            made = io.BytesIO()
            try:
                _Writer(made, protocol, fix_imports, home).dump(obj)
            except pickle.PicklingError:
                raise error from None
            return made.getvalue()

    made = ModuleType("pickle", pickle.__doc__)
    vars(made).update({name: getattr(pickle, name) for name in _NAMES.split()})
    for function in (load, loads, dump, dumps):
        vars(made)[function.__name__] = builtin(function, function.__name__)
    return made


_RENAMED: Final = {"__builtin__": "builtins", "copy_reg": "copyreg", "unicode": "str", "long": "int", "xrange": "range"}
"""What Python 2 called it, and protocols below 3 still do."""


def _is_exception(name: object) -> bool:
    found = getattr(builtins, name, None) if type(name) is str else None
    return isinstance(found, type) and issubclass(found, BaseException)


def _makes_zone(kind: Any, name: Any, *default: Any) -> bool:
    """Whether that is the method by which a time zone is made again, of its key."""
    return (
        kind is getattr(sys.modules.get("zoneinfo"), "ZoneInfo", _MISSING) and type(name) is str and name == "_unpickle"
    )


class _NamesSomething(Exception):
    pass


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise _NamesSomething


def _load(data: io.BytesIO, find: Find, is_own_class: Callable[[Any], bool], options: dict[str, Any]) -> Any:
    start = data.tell()
    if options.get("buffers") is None:  # else it sets attributes of whatever object is among them
        with contextlib.suppress(_NamesSomething):
            return _Plain(data, **options).load()
        data.seek(start)
    return _Own(data, find, is_own_class, options).load()


_IN_PYTHON: Any = vars(pickle)["_Unpickler"]
_WRITER_IN_PYTHON: Any = vars(pickle)["_Pickler"]


class _Own(_IN_PYTHON):  # type: ignore[misc]
    """The unpickler in Python, whose steps can be changed one by one."""

    def __init__(
        self, file: io.BytesIO, find: Find, is_own_class: Callable[[Any], bool], options: dict[str, Any]
    ) -> None:
        super().__init__(file, **options)
        self._find = find
        self._is_own_class = is_own_class
        self._found: dict[int, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        found = self._find(module, name)
        self._found[id(found)] = found
        return found

    def _callable(self, function: Any) -> Any:
        if self._found.get(id(function), _MISSING) is not function:
            raise pickle.UnpicklingError("the pickle calls something that it has not named")
        return function

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        function = self._callable(self.stack[-1])
        self.stack[-1] = made = function(*arguments)
        if function is checked_getattr and (self._is_own_class(made) or _makes_zone(*arguments)):
            self._found[id(made)] = made  # how older protocols name a class within a class, and all of them a zone

    def load_newobj(self) -> None:
        arguments = self.stack.pop()
        kind = self._callable(self.stack.pop())
        self.append(kind.__new__(kind, *arguments))

    def load_newobj_ex(self) -> None:
        keywords = self.stack.pop()
        arguments = self.stack.pop()
        kind = self._callable(self.stack.pop())
        self.append(kind.__new__(kind, *arguments, **keywords))

    def load_obj(self) -> None:
        kind, *arguments = self.pop_mark()
        self._instantiate(self._callable(kind), arguments)

    def load_build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        if isinstance(made, type):
            raise pickle.UnpicklingError("the pickle sets attributes of a class")
        setstate = checked_getattr(made, "__setstate__", None)
        if setstate is not None:
            setstate(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        # As into its `__dict__`: the `__setattr__` of its class, which may be frozen, is not asked.
        put = checked_getattr(object, "__setattr__")
        for name, value in (state or {}).items():
            put(made, name, value)
        for name, value in (slots or {}).items():
            checked_setattr(made, name, value)

    dispatch: ClassVar[dict[int, Any]] = dict(_IN_PYTHON.dispatch)
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex
    dispatch[pickle.OBJ[0]] = load_obj
    dispatch[pickle.BUILD[0]] = load_build


class _Writer(_WRITER_IN_PYTHON):  # type: ignore[misc]
    """The pickler in Python, which finds the names of the program's own modules."""

    def __init__(
        self, file: io.BytesIO, protocol: int | None, fix_imports: bool, home: Callable[[Any, str], str | None]
    ) -> None:
        super().__init__(file, protocol, fix_imports=fix_imports)
        self._home = home

    def reducer_override(self, obj: Any) -> Any:
        """The name of a builtin, which else would be a method of what it calls."""
        return obj.__name__ if type(obj) is BuiltinFunctionType and self._home(obj, obj.__name__) else NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        path = str(name or getattr(obj, "__qualname__", "") or getattr(obj, "__name__", ""))
        module = self._home(obj, path)
        if module is None or (self.proto < 4 and "." in path):
            super().save_global(obj, name)
            return
        if self.proto >= 4:
            self.save(module)
            self.save(path)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{path}\n".encode())
        self.memoize(obj)

    dispatch: ClassVar[dict[Any, Any]] = _WRITER_IN_PYTHON.dispatch | {FunctionType: save_global}
