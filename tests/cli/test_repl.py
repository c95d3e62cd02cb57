"""The interactive session: where a step ends, how much is read for it, and that nothing acts on the terminal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings

from safeexec.cli import repl
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
