"""What libraries make of text goes on to work, under the rules of the language."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from safeexec import Result

pytestmark = pytest.mark.profile("data-analysis")
Run = Callable[..., Result]

PANDAS = {
    "df.query('a > @k and b < 10').shape": (2, 2),
    "df.query('a.isin([1, 2]) and `b` > 4').a.tolist()": [2],
    "df.eval('c = a + b').c.tolist()": [5, 7, 9],
    "pd.eval('df.a + df.b').tolist()": [5, 7, 9],
    "inner(df)": [2, 3],
    "df.agg('sum').tolist()": [6, 15],
    "df.agg({'a': ['min', 'max']}).a.tolist()": [1, 3],
    "df['a'].apply('sqrt').tolist()[0]": 1.0,
    "df.groupby('a').agg(total=('b', 'sum')).total.tolist()": [4, 5, 6],
    "df.groupby('a')['b'].transform('cumsum').tolist()": [4, 5, 6],
    "df.rolling(2).agg('mean').a.tolist()[1:]": [1.5, 2.5],
    "df.set_index(pd.date_range('2020', periods=3)).resample('2D').agg('sum').a.tolist()": [3, 3],
}
SYMPY = {
    "str(sp.sympify('x**2 + sin(x)/3 + 1/2'))": "x**2 + sin(x)/3 + 1/2",
    "str(sp.parse_expr('2*x + 3*x', evaluate=False))": "2*x + 3*x",
    "str(sp.parse_expr('2x', transformations='all'))": "2*x",
    "str(sp.parse_expr('f(x)', local_dict={'f': sp.Function('g')}))": "g(x)",
    "sp.lambdify(x, x + 1, 'math')(2)": 3,
    "sp.lambdify(x, sp.Max(x, 1) + sp.Piecewise((x, x > 0), (0, True)), 'numpy')(2.0)": 4.0,
    "sp.lambdify(x, sp.Matrix([[x, 1]]), 'numpy')(3).tolist()": [[3, 1]],
    "sp.lambdify(x, sp.Sum(x, (x, 1, 10)))(1)": 55,
    "sp.lambdify(x, sp.Function('f')(x), {'f': lambda a: a * 10})(2)": 20,
    "sp.lambdify([x], [x, x**2], cse=True)(3)": [3, 9],
    "str(sp.solve('x**2 - 1'))": "[-1, 1]",
    "mpmath.identify(mpmath.pi, ['pi'])": "(1*pi)",
    "float(mpmath.hyper([1, 1.5], [2, 3.5], 0) + mpmath.hyp1f1(1, 1 + 1j, 0).real)": 2.0,
}


@pytest.mark.modules("pandas")
def test_text_in_pandas(run: Run) -> None:
    setup = "import pandas as pd\nk = 1\ndf = pd.DataFrame({'a': [1, 2, 3], 'b': [4, 5, 6]})\n"
    setup += "def inner(df):\n    least = 2\n    return df.query('a >= @least').a.tolist()\n"
    result = run(f"{setup}[{', '.join(PANDAS)}]").check()
    assert dict(zip(PANDAS, result.value, strict=True)) == PANDAS


@pytest.mark.modules("sympy", "scipy")
def test_text_in_sympy(run: Run) -> None:
    setup = "import mpmath, sympy as sp\nx = sp.Symbol('x')\n"
    result = run(f"{setup}[{', '.join(SYMPY)}, float(sp.lambdify(x, sp.erf(x), 'scipy')(0))]").check()
    assert dict(zip(SYMPY, result.value, strict=False)) == SYMPY


@pytest.mark.modules("sympy")
def test_a_refusal_in_text_says_what_and_by_which_rule(run: Run) -> None:
    result = run("import sympy\nsympy.sympify('__import__(1)')")
    assert result.error is not None and "__import__" in result.error.message
    result = run("import sympy\nsympy.sympify('x.__globals__')")
    assert result.error is not None and "__globals__" in result.error.message and result.error.rule
