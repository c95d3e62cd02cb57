"""Show a run of an agent as lines while it happens. Whatever a model or guest code wrote is made printable first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from safeexec.agent.blocks import read_blocks
from safeexec.agent.extraction import without_thinking
from safeexec.agent.outcome import (
    AgentStep,
    EndEvent,
    Event,
    NoticeEvent,
    ObservationEvent,
    ReplyEvent,
    RetryEvent,
    StepEvent,
)
from safeexec.agent.snippets import Parser
from safeexec.common.text import head_and_tail, printable
from safeexec.untrusted.saving import NewFiles, is_picture

if TYPE_CHECKING:
    from safeexec.agent.messages import Reply
    from safeexec.agent.outcome import AgentResult

_PROSE_LIMIT = 4000
_SOURCE_LIMIT = 40_000


class StepPictures:
    """Writes the PNGs of steps to new files `picture-N.png` in a directory, which is made on first use."""

    def __init__(self, directory: str | Path) -> None:
        self._files = NewFiles(directory)
        self._next = 0

    def save(self, step: AgentStep) -> list[str]:
        """Write this step's pictures, and return a line on each. One that cannot be written does not end the run."""
        return [self._save(display.png) for display in step.result.displays if display.png]

    def _save(self, png: bytes) -> str:
        if not is_picture("image/png", png):
            return "picture: left out: its bytes are not those of a PNG"
        try:
            self._next = self._next or self._files.next_number("picture")
            path = self._files.write(f"picture-{self._next}.png", png)
        except OSError as error:
            return f"picture: none can be written to {self._files.directory}: {error.strerror or error}"
        self._next += 1
        return f"picture: {path}"


class View:
    """Shows events as lines without control sequences, on standard output."""

    def __init__(self, pictures: StepPictures) -> None:
        self._pictures = pictures

    def _line(self, text: str) -> None:
        print(printable(text).rstrip("\n"), flush=True)

    def show(self, event: Event) -> None:
        match event:
            case RetryEvent(reason, seconds):
                self._line(f"... {reason}; again in {seconds:.1f} s")
            case ReplyEvent(reply):
                if prose := prose_of(reply):
                    self._line(prose)
            case StepEvent(number, source):
                self._line(f"--- step {number} ---\n{head_and_tail(source, _SOURCE_LIMIT)[0]}")
            case ObservationEvent(step):
                ran, observed = step.result, step.observation.partition("\n")[2]
                # The first line of the observation says the outcome, too.
                self._line(f"--- {ran.outcome}, {ran.usage.wall_ms:.0f} ms ---\n{observed}".rstrip())
                for line in self._pictures.save(step):
                    self._line(line)
            case NoticeEvent(text):
                self._line(f"(to the model) {text}")
            case EndEvent(result):
                self._line(f"=== {summary(result)}")


def prose_of(reply: Reply) -> str:
    """Return the prose of a reply before its code, which is shown anyway. Without code it is the answer, for later."""
    text = without_thinking(reply.text)
    if reply.tool_calls:
        return text.strip()[:_PROSE_LIMIT]
    blocks = read_blocks(text, Parser(len(text)))
    return text[: blocks[0].start].strip()[:_PROSE_LIMIT] if blocks else ""


def summary(result: AgentResult) -> str:
    """Return the answer, or why there is none, and what it took."""
    usage = result.usage
    about = "about " if usage.estimated_tokens else ""
    seconds = usage.model_seconds + usage.step_seconds
    cost = f"{usage.steps} steps, {about}{usage.tokens} tokens, {seconds:.1f} s"
    head = result.text if result.ok else f"No answer: {result.reason}."
    return f"{head}\n({cost})"
