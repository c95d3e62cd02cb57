"""`MathAssistant`: answers a mathematical question with a value that code computed, and runs that code once more to
check it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from safeexec.agent.loop import FINAL_ANSWER, CodeAgent, ignore_event
from safeexec.agent.models.base import Model
from safeexec.agent.outcome import AgentResult, AgentStep, Event

if TYPE_CHECKING:
    from safeexec import Policy
    from safeexec.agent.transcript import Transcript

_INSTRUCTIONS = """\
You are a mathematician with a calculator. Every number of an answer must come out of code, never out of your head. -
Compute exactly: int, fractions.Fraction and decimal.Decimal before float; sympy where it may be imported. Round only
when the user asks, and last. - Check the result in code in a second way where there is one: substitute it, bound it,
count by brute force in a small case. - End with code that computes the answer and calls final_answer(value).
"""

_PROVE = (
    "The answer is not proven yet. Send one step that computes it and calls final_answer(value) with the value. "
    "If the question needs no computation, repeat your answer in plain text."
)


@dataclass(frozen=True, slots=True)
class MathAnswer:
    """A mathematical answer. `verified` says that `code`, run alone in a fresh session, gave the same value again."""

    value: Any
    text: str
    code: str
    """The program that computes the value; empty where the model computed nothing."""
    verified: bool
    run: AgentResult

    @property
    def ok(self) -> bool:
        return self.run.ok

    def __bool__(self) -> bool:
        return self.run.ok


class MathAssistant:
    """Mathematics under the `calculator` policy (or another `policy`).

        MathAssistant(MistralModel()).ask("What is 2 ** 0.5 to 50 digits?").text

    Other keywords are those of `CodeAgent`.
    """

    def __init__(
        self,
        model: Model,
        policy: Policy | str = "calculator",
        *,
        on_event: Callable[[Event], None] = ignore_event,
        **options: Any,
    ) -> None:
        self._model = model
        self._policy = policy
        self._on_event = on_event
        self._options = options

    def ask(self, question: str) -> MathAnswer:
        """Answer `question`. What the model does wrong is in the answer's `run`."""
        from safeexec import Sandbox

        with Sandbox(self._policy) as sandbox:
            run = self._agent(sandbox).run(question)
            code, verified = _prove(sandbox, run)
        return MathAnswer(run.answer, run.text, code, verified, run)

    def resume(self, transcript: Transcript, *, task: str | None = None) -> MathAnswer:
        """Go on from a transcript, as `CodeAgent.resume`."""
        from safeexec import Sandbox

        with Sandbox(self._policy) as sandbox:
            run = self._agent(sandbox).resume(transcript, task=task)
            code, verified = _prove(sandbox, run)
        return MathAnswer(run.answer, run.text, code, verified, run)

    def _agent(self, sandbox: Any) -> CodeAgent:
        return CodeAgent(
            self._model,
            sandbox,
            instructions=_INSTRUCTIONS,
            review=_Proof().review,
            on_event=self._on_event,
            **self._options,
        )


class _Proof:
    """Asks once for a computed answer; a model that repeats its prose is believed that nothing was to compute."""

    def __init__(self) -> None:
        self._asked = False

    def review(self, answer: Any, steps: tuple[AgentStep, ...]) -> str | None:
        if self._asked or (steps and "final_answer" in steps[-1].source):
            return None
        self._asked = True
        return _PROVE


def _prove(sandbox: Any, run: AgentResult) -> tuple[str, bool]:
    """The shortest program of the run that gives the answer again: its last step alone, or all its steps."""
    kept = [step.source for step in run.steps if step.result.state == "kept" and step.result.outcome in ("ok", "error")]
    good = [step.source for step in run.steps if step.result.ok]
    if not good:
        return "", False
    if run.stop != "final_answer":
        return "\n\n".join(good), False
    for program in ([good[-1]], good, kept):
        if _answer_of(sandbox, program) == (True, repr(run.answer)):
            return "\n\n".join(program), True
    return "\n\n".join(good), False


def _answer_of(sandbox: Any, program: list[str]) -> tuple[bool, str]:
    """Whether the steps of `program`, run in a session of their own, give an answer, and which."""
    with sandbox.session(checkpoints="off") as session:
        session.run(FINAL_ANSWER)
        for source in program:
            session.run(source)
        given = session.get("_final_answer")
    return (True, repr(given[0])) if given else (False, "")
