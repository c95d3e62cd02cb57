"""seccomp filters: compile a table of rules into BPF, and install it; and the filter at which a fork waits.

A call without a rule is refused with EPERM, which Python raises as a PermissionError. Who reads a refusal finds out
which call it was (`child.step.violations`). A fork that waits is answered by another process (`notify`).
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Mapping
from typing import NamedTuple

from safeexec.engine.linux import bpf
from safeexec.engine.linux.libc import Call, address, check, make, prctl, prepared, raw_syscall
from safeexec.engine.syscalls import Check, Rule, allow, allow_if, refuse
from safeexec.engine.syscalls.numbers import machine, numbers
from safeexec.engine.syscalls.table import FORK_FLAGS

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
ERRNO = 0x00050000
_USER_NOTIF = 0x7FC00000

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* by machine."""

_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_STARTS = ("execve", "execveat", "fork", "vfork")
_CLONE_THREAD = 0x00010000
_SET_MODE_FILTER = 1
_NEW_LISTENER, _WAIT_KILLABLE_RECV = 1 << 3, 1 << 5
_SET_NO_NEW_PRIVS = 38


def build(rules: Mapping[str, Rule], machine_name: str | None = None) -> list[bpf.Instruction]:
    """Return the filter for `rules` (by system call name; names this machine lacks are passed over).

    A foreign architecture (``int 0x80``) kills the process. Numbers with the x32 bit and numbers newer than the table
    get ENOSYS, on which a future C library falls back. Raises KeyError for a machine without a table.
    """
    machine_name = machine_name or machine()
    table = numbers(machine_name)
    by_number = {table[name]: rule for name, rule in rules.items() if name in table}
    program = bpf.Assembler()
    program.load(_ARCH)  # before the number, which means another call on each architecture
    program.branch(bpf.EQUAL, ARCHITECTURES[machine_name], if_false="kill")
    program.load(_NUMBER)
    intervals = _intervals(by_number, max(table.values()))
    _search(program, intervals, 0, len(intervals))
    for number, rule in sorted(by_number.items()):
        if _is_conditional(rule):
            _emit_rule(program, number, rule)
    answers = {target for _, target in intervals if target.startswith("errno ")}
    answers |= {f"errno {error}" for rule in by_number.values() for _, error in rule.fallbacks}
    for error in sorted(answers):
        program.label(error)
        program.answer(ERRNO | int(error.split()[1]))
    program.label("allow")
    program.answer(ALLOW)
    program.label("kill")
    program.answer(KILL_PROCESS)
    return program.assemble()


def _is_conditional(rule: Rule) -> bool:
    return bool(rule.fallbacks) or (bool(rule.alternatives) and () not in rule.alternatives)


def _target(number: int, rule: Rule | None) -> str:
    if rule is None:
        return f"errno {errno.EPERM}"
    if _is_conditional(rule):
        return f"rule {number}"
    return "allow" if rule.alternatives else f"errno {rule.error}"


def _intervals(by_number: Mapping[int, Rule], last: int) -> list[tuple[int, str]]:
    """Return (first number, label) of each run of numbers that share one answer."""
    runs: list[tuple[int, str]] = []
    for number in range(last + 1):
        target = _target(number, by_number.get(number))
        if not runs or runs[-1][1] != target:
            runs.append((number, target))
    runs.append((last + 1, f"errno {errno.ENOSYS}"))
    return runs


def _search(program: bpf.Assembler, intervals: list[tuple[int, str]], low: int, high: int) -> None:
    """Write a binary search for the interval of the number in the accumulator: 8 comparisons for 200 intervals."""
    if high - low == 1:
        program.jump(intervals[low][1])
        return
    middle = (low + high) // 2
    first = intervals[middle][0]
    left = intervals[low][1] if middle - low == 1 else None
    right = intervals[middle][1] if high - middle == 1 else f"at {low} {middle} {high}"
    program.branch(bpf.AT_LEAST, first, if_true=right, if_false=left)
    if left is None:
        _search(program, intervals, low, middle)
    if high - middle > 1:
        program.label(right)
        _search(program, intervals, middle, high)


def _emit_rule(program: bpf.Assembler, number: int, rule: Rule) -> None:
    """Load and compare word by word; a failed check goes on with the next alternative."""
    program.label(f"rule {number}")
    loaded: int | None = None
    fallbacks = [(checks, f"errno {error}") for checks, error in rule.fallbacks]
    for position, (checks, verdict) in enumerate([*((checks, "allow") for checks in rule.alternatives), *fallbacks]):
        following = f"rule {number} else {position}"
        words = [word for check in checks for word in _words(check)]
        for offset, mask, value in words:
            if loaded != offset:
                program.load(offset)
            loaded = offset
            if mask != 0xFFFFFFFF:
                program.mask(mask)
                loaded = None
            program.branch(bpf.EQUAL, value, if_false=following)
        program.jump(verdict)
        program.label(following)
        if len(words) > 1:  # whichever of them failed lies in the accumulator here
            loaded = None
    program.answer(ERRNO | rule.error)


def _words(check: Check) -> list[tuple[int, int, int]]:
    """Return (offset, mask, value) of the 32-bit words that a check compares; both machines are little-endian."""
    offset = _ARGUMENTS + 8 * check.argument
    low, high = check.mask & 0xFFFFFFFF, check.mask >> 32
    words = [(offset, low, check.value & 0xFFFFFFFF)] if low else []
    return words + ([(offset + 4, high, check.value >> 32)] if high else [])


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class Prepared(NamedTuple):
    """A program ready to install; `data` may be patched in place."""

    data: ctypes.Array[ctypes.c_char]
    program: _Program


def no_programs() -> dict[str, Rule]:
    """Return the rules by which no process and no program starts, and all else goes. Threads are made by `clone`."""
    rules = dict.fromkeys(numbers(), allow()) | dict.fromkeys(_STARTS, refuse(errno.EPERM))
    rules["clone3"] = refuse(errno.ENOSYS)
    rules["clone"] = allow_if((Check(0, _CLONE_THREAD, _CLONE_THREAD),), error=errno.EPERM)
    return rules


def prepare(program: list[bpf.Instruction]) -> Prepared:
    encoded = bpf.encode(program)
    data = ctypes.create_string_buffer(encoded, len(encoded))
    return Prepared(data, _Program(len(program), address(data)))


def set_no_new_privs() -> None:
    """Let no exec gain privileges from now on. Needed by seccomp and Landlock. Raises OSError."""
    prctl(_SET_NO_NEW_PRIVS, 1)


def install(rules: Mapping[str, Rule]) -> None:
    """Hold the calling thread, and all that it starts, by these rules, for good. Raises OSError (EACCES, EINVAL)."""
    set_no_new_privs()
    make([installing(prepare(build(rules)))])


def installing(program: Prepared) -> Call:
    """Return the call that installs a filter. `set_no_new_privs` comes first."""
    return prepared("seccomp", _SET_MODE_FILTER, 0, address(program.program), memory=program)


def install_fork_gate() -> int:
    """Have every fork(2) of the C library wait, in the calling thread and all that it will start; threads and vfork go
    on as they are. Returns the listener: the descriptor on which forks are answered (`notify`).

    `set_no_new_privs` comes first. Raises OSError: EBUSY under a filter that has a listener already (some containers),
    EINVAL before 5.19: from then on a caller whose request has been read can be killed and not otherwise interrupted,
    so that no signal makes it ask twice.
    """
    program = bpf.Assembler()
    for offset, value in (
        (_ARCH, ARCHITECTURES[machine()]),
        (_NUMBER, numbers()["clone"]),
        (_ARGUMENTS, FORK_FLAGS),  # the lower word is all that the kernel takes of the flags (`lower_32_bits`)
    ):
        program.load(offset)
        program.branch(bpf.EQUAL, value, if_false="allow")
    program.answer(_USER_NOTIF)
    program.label("allow")
    program.answer(ALLOW)
    ready = prepare(program.assemble())
    flags = _NEW_LISTENER | _WAIT_KILLABLE_RECV
    number = numbers()["seccomp"]
    return check(raw_syscall(number, _SET_MODE_FILTER, flags, address(ready.program), 0, 0, 0), "seccomp listener")
