"""What a step reads and how it ends: standard input, arguments, exit status."""

from __future__ import annotations

import io
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from safeexec import Session
from safeexec.engine.host.session import step
from safeexec.engine.host.session.standard_input import MOST_ARGUMENTS, StandardInput
from tests.conftest import OpenSession

PROFILES = ("calculator", "data-analysis", "confined-python")


@pytest.fixture(params=PROFILES)
def session(request: pytest.FixtureRequest, open_session: OpenSession) -> Session:
    return open_session(request.param)


READERS = {
    "input": "a = input()\nb = input()\n[a, b]",
    "lines": "import sys\n[line.rstrip() for line in sys.stdin]",
    "readlines": "import sys\n[line.strip() for line in sys.stdin.readlines()]",
    "read": "import sys\nsys.stdin.read().split()",
    "from sys": "from sys import stdin\nstdin.read().split()",
    "from sys, judged by its tree": "from sys import stdin\nform = '{}'\nform.format(stdin.read()).split()",
    "open": "open(0).read().split()",
    "open by name": "open('/dev/stdin').read().split()",
    "open with": "with open(0) as file:\n    found = file.read().split()\nfound",
    "bytes": "import sys\n[line.strip().decode() for line in sys.stdin.buffer]",
    "iterator": "import sys\n[next(iter(sys.stdin)).strip(), input()]",
    "until the end": """
lines = []
try:
    while True:
        lines.append(input())
except EOFError:
    pass
lines
""",
}
GIVEN: dict[str, Callable[[], Any]] = {
    "text": lambda: "1\n2\n",
    "no newline at the end": lambda: "1\n2",
    "bytes": lambda: b"1\n2\n",
    "lines": lambda: ["1", "2\n"],
    "lines of bytes": lambda: iter([b"1\n", b"2"]),
    "binary file": lambda: io.BytesIO(b"1\n2\n"),
    "text file": lambda: io.StringIO("1\n2\n"),
}


def test_every_way_to_read_and_every_form_to_give(session: Session) -> None:
    for name, source in READERS.items():
        result = session.run(source, stdin="1\n2\n")
        assert (result.outcome, result.value) == ("ok", ["1", "2"]), (name, result.error)
    for name, given in GIVEN.items():
        result = session.run("[input(), input()]", stdin=given())
        assert (result.outcome, result.value, result.notes) == ("ok", ["1", "2"], ()), name


LARGE = "import sys\nsize = 0\nwhile data := sys.stdin.buffer.read(1 << 16):\n    size += len(data)\nsize"


def test_an_input_is_read_to_its_end_and_no_further(session: Session) -> None:
    assert session.run("n = input('n? ')", stdin="7").stdout == "n? "
    read_on = "print(repr(sys.stdin.read()), repr(sys.stdin.readline()))"
    past = session.run(f"import sys\ninput()\n{read_on}\ninput()", stdin="x")
    assert (past.stdout, past.error.type) == ("'' ''\n", "EOFError")
    assert session.run(LARGE, stdin=io.BytesIO(bytes(20_000_000))).value == 20_000_000
    assert session.run("input()", stdin=b"\xff\n").error.type == "UnicodeDecodeError"
    assert session.run("import sys\nlen(sys.stdin.buffer.read())", stdin=b"\xff\n").value == 2
    for source in ("1", "0 + 1"):
        assert session.run(source, stdin=itertools.repeat("x")).value == 1, "nobody reads it"
    failed = session.run("import sys\nsys.stdin.read()", stdin=(1 // number for number in (1, 0)))
    assert "TypeError while it was read" in failed.notes[0]
    for wrong in (7, object()):
        with pytest.raises(TypeError, match="stdin must be"):
            session.run("1", stdin=wrong)
    assert session.run("x = input()", stdin="1\n2\n").ok
    assert not session.run("import sys\nsys.stdin.read()").value, "it ends with its step"


def test_without_files_an_input_opens_itself_and_nothing_else(open_session: OpenSession) -> None:
    session = open_session("calculator")
    for source in ("input()", "open(0)"):
        result = session.run(source)
        assert result.outcome == "rejected" and result.error.hint, source
    assert session.run("from sys import stdin\nstdin.read()").value == ""
    early = session.run("open('/etc/passwd')", stdin="x")
    assert early.outcome == "rejected" and early.error.hint
    for name in ("str('0')", "1", "True", "0.0", "0, 'w'"):
        error = session.run(f"open({name})", stdin="x").error
        assert error.type == "PermissionError" and "open(0)" in error.message, name
    assert session.run("def ask():\n    return input()\nask()", stdin="1").value == "1"
    assert session.run("ask()").error.type == "NameError", "of an earlier step with an input"
    assert session.run("ask()\n0", stdin="2").value == 0
    assert session.run("import io, sys\nsys.stdin = io.StringIO('own')\nsys.stdin.read()").value == "own"
    assert session.run("input()", stdin="given").value == "given"


def test_a_deadline_a_kill_and_a_rollback_with_an_input(session: Session) -> None:
    never = threading.Event()

    def lines() -> Iterator[str]:
        never.wait(60)
        yield "late"

    try:
        result = session.run("input()", stdin=lines(), timeout=0.2)
    finally:
        never.set()
    assert (result.outcome, result.state) == ("timeout", "restored")
    assert session.run("1").value == 1
    assert session.run("kept = input()", stdin="1").ok
    stopped = session.run("import sys\nsys.stdin.readline()\nwhile True: pass", stdin="x\n", timeout=0.2)
    assert stopped.state == "restored"
    assert session.run("kept + input()", stdin="2").value == "12"
    session.run("kept = 3")
    session.rollback()
    assert session.run("kept + input()", stdin="4").value == "14"


DEEP = 20_000 if sys.version_info < (3, 12) else 100
"""Calls through C that CPython itself allows in one another."""
AS_CPYTHON = {
    "a wrapper of the output": (
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('é', input())",
        *(b"x\n", "é x\n"),
    ),
    "a wrapper of the input": (
        "import io, sys\nsys.stdin = io.TextIOWrapper(sys.stdin.buffer, encoding='latin-1')\n"
        "print(input(), list(sys.stdin))",
        b"\xe9\nb\nc",
        "é ['b\\n', 'c']\n",
    ),
    "a look ahead": (
        "import sys\nb = sys.stdin.buffer\n"
        "print(b.peek()[:1], b.read(2), b.readable(), b.writable(), b.seekable(), b.closed)",
        b"abc",
        "b'a' b'ab' True False True False\n",
    ),
    "ends of lines": (
        "import sys\nprint([input(), sys.stdin.readline(), open(0).read()])",
        b"a\r\nb\r\n" + b"c\r\nd\r\n",
        None,
    ),
    "ends of lines through open": ("print(open(0).read().split('\\n'))", b"a\r\nb\r\n", "['a', 'b', '']\n"),
    "lines through open, in another encoding": (
        "with open(0, encoding='latin-1', newline='') as file: print([*file])",
        b"\xe9\r\n",
        "['é\\r\\n']\n",
    ),
    "a file that is not there": (
        "import sys\ntry:\n    sys.stdin = open('input.txt')\nexcept FileNotFoundError:\n    print(input())",
        b"x",
        "x\n",
    ),
    "a thread with a deep stack, not waited for": (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(512 << 20)\n"
        "class Node:\n    def __call__(self, n): return n and 1 + self(n - 1)\n"
        f"def main(): print(Node()({DEEP}), input())\nthreading.Thread(target=main).start()",
        b"x",
        f"{DEEP} x\n",
    ),
    "text that is run reads it, too": (
        "a, b = eval('input(),' * 2)\nexec('print(a, b, open(0).read())')",
        b"1\n2\n",
        "1 2 \n",
    ),
    "what is registered with atexit, the last first": (
        "import atexit, io, sys\nsys.stdout = kept = io.StringIO()\n"
        "@atexit.register\ndef write(): sys.__stdout__.write(kept.getvalue())\n"
        "@atexit.register\ndef fail(): 1 / 0\natexit.register(print, 'not')\natexit.unregister(print)\n"
        "atexit.register(print, 'last', end='!')\nprint(input())\nexit()",
        b"x",
        "x\nlast!",
    ),
    "what templates of contests ask of streams": (
        "import os, sys\nprint(sys.stdin.mode, sys.stdout.mode, os.read(sys.stdin.fileno(), os.fstat(0).st_size))",
        b"x",
        "r w b'x'\n",
    ),
    "what the input says of itself": (
        "import sys\nprint(sys.stdin.newlines, sys.stdin.line_buffering, sys.stdin.errors)",
        *(b"a", "None False strict\n"),
    ),
    "a daemon is not waited for": (
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\nprint(1)",
        b"",
        "1\n",
    ),
}


@pytest.mark.parametrize("profile", ["standard", "confined-python"])
@pytest.mark.parametrize("name", AS_CPYTHON)
def test_a_program_reads_prints_and_ends_as_in_an_interpreter(
    name: str, profile: str, open_session: OpenSession
) -> None:
    source, given, wanted = AS_CPYTHON[name]
    result = open_session(profile).run(source, stdin=given, timeout=30).check()
    if wanted is None:
        assert result.stdout.startswith("['a\\r', 'b\\r\\n',")
    else:
        assert result.stdout == wanted


READ_BY_OS = """
import io, os, sys
first = sys.stdin.readline()
found = io.BytesIO()
while chunk := os.read(0, max(os.fstat(0).st_size, 8192)):
    found.write(chunk)
len(first), found.tell(), os.fstat(0).st_size
"""


@pytest.mark.parametrize("profile", ["standard", "data-analysis"])
def test_descriptors_are_the_steps_own(profile: str, open_session: OpenSession) -> None:
    session = open_session(profile)
    text = "1 2 3\n" * 50_000
    for given, size in ((text, len(text)), (io.BytesIO(text.encode()), 0)):
        first, rest, told = session.run(READ_BY_OS, stdin=given).check().value
        # As in CPython, sys.stdin has read ahead, which os.read does not give again.
        assert (first, told) == (6, size) and 0 < rest < len(text) - first
    whole = session.run("import os\nos.read(0, 1 << 20), os.read(0, 1)", stdin=text).check().value
    assert whole == (text.encode(), b"")
    heard: list[tuple[str, str]] = []
    written = session.run(
        "import os\nprint('a')\nos.write(1, b'b\\n')\nprint('c')\nos.write(2, memoryview(b'd\\n'))",
        on_stdout=lambda text: heard.append(("out", text)),
        on_stderr=lambda text: heard.append(("err", text)),
    )
    assert (written.stdout, written.stderr, written.value) == ("a\nb\nc\n", "d\n", 2)
    assert "".join(text for stream, text in heard if stream == "out") == written.stdout
    flood = session.run("while True:\n    os.write(1, bytes(1 << 16))")
    assert flood.outcome == "output"


def test_arguments(session: Session, open_session: OpenSession) -> None:
    assert session.run("import sys\nsys.argv", argv=["p.py", "-n", "ä"]).value == ["p.py", "-n", "ä"]
    assert session.run("import sys\nsys.argv").value == [""]
    source = "import argparse\np = argparse.ArgumentParser()\np.add_argument('-n', type=int)\np.parse_args().n"
    assert open_session("standard").run(source, argv=["p.py", "-n", "3"]).value == 3


def test_programs_that_end_themselves(session: Session, open_session: OpenSession) -> None:
    for source, (status, said) in ENDS.items():
        result = session.run("kept = 1\n" + source)
        assert (result.exit_status, result.stderr) == (status, said), source
        assert (result.outcome, result.state) == ("ok" if status == 0 else "error", "kept"), source
        assert session.run("kept").value == 1
    for source in ("1", "1 / 0"):
        assert session.run(source).exit_status is None
    caught = session.run("try:\n    exit(3)\nexcept SystemExit as error:\n    print(error.code)")
    assert (caught.outcome, caught.exit_status, caught.stdout) == ("ok", None, "3\n")
    of_a_thread = "import threading\nt = threading.Thread(target=exit)\nt.start()\nt.join()"
    result = open_session("standard").run(of_a_thread)
    assert (result.outcome, result.exit_status) == ("ok", None)


WRONG: list[tuple[dict[str, Any], type[Exception], str | None]] = [
    ({"argv": "p.py"}, TypeError, None),
    ({"argv": [1]}, TypeError, None),
    ({"argv": ["a\0b"]}, ValueError, None),
    ({"argv": ["x" * (MOST_ARGUMENTS + 1)]}, ValueError, None),
    ({"argv": ["main.py", "\udc80"]}, ValueError, r"argv\[1\] holds '\\udc80', half of a character"),
    ({"stdin": "a\udc80"}, ValueError, r"stdin holds '\\udc80'"),
]


def test_what_no_command_line_and_no_stream_could_hold(open_session: OpenSession) -> None:
    session = open_session("calculator")
    for given, problem, told in WRONG:
        with pytest.raises(problem, match=told):
            session.run("1", **given)


ENDS = {
    "import sys\nsys.exit()": (0, ""),
    "exit()": (0, ""),
    "import sys\nsys.exit(3)": (3, ""),
    "raise SystemExit(True)": (1, ""),
    "raise SystemExit": (0, ""),
    "raise SystemExit('so long')": (1, "so long\n"),
    "exit(256)": (0, ""),
    "exit(-1)": (255, ""),
    "exit(2 ** 80)": (255, ""),
    "exit((1, 2))": (1, "(1, 2)\n"),
    "exit(0.0)": (1, "0.0\n"),
    "def f():\n    try:\n        exit(4)\n    finally:\n        print('left')\nf()": (4, ""),
    "class E(SystemExit):\n    code = property(lambda self: 1 / 0)\nraise E(6)": (6, ""),
    "class S:\n    def __str__(self): raise ValueError('x')\nexit(S())": (1, ""),
}


def test_nothing_is_left_of_an_input_that_was_never_sent() -> None:
    before = set(os.listdir("/proc/self/fd"))
    for given in ("text", io.BytesIO(b"x"), ["line"]):
        StandardInput(given).close()
    assert set(os.listdir("/proc/self/fd")) == before


# Other ways to run


def test_a_program_of_its_own_session(open_session: OpenSession, sandbox_for: Callable[[str], Any]) -> None:
    sandbox = sandbox_for("calculator")
    assert sandbox.run("input()", stdin="x").value == "x"
    programs = ["1", {"source": "int(input()) + 1", "stdin": "4"}, {"source": "import sys\nsys.argv", "argv": ["p"]}]
    assert [result.value for result in sandbox.map(programs)] == [1, 5, ["p"]]
    for wrong in ({}, {"stdin": "x"}, {"source": "1", "timeout": 3}):
        with pytest.raises(TypeError, match="a program is"):
            list(sandbox.map([wrong]))


MIXED = """
import os, sys
for i in range(200):
    print('a', i, end='' if i % 3 else '\\n')
    if i % 5 == 0: os.write(1, b'raw\\n')
    if i % 7 == 0: print('error', file=sys.stderr)
    display(i, clear=i % 50 == 9)
    print('b')
"""


def test_displays_are_told_between_what_was_printed_before_and_after(open_session: OpenSession) -> None:
    heard: list[str] = []
    expected = "".join(
        f"a {i}{'' if i % 3 else chr(10)}{'' if i % 5 else 'raw' + chr(10)}{'' if i % 7 else 'error' + chr(10)}"
        f"{'[cleared]' if i % 50 == 9 else ''}[{i}]b\n"
        for i in range(200)
    )
    open_session("confined-python").run(
        MIXED,
        on_output=heard.append,
        on_display=lambda display: heard.append(f"[{display.text}]" if display else "[cleared]"),
    )
    assert "".join(heard) == expected


def test_a_listener_hears_each_display_but_no_value_within_bounds_and_may_raise(
    open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "SHOWN_BYTES", 100_000)
    heard: list[str | None] = []
    session = open_session("data-analysis")
    source = "class Shown:\n    def _repr_html_(self): return '<b>'\nx = 1\ndisplay('a')\nShown()"
    result = session.run(source, on_display=lambda display: heard.append(display.text))
    assert (heard, result.displays[1].html) == (["'a'"], "<b>")
    source = "handle = display(0, display_id=True)\nfor n in range(300):\n    handle.update(n)"
    result = session.run(source, on_display=lambda display: heard.append(display.text))
    assert result.displays[0].text == "299" and 50 < len(heard) <= 100
    with pytest.raises(ZeroDivisionError):
        session.run("x = 2\ndisplay(x)\nimport time\ntime.sleep(5)", on_display=lambda display: 1 // 0)
    assert session.run("x").value == 1


@pytest.mark.parametrize("profile", ["standard", "data-analysis", "confined-python"])
def test_a_program_has_a_file_while_it_runs(open_session: OpenSession, profile: str) -> None:
    session = open_session(profile)
    place = "" if profile == "standard" else f"{session.workspace}/"
    assert session.run("__file__", argv=["folder/p.py"]).value == f"{place}p.py"
    for argv in (None, ["-"], [""], ["-c"]):
        error = session.run("__file__", argv=argv).error
        assert error is not None and error.type == "NameError"
    session.run("__file__ = 'mine'", argv=["p.py"])
    assert session.run("__file__").value == "mine"
    assert session.run("__file__", argv=["p.py"]).value == f"{place}p.py"
    assert session.run("__file__").value == "mine"
