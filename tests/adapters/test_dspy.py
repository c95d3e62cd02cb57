"""dspy's own `RLM` over our interpreter, with a scripted model."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

dspy = pytest.importorskip("dspy", reason="dspy is not installed")

from dspy.primitives.code_interpreter import (  # noqa: E402
    CodeExecutionError,
    CodeInterpreter,
    CodeInterpreterError,
    FinalOutput,
)
from dspy.utils import DummyLM  # noqa: E402

from safeexec.adapters.dspy import SafeInterpreter  # noqa: E402


@pytest.fixture
def interpreter() -> Any:
    made = SafeInterpreter("standard", tools={"twice": lambda x: 2 * x}, output_fields=[{"name": "answer"}])
    yield made
    made.shutdown()


def test_code_sees_variables_and_tools_keeps_its_state_and_submits_the_answer(interpreter: SafeInterpreter) -> None:
    assert isinstance(interpreter, CodeInterpreter)
    assert interpreter.execute("y = twice(x)\nprint(y)", {"x": 21}) == "42\n"
    assert interpreter.execute("y") == "42"
    assert interpreter.execute("pass") is None
    assert interpreter.execute("SUBMIT(3)") == FinalOutput({"answer": 3})
    assert interpreter.execute("SUBMIT(answer=[1])\n1 / 0") == FinalOutput({"answer": [1]})


@pytest.mark.parametrize(
    ("source", "kind", "told"),
    [
        ("1 / 0", CodeExecutionError, "ZeroDivisionError"),
        ("print(", SyntaxError, "never closed"),
        ("import subprocess", CodeExecutionError, "import of 'subprocess' is refused"),
        ("SUBMIT()", CodeExecutionError, "missing a required argument: 'answer'"),
    ],
)
def test_what_can_be_mended(interpreter: SafeInterpreter, source: str, kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        interpreter.execute(source)


def test_a_late_tool_a_bad_variable_and_a_closed_interpreter(interpreter: SafeInterpreter) -> None:
    interpreter.execute("1")
    with pytest.raises(CodeInterpreterError, match="'x' cannot be handed over"):
        interpreter.execute("1", {"x": object()})
    interpreter.tools["late"] = len
    with pytest.raises(CodeInterpreterError, match="after the first code: late"):
        interpreter.execute("1")
    interpreter.shutdown()
    with pytest.raises(CodeInterpreterError, match="make another one"):
        interpreter.execute("1")


def test_a_recursive_model_reads_a_long_context() -> None:
    replies = ["print(len(context))", "import subprocess", "SUBMIT(answer=str(context.count('a')))"]
    model = DummyLM([{"reasoning": "so", "code": f"```python\n{reply}\n```"} for reply in replies])
    with dspy.context(lm=model):
        rlm = dspy.RLM(
            "context, question -> answer", interpreter_factory=partial(SafeInterpreter, "standard"), max_iters=5
        )
        prediction = rlm(context="banana" * 1000, question="how many a?")
    assert prediction.answer == "3000"
    outputs = [entry["output"] for entry in prediction.trajectory]
    assert outputs[0] == "6000\n"
    assert "is refused" in outputs[1]


def test_a_program_of_thought_takes_what_json_has_no_form_for_as_text() -> None:
    code = "from fractions import Fraction\nSUBMIT({'answer': Fraction(1, 2), 'all': {3}})"
    with SafeInterpreter("standard") as interpreter:
        assert interpreter.execute(code) == FinalOutput({"answer": "1/2", "all": "{3}"})
    replies = [{"reasoning": "r", "generated_code": f"```python\n{code}\n```"}, {"reasoning": "r", "answer": "0.5"}]
    dspy.configure(lm=DummyLM(replies))
    made = dspy.ProgramOfThought("question -> answer: float", interpreter_factory=partial(SafeInterpreter, "standard"))
    assert made(question="The half of one?").answer == 0.5
