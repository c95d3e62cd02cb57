"""An assembler with labels for classic BPF, as seccomp uses it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

LIMIT = 4096
"""Instructions the kernel accepts in one program (BPF_MAXINSNS)."""

LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS: A = data[k]
JUMP = 0x05  # BPF_JMP | BPF_JA
EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
RETURN = 0x06  # BPF_RET | BPF_K

_CONDITIONS = (EQUAL, AT_LEAST)
_WORD = 0xFFFFFFFF


class Instruction(NamedTuple):
    """``struct sock_filter``."""

    code: int
    jump_true: int
    jump_false: int
    k: int


class _Line(NamedTuple):
    code: int
    k: int
    if_true: str | None = None
    if_false: str | None = None


class Assembler:
    """Collects instructions and labels; `assemble` resolves them. A jump goes forward only, as the kernel demands."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        """Call the next instruction `name`."""
        self._labels[name] = len(self._lines)

    def load(self, offset: int) -> None:
        self._lines.append(_Line(LOAD, offset))

    def mask(self, bits: int) -> None:
        self._lines.append(_Line(AND, bits & _WORD))

    def jump(self, target: str) -> None:
        self._lines.append(_Line(JUMP, 0, target))

    def branch(self, condition: int, value: int, if_true: str | None = None, if_false: str | None = None) -> None:
        """Compare the accumulator with `value`; None falls through to the next instruction."""
        self._lines.append(_Line(condition, value & _WORD, if_true, if_false))

    def answer(self, value: int) -> None:
        self._lines.append(_Line(RETURN, value))

    def assemble(self) -> list[Instruction]:
        """Return the program. Conditional jumps reach 255 instructions; a longer one becomes a jump over a plain jump.

        Raises ValueError for a backward jump or a program the kernel would not take, KeyError for an unknown label.
        """
        far: set[int] = set()
        while True:
            starts, position = [], 0
            for index in range(len(self._lines)):
                starts.append(position)
                position += 3 if index in far else 1
            starts.append(position)
            grown = {index for index in range(len(self._lines)) if index not in far and self._is_far(index, starts)}
            if not grown:
                break
            far |= grown
        program: list[Instruction] = []
        for index, line in enumerate(self._lines):
            program.extend(self._resolve(index, line, starts, index in far))
        if not 0 < len(program) <= LIMIT:
            raise ValueError(f"a BPF program holds 1 to {LIMIT} instructions, not {len(program)}")
        return program

    def _offset(self, target: str | None, after: int, starts: Sequence[int]) -> int:
        offset = 0 if target is None else starts[self._labels[target]] - after
        if offset < 0:
            raise ValueError(f"the jump to {target!r} goes backward")
        return offset

    def _is_far(self, index: int, starts: Sequence[int]) -> bool:
        line, after = self._lines[index], starts[index] + 1
        return line.code in _CONDITIONS and any(
            target is not None and self._offset(target, after, starts) > 255 for target in (line.if_true, line.if_false)
        )

    def _resolve(self, index: int, line: _Line, starts: Sequence[int], far: bool) -> Iterable[Instruction]:
        here, following = starts[index], starts[index + 1]
        if line.code == JUMP:
            yield Instruction(JUMP, 0, 0, self._offset(line.if_true, here + 1, starts))
        elif line.code not in _CONDITIONS:
            yield Instruction(line.code, 0, 0, line.k)
        elif not far:
            true, false = (self._offset(target, here + 1, starts) for target in (line.if_true, line.if_false))
            yield Instruction(line.code, true, false, line.k)
        else:
            yield Instruction(line.code, 0, 1, line.k)
            over = self._offset(line.if_true, here + 2, starts) if line.if_true else following - here - 2
            yield Instruction(JUMP, 0, 0, over)
            yield Instruction(JUMP, 0, 0, self._offset(line.if_false, here + 3, starts))


def encode(program: Iterable[Instruction]) -> bytes:
    """Return the bytes of an array of ``struct sock_filter``."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
