# domain: tests
"""Test cases and what becomes of them."""

import io
import logging
import unittest
import warnings

calls = []


def setUpModule():
    calls.append("module")


class TestThings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        calls.append("class")

    def setUp(self):
        self.x = 1
        self.addCleanup(calls.append, "cleanup")

    def test_equal(self):
        self.assertEqual(self.x, 1)
        self.assertAlmostEqual(0.1 + 0.2, 0.3)

    def test_fails(self):
        self.assertEqual({"a": [1, 2]}, {"a": [1, 3]}, "not the same")

    def test_error(self):
        return 1 / 0

    @unittest.skip("not today")
    def test_skipped(self):
        raise AssertionError

    @unittest.expectedFailure
    def test_expected(self):
        self.assertTrue(False)

    def test_raises(self):
        with self.assertRaises(ValueError) as caught:
            int("x")
        self.assertIn("invalid", str(caught.exception))
        self.assertRaisesRegex(ZeroDivisionError, "division", lambda: 1 / 0)

    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    def test_warns_and_logs(self):
        with self.assertWarns(DeprecationWarning):
            warnings.warn("old", DeprecationWarning)
        with self.assertLogs("there", level="INFO") as caught:
            logging.getLogger("there").info("first")
        self.assertEqual(caught.output, ["INFO:there:first"])


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def test_it(self):
        self.assertTrue(True)


if __name__ == "__main__":
    stream = io.StringIO()
    program = unittest.main(argv=["x"], exit=False, testRunner=unittest.TextTestRunner(stream=stream, verbosity=2))
    result = program.result
    print(result.testsRun, result.wasSuccessful(), len(result.skipped), len(result.expectedFailures))
    for test, text in result.failures + result.errors:
        print(test.id(), text.splitlines()[-1])
    print(sorted(set(calls)))
    print([line for line in stream.getvalue().splitlines() if " ... " in line])
    suite = unittest.TestLoader().loadTestsFromTestCase(TestThings)
    print(suite.countTestCases(), unittest.defaultTestLoader.getTestCaseNames(TestAsync))
    print(unittest.TestLoader().loadTestsFromName("TestThings.test_equal", program.module).countTestCases())
