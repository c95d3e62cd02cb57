"""The profiles `mathematics` and `deterministic` at work: libraries whole without files and further mappings; text that
sympy and mpmath evaluate is held to the rules of the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest

from safeexec import Opaque, Policy, Sandbox
from safeexec.host.startup.configuration import preloaded

pytestmark = pytest.mark.modules("numpy", "sympy", "mpmath")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("mathematics") as opened:
        yield opened


def test_its_user_needs_no_dangerous_permission() -> None:
    policy = Policy.load("mathematics")
    assert (policy.filesystem.workspace, policy.limits.processes, policy.limits.threads) == ("none", 0, 0)
    assert not policy.check()


def test_no_session_waits_for_sympy() -> None:
    """Its import takes half a second, and as long again the first `solve`, `integrate` and `simplify`."""
    assert {"sympy", "sympy.combinatorics", "numpy.random"} <= {*preloaded(Policy.load("mathematics"))}
    assert "sympy" not in preloaded(Policy.load("data-analysis"))  # whose sessions seldom import it


X = "import sympy as sp\nx = sp.symbols('x')\n"
WORKS = {
    "latex": (X + "sp.latex(sp.integrate(x ** 2, x))", r"\frac{x^{3}}{3}"),
    "text": (X + "sp.sympify('x**2 + 1').subs(x, 3) == 10", True),
    "lambdify for numpy": (
        X + "import numpy as np\nsp.lambdify(x, x ** 2, 'numpy')(np.array([1, 2])).tolist()",
        [1, 4],
    ),
    "lambdify": (X + "sp.lambdify(x, x ** 2 + sp.sqrt(x))(4)", 18.0),
    "random numbers": ("import numpy as np\nnp.random.default_rng(0).integers(9, size=3).shape", (3,)),
    "fft": ("import numpy as np\nnp.fft.fft([1, 2, 3])[0] == 6", True),
    "digits": ("import mpmath\nmpmath.mp.dps = 30\nmpmath.nstr(mpmath.sqrt(2), 30)", "1.41421356237309504880168872421"),
}


@pytest.mark.parametrize(("source", "value"), WORKS.values(), ids=WORKS)
def test_mathematics_works_whole(sandbox: Sandbox, source: str, value: object) -> None:
    result = sandbox.run(source)
    assert (result.outcome, result.value) == ("ok", value), result.error


def test_a_formula_shows_itself_as_latex(sandbox: Sandbox) -> None:
    result = sandbox.run(X + "sp.Integral(x ** 2, x)")
    assert result.displays[0]["text/latex"] == r"$$\int x^{2}\, dx$$"


PAYLOAD = "__import__('os').getpid()"
EVALUATED = {
    "sympify": f'sp.sympify("{PAYLOAD}")',
    "sympify, builtins": "sp.sympify(\"eval('1 + 1')\")",
    "sympify, files": "sp.sympify(\"open('/etc/passwd')\")",
    "sympify, classes": 'sp.sympify("().__class__.__base__.__subclasses__()")',
    "sympify, functions": "sp.sympify('f.__globals__', locals={'f': lambda: 1})",
    "sympify, methods": "sp.sympify('Basic.compare.__code__')",
    "S": f'sp.S("{PAYLOAD}")',
    "a matrix": f'sp.Matrix(["{PAYLOAD}"])',
    "solve": f'sp.solve("{PAYLOAD}")',
    "nsimplify": f'sp.nsimplify("{PAYLOAD}")',
    "parse_expr": f'from sympy.parsing.sympy_parser import parse_expr\nparse_expr("{PAYLOAD}", evaluate=False)',
    "transformations": """from sympy.parsing.sympy_parser import parse_expr
def t(tokens, local, known): return [(1, '__import__'), (54, '('), (3, "'os'"), (54, ')')]
parse_expr('1', transformations=(t,))""",
    "lambdify of text": f'sp.lambdify(x, "{PAYLOAD}")(1)',
    "lambdify, classes": "sp.lambdify(x, 'x.__class__.__base__.__subclasses__()')(1)",
    "lambdify, a symbol": f'sp.lambdify(x, x + sp.Symbol("{PAYLOAD}"))(1)',
    "lambdify, a function": "sp.lambdify(x, sp.Function(\"__import__('os').getpid\")())(1)",
    "lambdify, a module": "sp.lambdify(x, sp.Function('f')(x), modules=['os'])(1)",
    "identify": f'import mpmath\nmpmath.identify(4, ["{PAYLOAD}"])',
    "library tests": "import numpy as np\nnp.testing.measure('1')",
    "compilers": "import numpy as np\nnp.f2py",
    "memory": "import numpy as np\nnp.ctypeslib",
    "files": "import numpy as np\nnp.loadtxt('/etc/passwd')",
    "programs": "sp.preview(x)",
}


@pytest.mark.parametrize("attack", EVALUATED.values(), ids=EVALUATED)
def test_text_that_a_library_evaluates_is_held_to_the_rules(sandbox: Sandbox, attack: str) -> None:
    result = sandbox.run(X + attack)
    assert result.outcome in ("error", "rejected") and result.error is not None
    assert result.value is None
    said = f"{result.error.message}"
    assert "refused" in said or "cannot be used for lambdification" in said


def test_a_part_of_a_library_that_is_loaded_late_works() -> None:
    policy = Policy.load("calculator").replace(imports={"numpy": "all"})
    with Sandbox(policy) as sandbox:
        sandbox.run("import numpy as np\nnp.random.default_rng(0)").check()


@pytest.mark.slow
def test_two_runs_of_the_deterministic_profile_print_the_same() -> None:
    source = "import random, time, numpy as np\nprint(random.random(), np.random.rand(2), time.time(), {'a', 'b', 'c'})"
    with Sandbox("deterministic") as sandbox:
        assert sandbox.run(source).stdout == sandbox.run(source).stdout != ""


def test_a_number_that_python_has_too_crosses_and_a_formula_stays(sandbox: Sandbox) -> None:
    numbers = (
        "[sp.Integer(2), sp.Rational(-1, 3), sp.S.Half, sp.pi.evalf(), sp.Float(0), sp.S.true, mpmath.mpf('-0.1')]"
    )
    result = sandbox.run(f"{X}import mpmath\n{numbers}")
    assert result.value == [2, Fraction(-1, 3), Fraction(1, 2), math.pi, 0.0, True, -0.1], result.error
    assert [type(one) for one in result.value] == [int, Fraction, Fraction, float, float, bool, float]
    assert sandbox.run(f"{X}sp.solve(x ** 2 - 4), {{sp.Integer(1): sp.Integer(2)}}").value == ([-2, 2], {1: 2})
    stays = "[sp.sqrt(2), sp.pi, sp.pi.evalf(30), sp.Float('1e400'), sp.Float('1e-330'), sp.oo, sp.zoo, sp.nan]"
    assert {type(one) for one in sandbox.run(f"{X}{stays}").value} == {Opaque}
    forged = "class Three(sp.Rational):\n    p, q = '3', 0\nobject.__new__(Three)"
    assert type(sandbox.run(f"{X}{forged}").value) in (Opaque, type(None))


def test_solutions_show_themselves_as_latex(sandbox: Sandbox) -> None:
    result = sandbox.run(X + "sp.solve(x ** 2 - 2)")
    assert result.displays[0]["text/latex"] == r"$$\left[ - \sqrt{2}, \  \sqrt{2}\right]$$"
    assert sandbox.run(X + "{x: sp.sqrt(2)}").displays[0]["text/latex"] == r"$$\left\{ x : \sqrt{2}\right\}$$"
    assert sandbox.run(X + "[1, 'x', sp.sqrt(2)], [], [x] * 1000").displays == ()
