"""What is found in replies: the collected cases, the rules one by one, and what no reply may do to the host."""

from __future__ import annotations

import json
import pathlib
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec.agent import extract
from safeexec.agent.snippets import Parser

CASES = [
    json.loads(line)
    for line in (pathlib.Path(__file__).parent / "replies.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_collected_reply(case: dict[str, object]) -> None:
    found = extract(str(case["reply"]))
    assert {"kind": found.kind, "code": found.code} == case["expect"]


# Rules that the collected replies do not touch: reply, expected kind, expected code.
RULES = {
    "text behind the end of a fence": ("Compute.\n```py\nprint(1)\n```<end_code>", "code", "print(1)"),
    "a sentence behind the end of a fence": ("```python\nprint(1)\n```That prints 1.\nSo it does.", "code", "print(1)"),
    "a full stop behind the end of a fence": ("```python\nprint(1)\n```.", "code", "print(1)"),
    "a fence that the next one closes": ("```python\nx = 1\n```python\ny = 2\n```", "code", "x = 1\n\ny = 2"),
    "a fence within a text of a program": (
        "```python\ns = '''\n```text\n'''\nprint(s)\n```",
        "code",
        "s = '''\n```text\n'''\nprint(s)",
    ),
    "a closing tag without its last character": ("<execute_python>\nprint(1)\n</execute_python", "code", "print(1)"),
    "a closing tag cut in the middle": ("<execute_python>\nprint(1)\n</execute_py", "code", "print(1)"),
    "a cut closing tag before text": ("<code>\nprint(1)\n</code\nThat is it.", "code", "print(1)"),
    "an opening tag without its last character": ("<execute_python\nprint(1)\n</execute_python>", "code", "print(1)"),
    "an opening tag in the place of the closing one": ("<code>\nprint(1)\n<code>", "code", "print(1)"),
    "less than at the end of a program": ("<execute_python>\nx = 1\nx <x\n</execute_python>", "code", "x = 1\nx <x"),
    "an SQL block is a call of sql": (
        "Totals.\n<execute_sql>\nselect a\nfrom df\n</execute_sql>",
        "code",
        'sql("""select a\nfrom df""")',
    ),
    "an SQL block in a line of prose": ("So <execute_sql>select 1</execute_sql> it is.", "code", 'sql("""select 1""")'),
    "a fence in an SQL block": (
        "<execute_sql>\n```sql\nselect 'a\\b'\n```\n</execute_sql>",
        "code",
        "sql(\"select 'a\\\\b'\")",
    ),
    "quotes in an SQL block": ('<execute_sql>select "a"</execute_sql>', "code", "sql('select \"a\"')"),
    "an SQL block is shown where others follow": (
        "<execute_sql>\nselect 1\n</execute_sql>\n<execute_sql>\ndrop table t\n</execute_sql>\n<code>\nx\n</code>",
        "code",
        'display(sql("""select 1"""))\n\nsql("""drop table t""")\n\nx',
    ),
    "an empty SQL block": ("<execute_sql>\n</execute_sql>", "none", None),
    "an SQL block that is mentioned": ("Write `<execute_sql>` around it.", "answer", None),
    "thinking after thinking": ("<think>a</think><think>b</think>\nDone.", "answer", None),
    "template opened the thinking": ("so I print\n</think>\n<code>\nprint(1)\n</code>", "code", "print(1)"),
    "the last lone closing tag counts": ("a\n</think>\nb\n</think>\n42 it is", "answer", None),
    "a think tag in a string stays": (
        "print('<think>')\nprint('</think> end')",
        "code",
        "print('<think>')\nprint('</think> end')",
    ),
    "thinking in capitals": ("<THINKING>\nx\n</Thinking>\nThe end.", "answer", None),
    "list marker before a tag": ("1. <code>\nx = 1\n</code>", "code", "x = 1"),
    "tag at the end of a line of prose": ("Now run this: <code>\nx = 1\n</code>", "code", "x = 1"),
    "the tag of another prompt": ("I run it.\n<python>\nx = 1\n</python>", "code", "x = 1"),
    "a tag of another language": ("<execute_bash>\nls\n</execute_bash>", "answer", None),
    "an escaped closing tag": ("<execute_python>\nx = 1\n<\\/execute_python>", "code", "x = 1"),
    "blanks around the name of a closing tag": ("<execute_python>\nx = 1\n</ execute_python >", "code", "x = 1"),
    "a fence with another name for Python": ("```tool_code\nx = 1\n```", "code", "x = 1"),
    "blank in the closing tag": ("<code>\nx = 1\n</code >\nDone.", "code", "x = 1"),
    "inline tag around words": ("Say <execute_python>Done</execute_python> when ready.", "answer", None),
    "inline tag that is never closed": ("Use <execute_python> for x = 1 and more.", "answer", None),
    "two tags in escaped form": (
        "&lt;code&gt;\na = 1 &lt; 2\n&lt;/code&gt;\n&lt;code&gt;\nb = 2\n&lt;/code&gt;",
        "code",
        "a = 1 < 2\n\nb = 2",
    ),
    "escaped tag with a reference of many digits": (
        f"&lt;code&gt;\nx = '&#{'9' * 5000};'\n&lt;/code&gt;",
        "code",
        "x = '\ufffd'",
    ),
    "escaped tag with attributes": (
        "&lt;code lang=&quot;python&quot;&gt;\na = 1 &lt; 2\n&lt;/code&gt;",
        "code",
        "a = 1 < 2",
    ),
    "label in another script": ("```вывод\nx = 1\n```\nSo.", "answer", None),
    "a closer inside a fence inside a tag": ("<code>\n```python\ns = '</code>'\n```\n</code>", "code", "s = '</code>'"),
    "an output after the fence inside a tag": ("<code>\n```\nx = 1\n```\n```\n42\n```\n</code>", "code", "x = 1"),
    "another language inside a tag": ("<code>\n```bash\nls\n```\n</code>", "none", None),
    "fence after prose": ("Here is the step: ```python\nx = 1\n```", "code", "x = 1"),
    "mention of a fence in prose": ("Wrap it in ```python fences please.", "answer", None),
    "unlabelled fence cannot follow prose": ("Output: ```\nx = 1\n```", "answer", None),
    "fence with a longer closer": ("```py\nx = 1\n`````", "code", "x = 1"),
    "fence with a shorter line inside": ("`````py\ns = '''\n```\n'''\n`````", "code", "s = '''\n```\n'''"),
    "tilde does not close backticks": ("```py\ns = '''\n~~~\n'''\n```", "code", "s = '''\n~~~\n'''"),
    "fence indented by tabs": ("\t```py\n\tx = 1\n\t```", "code", "x = 1"),
    "ipython": ("```ipython3\nx = 1\n```", "code", "x = 1"),
    "pyodide is no Python label": ("```pyodide\nx = 1\n```\nSo.", "answer", None),
    "file tree": ("```\nsrc/\n  main.py\n```", "none", None),
    "transcript without outputs": (">>> 1 + 1\n2\n>>>\n>>> x = 3", "code", "1 + 1\n\nx = 3"),
    "dotted words": ("www.example.com", "answer", None),
    "starred words": ("*important, *urgent", "answer", None),
    "annotation": ("Answer: blue", "answer", None),
    "a keyword is a statement": ("pass", "code", "pass"),
    "heading": ("# Result", "answer", None),
    "call without markup and broken": ("import math\nprint(math.sqrt(2)\n", "none", None),
    "prose with one broken line of code": ("I tried it.\nprint(math.sqrt(2)\nIt failed.", "answer", None),
    "tool call after prose": ('Calling now.\n{"name": "run", "arguments": {}}', "none", None),
    "array of tool calls": ('I do both:\n[{"tool": "run", "input": "x"}]', "none", None),
    "tool call on a line of its own inside an object": (
        'Calling.\n```json\n{\n  "calls": [\n    {\n      "name": "run",\n      "arguments": {}\n    }\n  ]\n}\n```',
        "none",
        None,
    ),
    "array with a tool call behind something else": ('Both:\n[1, {"tool": "run", "input": "x"}]', "none", None),
    "Mistral's tool marker": ('[TOOL_CALLS][{"name": "run", "arguments": {}}]', "none", None),
    "JSON that is no call, in prose": ('The record is\n{"name": "Ann", "age": 3}\nas asked.', "answer", None),
    "any JSON object alone": ('{"result": 4}', "none", None),
    "code wins over a printed call": ('```python\nx = 1\n```\n{"name": "run", "arguments": {}}', "code", "x = 1"),
    "prose around another language": ("Run this:\n```bash\nls\n```", "answer", None),
    "only another language": ("```rust\nfn main() {}\n```", "none", None),
    "only thinking": ("<think>\nhm", "none", None),
    "NUL": ("```python\nx = '\0'\n```", "code", "x = '\0'"),
}


@pytest.mark.parametrize(("reply", "kind", "code"), RULES.values(), ids=RULES)
def test_a_rule(reply: str, kind: str, code: str | None) -> None:
    found = extract(reply)
    assert (found.kind, found.code) == (kind, code)


PIECES = st.sampled_from(
    [
        *("```", "~~~", "```python", "```\n", "`", "<code>", "</code>", "<execute_python>", "</execute_python>"),
        *("&lt;code&gt;", "&lt;/code&gt;", "<think>", "</think>", ">>> ", "... ", "1. ", "\n", "\r\n", " ", "\t"),
        *("x = 1", "print(", ")", "'''", '{"name": 1, "input": 2}', "[", "The end."),
        *("\u200b", "\ufeff", "\0", "\ud800", "é"),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
@settings(max_examples=400, deadline=None)
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
    for opening, closing in (
        ("<code>", "</code>"),
        ("<execute_python>", "</execute_python>"),
        ("````python", "````"),
        ("~~~py", "~~~"),
    ):
        assert extract(f"{before}{opening}\n{program}\n{closing}{after}").code == program
        indented = textwrap.indent(program, "  ")
        assert extract(f"{before}{opening}\n{indented}\n{closing}{after}").code in (
            program,
            textwrap.dedent(textwrap.indent(program, "  ")).strip(),
        )


# Very much of each: what would cost quadratic time, exhaust a parser or recurse without end if it could.
FLOODS = [
    *("`", "~", "<code>", "a <execute_python>", "<think>\n", "x<think>", "</think>", "```\n", "```python\n(\n```\n"),
    *(">>> ", "(", "-", "a.", "[\n", '"name" "input"\n[{"', "lambda:", "1 if 1 else ", "\n", " ", "\\\n"),
    "````python\n```\n",
]


@pytest.mark.parametrize("size", [150_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("piece", FLOODS)
def test_a_flood_of_anything_is_read(piece: str, size: int) -> None:
    flood = (piece * (size // len(piece)))[:size]
    assert extract(flood + "\n</code>" * 10 + "\n```" * 10).kind in ("code", "answer", "none")


def test_a_long_program_is_found_whole() -> None:
    program = "rows = [\n" + "".join(f"    ({i}, 'item {i}'),\n" for i in range(20_000)) + "]\nprint(len(rows))"
    assert extract(f"Here is the table:\n\n```python\n{program}\n```\nDone.").code == program


def test_what_was_found_is_said_in_words() -> None:
    assert "bash" in extract("```bash\nls\n```").found
    assert "tool call" in extract('{"name": "run", "arguments": {}}').found
    assert extract("<code>\nx = 1\n</code>\n<code>\ny = 2\n</code>").found == "2 tags"


def test_what_is_too_long_to_be_a_step_is_not_parsed() -> None:
    """A megabyte of `a;` takes CPython 1.4 GB; a reply may be four."""
    assert Parser(1 << 20).parses("a;" * (1 << 14))
    assert not Parser(4 << 20).parses("a;" * (1 << 20))
    assert extract("```python\n" + "a;" * (1 << 20) + "\n```").kind == "code"


def test_a_dotted_name_that_would_fill_the_memory_is_not_parsed() -> None:
    source = "import " + "a." * 400_000 + "b"
    assert Parser(len(source)).parse(source) is None
    assert extract(f"<code>\n{source}\n</code>").kind == "code"


def test_marks_that_would_hold_the_host_are_not_parsed() -> None:
    """A bare reply of 32,000 characters took 5 s, in which no thread of the host ran."""
    source = "a" + "\u0301" * 100_000 + "\u0316" * 100_000 + " = 1"
    assert Parser(len(source)).parse(source) is None
    assert extract(source).kind == "answer"
    assert extract(f"<code>\n{source}\n</code>").kind == "code"


def test_a_mark_behind_the_end_of_a_fence_is_no_answer() -> None:
    assert extract("```py\nprint(1)\n```<end_code>").after == ""
    assert extract("```py\nprint(1)\n``` It is 1.").after == "It is 1."
