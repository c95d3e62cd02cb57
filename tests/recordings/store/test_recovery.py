"""How a session was left, read from its lines: wherever they are cut, and whoever wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec import Sandbox, tool
from safeexec.engine.host.session import session as session_module
from safeexec.errors import StateFileError, StoreError
from safeexec.recordings.forms import line_of
from safeexec.recordings.served import EarlierSteps
from safeexec.recordings.store import StoreOptions, open_store, recovery
from tests.recordings.examples import cuts
from tests.recordings.store.kills import run as killed


def lines(*records: dict[str, Any], now: int = 0) -> bytes:
    heading = {"kind": "recording", "format": 2, "safeexec": "0.10", "python": "3.11.2", "identity": "me", "now": now}
    numbered = [{**record, "n": n} for n, record in enumerate([heading, *records])]
    return b"".join(json.dumps(record).encode() + b"\n" for record in numbered)


def left(folder: Path, **parts: bytes) -> recovery.Left | None:
    store = open_store(StoreOptions(at=folder, session_mb=8))
    try:
        claim = store.claim("ada")
        for number, data in parts.items():
            store.append(claim, number.removeprefix("p") + ".jsonl", 0, data)
        store.release(claim)
        return recovery.read(store, store.claim("ada"))
    finally:
        store.close()


def step(number: int, since: int | None, **more: Any) -> list[dict[str, Any]]:
    run = {"kind": "run", "session": 1, "step": number, "source": f"x = {number}"}
    known = {} if since is None else {"since": since, "moment": number, "did": number}
    return [run, {"kind": "result", "session": 1, "step": number, "now": number, "outcome": "ok", **known, **more}]


def test_a_call_that_was_put_off_and_begun_again_is_unknown(tmp_path: Path) -> None:
    def calls(number: int) -> list[dict[str, Any]]:
        where = {"session": 1, "step": number}
        call = {"kind": "tool-call", **where, "call": number, "tool": "pay", "arguments": {}, "key": "me-2-1"}
        return [{"kind": "run", **where, "source": "pay()"}, call]

    put_off = {"kind": "tool-result", "session": 1, "step": 2, "call": 2, "outcome": "waiting"}
    resumed = {"kind": "resume", "session": 1, "step": 2, "now": 1, "moment": 1}
    first = [*step(1, 0), *calls(2), put_off, resumed]
    assert "pay() of step 2 was put off" in recovery.notes_of(left(tmp_path / "first", p000001=lines(*first)))
    notes = recovery.notes_of(left(tmp_path, p000001=lines(*first, *calls(3))))
    assert "pay() of step 3 was begun: nobody knows what became of it" in notes


def test_what_is_lost_is_told_until_a_result_has_told_of_it(tmp_path: Path) -> None:
    """Two hosts are killed one after the other, each in a step of its own: nobody got a result in between."""

    def killed_in(number: int) -> list[dict[str, Any]]:
        where = {"session": 1, "step": number}
        changed = [{"kind": kind, **where, "name": f"{kind}{number}"} for kind in ("checkpoint", "delete")]
        call = {"kind": "tool-call", **where, "call": number, "tool": "pay", "arguments": {}, "key": f"me-{number}-1"}
        answered = {"kind": "tool-result", **where, "call": number}
        resumed = {"kind": "resume", **where, "now": 1, "moment": 1}
        return [*changed, {"kind": "run", **where, "source": f"pay({number})"}, call, answered, resumed]

    twice = [*step(1, 0), *killed_in(2), *killed_in(3)]
    assert recovery.notes_of(left(tmp_path / "twice", p000001=lines(*twice))) == [
        "what the host last gave 'delete2', 'delete3' is lost: no state was saved after it",
        *(f"step {number} had not ended, and is undone" for number in (2, 3)),
        *(f"pay() of step {number} was made, with the outcome ok" for number in (2, 3)),
        "checkpoints end with their host: checkpoint2, checkpoint3 cannot be gone back to",
    ]
    again = {"kind": "delete", "session": 1, "step": 3, "name": "delete2", "moment": 2, "since": 1}
    notes = recovery.notes_of(left(tmp_path / "again", p000001=lines(*twice, again)))
    assert "what the host last gave 'delete3' is lost: no state was saved after it" in notes
    found = left(tmp_path, p000001=lines(*twice, *step(4, 1)))
    assert (recovery.notes_of(found), found.undone) == ([], [])


def test_calls_of_which_nobody_knows_are_told_before_the_others(tmp_path: Path) -> None:
    where = {"session": 1, "step": 2}
    (run, _), count = step(2, None), recovery.NAMED + 1
    calls = [
        {"kind": "tool-call", **where, "call": n, "tool": f"pay{n}", "arguments": {}, "key": f"me-2-{n}"}
        for n in range(1, count + 1)
    ]
    answers = [{"kind": "tool-result", **where, "call": n} for n in range(1, count)]
    notes = recovery.notes_of(left(tmp_path, p000001=lines(*step(1, 0), run, *calls, *answers)))
    assert f"pay{count}() of step 2 was begun: nobody knows what became of it" in notes
    assert notes[-1] == "1 more calls were made by these steps"


def test_a_part_that_was_about_to_begin_does_not_count(tmp_path: Path) -> None:
    whole = lines(*step(1, 0))
    for cut in (0, 10, len(lines()) - 1):
        found = left(tmp_path / str(cut), p000001=whole, p000002=lines()[:cut])
        assert (found.segment, found.now) == (1, 1)
        (note,) = recovery.notes_of(found)
        assert note.startswith("nothing in 000002.jsonl") and note.endswith("the session is as it was before")
    assert left(tmp_path / "empty") is None


@pytest.mark.parametrize("name", ["p1", "p0000002"])
def test_a_part_with_another_name_is_no_segment(name: str, tmp_path: Path) -> None:
    """As somebody has put it there. Its number is that of no part: it was a KeyError."""
    assert left(tmp_path / "alone", **{name: lines()}) is None
    found = left(tmp_path, p000001=lines(*step(1, 0)), **{name: lines()})
    assert found is not None and (found.segment, found.now) == (1, 1)


@pytest.mark.parametrize("damage", [b"", bytes(4096)], ids=["cut", "zeros"])
def test_a_session_of_which_nothing_can_be_read_says_that_it_begins_anew(tmp_path: Path, damage: bytes) -> None:
    for note in ((), ("nothing in 000001.jsonl of the store can be read", "the session begins anew"), ()):
        with Sandbox("calculator", store=tmp_path) as sandbox:
            notes = sandbox.session_for("ada").run("x = 1").notes
            assert all(part in notes[0] for part in note) if note else not notes
        if not note:
            (tmp_path / "default/ada/000001.jsonl").write_bytes(damage)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The lines of a session with calls of all kinds."""

    @tool(effect="deferred")
    def send(to: str) -> None: ...

    def pay(n: int) -> int:
        return n

    folder = tmp_path_factory.mktemp("store")
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        Sandbox("calculator", tools=[send, pay], store=folder, durable="close") as sandbox,
    ):
        monkeypatch.setattr(session_module, "REST_SECONDS", 3600.0)  # a rest begins another file
        session = sandbox.session_for("ada")
        session.run("x = 1")
        session.set("y", [2])
        session.run("send('ben')\na = pay(2)")
        session.run("x = 2", namespace={"z": 3})
        session.rollback()
        session.run("1 / 0")
        session.history()  # all is written then
        heading, _, rest = (folder / "default/ada/000001.jsonl").read_bytes().partition(b"\n")
    assert rest.count(b"\n") > 12
    short = {name: value for name, value in json.loads(heading).items() if name not in ("yaml", "origins", "tools")}
    return json.dumps(short).encode() + b"\n" + rest


def test_wherever_it_is_cut_it_is_what_it_was_after_some_line(stored: bytes, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    claim = store.claim("ada")
    first, before, seen = stored.index(b"\n") + 1, None, set()
    for cut in (cut for cut in cuts(stored) if cut >= first):
        store.append(claim, "000001.jsonl", 0, stored[:cut])
        claim.parts["000001.jsonl"] = cut
        found = recovery.read(store, claim)
        assert found.recording.size == stored[:cut].rindex(b"\n") + 1
        if stored[cut - 1 : cut] == b"\n":
            before = found
            seen.add((found.now, *found.unended))
        else:
            assert (found.doings, found.lost, found.unended) == (
                (before.doings, before.lost, before.unended) if before else ([], [], [])
            )
        recovery.notes_of(found)
    store.close()
    assert len(seen) > 3


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_a_stranger_writes_is_read_or_refused(stored: bytes, data: st.DataObject, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("strange")
    records = [json.loads(line) for line in stored.splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        record = data.draw(st.sampled_from(records))
        name = data.draw(st.sampled_from([*record, "moment", "since", "did", "undone", "step"]))
        record[name] = data.draw(
            st.none() | st.booleans() | st.integers(-1, 1 << 60) | st.floats() | st.text(max_size=20) | st.just([[]])
        )
    written = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    try:
        found = left(folder, p000001=written)
    except StoreError:
        return
    assert found is None or len(recovery.notes_of(found)) < 100


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (lines()[:-2] + b', "format": 3}\n', "reads 2 at most"),
        (lines({"kind": "recording"}), "cannot be read"),
        (lines()[:-2] + b', "state": {"data": "?"}}\n', "000001.jsonl:1: not a line of kind 'recording'"),
        (b"x" * (17 << 20), "17 MiB of lines, and session_mb allows 8"),
    ],
)
def test_what_cannot_be_read_is_told(written: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=told):
        left(tmp_path, p000001=written)


@pytest.mark.parametrize("state", ["{}", '{"data": "AAAA"}', '{"left_out": "large", "size": 7}'])
def test_a_state_that_is_none_is_told_and_nothing_is_overwritten(state: str, tmp_path: Path) -> None:
    written = lines()[:-2] + f', "state": {state}}}\n'.encode()
    left(tmp_path, p000001=written)
    with Sandbox("calculator", store=tmp_path) as sandbox:
        for _ in range(2):
            with pytest.raises((StoreError, StateFileError)):
                sandbox.session_for("ada")
        assert (tmp_path / "default/ada/000001.jsonl").read_bytes() == written
        sandbox.forget("ada")
        assert sandbox.session_for("ada").run("1").ok


def test_steps_that_come_out_otherwise_are_lost_and_told(tmp_path: Path) -> None:
    with Sandbox("calculator", store=tmp_path) as sandbox, sandbox.session_for("ada") as session:
        for number in range(4):
            session.run(f"x{number} = {number}")
    path = tmp_path / "default/ada/000001.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    changed = next(one for one in records if one["kind"] == "run" and one["step"] == 3)
    changed["source"] = "x2 = 'another'"
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    with Sandbox("calculator", store=tmp_path) as sandbox:
        result = sandbox.session_for("ada").run("sorted(name for name in globals() if name[:1] == 'x')")
        assert result.value == ["x0", "x1"]
        assert "steps 3 to 4 are lost: no state was saved after them" in result.notes
    with Sandbox("calculator", store=tmp_path) as sandbox:
        assert sandbox.session_for("ada").run("x1").value == 1


def test_kills_lose_nothing_in_silence() -> None:
    counted = killed(6, 3, "step", "directory")
    assert counted["kills"] >= 6


def test_calls_to_which_a_repeat_had_not_come_stay_with_their_step_in_a_new_segment(tmp_path: Path) -> None:
    def run(number: int, *calls: int) -> list[dict[str, Any]]:
        where = {"session": 1, "step": number}
        made = [
            {"kind": "tool-call", **where, "call": 10 * number + n, "key": f"me-2-{n}", "effect": "deferred"}
            for n in calls
        ]
        begun = {"kind": "run", **where, "source": "send(1)\nsend(2)"}
        return [begun, *({**one, "tool": "send", "arguments": {}} for one in made)]

    resumed = {"kind": "resume", "session": 1, "step": 2, "now": 1, "moment": 1}
    found = left(tmp_path, p000001=lines(*step(1, 0), *run(2, 1, 2), resumed, *run(3, 1)))
    assert [[call.call.key for call in one.made] for one in found.undone] == [["me-2-1", "me-2-2"]]
    carried = [json.loads(line_of(record)) for record in EarlierSteps(found.undone).records()]
    again = left(tmp_path / "next", p000001=lines(*carried, now=3))
    assert again.waiting == [] and [len(one.made) for one in again.undone] == [2]
