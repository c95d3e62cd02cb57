import contextlib
import io
import logging
import unittest
import warnings
from unittest import mock
class TestOutput(unittest.TestCase):
    def test_print(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print("hidden")
        self.assertEqual(out.getvalue(), "hidden\n")
    def test_log(self):
        with self.assertLogs(level="WARNING") as caught:
            logging.getLogger("a.b").warning("one %s", 1)
        self.assertEqual(caught.output, ["WARNING:a.b:one 1"])
        with self.assertNoLogs():
            logging.getLogger("a.b").debug("nothing")
    def test_warning(self):
        with self.assertWarnsRegex(UserWarning, "careful"):
            warnings.warn("careful now")
    def test_patched_dict(self):
        settings = {"a": 1}
        with mock.patch.dict(settings, a=2, b=3):
            self.assertEqual(settings, {"a": 2, "b": 3})
        self.assertEqual(settings, {"a": 1})
unittest.main()
