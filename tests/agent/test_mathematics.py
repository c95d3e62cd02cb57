"""The math assistant: exact values, the program that proves them, and answers that were not computed."""

from __future__ import annotations

import asyncio
import math
from fractions import Fraction
from typing import Any

import pytest

from safeexec import AsyncSandbox, Policy, Sandbox
from safeexec.agent import ScriptedModel
from safeexec.agent.mathematics import MathAnswer, MathAssistant
from tests.agent.scripted import code

pytestmark = pytest.mark.profile("calculator")


def answered(given: Any, *replies: str) -> MathAnswer:
    return MathAssistant(ScriptedModel(replies), given).ask("?")


def test_a_value_is_proven_by_all_its_steps_and_one_from_the_head_asked_for_its_proof_once(sandbox: Sandbox) -> None:
    answer = answered(sandbox, code("x = 40"), code("1 / 0"), code("y = 1\n1 / 0"), code("final_answer(x + y + 1)"))
    assert (answer.value, answer.verified) == (42, True)
    assert answer.code.startswith("x = 40\n") and answer.code.endswith("\nanswer = x + y + 1\nanswer")
    assert sandbox.run(answer.code).value == 42
    model = ScriptedModel(["It is four.", code("final_answer(2 + 2)")], keep_requests=True)
    answer = MathAssistant(model, sandbox).ask("2 + 2?")
    assert (answer.value, answer.verified) == (4, True)
    assert "The answer is not proven yet" in model.requests[1][-1].content


STATED = {
    "a number": ["final_answer(5)"],
    "what an earlier step contradicts": ["x = 2 + 2\nx", "final_answer(5)"],
    "a variable": ["x = 5\ny = x", "final_answer(y)"],
    "a text": ["final_answer(f'It is {5}')"],
}


@pytest.mark.parametrize("sources", STATED.values(), ids=STATED)
def test_a_value_that_is_only_written_down_proves_nothing(sandbox: Sandbox, sources: list[str]) -> None:
    """The model is told so once, and an answer that it insists on is not verified."""
    model = ScriptedModel([*map(code, sources), code(sources[-1])], keep_requests=True)
    answer = MathAssistant(model, sandbox).ask("2 + 2?")
    assert "written in the code, not computed" in model.requests[-1][-1].content
    assert answer.ok and not answer.verified


COMPUTED = {
    "final_answer(2 + 2)": 4,
    "total = 0\nfor n in range(5):\n    total += n\nfinal_answer(answer=total)": 10,
    "from fractions import Fraction\nfinal_answer(Fraction(1, 3) ** 2)": Fraction(1, 9),
    "n = [1, 1]\nn.append(n[-1] + n[-2])\nfinal_answer(n)": [1, 1, 2],
    "def solve():\n    final_answer(6 * 7)\nsolve()": 42,
    "for n in range(9):\n    if n * n == 49:\n        final_answer(6 * n)": 42,
    "final_answer(\n    6 *\n    7\n)  # the end": 42,
    "ä = 'é'; final_answer(6 * 7)": 42,
}


@pytest.mark.parametrize("source", COMPUTED)
def test_what_is_computed_counts_and_the_code_of_the_answer_gives_it(sandbox: Sandbox, source: str) -> None:
    answer = answered(sandbox, code(source))
    assert (answer.value, answer.verified) == (COMPUTED[source], True)
    assert sandbox.run(answer.code).check().value == answer.value


PRINTED = {
    "for n in range(9):\n    if n * n == 49:\n        print('It is', 6 * n)": 42,
    "def main():\n    half = 42 / 2\n    print(f'It is {2 * half:.1f}', end='!')  # ä\nmain()": 42.0,
    "for n in range(50):\n    if n * n in (1764, 4):\n        print(f'n = {n}')": [2, 42],
    "def show(a, *more):\n    print('first ' + str(a), *more)\nshow(40 + 2)": 42,
    "print('half: %.1f' % (6 * 7 / 2), '{} and {n}'.format(40 + 2, n=6 * 9))": 42,
    "if 6 * 7 > 40:\n    print('both', 6 * 7, 6 * 9)": [42, 54],
}


@pytest.mark.parametrize("source", PRINTED)
def test_a_value_may_be_printed_anywhere_in_any_format(sandbox: Sandbox, source: str) -> None:
    value = PRINTED[source]
    words = " and ".join(map(str, value)) if isinstance(value, list) else value
    answer = answered(sandbox, code(source), f"The answer is {words}.")
    assert (answer.value, answer.verified, answer.ok) == (value, True, True)
    assert sandbox.run(answer.code).check().value == value
    other = answered(sandbox, code(source), *["The answer is 977."] * 2)
    assert (other.verified, other.ok, other.contradicted) == (False, False, True)


@pytest.mark.parametrize(
    "source", ["if True:\n    print(42)", "for n in []:\n    print(n)", "def main():\n    42\nmain()"]
)
def test_what_is_printed_as_it_is_written_or_not_at_all_proves_nothing(sandbox: Sandbox, source: str) -> None:
    answer = answered(sandbox, code(source), *["The answer is 42."] * 2)
    assert (answer.verified, answer.contradicted) == (False, False)


def test_numbers_of_any_length_are_written_out_and_words_may_answer_without_a_computation(sandbox: Sandbox) -> None:
    answer = answered(sandbox, code("final_answer(10 ** 5000 + 1)"))
    assert (answer.verified, answer.text) == (True, f"1{'0' * 4999}1")
    assert answered(sandbox, code("final_answer((10 ** 5000, float('nan') * 1))")).value[0] == 10**5000
    answer = answered(sandbox, *["A prime has two divisors."] * 2)
    assert (answer.text, answer.code, answer.verified) == ("A prime has two divisors.", "", False)


def test_the_proof_has_the_time_of_the_steps_and_those_of_a_resumed_run() -> None:
    policy = Policy.load("calculator").replace(wall_seconds=0.02)
    source = "total = 0\nfor n in range(10 ** 6):\n    total += 1\nfinal_answer(total)"
    answer = MathAssistant(ScriptedModel([code(source)]), policy, step_timeout=60).ask("?")
    assert (answer.value, answer.verified) == (10**6, True)
    first = MathAssistant(ScriptedModel([code("x = 40 + 1")])).ask("?")
    assert first.run.stop == "model_error"
    answer = MathAssistant(ScriptedModel([code("final_answer(x + 1)")])).resume(first.run.transcript)
    assert (answer.value, answer.verified, answer.code) == (42, True, "x = 40 + 1\n\nanswer = x + 1\nanswer")


@pytest.mark.modules("sympy")
def test_an_expression_of_sympy_is_the_answer_as_it_is_written() -> None:
    source = "import sympy\nx = sympy.symbols('x')\nfinal_answer(sympy.integrate(x ** 2, x))"
    answer = answered("data-analysis", code(source))
    assert (answer.text, answer.verified) == ("x**3/3", True)


# Answers in words


ROOT = "import math\nmath.sqrt(2)"

WORDS = {
    "rounded": ([code(ROOT), "It is about 1.4142."], 2**0.5),
    "printed": ([code("x = 2 ** 0.5\nprint('the root:', x)"), "It is about 1.4142."], 2**0.5),
    "assigned": ([code("root = 2 ** 0.5"), "$\\boxed{1.4142}$"], 2**0.5),
    "beside the question's numbers": ([code("1000 * 1.05 ** 10"), "$1,000 at 5% is $1,628.89."], 1000 * 1.05**10),
    "a percentage": ([code("1 / 3"), "33.3 %"], 1 / 3),
    "complex": ([code("(1 + 2j) ** 2"), "It is -3 + 4i."], (1 + 2j) ** 2),
    "several": ([code("sorted({3, 1 + 1})"), "The roots are 2 and 3."], [2, 3]),
    "yes": ([code("all(17 % n for n in range(2, 17))"), "Yes, 17 is prime."], True),
}  # fmt: skip


@pytest.mark.parametrize(("replies", "value"), WORDS.values(), ids=WORDS)
def test_words_that_say_what_was_computed_are_verified(sandbox: Sandbox, replies: list[str], value: object) -> None:
    """No further question is asked, the answer is the computed value, and `code` gives it."""
    model = ScriptedModel(replies)
    answer = MathAssistant(model, sandbox).ask("How much are 1000 dollars at 5 % after 10 years? Is 17 prime?")
    assert (answer.value, answer.verified, answer.ok) == (value, True, True)
    assert answer.text in replies[-1]
    assert sandbox.run(answer.code).value == value


@pytest.mark.parametrize("again", [[], ["It is 1.7321."], ["It is 1.7321, really."]])
def test_words_that_say_another_number_are_asked_about_once_and_then_not_ok(sandbox: Sandbox, again: list[str]) -> None:
    model = ScriptedModel([code(ROOT), "It is 1.7321.", *again], keep_requests=True)
    answer = MathAssistant(model, sandbox).ask("The square root of 2?")
    assert not answer.verified and not answer.ok and not answer
    assert "the answer says 1.7321, the code computed 1.4142135" in answer.reason
    assert "The answer says 1.7321, the code computed 1.4142135" in model.requests[2][-1].content


@pytest.mark.parametrize("prose", ["The root is 1.7321.", "Let me look at that first.", "Next I compute 3 more roots."])
def test_prose_behind_code_that_was_written_too_early_is_no_answer(sandbox: Sandbox, prose: str) -> None:
    model = ScriptedModel([f"{code(ROOT)}\n{prose}", "It is 1.41421."])
    answer = MathAssistant(model, sandbox).ask("?")
    assert (answer.text, answer.run.usage.model_calls) == ("It is 1.41421.", 2)


# Where it runs


def test_a_session_keeps_the_variables_and_a_question_may_rest_on_them(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("rate = 2")
        first = answered(session, code("n = rate * 10"), code("final_answer(n + 1)"))
        second = answered(session, code("n = n + 1\nfinal_answer(n)"))
        assert (first.value, first.verified) == (21, True)
        assert (second.value, second.verified) == (21, True)
        assert session.get("n") == 21


async def test_questions_are_awaited_in_any_sandbox(sandbox: Sandbox) -> None:
    async with AsyncSandbox("calculator") as own, own.session() as session, asyncio.timeout(60):
        with sandbox.session() as blocking:
            for given in (own, session, sandbox, blocking, "calculator"):
                model = ScriptedModel([code("x = 6"), code("x * 7"), "It is 42."])
                answer = await MathAssistant(model, given).ask_async("?")
                assert (answer.value, answer.verified) == (42, True)


async def test_assistants_that_fill_a_sandbox_do_not_wait_for_each_other() -> None:
    """Each proves its answer without a second place of `max_sessions`, in both APIs."""
    with Sandbox("calculator", max_sessions=1, queue_seconds=20) as sandbox:
        answer = MathAssistant(ScriptedModel([code("final_answer(2 ** 5)")]), sandbox).ask("2 ** 5?")
        assert (answer.value, answer.verified, answer.stop, len(answer.steps)) == (32, True, "final_answer", 1)

    async with AsyncSandbox("calculator", max_sessions=2, queue_seconds=60) as other:
        asked = [MathAssistant(ScriptedModel([code(f"final_answer({n} ** 2)")]), other) for n in range(4)]
        answers = await asyncio.gather(*(one.ask_async("Square it.") for one in asked))
        assert [(answer.value, answer.verified) for answer in answers] == [(n * n, True) for n in range(4)]


def test_a_function_is_asked_for_its_value_and_is_no_answer(sandbox: Sandbox) -> None:
    model = ScriptedModel([code("f = lambda: 42\nfinal_answer(f)"), code("final_answer(f())")], keep_requests=True)
    assert MathAssistant(model, sandbox).ask("?").value == 42
    assert "a function or a class: call it" in model.requests[1][-1].content
    answer = MathAssistant(ScriptedModel([code("final_answer(max)")] * 2), sandbox).ask("?")
    assert not answer.ok and "call it" in answer.reason


REASONS: list[tuple[list[str], bool, str]] = [
    ([code("final_answer({'a': 2, 'b': 3})")], True, "written in the code, not computed by it"),
    ([code("42"), "There are 41 apples."], False, "the answer says 41, the code says 42"),
    ([code("6 * 7"), "42 apples are in the basket."], True, "do not plainly say 42, which the code computed"),
    ([code("6 * 7"), "That is what came out."], False, "not judged: nothing that can be read"),
    ([code("import random\nfinal_answer(random.random())")], True, "did not give this value"),
    (["It is 7919."], True, "not verified: no code computed it"),  # a sentence is no step
]


@pytest.mark.parametrize(("replies", "ok", "reason"), REASONS)
def test_the_reason_says_why_it_is_not_verified(sandbox: Sandbox, replies: list[str], ok: bool, reason: str) -> None:
    answer = answered(sandbox, *replies * 2)
    assert (answer.ok, answer.verified) == (ok, False) and reason in answer.reason
    assert answer.contradicted == ("the code says" in reason)


@pytest.mark.profile("mathematics")
@pytest.mark.modules("sympy")
def test_a_large_exact_number_is_verified_and_written_in_full(sandbox: Sandbox) -> None:
    model = ScriptedModel([code("import sympy\nfinal_answer(sympy.factorial(3000))")])
    answer = MathAssistant(model, sandbox).ask("?")
    assert (answer.value, answer.verified, len(answer.text)) == (math.factorial(3000), True, 9131)
    model = ScriptedModel([code("import sympy\nfinal_answer(sympy.Rational(10**5000 + 1, 3**9))")])
    answer = MathAssistant(model, sandbox).ask("?")
    assert (answer.value, answer.verified) == (Fraction(10**5000 + 1, 3**9), True)
    assert answer.text == f"1{'0' * 4999}1/{3**9}"


@pytest.mark.modules("sympy")
def test_a_value_that_no_text_tells_is_not_verified() -> None:
    source = "import sympy, random\nfinal_answer(random.randint(1, 10**9) * 10**5000 * sympy.Symbol('x'))"
    answer = MathAssistant(ScriptedModel([code(source)] * 2), "mathematics").ask("?")
    assert not answer.verified
    assert answer.reason.endswith("not verified: the value stays in the sandbox, and no text tells what it is")
