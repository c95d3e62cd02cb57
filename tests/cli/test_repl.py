"""The interactive session: where a step ends, how much is read for it, and that nothing acts on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings

from safeexec.cli import repl
from safeexec.common.text import printable
from tests.untrusted.doubling import SLACK, growth
from tests.untrusted.hostile import STRANGE, texts


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
    assert growth(steps, make, small=1 << 12, large=1 << 16) < SLACK


@pytest.mark.parametrize("opened", ["[", "-", "lambda: "])
def test_deep_nesting_does_not_end_the_loop(opened: str) -> None:
    assert steps(opened * 50_000 + "\n1")


@settings(max_examples=200, deadline=None)
@given(texts())
@example("\x85:")
def test_every_line_comes_in_some_step(text: str) -> None:
    assert "\n".join(steps(text)) == text


def test_nothing_that_a_guest_shows_acts_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    page = repl.Terminal()
    for sign in STRANGE:
        text = f"a{sign}\x1b[2J"
        page.value({"text/plain": text})
        page.show({"text/markdown": text})
        page.stream("stdout", text)
        told = capsys.readouterr().out
        assert "\x1b" not in told and told == printable(told)


def test_a_bar_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    page = repl.Terminal()
    page.show({"text/plain": "load: 1/2"}, "id")
    assert not capsys.readouterr().err, "there is no terminal"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    page.show({"text/plain": "load\x1b[2J: 1/2"}, "id")
    page.show({"text/plain": "load: 2/2"}, "id", update=True)
    page.stream("stderr", "over\n")
    assert capsys.readouterr().err == "\r\x1b[Kload\\x1b[2J: 1/2\r\x1b[Kload: 2/2\nover\n"


@pytest.fixture
def desk() -> Iterator[repl.Desk]:
    with closing(repl.Desk("data-analysis")) as made:
        yield made


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
        desk.enter(source)
        assert "bit_count" in desk.completions("a.bit_")[0]
    for typed in (":rollback", ":branch trial", "b = a"):
        desk.enter(typed)
    capsys.readouterr()
    desk.enter(":history")
    steps = [line.split(maxsplit=2)[2] for line in capsys.readouterr().out.splitlines()]
    assert [" ".join(step.split()) for step in steps] == ["a = 1", "a = 2", "a = 3 (undone)", "b = a"]


def test_commands_of_files_and_branches(desk: repl.Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(typed: str) -> str:
        desk.enter(typed)
        return capsys.readouterr().out

    said("kept = 1")
    desk.session.write_file("a.csv", "x\n")
    assert said(":files") == "a.csv\n"
    assert said(f":save {tmp_path / 'state'}").startswith("saved to ")
    said(":branch trial")
    said("kept = 2")
    said(":branch main")
    assert said("kept") == "1\n"
    assert said(":branch trial") == "  main\n* trial\n" and said("kept") == "2\n"
    for name in ("state", "state"):  # the second takes the place of the first
        said(f":load {tmp_path / name}")
        assert said("kept") == "1\n"
    desk.enter(f":load {tmp_path / 'none'}")
    assert "none" in capsys.readouterr().err
    assert "os.system (attribute): refused by standard.yaml" in said(":why os.system")
    desk.enter(":rollback nowhere\x1b[2J")
    told = capsys.readouterr().err
    assert "CheckpointError" in told and "\x1b" not in told
    desk.enter(":file")
    assert capsys.readouterr().err == "no command :file, did you mean :files?; :help lists them\n"
    assert ":why NAME" in said(":help") and desk.exit_status is None
    said(":quit")
    assert desk.exit_status == 0


def test_programs_may_ask_and_exit_leaves_with_its_status(
    desk: repl.Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: f"to {prompt}")
    desk.enter("input('whom?')")
    assert capsys.readouterr().out == "'to whom?'\n"
    for source, status in (("exit()", 0), ("exit(3)", 3), ("1 + 1", None)):
        desk.enter(source)
        assert (desk.exit_status, capsys.readouterr().err) == (status, "")


def test_a_picture_that_the_terminal_cannot_show_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(100)
    page = repl.Terminal()
    page.show({"image/png": png})
    told = capsys.readouterr().err
    path = Path(told.removeprefix("display 1: ").strip())
    assert path.read_bytes() == png and told.count("\n") == 1
    path.unlink()
    path.parent.rmdir()
