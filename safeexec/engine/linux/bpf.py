"""An assembler with labels for classic BPF, as seccomp uses it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

LIMIT = 4096
"""Instructions the kernel accepts in one program (BPF_MAXINSNS)."""

LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS: A = data[k]
JUMP = 0x05  # BPF_JMP | BPF_JA
EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
RETURN = 0x06  # BPF_RET | BPF_K

_WORD = 0xFFFFFFFF


class Instruction(NamedTuple):
    """``struct sock_filter``."""

    code: int
    jump_true: int
    jump_false: int
    k: int


class Assembler:
    """Collects instructions and labels; `assemble` resolves them. A jump goes forward only, as the kernel demands."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, int, str | None, str | None]] = []
        """Code, operand, and the labels to go to if a condition holds and if not."""
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        """Call the next instruction `name`."""
        self._labels[name] = len(self._lines)

    def load(self, offset: int) -> None:
        self._lines.append((LOAD, offset, None, None))

    def mask(self, bits: int) -> None:
        self._lines.append((AND, bits & _WORD, None, None))

    def jump(self, target: str) -> None:
        self._lines.append((JUMP, 0, target, None))

    def branch(self, condition: int, value: int, if_true: str | None = None, if_false: str | None = None) -> None:
        """Compare the accumulator with `value`; None falls through to the next instruction."""
        self._lines.append((condition, value & _WORD, if_true, if_false))

    def answer(self, value: int) -> None:
        self._lines.append((RETURN, value, None, None))

    def assemble(self) -> list[Instruction]:
        """Return the program. Conditional jumps reach 255 instructions; a longer one becomes a jump over a plain jump.

        Raises ValueError for a backward jump or a program the kernel would not take, KeyError for an unknown label.
        """
        # From its end on: so each jump leads to what has its place already.
        program: list[Instruction] = []
        places: dict[int, int] = {}  # the number of a line → how many instructions there are from it on

        def distance(target: str | None) -> int:
            """Return how many instructions the next one, which is put before the others, passes over."""
            if target is None:
                return 0
            if (line := self._labels[target]) not in places:
                raise ValueError(f"the jump to {target!r} goes backward")
            return len(program) - places[line]

        for number, (code, operand, if_true, if_false) in reversed([*enumerate(self._lines)]):
            if code == JUMP:
                program.append(Instruction(JUMP, 0, 0, distance(if_true)))
            else:
                true, false = distance(if_true), distance(if_false)
                if max(true, false) > 255:
                    program.append(Instruction(JUMP, 0, 0, false))
                    program.append(Instruction(JUMP, 0, 0, distance(if_true) if if_true else 1))
                    true, false = 0, 1
                program.append(Instruction(code, true, false, operand))
            places[number] = len(program)
        if not 0 < len(program) <= LIMIT:
            raise ValueError(f"a BPF program holds 1 to {LIMIT} instructions, not {len(program)}")
        return program[::-1]


def encode(program: Iterable[Instruction]) -> bytes:
    """Return the bytes of an array of ``struct sock_filter``."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
