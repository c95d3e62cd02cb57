"""Programs in replies: collected and made-up ones (`replies.jsonl`), and replies that may do nothing to the host."""

from __future__ import annotations

import json
import pathlib
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec.agent import extract
from safeexec.agent.snippets import Parser

CASES = [json.loads(line) for line in pathlib.Path(__file__).with_name("replies.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_reply(case: dict[str, object]) -> None:
    found = extract(str(case["reply"]))
    assert {"kind": found.kind, "code": found.code} == case["expect"]


PIECES = st.sampled_from(
    [
        *("```", "~~~", "```python", "```\n", "`", "<code>", "</code>", "<execute_python>", "</execute_python>"),
        *("&lt;code&gt;", "&lt;/code&gt;", "<think>", "</think>", ">>> ", "... ", "1. ", "\n", "\r\n", " ", "\t"),
        *("x = 1", "print(", ")", "'''", '{"name": 1, "input": 2}', "[", "The end."),
        *("\u200b", "\ufeff", "\0", "\ud800", "é"),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_every_reply_gives_code_or_none_of_it(reply: str) -> None:
    found = extract(reply)
    assert found.kind in ("code", "answer", "none")
    assert (found.code is not None) == (found.kind == "code")
    assert found.code is None or found.code.strip()


PROGRAMS = st.sampled_from(
    [
        "x = 1",
        "for i in range(3):\n    print(i)",
        "s = '''\n```\n'''",
        "s = '</code>'",
        "def f():\n    return '<think>'",
        'd = {"name": 1}',
    ]
)


@given(PROGRAMS, st.sampled_from(["", "I compute.\n\n", "Step 1 of 2:\n"]), st.sampled_from(["", "\n\nThat is all."]))
def test_a_program_comes_out_of_every_wrapping_as_it_went_in(program: str, before: str, after: str) -> None:
    tags = [(f"<{tag}>", f"</{tag}>") for tag in ("code", "execute_python")]
    for opening, closing in (*tags, ("````python", "````"), ("~~~py", "~~~")):
        assert extract(f"{before}{opening}\n{program}\n{closing}{after}").code == program
        indented = textwrap.indent(program, "  ")
        found = extract(f"{before}{opening}\n{indented}\n{closing}{after}")
        assert found.code in (program, textwrap.dedent(indented).strip())


# Very much of each: what would cost quadratic time, exhaust a parser or recurse without end if it could.
FLOODS = [
    *("`", "~", "<code>", "a <execute_python>", "<think>\n", "x<think>", "</think>", "```\n", "```python\n(\n```\n"),
    *(">>> ", "(", "-", "a.", "[\n", '"name" "input"\n[{"', "lambda:", "1 if 1 else ", "\n", " ", "\\\n"),
    "````python\n```\n",
]


@pytest.mark.parametrize("size", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("piece", FLOODS)
def test_a_flood_of_anything_is_read(piece: str, size: int) -> None:
    flood = (piece * (size // len(piece)))[:size]
    assert extract(flood + "\n</code>" * 10 + "\n```" * 10).kind in ("code", "answer", "none")


def test_a_long_program_is_found_whole_and_what_was_found_is_said_in_words() -> None:
    program = "rows = [\n" + "".join(f"    ({i}, 'item {i}'),\n" for i in range(20_000)) + "]\nprint(len(rows))"
    assert extract(f"Here is the table:\n\n```python\n{program}\n```\nDone.").code == program
    assert "bash" in extract("```bash\nls\n```").found
    assert "bash" in extract("<execute_bash>\nls\n</execute_bash>").found
    assert "tool call" in extract('{"name": "run", "arguments": {}}').found
    assert extract("<code>\nx = 1\n</code>\n<code>\ny = 2\n</code>").found == "2 tags"


def test_what_would_hold_the_host_or_fill_its_memory_is_not_parsed() -> None:
    """A megabyte of `a;` takes CPython 1.4 GB; a reply may be four."""
    assert Parser(1 << 20).parses("a;" * (1 << 14))
    assert not Parser(4 << 20).parses("a;" * (1 << 20))
    assert extract("```python\n" + "a;" * (1 << 20) + "\n```").kind == "code"
    source = "import " + "a." * 400_000 + "b"
    assert Parser(len(source)).parse(source) is None
    assert extract(f"<code>\n{source}\n</code>").kind == "code"
    # A bare reply of 32,000 characters took 5 s, in which no thread of the host ran.
    source = "a" + "\u0301" * 100_000 + "\u0316" * 100_000 + " = 1"
    assert Parser(len(source)).parse(source) is None
    assert extract(source).kind == "answer"
    assert extract(f"<code>\n{source}\n</code>").kind == "code"
