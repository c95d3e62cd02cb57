"""What guest code prints: in order, as it happens, bounded, and whatever wrote it."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import resource
import select
from collections.abc import Callable
from itertools import combinations_with_replacement

import pytest

from safeexec import Sandbox, Session
from safeexec.engine.host.session.output import OutputFile
from safeexec.protocol.printed import PYTHON_AT, mark
from tests.conftest import OpenSession, Run
from tests.limits import limited
from tests.profiles import FORKING

CLASSES = """
class Loud:
    def __init__(self, name): self.name = name
    def __str__(self):
        print('inside', self.name)
        return self.name
class Broken:
    def __str__(self): raise KeyError('broken')
class Text(str): pass
"""
STATEMENTS = """
print()
print(1, 'two', None, 3.0, True)
print('a', 'b', sep='', end='')
print('c', sep=None, end=None, flush=True)
print([1], {2}, sep='; ')
print(Loud('x'))
print('before', Loud('y'), 'after')
print('before', Broken())
print('x', sep=1)
print('x', nonsense=1)
print(text='x')
print(str.__new__(Text, 'subclass'))
"""
ATTEMPT = "try:\n    {}\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
PRINTS = CLASSES + "".join(map(ATTEMPT.format, STATEMENTS.split("\n")[1:-1]))


def test_print_is_the_builtin_in_every_respect(run: Run) -> None:
    """Each statement prints what CPython prints, also where it raises in the middle."""
    expected = io.StringIO()
    with contextlib.redirect_stdout(expected):
        exec(PRINTS, {"__name__": "__main__"})
    assert run(PRINTS).stdout == expected.getvalue()
    looked_at = run("import inspect\nprint(inspect.signature(print), print.__doc__, inspect.get_annotations(print))")
    assert looked_at.stdout == f"{inspect.signature(print)} {print.__doc__} {{}}\n"


def test_the_streams_are_closed_and_entered_as_programs_do(run: Run) -> None:
    told = "print(sys.stdout.fileno(), sys.stderr.fileno(), sys.stdout.mode)\nfor _ in range(100_000): print('line')"
    result = run(f"import sys\nwith sys.stdout as out: out.write('in\\n')\n{told}\nsys.stdout.close()").check()
    assert result.stdout.startswith("in\n1 2 w\nline\n")
    assert result.usage.output_bytes == len("in\n1 2 w\n") + 500_000


@pytest.mark.parametrize("call", ["print('\\udcff')", "import sys\nsys.stdout.write('\\ud800')"])
def test_a_lone_surrogate_is_the_guests_error(run: Run, call: str) -> None:
    result = run(call)
    assert result.error is not None and result.error.type == "UnicodeEncodeError"
    assert result.error.traceback.count("UnicodeEncodeError") == 1
    assert run("print('next')").stdout == "next\n"


LINES = "\0" * 100 + "\n" + "".join(f"line {i}\n" for i in range(1000)) + "no newline"
PRINT_THEM = "import sys\nprint(chr(0) * 100)\nfor i in range(1000): print('line', i)\nsys.stdout.write('no newline')\n"


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize("end", ["while True: pass", "import os; os._exit(3)", "import ctypes; ctypes.string_at(0)"])
def test_whatever_ends_a_step_everything_it_printed_is_there_and_not_in_the_next_one(
    session: Session, end: str
) -> None:
    result = session.run(PRINT_THEM + end, timeout=1)
    assert result.outcome in ("timeout", "crashed")
    assert result.stdout == LINES
    assert session.run("print('next')").stdout == "next\n"


@pytest.mark.parametrize(
    "text",
    [
        *("'a' + chr(0) + 'b' + chr(0)", "chr(0) * 100", "''", "chr(0) + chr(1)", "'é' * 100_000", "'x' * 300_000"),
        *("'a' + chr(0) * 50_000 + 'b'", "chr(0) * 50_000"),
    ],
)
def test_any_text_arrives(run: Run, text: str) -> None:
    printed, pieces = eval(text), list[str]()
    result = run(f"import time\nprint({text}, end='')\ntime.sleep(0.1)\nprint(end='')", on_output=pieces.append)
    assert "".join(pieces) == printed
    assert result.usage.output_bytes == len(printed.encode())
    assert result.truncated or result.stdout == printed
    assert run("print('next')").stdout == "next\n"


def test_long_output_keeps_head_and_tail_and_counts_the_rest(open_session: OpenSession) -> None:
    session = open_session(output_kb=4)
    result = session.run("for i in range(3000): print('line', i)")
    assert result.ok and result.truncated
    lines = result.stdout.splitlines()
    assert lines[0] == "line 0" and lines[-1] == "line 2999"
    assert "bytes left out" in result.stdout and len(result.stdout) < 5000
    assert result.usage.output_bytes == sum(len(f"line {i}\n") for i in range(3000))


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.write(1, b'raw out\\n')\nos.write(2, b'raw err\\n')",
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "libc.printf(b'raw ')\nlibc.printf(b'out')\nlibc.puts(b'')\nlibc.dprintf(2, b'raw err\\n')",
        "import sys\nsys.__stdout__.buffer.write(b'raw out\\n')\nsys.__stderr__.buffer.write(b'raw err\\n')",
    ],
)
def test_what_c_code_writes_is_output_too(session: Session, source: str) -> None:
    result = session.run("print('python')\n" + source)
    assert (result.outcome, result.stdout, result.stderr) == ("ok", "python\nraw out\n", "raw err\n")


@pytest.mark.profile("confined-python")
def test_the_order_of_both_areas_is_kept_past_the_last_mark(session: Session) -> None:
    turns = "for i in range(400):\n    print('python', i)\n    os.write(1, b'raw %d\\n' % i)"
    end = "print('x' * 200_000)\nos.write(1, b'raw\\n')\nprint('end\\0', end='')"
    source = f"import os\nprint('x' * 260_000)\n{turns}\n{end}"
    streamed: list[str] = []
    result = session.run(source, on_output=streamed.append).check()
    told = "".join(f"python {i}\nraw {i}\n" for i in range(400))
    assert sorted("".join(streamed)) == sorted(result.stdout)
    assert result.stdout == f"{'x' * 260_000}\n{told}{'x' * 200_000}\nraw\nend\0"


FORKED = """
import os
print('before')
ended, ends = os.pipe()
if os.fork() == 0:
    print('in the fork')
    os._exit(0)
os.close(ends)
os.read(ended, 1)
print('after')
"""


@pytest.mark.profile(FORKING)
def test_a_fork_of_the_guest_prints_between_the_lines_of_its_parent(session: Session) -> None:
    assert session.run(FORKED).stdout == "before\nin the fork\nafter\n"


@pytest.mark.profile("confined-python")
def test_print_follows_descriptor_1_and_lines_of_c_code_survive_a_kill_and_keep_their_place(session: Session) -> None:
    capture = (
        "kept = os.dup(1)\nfile = open('captured', 'w+')\nos.dup2(file.fileno(), 1)\nprint('two')\nos.dup2(kept, 1)"
    )
    result = session.run(f"import os\nprint('one')\n{capture}\nprint('three')\nopen('captured').read()")
    assert (result.value, result.stdout) == ("two\n", "one\nthree\n")
    lines = "for i in range(3):\n    print('python', i)\n    libc.printf(b'c %d\\n', i)"
    source = f"import ctypes, os, signal\nlibc = ctypes.CDLL(None)\n{lines}\nos.kill(os.getpid(), signal.SIGKILL)"
    assert session.run(source).stdout == "".join(f"python {i}\nc {i}\n" for i in range(3))


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize(
    "source",
    [
        "import sys\nsys.stdout.close()",
        "import sys\nsys.stdout = None\nsys.stderr = 3",
        "import os\nos.close(1)\nos.close(2)",
        "import os\nos.ftruncate(1, 0)",
        "import sys\nsys.stdout = open('elsewhere', 'w')",
    ],
)
def test_a_guest_that_breaks_its_streams_hurts_one_step_at_most(session: Session, source: str) -> None:
    session.run(source)
    session.run("1")
    assert session.run("1 + 1").value == 2


def test_what_is_printed_between_steps_is_no_part_of_the_next_one(open_session: OpenSession) -> None:
    """The checkpoint of a step is made before the next one begins, and looks for garbage."""
    session = open_session(checkpoints="before-step")
    session.run("class Last:\n    def __init__(self): self.me = self\n    def __del__(self): print('gone')").check()
    session.run("print('a' * 1000)\nfor _ in range(10): Last()").check()
    assert session.run("print('b')").check().stdout == "b\n"


def test_a_page_that_is_read_too_early_is_streamed_when_it_is_whole() -> None:
    """The child writes a line across two pages while the host reads: the second page is seen, the first is not yet."""
    file = OutputFile("test", 1 << 18, 1 << 18)
    try:
        os.pwrite(file.shared, b"one\n", PYTHON_AT)
        os.pwrite(file.shared, b"tail\n", PYTHON_AT + 4096)
        assert file.fresh(1 << 20, file.position()) == "one\n"
        os.pwrite(file.shared, b"x" * 4092, PYTHON_AT + 4)
        assert file.fresh(1 << 20, file.position()) == "x" * 4092 + "tail\n"
        assert file.rest(1 << 20, file.position()) == ""
    finally:
        file.close()


class Interleaved(OutputFile):
    """A file whose child does its acts while the host reads: each before the read of this number."""

    def __init__(self, schedule: tuple[int, ...]) -> None:
        super().__init__("test", 1 << 18, 1 << 18)
        self.reads, self.schedule, self.done = 0, schedule, 0
        self.acts: list[Callable[[], object]] = [
            lambda: os.pwrite(self.shared, b"a\n", PYTHON_AT),
            lambda: os.write(self.fd, b"b\n"),
            lambda: os.pwrite(self.shared, mark(2) + b"c\n", PYTHON_AT + 2),
            lambda: os.write(self.fd, b"d\n"),
        ]

    def _go_on(self) -> None:
        while self.done < len(self.acts) and self.schedule[self.done] <= self.reads:
            self.acts[self.done]()
            self.done += 1
        self.reads += 1

    def mark(self) -> int:
        self._go_on()
        return super().mark()

    def _python_text(self, start: int, end: int = PYTHON_AT) -> bytes:
        self._go_on()
        return super()._python_text(start, end)


def test_what_is_printed_while_the_host_looks_is_streamed_in_its_order() -> None:
    for schedule in combinations_with_replacement(range(8), 4):
        file = Interleaved(schedule)
        try:
            assert "".join(file.fresh(1 << 20, file.position()) for _ in range(4)) == "a\nb\nc\nd\n", schedule
        finally:
            file.close()


def test_a_deadline_holds_while_a_listener_takes_its_time(session: Session) -> None:
    ended: list[bool] = []

    def hear(text: str) -> None:
        runner = session._core.processes.runner
        ended.append(bool(select.select([runner.channel.pidfd], [], [], 30)[0]))

    assert session.run("kept = 1").ok
    result = session.run("print('x')\nwhile True: pass", on_output=hear, timeout=0.3)
    assert ended == [True]
    assert (result.outcome, result.state) == ("timeout", "restored")
    assert session.run("kept").value == 1


def test_a_host_with_short_files_hears_all_of_it() -> None:
    """Its limit on the size of a file leaves no room for the memory that child and host share."""
    with limited(resource.RLIMIT_FSIZE, 1 << 30), Sandbox("calculator") as sandbox, sandbox.session() as session:
        heard = [session.run(source).check().stdout for source in ("print(1)\nprint(2)", "print(3)")]
    assert heard == ["1\n2\n", "3\n"]
