"""Forks wait for the host's permission: those that it has asked for are made, every other one ends what wanted it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from time import monotonic

import pytest

from safeexec import Sandbox, SandboxError, Session
from safeexec.engine.host.session.runner import ANSWER_SECONDS
from safeexec.engine.host.waiting import drive
from safeexec.engine.host.watch.gate import NO_GATE, Fork, ForkGate
from safeexec.engine.linux import notify, processes
from tests.conftest import OpenSession
from tests.engine.host.inside import ended_at_rest, frozen, members, newest_copy, runner_of
from tests.engine.host.startup.machines import lacking
from tests.footprint import pause, until
from tests.limits import descriptors_left
from tests.profiles import FORKING

pytestmark = [pytest.mark.usefixtures("copied"), pytest.mark.needs("notify"), pytest.mark.profile("confined-python")]
SOON = 45.0
BY_A_THREAD = "import os, threading, time\nthreading.Thread(target=os.fork, daemon=True).start()\ntime.sleep(3600)"
BY_ITSELF = "import os, time\nos.fork()\ntime.sleep(3600)"
BY_MANY_THREADS = """
import os, threading, time
def storm():
    while True:
        try: os.fork()
        except OSError: pass
for _ in range(20): threading.Thread(target=storm, daemon=True).start()
storm()
"""
BY_A_HANDLER = """
import os, signal, time
signal.signal(signal.SIGALRM, lambda *_: os.fork())
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
time.sleep(3600)
"""
ONE_FORK = """
import os
child = os.fork()
if child == 0: os._exit(0)
try: os.waitpid(child, 0)
except ChildProcessError: pass
'gone'
"""
FORKS = {"itself": BY_ITSELF, "thread": BY_A_THREAD, "threads": BY_MANY_THREADS, "handler": BY_A_HANDLER}


def alarmed(pid: int, over: Callable[[], bool]) -> bool:
    """Have the handler of a guest that waits run, and wait until it is `over`. One signal may interrupt nothing: it may
    come between Python's last look for signals and the system call that waits.
    """
    deadline = monotonic() + SOON
    while monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGALRM)
        again = monotonic() + 2.0
        while monotonic() < again:
            if over():
                return True
            pause()
    return False


@pytest.mark.parametrize("source", FORKS.values(), ids=FORKS.keys())
def test_a_fork_that_nobody_asked_for_is_a_verdict(open_session: OpenSession, source: str) -> None:
    session = open_session(memory_mb=128)
    for _ in range(3):
        session.run("x = 1").check()
    started, most, watching = monotonic(), [0], threading.Event()

    def count() -> None:
        while not watching.wait(0.002):
            most[0] = max(most[0], len(members(session)))

    thread = threading.Thread(target=count)
    thread.start()
    result = session.run(source, timeout=30)
    watching.set()
    thread.join()
    assert result.outcome == "violation" and result.state == "restored"
    assert result.error is not None and "limits.processes is 0" in result.error.message
    assert monotonic() - started < SOON
    assert 0 < most[0] <= 5, "the runner, the checkpoints, and the one that is resumed"
    assert session.run("x").value == 1


def test_the_verdict_tells_the_line(session: Session) -> None:
    error = session.run("import os\nx = 1\nos.fork()").error
    assert error is not None and error.line == 3 and error.source_line == "os.fork()"
    assert "confined-python.yaml:" in error.message


LATER = """
def later():
    while not os.path.exists("go"): time.sleep(0.01)
    os.fork()
"""


def test_what_a_thread_forks_between_steps_ends_it(session: Session) -> None:
    session.run("x = 1").check()
    session.run(f"import os, threading, time\n{LATER}\nthreading.Thread(target=later).start()").check()
    session.write_file("go", b"")
    until(lambda: ended_at_rest(session))
    assert "started a process" in session.run("x").notes[0]
    assert len(members(session)) <= 4


WHILE_IT_ANSWERS = """
import os, threading, time
import safeexec.engine.child.process.serve as serve
def late(*_, **__):
    {}
    time.sleep(3600)
serve.encode = late
x = 1
"""


@pytest.mark.parametrize("fork", ["os.fork()", "threading.Thread(target=os.fork, daemon=True).start()"])
def test_a_fork_while_a_question_is_answered_is_a_verdict_at_once(session: Session, fork: str) -> None:
    """The question could take ten seconds: the look sees the fork within 50 ms."""
    session.run("y = 1").check()
    session.run(WHILE_IT_ANSWERS.format(fork)).check()
    assert frozen(session), "the fork that the host has asked for is made"
    began = monotonic()
    with pytest.raises(SandboxError, match=r"started a process; limits\.processes is 0"):
        session.get("x")
    assert monotonic() - began < ANSWER_SECONDS
    assert session.run("y").value == 1


def test_a_fork_while_a_host_tool_runs_is_a_verdict_at_once() -> None:
    ended: list[bool] = []

    def wait_for_the_end() -> int:
        """Have the guest's handler fork, and wait until its process has been ended."""
        runner = runner_of(session)
        ended.append(alarmed(runner, lambda: runner not in members(session)))
        return 1

    with Sandbox("confined-python", tools=[wait_for_the_end]) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        forks = "import os, signal\nsignal.signal(signal.SIGALRM, lambda *_: os.fork())"
        result = session.run(f"{forks}\nwait_for_the_end()", timeout=60)
        assert ended == [True] and result.outcome == "violation" and result.state == "restored"
        assert session.run("x").value == 1


def test_no_fork_is_judged_while_the_host_stops_the_session(session: Session) -> None:
    """One that it had announced is asked for once more then, and may not be taken for the guest's."""
    session.run("x = 1").check()
    session.run("import os, signal; signal.signal(signal.SIGALRM, lambda *_: os.fork())").check()
    assert frozen(session)
    line, gate = session._core.processes, session._core.sandbox.children.gate
    runner = line.runner_pid()
    with gate.stopping(line.lineage.leader):
        assert alarmed(runner, lambda: bool(gate._waiting))
        assert gate._waiting and not gate.waiting(line.lineage.leader)
        for _ in range(20):
            pause()
        assert not ended_at_rest(session)
    until(lambda: ended_at_rest(session))
    assert "started a process" in session.run("x").notes[0]


class LetsIn:
    """A lock that lets another one in as soon as it is free."""

    def __init__(self, other: Callable[[], object]) -> None:
        self._lock, self._others = threading.Lock(), [other]

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        while self._others:
            self._others.pop()()


def test_a_waiting_fork_is_answered_once_whoever_else_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[int] = []
    monkeypatch.setattr(notify, "answer", lambda _, request: answered.append(request))
    monkeypatch.setattr(processes, "session_of", lambda _: 5)
    gate = ForkGate(-1, 1)
    monkeypatch.setattr(gate, "_listener", 1 << 20)  # no descriptor: nothing is asked of the kernel here
    for first, second in (
        (lambda: gate.announce(100, alone=True), lambda: gate.allow(5, lambda: True)),
        (lambda: gate.allow(5, lambda: True), lambda: gate.announce(100, alone=True)),
        (lambda: gate.interrupted(5), lambda: gate.allow(5, lambda: True)),
    ):
        gate.announce(100)
        gate._waiting[7] = Fork(7, 100, 100, 5)
        monkeypatch.setattr(gate, "_lock", LetsIn(second))
        first()
        assert answered == [7] and not gate._waiting
        gate.withdraw(100)
        gate.forget_lineage(5)
        answered.clear()


def test_a_fork_that_starts_over_late_takes_the_place_of_no_other(session: Session) -> None:
    """The host lets a copy fork, stops the session before it has, and asks for one more: both are made, and the copy
    lives, although it runs only when the host is through with all that.
    """
    session.run("x = 1").check()
    session.checkpoint("named")
    line, gate = session._core.processes, session._core.sandbox.children.gate
    _, copy = line.history.named["named"]
    leader, pid = line.lineage.leader, copy.pid()
    assert copy.channel is not None and pid is not None

    def waits() -> bool:
        return any(fork.thread == pid for fork in list(gate._waiting.values()))

    stopped = copy.channel.pidfd
    with contextlib.ExitStack() as asked:
        with gate.stopping(leader):
            try:
                for how in (NO_GATE, gate):
                    channel = drive(copy.resume(monotonic() + SOON, how))
                    asked.callback(channel.close)
                    if how is NO_GATE:
                        until(waits)
                        processes.send_signal(stopped, signal.SIGSTOP)
                        gate.announce(pid)  # it is let go on, and stops first
                        until(lambda: (stat := processes.process_stat(pid)) is not None and stat.state == "T")
                gate.interrupted(leader)
            finally:
                processes.send_signal(stopped, signal.SIGCONT)
        until(lambda: not copy.alive or len(processes.children_of(pid) or ()) == 2 or waits())
        assert copy.alive and not waits()
    assert session.run("x").value == 1


@pytest.mark.parametrize("checkpoints", ["idle", "before-step"])
def test_what_was_announced_for_a_session_ends_with_it(sandbox: Sandbox, checkpoints: str) -> None:
    """The next process of the same number may be anybody's."""
    with sandbox.session(checkpoints=checkpoints) as session:
        gate = session._core.sandbox.children.gate
        session.run("x = 1").check()
        session.checkpoint("named")
        session.run("while True: pass", timeout=0.1)
        session.rollback("named")
        session.run("x = 2").check()
        with session.branch()[0] as branch:
            branch.run("x = 3").check()
    assert not gate._allowed


def test_a_frozen_copy_that_forks_is_ended(session: Session) -> None:
    """It carries the guest's signal handlers on; the session goes back to an older state when it needs one."""
    session.run("x = 1").check()
    session.checkpoint("honest")
    copy = newest_copy(session)
    session.run("import os, signal; signal.signal(signal.SIGALRM, lambda *_: os.fork())").check()
    pid = frozen(session)
    assert copy is not newest_copy(session)

    def has_ended() -> bool:
        assert session.run("import time; time.sleep(0.1); x").value == 1
        return pid not in members(session)

    assert alarmed(pid, has_ended)
    session.rollback("honest")
    assert session.run("x").value == 1


@pytest.mark.profile(FORKING)
def test_a_policy_may_allow_processes(session: Session) -> None:
    session.run("import os\nwent, goes = os.pipe()").check()
    wait = "os.close(goes)\n        os.read(went, 1)\n        os._exit(0)"
    source = f"for i in range({{}}):\n    if os.fork() == 0:\n        {wait}\n'forked'"
    assert session.run(source.format(60)).value == "forked"
    result = session.run(source.format(70), timeout=SOON)
    assert result.outcome == "violation" and result.error is not None
    assert "one process too many; limits.processes is 64" in result.error.message


@pytest.mark.profile(FORKING)
def test_a_frozen_copy_takes_no_place_of_a_process(open_session: OpenSession) -> None:
    session = open_session(processes=1)
    for number in range(3):
        session.run(f"x = {number}").check()
        assert frozen(session)
        assert session.run(ONE_FORK).check().value == "gone"
        assert frozen(session)


@pytest.mark.profile(FORKING)
def test_a_host_without_descriptors_has_no_room_and_the_gate_goes_on(session: Session) -> None:
    session.run("x = 1").check()
    has_room = session._core.processes.lineage.room_for(64)
    with descriptors_left(0):
        assert not has_room()
    assert has_room()


@pytest.mark.parametrize(("checkpoints", "template"), [("idle", "begun"), ("before-step", None)])
def test_a_look_at_what_protects_a_session_takes_no_state_from_it(checkpoints: str, template: str | None) -> None:
    """The self-test tries a fork, and the checkpoint of the step before it may be due still: each gets its own answer,
    and a step that is killed afterwards goes back to the last one that ended well.
    """
    with Sandbox("confined-python", spare=0) as sandbox:
        if template is not None:
            sandbox.template(template, prepare="x = 0")
        with sandbox.session(template=template, checkpoints=checkpoints) as session:
            for number in range(1, 3):
                session.run(f"x = {number}").check()
                (row,) = [row for row in session.protection if row.name == "fork-gate"]
                assert row.active and "EPERM" in row.detail
                killed = session.run("x = 'lost'\nwhile True: pass", timeout=0.1)
                assert (killed.state, killed.notes) == ("restored", ())
                assert session.run("x").value == number


def test_without_a_gate_the_report_says_so_and_sessions_work_as_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "notify", reason="no listener: EBUSY")
    with Sandbox("confined-python") as sandbox, sandbox.session() as session:
        (row,) = [row for row in session.protection if row.name == "fork-gate"]
        assert not row.active and "EBUSY" in row.detail and "fork() WORKED" in row.detail
        session.run("x = 1").check()
        session.checkpoint("here")
        (branch,) = session.branch()
        with branch:
            assert branch.run("x").value == 1
        assert session.run("while True: pass", timeout=0.1).state == "restored"
        assert session.run("x").value == 1


PROCESSES = (
    "from multiprocessing import Pool\nPool(2)",
    "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor() as pool: pool.submit(int)",
    "from multiprocessing import Process\nProcess(target=int).start()",
)


@pytest.mark.parametrize("profile", ["standard", "confined-python"])
def test_who_wants_processes_is_told_of_threads(session: Session) -> None:
    for source in PROCESSES:
        error = session.run(source).error
        assert error is not None and "`concurrent.futures.ThreadPoolExecutor`" in (error.hint or ""), source
    instead = "from concurrent.futures import ThreadPoolExecutor\nlist(ThreadPoolExecutor(2).map(abs, [-1]))"
    assert session.run(instead).value == [1]
