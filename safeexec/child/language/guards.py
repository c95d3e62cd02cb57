"""The run-time guards: what stays to be checked when the name, the template or the object is known only while running.

Each guard is a plain function whose state is in closure cells: the attributes that lead there (`__closure__`,
`__globals__`, `__self__` …) are names that the compiler and these guards refuse, and no global of this file holds
anything that a guard trusts and a guest could reach. Names are compared as exact `str`: a subclass can lie.
"""

from __future__ import annotations

import builtins
import sys
import typing
from codecs import CodecInfo
from collections.abc import Callable, Container
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

from safeexec.child.language.formats import format_guards
from safeexec.child.language.patterns import group_guard, match_guard
from safeexec.child.language.program import GuestProgram, is_namespace_of_program, leads_away
from safeexec.compiler import names
from safeexec.compiler.diagnostics import MESSAGES, hint_of
from safeexec.compiler.rules import GUARDED, PLAIN, REFUSED, Rules
from safeexec.facades.judged import Hidden
from safeexec.facades.sealed import MODULES, OwnModule
from safeexec.identity import dict_of, exact, identity, instance_dict, mro_of

Guard = Callable[..., Any]
Refuse = Callable[[str], AttributeError]
"""Makes the error that refuses an attribute of this name."""
Verdict = Callable[[Any, str, Any], Any]
"""Given an object, a guarded name, and what the object has by it."""


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

_OBJ: Final = vars(AttributeError)["obj"]
"""The descriptor, which would read the attribute of any AttributeError."""
_getattr, _setattr, _delattr, _hasattr = getattr, setattr, delattr, hasattr


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
    format_guard, formatter = format_guards(rules, refuse)
    judged, state = _judges(rules, own, refuse, assignable, formatter)

    def read(value: Any, name: str) -> Any:
        """`value.name` where `name` is guarded: the object decides."""
        return judged(value, name, _getattr(value, name))

    def vars_of(value: Any) -> Any:
        """`vars(value)`, with the error of `vars` for an object that has none."""
        if not _hasattr(value, "__dict__"):
            return vars(value)
        return read(value, "__dict__")

    def check_name(name: str) -> None:
        """Raise for a name that is refused, whatever it is asked of."""
        if rules.attribute(name) == REFUSED:
            raise refuse(name)

    def hasattr(object: Any, name: str, /) -> bool:
        name = exact(name)
        kind = rules.attribute(name) if type(name) is str else PLAIN
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
        names.GUARD_MATCH: match_guard(rules, refuse),
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
        kind = rules.attribute(name) if type(name) is str else PLAIN
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
            if type(error) is AttributeError and "rule" in vars(error):
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
            exact_name = known[type(object)][name]
        except (KeyError, TypeError):
            pass
        else:
            return _setattr(object, exact_name, value)
        return slow_setattr(object, name, value)

    def slow_setattr(target: Any, name: Any, value: Any) -> None:
        name = exact(name)
        assignable(target, name)
        kind = type(target)
        # No class with a metaclass: that may say that the class is equal to those of other objects.
        if type(name) is str and name not in _OF_BASES and type(kind) is type and not issubclass(kind, _READ_ONLY):
            if len(known) >= _KNOWN_TYPES:
                known.clear()
            _remember(known.setdefault(kind, {}), name)
        _setattr(target, name, value)

    return setattr


def _remember(table: dict[str, str], name: Any) -> None:
    if type(name) is str:
        if len(table) >= _KNOWN_NAMES:
            table.clear()
        table[name] = name


def _write_checks(rules: Rules, own: GuestProgram, refuse: Refuse) -> tuple[Guard, Callable[[Any, Any], None]]:
    """Who may be assigned to, and by which name."""

    def writable(target: Any, name: str, /) -> Any:
        """`target` if it may be assigned to: anything but a module or a class of a library."""
        if issubclass(type(target), MODULES) and not issubclass(type(target), OwnModule):
            raise AttributeError(f"assignment to '{target.__name__}.{name}' is refused: modules are read-only")
        if issubclass(type(target), CodecInfo):
            raise AttributeError(f"assignment to {name!r} is refused: codings are read-only")
        if issubclass(type(target), _OF_TYPING):
            raise AttributeError(f"assignment to {name!r} is refused: objects of typing are read-only")
        if issubclass(type(target), type) and not own.has_class(target):
            raise TypeError(f"cannot set {name!r} attribute of immutable type {target.__name__!r}")
        if name == "__mro_entries__":
            if not (own.has_function(target) or issubclass(type(target), type)):
                raise refuse(name)
        elif name == "__dict__" and makes_bases(_getattr(target, name, None)):
            raise refuse(name)
        return target

    def assignable(target: Any, name: Any) -> None:
        writable(target, name)
        if type(name) is str and (rules.attribute(name) == REFUSED or name in names.UNASSIGNABLE):
            raise refuse(name)

    return writable, assignable


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
        if own.has_function(found):
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
        while type(of) is MethodType:  # it answers with what its function has, which is anything
            of = of.__func__
        if issubclass(type(of), type):
            raise refuse("__getstate__")  # a method that copies its __dict__, called with a class
        if type(found) is dict:
            return dict(judged(owner, "__dict__", found))  # a state is no way to write
        if type(found) is not tuple:
            return found
        if len(found) == 2 and type(found[1]) is dict and (found[0] is None or type(found[0]) is dict):
            attributes, slots = found
            shown = attributes if attributes is None else judged(owner, "__dict__", attributes)
            return shown, {name: item for name, item in slots.items() if may_read(owner, name, item)}
        return tuple(judged(owner, "__dict__", item) if type(item) is dict else item for item in found)

    def may_read(owner: Any, name: Any, item: Any) -> bool:
        if isinstance(name, str) and type(name) is not str:
            return False
        kind = rules.attribute(name) if type(name) is str else PLAIN
        try:
            return kind != REFUSED and (kind == PLAIN or judged(owner, name, item) is item) and not leads_away(item)
        except AttributeError:
            return False

    def members(value: Any, name: str, found: Any) -> Any:
        return found if type(found) is not dict or _defines(value, name, found, own) else MappingProxyType(found)

    def by_name(value: Any, name: str, found: Any) -> Guard:
        return _by_name(found, name, rules, refuse, assignable, judged, own.has_function)

    def own_method(value: Any, name: str, found: Any) -> bool:
        if name == "__func__":
            return own.has_function(found)
        # Of no other type: `codecs.StreamReader` answers with the `__self__` of its stream.
        return type(value) is MethodType and own.has_function(value)

    safe_versions: dict[str, Verdict] = {
        "__dict__": lambda value, name, found: _readable_dict(value, found, rules, own, refuse, may_read),
        "__getstate__": state_of,
        "__subclasses__": lambda value, name, found: _own_subclasses(value, found, own, refuse),
        **dict.fromkeys(("_member_map_", "_value2member_map_"), members),
        **dict.fromkeys(("format", "format_map"), lambda value, name, found: formatter(found)),
        **dict.fromkeys(("__getattribute__", "__getattr__", "__setattr__", "__delattr__"), by_name),
    }
    allowed: dict[str, Verdict] = {
        "obj": lambda value, name, found: (
            not (issubclass(type(value), AttributeError) or found is _OBJ or _is_forwarded(value, name, own))
        ),
        "__wrapped__": lambda value, name, found: issubclass(type(found), type) or own.has_function(found),
        **dict.fromkeys(("__defaults__", "__kwdefaults__"), lambda value, name, found: own.has_function(value)),
        **dict.fromkeys(("__self__", "__func__"), own_method),
        **dict.fromkeys(names.OWN_ONLY, lambda value, name, found: _defines(value, name, found, own)),
        **dict.fromkeys((*names.BY_VALUE, "__mro_entries__"), lambda value, name, found: True),
    }
    return judged, state


def _readable_dict(
    value: Any,
    found: Any,
    rules: Rules,
    own: GuestProgram,
    refuse: Refuse,
    may_read: Callable[[Any, Any, Any], bool],
) -> Any:
    """The `__dict__` of an object: an instance's own, of a class what `getattr` would give, of a module nothing."""
    if issubclass(type(value), OwnModule):
        return found
    if issubclass(type(value), MODULES) or type(found) is GetSetDescriptorType:
        raise refuse("__dict__")  # the descriptor of `type`, by super(), would open any class
    if type(found) is MappingProxyType:
        shown = {"__dict__"} if issubclass(type(value), type) and own.has_class(value) else set()
        return MappingProxyType({key: item for key, item in found.items() if _is_readable(key, item, shown, rules)})
    if type(found) is not dict:
        return found
    if makes_bases(found) and not own.has_function(found["__mro_entries__"]):
        return dict(found)
    hidden = {name for name in names.OWN_ONLY & found.keys() if not _defines(value, name, found[name], own)}
    if not _CARRIERS.isdisjoint(map(identity, map(type, found.values()))):
        hidden |= {
            name
            for name, item in found.items()
            if leads_away(item) or (type(item) in _DESCRIPTORS and not may_read(value, name, item))
        }
    if wraps(value, found) and not (own.has_function(value) or own.has_class(type(value))):
        hidden |= {name for name, item in found.items() if not may_read(value, name, item)}
    return {key: item for key, item in found.items() if key not in hidden} if hidden else found


def wraps(value: Any, found: dict[Any, Any]) -> bool:
    """Whether `found` is the dict of a function, or of what stands for one, and names what a program may not read: what
    the function wraps, what compiles it.
    """
    return (type(value) is FunctionType or "__wrapped__" in found) and any(
        type(name) is str and name[:2] == "__" and name not in names.PLAIN_DUNDERS for name in found
    )


def makes_bases(found: Any) -> bool:
    """Whether this is the `__dict__` of what says itself what a class that names it as a base is made of: that of
    `typing.NamedTuple`, a function.
    """
    return type(found) is dict and "__mro_entries__" in found


def _is_readable(key: Any, item: Any, shown: Container[str], rules: Rules) -> bool:
    if type(key) is not str or leads_away(item):
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
        position = 0 if type(found) in _BOUND else 1
        if kwargs and not is_own(found):
            raise TypeError(f"{name}() takes no keyword arguments")  # a library's may take the name by any
        if len(args) > position:
            wanted = exact(args[position])
            verdict = rules.attribute(wanted) if type(wanted) is str else PLAIN
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

    method = found.__func__ if type(found) is MethodType else found
    if type(method) is FunctionType or type(method) in _OF_LIBRARIES:
        guarded.__name__, guarded.__qualname__ = method.__name__, method.__qualname__
    return guarded


def _own_subclasses(value: Any, found: Any, own: GuestProgram, refuse: Refuse) -> Callable[[], list[type]]:
    """`cls.__subclasses__` of a class of the guest; `type.__subclasses__` and those of library classes are refused."""
    if not issubclass(type(value), type) or not own.has_class(value):
        if issubclass(type(value), type):
            raise refuse("__subclasses__")
        if type(found) in (MethodDescriptorType, BuiltinMethodType):
            raise refuse("__subclasses__")  # that of `type`, by super()
        return found  # type: ignore[no-any-return]  # an ordinary attribute of an object

    def subclasses() -> list[type]:
        found: list[type] = type.__subclasses__(value)
        return [cls for cls in found if own.has_class(cls)]

    return subclasses


def _defines(value: Any, name: str, found: Any, own: GuestProgram) -> bool:
    """Tell whether the guest, and not a library, gives `value` the attribute `name`, which is `found`."""
    if not _is_harmless(found):
        return False
    cls = value if issubclass(type(value), type) else type(value)
    for wanted in (name, "__getattr__"):
        for klass in mro_of(cls):
            if wanted in dict_of(klass):
                return own.has_class(klass)
        if name in instance_dict(value):
            break
    return own.has_class(cls)


def _is_harmless(found: Any) -> bool:
    """Tell whether a name of `OWN_ONLY` gives what a program can have made: no library's method, socket or selector."""
    function = found.__func__ if type(found) is MethodType else found
    if type(function) is FunctionType:
        return is_namespace_of_program(function.__globals__)
    if type(function) in _OF_LIBRARIES:
        return False
    return not any(_is_endpoint(base) for base in mro_of(type(found)))


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
    classes = mro_of(type(value))
    if issubclass(type(value), type):
        classes = (*mro_of(value), *classes)
    if name in instance_dict(value) or any(name in dict_of(klass) for klass in classes):
        return False
    homes = [dict_of(klass).get("__module__") for klass in mro_of(type(value)) if "__getattr__" in dict_of(klass)]
    # All of them, as the first may ask the next.
    return not homes or not all(own.has(home) or str(home).partition(".")[0] == "pandas" for home in homes)


__all__ = [
    "attribute_guards",
    "makes_bases",
    "refusal",
    "wraps",
]
