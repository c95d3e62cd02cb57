"""The math assistant: exact values, the program that proves them, and answers that were not computed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from safeexec import Policy
from safeexec.agent import ScriptedModel
from safeexec.agent.mathematics import MathAssistant


def code(source: str) -> str:
    return f"<execute_python>\n{source}\n</execute_python>"


def test_an_exact_value_is_proven_by_its_last_step_alone() -> None:
    model = ScriptedModel(
        [code("import math"), code("from fractions import Fraction\nfinal_answer(Fraction(1, 3) + Fraction(1, 6))")]
    )
    answer = MathAssistant(model).ask("1/3 + 1/6?")
    assert (answer.value, answer.verified) == (Fraction(1, 2), True)
    assert answer.code.startswith("from fractions")


def test_a_value_that_needs_earlier_steps_is_proven_by_all_of_them() -> None:
    answer = MathAssistant(ScriptedModel([code("x = 40"), code("1 / 0"), code("final_answer(x + 2)")])).ask("?")
    assert (answer.value, answer.verified) == (42, True)
    assert answer.code == "x = 40\n\nfinal_answer(x + 2)"


def test_what_does_not_come_out_again_is_not_verified() -> None:
    answer = MathAssistant(ScriptedModel([code("import random\nfinal_answer(random.random())")])).ask("?")
    assert answer.ok and not answer.verified


def test_an_answer_from_the_head_is_asked_for_its_proof_once() -> None:
    model = ScriptedModel(["It is four.", code("final_answer(2 + 2)")], keep_requests=True)
    answer = MathAssistant(model).ask("2 + 2?")
    assert (answer.value, answer.verified) == (4, True)
    assert "The answer is not proven yet" in model.requests[1][-1].content


STATED = {
    "a number": ["final_answer(5)"],
    "what an earlier step contradicts": ["x = 2 + 2\nx", "final_answer(5)"],
    "a variable": ["x = 5\ny = x", "final_answer(y)"],
    "a constructor": ["from fractions import Fraction\nfinal_answer([Fraction(1, 3), -2.5])"],
    "a text": ["final_answer(f'It is {5}')"],
}


@pytest.mark.parametrize("sources", STATED.values(), ids=STATED)
def test_a_value_that_is_only_written_down_proves_nothing(sources: list[str]) -> None:
    """The model is told so once, and an answer that it insists on is not verified."""
    model = ScriptedModel([*map(code, sources), code(sources[-1])], keep_requests=True)
    answer = MathAssistant(model).ask("2 + 2?")
    assert "written in the code, not computed" in model.requests[-1][-1].content
    assert answer.ok and not answer.verified


COMPUTED = [
    "final_answer(2 + 2)",
    "import math\nfinal_answer(math.pi)",
    "total = 0\nfor n in range(5):\n    total += n\nfinal_answer(answer=total)",
    "from fractions import Fraction\nfinal_answer(Fraction(1, 3) ** 2)",
    "x = 5\nx = x * 2\nfinal_answer(round(x, 2))",
    "final_answer([n for n in (1, 2)])",
    "text = 'level'\nfinal_answer(text == text[::-1])",
]


@pytest.mark.parametrize("source", COMPUTED)
def test_what_is_computed_counts(source: str) -> None:
    answer = MathAssistant(ScriptedModel([code(source)])).ask("?")
    assert answer.verified and answer.code == source


def test_numbers_of_any_length_are_compared_and_written_out() -> None:
    answer = MathAssistant(ScriptedModel([code("final_answer(10 ** 5000 + 1)")])).ask("?")
    assert answer.verified
    assert answer.text == f"1{'0' * 4999}1"
    many = MathAssistant(ScriptedModel([code("final_answer((10 ** 5000, float('nan') * 1))")])).ask("?")
    assert many.value[0] == 10**5000


def test_the_proof_has_the_time_that_the_steps_had() -> None:
    policy = Policy.load("calculator").replace(wall_seconds=0.1)
    source = "total = 0\nfor n in range(2 * 10 ** 7):\n    total += 1\nfinal_answer(total)"
    answer = MathAssistant(ScriptedModel([code(source)]), policy=policy, step_timeout=60).ask("?")
    assert (answer.value, answer.verified) == (2 * 10**7, True)


def test_a_resumed_run_is_proven_with_the_steps_from_before() -> None:
    first = MathAssistant(ScriptedModel([code("x = 40 + 1")])).ask("?")
    assert first.run.stop == "model_error"
    answer = MathAssistant(ScriptedModel([code("final_answer(x + 1)")])).resume(first.run.transcript)
    assert (answer.value, answer.verified, answer.code) == (42, True, "x = 40 + 1\n\nfinal_answer(x + 1)")


@pytest.mark.modules("sympy")
def test_an_expression_of_sympy_is_the_answer_as_it_is_written() -> None:
    source = "import sympy\nx = sympy.symbols('x')\nfinal_answer(sympy.integrate(x ** 2, x))"
    answer = MathAssistant(ScriptedModel([code(source)]), policy="data-analysis").ask("?")
    assert (answer.text, answer.verified) == ("x**3/3", True)


def test_a_question_without_a_computation_may_be_answered_in_words() -> None:
    answer = MathAssistant(ScriptedModel(["A prime has two divisors.", "A prime has two divisors."])).ask(
        "What is a prime?"
    )
    assert (answer.text, answer.code, answer.verified) == ("A prime has two divisors.", "", False)


def test_a_failed_run_has_no_value() -> None:
    answer = MathAssistant(ScriptedModel([""] * 3)).ask("?")
    assert not answer
    assert (answer.value, answer.run.stop) == (None, "no_code")
