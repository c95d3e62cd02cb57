"""The profiles `mathematics` and `deterministic` at work: libraries whole without files and further mappings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from safeexec import Policy, Sandbox

pytestmark = pytest.mark.modules("numpy", "sympy", "mpmath")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("mathematics") as opened:
        yield opened


X = "import sympy as sp\nx = sp.symbols('x')\n"
WORKS = {
    "latex": (X + "sp.latex(sp.integrate(x ** 2, x))", r"\frac{x^{3}}{3}"),
    "lambdify for numpy": (
        X + "import numpy as np\nsp.lambdify(x, x ** 2, 'numpy')(np.array([1, 2])).tolist()",
        [1, 4],
    ),
    "lambdify": (X + "sp.lambdify(x, x ** 2 + sp.sqrt(x))(4)", 18.0),
    "random numbers": ("import numpy as np\nnp.random.default_rng(0).integers(9, size=3).shape", (3,)),
    "digits": ("import mpmath\nmpmath.mp.dps = 30\nmpmath.nstr(mpmath.sqrt(2), 30)", "1.41421356237309504880168872421"),
}


@pytest.mark.parametrize(("source", "value"), WORKS.values(), ids=WORKS)
def test_mathematics_works_whole(sandbox: Sandbox, source: str, value: object) -> None:
    result = sandbox.run(source)
    assert (result.outcome, result.value) == ("ok", value), result.error


def test_formulas_and_solutions_show_themselves_as_latex(sandbox: Sandbox) -> None:
    result = sandbox.run(X + "sp.Integral(x ** 2, x)")
    assert result.displays[0]["text/latex"] == r"$$\int x^{2}\, dx$$"
    result = sandbox.run(X + "sp.solve(x ** 2 - 2)")
    assert result.displays[0]["text/latex"] == r"$$\left[ - \sqrt{2}, \  \sqrt{2}\right]$$"
    assert sandbox.run(X + "{x: sp.sqrt(2)}").displays[0]["text/latex"] == r"$$\left\{ x : \sqrt{2}\right\}$$"
    assert sandbox.run(X + "[1, 'x', sp.sqrt(2)], [], [x] * 1000").displays == ()


def test_a_part_of_a_library_that_is_loaded_late_works() -> None:
    policy = Policy.load("calculator").replace(imports={"numpy": "all"})
    with Sandbox(policy) as sandbox:
        sandbox.run("import numpy as np\nnp.random.default_rng(0)").check()
