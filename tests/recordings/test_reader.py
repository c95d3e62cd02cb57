"""Recordings that somebody cut, changed or made up: read to the last whole line, or refused by name and line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from safeexec.errors import RecordingError
from safeexec.recordings import format as form
from safeexec.recordings import reader
from safeexec.recordings.format import FORMAT, Heading
from safeexec.recordings.forms import line_of
from safeexec.recordings.reader import MAX_SESSIONS, Recording
from tests.recordings.examples import cuts

WHOLE = (Path(__file__).parent / "data" / "search.jsonl").read_bytes()
LINES = WHOLE.splitlines(keepends=True)


def of(tmp_path: Path, data: bytes) -> Recording:
    path = tmp_path / "some.jsonl"
    path.write_bytes(data)
    return Recording(path)


def test_wherever_it_is_cut_it_is_read_to_the_last_whole_line(tmp_path: Path) -> None:
    heading = line_of(Heading(format=FORMAT, safeexec="1", python="3.12.1"))
    data = b"".join([heading, *LINES[1:4]])
    for length in cuts(data):
        part = data[:length]
        whole = part.count(b"\n")
        if not whole:
            with pytest.raises(RecordingError, match="it has no line of a recording"):
                of(tmp_path, part)
            continue
        recording = of(tmp_path, part)
        assert [record.n for record in recording] == list(range(whole))
        assert recording.torn is not part.endswith(b"\n")


def edited(number: int, **changes: object) -> bytes:
    fields = json.loads(LINES[number]) | changes
    return b"".join([*LINES[:number], json.dumps(fields).encode() + b"\n", *LINES[number + 1 :]])


WIDE = json.dumps({"kind": "branch", "n": 1, "branches": [*range(2, MAX_SESSIONS + 3)]}).encode() + b"\n"
"""More branches than readers can keep."""


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"".join(LINES[1:]), r":1: line 1 of a recording came instead of line 0"),
        (b"".join([*LINES[:3], *LINES[4:]]), r":4: line 4 of a recording came instead of line 3: lines are missing"),
        (edited(3, kind="wish"), r":4: `kind` must be one of branch, "),
        (edited(2, outcome="fine"), r":3: not a line of kind 'result': Invalid enum value 'fine'"),
        (edited(2, value={"data": "=="}), r":3: not a line of kind 'result': Invalid base64"),
        (edited(2, at=1e400), r":3: not JSON: Infinity is no JSON"),
        (edited(0, entropy="a" * 34), r":1: not a line of kind 'recording': Expected `str` matching regex"),
        (edited(0, format=FORMAT + 1), r":1: the recording has format 3, and this version of safeexec reads 2"),
        (edited(0, kind="stop", reason="closed"), r":1: not a line of kind 'stop'"),
        (LINES[0] + LINES[0].replace(b'"format"', b'"n":1,"format"'), r":2: a recording has one heading"),
        (b'{"kind":"stop","reason":"full"}\n', r":1: a recording begins with its heading"),
        (b"\n" + WHOLE, r":1: not JSON"),
        (b"[" * 100_000 + b"\n", r":1: not JSON: it is nested too deeply"),
        (b'{"kind":"recording","format":' + b"1" * 5000 + b"}\n", r":1: not JSON: a number has 5000 digits"),
        (b"", r"it has no line"),
        (LINES[0] + WIDE, f":2: there are more than {MAX_SESSIONS} branches"),
    ],
)
def test_what_is_no_recording_is_named_with_its_line(tmp_path: Path, data: bytes, told: str) -> None:
    with pytest.raises(RecordingError, match=told):
        list(of(tmp_path, data))


def test_lines_and_files_beyond_the_bounds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "LINE_BYTES", 10_000)
    with pytest.raises(RecordingError, match=r":2: a line has more than 10000 bytes"):
        list(of(tmp_path, LINES[0] + b" " * 3_000_000))
    monkeypatch.setattr(reader, "MAX_RECORDS", 3)
    with pytest.raises(RecordingError, match=r":4: there are more than 3 lines"):
        list(of(tmp_path, WHOLE))


def test_a_gigabyte_is_read_in_pieces_or_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes(LINES[0])
    os.truncate(path, 1 << 30)
    recording = Recording(path)
    with pytest.raises(RecordingError, match=r":2: a line has more than"):
        list(recording)
    os.truncate(path, (1 << 30) + 1)
    with pytest.raises(OSError, match="1073741825 bytes, and 1073741824 are allowed"):
        Recording(path)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="FIFO"):
        Recording(tmp_path / "pipe")
    with pytest.raises(OSError, match="directory"):
        Recording(tmp_path)
    with pytest.raises(FileNotFoundError):
        Recording(tmp_path / "missing")
