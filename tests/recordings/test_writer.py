"""What writes a recording: in order, whole after each line, bounded, and never in the session's way."""

from __future__ import annotations

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from safeexec import RecordOptions, Sandbox
from safeexec.errors import RecordingError
from safeexec.recordings import writer as module
from safeexec.recordings.format import FORMAT, Heading, Note, Record, Stop
from safeexec.recordings.reader import Recording
from safeexec.recordings.writer import RecordWriter
from tests.alone import alone
from tests.engine.linux.forked import exit_status

FIRST = Heading(format=FORMAT, safeexec="0", python="3")


def test_nobody_else_reads_it_and_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    RecordWriter(RecordOptions(path=path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(RecordingError, match=r"r\.jsonl is there already, and no recording is overwritten"):
        RecordWriter(RecordOptions(path=path))
    with pytest.raises(RecordingError, match=r"nothing can be recorded in .*: No such file or directory"):
        RecordWriter(RecordOptions(path=tmp_path / "missing" / "r.jsonl"))


def test_one_whose_opening_was_interrupted_leaves_nothing() -> None:
    """Whoever opens it has it before its thread begins: one that nobody has goes with its descriptor."""

    def descriptors() -> list[str]:
        paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        return [path for path in paths if os.path.lexists(path) and "memfd:recording" in os.readlink(path)]

    before, threads = descriptors(), threading.active_count()
    writer = RecordWriter(RecordOptions())
    assert len(descriptors()) == len(before) + 1 and threading.active_count() == threads
    del writer
    assert descriptors() == before


def test_it_ends_at_its_size_and_says_so(tmp_path: Path) -> None:
    writer = RecordWriter(RecordOptions(path=tmp_path / "r.jsonl", max_mb=1))
    writer.add(FIRST)
    for _ in range(20):
        writer.add(Note(text="x" * 100_000))
    writer.flush()
    assert "it has reached its size" in writer.problem
    writer.close()
    *_, last = Recording(tmp_path / "r.jsonl")
    assert last.reason == "full" and (tmp_path / "r.jsonl").stat().st_size <= 1 << 20


def test_the_files_beside_it_are_counted_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_BYTES", 1)
    writer = RecordWriter(RecordOptions(path=tmp_path / "r.jsonl", total_mb=1))
    writer.add(FIRST)
    writer.flush()
    (tmp_path / "other").write_bytes(bytes(1 << 20))
    writer.add(Note(text="one too many"))
    writer.flush()
    assert writer.problem.startswith(f"the files in {tmp_path} take 1 MiB, and total_mb allows 1: move some away")
    writer.close()
    *_, last = Recording(tmp_path / "r.jsonl")
    assert (last.n, last.reason) == (1, "full")
    with pytest.raises(RecordingError, match="total_mb allows 1"):
        RecordWriter(RecordOptions(path=tmp_path / "s.jsonl", total_mb=1))
    with pytest.raises(RecordingError, match=r"nobody knows what the files in .*missing take: No such file"):
        RecordWriter(RecordOptions(path=tmp_path / "missing" / "r.jsonl", total_mb=1))


def test_a_line_that_no_reader_takes_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_BYTES", 1000)
    writer = RecordWriter(RecordOptions(path=tmp_path / "r.jsonl"))
    writer.add(FIRST)
    writer.add(Note(text="x" * 1000))
    writer.close()
    assert writer.problem.startswith("one line would have taken 10") and writer.problem.endswith("and 1000 are allowed")
    assert [type(record).__name__ for record in Recording(tmp_path / "r.jsonl")] == ["Heading", "Stop"]


def test_a_record_that_cannot_be_made_ends_it_and_nothing_else(tmp_path: Path) -> None:
    def fail(n: int, at: float) -> Record:
        raise KeyError("x")

    writer = RecordWriter(RecordOptions(path=tmp_path / "r.jsonl"))
    writer.add(FIRST)
    writer.add(fail)
    writer.flush()
    writer.add(FIRST)
    writer.close()
    assert writer.problem == "KeyError while a record was made"
    assert len(list(Recording(tmp_path / "r.jsonl"))) == 1


def test_who_is_faster_than_the_disk_waits_and_then_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 2)
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.05)
    held = threading.Event()

    def slow(n: int, at: float) -> Record:
        held.wait()
        return Note(n=n, at=at)

    writer = RecordWriter(RecordOptions())
    for _ in range(10):
        writer.add(slow)
    assert writer.problem == "nothing could be written for 0.05 s"
    other = RecordWriter(RecordOptions())
    other.add(slow)
    other.flush()
    assert other.problem == writer.problem
    held.set()
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60.0)
    writer.close()
    other.close()


def test_large_records_that_wait_are_bounded_by_their_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "WAITING_BYTES", 10_000)
    monkeypatch.setattr(module, "PAUSE_SECONDS", 60.0)
    written: list[int] = []

    def note(n: int, at: float) -> Note:
        written.append(n)
        return Note(n=n, at=at, text="x" * 5000)

    writer = RecordWriter(RecordOptions(path=tmp_path / "r.jsonl"))
    writer.add(FIRST)
    for brought in range(1, 21):
        writer.add(note, 5000)
        assert brought - len(written) <= 3, "who brings more has it written first, and waits for no pause"
    writer.close()
    assert not writer.problem and len(list(Recording(tmp_path / "r.jsonl"))) == 22


FULL = """
import resource, signal, sys
from safeexec import RecordOptions, Sandbox
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Sandbox("calculator", spare=0) as sandbox:
    with sandbox.session(record=RecordOptions(path=sys.argv[1], durable=True)) as session:
        session.run("x = 1").check()
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        results = [session.run(f"x = '{number}' * 5000; x").check() for number in range(5)]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print([note for result in results for note in result.notes])
"""


def test_a_full_disk_ends_the_recording_and_not_the_session(tmp_path: Path) -> None:
    """The limit of a file's size stands in for a disk of that size: writes come short, then fail."""
    path = tmp_path / "r.jsonl"
    done = alone(FULL, path)
    assert done.stdout == "['the recording of this session has stopped: File too large']\n", done.stderr
    records = list(Recording(path))
    assert path.read_bytes().endswith(b"\n") and not isinstance(records[-1], Stop) and len(records) > 4


def test_what_was_told_is_there_when_the_host_is_killed(tmp_path: Path) -> None:
    def host() -> None:
        with Sandbox("calculator", spare=0) as sandbox:
            session = sandbox.session(record=RecordOptions(path=tmp_path / "r.jsonl", durable=True))
            session.run("x = 1").check()
            os.kill(os.getpid(), signal.SIGKILL)

    assert exit_status(host) == -signal.SIGKILL
    *_, last = recording = list(Recording(tmp_path / "r.jsonl"))
    assert last.outcome == "ok" and len(recording) == 3


def test_a_fork_of_the_host_writes_nothing(tmp_path: Path) -> None:
    writer = RecordWriter(RecordOptions(path=tmp_path / "r.jsonl"))
    writer.add(FIRST)
    writer.flush()

    def write_on() -> None:
        writer.add(FIRST)
        writer.flush()
        writer.close()

    assert exit_status(write_on) == 0
    writer.close()
    assert [type(record).__name__ for record in Recording(tmp_path / "r.jsonl")] == ["Heading", "Stop"]


def test_a_line_that_comes_while_the_disk_is_waited_for_is_written_after_it() -> None:
    """A store cuts a part off where it is to be on the disk: a line that came in between would be lost."""
    written, syncing, came = bytearray(), threading.Event(), threading.Event()
    cut: list[bool] = []

    def append(at: int, lines: bytes, *, sync: bool = False) -> None:
        if sync and not syncing.is_set():
            syncing.set()
            cut.append(came.wait(0.1))
        elif syncing.is_set():
            came.set()
        del written[at:]
        written.extend(lines)

    writer = RecordWriter(RecordOptions(durable=True), append)
    writer.add(FIRST)
    waiting = threading.Thread(target=writer.flush)
    waiting.start()
    assert syncing.wait(60)
    writer.add(Note(text="x"))
    waiting.join()
    writer.close()
    assert cut == [False] and written.count(b"\n") == 2


def test_a_disk_that_brings_nothing_to_itself_ends_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SYNC_SECONDS", 0.05)
    turns = threading.Event()

    def append(at: int, lines: bytes, *, sync: bool = False) -> None:
        assert not sync or turns.wait(60)

    writer = RecordWriter(RecordOptions(durable=True), append)
    writer.add(FIRST)
    writer.flush()
    turns.set()
    writer.close()
    assert "nothing could be written for 0.05 s" in writer.problem
