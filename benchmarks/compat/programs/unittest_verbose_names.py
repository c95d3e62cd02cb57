# argv: -v
import unittest
class TestNames(unittest.TestCase):
    """A case."""
    def test_one(self):
        """The first line is shown."""
    def test_two(self):
        pass
    @unittest.skipIf(True, "always")
    def test_three(self):
        pass
    @unittest.expectedFailure
    def test_four(self):
        self.fail()
if __name__ == "__main__":
    unittest.main()
