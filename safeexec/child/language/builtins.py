"""The builtins of guest code: the real ones of the policy's list, with guards where a name or a text is computed."""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping
from operator import index
from types import CodeType, FrameType
from typing import Any, Final

from safeexec.child.language.guards import attribute_guards
from safeexec.child.language.imports import make_import
from safeexec.child.language.native import builtin
from safeexec.child.language.program import GuestProgram, is_of_program, leads_away
from safeexec.compiler import names
from safeexec.compiler.diagnostics import Rejection
from safeexec.compiler.rules import REFUSED, Rules
from safeexec.compiler.step import compile_text
from safeexec.facades.replacements.checked import set_guards
from safeexec.identity import exact, identity

HIDDEN: Final = frozenset({"__builtins__", "__loader__", "__spec__", "__classdict__"})
"""Names of the guest's namespace that `globals()` does not show."""

NEVER: Final = frozenset(
    {"__import__", "__loader__", "__spec__", "breakpoint", "help", "copyright", "credits", "license"}
)
"""Builtins that no policy can give to restricted code."""


_OF_FUNCTION: Final = 1
"""The flag (`CO_OPTIMIZED`) of code whose locals are not a namespace: of a function, not of a module or a class."""

_REFUSED_TEXT: Final[dict[str, Any]] = {"module": ImportError, "builtin": NameError, "attribute": AttributeError}
"""What a refusal within a text that `eval` or `exec` was given is raised as, by its kind."""


def make_builtins(
    rules: Rules, guest_globals: dict[str, Any], facade_import: Callable[..., Any], program: GuestProgram | None = None
) -> dict[str, Any]:
    """The dict that is `__builtins__` of guest code with `guest_globals`. Guest code has no name for it.

    `program` is what it is a module of, if there are several.
    """
    program = program or GuestProgram("__main__", guest_globals)
    guards = attribute_guards(rules, program)
    # What operator.attrgetter and its kind read with.
    dict_of = guards.pop("<vars>")
    set_guards(
        getattr=guards["getattr"],
        setattr=guards["setattr"],
        state=guards.pop("<state>"),
        vars=dict_of,
        name=guards.pop("<name>"),
        guarded=names.GUARDED,
        away=leads_away,
    )
    table: dict[str, Any] = {
        name: value for name, value in vars(builtins).items() if name in rules.plan.builtins and name not in NEVER
    }
    replaced = guards | _namespace_guards(rules, guest_globals, dict_of) | {"exit": leave, "quit": leave}
    replaced |= text_guards(rules, guest_globals, table, program)
    for name, guard in replaced.items():
        guard.__qualname__ = guard.__name__ = name  # as its errors name it
        if name in names.GUARD_NAMES:
            table[name] = guard
        elif name in rules.plan.builtins:
            table[name] = guard if name in names.SITE_BUILTINS else builtin(guard, name)
    table["__build_class__"] = builtins.__build_class__
    table["__import__"] = make_import(facade_import)
    table["__debug__"] = True
    table["__name__"] = "builtins"
    return table


def leave(code: object = None, /) -> None:
    """Leave the step: `exit` and `quit` as `site` defines them."""
    raise SystemExit(code)


class NamespaceView(dict[str, Any]):
    """A namespace of guest code as `globals()`, and `locals()` in a class body, show it: without the interpreter's own
    entries. It is looked at again for each question, and writing to the view reaches it.
    """

    __slots__ = ("_of", "_remove", "_see", "_write")

    def __init__(self, namespace: MutableMapping[str, Any]) -> None:
        def see() -> None:
            dict.clear(self)
            dict.update(self, without_own(namespace))

        def write(name: Any, value: Any) -> None:
            _check_key(name)
            namespace[name] = value
            dict.__setitem__(self, name, value)

        def remove(name: Any) -> None:
            _check_key(name)
            del namespace[name]
            dict.pop(self, name, None)

        self._see, self._write, self._remove, self._of = see, write, remove, identity(namespace)
        see()

    def __setitem__(self, name: str, value: Any) -> None:
        self._write(name, value)

    def __delitem__(self, name: str) -> None:
        self._remove(name)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As `dict.update`."""
        for given in (dict(*args), kwargs):  # one by one: the namespace of an enum refuses a second value
            for name, value in given.items():
                self[name] = value

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As `dict.setdefault`."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """As `dict.pop`."""
        if name not in self:
            return dict.pop(self, name, *default)
        value = self[name]
        self._remove(name)
        return value

    def popitem(self) -> tuple[str, Any]:
        """As `dict.popitem`."""
        self._see()
        name, value = dict.popitem(self)
        self._remove(name)
        return name, value

    def clear(self) -> None:
        """As `dict.clear`, but for the interpreter's own entries."""
        for name in list(self):
            self._remove(name)


def _looking(name: str) -> Any:
    question = getattr(dict, name)

    def ask(self: NamespaceView, *args: Any) -> Any:
        self._see()
        return question(self, *args)

    ask.__name__ = ask.__qualname__ = name
    return ask


_QUESTIONS: Final = """
    __contains__ __eq__ __getitem__ __iter__ __len__ __ne__ __or__ __repr__ __reversed__ __ror__ copy get items keys
    values
"""
for _question in _QUESTIONS.split():
    setattr(NamespaceView, _question, _looking(_question))
NamespaceView.__name__ = NamespaceView.__qualname__ = "dict"  # what a program prints of it
NamespaceView.__module__ = "builtins"


def _check_key(name: Any) -> None:
    if type(name) is not str or is_hidden(name):
        raise KeyError(name)


def is_hidden(name: str) -> bool:
    """Whether a name of a guest's namespace is the interpreter's own, or stands for a guard."""
    return name in HIDDEN or names.is_internal(name)


def without_own(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a namespace without the interpreter's own entries and names that stand for guards.

    Keys are exact `str`: an object that compares as it likes could be any name later.
    """
    return {name: value for name, value in namespace.items() if type(name) is str and not is_hidden(name)}


def _namespace_guards(rules: Rules, guest_globals: dict[str, Any], dict_of: Callable[[Any], Any]) -> dict[str, Any]:
    """`globals`, `locals`, `vars`, `dir`: filtered copies of what the caller's frame has."""
    frame_of = sys._getframe
    every_name = builtins.dir

    def visible(frame: FrameType) -> dict[str, Any]:
        if not is_of_program(frame):
            return {}
        found = locals_of(frame)
        return without_own(found) if frame.f_code.co_flags & _OF_FUNCTION else NamespaceView(found)

    def globals() -> dict[str, Any]:
        return NamespaceView(guest_globals)

    def locals() -> dict[str, Any]:
        return visible(frame_of(1))

    def vars(*object: Any) -> Any:
        return dict_of(*object) if object else visible(frame_of(1))

    def dir(*object: Any) -> list[str]:
        if object:
            return [name for name in every_name(*object) if type(name) is not str or rules.attribute(name) != REFUSED]
        return sorted(visible(frame_of(1)))

    return {"globals": globals, "locals": locals, "vars": vars, "dir": dir}


def locals_of(frame: FrameType) -> dict[str, Any]:
    found: Any = frame.f_locals
    if frame.f_code.co_flags & _OF_FUNCTION and type(found.get(names.CLASS_CELL)) is dict:
        return {name: value for name, value in found.items() if name != names.CLASS_CELL}  # see there
    return found if isinstance(found, dict) else dict(found)  # 3.13: of a function a proxy, not to be written through


_KEPT_SPACES: Final = 8


class Spaces:
    """The namespaces that text runs in, made from dicts of the guest, which have what came of it when it has run.

    The guest must hold neither the builtins (`table`) nor a dict that guards are looked up in. What is run again with
    the same dict is run in the same namespace, so that functions defined there see what is bound later.
    """

    def __init__(self, table: dict[str, Any]) -> None:
        self._table = table
        self._kept: list[tuple[dict[Any, Any], dict[str, Any]]] = []

    @contextlib.contextmanager
    def globals(self, given: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
        """A namespace with the guest's builtins: functions defined there keep it as their globals."""
        space = next((space for known, space in self._kept if known is given), None)
        if space is None:
            space = {}
            self._kept = [*self._kept[1 - _KEPT_SPACES :], (given, space)]
        visible = without_own(given)
        for name in without_own(space).keys() - visible.keys():
            del space[name]
        space.update(visible, __builtins__=self._table)
        with _given_back(given, space):
            yield space

    @contextlib.contextmanager
    def locals(self, given: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
        """The same for locals, which no function keeps."""
        space = without_own(given)
        with _given_back(given, space):
            yield space


@contextlib.contextmanager
def _given_back(given: dict[Any, Any], space: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    finally:
        left = without_own(space)
        for name in without_own(given).keys() - left.keys():
            given.pop(name, None)
        given.update(left)


def code_of(
    source: str, rules: Rules, mode: str, function: str, names: Container[str], filename: str, flags: int = 0
) -> CodeType:
    """Text that a program runs, compiled under the rules. Raises what `function` would, for a refusal too."""
    try:
        return compile_text(source, rules, filename, mode, names, flags)
    except Rejection as rejection:
        first = rejection.diagnostics[0]
    refused = _REFUSED_TEXT.get(first.kind, SyntaxError)(f"{function}: {first.message}")
    refused.rule, refused.hint = first.rule, first.hint
    raise refused


class Compiled:
    """What `compile` gives to guest code: `eval` and `exec` take it, and nothing can be read from it."""

    __slots__ = ("__weakref__",)

    def __init__(self) -> None:
        raise TypeError("cannot create 'code' instances")


Compiled.__name__ = Compiled.__qualname__ = "code"
Compiled.__module__ = "builtins"


def text_guards(
    rules: Rules, guest_globals: dict[str, Any], table: dict[str, Any], program: GuestProgram | None = None
) -> dict[str, Any]:
    """`eval`, `exec` and `compile` of text: compiled under the same rules, run with the same builtins."""
    frame_of = sys._getframe
    spaces = Spaces(table)
    program = program or GuestProgram("__main__", guest_globals)
    compiled = program.compiled

    def stands_for(given: Any) -> Any:
        """The namespace of a module that the guest holds a view of; what it holds otherwise."""
        if type(given) is not NamespaceView:
            return given
        number = given._of  # the guest may write to it: a number is all that it gets to choose, among its own modules
        if type(number) is not int:
            return given
        return next((space for space in program.spaces if identity(space) == number), given)

    def code(source: Any, mode: str, function: str) -> CodeType:
        if type(source) is Compiled:
            return compiled[source]
        if isinstance(source, bytes | bytearray | memoryview):
            source = _decoded(bytes(source))
        if not isinstance(source, str):
            raise TypeError(f"{function}() arg 1 must be a string, bytes or code object")
        source = str.__str__(source)
        if mode == "eval":
            source = source.lstrip(" \t")
        return code_of(source, rules, mode, function, guest_globals, "<string>")

    def run_in(code: Any, frame: FrameType, globals: Any, locals: Any) -> Any:
        if globals is None:
            globals = guest_globals
            locals = locals_of(frame) if locals is None and is_of_program(frame) else locals
        if not isinstance(globals, dict):
            raise TypeError("globals must be a dict")
        if not (locals is None or isinstance(locals, dict)):
            raise TypeError("locals must be a dict")
        globals, locals = stands_for(globals), stands_for(locals)
        of_module = any(globals is space for space in program.spaces)
        if locals is globals:
            locals = None
        with contextlib.ExitStack() as stack:
            namespace = globals if of_module else stack.enter_context(spaces.globals(globals))
            if locals is None:
                return builtins.eval(code, namespace)  # of statements it gives None
            return builtins.eval(code, namespace, stack.enter_context(spaces.locals(locals)))

    def eval(source: Any, globals: Any = None, locals: Any = None, /) -> Any:
        return run_in(code(source, "eval", "eval"), frame_of(1), globals, locals)

    def exec(source: Any, globals: Any = None, locals: Any = None, /) -> None:
        run_in(code(source, "exec", "exec"), frame_of(1), globals, locals)

    def compile(
        source: Any,
        filename: Any,
        mode: str,
        flags: int = 0,
        dont_inherit: bool = False,
        optimize: int = -1,
        *,
        _feature_version: int = -1,
    ) -> Any:
        if isinstance(source, ast.AST):
            source = ast.unparse(ast.fix_missing_locations(source))
        if not isinstance(source, str | bytes | bytearray | memoryview):
            raise TypeError("compile() arg 1 must be a string, bytes or AST object")
        text = str.__str__(source) if isinstance(source, str) else _decoded(bytes(source))
        flags = index(flags)  # an exact int: one that is asked twice could answer twice
        if flags & ast.PyCF_ONLY_AST:
            return builtins.compile(text, str(filename), mode, flags, True, _feature_version=_feature_version)
        made: Compiled = object.__new__(Compiled)
        compiled[made] = code_of(text, rules, mode, "compile", guest_globals, _name_of_file(filename), flags)
        return made

    return {"eval": eval, "exec": exec, "compile": compile}


def _decoded(source: bytes) -> str:
    """Source text in the encoding that it declares."""
    from tokenize import detect_encoding

    try:
        encoding, _ = detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding).removeprefix("\ufeff")
    except (SyntaxError, UnicodeDecodeError):
        ast.parse(source, "<string>")  # says where
        raise


def _name_of_file(given: Any) -> str:
    """In tracebacks it is the guest's own, never a file."""
    name = exact(os.fsdecode(given))
    return name if name[:1] == "<" else f"<{name}>"
