"""The run-time guards: what stays to be checked when the name, the template or the object is known only while running.

Each guard is a plain function whose state is in closure cells: the attributes that lead there (`__closure__`,
`__globals__`, `__self__` …) are names that the compiler and these guards refuse, and no global of this file holds
anything that a guard trusts and a guest could reach. Names are compared as exact `str`: a subclass can lie.
"""

from __future__ import annotations

import builtins
import importlib
import sys
import typing
from collections import UserString
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from types import (
    BuiltinMethodType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final
from weakref import WeakKeyDictionary

from safeexec.compiler import names
from safeexec.compiler.diagnostics import MESSAGES, hint_of
from safeexec.compiler.rules import GUARDED, PLAIN, REFUSED, Rules
from safeexec.compiler.templates import refused_field
from safeexec.facades.judged import Ask, Hidden, Judge
from safeexec.facades.sealed import MODULES, OwnModule
from safeexec.facades.sealing import SEALED_LIBRARIES, WRITE_TO_THEMSELVES
from safeexec.identity import class_name, dict_of, dict_of_module, flags_of, identity, mro_of, qualname_of, read_getset

Guard = Callable[..., Any]
Refuse = Callable[[str], AttributeError]
"""Makes the error that refuses an attribute of this name."""
Verdict = Callable[[Any, str, Any], Any]
"""Given an object, a guarded name, and what the object has by it."""


_OF_PYBIND11: Final = "pybind11_builtins"
"""The module that the base class and the metaclass of all classes of pybind11 name, and that is none."""


class GuestProgram:
    """What the modules of one program share: their namespaces, their names, and the code that `compile` made for them.

    The names are those that they were imported by. What a module says in its ``__name__`` is the program's to write:
    ``__name__ = "sqlite3"`` would make the classes of sqlite3 its own.
    """

    __slots__ = ("compiled", "names", "spaces")

    def __init__(self, name: str, namespace: dict[str, Any]) -> None:
        self.spaces = [namespace]
        self.names = {name}
        self.compiled: WeakKeyDictionary[Any, CodeType] = WeakKeyDictionary()

    def add(self, name: str, namespace: dict[str, Any]) -> None:
        """A module has been made."""
        self.spaces.append(namespace)
        self.names.add(name)

    def remove(self, name: str, namespace: dict[str, Any]) -> None:
        """A module could not be loaded."""
        self.spaces[:] = [known for known in self.spaces if known is not namespace]
        self.names.discard(name)

    def has(self, name: str) -> bool:
        """Tell whether a class of the module `name` is the program's. It is not if a library has a package of that
        name, too, which may have been imported later: modules of the program are not in `sys.modules`.
        """
        if name not in self.names:
            return False
        top = name.partition(".")[0]
        return top == "__main__" or not (top in sys.modules or top == _OF_PYBIND11)


_KNOWN_TEMPLATES: Final = 4096
"""Templates, and characters of one, that are remembered as harmless."""
_KNOWN_NAMES: Final = 4096
_KNOWN_TYPES: Final = 512
_READ_ONLY: Final = (type, *MODULES)
"""Types of objects of which each decides by itself whether it may be assigned to."""
_OF_BASES: Final = ("__mro_entries__", "__dict__")
"""Names of which each object decides by itself: they say what a class that names it as a base is made of."""
_OF_TYPING: Final[tuple[type, ...]] = tuple(vars(typing)[name] for name in ("_BaseGenericAlias", "_SpecialForm"))
"""Types of the objects that modules put types in brackets behind (`typing.List`); see `libraries.typing_objects`."""
_DESCRIPTORS: Final = (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
"""Types of what the dict of a class of C has, and that of an object if a library has copied it."""
_CARRIERS: Final = frozenset(map(identity, (FrameType, CodeType, ModuleType, Hidden, *_DESCRIPTORS)))
"""Types of what may not come back from a guarded read, whoever holds it; see `leads_away`. By identity: a metaclass of
the program says what its classes are equal to, and would be handed what a set compares them with.
"""
MOST_UNSEEN: Final = 16
unseen: Final[list[tuple[AttributeError, int]]] = []
"""Refusals in whose place `getattr` gave its default, as `hasattr` says no, and the line: for the step's result."""
_REAL_BUILTINS: Final = vars(builtins)

_OBJ: Final = vars(AttributeError)["obj"]
"""The descriptor, which would read the attribute of any AttributeError."""
_USER_STRING: Final = (UserString.format, UserString.format_map)
_METHOD_OF_TYPE: Final = type(str.format)
_METHOD_OF_VALUE: Final = type("".format)
_getattr, _setattr, _delattr, _hasattr, _type, _str, _vars = getattr, setattr, delattr, hasattr, type, str, vars


def refusal(rules: Rules, kind: str, name: str, error: type[Any]) -> Any:
    """An exception of type `error` that says what was refused; its `rule` and `hint` are for the report of the step."""
    found = error(MESSAGES[kind].format(name))
    found.rule = rules.rule(kind, name)
    found.hint = hint_of(kind, name, rules)
    return found


def attribute_guards(rules: Rules, own: GuestProgram) -> dict[str, Guard]:
    """`getattr` and its relatives with computed names, and the guard for names that depend on the object.

    `own` are the program's modules: functions with other globals are the library's.
    """

    def refuse(name: str) -> AttributeError:
        found: AttributeError = refusal(rules, "attribute", name, AttributeError)
        return found

    writable, assignable = _write_checks(rules, own, refuse)
    format_guard, formatter = _format_guard(rules, refuse)
    judged, state = _judges(rules, own, refuse, assignable, formatter)

    def read(value: Any, name: str) -> Any:
        """`value.name` where `name` is guarded: the object decides."""
        return judged(value, name, _getattr(value, name))

    def vars_of(value: Any) -> Any:
        """`vars(value)`, with the error of `vars` for an object that has none."""
        if not _hasattr(value, "__dict__"):
            return _vars(value)
        return read(value, "__dict__")

    def check_name(name: str) -> None:
        """Raise for a name that is refused, whatever it is asked of."""
        if rules.attribute(name) == REFUSED:
            raise refuse(name)

    def hasattr(object: Any, name: str, /) -> bool:
        name = exact(name)
        kind = rules.attribute(name) if _type(name) is _str else PLAIN
        if kind == PLAIN:
            return _hasattr(object, name)
        if kind == REFUSED:
            return False
        try:
            read(object, name)
        except AttributeError:
            return False
        return True

    def delattr(object: Any, name: str, /) -> None:
        name = exact(name)
        assignable(object, name)
        _delattr(object, name)

    return {
        "getattr": _getattr_guard(rules, refuse, read),
        "setattr": _setattr_guard(assignable),
        "delattr": delattr,
        "hasattr": hasattr,
        "<vars>": vars_of,
        "<state>": state,
        "<name>": check_name,
        names.GUARD_ATTRIBUTE: read,
        names.GUARD_FORMAT: format_guard,
        names.GUARD_MATCH: _match_guard(rules, refuse),
        names.GUARD_GROUP: group_guard,
        names.GUARD_TARGET: writable,
    }


def _getattr_guard(rules: Rules, refuse: Refuse, read: Guard) -> Guard:
    """`getattr`; names that it has found plain it reads without asking again."""
    known: dict[str, str] = {}
    """Plain names read before → themselves."""

    def getattr(object: Any, name: str, /, *default: Any) -> Any:  # 2 % less than comparing with a sentinel
        try:
            exact_name = known[name]  # the stored str itself: a subclass that lies about equality gains nothing
        except (KeyError, TypeError):
            pass  # its error would be the context of what is raised in here
        else:
            return _getattr(object, exact_name, *default) if default else _getattr(object, exact_name)
        return slow_getattr(object, name, default)

    def slow_getattr(value: Any, name: Any, default: tuple[Any, ...]) -> Any:
        name = exact(name)
        kind = rules.attribute(name) if _type(name) is _str else PLAIN
        if kind == PLAIN:
            _remember(known, name)
            return _getattr(value, name, *default)
        try:
            if kind == REFUSED:
                raise refuse(name)
            return read(value, name)
        except AttributeError as error:
            if not default:
                raise
            if _type(error) is AttributeError and "rule" in _vars(error):
                unseen.append((error, sys._getframe(2).f_lineno))
                del unseen[:-MOST_UNSEEN]
        return default[0]

    return getattr


def _setattr_guard(assignable: Callable[[Any, Any], None]) -> Guard:
    """`setattr`; what it has assigned before, to objects of one type, it assigns without asking again."""
    known: dict[type, dict[str, str]] = {}
    """Type of an object that may be assigned to → the names assigned before."""

    def setattr(object: Any, name: str, value: Any, /) -> None:
        try:
            exact_name = known[_type(object)][name]
        except (KeyError, TypeError):
            pass
        else:
            return _setattr(object, exact_name, value)
        return slow_setattr(object, name, value)

    def slow_setattr(target: Any, name: Any, value: Any) -> None:
        name = exact(name)
        assignable(target, name)
        kind = _type(target)
        # No class with a metaclass: that may say that the class is equal to those of other objects.
        if _type(name) is _str and name not in _OF_BASES and _type(kind) is type and not issubclass(kind, _READ_ONLY):
            if len(known) >= _KNOWN_TYPES:
                known.clear()
            _remember(known.setdefault(kind, {}), name)
        _setattr(target, name, value)

    return setattr


def _remember(table: dict[str, str], name: Any) -> None:
    if _type(name) is _str:
        if len(table) >= _KNOWN_NAMES:
            table.clear()
        table[name] = name


def _write_checks(rules: Rules, own: GuestProgram, refuse: Refuse) -> tuple[Guard, Callable[[Any, Any], None]]:
    """Who may be assigned to, and by which name."""

    def writable(target: Any, name: str, /) -> Any:
        """`target` if it may be assigned to: anything but a module or a class of a library."""
        if issubclass(_type(target), MODULES) and not issubclass(_type(target), OwnModule):
            raise AttributeError(f"assignment to '{target.__name__}.{name}' is refused: modules are read-only")
        if issubclass(_type(target), _OF_TYPING):
            raise AttributeError(f"assignment to {name!r} is refused: objects of typing are read-only")
        if issubclass(_type(target), type) and not _is_own_class(target, own):
            raise TypeError(f"cannot set {name!r} attribute of immutable type {target.__name__!r}")
        if name == "__mro_entries__":
            if not (_is_own(target, own) or issubclass(_type(target), type)):
                raise refuse(name)
        elif name == "__dict__" and makes_bases(_getattr(target, name, None)):
            raise refuse(name)
        return target

    def assignable(target: Any, name: Any) -> None:
        writable(target, name)
        if _type(name) is _str and (rules.attribute(name) == REFUSED or name in names.UNASSIGNABLE):
            raise refuse(name)

    return writable, assignable


def judge_of_class_stores(own: GuestProgram) -> Judge:
    """Who may set and delete attributes of a class: the program those of its own, a library those of any.

    What Python's own modules store they store for who has called them: `functools.total_ordering`, a metaclass'
    ``__setattr__``. A library that calls them may have been given them by the program (``series.map(update_wrapper)``),
    and a thread, a finalizer or a callback has no caller: in their name only a class changes that its library is just
    making. While a module is loaded, its code and that of the class's library change what they like, and not what they
    call: an ``isinstance`` of theirs may be answered by a metaclass of the program. Python's own classes are immutable,
    where they do not write to themselves.

    A descriptor of C that is called by name stores in the name of any frame: of a class of the program alone.
    """

    methods: dict[tuple[int, int], tuple[bool, CodeType, type]] = {}
    """Identities of the code of a function and of a class → whether it is a method of the class, and both."""

    def means(frame: FrameType, cls: type, name: Any) -> bool:
        """Tell whether a function of a library changes this class of itself: it is a method of the class, or spells its
        name, or is a method of an object of it. A class among its arguments was given to it:
        ``Scaler.__init__(DataFrame)``. What the class has under this name may take itself away: it is asked once.
        """
        code = frame.f_code
        found = frame.f_locals
        given = [found.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        first = given[0] if given else None
        if first is not None and _type(name) is _str and dict_of(cls).get(name) is first:
            return True
        if all(item is not cls for item in given):
            own_name = class_name(cls)
            if any(own_name in spelt for spelt in (code.co_names, code.co_varnames, code.co_freevars)):
                return True
            # A method of an object of the program may have given the class: ``copy`` of a frame, the frame's class.
            if any(_is_name_of(dict_of(_type(item)).get("__module__"), own) for item in given):
                return False
            return any(base is cls for base in mro_of(_type(first)))
        key = identity(code), identity(cls)
        if key not in methods:
            methods[key] = _is_method(frame, cls), code, cls
        return first is cls and methods[key][0]

    def judge(cls: type, name: Any, is_called: bool = False) -> None:
        home: Any = dict_of(cls).get("__module__")
        if _type(home) is not _str or own.has(home):  # without a module: what `sympy.Function("f")` makes
            return
        library = home.partition(".")[0]
        if library in SEALED_LIBRARIES:
            if (home, class_name(cls)) not in WRITE_TO_THEMSELVES:
                return
        elif library not in sys.modules and library != _OF_PYBIND11:
            return
        frame: FrameType | None = None if is_called else sys._getframe()
        is_direct = is_own_code = True
        while frame is not None and not is_of_program(frame):
            storing = _str(frame.f_globals.get("__name__"))
            root = storing.partition(".")[0]
            if root != "safeexec":
                if is_direct and (root not in SEALED_LIBRARIES or storing == home) and means(frame, cls, name):
                    return
                is_loader = storing == "importlib._bootstrap"
                if is_loader and is_own_code:
                    return
                if (root == library or (is_loader and _is_loading(home))) and not _is_found(cls, home):
                    return
                is_direct, is_own_code = False, is_own_code and root in (library, *_STORE_FOR_OTHERS)
            frame = frame.f_back
        raise TypeError(f"cannot set {name!r} attribute of immutable type {class_name(cls)!r}")

    return judge


def judges_of_attributes(rules: Rules) -> tuple[Ask, Ask, Ask]:
    """Who may read what leads away from a program, who may store what says what a function does, and who may call a
    descriptor of C by name.

    Code of Python and of libraries may read and store what it spells; what it was told it does not spell. A descriptor
    of a name that is not plain is called by nobody but `inspect`, and modules that are being loaded.

    Compiled code asks in the name of the frame that has called it, also what a program has that frame call.
    """

    def reads(frame: FrameType, name: str) -> None:
        if name in frame.f_code.co_names and not is_of_program(frame):
            return
        if name == "__code__" and _is_place(frame, _CALL_FORTRAN):
            return
        if not _spells(frame, name, rules):
            raise refusal(rules, "attribute", name, AttributeError)

    def stores(frame: FrameType, name: str) -> None:
        if not _spells(frame, name, rules):
            raise refusal(rules, "attribute", name, AttributeError)

    def calls(frame: FrameType, name: str) -> None:
        if rules.attribute(name) == PLAIN:
            return
        if name != "__dict__" or not (_is_place(frame, _LOOK_STATICALLY) or _is_body(frame)):
            raise refusal(rules, "attribute", name, AttributeError)

    return reads, stores, calls


_CALL_FORTRAN: Final = {
    "scipy.integrate._ode": ("run",),
    "scipy.linalg._decomp_qz": ("_qz",),
    "scipy.linalg._decomp_schur": ("schur",),
    "scipy.optimize._cobyla_py": ("_minimize_cobyla",),  # the older ones
}
"""Modules and their functions that give functions to Fortran, which looks into the code for the number of arguments."""
_LOOK_STATICALLY: Final = {"inspect": ("_shadowed_dict", "_shadowed_dict_from_weakref_mro_tuple")}
"""The same of those that read the dict of a class past its metaclass."""


def _is_place(frame: FrameType, places: Mapping[str, Container[str]]) -> bool:
    module: Any = frame.f_globals.get("__name__")
    return _type(module) is _str and frame.f_code.co_name in places.get(module, ()) and not is_of_program(frame)


def _is_body(frame: FrameType) -> bool:
    """Tell the code of a library's module that is being loaded."""
    home: Any = frame.f_globals.get("__name__")
    module = sys.modules.get(home) if _type(home) is _str else None
    if not isinstance(module, ModuleType) or dict_of_module(module) is not frame.f_globals:
        return False
    return frame.f_code.co_name == "<module>" and _is_loading(home) and not is_of_program(frame)


def is_of_program(frame: FrameType) -> bool:
    """Tell whether guest code runs in the frame: a library that calls `locals` or `eval` shows nothing of its own."""
    return names.GUARD_ATTRIBUTE in frame.f_builtins


def _spells(frame: FrameType, name: str, rules: Rules) -> bool:
    """Tell whether the code of a frame spells the name of an attribute; that of a program, whether its policy allows
    it. Reads and stores of libraries that are guarded stand for those who call them.
    """
    if frame.f_globals is globals() and (asked := _GUARDS.get(frame.f_code.co_qualname)) is not None:
        return bool(frame.f_locals[asked] == name)  # what it gives is judged there
    while _stands_for_caller(frame):
        assert frame.f_back is not None
        frame = frame.f_back
    if is_of_program(frame):
        return rules.attribute(name) == PLAIN
    code = frame.f_code
    return name in code.co_names or name in constants(code)


def _stands_for_caller(frame: FrameType) -> bool:
    """Tell whether it is one of the guarded reads and stores of libraries. A program calls its own functions, and
    itself, what it likes.
    """
    if is_of_program(frame) or frame.f_code.co_qualname not in _FOR_LIBRARIES:
        return False
    return frame.f_globals.get("__name__") == _LIBRARY_READS


# A function is known by its code's name and module: it is asked of while a frame of it stands above, in a place that
# has no other hold of it. So these names follow the functions, which are in this module and in `libraries.reads`.
_GUARDS: Final = {"attribute_guards.<locals>.read": "name", "_by_name.<locals>.guarded": "wanted"}
"""Functions of this module that read what they judge then → their variable that has the name."""
_LIBRARY_READS: Final = "safeexec.child.language.libraries.reads"
_FOR_LIBRARIES: Final = frozenset(
    {"library_getattr.<locals>.getattr", "library_setters.<locals>.setattr", "library_setters.<locals>.delattr"}
)


def constants(value: Any) -> Iterator[str]:
    """The texts among the constants of code, and of the code within it."""
    if isinstance(value, CodeType):
        for constant in value.co_consts:
            yield from constants(constant)
    elif isinstance(value, tuple | frozenset):
        for item in value:
            yield from constants(item)
    elif isinstance(value, str):
        yield value


def _is_method(frame: FrameType, cls: type) -> bool:
    """Tell whether a function that has this class as its first argument is a method of classes, and of this one."""
    code = frame.f_code
    owner: Any = None
    found: Any = None
    space: Any = frame.f_globals
    for part in code.co_qualname.split("."):
        owner, found = found, space.get(part)
        space = dict_of(found) if issubclass(_type(found), type) else {}
    if not issubclass(_type(owner), type):
        return False
    of_class = _type(found) is classmethod or code.co_name in _OF_CLASSES
    return any(base is owner for base in mro_of(cls if of_class else _type(cls)))


_OF_CLASSES: Final = ("__new__", "__init_subclass__", "__class_getitem__")
"""Methods that are given the class, and that no decorator says so of."""


def _is_found(cls: type, home: str) -> bool:
    """Tell whether a module has the class under its name: not one that is just being made."""
    module = sys.modules.get(home)
    space: Any = dict_of_module(module) if isinstance(module, ModuleType) else {}
    found: Any = None
    for part in qualname_of(cls).split("."):
        found = space.get(part)
        space = dict_of(found) if issubclass(_type(found), type) else {}
    return found is cls


_STORE_FOR_OTHERS: Final = ("dataclasses", "enum")
"""Modules of Python that store into a class for the library that has it, with no call in between that would be answered
by a program.
"""


def _is_loading(home: str) -> bool:
    """Tell whether a module is being loaded: one of C, which has no frame that the loader would stand behind."""
    module = sys.modules.get(home)
    spec: Any = dict_of_module(module).get("__spec__") if isinstance(module, ModuleType) else None
    return bool(_getattr(spec, "_initializing", module is None))


def _judges(
    rules: Rules,
    own: GuestProgram,
    refuse: Refuse,
    assignable: Callable[[Any, Any], None],
    formatter: Callable[[Any], Any],
) -> tuple[Verdict, Callable[[Any, Any], Any]]:
    """What judges a guarded attribute that has been read, and what judges the state of an object."""

    def judged(value: Any, name: str, found: Any) -> Any:
        """`found`, which is `value.name`, or a safe version of it; what leads away from the program is refused."""
        if leads_away(found):
            raise refuse(name)
        if (safe := safe_versions.get(name)) is not None:
            return safe(value, name, found)
        if allowed[name](value, name, found):
            return found
        raise refuse(name)

    def state_of(value: Any, name: str, found: Any) -> Any:
        """The method `__getstate__`, which is `found`; that of a library gives its state as the program may see it."""
        if _is_own(found, own):
            return found

        def getstate(*self: Any) -> Any:
            return state(self[0] if self else _getattr(found, "__self__", value), found(*self))

        # No function: `inspect.isfunction` is asked of every attribute, and the method of `object` is none. A program
        # reads what a `partial` was given: here that is `getstate` alone.
        return partial(getstate)

    def state(owner: Any, found: Any) -> Any:
        """The state of an object as far as the program could read it. The names of its slots are a list of its class,
        which the program writes: each is an attribute that is read.
        """
        of = owner
        while _type(of) is MethodType:  # it answers with what its function has, which is anything
            of = of.__func__
        if issubclass(_type(of), type):
            raise refuse("__getstate__")  # a method that copies its __dict__, called with a class
        if _type(found) is dict:
            return dict(judged(owner, "__dict__", found))  # a state is no way to write
        if _type(found) is not tuple:
            return found
        if len(found) == 2 and _type(found[1]) is dict and (found[0] is None or _type(found[0]) is dict):
            attributes, slots = found
            shown = attributes if attributes is None else judged(owner, "__dict__", attributes)
            return shown, {name: item for name, item in slots.items() if may_read(owner, name, item)}
        return tuple(judged(owner, "__dict__", item) if _type(item) is dict else item for item in found)

    def may_read(owner: Any, name: Any, item: Any) -> bool:
        if isinstance(name, _str) and _type(name) is not _str:
            return False
        kind = rules.attribute(name) if _type(name) is _str else PLAIN
        try:
            return kind != REFUSED and (kind == PLAIN or judged(owner, name, item) is item) and not leads_away(item)
        except AttributeError:
            return False

    def by_name(value: Any, name: str, found: Any) -> Guard:
        return _by_name(found, name, rules, refuse, assignable, judged, lambda method: _is_own(method, own))

    def own_method(value: Any, name: str, found: Any) -> bool:
        if name == "__func__":
            return _is_own(found, own)
        # Of no other type: `codecs.StreamReader` answers with the `__self__` of its stream.
        return _type(value) is MethodType and _is_own(value, own)

    safe_versions: dict[str, Verdict] = {
        "__dict__": lambda value, name, found: _readable_dict(value, found, rules, own, refuse, may_read),
        "__getstate__": state_of,
        "__subclasses__": lambda value, name, found: _own_subclasses(value, found, own, refuse),
        **dict.fromkeys(("format", "format_map"), lambda value, name, found: formatter(found)),
        **dict.fromkeys(("__getattribute__", "__getattr__", "__setattr__", "__delattr__"), by_name),
    }
    allowed: dict[str, Verdict] = {
        "obj": lambda value, name, found: (
            not (issubclass(_type(value), AttributeError) or found is _OBJ or _is_forwarded(value, name, own))
        ),
        "__wrapped__": lambda value, name, found: issubclass(_type(found), type) or _is_own(found, own),
        **dict.fromkeys(("__defaults__", "__kwdefaults__"), lambda value, name, found: _is_own(value, own)),
        **dict.fromkeys(("__self__", "__func__"), own_method),
        **dict.fromkeys(names.OWN_ONLY, lambda value, name, found: _defines(value, name, found, own)),
        **dict.fromkeys((*names.BY_VALUE, "__mro_entries__"), lambda value, name, found: True),
    }
    return judged, state


def exact(name: Any) -> Any:
    """`name` as an exact `str` if it is a string of any kind; anything else as it is, for CPython's own TypeError."""
    return _str.__str__(name) if isinstance(name, _str) and _type(name) is not _str else name


def group_guard(types: Any, several: bool) -> Any:
    """`types`, with which a handler of `except*` matches the exception in flight. Refuses a group that would split
    itself: CPython does not check what its `split` returns (crashes of 3.11.7, 3.12.1, 3.13.0 reproduced). Of `several`
    handlers the second is given a group that `derive` has made.

    What a class says of itself is its own word: this looks into its dict. Stands around the types, so that nothing runs
    between the look and the match but another thread.
    """
    error = sys.exception()
    kind = _type(error)
    if issubclass(kind, BaseExceptionGroup):
        own = {"split", "__getattribute__", "derive"} if several else {"split", "__getattribute__"}
        spaces = [dict_of(klass) for klass in mro_of(kind) if not any(klass is known for known in _GROUPS)]
        for space in (*spaces, _instance_dict(error)):
            if any(_type(key) is not _str or key in own for key in space):
                raise TypeError(f"{class_name(kind)} splits or derives groups itself, which is refused in except*")
    return types


_GROUPS: Final = (BaseExceptionGroup, ExceptionGroup, Exception, BaseException, object)


def _format_guard(rules: Rules, refuse: Refuse) -> tuple[Guard, Guard]:
    """The `format` to call of a template that is not a literal, and a guard for `format` and `format_map` as values.

    Each template is read once. What counts is the method that was found, not what the object or its class claims.
    """
    harmless: dict[str, Callable[..., str]] = {}
    """Template read before → its own `format`."""
    unbound = (_str.format, _str.format_map)

    def learn(template: str) -> None:
        field = refused_field(template, rules)
        if field is not None:
            raise refuse(field)
        if len(harmless) >= _KNOWN_TEMPLATES:
            harmless.clear()
        if len(template) <= _KNOWN_TEMPLATES:
            harmless[template] = template.format

    def formatter(found: Any) -> Any:
        """The method `found`, which reads its template first if it is one of `str`."""
        if _type(found) is _METHOD_OF_TYPE and found in unbound:

            def unbound_format(*args: Any, **kwargs: Any) -> Any:
                if args and isinstance(args[0], _str):
                    args = (exact(args[0]), *args[1:])
                    learn(args[0])
                return found(*args, **kwargs)

            return unbound_format
        if _type(found) is MethodType and found.__func__ in _USER_STRING:
            found = _getattr(exact(found.__self__.data), found.__func__.__name__)
        if _type(found) is FunctionType and found in _USER_STRING:
            return lambda self, *args, **kwargs: formatter(_getattr(self, found.__name__))(*args, **kwargs)
        if _type(found) is not _METHOD_OF_VALUE or not isinstance(found.__self__, _str):
            return found
        template = exact(found.__self__)
        by_template = _getattr(template, found.__name__)

        def bound_format(*args: Any, **kwargs: Any) -> Any:
            learn(template)
            return by_template(*args, **kwargs)

        return bound_format

    def guarded_format(value: Any, /) -> Any:
        if _type(value) is not _str:  # a subclass may have a `format` or a hash of its own
            return formatter(value.format)
        try:
            return harmless[value]
        except KeyError:
            pass  # its error would be the context of what is raised in here
        learn(value)
        return value.format

    return guarded_format, formatter


def _match_guard(rules: Rules, refuse: Refuse) -> Guard:
    """What a match statement matches with in place of a class: the interpreter looks `__match_args__` up in it."""
    known: dict[int, tuple[type, Any, type]] = {}
    """Identity of a class → itself, the `__match_args__` that it had, and what stands for it."""

    def guarded_class(cls: Any, /) -> Any:
        kind = _type(cls)
        if (kind is type and cls in _MATCHED_WHOLE) or not issubclass(kind, type):  # CPython has a TypeError for these
            return cls
        arguments = _getattr(cls, "__match_args__", None)
        found = known.get(identity(cls))
        if found is not None and found[1] is arguments:
            return found[2]
        if arguments is not None and _type(arguments) is not tuple:
            got = _type(arguments).__name__
            raise TypeError(f"{class_name(cls)}.__match_args__ must be a tuple (got {got})")
        for name in arguments or ():
            if _type(name) is _str and rules.attribute(name) != PLAIN:
                raise refuse(name)
        made = _stand_in(cls, arguments)
        if len(known) >= _KNOWN_TYPES:
            known.clear()
        known[identity(cls)] = cls, arguments, made
        return made

    return guarded_class


_MATCHED_WHOLE: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional part is the object itself; these never change."""
_MATCH_SELF: Final = 1 << 22
"""The flag (`_Py_TPFLAGS_MATCH_SELF`) that says so, also of classes derived from them."""


def _stand_in(cls: type, arguments: tuple[Any, ...] | None) -> type:
    """A class that has the instances of `cls` and these `__match_args__`, whatever becomes of `cls`."""

    class Meta(type):
        def __instancecheck__(self, instance: object) -> bool:
            return isinstance(instance, cls)

    bases = (list,) if flags_of(cls) & _MATCH_SELF else ()
    names = {} if arguments is None else {"__match_args__": arguments}
    return Meta(class_name(cls), bases, {"__slots__": (), **names})


def _readable_dict(
    value: Any,
    found: Any,
    rules: Rules,
    own: GuestProgram,
    refuse: Refuse,
    may_read: Callable[[Any, Any, Any], bool],
) -> Any:
    """The `__dict__` of an object: an instance's own, of a class what `getattr` would give, of a module nothing."""
    if issubclass(_type(value), OwnModule):
        return found
    if issubclass(_type(value), MODULES) or _type(found) is GetSetDescriptorType:
        raise refuse("__dict__")  # the descriptor of `type`, by super(), would open any class
    if _type(found) is MappingProxyType:
        shown = {"__dict__"} if issubclass(_type(value), type) and _is_own_class(value, own) else set()
        return MappingProxyType({key: item for key, item in found.items() if _is_readable(key, item, shown, rules)})
    if _type(found) is not dict:
        return found
    if makes_bases(found) and not _is_own(found["__mro_entries__"], own):
        return dict(found)
    hidden = {name for name in names.OWN_ONLY & found.keys() if not _defines(value, name, found[name], own)}
    if not _CARRIERS.isdisjoint(map(identity, map(_type, found.values()))):
        hidden |= {
            name
            for name, item in found.items()
            if leads_away(item) or (_type(item) in _DESCRIPTORS and not may_read(value, name, item))
        }
    if wraps(value, found) and not (_is_own(value, own) or _is_own_class(_type(value), own)):
        hidden |= {name for name, item in found.items() if not may_read(value, name, item)}
    return {key: item for key, item in found.items() if key not in hidden} if hidden else found


def wraps(value: Any, found: dict[Any, Any]) -> bool:
    """Whether `found` is the dict of a function, or of what stands for one, and names what a program may not read: what
    the function wraps, what compiles it.
    """
    return (_type(value) is FunctionType or "__wrapped__" in found) and any(
        _type(name) is _str and name[:2] == "__" and name not in names.PLAIN_DUNDERS for name in found
    )


def makes_bases(found: Any) -> bool:
    """Whether this is the `__dict__` of what says itself what a class that names it as a base is made of: that of
    `typing.NamedTuple`, a function.
    """
    return _type(found) is dict and "__mro_entries__" in found


def _is_readable(key: Any, item: Any, shown: Container[str], rules: Rules) -> bool:
    if _type(key) is not _str or leads_away(item):
        return False
    if key == "obj":
        return item is not _OBJ
    return key in shown or key in names.BY_VALUE or rules.attribute(key) == PLAIN


def _by_name(
    found: Any,
    name: str,
    rules: Rules,
    refuse: Refuse,
    assignable: Callable[[Any, Any], None],
    judged: Verdict,
    is_own: Callable[[Any], bool],
) -> Guard:
    """`__getattribute__` and its kind, bound or not: the name they are called with is judged like that of `getattr`."""
    sets = name in ("__setattr__", "__delattr__")

    def guarded(*args: Any, **kwargs: Any) -> Any:
        # Bound, the method knows its object; unbound, it is the first argument.
        position = 0 if _type(found) in _BOUND else 1
        if kwargs and not is_own(found):
            raise TypeError(f"{name}() takes no keyword arguments")  # a library's may take the name by any
        if len(args) > position:
            wanted = exact(args[position])
            verdict = rules.attribute(wanted) if _type(wanted) is _str else PLAIN
            if verdict == REFUSED:
                raise refuse(wanted)
            owner = args[0] if position else _getattr(found, "__self__", None)
            if sets:
                assignable(owner, wanted)
            args = (*args[:position], wanted, *args[position + 1 :])
            if verdict == GUARDED and not sets:
                return judged(owner, wanted, found(*args, **kwargs))
            if leads_away(value := found(*args, **kwargs)):  # past the class of a module that keeps it back
                raise refuse(wanted)
            return value
        return found(*args, **kwargs)

    method = found.__func__ if _type(found) is MethodType else found
    if _type(method) is FunctionType or _type(method) in _OF_LIBRARIES:
        guarded.__name__, guarded.__qualname__ = method.__name__, method.__qualname__
    return guarded


def _own_subclasses(value: Any, found: Any, own: GuestProgram, refuse: Refuse) -> Callable[[], list[type]]:
    """`cls.__subclasses__` of a class of the guest; `type.__subclasses__` and those of library classes are refused."""
    if not issubclass(_type(value), type) or not _is_own_class(value, own):
        if issubclass(_type(value), type):
            raise refuse("__subclasses__")
        if _type(found) in (MethodDescriptorType, BuiltinMethodType):
            raise refuse("__subclasses__")  # that of `type`, by super()
        return found  # type: ignore[no-any-return]  # an ordinary attribute of an object

    def subclasses() -> list[type]:
        found: list[type] = type.__subclasses__(value)
        return [cls for cls in found if _is_own_class(cls, own)]

    return subclasses


def _is_own_class(cls: type, own: GuestProgram) -> bool:
    """Tell whether guest code defined the class: by `__module__`, which no program sets of a library's class."""
    return _is_name_of(dict_of(cls).get("__module__"), own)


def _is_name_of(module: Any, own: GuestProgram) -> bool:
    """Tell whether a module of the program has this name."""
    return _type(module) is _str and own.has(module)


def _defines(value: Any, name: str, found: Any, own: GuestProgram) -> bool:
    """Tell whether the guest, and not a library, gives `value` the attribute `name`, which is `found`."""
    if not _is_harmless(found):
        return False
    cls = value if issubclass(_type(value), type) else _type(value)
    for wanted in (name, "__getattr__"):
        for klass in mro_of(cls):
            if wanted in dict_of(klass):
                return _is_own_class(klass, own)
        if name in _instance_dict(value):
            break
    return _is_own_class(cls, own)


def _is_harmless(found: Any) -> bool:
    """Tell whether a name of `OWN_ONLY` gives what a program can have made: no library's method, socket or selector."""
    function = found.__func__ if _type(found) is MethodType else found
    if _type(function) is FunctionType:
        return names.GUARD_ATTRIBUTE in _keys(function.__globals__.get("__builtins__"))
    if _type(function) in _OF_LIBRARIES:
        return False
    return not any(_is_endpoint(base) for base in mro_of(_type(found)))


def _is_endpoint(base: type) -> bool:
    return any(base is vars(sys.modules.get(module, builtins)).get(name) for module, name in _ENDPOINTS)


_OF_LIBRARIES: Final = (
    BuiltinMethodType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
_BOUND: Final = (MethodType, MethodWrapperType, BuiltinMethodType)
_ENDPOINTS: Final = (("_socket", "socket"), ("selectors", "BaseSelector"), ("select", "epoll"), ("select", "poll"))
"""Modules and their classes that no policy gives: objects of a library lead to instances of these."""


def _is_forwarded(value: Any, name: str, own: GuestProgram) -> bool:
    """Tell whether a library's proxy answers with what another object has: it says nothing about that object's type.

    A column of a DataFrame is the DataFrame's own.
    """
    classes = mro_of(_type(value))
    if issubclass(_type(value), type):
        classes = (*mro_of(value), *classes)
    if name in _instance_dict(value) or any(name in dict_of(klass) for klass in classes):
        return False
    homes = [dict_of(klass).get("__module__") for klass in mro_of(_type(value)) if "__getattr__" in dict_of(klass)]
    # All of them, as the first may ask the next.
    return not homes or not all(_is_name_of(home, own) or _str(home).partition(".")[0] == "pandas" for home in homes)


def _instance_dict(value: Any) -> dict[Any, Any]:
    """The dict of the object itself, whatever its class or a proxy says is one."""
    for klass in mro_of(_type(value)):
        descriptor: Any = dict_of(klass).get("__dict__")
        if _type(descriptor) is GetSetDescriptorType:
            found = read_getset(descriptor, value)
            return found if _type(found) is dict else {}
    return {}


def leads_away(found: Any) -> bool:
    """Tell a frame, a code object, a module that is no facade, the namespace of one, what loads modules, and what
    stores into any class, whoever holds it.

    Modules of a plugin are the guest's own: their builtins hold the guards.
    """
    kind = _type(found)
    if kind is dict:
        return (
            found.get("__import__") is _REAL_BUILTINS["__import__"]
            or "__builtins__" in found
            or names.GUARD_ATTRIBUTE in found
        )
    if issubclass(kind, ModuleType):
        space = dict_of_module(found)
        return space is _REAL_BUILTINS or names.GUARD_ATTRIBUTE not in _keys(space.get("__builtins__"))
    if identity(kind) in _LOADERS or identity(found) in _LOADERS:
        return True
    return issubclass(kind, FrameType) or issubclass(kind, CodeType) or kind is Hidden


_LOADERS: Final = frozenset(
    identity(value)
    for name in ("_frozen_importlib", "_frozen_importlib_external", "zipimport")
    for value in vars(importlib.import_module(name)).values()
    if issubclass(_type(value), type) and dict_of(value).get("__module__") in (name, "zipimport")
)
"""Classes of what finds, describes and loads modules, by identity: a loader gives code and modules to whoever asks."""


def _keys(value: Any) -> Container[str]:
    return value if _type(value) is dict else ()


def _is_own(value: Any, own: GuestProgram) -> bool:
    """Tell whether `value` is a function or method that guest code defined."""
    if _type(value) is MethodType:
        value = value.__func__
    return _type(value) is FunctionType and any(value.__globals__ is space for space in own.spaces)


__all__ = [
    "GuestProgram",
    "attribute_guards",
    "constants",
    "exact",
    "group_guard",
    "is_of_program",
    "judge_of_class_stores",
    "judges_of_attributes",
    "leads_away",
    "makes_bases",
    "refusal",
    "wraps",
]
