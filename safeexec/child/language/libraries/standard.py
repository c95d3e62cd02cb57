"""Single modules of the standard library: what each reads, keeps or gives away beyond what the other modules close."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import partial
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn

from safeexec.child.language.guards import refusal
from safeexec.child.language.libraries.patching import change, put, replace_everywhere
from safeexec.compiler.rules import REFUSED, Rules
from safeexec.facades.layout import make_no_more, very_dict, write_to_class
from safeexec.facades.replacements.attributes import attrgetter, check_states, methodcaller
from safeexec.facades.replacements.checked import checked_getattr
from safeexec.identity import dict_of, exact, identity, mro_of

_getattr, _type = getattr, type


def judge(rules: Rules, given: dict[str, Any]) -> None:
    """What is for a process that runs guest code alone. `given` are the builtins of the program."""
    sys.displayhook = _display
    for module in ("configparser", "xml.etree.ElementTree"):  # they hand on what they have opened, to a method
        put(module, "open", lambda: given.get("open", partial(_refuse_open, rules)))


def guard(rules: Rules) -> None:
    change("_decimal", _keep_context)
    change("codecs", _check_streams)
    change("copy", check_states)
    change("dataclasses", _keep_fields)
    change("enum", _check_members, rules)
    put("enum", "pickle_by_enum_name", lambda: pickle_by_enum_name)
    put("functools", "set", lambda: _Identities)
    change("functools", _check_cached_property)
    change("functools", _check_partialmethod)
    change("_struct", _keep_layout)
    change("io", _copy_buffers)
    change("linecache", _keep_lines)
    change("mimetypes", lambda mimetypes: mimetypes.knownfiles.clear())  # no files of the machine
    change("operator", _close_getters)
    change("safeexec.facades.replacements.loops", lambda loops: loops.close_bases())
    change("sqlite3", _close_databases)
    change("tarfile", _close_streams)
    put("traceback", "__import__", lambda: sys.modules.__getitem__)  # which looks for the name of an ImportError
    change("warnings", _drop_sources)


def _display(value: object) -> None:
    """Show the value of an expression that is compiled as a REPL does. That of Python keeps it in the real builtins."""
    if value is not None:
        print(repr(value))


def _refuse_open(rules: Rules, *_: object, **__: object) -> NoReturn:
    raise refusal(rules, "builtin", "open", NameError)


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
    """A stream of `codecs` answers for another with the `getattr` that is a default of its method. And the functions of
    a coding are those of all streams.
    """
    keep = vars(codecs)

    def __setattr__(self: Any, name: str, value: object) -> None:
        if sys._getframe(1).f_globals is not keep:
            raise AttributeError(f"assignment to {name!r} is refused: codings are read-only", name=name)
        object.__setattr__(self, name, value)

    read = dict_of(codecs.CodecInfo)["__dict__"].__get__
    write_to_class(codecs.CodecInfo, "__setattr__", __setattr__)
    write_to_class(codecs.CodecInfo, "__dict__", property(lambda self: MappingProxyType(read(self))))
    for name in ("StreamReader", "StreamReaderWriter", "StreamRecoder", "StreamWriter"):
        vars(vars(codecs)[name])["__getattr__"].__defaults__ = (vars(codecs)["getattr"],)


def pickle_by_enum_name(self: Any, proto: object) -> Any:
    """As that of `enum`, with a `getattr` that a program may call: its own answers to the functions of `enum`."""
    return checked_getattr, (self.__class__, self._name_)


def _keep_fields(dataclasses: ModuleType) -> None:
    """A library asks `dataclasses` about an object of the program, and makes a dataclass whose fields the program has
    changed. And from 3.12 on a table of `asdict` has the type of code, which makes code of bytes: a metaclass compares
    its class with what is there.
    """
    if types := vars(dataclasses).get("_ATOMIC_TYPES"):
        vars(dataclasses)["_ATOMIC_TYPES"] = types - {CodeType}
    from safeexec.facades.replacements.classes import field_value, run_methods_of_libraries  # with `ast`

    vars(dataclasses).update(getattr=field_value, exec=run_methods_of_libraries)


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


class _Copied:
    """A raw stream as buffered streams have it: a copy of their memory is what it reads into and writes."""

    __slots__ = ("calls", "raw")

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.calls = 0
        """Of the raw stream that have not returned: C code goes on with it then."""

    def __getattr__(self, name: str) -> Any:
        found = self._call(_getattr, self.raw, name)
        return partial(self._call, found) if callable(found) else found

    def _call(self, function: Any, *given: Any) -> Any:
        self.calls += 1
        try:
            return function(*given)
        finally:
            self.calls -= 1

    def readinto(self, buffer: memoryview) -> Any:
        data = bytearray(len(buffer))
        count = self._call(self.raw.readinto, memoryview(data))
        buffer[:] = data
        return count

    def write(self, data: memoryview) -> Any:
        return self._call(self.raw.write, memoryview(bytes(data)))


def _keep_layout(struct: Any) -> None:
    """A `Struct` that is made anew while it packs writes the fields of the new layout into the room of the old one."""
    initialize, size = dict_of(struct.Struct)["__init__"], dict_of(struct.Struct)["size"].__get__

    def __init__(self: Any, format: Any) -> None:
        if size(self) >= 0:
            raise TypeError("a Struct is made once")
        initialize(self, format)

    if _type(initialize) is not FunctionType:  # else it does already
        __init__.__qualname__, __init__.__annotations__ = "Struct.__init__", {}
        write_to_class(struct.Struct, "__init__", __init__)


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
            if read(self) is not None:  # it may be at work, in memory that would be freed
                raise TypeError(f"a {cls.__name__} is made once")
            initialize(self, copied(raw), buffer_size)

        def detach(self: Any) -> Any:
            raw = read(self)
            if _type(raw) is _Copied and raw.calls:
                raise ValueError(f"a {cls.__name__} that is at work is not detached")
            return given(release(self))

        for method in (__init__, detach):
            method.__qualname__, method.__annotations__ = f"{cls.__name__}.{method.__name__}", {}
            write_to_class(cls, method.__name__, method)
        write_to_class(cls, "raw", property(lambda self: given(read(self))))

    for cls in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom):
        held = dict_of(cls)
        if _type(held["__init__"]) is not FunctionType:  # else it does already
            change(cls, held["__init__"], held["detach"], held["raw"].__get__)


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


def _close_getters(operator: ModuleType) -> None:
    """Libraries keep an `attrgetter` where a program finds it (``PurePath.drive.fget``), and its class makes one of any
    name. So libraries have those that a program has, and the ones in C are made no more.
    """
    pairs = [(vars(operator)[ours.__name__], ours) for ours in (attrgetter, methodcaller)]
    replace_everywhere({identity(real): ours for real, ours in pairs if real is not ours})
    for real, ours in pairs:
        if real is not ours:
            make_no_more(real)


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
