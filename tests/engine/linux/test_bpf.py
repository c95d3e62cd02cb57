"""The assembler and the evaluator agree with what classic BPF means."""

from __future__ import annotations

import pytest

from safeexec.engine.linux import bpf
from tests.engine.linux.bpf_machine import evaluate, seccomp_data


@pytest.mark.parametrize("distance", [0, 1, 254, 255, 256, 257, 1000])
@pytest.mark.parametrize("taken", [True, False])
def test_a_jump_of_any_length_arrives(distance: int, taken: bool) -> None:
    """A conditional jump has 8 bits; beyond them the assembler goes by way of a plain jump."""
    asm = bpf.Assembler()
    asm.load(0)
    if taken:
        asm.branch(bpf.EQUAL, 1, if_true="far")
    else:
        asm.branch(bpf.EQUAL, 0, if_false="far")
    for _ in range(distance):
        asm.mask(1)
    asm.answer(10)
    asm.label("far")
    asm.answer(20)
    program = asm.assemble()
    assert [evaluate(program, seccomp_data(number, 1)) for number in (1, 0)] == [20, 10]
    assert max(max(one.jump_true, one.jump_false) for one in program) <= 255


def test_what_the_kernel_would_not_take_is_refused() -> None:
    backward, long = bpf.Assembler(), bpf.Assembler()
    backward.label("start")
    backward.load(0)
    backward.jump("start")
    for _ in range(bpf.LIMIT + 1):
        long.answer(0)
    for asm, told in ((backward, "backward"), (long, "4096")):
        with pytest.raises(ValueError, match=told):
            asm.assemble()
