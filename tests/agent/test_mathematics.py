"""The math assistant: exact values, the program that proves them, and answers that were not computed."""

from __future__ import annotations

from fractions import Fraction

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


def test_a_question_without_a_computation_may_be_answered_in_words() -> None:
    answer = MathAssistant(ScriptedModel(["A prime has two divisors.", "A prime has two divisors."])).ask(
        "What is a prime?"
    )
    assert (answer.text, answer.code, answer.verified) == ("A prime has two divisors.", "", False)


def test_a_failed_run_has_no_value() -> None:
    answer = MathAssistant(ScriptedModel([""] * 3)).ask("?")
    assert not answer
    assert (answer.value, answer.run.stop) == (None, "no_code")
