"""Read code objects: which names the instructions use, and what they do with a class or a view of a dict.

`dis` tells the same, but takes 20 times as long, and a child 5 ms to import it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from opcode import EXTENDED_ARG, hasname, opmap, opname
from types import CodeType
from typing import Final

from safeexec.engine.child.repeat.tables import VIEW_NAMES, VIEW_USERS

IMPORT: Final = opmap["IMPORT_NAME"]
ITERATE: Final = opmap["GET_ITER"]
STORE: Final = opmap["STORE_ATTR"]
GLOBAL: Final = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT")
"""Beginnings of the instructions that look a name up in the namespace and the builtins."""
CO_COROUTINE: Final = 0x80
CO_OPTIMIZED: Final = 0x1
"""Flags of `inspect`, which is not imported for them. A class body is not optimized."""
_NAMED: Final = {code: opname[code] for code in hasname}
"""Instructions whose argument is a name."""
_BITS: Final = {
    opmap.get("LOAD_GLOBAL"): 1,
    opmap.get("LOAD_ATTR"): 1 if sys.version_info >= (3, 12) else 0,
    opmap.get("LOAD_SUPER_ATTR"): 2,
    opmap.get("IMPORT_NAME"): 2 if sys.version_info >= (3, 15) else 0,
}
"""How many low bits of the argument say something else than the index of the name."""


def named(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield each name that the code uses, with its instruction, in order."""
    return ((name, does) for does, name in _instructions(code) if name)


def passes_view_on(code: CodeType) -> bool:
    """Return whether the code may do more with a view of a dict than to take what is in it, at once."""
    steps = [*_instructions(code)]
    return any(name in VIEW_NAMES and not _is_used_up(steps, index) for index, (_, name) in enumerate(steps))


def _is_used_up(steps: list[tuple[str, str]], index: int) -> bool:
    """Return whether the view that the method named at `index` gives is iterated over there, or given to a builtin that
    does so.
    """
    does, name = steps[index]
    behind = [after for after, _ in steps[index + 1 :]]
    if not behind[0].startswith("CALL"):
        return name != "keys" or does.startswith("STORE")  # an attribute of this name, or a method for later
    given = next((place for place, after in enumerate(behind) if place and after.startswith("CALL")), 0)
    users = (used for before, used in steps[max(index - 4, 0) : index] if before.startswith(GLOBAL))
    is_operand = any(after.startswith(_OPERATE) for after in behind[1:given])  # of `-`, which makes a set
    return behind[1] in _TAKES_ITEMS or (given > 0 and not is_operand and not VIEW_USERS.isdisjoint(users))


def stores_constant(code: CodeType, name: str) -> bool:
    """Return whether all that the code does with this name is to bind constants to it."""
    steps = [*_instructions(code)]
    return all(
        does == "STORE_NAME" and steps[index - 1][0] == "LOAD_CONST"
        for index, (does, used) in enumerate(steps)
        if used == name
    )


def _instructions(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield each instruction that does something, with the name that it uses, if it uses one."""
    names, raw, above = code.co_names, code.co_code, 0
    for does, argument in zip(raw[::2], raw[1::2], strict=True):
        argument |= above
        above = argument << 8 if does == EXTENDED_ARG else 0
        if does in _NAMED:
            yield _NAMED[does], names[argument >> _BITS.get(does, 0)]
        elif does not in _IDLE:
            yield opname[does], ""


_IDLE: Final = frozenset(opmap.get(name, 0) for name in ("CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG", "NOP"))
_OPERATE: Final = ("BINARY", "COMPARE", "STORE", "RETURN", "POP", "JUMP")
_TAKES_ITEMS: Final = ("GET_ITER", "LOAD_FAST_AND_CLEAR", "CONTAINS_OP", "POP_TOP")
"""Instructions after a call that use up what it gave; the second one is of a comprehension (CPython 3.15)."""


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """Yield the code, and all code inside of it, the outer one first."""
    waiting = [code]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [inner for inner in one.co_consts if type(inner) is CodeType]


def all_names(code: CodeType) -> set[str]:
    """Return the names that the code and the code inside of it use."""
    return {name for one in with_inner(code) for name in one.co_names}
