"""What callers and models get wrong: one clear error each, and everything goes on."""

from __future__ import annotations

import copy
import os
import pickle
from math import nan
from pathlib import Path
from typing import Any

import pytest

from safeexec import AsyncSandbox, Policy, Sandbox, Session, WorkspaceError, search
from tests.conftest import OpenSession, Run


@pytest.fixture(params=["standard", "confined-python"])
def either(request: pytest.FixtureRequest, open_session: OpenSession) -> Session:
    """A session with the language layer, and one without."""
    session = open_session(profile=request.param)
    session.run("kept = 1").check()
    return session


def test_a_file_that_is_not_there_or_cannot_have_its_name_is_told_at_once(tmp_path: Path) -> None:
    """Where the sandbox is made, and with the name that the workspace would have given it."""
    with pytest.raises(FileNotFoundError, match=r"'sales\.csv'.*: .*gone\.csv"):
        Sandbox("data-analysis", files={"sales.csv": tmp_path / "gone.csv"})
    with pytest.raises(OSError, match="content is given as bytes"):
        Sandbox("data-analysis", files={"a.csv": "x,y\n1,2\n"})
    os.mkfifo(tmp_path / "queue")
    with pytest.raises(WorkspaceError, match="neither a regular file nor a directory"):
        Sandbox("data-analysis", files={"data": tmp_path / "queue"})
    for name in ("/a.csv", "../a.csv", "a/../b", "", ".", "a\nb", "x" * 300):  # as `write_file` refuses them
        with pytest.raises(WorkspaceError):
            Sandbox("data-analysis", files={name: b"1"})


@pytest.mark.profile("data-analysis")
def test_a_file_is_written_as_bytes_or_text(session: Session) -> None:
    session.write_file("text", "Grüße\n")
    session.write_file("bytes", bytearray(b"\xff"))
    assert (session.read_file("text"), session.read_file("bytes")) == ("Grüße\n".encode(), b"\xff")
    assert session.read_file("bytes", max_bytes=1) == b"\xff"
    with pytest.raises(WorkspaceError, match="text has 8 bytes, and 7 may be read at once"):
        session.read_file("text", max_bytes=7)
    with pytest.raises(TypeError):
        session.write_file("number", 5)  # type: ignore[arg-type]
    assert session.list_files() == ["bytes", "text"]


BROKEN = {
    "a NUL byte": ("x = 1\0", {"SyntaxError", "ValueError"}),
    "a lone surrogate": ("x = '\udcff", {"SyntaxError", "UnicodeEncodeError"}),
    "a missing bracket": ("x = (1,\ny = 2", {"SyntaxError"}),
    "tabs and spaces": ("if True:\n    x = 1\n\ty = 2", {"TabError", "IndentationError"}),
    "Markdown": ("```python\nprint(1)\n```\nThat is all.", {"SyntaxError"}),
    "a wrong coding line": ("# coding: utf-9\nx = 1", {"SyntaxError", "LookupError"}),
}


@pytest.mark.parametrize("what", BROKEN)
def test_source_that_is_not_python(either: Session, what: str) -> None:
    source, types = BROKEN[what]
    result = either.run(source)
    if what == "a wrong coding line" and result.ok:
        return  # text has been decoded already: compile() ignores the line
    assert (result.outcome, result.state) == ("error", "kept")
    assert result.error.type in types and result.error.message
    assert either.run("kept").value == 1


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "x = " + "-" * 100_000 + "1",
        "1" + "+1" * 50_000,
        "x" + ".a" * 50_000,
        "f(" * 5_000 + ")" * 5_000,
    ],
    ids=["open", "brackets", "minus", "sum", "attributes", "calls"],
)
def test_nesting_that_exhausts_a_parser(either: Session, source: str) -> None:
    result = either.run(source, timeout=60)
    assert not result.ok or source.startswith("1+")
    assert result.outcome in ("ok", "error", "rejected", "memory", "crashed")
    assert either.run("kept").value == 1


def test_a_source_that_is_too_long_is_a_step_like_any_other() -> None:
    told: list[dict[str, Any]] = []
    with Sandbox("standard", audit=told.append) as sandbox, sandbox.session() as session:
        sources = ("x = 1", "y" * 300_000, "x = 2", f"{'é' * 200_000!r}")  # bytes count, and 256 KiB are allowed
        results = [session.run(source) for source in sources]
        assert [result.step for result in results] == [1, 2, 3, 4]
        assert [(row["step"], row["outcome"]) for row in told] == [(r.step, r.outcome) for r in results]
        assert told[1]["source_bytes"] == 300_000
        assert "limits.step_source_kb" in results[1].error.message and results[1].error.hint
        session.rollback()
        assert session.get("x") == 2, "the step that was refused, and no more, is undone"
        session.rollback()
        assert session.get("x") == 1
        assert session.run("x = 0\n" + "x += 1\n" * 5000 + "x").value == 5000, "one of 35 KB runs"
        assert sandbox.check("y" * 300_000).outcome == "rejected"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_newline_ends_a_line(run: Run, newline: str) -> None:
    assert run(newline.join(["if True:", "    x = 5", "x"])).value == 5


WRONG = [
    (TypeError, {"spare": "a"}, "spare='a': a whole number, at least 0, not str"),
    (ValueError, {"spare": -1}, "spare=-1: a whole number, at least 0"),
    (TypeError, {"max_sessions": 1.5}, "max_sessions=1.5: at least one, or None, not float"),
    (ValueError, {"max_sessions": 0}, "max_sessions=0: at least one"),
    (TypeError, {"max_sessions": True}, "max_sessions=True: at least one, or None, not bool"),
    (ValueError, {"queue_seconds": -1}, "queue_seconds=-1: a number of seconds, at least 0"),
    *((ValueError, {"idle_seconds": given}, f"idle_seconds={given}: more than 0, or None") for given in (0, -1.0, nan)),
    (TypeError, {"idle_seconds": "5"}, "idle_seconds='5': more than 0, or None, not str"),
    (TypeError, {"audit": 5}, "audit=5: the path of a file, a stream to write to, .* not int"),
    (TypeError, {"tools": 5}, "tools=5: a list of functions, or a mapping of names to them, not int"),
    (TypeError, {"memory_mb": 64}, r"no keyword 'memory_mb': a limit is .* sandbox\.session\(memory_mb=64\), or"),
    (TypeError, {"tool": []}, "no keyword 'tool'; it takes tools, files, approval, "),
]


@pytest.mark.parametrize(("error", "keywords", "told"), WRONG, ids=[f"{next(iter(row[1].items()))}" for row in WRONG])
def test_a_keyword_that_makes_no_sense_is_named_with_what_it_takes(
    error: type[Exception], keywords: dict[str, Any], told: str
) -> None:
    for kind in (Sandbox, AsyncSandbox):
        with pytest.raises(error, match=told):
            kind("calculator", **keywords)._new_core()


def test_arguments_of_the_wrong_type_are_named(sandbox: Sandbox, open_session: OpenSession) -> None:
    session = open_session(profile="data-analysis")
    for told, wrong in {
        "the content of a file is str or bytes, not int": lambda: session.write_file("a", 5),  # type: ignore[arg-type]
        "the name of a file in the workspace is str, not int": lambda: session.write_file(5, b""),  # type: ignore[arg-type]
        "timeout is a number of seconds, not True": lambda: session.run("1", timeout=True),
        "timeout is a number of seconds, not '1'": lambda: session.run("1", timeout="1"),  # type: ignore[arg-type]
        "query must be str, not bytes": lambda: session.sql(b"select 1"),  # type: ignore[arg-type]
        "'no name' is not a variable name": lambda: session.sql("select 1", name="no name"),
        "source must be str, not bytes": lambda: sandbox.check(b"1"),  # type: ignore[arg-type]
        "workers=0: at least one": lambda: list(sandbox.map(["1"], workers=0)),
        "queue_seconds=-1": lambda: sandbox.session(queue_seconds=-1),
        "a plugin is a source .str., a path, or a mapping .* not bytes": lambda: sandbox.plugin(b"x = 1"),  # type: ignore[arg-type]
        "budget=3: a Budget, such as Budget": lambda: search(session, ["x = 1"], "x", budget=3),  # type: ignore[arg-type]
        "takes a name as str, such as 'os.path', not int": lambda: Policy.load("calculator").why(5),  # type: ignore[arg-type]
    }.items():
        with pytest.raises((TypeError, ValueError), match=told):
            wrong()
    for source in (b"1", None, 3, ["1"]):
        with pytest.raises(TypeError, match=f"source must be str, not {type(source).__name__}"):
            session.run(source)  # type: ignore[arg-type]
    for count in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match="a session branches into at least one"):
            session.branch(count)  # type: ignore[arg-type]
    assert session.run("1 + 1").value == 2


async def test_an_asynchronous_session_that_was_not_awaited_says_how() -> None:
    async with AsyncSandbox("calculator") as sandbox:
        opening = sandbox.session()
        with pytest.raises(AttributeError, match=r"'run' is not there yet: .* `async with"):
            opening.run("1")  # type: ignore[attr-defined]
        assert (await (await opening).run("1 + 1")).value == 2


def test_trust_that_older_callers_give_has_no_effect_and_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    with sandbox.session() as session:
        session.run("x = 1").check()
        session.save(tmp_path / "state")
    told = r"restore\(trust=\.\.\.\) has no effect"
    with pytest.warns(DeprecationWarning, match=told), sandbox.restore(tmp_path / "state", trust="signed") as session:
        assert session.get("x") == 1


def test_a_session_is_not_copied_and_lives_on(session: Session) -> None:
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"branch\(\) makes another"):
            make(session)
    assert session.run("1 + 1", namespace=[("a", 1)]).value == 2  # type: ignore[arg-type]
    assert session.get("a") == 1
