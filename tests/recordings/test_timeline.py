"""What a recording says of each moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec import Recording, RecordingError, Sandbox, Timeline
from safeexec.recordings import format as form
from safeexec.recordings.timeline import mentioned
from safeexec.results import Changes
from tests.untrusted.doubling import SLACK, growth
from tests.untrusted.hostile import TEXTS

ERRAND = Timeline(Recording(Path(__file__).parent / "data" / "errand.jsonl"))


def test_variables_follow_rollbacks_branches_and_stops_and_each_change_its_step() -> None:
    assert [moment.place for moment in ERRAND] == ["1", "2", "3", "4", "5", "6", "7", "2.8", "3.8", "3.9", "8", "9"]
    assert ERRAND.at(2).variables()["total"] == "float 10.8"
    assert sorted(ERRAND.at(7).variables()) == ["basket", "names", "rate", "share", "total"]
    assert ERRAND.at(8, 3).variables()["total"] == "int 11"
    assert sorted(ERRAND.now().variables()) == ["basket", "rate", "total"], "back before the tax, undone step and all"
    assert [str(moment.place) for moment in ERRAND.when("total", 3)] == ["3.8", "2", "1"]
    (first,) = ERRAND.when("total")
    assert first.source.startswith("basket = ") and first.calls[0] == ("price", "'tea', n=3")
    (host,) = ERRAND.when("rate")
    assert host.outcome == "host" and host.written == {"rate": "0.08"}
    assert not ERRAND.when("nothing")
    assert repr(ERRAND.at(2)).startswith("<Moment 2  ok ") and len(repr(ERRAND.at(2))) < 120
    assert (ERRAND.at(2).reads(), list(ERRAND.at(2).written)) == (["rate", "total"], ["total"])
    assert ERRAND.at(6).undone and ERRAND.at(6).outcome == "timeout" and "(undone)" in str(ERRAND.at(6))
    told = ERRAND.at(4).describe()
    assert "error: ZeroDivisionError" in told and "read: total" in told and "wrote: share" in told


def test_names_in_strings_comments_attributes_and_keywords_are_none() -> None:
    source = "a = b + c.d  # e\n'f' \"g\" f'{h + 1}' + i(j=k) == l; '''m'''; rb'p'; q[r]\nf\"{s!r:>{t}}\"; u ==v"
    assert mentioned(source) == {"b", "c", "h", "i", "k", "l", "q", "r", "s", "t", "u", "v"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_names_are_found_in_one_pass() -> None:
    assert not {kind: ratio for kind, make in TEXTS.items() if (ratio := growth(mentioned, make)) > SLACK}


def _steps(count: int) -> list[form.Record]:
    return [form.Ended(step=number, now=number, outcome="ok") for number in range(1, count + 1)]


def _there_and_back(size: int) -> list[form.Record]:
    """Steps, and then again and again to before the first and to behind the last."""
    count = size // 3
    both = [form.RolledBack(now=count, name="c"), form.RolledBack(now=0, steps=count)]
    return [*_steps(count), form.Named(now=count, name="c"), *both * count]


def _many_branches(size: int) -> list[form.Record]:
    return [*_steps(size // 2), form.Branched(now=size // 2, branches=list(range(2, size // 2)))]


VALUE = form.Value(text="1")


def far_back(back: form.RolledBack) -> Callable[[int], list[form.Record]]:
    """As many changes, and as many ways back over all of them."""

    def made(n: int) -> list[form.Record]:
        changes = [form.Set(name="x", value=VALUE, now=step) for step in range(n // 4)]
        return [*changes, form.Named(name="c"), *[back, form.RolledBack(name="c")] * (n // 4)]

    return made


BACK = (form.RolledBack(name="gone", now=0), form.RolledBack(), form.RolledBack(name="gone", now=9**9))


@pytest.mark.parametrize("make", [_there_and_back, _many_branches, *map(far_back, BACK)])
def test_a_history_is_read_and_listed_in_time_that_grows_with_it(make: Callable[[int], list[form.Record]]) -> None:
    assert growth(lambda records: str(Timeline(records)), make, small=1 << 10, large=1 << 14) <= SLACK


@given(st.lists(st.one_of(st.just("step"), st.just("set"), st.integers(1, 12)), max_size=60))
def test_a_rollback_leads_as_many_steps_back_as_it_says(acts: list[str | int]) -> None:
    records, states = list[form.Record](), [["0"]]
    for number, act in enumerate(acts, 1):
        if act == "step":
            changes = Changes(created=("x",), descriptions={"x": str(number)})
            records.append(form.Ended(step=number, now=number, outcome="ok", changes=changes))
            states.append([str(number)])
        elif act == "set":
            records.append(form.Set(now=0, name="x", value=form.Value(text=str(number))))
            states[-1].append(str(number))
        elif isinstance(act, int) and act < len(states):
            records.append(form.RolledBack(now=0, steps=act))
            del states[-act:]
    assert Timeline(records).now().variables().get("x", "0") == states[-1][-1]


def test_what_became_of_effects_and_what_is_known_of_none() -> None:
    called = [
        form.Called(step=1, call=number, tool="book", arguments=form.Value(text=str(number)), key=key)
        for number, key in ((1, ""), (2, "k"), (3, ""), (4, ""))
    ]
    line = Timeline(
        [
            form.Run(step=1, source="x = 1"),
            *called,
            form.Answered(step=1, call=1),
            form.Effect(step=1, call=3, tool="book", became="undoing"),
            form.Effect(step=1, call=4, tool="book", became="done"),
            form.Ended(step=1, now=1, outcome="ok", text="5", stdout="seen"),
            form.Named(step=1, now=1, name="here"),
            form.Deleted(step=1, now=1, name="x"),
            form.Dropped(step=1, now=1, name="here"),
            form.Deleted(step=1, now=1, name="y", problem="there is no y"),
        ]
    )
    assert [str(effect).strip() for effect in line.unknown] == ["1  book(2), key k", "1  undo of book(3)"]
    assert len(line) == 1 and list(line) == line.steps and str(line).strip() == "1  ok         x = 1"
    assert line.now().deleted == ("x",)
    assert {"called: book(1); book(2); book(3); book(4)", "printed: seen", "value: 5"} <= set(
        line.at(1).describe().split("\n")
    )
    with pytest.raises(RecordingError, match="there is no session 3"):
        Timeline([form.Run(session=3, step=1, source="")])


@pytest.mark.profile("calculator")
def test_a_session_has_its_history_in_memory(sandbox: Sandbox) -> None:
    with sandbox.session(record=True) as session:
        session.run("x = 1")
        session.run("y = x + 1")
        (branch,) = session.branch()
        branch.run("x = 5")
        assert session.history().at(2).reads() == branch.history().at(2).reads() == ["x"]
        assert branch.history().at(3).session == 2  # its own, where both have one
        session.run("z = 0")
        with pytest.raises(RecordingError, match="no step 4"):
            branch.history().at(4)
        assert branch.history().now().variables() == {"x": "int 5", "y": "int 2"}
        assert session.history().now().variables() == {"x": "int 1", "y": "int 2", "z": "int 0"}
    with sandbox.session() as session, pytest.raises(RecordingError, match="this session is not recorded"):
        session.note("nobody reads it")
    with sandbox.session() as session, pytest.raises(RecordingError, match="this session is not recorded"):
        session.history()


def test_a_way_back_leads_to_the_newest_state_of_a_step() -> None:
    steps = [form.Set(name=f"x{number}", value=VALUE, now=number // 3) for number in range(3000)]
    for step in (0, 1, 500, 998, 999):
        timeline = Timeline([*steps, form.RolledBack(name="gone", now=step)])
        assert len(timeline.now().variables()) == 3 * step + 3
        assert repr(timeline.now()).startswith(f"<Moment {step} ")
