"""A locked-down child makes any system calls with any arguments: nobody else notices."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from safeexec import Sandbox, SandboxError
from safeexec.engine.syscalls.numbers import numbers
from tests.fuzz.mutation import drawn
from tests.fuzz.target import Holds, Target

SECRET = "{secret}"
"""Stands for the path of a file of the host."""
TEXTS = [
    "/", "/proc/self/mem", "/proc/1/environ", "..", "x", "", "/etc/passwd", "/dev/mem", "/sys/kernel", "\0abstract",
    SECRET,
]  # fmt: skip
INTEGERS = [
    0, 1, 2, 3, 4, 5, 7, 16, 64, -1, -100, 255, 4096, 0x7FFFFFFF, 0x80000000, 2**32, 2**63 - 1, -(2**63), 0o777,
    0x1000000,
]  # fmt: skip
CALLS = """
import ctypes
_libc = ctypes.CDLL(None, use_errno=True)
_room = ctypes.create_string_buffer(8192)
_made = [_room]
def _argument(value):
    if value is None:
        return ctypes.c_void_p(ctypes.addressof(_room))
    if isinstance(value, str):
        _made.append(ctypes.create_string_buffer(value.encode() + b"\\0"))
        return ctypes.c_void_p(ctypes.addressof(_made[-1]))
    return ctypes.c_long(value)
for _number, _arguments in _calls:
    _libc.syscall(ctypes.c_long(_number), *map(_argument, _arguments))
"""


def _calls() -> st.SearchStrategy[list[tuple[str, list[Any]]]]:
    names = sorted(numbers())

    def argument(random: Random) -> Any:
        kind = random.random()
        if kind < 0.3:
            return None
        if kind < 0.45:
            return random.choice(TEXTS)
        return random.choice(INTEGERS) if kind < 0.9 else random.getrandbits(random.choice((3, 12, 32, 63)))

    def make(random: Random) -> list[tuple[str, list[Any]]]:
        return [(random.choice(names), [argument(random) for _ in range(6)]) for _ in range(random.randint(1, 12))]

    return drawn(make)


@contextmanager
def _child() -> Iterator[Holds]:
    known = numbers()
    with (
        tempfile.TemporaryDirectory(prefix="tests-") as base,
        Sandbox("confined-python") as sandbox,
        sandbox.session() as other,
    ):
        secret = Path(base, "secret")
        secret.write_text("untouched")
        os.chmod(base, 0o755)
        secret.chmod(0o666)
        other.run("kept = [1, 2]").check()

        def holds(calls: list[tuple[str, list[Any]]]) -> None:
            named = repr([(known[name], arguments) for name, arguments in calls]).replace(SECRET, str(secret))
            with sandbox.session() as session:
                session.run("before = 7").check()
                result = session.run(f"_calls = {named}\n{CALLS}", timeout=1)
                assert result.state == "restored" or result.outcome in ("ok", "error", "violation", "memory"), result
                _goes_on(session, restored=result.state == "restored")
            assert other.run("kept", timeout=20).value == [1, 2]
            assert secret.read_text() == "untouched" and os.listdir(base) == ["secret"]

        yield holds


def _goes_on(session: Any, restored: bool) -> None:
    """Whatever its process did to itself: there is an answer in time, and after a restore the state is there."""
    try:
        after = session.run("before", timeout=5)
    except SandboxError as error:
        assert str(error)
        return
    if restored or after.ok:
        assert after.value == 7 or after.notes or after.state == "restored", after
    again = session.run("before", timeout=20) if after.state == "restored" else after
    assert again.value == 7 or again.notes or again.state == "restored" or not again.ok, again


TARGETS = [Target("system-calls", "any system calls in a locked-down child", _calls, _child, 15)]
