import io
import unittest
class TestA(unittest.TestCase):
    def runTest(self):
        self.assertEqual(1, 1)
class Counting(unittest.TestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        print("ok", test.id())
    def addFailure(self, test, err):
        super().addFailure(test, err)
        print("failed", err[0].__name__, err[1])
suite = unittest.TestSuite([TestA(), unittest.FunctionTestCase(lambda: print("called"))])
suite.addTest(unittest.FunctionTestCase(lambda: (_ for _ in ()).throw(AssertionError("no"))))
result = Counting()
suite.run(result)
print(result.testsRun, len(result.failures), result.wasSuccessful())
stream = io.StringIO()
outcome = unittest.TextTestRunner(stream=stream, verbosity=0).run(unittest.TestSuite([TestA()]))
print(outcome.testsRun, stream.getvalue().splitlines()[-1])
