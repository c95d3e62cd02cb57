import unittest
class TestAll(unittest.TestCase):
    def test_all(self):
        self.assertTrue(1)
        self.assertFalse(0)
        self.assertIs(None, None)
        self.assertIsNot(1, None)
        self.assertIn(1, [1])
        self.assertNotIn(2, [1])
        self.assertIsInstance(1, int)
        self.assertGreater(2, 1)
        self.assertLessEqual(1, 1)
        self.assertAlmostEqual(1.0, 1.00000001)
        self.assertRegex("abc", "b")
        self.assertNotRegex("abc", "d")
        self.assertCountEqual([1, 2, 2], [2, 1, 2])
        self.assertDictEqual({"a": 1}, {"a": 1})
        self.assertMultiLineEqual("a\nb", "a\nb")
        self.assertSequenceEqual((1, 2), [1, 2])
        self.assertSetEqual({1}, {1})
        with self.assertRaises(KeyError) as caught:
            {}["x"]
        self.assertEqual(caught.exception.args, ("x",))
        with self.assertRaisesRegex(ValueError, "literal"):
            int("x")
    def test_messages(self):
        for check in (
            lambda: self.assertEqual({"a": 1, "b": 2}, {"a": 1, "b": 3}),
            lambda: self.assertIn(3, [1, 2]),
            lambda: self.assertAlmostEqual(1, 2, places=2),
            lambda: self.assertCountEqual([1, 1], [1]),
            lambda: self.assertMultiLineEqual("a\nb\n", "a\nc\n"),
            lambda: self.assertTrue(0, "told"),
            lambda: self.assertRaises(KeyError, int, "1"),
            lambda: self.assertIsInstance("a", int),
            lambda: self.assertSetEqual({1, 2}, {2, 3}),
            lambda: self.assertTupleEqual((1,), (2,)),
        ):
            try:
                check()
            except self.failureException as error:
                print(str(error))
unittest.main()
