"""Record the outcome of single tests, not from the log, which the code under test can write too: pytest and
unittest report each test as it begins and ends.

The code under test shares a process with them, so a program that sets out to forge this can. It has to be written for
that, and shows in the diff.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from safeexec.untrusted.json_text import loads

SOURCE = """\
import functools, types, unittest

def _watch():
    own = os.getpid()

    def note(test, outcome):
        if os.getpid() != own:
            return  # a fork of the tests' own
        try:
            _report.write(json.dumps([str(test)[:500], outcome]) + "\\n")
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
        # A pytest that a test starts finds no plugin of this name.
        os.environ.pop("PYTEST_PLUGINS", None)
        # The processes of pytest-xdist would report nothing.
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

_watch()
"""
"""Runs in the verification's process before the command. Needs `json`, `os`, `sys` and the open file `_report`."""

MAX_LINES = 200_000
MAX_NAME = 500


@dataclass(slots=True)
class Report:
    """A report of a verification: the tests by name, in order, and how they ended; and how the process ended."""

    outcomes: dict[str, str] = field(default_factory=dict)
    running: str = ""
    """The test that had begun last."""
    status: int | str | None = None
    """The exit status; a text names what is missing. None where it wrote none."""
    place: str = ""
    """The file that raised SystemExit."""


def read_report(data: bytes) -> Report:
    """Return what a report says. It may hold anything: what cannot be read is left out, and counts as not run."""
    report = Report()
    lines, _, last = data.decode("utf-8", "replace").rstrip("\n").rpartition("\n")
    for line in (*lines.split("\n", MAX_LINES)[:MAX_LINES], last):
        if not line.startswith(("[", "{")):
            continue
        try:
            event = loads(line)
        except (ValueError, RecursionError):
            continue
        match event:
            case [str() as test, "begun"]:
                report.running = test[:MAX_NAME]
            case [str() as test, "passed" | "failed" | "skipped" | "xfailed" as outcome]:
                # A module that cannot be imported is a test of unittest's own.
                test = test[:MAX_NAME].removeprefix("unittest.loader._FailedTest.")
                if report.outcomes.get(test) != "failed":
                    report.outcomes[test] = outcome
            case {"status": int() | str() as status, "place": str() as place}:
                report.status, report.place = status, place
    return report
