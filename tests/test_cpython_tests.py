"""The harness of CPython's own tests: what becomes of a test is told right, what is refused is cut out and no more, and
what a run loses is what CPython passes and a session does not.
"""

from __future__ import annotations

import unittest
from pathlib import Path

import pytest

from benchmarks.compat import one_by_one
from benchmarks.compat.cpython import REASONS, by_cpython, compared, is_whole, programs, refusals, said
from safeexec import ErrorInfo, Policy, Sandbox


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
import sys, unittest
from test import support
from test.support import import_helper
from test import beside
import string, ctypes
from os import (path,
    fork)
if True:
    six = 6
    frame = sys._getframe()
space = getattr(unittest.skip, "__glo" + "bals__")
def short(): return sys._getframe()
class T(unittest.TestCase):
    def setUp(self):
        support.verbose
        sys._getframe()
        getattr(unittest.skip, "__glo" + "bals__")
    def test_both(self):
        self.assertEqual((beside.value, path.sep, six), (7, "/", 6))
    @unittest.skipIf(False, "")
    def test_decorated(self):
        self.assertTrue(sys._getframe())
    @unittest.skipIf(not sys._getframe(), "")
    def test_decorator(self): ...
    def test_short(self):
        self.assertTrue(short())
    def test_refused_while_it_is_loaded(self):
        self.assertTrue(space.keys() and frame.f_code)
    def test_refused_while_it_runs(self):
        self.assertTrue(getattr(self.test_both, "__glo" + "bals__"))
    def test_stand_in(self):
        self.assertTrue(frame.clear)
    def test_stands_beside_what_is_refused(self):
        self.assertEqual(string.digits[:2], "01")
    def test_system(self):
        self.assertTrue(fork.__name__)
    def test_raises(self):
        raise KeyError("x")
    @unittest.skip("not here")
    def test_skips(self): ...
    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.fail("no")
    @unittest.expectedFailure
    def test_passes_unexpectedly(self): ...
    def test_fails_in_a_part(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(part, 0)
if __name__ == "__main__":
    unittest.main()
"""
NOT_OK = {
    "raises": "KeyError: 'x'",
    "skips": "skip: not here",
    "passes_unexpectedly": "an unexpected success",
    "fails_in_a_part": "AssertionError: 2 != 0",
}
LOST = {
    "decorated": "PermissionError: attribute '_getframe' is refused",
    "decorator": "is not run: not found",
    "refused_while_it_is_loaded": "PermissionError: attribute 'f_code' is refused",
    "refused_while_it_runs": "AttributeError: attribute '__globals__' is refused",
    "short": "PermissionError: attribute '_getframe' is refused",
    "stand_in": "PermissionError: attribute '_getframe' is refused",
    "stands_beside_what_is_refused": "PermissionError: import of 'ctypes' is refused",
    "system": "PermissionError: attribute 'os.fork' is refused",
}
"""What each test says that passes in CPython alone. What is refused is cut out: a function, an import, a statement."""


def test_lost_is_what_cpython_passes_and_a_session_does_not(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(TESTS)
    (tmp_path / "beside.py").write_text("import ctypes\nvalue = 7\n")
    (program,) = programs(tmp_path, "test_small")
    assert list(program) == ["tests", "suite", "suite.support", "suite.one_by_one", "suite.beside"]
    verdicts = {test.removeprefix("__main__.T.test_"): verdict for test, verdict in by_cpython(program).items()}
    assert {test: verdict for test, verdict in verdicts.items() if verdict != "ok"} == NOT_OK
    limits = {"max_wall_seconds": 240, "wall_seconds": 240, "cpu_seconds": 240}
    with Sandbox(Policy.load("standard").replace(**limits), spare=0) as sandbox:  # type: ignore[arg-type]
        passed, losses = compared(tmp_path, "test_small", sandbox)
    assert passed == len(verdicts) - len(NOT_OK)
    assert {loss.test.removeprefix("test_small.T.test_"): loss.why for loss in losses} == LOST
    assert {loss.reason for loss in losses} == {[*REASONS][number] for number in (0, 1, 4, 6)}, "the first that fits"
