import sys
import unittest
class TestBad(unittest.TestCase):
    def test_lists(self):
        self.assertEqual([1, 2], [1, 3])
    def test_error(self):
        raise RuntimeError("broken")
if __name__ == "__main__":
    unittest.main(testRunner=unittest.TextTestRunner(stream=sys.stdout))
