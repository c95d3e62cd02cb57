"""The harness of CPython's own tests: what becomes of a test is told right, what is refused is cut out and no more, and
what a run loses is what CPython passes and a session does not.
"""

from __future__ import annotations

import ast
import unittest
from pathlib import Path

import pytest

from benchmarks.compat import one_by_one
from benchmarks.compat.cpython import DIFFERS, REASONS, Loss, compared, is_whole, programs, refusals, said, without
from safeexec import ErrorInfo, Policy, Sandbox


class Kinds(unittest.TestCase):
    def runTest(self) -> None: ...

    def raises(self) -> None:
        raise KeyError("x")

    @unittest.skip("not here")
    def skips(self) -> None: ...

    @unittest.expectedFailure
    def fails_as_expected(self) -> None:
        self.fail("no")

    @unittest.expectedFailure
    def passes_unexpectedly(self) -> None: ...

    def fails_in_a_part(self) -> None:
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(part, 0)


VERDICTS = {
    "raises": "KeyError: 'x'",
    "skips": "skip: not here",
    "fails_as_expected": "ok",
    "passes_unexpectedly": "an unexpected success",
    "fails_in_a_part": "AssertionError: 2 != 0",
}


def test_each_test_has_one_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    for name, verdict in VERDICTS.items():
        Kinds(name).run(one_by_one.Said())
        assert list(said(capsys.readouterr().out).values()) == [verdict], name


def test_a_test_that_ends_the_process_has_begun(capsys: pytest.CaptureFixture[str]) -> None:
    class T(unittest.TestCase):
        def test_a(self) -> None: ...

        def test_b(self) -> None:
            print("@ no line of ours")
            raise KeyboardInterrupt

    first, second = (test.id() for test in one_by_one.cases([T("test_a"), T("test_b")]))
    with pytest.raises(KeyboardInterrupt):
        one_by_one.run({"T": T, "other": 1}, [])
    output = capsys.readouterr().out
    assert said(output)[first] == "ok" and not is_whole(output)
    one_by_one.run({"T": T}, [second])
    output = capsys.readouterr().out
    assert said(output) == {first: "ok"} and is_whole(output)


def test_the_reason_of_a_loss_is_the_first_that_fits() -> None:
    reasons = list(REASONS)
    assert Loss("t", "AttributeError: names begin with an underscore").reason == reasons[0]
    assert Loss("t", "ended the session: crashed").reason == reasons[7]
    assert Loss("t", "AssertionError: 1 != 2").reason == DIFFERS


SOURCE = """\
import a, b
from m import (x,
    y)
class T:
    def setUp(self):
        prepare()
        refused()
    @decorated
    def test(self):
        return refused()
if True:
    value = refused()
def short(): return refused()
"""
CUT = {
    1: "from suite.support import Refused; a = Refused('why'); b = Refused('why')",
    7: "from suite.support import Refused",
    10: "raise PermissionError('why')",
    12: "from suite.support import Refused; value = Refused('why')",
    13: "def short(*_, **__): raise PermissionError('why')",
}


@pytest.mark.parametrize(("line", "put"), CUT.items())
def test_what_is_refused_is_cut_out_and_no_other_line_moves(line: int, put: str) -> None:
    before, after = SOURCE.split("\n"), without(SOURCE, line, "why").split("\n")
    ast.parse("\n".join(after))
    assert after[line - 1].strip() == put
    assert [one for one, other in zip(before, after, strict=True) if one != other] == [before[line - 1]]


def test_of_an_import_the_name_that_is_refused_goes() -> None:
    after = without(SOURCE, 2, "import of y from m is refused")
    assert "from m import x; from suite.support import Refused; y = Refused(" in after


def _error(message: str, traceback: str = "") -> ErrorInfo:
    return ErrorInfo(type="ImportError", message=message, traceback=traceback)


def test_a_refusal_is_found_in_the_message_or_in_the_traceback() -> None:
    found = {"tests": "class T:\n    x = 1\n", "suite.other": ""}
    told = _error("import of suite.other is refused: <plugin tests:suite.other>, line 3: no (and 1 more)")
    assert list(refusals(told, found)) == [("suite.other", 3, "no (and 1 more)")]
    frames = 'File "<plugin tests>", line 2, in T\nFile "<plugin tests:suite.other>", line 7, in function\n'
    assert list(refusals(_error("no", frames), found)) == [("tests", 2, "ImportError: no")]
    assert not list(refusals(_error("no"), found))


TESTS = """\
import unittest
from test import support
from test.support import import_helper
from test import beside
class T(unittest.TestCase):
    def setUp(self):
        support.verbose
    def test_both(self):
        self.assertEqual(beside.value, 7)
    def test_fails_in_cpython(self):
        self.fail()
    def test_frames(self):
        import sys
        self.assertTrue(sys._getframe().f_code)
    def test_refused_while_it_runs(self):
        self.assertTrue(getattr(self.test_both, "__glo" + "bals__"))
if __name__ == "__main__":
    unittest.main()
"""


def test_lost_is_what_cpython_passes_and_a_session_does_not(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(TESTS)
    (tmp_path / "beside.py").write_text("value = 7\n")
    (program,) = programs(tmp_path, "test_small")
    assert list(program) == ["tests", "suite", "suite.support", "suite.one_by_one", "suite.beside"]
    limits = {"max_wall_seconds": 240, "wall_seconds": 240, "cpu_seconds": 240}
    with Sandbox(Policy.load("standard").replace(**limits), spare=0) as sandbox:  # type: ignore[arg-type]
        passed, losses = compared(tmp_path, "test_small", sandbox)
    assert passed == 3
    assert [loss.test for loss in losses] == ["test_small.T.test_frames", "test_small.T.test_refused_while_it_runs"]
    assert DIFFERS not in [loss.reason for loss in losses]
