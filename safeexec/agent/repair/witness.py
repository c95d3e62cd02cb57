"""Record the outcome of single tests, not from the log, which the code under test can write too: pytest and
unittest tell the host of each test as it begins and ends.

The code under test shares a process with them, so a program that sets out to forge this can. It has to be written for
that, and shows in the diff.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SOURCE = """\
import functools, types, unittest

def _watch(tell):
    own = os.getpid()

    def note(test, outcome):
        if os.getpid() != own:
            return  # a fork of the tests' own
        try:
            tell(str(test)[:500], outcome)
        except Exception:
            pass  # what is not reported counts as not run

    def begin(nodeid, location):
        note(nodeid, "begun")

    def ended(report):  # pytest passes arguments by name
        expected = hasattr(report, "wasxfail")
        if report.outcome == "failed":
            note(report.nodeid, "failed")
        elif report.outcome == "skipped":
            note(report.nodeid, "xfailed" if expected else "skipped")
        elif report.outcome == "passed" and report.when == "call":
            note(report.nodeid, "passed")

    def collected(report):
        if report.outcome in ("failed", "skipped"):
            note(report.nodeid, report.outcome)

    def alone(config):
        # pytest-xdist would start other processes, which the sandbox refuses.
        if getattr(config.option, "numprocesses", None):
            config.option.numprocesses = 0
    alone.pytest_impl = {"tryfirst": True}

    plugin = types.ModuleType("safeexec_witness", "PYTEST_DONT_REWRITE")
    plugin.pytest_cmdline_main = alone
    plugin.pytest_runtest_logstart = begin
    plugin.pytest_runtest_logreport = ended
    plugin.pytest_collectreport = collected
    sys.modules[plugin.__name__] = plugin
    os.environ["PYTEST_PLUGINS"] = plugin.__name__

    def wrap(name, outcome):
        plain = getattr(unittest.TestResult, name)
        @functools.wraps(plain)
        def method(self, test, *rest):
            note(test.id(), outcome)
            return plain(self, test, *rest)
        setattr(unittest.TestResult, name, method)

    for name, outcome in (
        ("startTest", "begun"), ("addSuccess", "passed"), ("addFailure", "failed"), ("addError", "failed"),
        ("addSkip", "skipped"), ("addExpectedFailure", "xfailed"), ("addUnexpectedSuccess", "failed"),
    ):
        wrap(name, outcome)
    plain = unittest.TestResult.addSubTest
    def subtest(self, test, part, error):
        if error is not None:
            note(test.id(), "failed")
        return plain(self, test, part, error)
    unittest.TestResult.addSubTest = subtest

_watch(witness)
"""
"""Runs in the verification's process before the command. Needs `os` and `sys`."""

MAX_CALLS = 200_000
MAX_NAME = 500
MAX_CHARACTERS = 32 << 20
"""Of all names that are reported: a process that is no test runner may report anything."""


@dataclass(slots=True)
class Witness:
    """The host's side: the tests by name, in order, and how they ended."""

    outcomes: dict[str, str] = field(default_factory=dict)
    running: str = ""
    """The test that had begun last."""
    _left: int = MAX_CHARACTERS

    def begin(self) -> None:
        """Forget the run before."""
        self.outcomes, self.running, self._left = {}, "", MAX_CHARACTERS

    def witness(self, test: str, outcome: str) -> None:
        """The tool that the verification's process calls."""
        test = test[:MAX_NAME].removeprefix("unittest.loader._FailedTest.")  # a module that cannot be imported
        self._left -= len(test)
        if self._left < 0:
            raise ValueError("the names of the tests are too long")  # what is not reported counts as not run
        if outcome == "begun":
            self.running = test
        elif outcome in ("passed", "failed", "skipped", "xfailed") and self.outcomes.get(test) != "failed":
            self.outcomes[test] = outcome
