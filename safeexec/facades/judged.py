"""Who may store in a class, and who may read what leads away: the class, and the attribute, ask for it.

Classes of libraries are changed by libraries alone: see `judge_class_stores`. What leads away from a program is read by
those who may: see `judge_attributes`.
"""

from __future__ import annotations

import ctypes
import sys
from abc import ABCMeta
from collections.abc import Callable
from functools import partial
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    TracebackType,
)
from typing import Any, Final, ForwardRef, NoReturn

from safeexec.facades.layout import (
    MAPPING_STORE,
    METHOD,
    TYPE_MAPPING,
    TYPE_SETATTRO,
    VECTORCALL,
    WRAPPED,
    WRAPPER,
    type_flags,
    very_dict,
    word,
)
from safeexec.identity import class_name, dict_of, read_getset, read_member

Judge = Callable[..., None]
"""Given a class and the name of an attribute that is about to be set or deleted, and whether a descriptor is called for
it. Raises where that may not be.
"""
Ask = Callable[[FrameType, str], None]
"""Given the frame in whose name an attribute is about to be read or stored, and its name. Raises where that may not be.
"""


class Hidden(partial[Any]):
    """What the interpreter alone calls, as a method of a class, and nobody finds there: C code that a program has a
    library call would read and store in the library's name.
    """

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        kind = type(instance) if owner is None else owner
        raise AttributeError(f"{class_name(kind)!r} object has no attribute {self.func.__name__!r}")


class Stores:
    """A pattern: its stores and comparisons are methods of Python. So its slots hold the functions of CPython that call
    such methods (``slot_tp_setattro``, ``slot_mp_ass_subscript``, ``slot_tp_richcompare``), and other classes are given
    these.
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
    found = word(id(type) + TYPE_SETATTRO).value
    if found == word(word(id(Stores) + TYPE_MAPPING).value + MAPPING_STORE).value:
        return
    if found != word(id(dict_of(type)["__setattr__"]) + WRAPPED).value:
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
        if word(id(kind) + TYPE_SETATTRO).value == found:
            word(id(kind) + TYPE_SETATTRO).value = word(id(Stores) + TYPE_SETATTRO).value
    word(id(type) + TYPE_SETATTRO).value = word(word(id(Stores) + TYPE_MAPPING).value + MAPPING_STORE).value


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


def _refuse_item(cls: type, what: str) -> None:
    """A class of a metaclass that a program makes takes items, too: by the same function. A metaclass of C that has its
    own way to store (of ctypes, of pybind11) calls that function for an attribute.
    """
    kind = type(cls)
    if word(id(kind) + TYPE_SETATTRO).value == word(id(Stores) + TYPE_SETATTRO).value:
        raise TypeError(f"{kind.__name__!r} object does not support item {what}")


def _stores_of_types(like: Any, function: int) -> Callable[..., None]:
    """A method of `type` that calls a function of C as `like` calls its own."""
    made: Callable[..., None] = _new_wrapper(type, word(id(like) + WRAPPER).value, function)
    return made


_new_wrapper: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyDescr_NewWrapper", ctypes.pythonapi)
)
_READ: Final = {
    FunctionType: {"__builtins__", "__closure__", "__code__", "__defaults__", "__globals__", "__kwdefaults__"},
    BuiltinFunctionType: {"__self__"},
    GeneratorType: {"gi_code", "gi_frame"},
    CoroutineType: {"cr_code", "cr_frame"},
    AsyncGeneratorType: {"ag_code", "ag_frame"},
    TracebackType: {"tb_frame"},
    ForwardRef: {"__forward_code__"},
    AttributeError: {"obj"},
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
            judge_cython(module)


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


def judge_methods(kind: type, methods: tuple[str, ...]) -> None:
    """Ask who reads methods of a class, too; `judge_attributes` has said who is asked."""
    held = dict_of(kind)
    made = {name: _judged_method(held[name], name, _reads[0]) for name in methods if name in held}
    with very_dict(kind) as space:
        space |= made


def _judged_method(method: Any, name: str, reads: Ask) -> Any:
    """What stands for a method: `reads` is asked before anybody is given it."""
    frame_of = sys._getframe
    get = _get_of_class if type(method) is classmethod else dict_of(type(method))["__get__"]

    class JudgedMethod:
        __slots__ = ()

        @Hidden
        def __get__(self, instance: Any, owner: Any = None) -> Any:
            reads(frame_of(1), name)
            return get(method, instance, owner)

    return JudgedMethod()


_get_of_class: Final = dict_of(classmethod)["__get__"]
"""As it is before a call of it is judged."""


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


def judge_cython(module: ModuleType) -> None:
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


# CPython then calls it as it calls a function: with the object before the arguments, without `__get__`, which refuses.
type_flags(Hidden).value |= METHOD | VECTORCALL
