import unittest
class Base:
    kind = None
    def test_empty(self):
        self.assertEqual(len(self.kind()), 0)
    def test_type(self):
        print(type(self.kind()).__name__)
class TestList(Base, unittest.TestCase):
    kind = list
class TestDict(Base, unittest.TestCase):
    kind = dict
if __name__ == "__main__":
    unittest.main(verbosity=0)
