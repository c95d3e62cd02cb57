"""`evaluate(..., functions="mathematics")`: bare names of math, complex numbers, and costs bounded as everywhere."""

from __future__ import annotations

import cmath
import math
import re

import pytest

from safeexec import ExpressionError, Policy, PolicyError, evaluate
from safeexec.inline import MAX_STEPS, compile_expression

RIGHT = {
    "sqrt(2)": math.sqrt(2),
    "log(e) + exp(0)": 2.0,
    "factorial(20) // comb(20, 10)": math.factorial(20) // math.comb(20, 10),
    "degrees(pi) == 180 and radians(180) == pi": True,
    "sqrt(-1 + 0j)": 1j,
    "exp(1j * pi)": cmath.exp(1j * math.pi),
    "2 ** 10": 1024,
    "pow(2, 10, 7)": 2,
    "{1, 2} ^ {2, 3}": {1, 3},
    "True ^ False": True,
    "[sqrt(x) for x in (1, 4)]": [1.0, 2.0],
    "max(e, pi)": math.pi,
    "statistics.mean([1, 2, 3]) + mean([2])": 4,
}


@pytest.mark.parametrize(("source", "value"), RIGHT.items(), ids=RIGHT)
def test_mathematics_by_bare_names(source: str, value: object) -> None:
    assert evaluate(source, functions="mathematics") == value
    assert compile_expression(source, functions="mathematics")() == value


def test_a_name_of_the_caller_comes_before_a_constant_and_another_word_is_a_mistake() -> None:
    assert evaluate("2 * e", {"e": 5}, functions="mathematics") == 10
    assert evaluate("2 * e", functions="mathematics") == 2 * math.e
    assert evaluate("sum(e for e in x)", {"x": [1, 2]}, functions="mathematics") == 3
    with pytest.raises(ValueError, match="mathematics"):
        evaluate("1", functions="maths")


REFUSED = {
    "2 ^ 10": "use **",
    "sqroot(2)": "did you mean sqrt",
    "factorial(10 ** 6)": "at most 5000",
    "9 ** 9 ** 9": "bits",
    "sqrt": "sqrt",
    "sqrt(-1)": "; a complex result wants a complex argument, sqrt(x + 0j)",
    "ln(5)": "it is log\n",
    "5!": "n! is factorial(n)",
    "2 * π": "write pi\n",
    "2 * i": "the imaginary unit is 1j",
    "sqrt.__class__": "attributes are not available",
    "pi.real": "attributes are not available",
    "sqrt('2')": "must be real number",
    "sum(factorial(n) for n in range(5000))": "max_steps",
}


@pytest.mark.parametrize(("source", "message"), REFUSED.items(), ids=REFUSED)
def test_refusals_say_what_to_write(source: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)):
        evaluate(source, {"x": 3}, functions="mathematics", max_steps=MAX_STEPS // 10)


def test_functions_of_math_and_statistics_have_their_bare_names_by_default() -> None:
    assert evaluate("sqrt(144)") == 12 and evaluate("2 * pi * r", {"r": 1}) == math.tau
    assert evaluate("mean([1, 2, 3]) + floor(2.5)") == evaluate("statistics.mean([1, 2, 3]) + floor(2.5)") == 4
    assert evaluate("pi * 2 + pi", {"pi": 3}) == 9
    assert evaluate("sqrt(4)", functions={"sqrt": lambda x: -x}) == -4
    assert evaluate("2 ^ 10") == 8
    with pytest.raises(ExpressionError, match="the name e is not given"):
        evaluate("e ** 2")
    with pytest.raises(ExpressionError, match="ValueError"):
        evaluate("sqrt(-1)")
    with pytest.raises(ExpressionError, match="sqrt is not allowed by the policy"):
        evaluate("sqrt(4)", policy=Policy.load("expression").replace(imports={"math": {"remove": ["sqrt"]}}))


def test_a_policy_may_say_that_expressions_are_mathematics() -> None:
    policy = Policy.load("expression").replace(language={"functions": "mathematics"})
    assert evaluate("sqrt(2) * sin(pi / 4) + degrees(tau) + abs(sqrt(-4 + 0j))", policy=policy) == pytest.approx(363)
    assert evaluate("double(sqrt(4))", policy=policy, functions={"double": lambda x: 2 * x}) == 4.0
    assert evaluate("2 * e", {"e": 5}, policy=policy) == 2 * compile_expression("x", policy=policy)({"x": 5})
    with pytest.raises(ExpressionError, match=r"use \*\*"):
        evaluate("2 ^ 10", policy=policy)
    with pytest.raises(ExpressionError, match="factorial is not allowed by the policy"):
        evaluate("factorial(3)", policy=policy.replace(imports={"math": {"remove": ["factorial"]}}))
    with pytest.raises(PolicyError, match=r"language\.functions"):
        Policy.load("expression").replace(language={"functions": "maths"})
