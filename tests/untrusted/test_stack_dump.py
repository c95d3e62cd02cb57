"""Dumps of `faulthandler` that a guest forges: read in linear time, without an exception, within bounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec.untrusted import stack_dump
from tests.untrusted.doubling import SLACK, growth

HEAD = b"Current thread 0x00007f (most recent call first):\n"
FORGED: dict[str, Callable[[int], bytes]] = {
    "digits of a line": lambda n: b'  File "<step 1>", line ' + b"9" * n + b" in <module>\n",
    "digits of a step": lambda n: b'  File "<step ' + b"9" * n + b'>", line 1 in <module>\n',
    "a name of a plugin": lambda n: b'  File "<plugin ' + b"x" * n,
    "a function": lambda n: b'  File "<step 1>", line 1 in ' + b"f" * n,
    "many frames": lambda n: b'  File "<step 1>", line 1 in f\n' * (n // 30),
    "escapes": lambda n: b'  File "<step 1>", line 1 in ' + b"\\U00110000" * (n // 10) + b"\n",
    "newlines": lambda n: b"\n" * n,
    "heads": lambda n: HEAD * (n // len(HEAD)),
}


@pytest.mark.parametrize("name", FORGED)
def test_the_work_grows_no_faster_than_the_dump(name: str) -> None:
    assert growth(stack_dump.read, lambda n: HEAD + FORGED[name](n)) < SLACK


def test_a_line_of_five_thousand_digits_is_no_frame_and_no_more_are_read_than_faulthandler_writes() -> None:
    assert stack_dump.read(HEAD + FORGED["digits of a line"](5000)) == ((), False)
    told = stack_dump.read(HEAD + FORGED["many frames"](100_000))
    assert told is not None and len(told[0]) == stack_dump.FRAMES


def test_an_honest_dump_is_read_to_its_end() -> None:
    dump = HEAD + b'  File "<step 3>", line 7 in caf\\xe9\n  File "<plugin p/m>", line 2 in <module>\n'
    assert stack_dump.read(dump) == ((("<step 3>", 7, "caf\u00e9"), ("<plugin p/m>", 2, "<module>")), True)
    assert stack_dump.read(dump[:-2]) == ((("<step 3>", 7, "caf\u00e9"), ("<plugin p/m>", 2, "<module")), False)
    assert stack_dump.read(b"nothing yet") is None


LINE = st.sampled_from(
    [*(make(40) for make in FORGED.values()), b"\xff\xfe", b'  File "', b"  ...\n", b" in <module>\n"]
)


@given(st.lists(st.one_of(LINE, st.binary(max_size=40)), max_size=30).map(b"".join))
def test_whatever_a_guest_writes_is_read(dump: bytes) -> None:
    told = stack_dump.read(HEAD + dump)
    assert told is not None and all(0 <= line < 10**9 and len(name) <= 200 for _, line, name in told[0])
