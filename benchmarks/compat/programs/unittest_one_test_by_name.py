# argv: TestPick.test_b
import unittest
class TestPick(unittest.TestCase):
    def test_a(self):
        print("a")
    def test_b(self):
        print("b")
if __name__ == "__main__":
    unittest.main()
