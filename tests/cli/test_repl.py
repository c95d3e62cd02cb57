"""The interactive session: where a step ends, how much is read for it, and that nothing acts on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings

from safeexec import Display, Sandbox
from safeexec.cli import repl
from safeexec.cli.pictures import Pictures
from tests.untrusted.doubling import SLACK, growth
from tests.untrusted.hostile import STRANGE, TEXTS, texts


def steps(text: str) -> list[str]:
    """The steps that `text`, typed line by line, makes."""
    lines, found = iter(text.split("\n")), []

    def ask(prompt: str) -> str:
        for line in lines:
            return line
        raise EOFError

    while True:
        try:
            found.append(repl.read_step(ask))
        except EOFError:
            return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\ny = 2", ["x = 1", "y = 2"]),
        ("x = (1,\n2)\n3", ["x = (1,\n2)", "3"]),
        ("for i in x:\n  a\n\nb", ["for i in x:\n  a\n", "b"]),
        ("if x: pass\nelse: y\n\n1", ["if x: pass\nelse: y\n", "1"]),
        ("def f():\n  '''a\n\n\nb'''\n  return 1\n\nf()", ["def f():\n  '''a\n\n\nb'''\n  return 1\n", "f()"]),
        ("@a\ndef f(): pass\n\n2", ["@a\ndef f(): pass\n", "2"]),
        ("match x:\n  case 1: pass\n\nmatch = 3", ["match x:\n  case 1: pass\n", "match = 3"]),
        ("async def f():\n  await x\n\n8", ["async def f():\n  await x\n", "8"]),
        ("a \\\n + 1\n5", ["a \\\n + 1", "5"]),
        ("# note\n1", ["# note", "1"]),
        ("x = = 1\n)\n4", ["x = = 1", ")", "4"]),
        ("for i in x:\n  a", ["for i in x:\n  a"]),
        (":vars\n1", [":vars", "1"]),
        ("for i in x:\n  a\n:vars\nb", [":vars", "b"]),
        ("for i in x:\n  a\n  :quit", [":quit"]),
        ("d = {1\n:2}\n3", ["d = {1\n:2}", "3"]),
        ("s = '''\n:quit\n'''\n4", ["s = '''\n:quit\n'''", "4"]),
    ],
)
def test_where_a_step_ends(text: str, expected: list[str]) -> None:
    assert steps(text) == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda size: "def f():\n" + "    x = 1\n" * (size // 10),
        lambda size: "x = [\n" + "1,\n" * (size // 3) + "]",
        lambda size: "x = [\n" + "\n" * size + "]",
        lambda size: "x = '''\n" + "\n" * size + "'''",
    ],
    ids=["function", "list", "blank lines", "text"],
)
def test_each_line_is_looked_at_once(make: Any) -> None:
    assert growth(steps, make, small=1 << 14, large=1 << 18) < SLACK


@pytest.mark.parametrize("opened", ["[", "(", "{", "-", "not ", "x[", "lambda: "])
def test_deep_nesting_does_not_end_the_loop(opened: str) -> None:
    assert steps(opened * 50_000 + "\n1")


@settings(max_examples=200, deadline=None)
@given(texts())
def test_every_line_comes_in_some_step(text: str) -> None:
    assert "\n".join(steps(text)) == text


def test_nothing_that_a_guest_named_acts_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for sign in STRANGE:
        variable = SimpleNamespace(name=f"a{sign}", type=f"T{sign}", shape=f"({sign})", text=f"\x1b[2J{sign}")
        row = SimpleNamespace(name=f"c{sign}", automatic=False, step=1, age=1.0)
        session: Any = SimpleNamespace(variables=lambda one=variable: [one], checkpoints=lambda one=row: [one])
        repl.command(session, ["vars"])
        repl.command(session, ["checkpoints"])
        printed = capsys.readouterr().out
        assert all(line.isprintable() for line in printed.split("\n"))
        assert printed.count("\n") == 2


@pytest.fixture
def desk() -> Iterator[repl.Desk]:
    with Sandbox("data-analysis") as sandbox, repl.Desk(sandbox) as found:
        yield found


def test_names_are_completed(desk: repl.Desk) -> None:
    """Commands, variables, attributes of them, builtins, and the modules that the policy allows."""
    desk.session.run("apples = {'a': 1}\nclass Tree:\n    height = 3\n    def grow(self): pass\ntree = Tree()")
    assert desk.completions(":ch") == (["checkpoint", "checkpoints"], 1)
    assert desk.completions("print(app") == (["apples"], 6)
    assert desk.completions("x = tree.gr") == (["grow"], 9)
    assert desk.completions("tree.") == (["grow", "height"], 5)
    matches, start = desk.completions("import num")
    assert "numpy" in matches and "numbers" in matches and start == 7
    assert "ctypes" not in desk.completions("import ct")[0]


def test_the_history_has_the_steps_that_were_typed(desk: repl.Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Completion looks at objects in branches of its own; what was rolled back is marked."""
    for source in ("a = 1", "a = 2", "a = 3"):
        desk.session.run(source).check()
        assert "bit_count" in desk.completions("a.bit_")[0]
    assert desk.command(["rollback"]) and desk.command(["branch", "trial"])
    desk.session.run("b = a").check()
    capsys.readouterr()
    assert desk.command(["history"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2:] for line in lines] == [
        ["a", "=", "1"],
        ["a", "=", "2"],
        ["a", "=", "3", "(undone)"],
        ["b", "=", "a"],
    ]


def test_commands_of_files_states_and_branches(
    desk: repl.Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.session.run("kept = 1").check()
    desk.session.write_file("a.csv", "x\n")
    assert desk.command(["files"]) and capsys.readouterr().out == "a.csv\n"
    assert desk.command(["save", str(tmp_path / "state")])
    assert desk.command(["branch", "trial"])
    desk.session.run("kept = 2").check()
    assert desk.command(["branch", "main"])
    assert desk.session.run("kept").value == 1
    assert desk.command(["branch", "trial"]) and desk.session.run("kept").value == 2
    capsys.readouterr()
    assert desk.command(["branch"]) and capsys.readouterr().out == "  main\n* trial\n"
    assert desk.command(["load", str(tmp_path / "state")]) and desk.session.run("kept").value == 1
    assert desk.command(["load", str(tmp_path / "none")])
    assert "safeexec: " in capsys.readouterr().err
    assert desk.command(["why", "os.system"])
    assert "os.system (attribute): refused by standard.yaml" in capsys.readouterr().out
    assert desk.command(["branch", "main"])


def test_exit_leaves_with_its_status(desk: repl.Desk, capsys: pytest.CaptureFixture[str]) -> None:
    statuses = [repl.run_step(desk.session, source, None, desk.pictures) for source in ("exit()", "exit(3)", "1 + 1")]
    assert statuses == [0, 3, None] and not capsys.readouterr().err


def test_a_command_that_there_is_not_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    sandbox: Any = SimpleNamespace(session=lambda **_: SimpleNamespace())
    desk = repl.Desk(sandbox)
    assert desk.command(["file"])
    assert capsys.readouterr().err == "no command :file, did you mean :files?; :help lists them\n"
    assert desk.command(["help"]) and ":why NAME" in capsys.readouterr().out
    assert not desk.command(["quit"])


def test_a_bar_is_one_line() -> None:
    assert repl.bar_text("load\x1b[2J", 3, 10) == r"load\x1b[2J: 3/10 [######··············]"
    assert repl.bar_text("", 7, None) == "7"
    assert repl.bar_text("x", 20, 10).endswith(f"[{'#' * 20}]")


def test_a_picture_that_the_terminal_cannot_show_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(100)
    pictures = Pictures(None, temporary=True)
    pictures.show([Display({"image/png": png}), Display({"text/plain": "1"})])
    told = capsys.readouterr().err
    path = Path(told.removeprefix("display 1: ").strip())
    assert path.read_bytes() == png and told.count("\n") == 1
    path.unlink()
    path.parent.rmdir()


def test_a_session_that_refuses_a_command_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    from safeexec import CheckpointError

    def refuse(name: str) -> None:
        raise CheckpointError(f"no checkpoint {name}\x1b[2J")

    session: Any = SimpleNamespace(rollback=refuse)
    assert repl.command(session, ["rollback", "x"])
    assert capsys.readouterr().err == "safeexec: no checkpoint x\n"


def test_texts_of_the_table_end() -> None:
    for make in TEXTS.values():
        assert steps(make(2_000))
