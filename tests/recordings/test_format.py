"""Every kind of line: written and read back, told in words, closed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect as shapes
from msgspec.structs import replace

from safeexec.errors import RecordingError
from safeexec.recordings import format as form
from safeexec.recordings.forms import (
    Redaction,
    arguments_of,
    call_text,
    content,
    encoded,
    line_of,
    packed,
    short_text,
    value_of,
)
from safeexec.recordings.reader import Recording, parse
from safeexec.results.outcomes import Changes, ErrorInfo

DATA = Path(__file__).parent / "data"
ALL = form.KINDS | form.TRANSCRIPT
MADE = sorted(DATA.glob("*.jsonl"))


def some(kind: Any) -> Any:
    """A record of that kind with every required field."""
    fields = shapes.type_info(kind).fields
    values: dict[type, Any] = {shapes.StrType: "x", shapes.IntType: 1, shapes.FloatType: 0.5, shapes.LiteralType: None}
    made: dict[str, Any] = {}
    for field in fields:
        if not field.required:
            continue
        if isinstance(field.type, shapes.LiteralType):
            made[field.name] = field.type.values[0]
        elif isinstance(field.type, shapes.StructType):
            made[field.name] = some(field.type.cls)
        elif isinstance(field.type, shapes.ListType):
            made[field.name] = [] if isinstance(field.type.item_type, shapes.TupleType) else ["x"]
        else:
            made[field.name] = values[type(field.type)]
    return kind(**made)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_line_reads_back_as_its_record_and_a_word_more_is_refused(name: str) -> None:
    """But in a transcript, or of an older store."""
    record = some(ALL[name])
    line = line_of(record)
    assert json.loads(line)["kind"] == name and line.endswith(b"\n") and line.isascii()
    assert parse(line[:-1], "here", ALL) == record
    more = json.dumps(json.loads(line) | {"more": 1}).encode()
    if name in {*form.TRANSCRIPT, "resume"}:
        assert parse(more, "here", ALL) == record
        return
    with pytest.raises(RecordingError, match=f"here: not a line of kind '{name}'.*more"):
        parse(more, "here", ALL)


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.stem)
def test_the_recordings_here_are_read_and_written_alike(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    assert [json.loads(line_of(record)) for record in Recording(path)] == [json.loads(line) for line in lines]


@given(st.text(st.characters()) | st.sets(st.text()) | st.dictionaries(st.text(), st.floats() | st.integers()))
def test_a_value_is_itself_again(value: Any) -> None:
    again = value_of(packed(encoded(value)))
    assert repr(again) == repr(value) or again == value


@given(st.text(st.characters()), st.floats(allow_nan=False, allow_infinity=False))
def test_a_line_is_the_same_with_something_to_hide_and_without(text: str, score: float) -> None:
    hidden = Redaction(frozenset({"x"}))
    hidden.learn("stands in no line")
    record = form.Note(text=f"{text}\ud800\x00\u2028", score=score)
    assert hidden.of(record) == record and line_of(record).isascii()
    assert parse(line_of(record)[:-1], "here") == record


def test_what_a_line_cannot_hold_is_told_by_its_hash() -> None:
    large = content(bytes(9 << 20))
    assert (large.data, large.left_out, large.size) == (None, "large", 9 << 20) and large.sha256
    value = packed(encoded("x" * (5 << 20)))
    assert value.left_out == "large"
    with pytest.raises(ValueError, match="left out of the recording: it is large"):
        value_of(value)


def test_arguments_that_are_none_are_told() -> None:
    assert short_text(b"\x92\xff") == call_text(b"\x92\xff") == "", "a listener is shown nothing of it"
    with pytest.raises(ValueError, match="cannot be read"):
        arguments_of(packed(b"\x92\xff"))
    with pytest.raises(ValueError, match="cannot be read"):
        value_of(form.Value(data=b"\x92\xff"))


def test_a_redacted_text_is_taken_out_wherever_it_stands() -> None:
    hidden = Redaction(frozenset({"token"}))
    hidden.learn([b"hunter\n2", {"key": "tin"}])
    run = hidden.of(form.Run(source="print('hunter\n2', 'tin')"))
    assert run.source == "print('[redacted]', 'tin')", "three characters stand anywhere by chance"
    value = hidden.of(form.Set(name="x", value=packed(encoded(["hunter\n2"])))).value
    assert (value.data, value.left_out) == (None, "redacted")
    written = hidden.of(form.Written(name="x", content=content(b"hunter\n2")))
    assert (written.content.data, written.content.left_out, written.content.size) == (None, "redacted", 8)


@pytest.mark.parametrize("secret", ["1234", "source", "kind", "large", "image/png", "AAAA", 'a"b\\', "\xe9\ud800té"])
def test_a_line_without_a_secret_can_be_read(secret: str) -> None:
    """Whatever the secret is: numbers, names of fields, words of the format and bytes as base64 are no texts."""
    hidden = Redaction(frozenset({"token"}))
    hidden.learn(secret)
    png = base64.b64encode(bytes(12)).decode()
    large = form.Value(text=f"<{secret}>", left_out="large", size=1234, sha256="1234")
    records: list[form.Record] = [
        form.Run(n=1234, at=0.51234, source=f"x = '{secret}'", namespace={"x": large}),
        form.Effect(n=1, call=1234, tool=secret, became="done", message=secret),
        form.Written(n=2, name=f"{secret}.csv", content=content(bytes(12))),
        form.Ended(
            n=3,
            outcome="error",
            error=ErrorInfo("ValueError", f"no {secret}", line=1234, diagnostics=(ErrorInfo("E", secret),)),
            changes=Changes(created=(secret,), descriptions={secret: secret}),
            displays=[form.DisplayText({"image/png": png, "text/plain": secret})],
        ),
    ]
    for record in records:
        hiding = hidden.of(record)
        assert parse(line_of(hiding)[:-1], "here") == hiding, "it can be read"
        assert (type(hiding), hiding.n, hiding.at) == (type(record), record.n, record.at)
    run, effect, written, ended = map(hidden.of, records)
    assert run == replace(records[0], source="x = '[redacted]'", namespace={"x": replace(large, text="<[redacted]>")})
    assert (effect.tool, effect.became, effect.message) == ("[redacted]", "done", "[redacted]")
    assert written == replace(records[2], name="[redacted].csv")
    assert secret not in (ended.error.message, ended.error.diagnostics[0].message, *ended.changes.descriptions)
    assert ended.displays[0].data == {"image/png": png, "text/plain": "[redacted]"}
