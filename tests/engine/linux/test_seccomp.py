"""Compiled filters, by evaluation for every number, and installed in real processes."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os

import pytest

from safeexec.engine.linux import seccomp
from safeexec.engine.linux.libc import raw_syscall
from safeexec.engine.linux.probe import probe
from safeexec.engine.syscalls import Check, Rule, allow, allow_if, refuse
from safeexec.engine.syscalls.numbers import MACHINES, numbers
from tests.engine.linux.bpf_machine import evaluate, seccomp_data
from tests.engine.linux.forked import exit_status, in_a_fork

RULES = {
    "read": allow(),
    "write": allow(),
    "clone": allow_if((Check(0, 0xFFFFFFFF, 0x11),), (Check(0, 0xFF00, 0), Check(1, 0xFFFFFFFFFFFFFFFF, 0))),
    "clone3": refuse(errno.ENOSYS),
    "kill": allow_if((Check(0, 0xFFFFFFFF, 1), Check(1, 0xFFFFFFFF, 2)), (Check(1, 0xFFFFFFFF, 3),)),
    "prlimit64": allow_if((Check(0, 0xFFFFFFFF, 0), Check(2, 0xFFFFFFFFFFFFFFFF, 0)), error=errno.EPERM),
    "socket": Rule(fallbacks=(((Check(0, 0xFFFFFFFF, 1),), errno.EACCES),)),
}

needs_seccomp = pytest.mark.skipif(not probe().seccomp.works, reason=probe().seccomp.reason)


def _judge(rules: dict[str, Rule], machine: str, number: int, arguments: tuple[int, ...] = ()) -> int:
    program = seccomp.build(rules, machine)
    return evaluate(program, seccomp_data(number, seccomp.ARCHITECTURES[machine], arguments))


def _errno(value: int) -> int:
    return seccomp.ERRNO | value


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_without_arguments_and_of_another_kind(machine: str) -> None:
    program = seccomp.build(RULES, machine)
    table = numbers(machine)
    expected = {table["read"]: seccomp.ALLOW, table["write"]: seccomp.ALLOW, table["clone3"]: _errno(errno.ENOSYS)}
    expected |= {table["clone"]: seccomp.ALLOW, table["prlimit64"]: seccomp.ALLOW}
    for number in range(max(table.values()) + 1):
        answer = evaluate(program, seccomp_data(number, seccomp.ARCHITECTURES[machine]))
        assert answer == expected.get(number, _errno(errno.EPERM)), number
    for number in (470, 1000, 0x40000000, 0x40000000 | 39, 0x7FFFFFFF, 0xFFFFFFFF):
        assert _judge(RULES, machine, number) == _errno(errno.ENOSYS), "unknown, or of x32"
    for arch, number in itertools.product((0x40000003, 0xC00000F3, 0xC0000028, 0), (0, 1, 56, 63, 500)):
        assert evaluate(program, seccomp_data(number, arch)) == seccomp.KILL_PROCESS, "of another architecture"


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ((0x11,), True),
        ((0x11 | 1 << 32, 5), True),  # the kernel reads clone's flags as 32 bits, and so does the check
        ((0x22,), True),
        ((0x22, 1 << 40), False),  # the second argument is compared whole
        ((0x0122,), False),
    ],
)
def test_alternatives_of_a_rule(arguments: tuple[int, ...], allowed: bool) -> None:
    number = numbers("x86_64")["clone"]
    expected = seccomp.ALLOW if allowed else _errno(errno.EPERM)
    assert _judge(RULES, "x86_64", number, arguments) == expected
    excused = [_judge(RULES, "x86_64", numbers("x86_64")["socket"], (kind,)) for kind in (1, 2)]
    assert excused == [_errno(errno.EACCES), _errno(errno.EPERM)], "as a library expects"


@pytest.mark.parametrize("arguments", [*itertools.product(range(5), range(5))])
def test_an_alternative_judges_what_it_names_whichever_check_failed_before(arguments: tuple[int, int]) -> None:
    """The second one begins with the argument at which the first one ends: that was looked at, or was not."""
    answer = _judge(RULES, "x86_64", numbers("x86_64")["kill"], arguments)
    assert (answer == seccomp.ALLOW) == (arguments == (1, 2) or arguments[1] == 3)


@needs_seccomp
def test_an_installed_filter_answers_as_its_rules_say_and_a_later_one_cannot_widen_it() -> None:
    def act() -> list[int]:
        everything = dict.fromkeys(numbers(), allow())
        seccomp.install(everything | {"getpriority": refuse(), "socket": refuse(errno.EAFNOSUPPORT)})
        seccomp.install(everything)
        answers = []
        for name in ("getpriority", "socket", "getpid"):
            ctypes.set_errno(0)
            raw_syscall(numbers()[name], 0, 0, 0, 0, 0, 0)
            answers.append(ctypes.get_errno())
        return answers

    assert in_a_fork(act) == [errno.EPERM, errno.EAFNOSUPPORT, 0]


@needs_seccomp
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="int 0x80 is x86")
def test_the_32_bit_door_kills() -> None:
    """`int 0x80` enters with another architecture, whatever the number means there."""
    import mmap
    import signal

    def act() -> None:
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, getpid (i386); int 0x80; ret
        call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        seccomp.install(dict.fromkeys(numbers(), allow()))
        call()

    assert exit_status(act) in (-signal.SIGSYS, -signal.SIGSEGV)  # SIGSEGV: a kernel without 32-bit emulation
