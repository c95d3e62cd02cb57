"""Replies of models, logs of tests, diffs and transcripts: whatever they hold, the host reads them in linear time, and
raises nothing but errors of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safeexec import Opaque
from safeexec.agent import Message, Reply, ToolCall, Transcript, TranscriptError, extract
from safeexec.agent.extraction import without_thinking
from safeexec.agent.loop import code_of
from safeexec.agent.mathematics import MathAnswer, is_same
from safeexec.agent.models.attempts import retry_after_seconds
from safeexec.agent.outcome import AgentResult, AgentUsage, as_text
from safeexec.agent.repair.diffs import file_diff
from safeexec.agent.repair.judges import is_configuration, is_named, is_test
from safeexec.agent.repair.texts import form_of, replace_passage
from safeexec.agent.repair.tree import plain_path
from safeexec.agent.repair.verdicts import Verification
from safeexec.agent.repair.verification import digest, read_log
from safeexec.agent.repair.witness import read_report
from safeexec.agent.survey import FileSurvey, survey_of
from safeexec.agent.transcript import conversation
from tests.untrusted.doubling import SLACK, growth
from tests.untrusted.hostile import TEXTS, texts, tolerant


def diffed(text: str) -> object:
    data = text.encode("utf-8", "surrogatepass")
    return file_diff("x", data, data.replace(b"a", b"b\n") + b"\n" + data[::-1])


def decoded(text: str) -> object:
    form = form_of(text.encode("utf-8", "surrogatepass"))
    return form and form.decode(text.encode("utf-8", "surrogatepass"))


def replayed(text: str) -> object:
    entries = [{"kind": "task", "task": text}, {"kind": "reply", **Reply(text, (ToolCall("1", text, text),)).to_dict()}]
    return conversation([*entries, {"kind": "notice", "text": text}], "system", 1000)


READERS: dict[str, Callable[[str], object]] = {
    "extract": extract,
    "extract, in a tag": lambda text: extract(f"<execute_python>{text}</execute_python>"),
    "extract, in an escaped tag": lambda text: extract(f"&lt;code&gt;\n{text}\n&lt;/code&gt;"),
    "extract, behind a fence": lambda text: extract(f"x```python{text}!\n1"),
    "extract, a printed call": lambda text: extract(f'<tool_call>{{"name": 1, "arguments": {text}'),
    "without thinking": lambda text: without_thinking(f"a</think>{text}"),
    "arguments of a call": lambda text: code_of(ToolCall("1", "run_python", text)),
    "the log of a verification": lambda text: read_log(["pytest"], 6000, 1, text, {}),
    "the report of a verification": lambda text: read_report(text.encode("utf-8", "surrogatepass")),
    "the digest of a log": lambda text: digest(text, 1000),
    "a passage to replace": lambda text: replace_passage(text, text[: len(text) // 2] + "?", "x", "p"),
    "a diff": diffed,
    "the form of a file": decoded,
    "a path": lambda text: (plain_path(text), is_test(text), is_configuration(text), is_named(text, ["x"])),
    "a header": lambda text: retry_after_seconds(text, text, 0.0),
    "a conversation": replayed,
}
"""What is read → how it is read, as the host reads it."""


PARTS = 6
"""In how many tests the texts go to each reader. One runs always, with other texts for each reader."""


@pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.slow if part else ()) for part in range(PARTS)])
@pytest.mark.parametrize("reader", READERS)
def test_the_work_grows_no_faster_than_the_input(reader: str, part: int) -> None:
    read = tolerant(READERS[reader])
    kinds = list(TEXTS.items())[(part + list(READERS).index(reader)) % PARTS :: PARTS]
    told = {kind: ratio for kind, make in kinds if (ratio := growth(read, make, 1 << 11, 1 << 15)) > SLACK}
    assert not told


QUADRATIC = {
    "fence and a long label": ("extract", lambda n: f"x```python{'a' * n}!\n"),
    "orphans of thinking on one line": ("extract", lambda n: "</think>" * (n // 8) + "x"),
    "blanks in a printed call": ("extract", lambda n: f"<tool_call>{{{' ' * n}}}x"),
    "an encoding": ("the form of a file", lambda n: f"# coding: {'a' * n}\n\udcff"),
}


@pytest.mark.parametrize("case", QUADRATIC)
def test_what_took_quadratic_time_is_linear(case: str) -> None:
    reader, make = QUADRATIC[case]
    assert growth(tolerant(READERS[reader]), make) <= SLACK


@settings(max_examples=300, deadline=None)
@given(text=texts(), reader=st.sampled_from(sorted(READERS)))
def test_nothing_but_an_error_of_safeexec_is_raised(text: str, reader: str) -> None:
    tolerant(READERS[reader])(text)


def test_names_of_many_parts_are_compared_in_little_memory() -> None:
    before = Verification(False, "", outcomes={f"{'a.' * 240}{n}": "passed" for n in range(5000)})
    after = Verification(False, "", outcomes=dict.fromkeys(before.outcomes, "failed"))
    assert "tests fail that did not before" in after.worse_than(before)


# Transcripts and recorded runs


@given(text=texts())
@settings(max_examples=100, deadline=None)
def test_any_file_is_a_transcript_or_an_error(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    path.write_bytes(b'{"kind": "task", "task": "t"}\n' + text.encode("utf-8", "surrogatepass") + b"\n")
    try:
        Transcript.load(path)
    except TranscriptError:
        pass


def notices(length: int) -> list[dict[str, str]]:
    return [{"kind": "task", "task": "t"}, *[{"kind": "notice", "text": "n"}] * (length // 4)]


def calls_and_tasks(length: int) -> list[dict[str, str]]:
    step = {"kind": "step", "source": "", "outcome": "ok", "observation": "o", "call": "c"}
    return [{"kind": "task", "task": "t"}, *[step, {"kind": "task", "task": "t"}] * (length // 8)]


@pytest.mark.parametrize("make", [notices, calls_and_tasks])
def test_a_long_transcript_is_put_together_in_linear_time(make: Callable[[int], list[dict[str, str]]]) -> None:
    assert growth(lambda entries: conversation(entries, "s", 10**9), make, 1 << 12, 1 << 16) <= SLACK
    (_, last) = conversation(notices(400), "s", 10**9)
    assert last == Message("user", "t" + "\n\nn" * 100)


# What comes out of a sandbox


class Array:
    """A value that answers to names as arrays do."""

    def __getitem__(self, key: object) -> object:
        raise IndexError("only integers are valid indices")


SURVEY = {"rows": 1, "columns": [], "width": 1, "head": [], "complete": True, "options": {}}
NO_SURVEYS: list[object] = [
    None, 1, "x", [], {}, {**SURVEY, "rows": 10**5000}, {**SURVEY, "rows": -1}, {**SURVEY, "width": float("inf")},
    {**SURVEY, "head": {"a": 1}}, {**SURVEY, "columns": [1]}, {**SURVEY, "head": [[[["x"]]]]}, {**SURVEY, "options": 1},
    {**SURVEY, "head": [[10**5000]]}, {**SURVEY, "columns": "x" * 1000}, Array(),
]  # fmt: skip


COLUMN = {"name": "n", "type": "t", "missing": 0, "low": "l", "high": 1, "distinct": 1, "examples": ["e"]}
LONG_SURVEYS: list[dict[str, object]] = [
    {**SURVEY, "columns": [COLUMN] * 1000}, {**SURVEY, "head": [["c"] * 1000]}, {**SURVEY, "head": [["c"]] * 9},
    {**SURVEY, "columns": [{**COLUMN, "low": "l" * 10**6}]}, {**SURVEY, "notes": ["n" * 10**6]},
    *({**SURVEY, "columns": [{**COLUMN, **change}]} for change in (
        {"low": []}, {"low": 10**5000}, {"missing": "many"}, {"examples": None}, {"distinct": float("inf")},
    )),
    {**SURVEY, "options": {"sep": "s" * 10**6}}, {**SURVEY, "options": {"evil": "s"}}, {**SURVEY, "parts": ["p"] * 999},
]  # fmt: skip


def test_a_survey_of_another_shape_or_too_large_is_refused() -> None:
    damaged = FileSurvey("data.csv", problem="the survey came back damaged")
    for found in [*NO_SURVEYS, *LONG_SURVEYS]:
        result: Any = SimpleNamespace(ok=True, value=found)
        assert survey_of("data.csv", result) == damaged, repr(found)[:100]
    result = SimpleNamespace(ok=True, value={**SURVEY, "columns": [COLUMN], "problem": "x", "name": "y"})
    assert survey_of("data.csv", result).render() == "data.csv: 1 rows, 1 columns\n  n: t; l to 1"


ANSWERS: list[object] = [10**5000, [10**5000], {10**5000: 1}, "x" * 10**6, [[]] * 1000, float("nan")]


@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_any_result_has_a_repr(answer: object) -> None:
    run = AgentResult(answer, (), AgentUsage(), "final_answer", "r", Transcript())
    assert len(repr(run)) < 300
    assert len(repr(MathAnswer(answer, as_text(answer), "", True, run, ""))) < 300


def test_answers_are_compared_and_told_whatever_they_are() -> None:
    assert is_same([10**5000], [10**5000]) and is_same(float("nan"), float("nan"))
    assert not is_same({10**5000: Decimal("sNaN")}, {10**5000: Decimal("sNaN")})
    assert not is_same([Decimal("sNaN")], [Decimal(1)]) and not is_same(1, 1.0)
    root = Opaque("Mul", "-sqrt(2)", reason="it stays")
    assert as_text({"roots": [root], "both": (root, 2)}) == "{'roots': [-sqrt(2)], 'both': (-sqrt(2), 2)}"


def test_numbers_of_numpy_are_told_as_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    answer = {"mean": numpy.float64(3.75), "rows": [numpy.int64(3), numpy.bool_(True)]}
    assert as_text(answer) == "{'mean': 3.75, 'rows': [3, True]}"
