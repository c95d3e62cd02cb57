"""The names of attributes that code spells: what a library asks for of itself, and not because a program told it."""

from __future__ import annotations

import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from safeexec.identity import identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from dis import Instruction
    from types import CodeType, FrameType

_ASKING: Final = ("getattr", "setattr", "delattr", "hasattr")
_CALL: Final = "CALL" if sys.version_info >= (3, 12) else "PRECALL"
"""The instruction at which the arguments of a call lie on the stack. In 3.11 that makes the call, once it is warm, or
`CALL` does, which follows.
"""
_ATTRIBUTES: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR"})
_KEEP: Final = frozenset({"CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "PRECALL", "PUSH_NULL", "RESUME"})
"""Instructions that change no value which lies on the stack."""
_MOST: Final = 4096
"""Functions that are remembered."""
_known: dict[int, tuple[CodeType, Spelt]] = {}
"""Identity of code → itself, so that it lives, and what it spells."""


class Spelt(NamedTuple):
    """What a function spells."""

    offsets: list[int]
    """Where its instructions begin, in bytes."""
    asks: dict[int, str]
    """Where it asks for an attribute by a name that stands there, or in a call of `getattr` or its kind → that name."""
    elsewhere: frozenset[str]
    """All other texts among its constants: what it loops over, what it gives to another function."""

    def at(self, offset: int) -> str | None:
        """The name that stands in the instruction at an offset (`f_lasti`), where one does."""
        found = bisect_right(self.offsets, offset)
        return self.asks.get(self.offsets[found - 1]) if found else None


def spelt(code: CodeType) -> Spelt:
    """What this code spells, and the code within it. The name of an attribute, and that in a call of `hasattr`, stands
    for that place alone.
    """
    if (found := _known.get(identity(code))) is not None:
        return found[1]
    import dis  # for programs that have libraries

    instructions = list(dis.get_instructions(code))
    asks = {item.offset: str(item.argval) for item in instructions if item.opname in _ATTRIBUTES}
    used = set()
    for offset, load in _calls(instructions):
        asks[offset] = load.argval
        used.add(load.offset)
    constants = dis.hasconst
    texts = {
        text
        for instruction in instructions
        if instruction.opcode in constants and instruction.offset not in used
        for text in _texts(instruction.argval)
    }
    made = Spelt([instruction.offset for instruction in instructions], asks, frozenset(texts))
    if len(_known) >= _MOST:
        _known.clear()
    _known[identity(code)] = code, made
    return made


def spells(frame: FrameType, name: Any) -> bool:
    """Tell whether the function of a frame spells the name that it asks for: in this instruction, or for it."""
    found = spelt(frame.f_code)
    return type(name) is str and (found.at(frame.f_lasti) == name or name in found.elsewhere)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | frozenset):
        for item in value:
            yield from _texts(item)
    elif hasattr(value, "co_consts"):
        yield from spelt(value).elsewhere


def _calls(instructions: list[Instruction]) -> Iterator[tuple[int, Instruction]]:
    """The offsets of calls of `getattr` and its kind with a name that stands there, and what loads the name.

    Follows what lies on the stack, as far as it was just loaded; what is not known is None.
    """
    import dis

    stack: list[Instruction | None] = []
    for following, instruction in enumerate(instructions, 1):
        name = instruction.opname
        if instruction.is_jump_target:
            stack.clear()
        given = instruction.arg or 0
        if name == _CALL and 2 <= given <= 3 and len(stack) > given:
            function = stack[-given - 1] or (stack[-given - 2] if len(stack) > given + 1 else None)
            load = stack[1 - given]
            is_asking = function is not None and function.opname == "LOAD_GLOBAL" and function.argval in _ASKING
            if is_asking and load is not None and load.opname == "LOAD_CONST" and type(load.argval) is str:
                yield instruction.offset, load
                if name != "CALL":
                    yield instructions[following].offset, load
        effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if effect < 0:
            del stack[effect:]
        stack += [None] * effect
        if name == "LOAD_CONST" or name == "LOAD_GLOBAL":
            stack[-max(effect, 1) :] = [instruction] * max(effect, 1)
        elif name not in _KEEP:
            unknown = min(given if name == "SWAP" else max(effect, 1), len(stack))
            stack[len(stack) - unknown :] = [None] * unknown
