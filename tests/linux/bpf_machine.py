"""The kernel's side of a filter: what a program of classic BPF answers for one system call."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from safeexec.linux import bpf

WORD = 0xFFFFFFFF


def seccomp_data(number: int, arch: int, arguments: Sequence[int] = (), instruction_pointer: int = 0) -> bytes:
    """``struct seccomp_data``: what a filter sees of one system call. Little-endian, as both machines are."""
    padded = [argument & 0xFFFFFFFFFFFFFFFF for argument in (*arguments, *[0] * 6)][:6]
    return struct.pack("<IIQ6Q", number & WORD, arch, instruction_pointer, *padded)


def evaluate(program: Sequence[bpf.Instruction], data: bytes) -> int:
    """What `program` answers for `data`. Raises ValueError for an instruction seccomp would not take."""
    accumulator, position = 0, 0
    while True:
        code, true, false, k = program[position]
        position += 1
        if code == bpf.LOAD:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif code == bpf.JUMP:
            position += k
        elif code == bpf.AND:
            accumulator &= k
        elif code == bpf.ADD:
            accumulator = (accumulator + k) & WORD
        elif code == bpf.RETURN:
            return k
        elif code == bpf.RETURN_A:
            return accumulator
        elif code in (bpf.EQUAL, bpf.GREATER, bpf.AT_LEAST, bpf.ANY_BIT):
            taken = {
                bpf.EQUAL: accumulator == k,
                bpf.GREATER: accumulator > k,
                bpf.AT_LEAST: accumulator >= k,
                bpf.ANY_BIT: bool(accumulator & k),
            }[code]
            position += true if taken else false
        else:
            raise ValueError(f"instruction {position - 1} has the unknown code {code:#x}")
