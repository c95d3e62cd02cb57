"""Runs tests one after the other and prints a line for each: a module of the program, as `support` is one.

A line is ``@@`` and JSON: ``[test]`` before it runs, ``[test, outcome]`` after it. The outcome is ``ok``, why it was
skipped, or what was raised.
"""

import json
import unittest


def say(*what):
    print("\n@@" + json.dumps(what), flush=True)


class Said(unittest.TestResult):
    """Says what becomes of each test as it ends."""

    def startTest(self, test):
        super().startTest(test)
        self.outcome = "ok"
        say(test.id())

    def stopTest(self, test):
        super().stopTest(test)
        say(test.id(), self.outcome)

    def _not_ok(self, test, error):
        self.outcome = f"{error[0].__name__}: {error[1]}"[:1000]

    def addError(self, test, error):
        self._not_ok(test, error)

    def addFailure(self, test, error):
        self._not_ok(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._not_ok(test, error)

    def addSkip(self, test, reason):
        self.outcome = f"skip: {reason}"

    def addExpectedFailure(self, test, error): ...

    def addUnexpectedSuccess(self, test):
        self.outcome = "an unexpected success"


def cases(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def run(names, without):
    """Run the tests among these names of a module, except those given."""
    loader = unittest.defaultTestLoader
    kinds = [names[name] for name in sorted(names) if isinstance(names[name], type)]
    suites = [loader.loadTestsFromTestCase(kind) for kind in kinds if issubclass(kind, unittest.TestCase)]
    unittest.TestSuite(test for test in cases(suites) if test.id() not in without).run(Said())
    say()
