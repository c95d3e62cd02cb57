"""The objects that guest code has in place of modules. None of them can be changed, in whatever way one tries.

A facade is the only instance of a class of its own, with one slot for each name. The class is marked immutable and its
slots read-only where CPython itself looks (``tp_flags`` of the class, the flags of each member), so that `setattr`,
``object.__setattr__``, the slot's own ``__set__``, a ``__class__`` of the same layout, a frozen dataclass' ``__init__``
and `functools.cached_property` all end in CPython's refusal. There is no ``__dict__`` to write into.

A slot is read by CPython's specialised instruction: from 3.12 on also where a ``__getattr__`` stands behind it (25 ns,
as an attribute of a module); on 3.11 with one 38 ns, where a module with a ``__getattr__`` costs 47.
"""

from __future__ import annotations

import ctypes
import gc
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType, MemberDescriptorType, ModuleType
from typing import Any, Final, NoReturn

from safeexec.facades.layout import BASE, MEMBER_FLAGS, POINTER, READ_ONLY, seal, slot_definition, type_flags
from safeexec.identity import dict_of, read_member

Resolve = Callable[[str], Any]


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
    """The class of one module. No program may derive from a facade: a subclass could move the slots that `replace_name`
    writes to. So the flag that allows it is set for the call of `type` alone. C code makes the four calls, and no other
    thread and no finalizer runs in between.
    """
    flags = type_flags(base)
    closed = flags.value & ~BASE
    collects = gc.isenabled()
    steps: tuple[Callable[[], Any], ...] = (
        gc.disable,
        partial(setattr, flags, "value", closed | BASE),
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
    definition = ctypes.create_string_buffer(ctypes.string_at(slot_definition(member), 5 * POINTER))
    ctypes.c_int.from_buffer(definition, MEMBER_FLAGS).value &= ~READ_ONLY
    _set_member(id(facade), definition, value)


seal(Facade)
seal(OwnModule)
