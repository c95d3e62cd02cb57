"""A child that has become the guest's own: it says what it likes, when it likes, or nothing at all.

Whatever it does, the caller gets a result or one `SandboxError`, soon, and the session goes on.
"""

from __future__ import annotations

import json
import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import msgspec
import psutil
import pytest

from safeexec import CheckpointError, SandboxError, Session
from safeexec.engine.host.patience import patient
from safeexec.engine.host.session import restorer, runner, step
from safeexec.engine.host.session.channel import TOKEN
from safeexec.engine.host.session.copy import RESUME_SECONDS
from safeexec.engine.host.waiting import Core, Wait, drive
from safeexec.engine.syscalls.numbers import numbers
from tests.conftest import OpenSession
from tests.engine.host.inside import SPEAKS, ended_at_rest, frozen, newest_copy, rests
from tests.footprint import until
from tests.profiles import FORKING

pytestmark = [pytest.mark.usefixtures("copied"), pytest.mark.profile("confined-python")]


SOON = 45.0
"""Seconds: a host that waits longer for a hostile child waits too long. All its waits together are less."""
GROWTH = 400 << 10
"""KiB by which the host's peak may grow over frames of 64 MiB."""
OWN = f"""{SPEAKS}

def many(item, bytes):
    count = bytes // len(item)
    return b"\\xdd" + struct.pack(">I", count) + item * count

nothing = [pack(b""), pack(b""), pack(None), pack(False), pack(0), pack(None)]
rest = [*nothing, b"\\x90", b"\\x90", pack(0), b"\\x90", pack(False)]

def done(*fields, step=None):
    fields = [*fields, *rest[len(fields):], pack(server._step if step is None else step)]
    return bytes([0x92 + len(fields)]) + pack("done") + pack("ok") + b"".join(fields)
"""
FRAMES = {
    "a value that is never delivered": "say(done(*nothing, b'\\x90', b'\\x90', pack(1000)))",
    "more than may be delivered": "say(done(*nothing, b'\\x90', b'\\x90', pack(10**15)))",
    "less than nothing to deliver": "say(done(*nothing, b'\\x90', b'\\x90', pack(-1)))",
    "a value that is none": "say(done(pack(b'\\xff\\xff')))",
    "an end, and another one": "say(done(), done())",
    "the end of an earlier step": "say(done(step=1))",
    "the end of a later step": "say(done(step=3))",
    "a tool that nobody waits for": "say(done(), pack(['tool-call', 1, 'x', b'']))",
    "a number for a name": "say(pack(['done', 1]))",
    "no message": "say(b'')",
    "half a frame": "server.link.socket.sendall(struct.pack('<I', 1000) + server.link.token + b'x')",
    "a frame of 4 GiB": "server.link.socket.sendall(b'\\xff' * 5)",
    "millions of displays": "say(done(*nothing, many(b'\\x91\\x80', 60_000_000)))",
    "millions of notes": "say(done(*nothing, b'\\x90', many(b'\\xa0', 60_000_000)))",
    "millions of diagnostics": """\
say(done(*nothing[:2], b'\\x9c' + pack('E') + pack(b'') + b'\\xc0' * 4 + pack(b'') * 2 + b'\\xc0\\xc0\\xa0'
         + many(b'\\x91\\xa0', 60_000_000)))""",
    "nested without end": "say(done(*nothing[:2], b'\\x91' * 1_000_000))",
}


@contextmanager
def soon(growth: int | None = None) -> Iterator[None]:
    """Whatever the child does: it takes the host no longer than that, and by no more KiB does its peak grow."""
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, monotonic()
    yield
    assert monotonic() - started < patient(SOON)
    assert growth is None or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < growth


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES.keys())
def test_what_a_child_says_ends_the_step(session: Session, frames: str) -> None:
    session.run("kept = 1").check()
    with soon(GROWTH):
        result = session.run(f"{OWN}{frames}\nos._exit(0)", timeout=30)
        assert result.outcome in ("crashed", "output") and result.state == "restored", result
        assert session.run("kept").value == 1


MESSAGES = {"text": "text=b'x' * (60 << 20)", "a value": "pending=65 << 20"}


@pytest.mark.parametrize("fields", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_that_is_too_large_ends_the_step_by_name_and_is_not_read(session: Session, fields: str) -> None:
    forged = f"server.link.send(m.StepDone('ok', {fields}, step=server._step))\ntime.sleep(1000)"
    with soon(16 << 10):
        result = session.run(f"{OWN}from safeexec.protocol import messages as m\n{forged}", timeout=20)
    assert (result.outcome, result.state) == ("output", "restored")
    assert result.error is not None and "more than it reads" in result.error.message


SPIN = "\nwhile True: pass"
ENDINGS = {
    "stops itself": ("os.kill(os.getpid(), 19)", "timeout"),
    "kills itself": ("os.kill(os.getpid(), 9)", "crashed"),
    "shuts its socket": ("server.link.socket.shutdown(2)" + SPIN, "crashed"),
    "closes everything": ("os.closerange(0, 100)" + SPIN, "crashed"),
    "sends noise": ("server.link.socket.sendall(b'\\xff' * 8 + os.urandom(1 << 20))" + SPIN, "crashed"),
    "progress without end": ("while True: say(pack(['progress', 'x' * 200, float('nan'), None]))", "timeout"),
    "an end that never comes": (
        "server.link.socket.sendall(struct.pack('<I', 8 << 20) + server.link.token)\n"
        "while True: server.link.socket.send(b'x')",
        "timeout",
    ),
    "hands over descriptors": ("socket.send_fds(server.link.socket, [b'x'], [0, 1, 2])" + SPIN, "violation"),
    "keeps its value": ("say(done(*nothing, b'\\x90', b'\\x90', pack(1000)))\ntime.sleep(3600)", "timeout"),
}


@pytest.mark.parametrize(("does", "outcome"), ENDINGS.values(), ids=ENDINGS.keys())
def test_however_a_child_ends_its_step_does_and_the_state_is_whole(session: Session, does: str, outcome: str) -> None:
    session.run("kept = 1").check()
    with soon():
        assert session.run(OWN + does, timeout=0.5 if outcome == "timeout" else 30).outcome == outcome
        assert session.run("kept").value == 1


def test_after_a_forged_end_a_step_waits_so_long_for_the_checkpoint_and_no_longer(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child never makes it: the step after is stopped, and the session goes back as far as it can."""
    monkeypatch.setattr(step, "SECURE_SECONDS", 1.0)
    session.run("kept = 1").check()
    assert session.run(OWN + "say(done())\ntime.sleep(3600)").ok
    started = monotonic()
    with soon():
        assert session.run("kept", timeout=0.5).outcome == "timeout"
    assert monotonic() - started >= step.SECURE_SECONDS and session.run("kept").value == 1


HOSTILE_VALUES = {
    "a number of 6,000 digits": "[10**6000, -10**6000]",
    "a number of 30 MB": "1 << 240_000_000",
    "a range": "range(10**12)",
    "no numbers": "[float('nan'), float('inf'), complex('nan')]",
    "lone surrogates": "{'\\ud800': 1, (1, 2): '\\udfff', None: 4}",
    "nested": "(f := lambda n: [f(n - 1)] if n else [])(60)",
    "in itself": "(f := []).append(f) or f",
    "20 MB of text": "'x' * (20 << 20)",
    "an object whose repr raises": "type('Bad', (), {'__repr__': lambda self: 1 / 0})()",
    "9 MB of text": "'a' * 9_000_000",
    "control characters": "'\\x1b[2J\\x07'",
    "names": "globals().update({'\\ud800x': 1, 'a\\nb': 2, 'x' * 100_000: 3})",
    "a message": 'exec(\'raise ValueError(chr(0xd800) + chr(27) + "[2J" + "x" * 10**6)\')',
    "a kind of error": 'exec(\'raise type("E\\\\n" * 10_000, (Exception,), {})("x")\')',
    "a file": "open('a\\nb\\x1b[31m.txt', 'w').close(), open(b'\\xff\\xfe.txt', 'w').close()",
    "bytes on a stream": "__import__('sys').stdout.buffer.write(b'\\xff\\x00\\x1b[2J\\n')",
}


@pytest.mark.parametrize("source", HOSTILE_VALUES.values(), ids=HOSTILE_VALUES.keys())
def test_whatever_a_step_gives_is_told_within_bounds(session: Session, source: str) -> None:
    """As text, as JSON, for a model, and among the variables: nothing of it raises in the host."""
    with soon():
        result = session.run(f"value = {source}\nvalue")
        assert result.outcome in ("ok", "error"), result
        assert len(repr(result)) < 40 << 20 and len(json.dumps(result.to_dict())) < 40 << 20
        told = result.observation()
        assert len(told.encode()) < 100_000 and "\x1b" not in told
        assert "\x1b" not in repr(session.variables())
        session.get("value")
        assert session.run("1 + 1").value == 2


def test_the_end_of_one_step_is_not_taken_for_that_of_the_next(session: Session) -> None:
    """Told twice, once too early: without a number every later result would be the one before."""
    early = "say(done())\nimport select\nselect.select([server.link.socket], [], [], 60)"
    assert session.run(OWN + early).ok
    assert session.run("'second'").outcome == "crashed"
    assert session.run("'third'").value == "third"


def test_claims_are_cut(session: Session) -> None:
    """What names a rule, and what a progress bar says, is text of a child like any other."""
    told: list[str] = []
    rule = r"b'\x9c' + pack('E') + pack(b'') + b'\xc0' * 4 + pack(b'') * 2 + pack('r' * 10_000) + b'\xc0\xa0\x90'"
    bar = "say(pack(['progress', 'x' * 10_000, 1.0, None]))"
    end = f"say(done(*nothing[:2], {rule}))\nos._exit(0)"
    result = session.run(f"{OWN}{bar}\n{end}", on_progress=lambda text, *_: told.append(text))
    assert result.error is not None and result.error.rule is not None
    assert len(result.error.rule) <= 1000 and [len(text) for text in told] == [200]


def test_a_delivered_value_holds_no_memory_that_nobody_counts(session: Session) -> None:
    """A memfd that the child keeps does not grow, and is empty when the host has read it."""
    keep = """
kept = []
deliver = type(server)._deliver
def keep(request):
    kept.append(os.dup(server.link.fds[0]))
    return deliver(server, request)
server._acts[next(kind for kind in server._acts if kind.__name__ == "Deliver")] = keep
"""
    session.run(OWN + keep).check()
    assert len(session.run("b'x' * 10_000_000").check().value) == 10_000_000
    assert session.run("os.fstat(kept[0]).st_size").value == 0
    assert session.run("os.write(kept[0], b'x')").error.type == "PermissionError"


HOLD_LANE = """
def hold(**_):
    control, server._control, server._due = server._control, None, False
    if os.fork() == 0:
        {does}
        time.sleep(3600)
    return True
server._freeze = hold
"""
FREEZE = "say(pack(['frozen', 1]), to=socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=control))"


def test_an_orphan_on_the_lane_of_a_checkpoint(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one fork that the host has announced is no checkpoint: it keeps the host waiting, and only for so long."""
    monkeypatch.setattr(restorer, "RESUME_SECONDS", 0.5)
    for _ in range(2):
        session.run(OWN + HOLD_LANE.format(does=FREEZE)).check()
    with soon():
        assert session.run("while True: pass", timeout=0.5).outcome == "timeout"
    for _ in range(3):
        session.run(OWN + HOLD_LANE.format(does=FREEZE)).check()
    with soon(), pytest.raises(CheckpointError, match="could not be brought back"):
        session.rollback()
    assert session.run("1 + 1").value == 2


NEVER_READY = """
checkpoints = sys.modules["safeexec.engine.child.process.checkpoints"]
wait = checkpoints._wait
def stay(*given):
    {wakes}
    time.sleep(3600)
checkpoints._wait = stay
"""


@pytest.mark.parametrize("wakes", ["pass", "wait(*given)"], ids=["does not resume", "resumes and is never ready"])
def test_a_copy_that_takes_its_time_is_waited_for_until_the_deadline(session: Session, wakes: str) -> None:
    session.run(OWN + NEVER_READY.format(wakes=wakes)).check()
    session.checkpoint("hostile")
    restorer = session._core.supervisor.restorer
    state, copy = session._core.processes.history.named["hostile"]
    deadline = monotonic() + 0.2
    latest = []

    def noted() -> Core[list[str] | None]:
        core, answer = restorer.go_on_from(state, copy, deadline, [], []), None
        while True:
            try:
                asked = core.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(asked, Wait):
                latest.append(asked.deadline)
            answer = yield asked

    assert drive(noted()) is None
    # A little is added for what the host does to the workspace, which is empty.
    assert latest and max(latest) < deadline + RESUME_SECONDS / 2
    assert session.run("1 + 1").value == 2


@pytest.mark.profile("standard")
def test_a_source_that_is_slow_to_search(session: Session) -> None:
    """The names that a lost step would have bound are looked for in its source, which is hostile."""
    session.run("kept = 1").check()
    with soon():
        result = session.run('text = """\nimport' + "a" * 49_000 + '!\n"""\nwhile True: pass', timeout=0.5)
    assert result.outcome == "timeout"


FILLS_AT_SAVE = """
import resource
most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
def save(request):
    for number in range(40):
        with open(f"{number}", "wb") as file: file.truncate(most)
    return answer(request)
kind, answer = next((kind, act) for kind, act in server._acts.items() if kind.__name__ == "Save")
server._acts[kind] = save
"""


def test_files_that_appear_while_a_state_is_saved_are_not_saved(session: Session, tmp_path: Path) -> None:
    """The limits hold then, too: 40 files with holes would be 20 GB."""
    session.run(OWN + FILLS_AT_SAVE).check()
    # Whoever is faster finds it: the one who saves, or the accountant.
    with pytest.raises(SandboxError, match=r"more than 512 MiB \(limits.workspace_mb\)"):
        session.save(tmp_path / "state")
    assert not list(tmp_path.iterdir())


NEVER_ENDS = """
class Never:
    def never(self, *_):
        while True: pass
    __repr__ = __len__ = __reduce_ex__ = never
value = Never()
"""


@pytest.mark.profile("standard")
def test_questions_that_are_never_answered(
    open_session: OpenSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Describing and saving variables runs their code: no longer than a step could."""
    monkeypatch.setattr(runner, "LEAST_SECONDS", 1.0)
    session = open_session(wall_seconds=1.5, max_wall_seconds=3.0)
    session.run("kept = 1").check()
    save = partial(session.save, tmp_path / "state", timeout=0.5)
    asked = {"the session was restored": session.variables, r"limit of 0\.5 s": save}
    for told, ask in asked.items():
        session.run(NEVER_ENDS).check()
        with soon(), pytest.raises(SandboxError, match=told):
            ask()
        assert session.run("kept").value == 1
        session.rollback()
    assert not list(tmp_path.iterdir())


MARKED_HOLE = """
import os
os.ftruncate(1, 500 << 20)
os.pwrite(1, b"".join(b"\\0\\x01%08x\\x02" % (place << 20) for place in range(480)), 0)
os.lseek(1, 490 << 20, os.SEEK_SET)
while True: pass
"""


def test_output_that_is_a_hole_with_a_mark_for_each_part_of_it(session: Session) -> None:
    told: list[int] = []
    with soon(GROWTH):
        result = session.run(MARKED_HOLE, timeout=30, on_output=lambda text: told.append(len(text)))
    assert result.outcome in ("output", "violation") and sum(told) < 10 << 20
    assert session.run("1 + 1").value == 2


LEFT_BEHIND = {
    "orphans that eat": """
import os, signal
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0:
            held = b'x' * (100 << 20)
            signal.pause()
        os._exit(0)
""",
    "a thread that computes": """
import threading
def spin():
    while True: pass
threading.Thread(target=spin).start()
""",
}
COPY_THAT_SPINS = OWN + HOLD_LANE.format(does=f"{FREEZE}\n        while True: pass")


@pytest.mark.profile(FORKING)
@pytest.mark.parametrize("source", LEFT_BEHIND.values(), ids=LEFT_BEHIND.keys())
def test_what_a_step_leaves_behind_is_ended_when_it_uses_too_much(open_session: OpenSession, source: str) -> None:
    """Nobody waits for a session between its steps; all the same it has no more time and memory than in one."""
    session = open_session(memory_mb=200, cpu_seconds=0.5)
    for _ in range(3):
        session.run("kept = 1").check()
    session.run(source).check()
    until(lambda: ended_at_rest(session))
    result = session.run("kept", timeout=SOON)
    assert result.value == 1 and result.notes and "between its steps" in result.notes[0], result
    assert not session.run("kept").notes


def test_a_copy_that_does_not_wait_is_replaced(open_session: OpenSession) -> None:
    """An idle session makes its checkpoint anew."""
    session = open_session(memory_mb=200, cpu_seconds=0.5)
    for _ in range(3):
        session.run("kept = 1").check()
    session.run(COPY_THAT_SPINS).check()
    pid, spins = frozen(session), newest_copy(session)
    assert not rests(session) and newest_copy(session) is not spins
    until(lambda: not psutil.pid_exists(pid))
    assert session.run("kept", timeout=SOON).value == 1


MANY_HOLES = """
import os
for number in range(12):
    fd = os.open(f"{number}", os.O_CREAT | os.O_WRONLY)
    os.ftruncate(fd, 400 << 20)
    os.close(fd)
"""
DEEP = """
import ctypes
libc = ctypes.CDLL(None)
for _ in range(30):
    libc.mkdir(b"d" * 200, 0o700)
    libc.chdir(b"d" * 200)
"""


@pytest.mark.parametrize("source", [MANY_HOLES, DEEP], ids=["holes", "paths beyond PATH_MAX"])
def test_files_that_hide_from_the_quota(session: Session, source: str) -> None:
    """Nothing of them is copied: holes would be 5 GB of it."""
    assert session.workspace is not None
    session.run("open('kept', 'w').write('1')").check()
    assert session.run(source).outcome == "violation"
    assert session.run("import os\nos.listdir()").value == ["kept"]
    held = sum(file.stat().st_blocks * 512 for file in Path(session.workspace).parent.parent.rglob("*"))
    assert held < 10 << 20


REMOVED = """
import os
held = []
for number in range(4):
    held.append(os.open({how}))
    {then}
    os.write(held[-1], b"x" * (8 << 20))
{last}while True: pass
"""
MAPPED = "import mmap\nmaps = [(mmap.mmap(fd, 0, prot=1), os.close(fd)) for fd in held]\n"
OF_THREADS = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
barrier = threading.Barrier(2)
def hold(number):
    {apart}
    held = os.open(str(number), os.O_CREAT | os.O_WRONLY)
    os.unlink(str(number))
    os.write(held, b"x" * (12 << 20))
    barrier.wait()
    while True: time.sleep(0.01)
for number in range(2):
    threading.Thread(target=hold, args=(number,)).start()
{last}
while True: time.sleep(0.01)
"""
OUT_OF_SIGHT = {
    "files that never had a name": REMOVED.format(how="'.', os.O_TMPFILE | os.O_WRONLY", then="pass", last=""),
    "removed files that are mapped": REMOVED.format(
        how="'f', os.O_CREAT | os.O_RDWR", then="os.unlink('f')", last=MAPPED
    ),
    "descriptors of a thread alone": OF_THREADS.format(  # CLOSE_RANGE_UNSHARE
        apart=f"libc.syscall({numbers()['close_range']}, 900, 900, 2)", last="pass"
    ),
    "those of a process whose first thread has ended": OF_THREADS.format(
        apart="pass", last=f"libc.syscall({numbers()['exit']}, 0)"
    ),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's host may not look at what its guests have open")
@pytest.mark.parametrize("source", OUT_OF_SIGHT.values(), ids=OUT_OF_SIGHT.keys())
def test_what_has_no_name_and_what_threads_keep_from_sight_counts(open_session: OpenSession, source: str) -> None:
    session = open_session(workspace_mb=16, memory_mb=64)
    result = session.run(source, timeout=20)
    assert result.outcome == "violation" and result.state == "restored", result
    assert session.run("1 + 1").value == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's host may not look at what its guests have open")
def test_files_with_and_without_a_name_have_one_limit_and_pass_it_by_little(open_session: OpenSession) -> None:
    session = open_session(workspace_mb=32, memory_mb=256)
    removed = "files = [open(f'{i}', 'wb', 0) for i in range(100)]\nfor i in range(100): os.remove(f'{i}')"
    write = "b = bytes(1 << 20)\nfor file in files: file.write(b)\ntime.sleep(60)"
    result = session.run(f"import os, time\nopen('named', 'wb').write(bytes(20 << 20))\n{removed}\n{write}")
    assert result.outcome == "violation" and result.error is not None and result.error.rule == "limits.workspace_mb"
    held = re.search(r"holds (\d+) MiB in files, (\d+) of them in removed ones", result.error.message)
    assert held is not None and int(held[2]) < int(held[1]) < 32 + 250  # what a core writes between two looks
    assert session.run("import os; os.listdir()").value == []


def copies_of_files(session: Session) -> list[Path]:
    """They lie beside the files, under a name that guest code is not told."""
    return list(Path(str(session.workspace)).parent.parent.glob("*.store/*"))


TAKES_AWAY = """
import os
above = os.path.dirname(os.getcwd())
for place in (os.getcwd(), above, os.path.dirname(above))[{first}:]:
    try:
        os.chmod(place, 0)
    except OSError:
        pass
"""


def test_rights_that_a_guest_takes_away(open_session: OpenSession) -> None:
    """An ordinary user's host and its guests are one user, and Landlock does not judge chmod."""
    bystander, session = open_session(), open_session()
    for one in (bystander, session):
        one.run("open('kept', 'w').write('1')").check()
    session.run(TAKES_AWAY.format(first=1)).check()
    assert bystander.run("open('kept').read()").value == "1" and open_session().run("2").value == 2
    session.run(TAKES_AWAY.format(first=1)).check()
    assert session.run(MANY_HOLES).outcome == "violation", "what lies there counts all the same"
    assert session.run("import os\nos.listdir()").value == ["kept"]
    session.run(TAKES_AWAY.format(first=0)).check()
    assert session.list_files() == ["kept"] and session.read_file("kept") == b"1"


def test_a_way_that_a_guest_bars_is_open_to_what_comes_after(open_session: OpenSession, tmp_path: Path) -> None:
    """It bars that of all sessions of its sandbox: to their new files and copies, to new processes, to branches."""
    guest, other, without = open_session(), open_session(), open_session(checkpoints="off")
    other.run("open('kept', 'w').write('1')").check()

    def bar() -> None:
        guest.run(TAKES_AWAY.format(first=1)).check()

    bar()
    (branch,) = other.branch()
    assert branch.run("open('kept').read()").value == "1"
    bar()
    other.run("open('kept', 'w').write('22')").check()
    bar()
    other.rollback()
    assert other.run("open('kept').read()").value == "1"
    bar()
    other.save(tmp_path / "state")
    bar()
    assert without.run("while True: pass", timeout=0.1).outcome == "timeout" and without.run("2").value == 2
    bar()
    assert open_session().run("3").value == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user may not list the folder of the copies")
def test_copies_of_files_go_with_the_checkpoints_that_need_them(session: Session) -> None:
    """A step that writes a file anew each time takes no more room each time."""
    for number in range(12):
        session.run(f"open('same', 'wb').write(bytes({number}) + bytes(1 << 20))").check()
    assert 0 < len(copies_of_files(session)) <= 4
    session.rollback()
    assert session.run("import os\nos.path.getsize('same')").value == 10 + (1 << 20)


FILLS = """
import os, threading, time
def fill():
    while not os.path.exists("go"): time.sleep(0.01)
    for number in range(6):
        with open(f"{number}", "wb") as file:
            file.truncate(100 << 20)
    open("filled", "w").close()
threading.Thread(target=fill).start()
"""


def test_what_a_thread_fills_between_steps_is_not_copied(session: Session) -> None:
    session.run(FILLS).check()
    session.write_file("go", b"")
    until(lambda: os.path.exists(f"{session.workspace}/filled"))
    # Whoever is faster finds it: the one who copies, or the accountant, who ends the process.
    try:
        session.checkpoint("full")
    except CheckpointError as error:
        assert "workspace holds more" in str(error)
        assert session.run("1 + 1").outcome == "violation"
    assert not [path for copy in copies_of_files(session) for path in copy.rglob("*") if path.stat().st_size]
    assert session.run("import os\nos.listdir()").value in ([], ["go"])


BY_PIL = """
from PIL import Image
class File:
    def fileno(self): return number
    def write(self, data): pass
    def flush(self): pass
Image.frombytes("L", (len(data), 1), data).save(File(), "PPM")"""
BY_OPEN = "open(number, 'wb', buffering=0, closefd=False).write(data)"


@pytest.mark.parametrize(
    ("write", "guess"),
    [pytest.param(BY_PIL, b"", marks=pytest.mark.modules("PIL")), (BY_OPEN, b""), (BY_OPEN, bytes(len(TOKEN)))],
    ids=["PIL", "open", "guessed"],
)
@pytest.mark.profile("data-analysis")
def test_no_message_is_forged_by_who_does_not_know_the_token(session: Session, write: str, guess: bytes) -> None:
    """By code of a library that writes to the descriptor whose number it is given, under the rules of the language."""
    message = ["done", "ok", b"forged", b"", None, False, 0, None, [], [], 1, [], False, 2]
    data = msgspec.msgpack.encode(message)
    session.run(f"data = {len(data).to_bytes(4, 'little') + guess + data!r}\nnumber = 3").check()
    result = session.run(f"{write}\nwhile True: pass", timeout=20)
    assert result.error is not None and "none of the sandbox's messages" in result.error.message
    assert (result.outcome, result.state) == ("crashed", "restored")
    assert session.run("number").value == 3
