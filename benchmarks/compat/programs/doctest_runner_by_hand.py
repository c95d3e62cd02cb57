"""Finder, parser, runner and checker used one by one."""
import doctest


def double(x):
    """
    >>> double(2)
    4
    >>> double('ab')
    'abab'
    """
    return 2 * x


parser = doctest.DocTestParser()
for example in parser.get_examples(double.__doc__):
    print(repr(example.source), repr(example.want), example.lineno)
finder = doctest.DocTestFinder()
runner = doctest.DocTestRunner(verbose=False)
for test in finder.find(double, "double"):
    print(test.name, len(test.examples), runner.run(test))
print(runner.summarize())
checker = doctest.OutputChecker()
print(checker.check_output("a...z\n", "abcz\n", doctest.ELLIPSIS), checker.check_output("1\n", "True\n", 0))
test = parser.get_doctest(">>> x = 5\n>>> x + y\n8\n", {"y": 3}, "made", None, 0)
print(runner.run(test, clear_globs=False), sorted(k for k in test.globs if k[:2] != "__"))
doctest.run_docstring_examples(double, {"double": double}, verbose=True, name="by hand")
print(doctest.script_from_examples(double.__doc__))
try:
    doctest.DebugRunner().run(parser.get_doctest(">>> 1\n2\n", {}, "bad", None, 0))
except doctest.DocTestFailure as failure:
    print(failure.test.name, failure.example.want, failure.got)
