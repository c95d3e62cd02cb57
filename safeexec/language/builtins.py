"""The builtins of guest code: the real ones of the policy's list, and a guard where a name or a text is computed.

A guard says no in the policy's words to what an honest program computes. It holds nothing back from one that means to
get around it.
"""

from __future__ import annotations

import builtins
import copy
import copyreg
import sys
from collections.abc import Callable
from operator import index
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

from safeexec.common.own import ast, os
from safeexec.engine.child.step.program import Rejection, leave
from safeexec.engine.policy import names
from safeexec.engine.policy.refusals import canonical
from safeexec.language.diagnostics import MESSAGES
from safeexec.language.judge import compile_text
from safeexec.language.rules import Rules
from safeexec.language.workspace import decoded

MOST_UNSEEN: Final = 16
MOST_JUDGED: Final = 10_000
_OF_FUNCTION: Final = 1
"""The flag (`CO_OPTIMIZED`) of code whose locals are not a namespace: of a function, not of a module or a class."""
_ERRORS: Final[dict[str, Any]] = {"module": ModuleNotFoundError, "builtin": NameError, "attribute": AttributeError}
"""The exception that a refusal is while code runs, by its kind."""

unseen: Final[list[tuple[Exception, int]]] = []
"""Refusals in whose place `getattr` gave its default, as `hasattr` says no, and the line: for the step's result."""


def make_builtins(rules: Rules, importer: Callable[..., Any]) -> dict[str, Any]:
    """Return the dict that is `__builtins__` of a program under these rules, whose imports are those of `importer`."""
    given = rules.plan.builtins
    table = {name: value for name, value in vars(builtins).items() if name in given}
    guards = _attribute_guards(rules) | _text_guards(rules, table) | {"exit": leave, "quit": leave}
    for name, guard in guards.items():
        if type(guard) is FunctionType:
            guard.__qualname__ = guard.__name__ = name  # as its errors name it
            guard.__module__ = "builtins"
            guard.__doc__ = getattr(getattr(builtins, name, None), "__doc__", guard.__doc__)
        if name in given or name in names.GUARD_NAMES:
            table[name] = guard
    table.setdefault("input", _no(rules, "input", "input() is refused: this step has no standard input"))
    # C code finds it here, and fails without a word where it is not: `numpy.fromfile`.
    table.setdefault("open", _no(rules, "open"))
    table["__build_class__"] = builtins.__build_class__
    table["__import__"] = importer
    if "__lazy_import__" in vars(builtins):  # since CPython 3.15; it asks `__import__` where the name is first used
        table["__lazy_import__"] = vars(builtins)["__lazy_import__"]
    table["__debug__"], table["__name__"] = True, "builtins"
    return table


def _of_program(name: str) -> Any:
    """Return a name of the module `builtins` that is the program's own where the program asks, or C code that it calls:
    pickles name `getattr` for methods and nested classes, and compare it with what they find here.
    """

    def find(module: ModuleType) -> Any:
        table = _tables[-1][0]
        return table[name] if name in table and sys._getframe(1).f_builtins is table else vars(module)[name]

    return property(find)


class _Written(ModuleType):
    """The class of the module `builtins` in a session. What is written there, as ``patch("builtins.open")`` does,
    counts in the program, whose names are looked up in a dict of their own; and for libraries where they call what
    tests replace.
    """

    getattr = _of_program("getattr")
    input = _of_program("input")
    print = _of_program("print")

    def __setattr__(self, name: str, value: Any) -> None:
        table, before = _tables[-1]
        undone = name in before and value is (_REAL.get(name) or vars(self).get(name))
        table[name] = before[name] if undone else value
        if name in _REPLACED or name not in vars(self):
            vars(self)[name] = value

    def __delattr__(self, name: str) -> None:
        del vars(self)[name]
        _tables[-1][0].pop(name, None)


_REPLACED: Final = ("input", "open", "print")
_REAL: Final = {name: vars(builtins)[name] for name in _REPLACED}
_tables: Final[list[tuple[dict[str, Any], dict[str, Any]]]] = []
"""The builtins of the program, and what they were before it wrote any."""


def watch_builtins(table: dict[str, Any]) -> None:
    """Let what is written to the module `builtins` from now on be written to `table`, too."""
    _tables[:] = [(table, dict(table))]
    builtins.__class__ = _Written
    copyreg.pickle(BuiltinFunctionType, _reduced)


def _reduced(function: Any) -> Any:
    """Return what pickles make of a builtin function. Those of a program that name the real `getattr`, as they do for
    nested classes up to protocol 3, name a copy of the guard, which is found by this name: it is the same in every
    Python.
    """
    table = _tables[-1][0]
    if function is getattr and "getattr" in table and sys._getframe(1).f_builtins is table:
        return copy.copy, (table["getattr"],)
    return function.__reduce__()


def refusal(rules: Rules, kind: str, name: str, message: str = "") -> Any:
    """Return an exception that says what was refused; `rule` and `refused` (kind, name) are for the step's report."""
    found = _ERRORS.get(kind, SyntaxError)(message or MESSAGES[kind].format(name))
    found.rule, found.refused = rules.rule(kind, name), (kind, name)
    return found


def _no(rules: Rules, name: str, message: str = "") -> Callable[..., Any]:
    """Return what stands for a builtin that the policy does not give, where code calls it unseen."""

    def no(*args: object, **kwargs: object) -> Any:
        raise refusal(rules, "builtin", name, message)

    no.__name__ = no.__qualname__ = name
    return no


def _attribute_guards(rules: Rules) -> dict[str, Any]:
    """Return `getattr` and its kind, which judge names known only while running, and `format` of such a template."""
    refused, members, plain = rules.refused, rules.members, ModuleType
    get, set_, delete, has = builtins.getattr, builtins.setattr, builtins.delattr, builtins.hasattr

    def is_refused(object: Any, name: Any) -> bool:
        try:
            if name in refused:
                return True
        except TypeError:  # no text: CPython says so itself
            return False
        return type(object) is plain and name in members.get(canonical(object.__name__), ())

    def refuse(object: Any, name: str) -> Any:
        return refusal(rules, "attribute", name if name in refused else f"{canonical(object.__name__)}.{name}")

    def getattr(object: Any, name: str, /, *default: Any) -> Any:
        if (type(object) is plain or name in refused) and is_refused(object, name):
            error = refuse(object, name)
            if not default:
                raise error
            unseen.append((error, sys._getframe(1).f_lineno))
            del unseen[:-MOST_UNSEEN]
            return default[0]
        return get(object, name, *default)

    def hasattr(object: Any, name: str, /) -> bool:
        return not is_refused(object, name) and has(object, name)

    def setattr(object: Any, name: str, value: Any, /) -> None:
        if name in refused:
            raise refuse(object, name)
        set_(object, name, value)

    def delattr(object: Any, name: str, /) -> None:
        if name in refused:
            raise refuse(object, name)
        delete(object, name)

    # Nearly every template is passed by this alone; a policy that refuses a name without it has each template read.
    telltale = "_" if all("_" in name for name in refused) else ""

    def format_of(value: Any, method: str | None = None, /) -> Any:
        """Return the method `format`, or `format_map`, of a template, once its fields are judged."""
        if type(value) is str and method is None and telltale not in value:
            return value.format
        if isinstance(value, str) and (field := rules.refused_field(str.__str__(value))) is not None:
            raise refusal(rules, "attribute", field)
        return get(value, method or "format")

    return {
        **{inner: vars(builtins)[name] for name, inner in names.UNGUARDED.items()},
        names.GUARD_REFUSED: rules.refused | rules.leaves,
        names.GUARD_ATTRIBUTE: _Judged(rules),
        "getattr": getattr,
        "hasattr": hasattr,
        "setattr": setattr,
        "delattr": delattr,
        names.GUARD_FORMAT: format_of,
    }


class _Judged(dict[str, str]):
    """Each attribute name that a program has computed, once it is judged: the next time it is one look-up."""

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, name: str) -> str:
        if name in self._rules.refused:
            raise refusal(self._rules, "attribute", name)
        if type(name) is str and len(self) < MOST_JUDGED:
            self[name] = name
        return name


def _text_guards(rules: Rules, table: dict[str, Any]) -> dict[str, Any]:
    """Return `eval`, `exec` and `compile` of text: compiled under the same rules, run with the same builtins."""
    frame_of = sys._getframe

    def code(source: Any, mode: str, function: str, space: dict[str, Any]) -> CodeType:
        if type(source) is CodeType:
            return source
        if isinstance(source, bytes | bytearray | memoryview):
            source = _text_of(bytes(source))
        if not isinstance(source, str):
            raise TypeError(f"{function}() arg 1 must be a string, bytes or code object")
        text = str.__str__(source)
        return _judged(rules, text.lstrip(" \t") if mode == "eval" else text, mode, function, space, "<string>")

    def run(source: Any, mode: str, frame: FrameType, globals: Any, locals: Any) -> Any:
        if globals is None:
            # Without a namespace what runs has the locals of the frame: of a function a snapshot, as CPython gives it.
            own = frame.f_locals if locals is None else locals
            copied = locals is None and frame.f_code.co_flags & _OF_FUNCTION
            globals, locals = frame.f_globals, dict(own) if copied else own
        if not isinstance(globals, dict):
            raise TypeError(f"{mode}() globals must be a dict, not {type(globals).__name__}")
        globals.setdefault("__builtins__", table)
        made = code(source, mode, mode, globals)
        return builtins.eval(made, globals, globals if locals is None else locals)  # of statements it gives None

    def eval(source: Any, /, globals: Any = None, locals: Any = None) -> Any:
        return run(source, "eval", frame_of(1), globals, locals)

    def exec(source: Any, /, globals: Any = None, locals: Any = None, *, closure: Any = None) -> None:
        if closure is not None:
            builtins.exec(source, globals, locals, closure=closure)
            return
        run(source, "exec", frame_of(1), globals, locals)

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
        text = str.__str__(source) if isinstance(source, str) else _text_of(bytes(source))
        name = os.fsdecode(filename)
        if index(flags) & ast.PyCF_ONLY_AST:
            return builtins.compile(text, name, mode, flags, True, _feature_version=_feature_version)
        return _judged(rules, text, mode, "compile", frame_of(1).f_globals, name, flags)

    return {"eval": eval, "exec": exec, "compile": compile}


def _judged(
    rules: Rules, text: str, mode: str, function: str, space: dict[str, Any], filename: str, flags: int = 0
) -> CodeType:
    """Return text that a program runs, compiled under the rules. Raises what `function` would, for a refusal too."""
    try:
        return compile_text(text, rules.with_input, filename, mode, space, flags)
    except Rejection as rejection:
        first = rejection.diagnostics[0]
    raise refusal(rules, first.kind, first.name, f"{function}: {first.message}")


def _text_of(source: bytes) -> str:
    try:
        return decoded(source)
    except (SyntaxError, UnicodeDecodeError):
        ast.parse(source, "<string>")  # says where
        raise
