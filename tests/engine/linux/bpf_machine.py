"""The kernel's side of a filter: what a program of classic BPF answers for one system call. So a filter is proved for
every number and machine without making one call.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from safeexec.engine.linux import bpf

WORD = 0xFFFFFFFF


def seccomp_data(number: int, arch: int, arguments: Sequence[int] = (), instruction_pointer: int = 0) -> bytes:
    """``struct seccomp_data``: what a filter sees of one system call. Little-endian, as both machines are."""
    padded = [argument & 0xFFFFFFFFFFFFFFFF for argument in (*arguments, *[0] * 6)][:6]
    return struct.pack("<IIQ6Q", number & WORD, arch, instruction_pointer, *padded)


def decode(data: bytes) -> list[bpf.Instruction]:
    """The instructions of an array of ``struct sock_filter``."""
    return [bpf.Instruction(*fields) for fields in struct.iter_unpack("=HBBI", data)]


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
        elif code == bpf.RETURN:
            return k
        elif code in (bpf.EQUAL, bpf.AT_LEAST):
            taken = accumulator == k if code == bpf.EQUAL else accumulator >= k
            position += true if taken else false
        else:
            raise ValueError(f"instruction {position - 1} has the unknown code {code:#x}")
