"""`MathAssistant`: answers a mathematical question with a value that code computed, and runs that code once more to
check it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from safeexec.agent.loop import FINAL_ANSWER, CodeAgent, ignore_event, is_answer
from safeexec.agent.models.base import Model
from safeexec.agent.outcome import AgentResult, AgentStep, Event
from safeexec.agent.snippets import Parser
from safeexec.text import shorten

if TYPE_CHECKING:
    from safeexec import Policy
    from safeexec.agent.transcript import Transcript

_INSTRUCTIONS = """\
You are a mathematician with a calculator. Every number of an answer must come out of code, never out of your head.
- Compute exactly: int, fractions.Fraction and decimal.Decimal before float; sympy where it may be imported. Round \
only when the user asks, and last.
- Check the result in code in a second way where there is one: substitute it, bound it, count by brute force in a \
small case.
- End with code that computes the answer and calls final_answer(value): with what was computed, not with a number \
that you write down."""

_PROVE = (
    "The answer is not proven yet. Send one step that computes it and calls final_answer(value) with the value. "
    "If the question needs no computation, repeat your answer in plain text."
)
_STATED = (
    "final_answer() was given a value that is written in the code, not computed by it. Send one step that computes the "
    "answer and hands over the result: final_answer(result)."
)

_MAX_BITS = 1 << 16
"""Of an int that is written out: 20,000 digits; the work grows with their square."""


@dataclass(frozen=True, slots=True, repr=False)
class MathAnswer:
    """A mathematical answer. `verified` says that `code` computes the value (it is not just written there), and, run
    alone in a fresh session, gave it again.
    """

    answer: Any
    text: str
    code: str
    """The program that computes the value; empty where the model computed nothing."""
    verified: bool
    run: AgentResult

    def __repr__(self) -> str:
        return f"<MathAnswer {shorten(self.text, 80)!r}, verified: {self.verified}>"

    @property
    def value(self) -> Any:
        """The answer."""
        return self.answer

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
            return self._proven(sandbox, self._agent(sandbox).run(question))

    def resume(self, transcript: Transcript, *, task: str | None = None) -> MathAnswer:
        """Go on from a transcript, as `CodeAgent.resume`."""
        from safeexec import Sandbox

        with Sandbox(self._policy) as sandbox:
            return self._proven(sandbox, self._agent(sandbox).resume(transcript, task=task))

    def _proven(self, sandbox: Any, run: AgentResult) -> MathAnswer:
        code, verified = _prove(sandbox, run, self._options.get("step_timeout"))
        return MathAnswer(run.answer, _written(run), code, verified, run)

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
        if self._asked:
            return None
        sources = [step.source for step in steps]
        if not sources or "final_answer" not in sources[-1]:
            self._asked = True
            return _PROVE
        if is_stated(sources):
            self._asked = True
            return _STATED
        return None


def _prove(sandbox: Any, run: AgentResult, timeout: float | None) -> tuple[str, bool]:
    """The shortest program of the run that computes the answer again: its last step alone, or all its steps."""
    steps = run.transcript.kept_steps()  # also those before a run was resumed
    kept = [step["source"] for step in steps if step["outcome"] in ("ok", "error")]
    good = [step["source"] for step in steps if step["outcome"] == "ok"]
    if not good:
        return "", False
    if run.stop == "final_answer" and not is_stated(good):
        for program in ([good[-1]], good, kept):
            given = _answer_of(sandbox, program, timeout)
            if is_answer(given) and _same(given[0], run.answer):
                return "\n\n".join(program), True
    return "\n\n".join(good), False


def _answer_of(sandbox: Any, program: list[str], timeout: float | None) -> Any:
    """What the steps of `program`, run in a session of their own, hand to final_answer()."""
    with sandbox.session(checkpoints="off") as session:
        session.run(FINAL_ANSWER)
        for source in program:
            session.run(source, timeout=timeout)
        return session.get("_final_answer")


def _written(run: AgentResult) -> str:
    """The answer as text, with all digits."""
    if type(run.answer) is int and run.answer.bit_length() < _MAX_BITS:
        return str(Decimal(run.answer))  # `str` of an int ends at 4300 digits
    return run.text


def _same(a: Any, b: Any) -> bool:
    """Whether two answers are the same; nan is."""
    return type(a) is type(b) and (_holds(lambda: repr(a) == repr(b)) or _holds(lambda: a == b))


def _holds(comparison: Callable[[], Any]) -> bool:
    """False also where values cannot be compared: an int of 5000 digits has no repr, two arrays no truth, a signaling
    NaN no comparison.
    """
    try:
        return bool(comparison())
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return False


# Stated or computed

_CONSTRUCTORS = frozenset(
    {"Decimal", "Fraction", "Integer", "Rational", "bool", "complex", "dict", "float", "int", "list", "round", "str"}
)


def is_stated(program: list[str]) -> bool:
    """Whether the last step gives final_answer() a value that is only written down, there or in a variable. Names are
    followed through plain assignments; whatever else binds one counts as computing.
    """
    written: dict[str, list[ast.expr | None]] = {}
    calls: list[ast.Call] = []
    for source in program:
        module = Parser(len(source)).parse(source)
        calls = []
        for node in ast.walk(module) if module is not None else ():
            if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
                for target in node.targets:
                    written.setdefault(cast("ast.Name", target).id, []).append(node.value)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                written.setdefault(node.target.id, []).append(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "final_answer":
                calls.append(node)
            elif isinstance(node, (ast.AugAssign, ast.NamedExpr)) and isinstance(node.target, ast.Name):
                written.setdefault(node.target.id, []).append(None)
    given = [value for call in calls for value in (*call.args, *(keyword.value for keyword in call.keywords))]
    return bool(given) and all(_is_stated(value, written) for value in given)


def _is_stated(expression: ast.expr | None, written: Mapping[str, list[ast.expr | None]]) -> bool:
    pending, followed = [expression], set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Constant):
            continue
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            pending += node.elts
        elif isinstance(node, ast.Dict):
            pending += [*node.keys, *node.values]
        elif isinstance(node, ast.UnaryOp):
            pending.append(node.operand)
        elif isinstance(node, ast.Call) and _name_of(node.func) in _CONSTRUCTORS and not node.keywords:
            pending += node.args
        elif isinstance(node, ast.JoinedStr):
            pending += [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        elif isinstance(node, ast.Name) and node.id in written:
            if node.id not in followed:
                followed.add(node.id)
                pending += written[node.id]
        else:
            return False
    return True


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
