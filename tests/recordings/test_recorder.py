"""What a recorded session writes down, and that one which is not recorded pays nothing for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from safeexec import CheckpointError, Policy, Recording, RecordingError, RecordOptions, Sandbox, Session, replay
from safeexec.engine.host.session.turns import OperationName
from safeexec.recordings import format as form
from safeexec.recordings import writer
from safeexec.recordings.forms import arguments_of, bytes_of, value_of
from safeexec.recordings.recorder import LINES, OPERATIONS, UNRECORDED
from tests.engine.host.inside import open_sessions


def fetch(secret: str, times: int = 1) -> str:
    """A tool."""
    return f"{secret}!" * times


@pytest.fixture(scope="module")
def recorded(_own_temporary_directory: None) -> Iterator[Sandbox]:
    with Sandbox("calculator", tools=[fetch], spare=0) as sandbox:
        yield sandbox


def told(path: Path, kind: type) -> list[Any]:
    return [record for record in Recording(path) if isinstance(record, kind)]


def test_a_session_tells_what_went_in_and_what_came_out(recorded: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with recorded.session(record=path, namespace={"a": 1}, label="me") as session:
        session.run("fetch('x', times=2), input(), a", stdin="line", argv=["p", "q"], namespace={"b": {2}})
        session.run("input()", stdin=iter(["one", "two"]))
        session.checkpoint("here")
        with pytest.raises(CheckpointError):
            session.rollback("there")
        (branch,) = session.branch()
        branch.run("1 / 0")
        del session.namespace["a"]
        session.drop("here")
        session.rollback()
        branch.close()
    heading = Recording(path).heading
    assert (heading.policy, heading.label, heading.digest) == ("calculator", "me", recorded.policy.digest)
    assert [tool.name for tool in heading.tools] == ["fetch"]
    kinds = [str(type(record).__struct_config__.tag) for record in Recording(path)]
    assert kinds == [
        *("recording", "set", "run", "tool-call", "tool-result", "result", "run", "result", "checkpoint", "rollback"),
        *("branch", "run", "result", "delete", "drop", "rollback", "close", "close", "stop"),
    ]
    run, streamed, of_branch = told(path, form.Run)
    assert (run.argv, bytes_of(run.stdin), value_of(run.namespace["b"])) == (["p", "q"], b"line", {2})
    assert (streamed.streamed, of_branch.session) == (True, 2)
    (call,), (answer,) = told(path, form.Called), told(path, form.Answered)
    assert (arguments_of(call.arguments), call.arguments.text) == ((("x",), {"times": 2}), "'x', times=2")
    assert value_of(answer.value) == "x!x!"
    first, second, third = told(path, form.Ended)
    assert (value_of(first.value), first.now, first.outcome) == (("x!x!", "line", 1), 1, "ok")
    assert bytes_of(second.stdin) == b"one\ntwo\n"
    assert (third.session, third.error.type) == (2, "ZeroDivisionError")
    refused, back = told(path, form.RolledBack)
    assert refused.problem.startswith("CheckpointError: no checkpoint 'there'") and refused.now == 2
    assert (back.name, back.problem, back.now) == (None, "", 1)


def test_a_recording_begins_with_a_saved_state_and_variables_or_a_template(recorded: Sandbox, tmp_path: Path) -> None:
    state, path, other = tmp_path / "s.state", tmp_path / "r.jsonl", tmp_path / "other.jsonl"
    with recorded.session(namespace={"kept": 1}) as first:
        first.save(state)
    with recorded.session_for("ann", restore=state, record=path, namespace={"kept": 2, "late": 3}) as session:
        assert session.run("kept, late").value == (1, 3)
    assert [(record.name, value_of(record.value)) for record in told(path, form.Set)] == [("late", 3)]
    with replay(path, policy=recorded.policy) as replayed:
        assert replayed.difference is None and replayed.session.run("kept, late").value == (1, 3)
    recorded.template("t", prepare="x = 1")
    with pytest.raises(RecordingError, match="leave out `record` or `template`"):
        recorded.session_for("bob", restore=state, template="t", record=other)
    assert not other.exists()
    with recorded.session_for("bob", restore=state, template="t") as session:
        assert session.run("x, kept").value == (1, 1)


def test_what_is_redacted_stands_nowhere(recorded: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    options = RecordOptions(path=path, redact=["token", "fetch"])
    with recorded.session(record=options, namespace={"token": "hunter2-hunter2"}) as session:
        session.run("print(token); token, [token]")
        session.run("raise ValueError(token)")
        session.run("fetch('-'.join(['open', 'sesame']))")
        session.run("got = fetch('x' * 6)", namespace={"token": "other-secret"})
        session.run("print(got)")
    text = path.read_text()
    for secret in ("hunter2", "open-sesame", "other-secret", "xxxxxx"):
        assert secret not in text
    values = [record.value for record in Recording(path) if isinstance(record, form.Set | form.Answered)]
    assert {value.left_out for value in values} == {"redacted"}
    assert "[redacted]" in told(path, form.Ended)[0].stdout


def test_an_interrupted_step_is_told(recorded: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    with recorded.session(record=path) as session:
        session.run("x = 1")
        with pytest.raises(KeyboardInterrupt):
            session.run("x = 2\nprint(x, flush=True)\nwhile True: pass", on_output=stop)
    _, interrupted = told(path, form.Ended)
    assert interrupted.problem == "KeyboardInterrupt: " and (interrupted.step, interrupted.now) == (2, 1)


def test_a_file_that_is_there_opens_no_session(recorded: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("mine")
    with pytest.raises(RecordingError, match="is there already"):
        recorded.session(record=tmp_path / "r.jsonl")
    assert not open_sessions(recorded)
    assert (tmp_path / "r.jsonl").read_text() == "mine"


def test_a_session_of_a_template_is_recorded_from_its_preparation_on(recorded: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"

    def prepare(session: Session) -> None:
        session.set("token", "hunter2-hunter2")
        (branch,) = session.branch()
        branch.run("1 / 0")
        session.run("fetch('x')")

    recorded.template("t", prepare=prepare)
    with recorded.session(template="t", record=RecordOptions(path=path, redact=["token"])) as session:
        session.run("token, fetch('y')")
        session.branch()[0].close()
    with recorded.session(template="t") as session:
        session.run("fetch('z')")
    kinds = [str(type(record).__struct_config__.tag) for record in Recording(path)]
    assert kinds == [
        *("recording", "set", "branch", "run", "result", "run", "tool-call", "tool-result", "result", "template"),
        *("run", "tool-call", "tool-result", "result", "branch", "close", "close", "stop"),
    ]
    assert [record.branches for record in told(path, form.Branched)] == [[2], [3]]
    assert [record.call for record in told(path, form.Called)] == [1, 2]
    assert "hunter2" not in path.read_text()


def test_what_a_template_could_not_record(recorded: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LINE_BYTES", 900)
    recorded.template("long", prepare="'x' * 1000")
    with pytest.raises(RecordingError, match="how the template 'long' was prepared could not be recorded: one line"):
        recorded.session(template="long", record=tmp_path / "r.jsonl")


def test_a_plugin_is_not_recorded(recorded: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="calls of a plugin are not recorded: leave out `record`"):
        recorded.plugin("def f():\n    return 1\n", record=tmp_path / "r.jsonl")  # type: ignore[call-arg]
    assert recorded.plugin("def f():\n    return 1\n").f() == 1
    assert not [*tmp_path.iterdir()]


def test_calls_beyond_the_limit_fill_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    policy = Policy.load("calculator").replace(tools={"max_calls": 3})
    with Sandbox(policy, tools=[fetch], spare=0) as sandbox, sandbox.session(record=path) as session:
        session.run("for n in range(50):\n    try:\n        fetch('x')\n    except PermissionError:\n        pass")
    assert len(told(path, form.Called)) == 4


def test_each_operation_of_a_session_is_written_down_or_said_not_to_be() -> None:
    tables = [*LINES, *OPERATIONS, *UNRECORDED]
    assert sorted(tables) == sorted(get_args(OperationName))
