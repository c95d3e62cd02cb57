"""A step whose own objects answer for themselves: its end is told, and its process lives on."""

from __future__ import annotations

import re

import pytest

from safeexec import Sandbox, Session
from tests.conftest import Run

LIES = "def lie(self, *_): raise SystemExit(7)\nclass Lie:\n    __class__ = property(lie)\n"

RAISED = {
    "an errno that raises": "class E(OSError):\n    errno = property(lie)\nraise E()",
    "an errno that compares": "class X:\n    __eq__ = lie\n    __hash__ = None\nraise OSError(X(), 't')",
    "a name with a NUL": "raise PermissionError(13, 'no', 'a\\0b')",
    "arguments that raise": "class E(Exception):\n    args = property(lie)\nraise E()",
    "a class of its own word": "class E(Exception):\n    __class__ = property(lie)\nraise E()",
    "a status that raises": "raise SystemExit(Lie())",
    "a text that raises": "class E(Exception):\n    __str__ = lie\nraise E()",
    "a name that raises": "class Q(str):\n    __format__ = __str__ = __hash__ = lie\n"
    "class E(Exception): pass\nE.__name__ = E.__qualname__ = Q('E')\nraise E()",
}


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize("what", RAISED)
def test_an_exception_is_told_whatever_its_class_does(run: Run, what: str) -> None:
    kind = RAISED[what].rpartition("raise ")[2].partition("(")[0]
    result = run(LIES + RAISED[what])
    assert (result.outcome, result.state, result.error.type) == ("error", "kept", kind)


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize(
    "source",
    [
        "x = Lie()",
        "class S:\n    __sizeof__ = lie\ns = S()",
        "class R:\n    __repr__ = lie\nr = R()",
        "class Q(str): __hash__ = __eq__ = lie\nclass N: pass\nN.__module__ = 'numpy'\nN.__name__ = Q('N')\nn = N()",
    ],
)
def test_a_value_is_described_whatever_its_class_does(run: Run, session: Session, source: str) -> None:
    result = run(LIES + source).check()
    name = source.rpartition("\n")[2].partition(" = ")[0]
    assert name in result.changes.created
    assert name in [variable.name for variable in session.variables()]


@pytest.mark.profile("confined-python")
def test_a_repr_is_text_whatever_its_class_does(run: Run) -> None:
    shown = "class Q(str):\n    encode = isascii = __len__ = lie\nclass R:\n    __repr__ = lambda self: Q('r')\nR()"
    assert run(LIES + shown).check().text == "r"


@pytest.mark.profile("confined-python")
@pytest.mark.modules("matplotlib")
def test_a_figure_that_does_not_answer_leaves_the_step_its_end(run: Run) -> None:
    source = "import matplotlib.pyplot as plt\nfor _ in range(2):\n    plt.figure().get_axes = lie.__get__(0)\n"
    assert run(LIES + source + "print('done')").check().stdout == "done\n"
    assert run("1 / 0").error.type == "ZeroDivisionError"


@pytest.mark.profile("confined-python")
def test_a_program_begins_in_a_directory_that_is_gone_and_finds_a_user_a_home_and_a_path(run: Run) -> None:
    run("import os\nos.mkdir('d')\nos.chdir('d')\nos.rmdir('../d')").check()
    assert run("print(__file__)", argv=["p.py"]).check().stdout == "p.py\n"
    source = "import getpass, os\ngetpass.getuser(), os.path.isdir(os.environ['HOME']), os.environ['PATH'].split(':')"
    assert run(source).check().value == ("guest", True, ["/usr/local/bin", "/usr/bin", "/bin"])


@pytest.mark.modules("numpy", "sympy", "mpmath")
@pytest.mark.profile("mathematics")
def test_the_digits_of_an_exact_number_are_the_text_of_a_step_as_long_as_python_writes_them(run: Run) -> None:
    run("import math, sympy, numpy\nfrom fractions import Fraction").check()
    for source, digits in (
        ("math.factorial(3000)", 9131),
        ("sympy.factorial(3000)", 9131),
        ("Fraction(10**5000, 3)", 5001),
    ):
        assert max(map(len, re.findall(r"\d+", run(source).check().text))) == digits, source
    assert "4300" in run("print(10**5000)").error.message
    for source, name in (
        ("sympy.factorial(9000)", "sympy.core.numbers.Integer object"),
        ("range(10**50000)", "range object"),
        ("numpy.array([10**50000])", "numpy.ndarray object"),
        ("math.factorial(9000)", "int of about 31683 digits"),
        ("[math.factorial(9000)]", "int of about 31683 digits"),
    ):
        text = run(source).check().text
        assert f"<{name}" in text and ("int of" in name or "Exceeds the limit (4300 digits)" in text), source


@pytest.mark.parametrize("value", ["A()", "[A()]"])
def test_what_a_repr_of_the_guest_raises_is_the_error_of_the_step(run: Run, value: str) -> None:
    result = run("class A:\n    def __repr__(self): return str(10**5000)\n" + value)
    assert (result.outcome, result.error.type, result.error.line) == ("error", "ValueError", 2)
    assert "more than 4300 digits" in result.error.hint


@pytest.mark.profile("confined-python")
def test_display_of_ipython_shows_what_it_shows_there(run: Run) -> None:
    pytest.importorskip("IPython")
    result = run("from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))").check()
    assert result.displays[0].html == "<b>x</b>" and result.stdout == ""


KEPT = """
import gc, weakref
gc.disable()
class Big: pass
refs, kept = [], []
def f():
    big = Big()
    refs.append(weakref.ref(big))
    try:
        1 / 0
    except ZeroDivisionError as e:
        kept = e
        raise
def numbers():
    try:
        1 / 0
    except ZeroDivisionError as e:
        kept.append(e)
    yield 1
    yield 2
"""


def test_variables_die_with_the_functions_that_raised_and_generators_go_on() -> None:
    """Also where the program kept the exception in a cycle, and where the error could not be told in full."""
    no_report = "import sys\nsys.modules['safeexec.engine.child.step.errors'] = None\n"
    with Sandbox("confined-python") as sandbox, sandbox.session(checkpoints="off") as session:
        session.run(KEPT).check()
        for source in ("f()", no_report + "f()"):
            assert session.run(source).outcome == "error"
            assert session.run("refs[-1]() is None").value is True
        assert session.run("it = numbers()\nnext(it)\nraise kept[0]").outcome == "error"
        assert session.run("next(it)").value == 2
