"""A flood of one warning is one line with a count, and no warning names a file of the sandbox."""

from __future__ import annotations

import pytest

from safeexec import Session
from tests.conftest import Run

ALWAYS = "import warnings\nwarnings.simplefilter('always')\n"


@pytest.mark.profile("confined-python")
def test_a_warning_or_what_a_library_logs_is_counted_where_it_comes_again_and_what_a_program_logs_is_not(
    run: Run,
) -> None:
    told = run(ALWAYS + "for n in range(300):\n    warnings.warn('old')\nwarnings.warn('other')").check().stderr
    assert told.count("old") == 3 and told.count("other") == 2  # with the line of the source
    assert "[299 more times: <step 1>:4: UserWarning: old]" in told
    many = run("import warnings\nfor row in range(50):\n    warnings.warn(f'row {row} is odd')").stderr
    assert [f"row {row} is odd" in many for row in (0, 1, 2, 3, 49)] == [True, True, True, False, False]
    assert many.endswith("[47 more texts: <step 2>:3: UserWarning]\n")
    source = "import logging\nlog = logging.getLogger('lib')\nfor n in range(50): log.warning('slow %s', 'x')\n"
    assert run(source).check().stderr == "slow x\n[49 more times: slow x]\n"
    assert run("logging.basicConfig()\n" + source.partition("\n")[2]).check().stderr.count("slow x") == 50


def test_each_step_counts_anew(session: Session) -> None:
    step = ALWAYS + "for n in range(2):\n    warnings.warn('old')"
    told = [session.run(step).check().stderr for _ in range(2)]
    assert [text.count("[1 more time:") for text in told] == [1, 1]
    assert "old" in told[1].partition("\n")[0]


@pytest.mark.profile("confined-python")
def test_what_a_program_does_with_warnings_is_as_it_was(run: Run) -> None:
    source = """
with warnings.catch_warnings(record=True) as caught:
    for n in range(3): warnings.warn('old')
import io
out = io.StringIO()
for n in range(2): warnings.showwarning('m', UserWarning, 'f.py', 7, out)
(len(caught), out.getvalue())
"""
    result = run(ALWAYS + source).check()
    assert result.value == (3, "f.py:7: UserWarning: m\n" * 2) and result.stderr == ""


@pytest.mark.profile("standard")
def test_a_coroutine_as_the_value_says_so(session: Session) -> None:
    first = session.run("async def f(): return 1\nf()")
    assert any("`await f(…)`" in note for note in first.notes)
    assert session.run("await _").value == 1
    later = [session.run("f()"), session.run("1 + 1"), session.run("2")]
    assert not any("safeexec" in result.stderr for result in later)


@pytest.mark.profile("data-analysis")
@pytest.mark.modules("matplotlib")
def test_a_warning_of_a_picture_names_no_file_of_ours(run: Run) -> None:
    result = run("import matplotlib.pyplot as plt\nplt.title('销售额')\nplt.show()").check()
    assert result.stderr.count("findfont") <= 3 and "safeexec" not in result.stderr
    assert "UserWarning: Glyph" in result.stderr
