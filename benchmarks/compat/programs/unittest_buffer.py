# argv: -b
import unittest
class TestQuiet(unittest.TestCase):
    def test_prints(self):
        print("not shown")
unittest.main()
