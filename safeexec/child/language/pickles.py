"""`pickle` of guest code: any object can be written; what is read makes plain values and the program's own objects.

A pickle is a program. The C unpickler reads those that name nothing. The others are read by one of ours, which finds
names as a saved state does (`child.process.state_names`), calls nothing that it has not found by name, and sets
attributes under the rules.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import pickle
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, ClassVar, Final

from safeexec.child.language.builtins import without_own
from safeexec.child.language.native import builtin
from safeexec.child.process import state_names
from safeexec.facades.replacements.guards import checked_getattr, checked_setattr
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
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "ipaddress": ("IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network"),
    "numpy": "dtype ndarray",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy._core.numeric": "_frombuffer",
    "pandas": (
        "BooleanDtype Categorical CategoricalDtype DataFrame Float64Dtype Index Int64Dtype IntervalDtype MultiIndex "
        "PeriodDtype PeriodIndex RangeIndex Series StringDtype DatetimeIndex TimedeltaIndex"
    ),
    "pandas._libs.arrays": "__pyx_unpickle_NDArrayBacked",
    "pandas._libs.internals": "_unpickle_block",
    "pandas._libs.tslibs.nattype": "_nat_unpickle",
    "pandas._libs.tslibs.timedeltas": "_timedelta_unpickle",
    "pandas._libs.tslibs.timestamps": "_unpickle_timestamp",
    "pandas.arrays": "BooleanArray DatetimeArray FloatingArray IntegerArray PeriodArray StringArray TimedeltaArray",
    "pandas.core.indexes.base": "_new_Index",
    "pandas.core.indexes.datetimes": "_new_DatetimeIndex",
    "pandas.core.indexes.timedeltas": "_new_TimedeltaIndex",
    "pandas.core.internals.managers": "BlockManager SingleBlockManager",
    "pathlib": "PurePath PurePosixPath PureWindowsPath",
    "random": "Random",
    "statistics": "NormalDist",
    "types": "SimpleNamespace",
    "uuid": "SafeUUID UUID",
}
"""Module → the names in it that any pickle may name; of libraries only where the policy opens them."""
_values: Final = {("builtins", "object"): object, ("builtins", "iter"): iter, ("builtins", "getattr"): checked_getattr}
"""What is given for a name. Pickles write an iterator, a method and a class within a class as calls of these."""
_MISSING: Final = object()

Find = Callable[[str, str], Any]


def make(plan: LanguagePlan, namespace: dict[str, Any]) -> ModuleType:
    """The module that the facade is made of, for a program with this namespace."""

    def find(module: str, name: str) -> Any:
        if module == "__main__" and type(name) is str:
            first, *inner = str.split(name, ".")
            found: Any = without_own(namespace).get(first)
            for part in inner:
                found = dict_of(found).get(part) if _is_own_class(found) else None
            if isinstance(found, type) or (isinstance(found, FunctionType) and found.__globals__ is namespace):
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
            value = _load(data, find, options)
        finally:
            rest = data.read()
            if rest and hasattr(file, "seek"):
                file.seek(-len(rest), 1)
        return value

    def loads(data: Any, /, **options: Any) -> Any:
        return _load(io.BytesIO(bytes(data)), find, options)

    def dump(obj: Any, file: Any, protocol: int | None = None, *, fix_imports: bool = True) -> None:
        file.write(pickle.dumps(obj, protocol, fix_imports=fix_imports))

    def dumps(obj: Any, protocol: int | None = None, *, fix_imports: bool = True) -> bytes:
        return pickle.dumps(obj, protocol, fix_imports=fix_imports)

    made = ModuleType("pickle", pickle.__doc__)
    vars(made).update({name: getattr(pickle, name) for name in _NAMES.split()})
    for function in (load, loads, dump, dumps):
        vars(made)[function.__name__] = builtin(function, function.__name__)
    return made


_RENAMED: Final = {"__builtin__": "builtins", "copy_reg": "copyreg", "unicode": "str", "long": "int", "xrange": "range"}
"""What Python 2 called it, and protocols below 3 still do."""


def _is_own_class(found: Any) -> bool:
    return issubclass(type(found), type) and dict_of(found).get("__module__") == "__main__"


def _is_exception(name: object) -> bool:
    found = getattr(builtins, name, None) if type(name) is str else None
    return isinstance(found, type) and issubclass(found, BaseException)


class _NamesSomething(Exception):
    pass


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise _NamesSomething


def _load(data: io.BytesIO, find: Find, options: dict[str, Any]) -> Any:
    start = data.tell()
    with contextlib.suppress(_NamesSomething):
        return _Plain(data, **options).load()
    data.seek(start)
    return _Own(data, find, options).load()


_IN_PYTHON: Any = vars(pickle)["_Unpickler"]


class _Own(_IN_PYTHON):  # type: ignore[misc]
    """The unpickler in Python, whose steps can be changed one by one."""

    def __init__(self, file: io.BytesIO, find: Find, options: dict[str, Any]) -> None:
        super().__init__(file, **options)
        self._find = find
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
        if function is checked_getattr and _is_own_class(made):  # how older protocols name a class within a class
            self._found[id(made)] = made

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
