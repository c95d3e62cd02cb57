"""Every limit ends the step with its own outcome; the host is unharmed, the session and the sandbox serve on."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from safeexec import ErrorInfo, PolicyError, Result, Sandbox, Session
from safeexec.engine.host.files.tree import held
from safeexec.engine.linux import processes
from tests.conftest import OpenSession
from tests.engine.host.inside import runner_of

FOREVER = "while True: pass"
C_CALL = "sum(range(10**12))"
PATIENCE = 60.0
"""Seconds for what a busy machine takes: the most that `calculator` grants."""


def killed(session: Session, source: str, **options: Any) -> Result:
    """Run a step that is killed, between two that show that nothing but it was lost."""
    session.run("before = ['kept']\nbefore.append(len(before))").check()
    result = session.run(source, **options)
    assert result.state == "restored"
    after = session.run("before")
    assert (after.value, after.notes) == (["kept", 1], ())
    return result


SPINS = [
    FOREVER,
    C_CALL,
    "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "[0] * 3 and max(iter(int, 1))",
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
]


def test_nothing_that_guest_code_calls_or_catches_outlasts_its_deadline(open_session: OpenSession) -> None:
    session = open_session(wall_seconds=0.2)
    for source in SPINS:
        result = killed(session, source)
        assert result.outcome == "timeout" and "0.2 s" in result.error.message, source
    for timeout in (0, -1, float("nan"), 10_000):
        with pytest.raises(PolicyError, match="max_wall_seconds"):
            session.run("1", timeout=timeout)
    assert session.run("1").value == 1


WHERE = """\
def inner(n):
    return {call}

def outer():
    value = inner(3)
    return value

outer()
"""


def error_of_timeout(session: Session, source: str) -> ErrorInfo:
    """The error of a step without an end. A process that a busy machine does not let run in time cannot say where it
    is: then it has longer.
    """
    for timeout in (0.2, 1.0, 5.0):
        error = session.run(source, timeout=timeout).error
        assert error is not None
        if error.line is not None:
            return error
    raise AssertionError(error)


@pytest.mark.parametrize("call", ["sum(range(10**12))", "[i for i in iter(int, 1)]"])
@pytest.mark.profile("confined-python")
def test_a_timeout_says_where_also_inside_a_c_call(session: Session, call: str) -> None:
    error = error_of_timeout(session, WHERE.format(call=call))
    assert (error.line, error.source_line.strip()) == (2, f"return {call}")
    for shown in ("line 8, in <module>", "outer()", "line 5, in outer", "value = inner(3)", "line 2, in inner"):
        assert shown in error.traceback, error.traceback
    assert "at line 2" in error.message


def test_where_names_functions_as_they_are_called_and_those_of_earlier_steps(session: Session) -> None:
    """Also where the name is not ASCII, and the line too long for a message."""
    call = "größe_𝔘(" + " + ".join(["1"] * 2000) + ")"
    error = error_of_timeout(session, f"def größe_𝔘(n):\n    while True: pass\n{call}")
    assert (error.line, error.source_line) == (2, "    while True: pass")
    assert "in größe_U" in error.traceback  # as Python folds it
    error = error_of_timeout(session, f"while True: [{', '.join(['1'] * 2000)}]")
    assert error.line == 1 and len(error.message) < 400
    step = session.run("def slow():\n    while True:\n        pass").check().step
    error = error_of_timeout(session, "x = 1\nslow()")
    assert error.line == 2 and f'File "<step {step}>", line' in error.traceback


def test_cpu_is_counted_over_all_threads(open_session: OpenSession) -> None:
    result = killed(open_session(cpu_seconds=0.3), FOREVER, timeout=PATIENCE)
    assert result.outcome == "cpu"
    assert result.error is not None and "limits.cpu_seconds is 0.3" in result.error.message


@pytest.mark.parametrize("profile", ["calculator", "confined-python"])
def test_too_much_memory_is_a_memory_error_of_the_guest(open_session: OpenSession, profile: str) -> None:
    session = open_session(profile=profile, memory_mb=64)
    result = session.run("kept = 1\nx = bytearray(1 << 30)")
    assert (result.outcome, result.state, result.error.type) == ("memory", "kept", "MemoryError")
    assert "limits.memory_mb is 64" in result.error.message and "smaller data" in str(result.error.hint)
    caught = session.run("try:\n    x = bytearray(1 << 30)\nexcept MemoryError:\n    x = 'too much'\nx")
    assert (caught.outcome, caught.value) == ("ok", "too much")
    assert session.run("kept").value == 1


def test_memory_in_small_pieces_ends_the_step_too(open_session: OpenSession) -> None:
    session = open_session(memory_mb=64)
    session.run("kept = [1]").check()
    assert session.run("rows = []\nwhile True: rows.append([len(rows)] * 100)", timeout=PATIENCE).outcome == "memory"
    assert session.run("kept").value == [1]


@pytest.mark.parametrize(("checkpoints", "state"), [("idle", "restored"), ("off", "lost")])
def test_a_process_that_is_left_no_memory_says_so(open_session: OpenSession, checkpoints: str, state: str) -> None:
    """Its own code gets none either, once guest code that catches MemoryError holds the last of it: a step has what is
    kept back for that, and the next one nothing. The pages of large ones stay untouched, so that no look finds them.
    """
    more = "try:\n        while True: held.append(bytes(size))\n    except MemoryError: size //= 2"
    fill = f"held, size = [], 1 << 20\nwhile size > 16:\n    {more}"
    session = open_session(profile="calculator", memory_mb=64, checkpoints=checkpoints)
    session.run("kept = 1").check()
    with held(os.pidfd_open(runner_of(session))) as pid:  # it may be gone before the step that finds that out
        session.run(fill, timeout=PATIENCE).check()
        for source in ("1", fill.replace("held", "again")):
            full = session.run(source, timeout=PATIENCE)
            assert (full.outcome, full.state) == ("memory", "kept") and "memory is full" in full.error.message
        result = session.run("1")
        told = processes.exit_status(pid) is not None  # by Linux from 6.15 on
    assert (result.outcome, result.state) == ("memory" if told else "crashed", state)
    assert not told or ("limits.memory_mb is 64" in result.error.message and result.error.hint)
    assert session.run("1").value == 1


def test_a_step_that_the_host_ends_tells_what_it_held(session: Session) -> None:
    for _ in range(2):
        result = session.run("x = 'x' * 40_000_000\nwhile True: pass", timeout=0.5)
    assert result.outcome == "timeout" and 40 < result.usage.peak_memory_mb < 400


@pytest.mark.parametrize("how", ["restore", "branch", "rollback"])
def test_a_restored_state_counts_as_what_it_holds(open_session: OpenSession, how: str) -> None:
    """Else a guest would have its limit anew after every step that is killed."""
    session = open_session(memory_mb=100)
    session.run("a = bytearray(60 << 20)\na[::4096] = bytes(len(a[::4096]))").check()
    if how == "restore":
        assert session.run(FOREVER, timeout=0.2).state == "restored"
    elif how == "rollback":
        session.run("b = 1").check()
        session.rollback()
    [later] = session.branch() if how == "branch" else [session]
    result = later.run("c = bytearray(60 << 20)\nc[::4096] = bytes(len(c[::4096]))\nwhile True: pass", timeout=PATIENCE)
    assert result.outcome == "memory" and result.state == "restored"
    assert later.run("len(a)").value == 60 << 20
    later.close()


def test_output_past_the_ceiling_ends_the_step(open_session: OpenSession) -> None:
    session = open_session(output_kb=4)
    result = killed(session, "while True: print('x' * 1000)", timeout=PATIENCE)
    assert result.outcome == "output" and result.truncated and len(result.stdout) < 5000
    assert session.run("count = 1").ok
    for _ in range(10):  # done in less time than the host takes to look
        result = session.run("count = 2\nprint('x' * 100_000)")
        assert (result.outcome, result.state) == ("output", "restored")
    assert session.run("print('x' * 20_000)\ncount").value == 1


def test_recursion_is_an_ordinary_error_at_any_limit_and_as_deep_as_a_program_asks(session: Session) -> None:
    result = session.run("def f(n): return f(n + 1)\nf(0)")
    assert (result.outcome, result.state, result.error.type) == ("error", "kept", "RecursionError")
    assert len(result.error.traceback) < 60_000
    # From 3.12 on, CPython itself ends a recursion through its C code at some hundred levels, whatever is asked.
    both = 60_000 if sys.version_info < (3, 12) else 100
    assert session.run(NESTED.format(python=200_000, both=both), timeout=60).check().value == 200_001
    endless = "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __init__(self): A()\nA()"
    assert session.run(endless, timeout=60).error.type == "RecursionError"
    assert session.run("1").value == 1


NESTED = """
import sys
sys.setrecursionlimit(10**6)
class Node:
    def __init__(self, depth):
        self.next = Node(depth - 1) if depth else None
def depth_of(n):
    return 0 if n == 0 else 1 + depth_of(n - 1)
depth_of({python}) + (Node({both}) is not None)
"""


STARTS = {
    "threading": "import threading\ndef start(): threading.Thread(target=gate.wait).start()",
    "a pool": "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(400)\n"
    "def start(): pool.submit(gate.wait)",
    "pools": "from concurrent.futures import ThreadPoolExecutor\ndef start(): ThreadPoolExecutor(1).submit(gate.wait)",
}


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("profile", ["standard", "confined-python"])
def test_the_first_thread_beyond_the_limit_is_an_error(open_session: OpenSession, profile: str, how: str) -> None:
    """At exactly the limit, however it is started; and those that have ended count no more."""
    session = open_session(profile=profile, threads=4)
    session.run(f"import threading, time\ngate = threading.Event()\nstarted = 0\n{STARTS[how]}").check()
    for _ in range(2):
        result = session.run("while True:\n    start()\n    started += 1")
        assert result.error is not None and result.outcome == "error"
        assert (result.error.type, result.error.message) == ("RuntimeError", "can't start new thread")
        assert result.error.hint is not None and result.error.hint.startswith("limits.threads is 4 here (")
        assert result.error.rule is not None and ".yaml:" in result.error.rule
        assert session.run("started").value == 4
        others = "t for t in threading.enumerate() if t is not threading.current_thread() and 'Pool' not in t.name"
        session.run(f"gate.set()\nstarted = 0\nfor t in [{others}]: t.join()").check()
        if "pool" in how:
            return
        session.run("gate.clear()")


TO_THREADS = """
import asyncio, threading, time
seen = set()
def work(n):
    time.sleep(0.005)
    seen.add(threading.active_count() - 1)
    return n
async def main(): return await asyncio.gather(*(asyncio.to_thread(work, n) for n in range(8)))
asyncio.run(main())
"""


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_asyncio_makes_do_with_the_threads_there_are(open_session: OpenSession, threads: int) -> None:
    """Its pool is not larger than the limit, and the thread that ends it has its place."""
    session = open_session(threads=threads)
    result = session.run(TO_THREADS, timeout=PATIENCE)
    if threads == 1:
        assert result.error is not None and "limits.threads is 1" in str(result.error.hint)
        return
    assert result.value == [*range(8)]
    assert session.run("max(seen)").value <= threads


@pytest.mark.needs("user")
@pytest.mark.profile("confined-python")
def test_the_kernel_counts_threads_too(open_session: OpenSession) -> None:
    """Past what counts in Python: RLIMIT_NPROC holds threads together with the slots of checkpoints and branches."""
    session = open_session(threads=4)
    session.run("import ctypes\nlibc = ctypes.CDLL(None)\nthread = ctypes.c_ulong()\nmade = 0").check()
    create = "libc.pthread_create(ctypes.byref(thread), None, libc.pause, None)"
    assert 4 <= session.run(f"while made < 5000 and {create} == 0: made += 1\nmade").value < 200


def test_descriptors_beyond_the_limit_are_an_error() -> None:
    """In the first step of a sandbox, before the zygote has imported what tells of errors, which takes a descriptor."""
    with Sandbox("confined-python", spare=0) as sandbox, sandbox.session(open_files=32) as session:
        result = session.run("files = []\nwhile True: files.append(open('f', 'w'))")
        assert (result.outcome, result.state) == ("error", "kept")
        assert (result.error.type, result.error.line) == ("OSError", 2)
        assert "Too many open files" in result.error.message
        error = session.run("few = len(files) < 64\nfiles.clear()\n1 / 0").error
        assert error.type == "ZeroDivisionError" and session.get("few") is True


@pytest.mark.profile("confined-python")
def test_workspace_bytes_and_files_are_limited(open_session: OpenSession) -> None:
    session = open_session(workspace_mb=1)
    big = "for i in range(1000):\n    open(f'f{i}', 'wb').write(bytes(1 << 20))\nimport time\ntime.sleep(3600)"
    result = session.run(big, timeout=60)
    assert result.outcome in ("output", "error", "violation")
    assert session.run("1").ok
    session = open_session(workspace_files=20)
    many = "for i in range(10_000): open(f'f{i}', 'w').close()\nimport time\ntime.sleep(3600)"
    result = session.run(many, timeout=60)
    assert result.outcome == "violation" and result.error is not None
    assert (result.error.rule, "workspace_files" in result.error.message) == ("limits.workspace_files", True)
    assert "put the data into one file" in str(result.error.hint)
    assert session.run("import os\nos.listdir()").value == []
    result = open_session().run("import os\nfor _ in range(120):\n    os.mkdir('d')\n    os.chdir('d')")
    assert result.outcome == "violation" and result.error is not None and "fewer levels" in result.error.message
    assert (result.error.rule, result.error.hint) == (None, None), "no limit of a policy is exceeded"


FLOODS = {
    "the descriptor": "os.write({fd}, b)",
    "the descriptor, from its start": "os.lseek({fd}, 0, 0); os.write({fd}, b)",
    "the descriptor, far on": "os.lseek({fd}, 1 << 40, 0); os.write({fd}, b)",
    "at any place": "[os.pwrite({fd}, b, at << 20) for at in range(1024)]",
    "the same file anew": "new = os.open('/proc/self/fd/{fd}', os.O_WRONLY); os.write(new, b); os.close(new)",
    "to another length": "os.ftruncate({fd}, 1 << 30)",
    "line by line": "print('x' * 100_000, file=(None, sys.stdout, sys.stderr)[{fd}])",
}


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize("fd", [1, 2])
@pytest.mark.parametrize("what", FLOODS)
def test_the_kernel_refuses_output_past_the_size_of_its_file(open_session: OpenSession, what: str, fd: int) -> None:
    """However fast it comes: a session holds what its files hold afterwards, as nothing is given back before the next
    step.
    """
    session = open_session(output_kb=64, workspace_mb=64)
    flood = FLOODS[what].format(fd=fd)
    source = f"import os, sys\nb = b'x' * (1 << 20)\nfor _ in range(200):\n    try: {flood}\n    except OSError: pass"
    session.run(source, timeout=60)
    line = session._core.processes
    assert line.output.held() < 3 * (16 * 64 + 128) << 10
    assert session.run("print('next')").stdout == "next\n"
