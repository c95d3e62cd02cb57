"""The objects that guest code has in place of modules, and the classes of Python's own modules. None of them can be
changed, in whatever way one tries. Classes of other libraries are changed by libraries alone: see `judge_class_stores`.

A facade is the only instance of a class of its own, with one slot for each name. The class is marked immutable and its
slots read-only where CPython itself looks (``tp_flags`` of the class, the flags of each member), so that `setattr`,
``object.__setattr__``, the slot's own ``__set__``, a ``__class__`` of the same layout, a frozen dataclass' ``__init__``
and `functools.cached_property` all end in CPython's refusal. There is no ``__dict__`` to write into.

A slot is read by CPython's specialised instruction: from 3.12 on also where a ``__getattr__`` stands behind it (25 ns,
as an attribute of a module); on 3.11 with one 38 ns, where a module with a ``__getattr__`` costs 47.
"""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import _io
import ctypes
import gc
import io
import operator
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GenericAlias,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
    TracebackType,
)
from typing import Any, Final, ForwardRef, NoReturn

from safeexec.facades.replacements.guards import checked_vars, leads_away
from safeexec.identity import class_name, dict_of, flags_of, identity, mro_of, read_getset, read_member

_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
_TYPE_NUMBER: Final = 12 * _POINTER  # PyTypeObject.tp_as_number
_TYPE_MAPPING: Final = 14 * _POINTER  # PyTypeObject.tp_as_mapping
_TYPE_SETATTRO: Final = 19 * _POINTER  # PyTypeObject.tp_setattro
_TYPE_FLAGS: Final = 21 * _POINTER  # PyTypeObject.tp_flags
_TYPE_COMPARE: Final = 25 * _POINTER  # PyTypeObject.tp_richcompare
_TYPE_NEW: Final = 39 * _POINTER  # PyTypeObject.tp_new
_NUMBER_OR: Final = 15 * _POINTER  # PyNumberMethods.nb_or
_MAPPING_STORE: Final = 2 * _POINTER  # PyMappingMethods.mp_ass_subscript
_MEMBER: Final = 5 * _POINTER  # PyMemberDescrObject.d_member
_WRAPPER: Final = 5 * _POINTER  # PyWrapperDescrObject.d_base
_WRAPPED: Final = 6 * _POINTER  # PyWrapperDescrObject.d_wrapped
_MEMBER_FLAGS: Final = 3 * _POINTER  # PyMemberDef.flags
_IMMUTABLE: Final = 1 << 8
_HEAP: Final = 1 << 9
_BASE: Final = 1 << 10
_VECTORCALL: Final = 1 << 11
_METHOD: Final = 1 << 17
_READ_ONLY: Final = 1


Resolve = Callable[[str], Any]
Judge = Callable[..., None]
"""Given a class and the name of an attribute that is about to be set or deleted, and whether a descriptor is called for
it. Raises where that may not be.
"""


class Facade:
    """What all facades are instances of. It has no state; see `sealed`."""

    __slots__ = ()
    __name__: str

    def __new__(cls, *args: object, **kwargs: object) -> Facade:
        """Refused: guest code makes no modules."""
        raise TypeError("cannot create 'module' instances")

    @property
    def __dict__(self) -> MappingProxyType[str, Any]:  # type: ignore[override]
        """The names that it holds now, read-only."""
        return MappingProxyType(names_of(self))

    def __setattr__(self, name: str, value: object) -> None:
        self._assignable(name).__set__(self, value)

    def __delattr__(self, name: str) -> None:
        self._assignable(name).__delete__(self)

    def _assignable(self, name: str) -> property:
        found = dict_of(type(self)).get(name)
        if type(found) is not property:
            raise AttributeError(f"assignment to '{self.__name__}.{name}' is refused: modules are read-only")
        return found

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("cannot pickle 'module' object")


class OwnModule:
    """What all modules that guest code has written are instances of. It has no state; see `own_module`."""

    __slots__ = ()
    __name__: str

    def __new__(cls, *args: object, **kwargs: object) -> OwnModule:
        """Refused: an import statement makes modules."""
        raise TypeError("cannot create 'module' instances")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("cannot pickle 'module' object")


MODULES: Final = (ModuleType, Facade, OwnModule)
"""The types of what guest code takes for a module: facades, and modules that are its own."""


def own_module(
    name: str,
    namespace: dict[str, Any],
    shown: dict[str, Any],
    *,
    is_hidden: Callable[[str], bool],
    absence: Callable[[str], str],
    computed: Mapping[str, Callable[[], Any]] | None = None,
) -> OwnModule:
    """Make the object that stands for a module of guest code, whose code runs in `namespace`.

    A real module has that very dict as its ``__dict__``, where any library looks: ``functools.update_wrapper`` hands it
    to whoever asks. The guards are looked up in it by name, and its builtins are there. Here `shown` is the
    ``__dict__``, which hides both and writes through. `absence` words what an AttributeError says; `computed` are names
    that are asked for anew each time.
    """
    last = dict(computed or {})

    def __getattr__(self: Any, attribute: str) -> Any:
        attribute = str.__str__(attribute)
        if not is_hidden(attribute):
            try:
                return namespace[attribute]
            except KeyError:
                hook = namespace.get("__getattr__")
            if hook is not None:
                return hook(attribute)
            if attribute in last:
                return last[attribute]()
        raise AttributeError(absence(attribute), name=attribute, obj=self)

    def __setattr__(self: Any, attribute: str, value: object) -> None:
        attribute = str.__str__(attribute)
        if is_hidden(attribute):
            raise AttributeError(f"assignment to '{name}.{attribute}' is refused: it is the interpreter's own")
        shown[attribute] = value

    def __delattr__(self: Any, attribute: str) -> None:
        attribute = str.__str__(attribute)
        if is_hidden(attribute) or attribute not in namespace:
            raise AttributeError(absence(attribute), name=attribute, obj=self)
        del shown[attribute]

    def __dir__(self: Any) -> list[str]:
        return sorted(shown)

    def __repr__(self: Any) -> str:
        file = namespace.get("__file__")
        return f"<module {name!r} from {file!r}>" if type(file) is str else f"<module {name!r}>"

    body = {
        "__slots__": (),
        "__module__": "builtins",
        "__name__": property(lambda self: name),
        "__doc__": property(lambda self: namespace.get("__doc__")),
        "__dict__": property(lambda self: shown),
        **{hook.__name__: hook for hook in (__getattr__, __setattr__, __delattr__, __dir__, __repr__)},
    }
    made: OwnModule = object.__new__(_derived(OwnModule, body))
    seal(type(made))
    return made


def sealed(
    name: str,
    values: Mapping[str, Any],
    *,
    later: Iterable[str] = (),
    resolve: Resolve | None = None,
    properties: Mapping[str, property] | None = None,
) -> Facade:
    """Make the facade called `name` that holds `values`.

    `later` are names that `resolve` answers when they are first read; what it answers is kept. It is asked for every
    other name too, and raises AttributeError. `properties` are computed, and may have setters.
    """
    held = {"__name__": name, **values}
    slots = {*held, *later} - (properties or {}).keys()

    def __getattr__(self: Any, attribute: str) -> Any:
        if resolve is None:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}", name=attribute, obj=self)
        value = resolve(attribute)
        if attribute in slots:
            _fill(self, attribute, value)
        return value

    def __dir__(self: Any) -> list[str]:
        return sorted(item for item in (*slots, *(properties or ())) if item[:2] != "__")

    body = {"__slots__": tuple(slots), "__module__": "builtins", "__getattr__": __getattr__, "__dir__": __dir__}
    body["__hash__"] = object.__hash__  # not the None that comes with an `operator.__eq__`
    made: Facade = object.__new__(_derived(Facade, {**body, **(properties or {})}))
    for attribute, value in held.items():
        if attribute in slots:
            object.__setattr__(made, attribute, value)
    seal(type(made))
    return made


def _derived(base: type, body: dict[str, Any]) -> type:
    """The class of one module. A program derives none: where `replace_name` writes in an object, the class says.

    So `base` may be one for as long as C code calls these, in which no other thread and no finalizer runs.
    """
    flags = _type_flags(base)
    closed = flags.value & ~_BASE
    collects = gc.isenabled()
    steps: tuple[Callable[[], Any], ...] = (
        gc.disable,
        partial(setattr, flags, "value", closed | _BASE),
        partial(type, "module", (base,), body),
        partial(setattr, flags, "value", closed),
    )
    try:
        done = [*map(operator.call, steps)]
    finally:
        flags.value = closed
        if collects:
            gc.enable()
    made: type = done[2]
    return made


def names_of(facade: Facade | OwnModule) -> dict[str, Any]:
    """The names that a facade holds now, with their values, read past its ``__getattr__``; of an own module all."""
    if issubclass(type(facade), OwnModule):
        return dict(dict_of(type(facade))["__dict__"].fget(facade))
    found = {}
    for name, member in dict_of(type(facade)).items():
        if type(member) is MemberDescriptorType:
            try:
                found[name] = read_member(member, facade)
            except AttributeError:
                continue
    return found


SEALED_LIBRARIES: Final = sys.stdlib_module_names | {"safeexec", "RestrictedPython", "msgspec", "asttokens"}
WRITE_TO_THEMSELVES: Final = frozenset(
    {("weakref", "finalize"), ("difflib", "HtmlDiff"), ("_frozen_importlib_external", "_NamespacePath")}
)
"""Classes of Python's own modules that keep a counter or a flag in themselves."""
_ANSWER_FOR_OTHERS: Final = (GenericAlias, type(Callable[[], None]), super)
"""Types whose instances answer for another object: an instance of a program's own class of them has the methods of that
class and the attributes of any other object. ``super(Meta, Meta).__dict__`` is the descriptor that opens all classes.
"""
_modules_known: Final[dict[str, int]] = {"": 0}
"""Name → identity of each module that was looked at; under the empty name how many there were then."""
_unsealed: Final[dict[int, type]] = {}
"""Classes that are to be sealed, by their identity."""


def find_classes() -> bool:
    """Look for the classes of Python's own modules and of safeexec, in the modules that were loaded since the last
    call. False where none were.
    """
    last = next(reversed(sys.modules))  # one that has been loaded since would be, also where another has gone
    if len(sys.modules) == _modules_known[""] and _modules_known.get(last) == identity(sys.modules[last]):
        return False
    for name, module in list(sys.modules.items()):
        if _modules_known.get(name) != identity(module):
            _modules_known[name] = identity(module)
            if name.startswith("_cython_"):
                _judge_cython(module)
            elif name.partition(".")[0] in SEALED_LIBRARIES:
                held = list(vars(module).values())
                _find_all([*held, *(item for table in held if type(table) is dict for item in table.values())])
    _modules_known[""] = len(sys.modules)
    return True


def _find_all(pending: list[Any]) -> None:
    while pending:
        cls = pending.pop()
        if not isinstance(cls, type) or not _HEAP <= flags_of(cls) & (_HEAP | _IMMUTABLE) < _HEAP + _IMMUTABLE:
            continue
        if identity(cls) in _unsealed:
            continue
        held = dict_of(cls)
        home = held.get("__module__")
        if type(home) is not str or home.partition(".")[0] not in SEALED_LIBRARIES:
            continue
        if (home, cls.__name__) not in WRITE_TO_THEMSELVES:
            _unsealed[identity(cls)] = cls
        pending += held.values()


def seal_classes() -> None:
    """Make immutable what `find_classes` finds.

    A program that could give ``ast.Name`` a property, or `contextlib.ExitStack` a method, would be handed what the
    compiler and the guards hold. Most stores are not looked at when they run: here it is CPython that refuses them.
    """
    if not find_classes() and not _unsealed:
        return  # the usual step: 8 us less, and what a program asks of abstract classes stays remembered
    if _unsealed:
        for kind in _ANSWER_FOR_OTHERS:
            _type_flags(kind).value &= ~_BASE
        _close_cells()
        _close_modules()
        _close_proxies()
        _keep_bases()
    while _unsealed:
        _, cls = _unsealed.popitem()
        flags = _type_flags(cls)
        flags.value |= _IMMUTABLE
    _forget_asked()


def _close_cells() -> None:
    """Let a cell be equal to itself alone. Comparing two gives what is in the one to the ``__eq__`` of the other: a
    metaclass has the cell that is for its class, and from 3.12 on can have the very dict of the class put there.
    """
    if "__eq__" not in dict_of(CellType):
        return
    ctypes.c_void_p.from_address(id(CellType) + _TYPE_COMPARE).value = None
    with very_dict(CellType) as space:
        kept = [space.pop(f"__{name}__") for name in ("eq", "ge", "gt", "le", "lt", "ne")]
    del kept  # not before: what a type has looked up it remembers uncounted


def _close_modules() -> None:
    """Let a module be equal to itself alone. A cache of `pathlib` has the real `posixpath` for a key: an object of the
    program with the same hash would be given it to compare.
    """
    if "__eq__" in dict_of(ModuleType):
        return
    with very_dict(ModuleType) as space:
        space["__eq__"] = _Stores.__eq__
    inherited = _word(id(object) + _TYPE_COMPARE).value
    for kind in (ModuleType, *type.__subclasses__(ModuleType)):
        if _word(id(kind) + _TYPE_COMPARE).value == inherited:
            _word(id(kind) + _TYPE_COMPARE).value = _word(id(_Stores) + _TYPE_COMPARE).value


def _close_proxies() -> None:
    """Let a read-only view of a mapping be compared, and joined with others, as a copy. Both give the mapping itself to
    a method of the other object: what a pattern of a library calls its groups, what all fields of dataclasses share.
    Of a class the copy has what `vars` shows a program: a library that compares the `vars` of two objects may have been
    given a class for one.
    """
    if dict_of(MappingProxyType)["__eq__"] is dict_of(_Compared)["__eq__"]:
        return
    kept = [dict_of(MappingProxyType)[name] for name in _BY_COPY]
    with very_dict(MappingProxyType) as space:
        space |= {name: dict_of(_Compared)[name] for name in _BY_COPY}
    del kept
    _word(id(MappingProxyType) + _TYPE_COMPARE).value = _word(id(_Compared) + _TYPE_COMPARE).value
    numbers, of_copies = (_word(id(kind) + _TYPE_NUMBER).value for kind in (MappingProxyType, _Compared))
    _word(numbers + _NUMBER_OR).value = _word(of_copies + _NUMBER_OR).value


_BY_COPY: Final = ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__", "__or__", "__ror__")


class _View:
    """Has a mapping for its ``__dict__``, so that the guard of `vars` judges what is in it."""

    __slots__ = ("_names",)

    def __init__(self, names: dict[Any, Any]) -> None:
        self._names = names

    @property
    def __dict__(self) -> MappingProxyType[Any, Any]:  # type: ignore[override]
        return MappingProxyType(self._names)


def _shown(found: Any) -> Any:
    """What a copy of a mapping may show. That of a class, which always has a ``__doc__``, is judged by names, too."""
    if type(found) is not dict:
        return found
    names = checked_vars(_View(found)) if "__doc__" in found else found
    return {name: value for name, value in names.items() if not leads_away(value)}


def _by_copy(name: str) -> Any:
    answer = getattr(operator, name.replace("__ror__", "__or__"))

    def ask(self: Any, other: Any) -> Any:
        copy = self.copy() if hasattr(self, "copy") else dict(self)
        if type(other) is not dict:
            copy = _shown(copy)
        elif "or" not in name:  # what is in both is asked nothing
            copy = _shown(copy) | {key: value for key, value in copy.items() if other.get(key, other) is value}
        return answer(other, copy) if name == "__ror__" else answer(copy, other)

    ask.__name__ = ask.__qualname__ = name
    return ask


_Compared: Final = type("_Compared", (), {name: _by_copy(name) for name in _BY_COPY})


_makers: Final[dict[int, Any]] = {}
"""Identity of each function of typing and typing_extensions → what makes the bases of a class that names it as one."""


def note_bases(module: ModuleType) -> None:
    """Note what the functions of a module of types make when classes name them as a base: see `_keep_bases`."""
    made = [value for value in vars(module).values() if type(value) is FunctionType]
    _makers.update({identity(value): vars(value).get("__mro_entries__") for value in made})


def _keep_bases() -> None:
    """Let functions that classes name as a base (`typing.NamedTuple`) make what they always made.

    They keep the maker in their dict, where a library's descriptor or `__setstate__` writes what a program tells it. A
    property of their type is found before what is in the dict.
    """
    if "__mro_entries__" in dict_of(FunctionType):
        return

    def maker(function: Any) -> Any:
        own = vars(function).get("__mro_entries__")
        found = _makers.get(identity(function), own)
        if found is None:
            raise AttributeError("'function' object has no attribute '__mro_entries__'", name="__mro_entries__")
        return found

    def keep(function: Any, value: object) -> None:
        if identity(function) in _makers:
            raise AttributeError("'__mro_entries__' of a function of typing cannot be set", name="__mro_entries__")
        vars(function)["__mro_entries__"] = value

    with very_dict(FunctionType) as space:
        space["__mro_entries__"] = property(maker, keep)


def _forget_asked() -> None:
    """Let abstract classes forget the classes that they were asked about, and `io.RawIOBase` the one that opens files.

    They keep them in sets. A metaclass of a program says what its classes are equal to, and would be given whatever
    class stands there: of modules, of what loads them.
    """
    raw = io.RawIOBase
    if "__subclasshook__" not in dict_of(raw):
        write_to_class(raw, "__subclasshook__", classmethod(_is_raw))
        _abc._reset_registry(raw)
        _abc._reset_caches(raw)
    _abc._reset_registry(_asked)
    _asked.register(int)  # what others have answered with no is void now


def _is_raw(cls: type, asked: type) -> Any:
    return True if cls is io.RawIOBase and any(base is _io._RawIOBase for base in mro_of(asked)) else NotImplemented


_asked: Final = ABCMeta("asked", (), {})
"""What is registered with it, each time anew, says that there is another class."""


class Hidden(partial[Any]):
    """What the interpreter alone calls, as a method of a class, and nobody finds there: C code that a program has a
    library call would read and store in the library's name.
    """

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        kind = type(instance) if owner is None else owner
        raise AttributeError(f"{class_name(kind)!r} object has no attribute {self.func.__name__!r}")


class _Stores:
    """A class whose stores and comparisons are methods of Python: the functions of the interpreter that call such are
    in it.
    """

    def __setitem__(self, name: object, value: object) -> None: ...
    def __setattr__(self, name: str, value: object) -> None: ...

    def __eq__(self, other: object) -> bool:
        return self is other


def judge_class_stores(judge: Judge) -> None:
    """Ask `judge` before an attribute of any class is set or deleted, by whatever means.

    Libraries write to their own classes while they run, and change the class of their objects: those of matplotlib for
    3-D plots, counters of sympy. Both end where a class is immutable. So it is not the class that decides, but who
    stores. A store of an instance's attribute is not asked about, and costs what it did.

    CPython stores an attribute of a class by a function in the class of the class (``tp_setattro``). In `type` this
    becomes the one that calls ``__setitem__``, not the one that calls ``__setattr__``: with the latter
    ``object.__setattr__`` would take a class for an ordinary object and write past everything. The classes derived from
    `type` have the latter; they find `type` behind them.
    """
    found = _word(id(type) + _TYPE_SETATTRO).value
    if found == _word(_word(id(_Stores) + _TYPE_MAPPING).value + _MAPPING_STORE).value:
        return
    if found != _word(id(dict_of(type)["__setattr__"]) + _WRAPPED).value:
        raise RuntimeError("this Python lays out its types in a way that is not known here: no store can be judged")
    store, delete = (_stores_of_types(dict_of(dict)[name], found) for name in ("__setitem__", "__delitem__"))

    def __setattr__(cls: type, name: Any, value: Any) -> None:
        judge(cls, name)
        store(cls, name, value)

    def __delattr__(cls: type, name: Any) -> None:
        judge(cls, name)
        delete(cls, name)

    def __setitem__(cls: Any, name: Any, value: Any) -> None:
        if type(cls) is not type:
            _refuse_item(cls, "assignment")
        judge(cls, name)
        store(cls, name, value)

    def __delitem__(cls: Any, name: Any) -> None:
        if type(cls) is not type:
            _refuse_item(cls, "deletion")
        judge(cls, name)
        delete(cls, name)

    _judge_descriptors(judge)
    with very_dict(type) as space:
        space |= {"__setattr__": __setattr__, "__delattr__": __delattr__}
        space |= {"__setitem__": Hidden(__setitem__), "__delitem__": Hidden(__delitem__)}
    pending = [type]
    while pending:
        kind = pending.pop()
        pending += type.__subclasses__(kind)
        if _word(id(kind) + _TYPE_SETATTRO).value == found:
            _word(id(kind) + _TYPE_SETATTRO).value = _word(id(_Stores) + _TYPE_SETATTRO).value
    _word(id(type) + _TYPE_SETATTRO).value = _word(_word(id(_Stores) + _TYPE_MAPPING).value + _MAPPING_STORE).value


def _judge_descriptors(judge: Judge) -> None:
    """Ask `judge` for a descriptor, too, that is called by name: ``super(Meta, Meta).__bases__.__set__(cls, bases)``.
    What the interpreter calls for an assignment is another function, and costs what it did.
    """
    store, delete = (dict_of(GetSetDescriptorType)[name] for name in ("__set__", "__delete__"))

    def __set__(self: Any, instance: Any, value: Any, /) -> None:
        if issubclass(type(instance), type):
            judge(instance, getattr(self, "__name__", None), True)
        store(self, instance, value)

    def __delete__(self: Any, instance: Any, /) -> None:
        if issubclass(type(instance), type):
            judge(instance, getattr(self, "__name__", None), True)
        delete(self, instance)

    with very_dict(GetSetDescriptorType) as space:
        space |= {"__set__": __set__, "__delete__": __delete__}


_READ: Final = {
    FunctionType: {"__builtins__", "__closure__", "__code__", "__defaults__", "__globals__", "__kwdefaults__"},
    BuiltinFunctionType: {"__self__"},
    GeneratorType: {"gi_code", "gi_frame"},
    CoroutineType: {"cr_code", "cr_frame"},
    AsyncGeneratorType: {"ag_code", "ag_frame"},
    TracebackType: {"tb_frame"},
    ForwardRef: {"__forward_code__"},
}
"""Types of Python's own → their attributes that lead away from a program."""
_READ_OF_CYTHON: Final = frozenset().union(*_READ.values()) | {
    "func_closure",
    "func_code",
    "func_defaults",
    "func_globals",
}
"""What the functions, generators and coroutines of Cython have of these."""
_RAW: Final = (GetSetDescriptorType, MemberDescriptorType)
_STORED: Final = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
"""Attributes of a function that say what it does."""
_OF_ABC: Final = vars(ABCMeta)["__subclasscheck__"].__code__
"""What compiled code asks each abstract class for its subclasses in the name of."""
Ask = Callable[[FrameType, str], None]
"""Given the frame in whose name an attribute is about to be read or stored, and its name. Raises where that may not be.
"""
_reads: list[Ask] = []
"""What `judge_attributes` was given, for types that are made later."""


def judge_attributes(reads: Ask, stores: Ask, calls: Ask) -> None:
    """Ask `reads` before an attribute that leads away from a program is read, whatever reads it, `stores` before one
    that says what a function does is stored, and `calls` before a descriptor of C is called by name. The class of a
    builtin, and a list of classes, are asked for as well.

    A library that is told a name (``object.__setattr__(self, name, value)``, an `operator.attrgetter`, a method that is
    given another self) does with it what the program could not. It is the attribute that asks who wants it here.
    """
    if _reads:
        return
    _reads.append(reads)
    for kind, read in _READ.items():
        stored = _STORED if kind is FunctionType else frozenset()
        held = dict_of(kind)
        made = {
            name: _judged(held[name], name, reads if name in read else None, stores if name in stored else None)
            for name in read | stored
        }
        with very_dict(kind) as space:
            space |= made
    subclasses, frame_of = dict_of(type)["__subclasses__"], sys._getframe

    class Subclasses:
        __slots__ = ()

        @Hidden
        def __get__(self, instance: Any, owner: Any = None) -> Any:
            frame = frame_of(1)
            if frame.f_code is not _OF_ABC or frame.f_locals["cls"] is not instance:
                reads(frame, "__subclasses__")
            return subclasses if instance is None else subclasses.__get__(instance)

    with very_dict(type) as space:
        space["__subclasses__"] = Subclasses()
    _judge_calls(calls)
    for name, module in list(sys.modules.items()):
        if name.startswith("_cython_"):
            _judge_cython(module)


def _judged(member: Any, name: str, reads: Ask | None, stores: Ask | None) -> Any:
    """What stands for an attribute: `reads` is asked where it is judged who reads it, `stores` where who stores it.

    No `property`, whose ``fget`` is a function that C code can call in the name of any frame.
    """
    frame_of, put, drop = sys._getframe, member.__set__, member.__delete__
    get = partial(read_getset if type(member) is GetSetDescriptorType else read_member, member)

    class Judged:
        __slots__ = ()

        @Hidden
        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            if reads is not None:
                reads(frame_of(1), name)
            return get(instance)

        @Hidden
        def __set__(self, instance: Any, value: Any) -> None:
            if stores is not None:
                stores(frame_of(1), name)
            put(instance, value)

        @Hidden
        def __delete__(self, instance: Any) -> None:
            if stores is not None:
                stores(frame_of(1), name)
            drop(instance)

    return Judged()


def _judge_calls(calls: Ask) -> None:
    """Ask `calls` before a descriptor of C is called by name, which gives what the attribute of that name is: of any
    function, of any class. Classes show their dicts without those of refused names, but libraries hand on what they
    copy. What the interpreter calls for an attribute is another function, and costs what it did.
    """
    frame_of = sys._getframe
    kinds = {GetSetDescriptorType: "__name__", MemberDescriptorType: "__name__", classmethod: "__func__"}
    name_or_inner = {kind: dict_of(kind)[name].__get__ for kind, name in kinds.items()}

    def replace(kind: type) -> None:
        get = dict_of(kind)["__get__"]

        def __get__(self: Any, instance: Any, owner: Any = None, /) -> Any:
            asked = self
            while issubclass(type(asked), classmethod):  # until 3.12 it calls what it holds
                asked = name_or_inner[classmethod](asked)
            if type(asked) in name_or_inner:
                calls(frame_of(1), name_or_inner[type(asked)](asked))
            return get(self, instance, owner)

        with very_dict(kind) as space:
            space["__get__"] = __get__

    for kind in kinds:
        replace(kind)


def _judge_cython(module: ModuleType) -> None:
    """Let what leads away from the types that modules of Cython share ask who wants it."""
    if not _reads:
        return
    for kind in vars(module).values():
        if issubclass(type(kind), type):
            held = dict_of(kind)
            raw = [name for name in _READ_OF_CYTHON & held.keys() if type(held[name]) in _RAW]
            made = {name: _judged(held[name], name, _reads[0], None) for name in raw}
            if made:
                with very_dict(kind) as space:
                    space |= made


def _word(address: int) -> Any:
    return ctypes.c_void_p.from_address(address)


def _refuse_item(cls: type, what: str) -> None:
    """A class of a metaclass that a program makes takes items, too: by the same function. A metaclass of C that has its
    own way to store (of ctypes, of pybind11) calls that function for an attribute.
    """
    kind = type(cls)
    if _word(id(kind) + _TYPE_SETATTRO).value == _word(id(_Stores) + _TYPE_SETATTRO).value:
        raise TypeError(f"{kind.__name__!r} object does not support item {what}")


def _stores_of_types(like: Any, function: int) -> Callable[..., None]:
    """A method of `type` that calls a function of C as `like` calls its own."""
    made: Callable[..., None] = _new_wrapper(type, _word(id(like) + _WRAPPER).value, function)
    return made


_new_wrapper: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyDescr_NewWrapper", ctypes.pythonapi)
)


@contextmanager
def very_dict(cls: type) -> Iterator[dict[str, Any]]:
    """The dict of a class itself, to change what `setattr` does not reach; what the class remembers is void then."""
    try:
        yield gc.get_referents(dict_of(cls))[0]
    finally:
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def write_to_class(cls: type, name: str, value: object) -> None:
    """Set an attribute of a class, sealed or not.

    From 3.12 on TypeError for a static one (`int`): an interpreter has a dict of its own for each, which no store
    reaches. `very_dict` does.
    """
    flags = _type_flags(cls)
    before = flags.value
    if not before & _HEAP and sys.version_info >= (3, 12):
        raise TypeError(f"{name!r} cannot be set: {cls.__name__!r} is a static type")
    flags.value = before & ~_IMMUTABLE
    if name == "__dict__":  # that of a class is an attribute of its type, which `setattr` would find
        with very_dict(cls) as space:
            space[name] = value
    else:
        setattr(cls, name, value)
    flags.value |= before & _IMMUTABLE


def make_no_more(cls: type) -> None:
    """Let nothing make instances of a class of C any more; those that are there stay."""
    with very_dict(cls) as space:
        kept = space.pop("__new__")
        _word(id(cls) + _TYPE_NEW).value = None
    del kept  # not before: what a type has looked up it remembers uncounted


def seal(cls: type) -> None:
    """Make a class immutable now, no base of others, and what its slots hold read-only."""
    for member in dict_of(cls).values():
        if type(member) is MemberDescriptorType:
            _definition_flags(member).value |= _READ_ONLY
    flags = _type_flags(cls)
    flags.value = (flags.value & ~_BASE) | _IMMUTABLE


def _type_flags(cls: type) -> ctypes.c_ulong:
    flags = ctypes.c_ulong.from_address(id(cls) + _TYPE_FLAGS)
    if flags.value != flags_of(cls):
        raise RuntimeError("this Python lays out its types in a way that is not known here: none can be sealed")
    return flags


def _definition(member: MemberDescriptorType) -> int:
    address: int = ctypes.c_void_p.from_address(id(member) + _MEMBER).value or 0
    if ctypes.c_char_p.from_address(address).value != member.__name__.encode():
        raise RuntimeError("this Python lays out its slots in a way that is not known here: no facade can be sealed")
    return address


def _definition_flags(member: MemberDescriptorType) -> ctypes.c_int:
    return ctypes.c_int.from_address(_definition(member) + _MEMBER_FLAGS)


def replace_name(facade: Facade, name: str, value: object) -> None:
    """Let a facade hold another object under a name that it has, as `unittest.mock.patch` does for a while.

    Raises AttributeError for a name that it does not hold. No name can be taken away, and none that says what it is.
    """
    member = dict_of(type(facade)).get(name)
    if type(member) is property:
        member.__set__(facade, value)
        return
    if type(member) is not MemberDescriptorType or name[:2] == "__":
        raise AttributeError(f"'{facade.__name__}.{name}' cannot be replaced")
    read_member(member, facade)
    _write(facade, member, value)


def _fill(facade: Facade, name: str, value: Any) -> None:
    """Put the value into its slot, which is empty: what is read the first time costs nothing the second."""
    member = dict_of(type(facade))[name]
    try:
        read_member(member, facade)  # another thread was first
    except AttributeError:
        _write(facade, member, value)


_set_member: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.py_object)(
    ("PyMember_SetOne", ctypes.pythonapi)
)


def _write(facade: Facade, member: MemberDescriptorType, value: object) -> None:
    """Set a slot by a copy of its definition that is not read-only: in one call of C, so that no thread comes between
    and what is held is counted.
    """
    definition = ctypes.create_string_buffer(ctypes.string_at(_definition(member), 5 * _POINTER))
    ctypes.c_int.from_buffer(definition, _MEMBER_FLAGS).value &= ~_READ_ONLY
    _set_member(id(facade), definition, value)


seal(Facade)
seal(OwnModule)
_type_flags(Hidden).value |= _METHOD | _VECTORCALL
