"""Results of an agent's run, and the events that it reports. Plain data."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from safeexec import Opaque
from safeexec.agent.messages import Reply
from safeexec.common.text import short_repr, shorten

if TYPE_CHECKING:
    from safeexec.agent.transcript import Transcript
    from safeexec.results import Display, Result, WaitingCall

Stop = (
    Literal["answer", "final_answer", "max_steps", "max_tokens", "max_seconds", "repeated_failure", "no_code"]
    | Literal["refused", "model_error", "cancelled", "waiting"]
)

STOP_REASONS: dict[str, str] = {
    "answer": "the model answered",
    "final_answer": "the code called final_answer()",
    "max_steps": "the limit of steps was reached",
    "max_tokens": "the limit of tokens was reached",
    "max_seconds": "the limit of time was reached",
    "repeated_failure": "the same failure came again and again",
    "no_code": "the model gave neither code nor an answer",
    "refused": "the model's provider filtered the reply",
    "model_error": "the model gave no reply",
    "cancelled": "a step was cancelled",
    "waiting": "a call of a tool was put off: resume(transcript, answer=…) goes on",
}


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One step: the model's source, its result, the observation that the model got. `number` counts from 1."""

    number: int
    source: str
    result: Result
    observation: str


@dataclass(slots=True)
class AgentUsage:
    """Costs of a run: tokens as the server counted them (`estimated_tokens`: not all were), seconds by our clock."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated_tokens: bool = False
    model_calls: int = 0
    steps: int = 0
    model_seconds: float = 0.0
    step_seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """The tokens of prompts and replies together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, repr=False)
class AgentResult:
    """The outcome of a run. Truthy when it ended with an answer; `reason` says in words why it ended."""

    answer: Any
    """The value given to final_answer(), else the text of the answer, else None."""
    steps: tuple[AgentStep, ...]
    usage: AgentUsage
    stop: Stop
    reason: str
    transcript: Transcript
    error: Exception | None = None
    """The ModelError that ended the run; its `__cause__` is what a model of one's own raised."""

    def __repr__(self) -> str:
        text = short_repr(self.answer, 80) if self.ok else shorten(self.reason, 200)
        return f"<AgentResult {self.stop}: {text}, {len(self.steps)} steps>"

    @property
    def ok(self) -> bool:
        """Return True if the run ended with an answer."""
        return self.stop in ("answer", "final_answer")

    def __bool__(self) -> bool:
        return self.ok

    @property
    def waiting_for(self) -> WaitingCall | None:
        """The call for which the run waits."""
        return self.steps[-1].result.waiting_for if self.stop == "waiting" and self.steps else None

    @property
    def displays(self) -> tuple[Display, ...]:
        """All rich results of all steps, in order."""
        return tuple(display for step in self.steps for display in step.result.displays)

    @property
    def text(self) -> str:
        """The answer as text; empty without one."""
        return "" if self.answer is None else as_text(self.answer)


class OfRun:
    """Base of the results of agents for one task: the attributes of their `run`. Truthy when they are `ok`."""

    __slots__ = ()
    run: AgentResult

    @property
    def ok(self) -> bool:
        """Return True if the run ended with an answer."""
        return self.run.ok

    def __bool__(self) -> bool:
        return self.ok

    @property
    def reason(self) -> str:
        """The end of the run in words."""
        return self.run.reason

    @property
    def answer(self) -> Any:
        """The value given to final_answer(), else the text of the answer, else None."""
        return self.run.answer

    @property
    def text(self) -> str:
        """The answer as text; empty without one."""
        return self.run.text

    @property
    def steps(self) -> tuple[AgentStep, ...]:
        """The steps of the run."""
        return self.run.steps

    @property
    def stop(self) -> Stop:
        """The end of the run as a word."""
        return self.run.stop

    @property
    def usage(self) -> AgentUsage:
        """The costs of the run: tokens, calls of the model, steps, seconds."""
        return self.run.usage


class _Repr:
    """Prints itself as the text that it was given."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _shown(value: Any) -> Any:
    """Return the value with plain numbers, what stayed in the sandbox as its repr. `limits.value_depth` bounds it."""
    if isinstance(value, Opaque):
        return _Repr(value.repr)
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(map(_shown, value))
    if type(value) is dict:
        return {_shown(key): _shown(item) for key, item in value.items()}
    numpy = sys.modules.get("numpy")  # scalars of numpy come back as such where the host has imported it
    return value.item() if numpy is not None and isinstance(value, (numpy.number, numpy.bool_)) else value


def as_text(answer: Any) -> str:
    """Return an answer in words, also one that `str` refuses: an int of 5000 digits. Of an object that stayed in the
    sandbox its repr, also inside of lists and the like: the roots that sympy found.
    """
    try:
        return str(_shown(answer))
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return short_repr(answer)


# Events


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of the model's reply, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class RetryEvent:
    """The model is asked again in `seconds`; text of this reply so far counts no more."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ReplyEvent:
    """The model's reply is complete."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step is about to run."""

    number: int
    source: str


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """Output of the running step, as it is written by guest code: make it printable before a terminal sees it."""

    text: str


@dataclass(frozen=True, slots=True)
class ObservationEvent:
    """A step has ended."""

    step: AgentStep


@dataclass(frozen=True, slots=True)
class NoticeEvent:
    """A message of the loop to the model, besides an observation."""

    text: str


@dataclass(frozen=True, slots=True)
class EndEvent:
    """The run has ended."""

    result: AgentResult


Event = TextEvent | RetryEvent | ReplyEvent | StepEvent | OutputEvent | ObservationEvent | NoticeEvent | EndEvent
