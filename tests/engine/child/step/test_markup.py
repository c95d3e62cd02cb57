"""A fence around a program, and lines of a notebook that do nothing here, are no part of it, whoever sends it."""

from __future__ import annotations

import pytest

from safeexec import Sandbox
from safeexec.engine.child.step.fences import without_fence
from tests.conftest import Run
from tests.untrusted.doubling import SLACK, growth


@pytest.mark.parametrize(
    "source",
    [
        "```python\nx = 6\nx * 7\n```",
        "\n  ```py\nx = 6\nx * 7\n```<end_code>",
        "~~~python\nx = 6\nx * 7\n~~~",
        "```python\nx = 6\nx * 7",
        "%matplotlib inline\nx = 6\nx * 7",
        "```python\n%matplotlib inline\nx = 6\nx * 7\n```",
        "%%time\nx = 6\nx * 7",
        "   ```python\n   x = 6\n   if x:\n       y = x * 7\n   y\n   ```",
        '```python\ntext = """\n```\ncode\n```\n"""\nx = 6\nx * 7\n```',
        "\ufeffx = 6\nx * 7",
        "\ufeff```python\nx = 6\nx * 7\n```",
    ],
)
@pytest.mark.parametrize("profile", ["standard", "confined-python"])
def test_what_is_around_a_program_is_no_part_of_it(run: Run, source: str) -> None:
    assert run(source).check().value == 42


@pytest.mark.parametrize("text", ["```\n1\n```{}x", "```\n{}", "   ```\n{}   ```", "```\n```\n{}```\nx"])
@pytest.mark.parametrize("part", [" ", "\n", "```\n", "   1\n"])
def test_the_time_to_look_for_a_fence_grows_with_the_text(text: str, part: str) -> None:
    assert growth(without_fence, lambda size: text.format(part * (size // len(part))), 1 << 11, 1 << 15) < SLACK


def test_lines_keep_their_numbers_and_a_program_with_such_a_line_in_it_is_as_it_was(run: Run) -> None:
    error = run("```python\n%matplotlib inline\nx = 1\nx / 0\n```").error
    assert (error.line, error.source_line) == (4, "x / 0")
    assert run("s = '''\n%matplotlib inline\n```\n'''\nlen(s)").check().value == 24
    assert run("matplotlib = 3\nx = (10\n%matplotlib\n)\nx").check().value == 1


@pytest.mark.parametrize(
    "source",
    ["```python\n1\n```\nSome text.\n```python\n2\n```", "```python\n1\n```\nThat is it.", "x = 1\n%run other.py"],
)
def test_what_cannot_be_one_program_is_told(run: Run, source: str) -> None:
    result = run(source)
    assert (result.outcome, result.error.type) == ("error", "SyntaxError") and result.error.hint


@pytest.mark.profile("calculator")
def test_check_takes_them_too(sandbox: Sandbox) -> None:
    assert sandbox.check("```python\n%matplotlib inline\nx = 1\n```").ok
    assert not sandbox.check("```python\nimport subprocess\n```").ok
