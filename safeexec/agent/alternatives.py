"""Alternatives of a first step: the model writes several programs at once, each runs in a branch, a score that the user
names decides, and the best one becomes the step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from safeexec import Allow
from safeexec.agent.blocks import read_blocks
from safeexec.agent.errors import AgentError, ModelError, TranscriptError
from safeexec.agent.extraction import extract
from safeexec.agent.messages import Reply
from safeexec.agent.outcome import AgentResult, AgentStep, AgentUsage, ObservationEvent, ReplyEvent, StepEvent
from safeexec.agent.snippets import Parser
from safeexec.agent.transcript import Transcript, conversation
from safeexec.agent.wishes import AskModel, CompareBranches, Confirm, RunStep, Wish

if TYPE_CHECKING:
    from safeexec.agent.loop import CodeAgent

Score = str | Callable[..., Any]
_MAX_SCORE = 2000


@dataclass(frozen=True, slots=True)
class Alternative:
    """One program that the model proposed. `score` is None where it failed or has none; `problem` says why."""

    source: str
    score: float | None
    problem: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of the comparison: the alternatives in order, the step that was kept, and what it took."""

    tried: tuple[Alternative, ...] = ()
    step: AgentStep | None = None
    usage: AgentUsage | None = None

    def with_run(self, run: AgentResult) -> AgentResult:
        """The run with this step before its own, and what both took."""
        if self.usage is not None:
            run.usage.prompt_tokens += self.usage.prompt_tokens
            run.usage.completion_tokens += self.usage.completion_tokens
            run.usage.estimated_tokens |= self.usage.estimated_tokens
            run.usage.model_calls += self.usage.model_calls
            run.usage.steps += self.step is not None
        return replace(run, steps=(self.step, *run.steps)) if self.step is not None else run


class Alternatives:
    """How many, and what decides. Raises AgentError for what makes no sense."""

    def __init__(self, count: int, score: Score | None, *, native: bool) -> None:
        if not isinstance(count, int) or count < 1:
            raise AgentError(f"alternatives={count!r}: a whole number, at least 1")
        if (score is None) != (count == 1):
            raise AgentError("alternatives= and score= go together: how many, and the program or function that decides")
        if score is not None and not (isinstance(score, str) or callable(score)):
            raise AgentError(f"score is a program whose value counts, or a function of the session, not {score!r:.60}")
        if count > 1 and native:
            raise AgentError("alternatives= needs replies with code in them: not with native=True")
        self.count = count
        self.score = score

    def request(self) -> str:
        """Return what the model is asked for, behind its task."""
        decides = (
            f"the value of this program, the higher the better:\n\n```python\n{self.score[:_MAX_SCORE]}\n```"
            if isinstance(self.score, str)
            else "a score that you do not see"
        )
        return (
            f"\n\nFirst load and clean the data: write {self.count} alternative programs for that, each complete and "
            "in a block of its own, different in what they do. Each runs by itself, and the best one is kept. What "
            f"decides is {decides}"
        )

    def compare(
        self, agent: CodeAgent, session: Any, transcript: Transcript, task: str
    ) -> Generator[Wish, Any, Compared]:
        """Ask for the alternatives, run and score them in branches, run the best one in the session.

        Where there is none the loop goes on with the task as it is.
        """
        transcript.add("task", task=task, model=agent.model.name, policy=session.policy.name)
        messages = conversation(transcript.entries, agent.system_of(session.card()), agent.limits.context_tokens)
        try:
            reply: Reply = yield AskModel(messages, agent.limits.max_seconds)
        except (ModelError, TranscriptError):
            return Compared()  # the loop asks again, and says what is wrong
        usage = AgentUsage(reply.usage.prompt, reply.usage.completion, reply.usage.estimated, model_calls=1)
        transcript.add("reply", **reply.to_dict())
        agent.emit(ReplyEvent(reply))
        programs = []
        for source in self._programs(reply.text):
            said = (yield Confirm(source)) if agent.confirm is not None else Allow()
            if isinstance(said, Allow):
                programs.append(said.source or source)
        found = (yield CompareBranches(programs, self.score, agent.limits.step_timeout)) if programs else []
        tried = tuple(Alternative(*each) for each in found)
        scored = [each for each in tried if each.score is not None]
        if not scored:
            told = _comparison(tried) or "There was no program to run. Go on in steps of your own."
            transcript.add("notice", text=told)
            return Compared(tried, None, usage)
        best = max(scored, key=lambda each: each.score or 0.0)
        tried = tuple(replace(each, chosen=each is best) for each in tried)
        agent.emit(StepEvent(0, best.source))
        result = yield RunStep(best.source, agent.limits.step_timeout)
        seen = result.observation(max_tokens=agent.limits.observation_tokens)
        step = AgentStep(0, best.source, result, f"{_comparison(tried)}\n\n{seen}")
        transcript.add(
            "step",
            source=step.source,
            outcome=result.outcome,
            state=result.state,
            observation=step.observation,
            call=None,
        )
        agent.emit(ObservationEvent(step))
        return Compared(tried, step, usage)

    def _programs(self, text: str) -> list[str]:
        text = extract(text).text
        blocks = read_blocks(text, Parser(len(text)))
        kinds = [block.kind for block in blocks if block.code]
        wanted = next((kind for kind in ("tag", "python", "plain") if kind in kinds), "python")
        sources = [block.code for block in blocks if block.code and block.kind == wanted]
        return list(dict.fromkeys(sources))[: self.count]


def _comparison(tried: tuple[Alternative, ...]) -> str:
    """Return what the model reads about the alternatives."""
    lines = []
    for number, each in enumerate(tried, 1):
        came = f"score {each.score:g}" if each.score is not None else f"no score: {each.problem[:200]}"
        lines.append(f"Alternative {number}: {came}{'; this one was kept, and its variables are there' * each.chosen}")
    return "\n".join(lines)
