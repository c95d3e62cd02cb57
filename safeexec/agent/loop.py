"""`CodeAgent`: a model writes code, the sandbox runs it, the model sees what came of it; until there is an answer or
a limit.

The loop is a coroutine, written once: `run` carries it out blocking, `run_async` awaiting. The only thing that a reply
can cause is a step in the session: there is no way from a reply, an observation or a file to the policy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from safeexec import Deny, Policy
from safeexec.agent import prompts
from safeexec.agent.drivers import RunCalls, Start, drive, drive_async
from safeexec.agent.errors import AgentError, ModelError, TranscriptError
from safeexec.agent.extraction import Extraction, call_source, extract, printed_call
from safeexec.agent.messages import Reply, ToolCall, ToolSpec
from safeexec.agent.models.base import Model
from safeexec.agent.outcome import (
    STOP_REASONS,
    AgentResult,
    AgentStep,
    AgentUsage,
    EndEvent,
    Event,
    NoticeEvent,
    ObservationEvent,
    OutputEvent,
    ReplyEvent,
    StepEvent,
    Stop,
    as_text,
)
from safeexec.agent.snippets import Parser
from safeexec.agent.transcript import Transcript, conversation
from safeexec.common.identity import weight
from safeexec.common.text import shorten
from safeexec.engine.approvals import Decision
from safeexec.untrusted.json_text import loads

if TYPE_CHECKING:
    from safeexec import AsyncSandbox, AsyncSession, Sandbox, Session
    from safeexec.results import Result

FINAL_ANSWER = '''\
_final_answer = None
def final_answer(answer):
    """End the task: `answer` is what the user gets."""
    global _final_answer
    _final_answer = [answer]
    return answer
'''
_ANSWER_NAME = "_final_answer"
_SHORTEST_STEP = 0.05
"""Seconds that a step gets at least, however little of `max_seconds` is left."""
_OBSERVATION_TOKENS = 2_000
_REPEATS = 3
"""So many failures of one kind in a row change the prompt; one more ends the run."""
_PICTURES_KEPT = 16 << 20
"""Characters of pictures in one transcript."""
_VARYING = re.compile(r" \(<step \d+>, line \d+\)| at 0x[0-9a-f]+")
"""Parts that differ between two messages of the same failure."""

Review = Callable[[Any, tuple[AgentStep, ...]], str | None]
"""Judges an answer, given with the steps so far: an objection in words for the model; None: it is taken."""


AnswerJudge = Callable[[Any, tuple[AgentStep, ...], RunCalls], Awaitable[str | None]]
"""Judges answers as a `Review` does, with the help of programs that are run apart."""


def ignore_event(event: Event) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class AgentLimits:
    """Limits of a run, and of what the model is sent. Raises `AgentError` for a limit that is no number."""

    max_steps: int = 10
    max_tokens: int | None = None
    """Tokens of all prompts and replies of the run together."""
    max_seconds: float | None = None
    """The time of the whole run, also while the model thinks."""
    step_timeout: float | None = None
    """Seconds of one step; None: as the policy says."""
    empty_replies: int = 3
    """So many replies in a row with neither code nor an answer end the run."""
    context_tokens: int = 60_000
    """The most tokens of one prompt: in a longer one old observations are shortened, then old entries left out."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (isinstance(value, (int, float)) and value >= 0):
                raise AgentError(f"{name} must be a number that is not negative, got {value!r}")


class CodeAgent:
    """An agent that works by writing Python.

        CodeAgent(MistralModel(), "calculator").run("What is the square root of 2?").answer

    sandbox     a Sandbox, an open Session (its variables are used and kept), or a policy or its name: then each run
                opens and closes a sandbox, with `tools`, their `approval` and `files`. `run_async` takes an
                AsyncSandbox or its session as well
    native      use the model's own function calling instead of tags
    images      the model sees the pictures that steps show; else it reads what they are
    instructions  more text for the system prompt
    on_event    gets the events of `outcome`
    review      sees an answer before it is taken, and may return an objection, which the model gets
    confirm     sees the code of each step before it runs. True or `Allow()` runs it, `Allow(source=…)` runs that
                instead, False or `Deny(reason)` nothing; the model reads the reason. `run_async` awaits it
    transcript  a file in which the run is written down

    Other keywords: `AgentLimits`.
    """

    def __init__(
        self,
        model: Model,
        sandbox: Sandbox | AsyncSandbox | Session | AsyncSession | Policy | str = "standard",
        *,
        tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None = None,
        files: Mapping[str, Any] | None = None,
        approval: Callable[..., Any] | None = None,
        native: bool = False,
        images: bool = False,
        instructions: str = "",
        on_event: Callable[[Event], None] = ignore_event,
        review: Review | None = None,
        confirm: Callable[[str], Decision | Awaitable[Decision]] | None = None,
        transcript: str | Path | None = None,
        **limits: Any,
    ) -> None:
        if (tools or files or approval) and hasattr(sandbox, "run"):
            raise AgentError(
                "tools=, files= and approval= are for a policy; a sandbox that is given has its own: "
                "Sandbox(policy, tools=…)"
            )
        if iscoroutinefunction(on_event) or iscoroutinefunction(review):
            raise AgentError("on_event and review are called, not awaited: give plain functions")
        if confirm is not None and not callable(confirm):
            raise AgentError(f"confirm is a function that is asked about the code of each step, not {confirm!r:.60}")
        if not callable(getattr(model, "complete", None) or getattr(model, "complete_async", None)):
            raise AgentError(f"a model has a method complete(), {type(model).__name__!r} has none; see agent.Model")
        if not isinstance(getattr(model, "name", None), str):
            raise AgentError(f"a model has a name, which is a text; {type(model).__name__!r} has none; see agent.Model")
        if not callable(getattr(sandbox, "run", None)):
            if not isinstance(sandbox, (str, Policy)):
                kind = type(sandbox).__name__
                raise AgentError(f"the sandbox is a policy, its name, an open sandbox or a session, not {kind}")
            sandbox = Policy.load(sandbox)
        self.model = model
        if unknown := [name for name in limits if name not in AgentLimits.__dataclass_fields__]:
            own = [name for name, one in signature(CodeAgent).parameters.items() if one.kind is one.KEYWORD_ONLY]
            known = ", ".join([*own, *AgentLimits.__dataclass_fields__])
            raise TypeError(f"an agent has no keyword {unknown[0]!r}; it takes {known}")
        self.limits = AgentLimits(**limits)
        self.sandbox: Any = sandbox
        self.opening: dict[str, Any] = {"tools": tools, "files": files, "approval": approval}
        """The arguments for a sandbox of one's own."""
        self.native = native
        self.tool_specs: tuple[ToolSpec, ...] = (prompts.RUN_PYTHON,) if native else ()
        self.images = images
        self.instructions = instructions
        self.emit = on_event
        self.review = review
        self.judge: AnswerJudge | None = None
        self.outside_effect: Callable[[], str | None] = lambda: None
        """Returns what became of what the last step did outside of its session, in a word or two for the transcript."""
        self.confirm = confirm
        self._transcript_path = transcript

    def judged(self, judge: AnswerJudge) -> CodeAgent:
        """Return this agent with a judge of its answers, in the place of `review`."""
        twin = copy(self)
        twin.judge = judge
        return twin

    # Sync and async API

    def run(self, task: str) -> AgentResult:
        """Work on `task` until there is an answer or a limit. The model's mistakes are in the result; none raises."""
        return drive(self, *self.begin(None, task))

    async def run_async(self, task: str) -> AgentResult:
        """As `run`."""
        return await drive_async(self, *self.begin(None, task))

    def resume(
        self, transcript: Transcript, *, task: str | None = None, answer: Any = UNSET, rebuild: bool = True
    ) -> AgentResult:
        """Go on from `transcript`, and in its file: with `task`, a further request; without, where it stopped.

        `rebuild` runs the recorded steps again, which a fresh session needs and a session that is still open does not.
        `answer` (`Allow()`, `Deny(reason)` …) is for a run that ended as `waiting`, as that of `Session.answer`. Its
        session is kept open by the transcript that the run has given; a transcript that was loaded needs an agent with
        that session, restored or still open.
        """
        return drive(self, *self.begin(transcript, task, rebuild, answer))

    async def resume_async(
        self, transcript: Transcript, *, task: str | None = None, answer: Any = UNSET, rebuild: bool = True
    ) -> AgentResult:
        """As `resume`."""
        return await drive_async(self, *self.begin(transcript, task, rebuild, answer))

    def begin(
        self, transcript: Transcript | None, task: str | None, rebuild: bool = False, answer: Any = UNSET
    ) -> tuple[Start[AgentResult], bool, Transcript]:
        """Return, for a driver, the loop for a session, True if programs are run apart, and the transcript. Raises
        `AgentError`.
        """
        kept = Transcript(path=self._transcript_path) if transcript is None else transcript
        if self._transcript_path is not None and kept.path != Path(self._transcript_path):
            raise AgentError(
                f"a resumed run goes on in its own transcript, {kept.path or 'which has no file'}: leave out "
                f"transcript={str(self._transcript_path)!r}"
            )
        if answer is not UNSET:
            if kept.waiting is None:
                raise AgentError("the run of this transcript does not wait for an answer")
            if kept.held is None and (isinstance(self.sandbox, Policy) or hasattr(self.sandbox, "session")):
                raise AgentError(
                    "the session of this run is not open here: give the agent the session itself, as it was saved "
                    "with the step that waits (Sandbox.restore), or as it is still open"
                )
        must_rebuild = rebuild and answer is UNSET and kept.held is None
        return lambda calls: _Run(self, calls, kept, task, must_rebuild, answer).loop(), self.judge is not None, kept


class _Run:
    """One run of the loop."""

    def __init__(
        self, agent: CodeAgent, calls: RunCalls, transcript: Transcript, task: str | None, rebuild: bool, answer: Any
    ) -> None:
        self._agent = agent
        self._limits = agent.limits
        self._calls = calls
        self._session = session = calls.session
        self._policy = session.policy
        self._transcript = transcript
        self._task = task
        self._rebuild = rebuild
        self._answer_given = answer
        card = session.card()
        self._system = prompts.system_prompt(
            card,
            native=agent.native,
            images=agent.images,
            extra=agent.instructions,
            files=tuple(agent.opening["files"] or ()),
        )
        self._has_sql = not agent.native and prompts.has_sql(card)
        self._defined = self._watched = False
        self._marked = False
        """The model has sent code with tags or fences: then what it sends without them is no code."""
        self._host_tools: tuple[str, ...] | None = None
        self._steps: list[AgentStep] = []
        self._usage = AgentUsage()
        self._pictures: dict[int, tuple[str, ...]] = {}
        self._room = _PICTURES_KEPT
        self._failures: list[tuple[str, str]] = []
        self._empty = 0
        self._started = time.monotonic()

    async def loop(self) -> AgentResult:
        if self._task is None and (answered := self._transcript.answered) is not None:
            return self._finish(answered.get("answer"), answered["stop"], answered["reason"])
        rebuilt = await self._rebuild_session() if self._rebuild else None
        pending = self._transcript.pending_reply
        if self._task is not None:
            pending = None
            self._transcript.add("task", task=self._task, model=self._agent.model.name, policy=self._policy.name)
        if rebuilt and pending is None:
            self._say(rebuilt)
        if self._answer_given is not UNSET and (ended := await self._resume_waiting()) is not None:
            return ended
        while True:
            if stop := self._exhausted():
                return self._end(stop)
            try:
                reply = pending or await self._ask()
            except (ModelError, TranscriptError) as error:
                if stop := self._exhausted():
                    return self._end(stop)
                return self._end("model_error", reason=str(error), error=error)
            pending = None
            ended = await self._handle_reply(reply)
            if ended is not None:
                return ended

    async def _rebuild_session(self) -> str | None:
        """Run the recorded steps again, in a session that has not seen them. Return the notice about it."""
        recorded = self._transcript.kept_steps()
        failed = 0
        for entry in recorded:
            again = await self._execute(entry["source"], shown=False)
            failed += again.outcome != entry["outcome"]
        if self._watched:
            await self._calls.do(self._session.set, _ANSWER_NAME, None)
        return prompts.resumed(len(recorded), failed) if recorded else None

    async def _execute(self, source: str, *, shown: bool = True) -> Result:
        """Run a step. final_answer is defined before the first source that names it: until then the steps of the
        session are numbered as the model counts them.
        """
        if not self._defined and "final_answer" in source:
            await self._calls.do(self._session.run, FINAL_ANSWER, timeout=self._timeout())
            self._defined = self._watched = True
        on_output = self._on_output if shown else None
        result: Result = await self._calls.do(self._session.run, source, timeout=self._timeout(), on_output=on_output)
        if result.state != "kept":
            self._defined = False  # gone, where the policy makes no checkpoints
        return result

    def _on_output(self, text: str) -> None:
        self._agent.emit(OutputEvent(text))

    def _seconds_left(self) -> float | None:
        """Return the seconds until the limit of time."""
        limit = self._limits.max_seconds
        return None if limit is None else max(0.0, self._started + limit - time.monotonic())

    def _timeout(self) -> float | None:
        """Return the limit of the next step: the run's own limit of time cuts it too."""
        left, limit = self._seconds_left(), self._limits.step_timeout
        return limit if left is None else max(_SHORTEST_STEP, min(left, limit or self._policy.limits.wall_seconds))

    @property
    def _out_of_steps(self) -> bool:
        return len(self._steps) >= self._limits.max_steps

    def _exhausted(self) -> Stop | None:
        limits = self._limits
        if self._seconds_left() == 0.0:
            return "max_seconds"
        if limits.max_tokens is not None and self._usage.tokens >= limits.max_tokens:
            return "max_tokens"
        return None

    async def _ask(self) -> Reply:
        messages = conversation(self._transcript.entries, self._system, self._limits.context_tokens, self._pictures)
        usage = self._usage
        began = time.monotonic()
        try:
            reply = await self._calls.ask(messages, self._seconds_left())
        finally:
            usage.model_seconds += time.monotonic() - began
        if not isinstance(reply, Reply):
            raise AgentError(f"the model {self._agent.model.name!r} must return a Reply, not {type(reply).__name__}")
        usage.model_calls += 1
        usage.prompt_tokens += reply.usage.prompt
        usage.completion_tokens += reply.usage.completion
        usage.estimated_tokens |= reply.usage.estimated
        self._transcript.add("reply", **reply.to_dict())
        self._agent.emit(ReplyEvent(reply))
        return reply

    # One reply

    async def _handle_reply(self, reply: Reply) -> AgentResult | None:
        """Act on a reply, and return the end of the run, if it is one. The first row that fits decides:

        | the reply | what follows |
        | --- | --- |
        | is withheld by the provider's filter | the end, `refused` |
        | has native calls | each is a step: `_handle_calls` |
        | prints a call, with code that can be read | a step |
        | is Python meant as words (`_is_prose`) | it is the answer |
        | has code that the limit of length cut off | the model gets a notice, and it counts as an empty reply |
        | has code, and a step is left for it | a step; a bare sentence that failed as one is the answer |
        | prints a call of no tool, or has code that cannot be read | the model gets a notice, as above |
        | has words alone | they are the answer |
        """
        if reply.finish == "content_filter":
            text = reply.text.strip() or None
            return self._end("refused", answer=text, text=text)
        if reply.tool_calls:
            return await self._handle_calls(reply)
        found, call = await self._calls.read(len(reply.text), lambda: self._read(reply.text))
        if call is not None and (code := await self._source_of(call)) is not None:
            self._marked = True
            return await self._step(code, None)
        if self._is_prose(found) and call is None:
            return await self._take_answer(_plain_answer(found.text), "answer")
        self._marked |= found.kind == "code" and not found.bare
        if found.kind == "code" and reply.finish == "length" and not _complete(found.code or ""):
            return self._unusable(prompts.CUT_OFF)
        if found.kind == "code" and not (found.bare and self._out_of_steps):
            before = len(self._steps)
            ended = await self._step(found.code or "", None)
            ran = ended is None and len(self._steps) > before
            if ran and found.bare and _is_failed_sentence(self._steps[-1]):
                return await self._take_answer(_plain_answer(found.text), "answer")
            return ended
        if call is not None:
            unknown = prompts.unknown_tool(shorten(call.name, 80), self._tool_names())
            return self._unusable(f"{unknown} {prompts.no_code(found.found, native=self._agent.native)}")
        if found.kind == "none":
            return self._unusable(prompts.no_code(found.found, native=self._agent.native))
        return await self._take_answer(_plain_answer(found.text), "answer")

    def _read(self, text: str) -> tuple[Extraction, ToolCall | None]:
        """Extract a reply, and the call that it prints in place of code. Where there are tables, a fence of SQL is a
        step; a query that has run, or for which no step is left, is quoted in an answer.
        """
        found = extract(text, sql=self._has_sql and not self._out_of_steps)
        if any(step.source == found.code for step in self._steps):
            found = extract(text)
        printed = printed_call(found.text) if found.kind == "none" else None
        return found, ToolCall("", *printed) if printed else None

    async def _handle_calls(self, reply: Reply) -> AgentResult | None:
        """Run native calls in order; each gets its tool message. Behind a failure the rest is not run: it was written
        without knowing of it.
        """
        before = len(self._steps)
        failed = False
        for call in reply.tool_calls:
            code = await self._source_of(call)
            if failed:
                self._say(prompts.NOT_RUN, call.id)
            elif call.name not in (prompts.RUN_PYTHON.name, *self._tool_names()):
                self._say(prompts.unknown_tool(shorten(call.name, 80), self._tool_names()), call.id)
                failed = True
            elif code is None:
                self._say(prompts.CUT_OFF if reply.finish == "length" else prompts.BAD_ARGUMENTS, call.id)
                failed = True
            else:
                done = len(self._steps)
                ended = await self._step(code, call.id)
                if ended is not None:
                    return ended
                failed = len(self._steps) == done or not self._steps[-1].result.ok
        return self._count_empty() if len(self._steps) == before else None

    def _is_prose(self, found: Extraction) -> bool:
        """Return True if a reply that may be Python is meant as words. With native calling code comes in calls, so it
        is; else it is once the model has sent code with markup: `x = 7` and `[1, 2]` are answers then.
        """
        if self._agent.native:
            return found.bare or (found.unmarked and found.kind == "none" and bool(self._steps))
        return self._marked and found.unmarked

    def _tool_names(self) -> tuple[str, ...]:
        """Return the host's tools of this session."""
        if self._host_tools is None:
            self._host_tools = tuple(str(tool["name"]) for tool in loads(self._session.card("json"))["tools"])
        return self._host_tools

    async def _source_of(self, call: ToolCall) -> str | None:
        """Return the source that a call stands for, native or printed; a host tool may be called by its own name."""
        if call.name == prompts.RUN_PYTHON.name or call.name not in self._tool_names():
            return await self._calls.read(len(call.arguments), lambda: code_of(call))
        try:
            arguments = loads(call.arguments or "{}", strict=False)
        except ValueError:
            return None
        return call_source(call.name, arguments) if isinstance(arguments, dict) else None

    def _say(self, text: str, call: str | None = None) -> None:
        """Send the model something besides an observation, or why a native call, by its id, was not run."""
        if call is None:
            self._transcript.add("notice", text=text)
        else:
            self._transcript.add("unanswered", text=text, call=call)
        self._agent.emit(NoticeEvent(text))

    def _unusable(self, text: str) -> AgentResult | None:
        self._say(text)
        return self._count_empty()

    def _count_empty(self) -> AgentResult | None:
        self._empty += 1
        if self._empty >= self._limits.empty_replies:
            return self._end(
                "no_code", reason=f"{self._empty} replies in a row held neither code that can run nor an answer"
            )
        return None

    async def _take_answer(self, answer: Any, stop: Stop) -> AgentResult | None:
        agent, steps = self._agent, tuple(self._steps)
        if agent.judge is not None:
            objection = await agent.judge(answer, steps, self._calls)
        else:
            objection = None if agent.review is None else agent.review(answer, steps)
        if objection is None or self._out_of_steps:
            text = None if answer is None else await self._calls.read(weight(answer), partial(as_text, answer))
            return self._end(stop, answer=answer, text=text)
        return self._unusable(objection)

    # One step

    async def _step(self, source: str, call: str | None) -> AgentResult | None:
        if self._out_of_steps:
            return self._end("max_steps")
        if self._seconds_left() == 0.0:
            return self._end("max_seconds")
        changed = ""
        if self._agent.confirm is not None:
            said = await self._calls.confirm(source)
            if isinstance(said, Deny):
                self._say(prompts.denied(said.reason), call)
                return self._count_empty() if call is None else None
            if said.source is not None and said.source != source:
                source, changed = said.source, f"{prompts.edited(said.source)}\n\n"
        self._empty = 0
        self._agent.emit(StepEvent(len(self._steps) + 1, source))
        result = await self._execute(source)
        return await self._record_step(source, call, result, changed)

    async def _resume_waiting(self) -> AgentResult | None:
        """Have the step that waits go on with the answer that was given."""
        entry = self._transcript.waiting
        assert entry is not None
        source = entry["source"]
        self._defined = self._watched = "final_answer" in source
        self._agent.emit(StepEvent(len(self._steps) + 1, source))
        result = await self._calls.do(self._session.answer, self._answer_given, on_output=self._on_output)
        return await self._record_step(source, entry.get("call"), result, "")

    async def _record_step(self, source: str, call: str | None, result: Result, changed: str) -> AgentResult | None:
        """Take the result of a step in; return the end of the run, if it is one."""
        number, changes = len(self._steps) + 1, result.changes
        if _ANSWER_NAME in changes.changed:  # by `final_answer`: the model has no such variable
            shown = tuple(name for name in changes.changed if name != _ANSWER_NAME)
            result = replace(result, changes=replace(changes, changed=shown))
        observation = changed + result.observation(max_tokens=_OBSERVATION_TOKENS)
        step = AgentStep(number, source, result, observation)
        self._steps.append(step)
        self._usage.steps += 1
        self._usage.step_seconds += result.usage.wall_ms / 1000
        pictures = _pictures(result)
        self._room -= sum(map(len, pictures))
        kept = {"pictures": list(pictures)} if pictures and self._room >= 0 else {}
        self._transcript.add(
            "step", source=source, outcome=result.outcome, state=result.state, observation=observation, call=call,
            verdict=self._agent.outside_effect(), **kept,
        )  # fmt: skip
        if self._agent.images and pictures:
            self._pictures[len(self._transcript.entries) - 1] = pictures
        self._agent.emit(ObservationEvent(step))
        if result.outcome in ("cancelled", "waiting"):
            return self._end(result.outcome)
        given = await self._calls.do(self._session.get, _ANSWER_NAME) if self._watched else None
        if given is not None:
            await self._calls.do(self._session.set, _ANSWER_NAME, None)
            if result.ok and type(given) is list and len(given) == 1:  # guest code may bind anything to the name
                return await self._take_answer(given[0], "final_answer")
        return self._note_failure(result, source)

    def _note_failure(self, result: Result, source: str) -> AgentResult | None:
        """Count failures that repeat, and say when steps run out."""
        failure = _failure(result)
        if failure is None or (self._failures and failure != self._failures[-1][0] and source != self._failures[-1][1]):
            self._failures.clear()
        if failure is not None:
            self._failures.append((failure, source))
            if len(self._failures) > _REPEATS:
                return self._end(
                    "repeated_failure", reason=f"the same failure came {len(self._failures)} times in a row: {failure}"
                )
            if len(self._failures) == _REPEATS:
                self._say(prompts.repeated(len(self._failures), failure, [source for _, source in self._failures]))
        left = self._limits.max_steps - len(self._steps)
        if left == 1:
            self._say(prompts.LAST_STEP)
        elif left == 0:
            self._say(prompts.OUT_OF_STEPS)
        return None

    def _end(
        self,
        stop: Stop,
        *,
        answer: Any = None,
        text: str | None = None,
        reason: str | None = None,
        error: Exception | None = None,
    ) -> AgentResult:
        reason = reason or STOP_REASONS[stop]
        self._transcript.add("end", stop=stop, reason=reason, answer=text)
        return self._finish(answer, stop, reason, error)

    def _finish(self, answer: Any, stop: Stop, reason: str, error: Exception | None = None) -> AgentResult:
        result = AgentResult(answer, tuple(self._steps), self._usage, stop, reason, self._transcript, error)
        self._agent.emit(EndEvent(result))
        return result


def _pictures(result: Result) -> tuple[str, ...]:
    """Return the pictures of a step as ``data:`` URLs: of the newest those that an API takes."""
    if not result.displays:
        return ()
    blocks = result.observation(format="mistral")
    return tuple(block["image_url"] for block in blocks if block["type"] == "image_url")


def _failure(result: Result) -> str | None:
    """Return the failure of a step, without parts that differ from attempt to attempt; None for one that went well."""
    if result.ok:
        return None
    error = result.error
    return _VARYING.sub("", f"{error.type}: {error.message}") if error is not None else result.outcome


def _is_failed_sentence(step: AgentStep) -> bool:
    """Return True if a line without markup that failed was prose: "It is 4." is valid Python with a name `It`."""
    error = step.result.error
    line = step.source.strip()
    return error is not None and error.type == "NameError" and not any(mark in line for mark in "\n(=[{")


def _plain_answer(text: str) -> str:
    answer = text.strip()
    if answer[:13].lower() == "final answer:":
        answer = answer[13:].strip()
    return answer


def _complete(code: str) -> bool:
    return Parser(len(code)).parses(code)


def code_of(call: ToolCall) -> str | None:
    """Return the source in the arguments of a call; models also send bare code, line ends that JSON forbids, or a fence
    around it.
    """
    try:
        arguments = loads(call.arguments, strict=False)
    except ValueError:
        found = extract(call.arguments)
        return found.code
    if isinstance(arguments, str):
        arguments = {"code": arguments}
    if not isinstance(arguments, dict):
        return None
    code = next(
        (arguments[key] for key in ("code", "source", "python", "script") if isinstance(arguments.get(key), str)), None
    )
    if code is None or not code.strip():
        return None
    return code if _complete(code) else extract(code).code or code
