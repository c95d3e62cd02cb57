"""Files that anybody may have changed: saved states and recordings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from safeexec import Policy
from safeexec.engine.host.files import state_file
from safeexec.engine.host.files.workspace_root import WorkspaceRoot
from safeexec.errors import RecordingError, SandboxError, StateFileError
from safeexec.playback.page.of_file import page_of
from safeexec.playback.page.render import render
from safeexec.recordings.reader import Recording
from safeexec.recordings.timeline import Timeline
from tests.fuzz.mutation import drawn, edited
from tests.fuzz.target import Holds, Target
from tests.untrusted.hostile import NAMES

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings" / "data"
NUMBERS = [b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\xff", b"\x91" * 200, b"\xc1", b"\xcf", b"\xd9\xff", b"\x80"]
WORDS = [
    b"-1", b"0", b"1", b"99999999999999999999", b"1e999", b"NaN", b"null", b"true", b"[]", b"{}", b'""', b'"\\ud800"',
    b'"n":', b'"session":1', b'"session":7', b'"step":0', b'"kind":"branch"', b'"kind":"stop"', b'"base64":"AA=="',
    b"\n", b'"kind":"rollback"', b'"name":"x"', b",", b'"outcome":"ok"', b"[" * 300, b"\xff", b'"source":"',
    b'"value":{}',
]  # fmt: skip


def _state(names: list[str], modes: list[int], directories: list[str], payload: bytes = b"pickle") -> bytes:
    """A state that is in order, whatever it calls its files."""
    files = [(name, len(name) % 5) for name in names]
    whose: dict[str, Any] = {"policy": "standard", "digest": "d" * 64, "python": "3.11.7", "names": ["x"]}
    header = state_file.Header(**whose, payload_bytes=len(payload), files=files, modes=modes, directories=directories)
    with tempfile.TemporaryDirectory() as base:
        path, source, sent = (Path(base, name) for name in ("state", "source", "payload"))
        source.write_bytes(b"x" * 5)
        sent.write_bytes(payload)
        with sent.open("rb") as variables:
            opened = state_file.pieces(header, lambda _: os.open(source, os.O_RDONLY), variables.fileno())
            state_file.write(str(path), opened)
        return path.read_bytes()


def _states() -> Any:
    whole = [_state([], [], []), _state(["a", "b/c"], [0o600], ["b"]), _state(["é"], [], [], b"p" * 300)]

    def make(random: Random) -> bytes:
        if random.random() < 0.5:
            return edited(random, whole, NUMBERS, 3)
        names = [random.choice([*NAMES[:20], "a", "b/c", "d/../e"]).encode(errors="replace").decode() for _ in "ab"]
        modes = [random.choice([0, 0o777, 0o4777, -1, 2**40, 0o600]) for _ in range(random.randint(0, 3))]
        return _state(names, modes, [random.choice(["b", "..", "/tmp/x", "", "b/c/d", "a"]) for _ in range(2)])

    return drawn(make)


@contextmanager
def _restored() -> Iterator[Holds]:
    """A state that is put back stays in its workspace; a changed one is not whole."""
    limits = Policy.load("confined-python").limits
    with tempfile.TemporaryDirectory(prefix="tests-") as base:
        store = WorkspaceRoot()

        def holds(data: bytes) -> None:
            path = os.path.join(base, "state")
            Path(path).write_bytes(data)
            before = _descriptors()
            try:
                saved = state_file.read(path, limits)
            except StateFileError:
                assert _descriptors() == before
                return
            workspace = store.new_workspace(1 << 20, 100)
            try:
                state_file.put_back(workspace, saved)
            except StateFileError:
                pass
            finally:
                saved.close()
                workspace.close()
            assert os.listdir(base) == ["state"] and _descriptors() == before

        try:
            yield holds
        finally:
            store.close()


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def _recordings() -> Any:
    seeds = [path.read_bytes() for path in sorted(RECORDINGS.glob("*.jsonl"))]
    lines = [line for seed in seeds for line in seed.split(b"\n") if line and len(line) < 20_000]

    def make(random: Random) -> bytes:
        chosen = random.choice(seeds).split(b"\n")[: random.randint(1, 25)]
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(chosen))
            match random.randrange(5):
                case 0:
                    chosen[at] = edited(random, [chosen[at]], WORDS, 2)
                case 1:
                    chosen[at] = _damaged(random, chosen[at])
                case 2:
                    chosen.insert(at, random.choice(lines))
                case 3:
                    del chosen[at : at + 1]
                    chosen = chosen or [b""]
                case _:
                    to = random.randrange(len(chosen))
                    chosen[at], chosen[to] = chosen[to], chosen[at]
        return b"\n".join(_numbered(chosen) if random.random() < 0.9 else chosen) + b"\n"

    return drawn(make)


def _damaged(random: Random, line: bytes) -> bytes:
    """Still JSON, with another value somewhere."""
    try:
        fields = msgspec.json.decode(line)
    except NO_JSON:
        return line
    if isinstance(fields, dict) and fields:
        values = [None, 0, -1, 1, 7, 2**63, 2**200, 1.5, "", "x", "\u202e", [], {}, [1], {"a": 1}, True, "a" * 300]
        key = random.choice(sorted(fields))
        if isinstance(fields[key], dict) and fields[key]:
            fields[key][random.choice(sorted(fields[key]))] = random.choice(values)
        else:
            fields[key] = random.choice(values)
    return msgspec.json.encode(fields)


def _numbered(lines: list[bytes]) -> list[bytes]:
    """The lines numbered as they now stand, so that what is in them is looked at."""
    made = []
    for number, line in enumerate(lines):
        try:
            fields = msgspec.json.decode(line)
        except NO_JSON:
            made.append(line)
            continue
        made.append(msgspec.json.encode(fields | {"n": number}) if isinstance(fields, dict) else line)
    return made


@contextmanager
def _read_again() -> Iterator[Holds]:
    """All that reads a recording does, or says that it is none."""
    with tempfile.TemporaryDirectory(prefix="tests-") as base:
        path = Path(base, "recording.jsonl")

        def holds(data: bytes) -> None:
            path.write_bytes(data)
            for look in LOOKS:
                try:
                    look(path)
                except (RecordingError, SandboxError) as error:
                    assert str(error)

        yield holds


def _timeline(path: Path) -> None:
    timeline = Timeline(Recording(path))
    for moment in timeline:
        str(moment)
        timeline.at(moment.step, moment.session)
        assert isinstance(moment.reads(), list) and isinstance(moment.describe(), str)
        for name in moment.variables():
            timeline.when(name, moment.session)
    str(timeline), timeline.unknown, timeline.now()


LOOKS: list[Callable[[Path], object]] = [
    _timeline, lambda path: render(page_of(path)), lambda path: Policy.learn([path]),
]  # fmt: skip

TARGETS = [
    Target("states", "saved states: damaged ones, and sound ones with hostile names", _states, _restored, 60),
    Target("recordings", "recordings with lines changed, lost, added", _recordings, _read_again, 60),
]
