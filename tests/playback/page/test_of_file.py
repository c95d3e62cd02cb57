"""Files that people ask a page of."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec.errors import RecordingError
from safeexec.playback.page.of_file import page_of

DATA = Path(__file__).parents[2] / "recordings" / "data"
TASK = b'{"kind": "task", "task": "add <b>", "model": "m", "policy": "standard"}\n'
STEP = b'{"kind": "step", "source": "# why\\n1 + 1", "outcome": "ok", "observation": "Value: 2", "state": "kept"}\n'


def test_a_transcript_with_its_pictures_its_verdicts_and_a_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(TASK + b'{"kind": "reply", "text": "I add."}\n' + STEP + b'{"kind": "end", "stop": "answer", "rea')
    page = page_of(path)
    assert page.title == "add <b>"
    assert [node.kind for node in page.nodes] == ["words", "words", "step"]
    assert [node.title for node in page.nodes] == ["the task: add <b>", "the model: I add.", "1 + 1"]
    assert dict(page.facts) == {"model": "m", "policy": "standard"}
    # A URL of another kind is no picture, and nothing of a stranger's is written into the page.
    shown = b', "pictures": ["data:image/png;base64,iVBORw0KGgo=", "data:text/html,<script>alert(1)</script>"]}'
    path.write_bytes(TASK + STEP.replace(b"}", shown))
    picture, other = page_of(path).nodes[1].displays
    assert "data:image/png;base64,iVBORw0KGgo=" in picture and "script" not in other
    steps = [STEP.replace(b"}", b', "verdict": "%s"}' % verdict) for verdict in (b"rolled back", b"committed")]
    path.write_bytes(TASK + b"".join(steps) + steps[0].replace(b'"ok"', b'"error"'))
    assert [node.outcome for node in page_of(path).nodes[1:]] == ["rolled back", "committed", "error"]
    path.write_bytes(TASK + b"{}\n")
    with pytest.raises(RecordingError, match=r"t\.jsonl:2"):
        page_of(path)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"{}\n", b'{"kind": "reply", "text": "x"}\n', b"\xff\n", b"[" * 10_000 + b"\n", TASK[:-1]]
)
def test_what_is_neither_is_said_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises((RecordingError, OSError), match="x"):
        page_of(path)
