import sys
import unittest
class TestSub(unittest.TestCase):
    def test_even(self):
        for i in range(4):
            with self.subTest("number", i=i):
                self.assertEqual(i % 2, 0)
unittest.main(testRunner=unittest.TextTestRunner(stream=sys.stdout, verbosity=2))
