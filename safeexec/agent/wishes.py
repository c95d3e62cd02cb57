"""What the loop of an agent asks its driver for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from safeexec.agent.messages import Message
from safeexec.agent.outcome import AgentResult


@dataclass(frozen=True, slots=True)
class AskModel:
    """A reply to `messages` within `seconds`. Answered with a `Reply`."""

    messages: list[Message]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class RunStep:
    """A step within `timeout` seconds. Answered with a `Result`."""

    source: str
    timeout: float | None
    shown: bool = True
    """Whether its output is told as events while it runs."""


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """The step that waits goes on with this answer. Answered with a `Result`."""

    answer: Any


@dataclass(frozen=True, slots=True)
class FetchVariable:
    """The value of a variable of the session."""

    name: str


@dataclass(frozen=True, slots=True)
class ForgetVariable:
    """Set a variable of the session to None."""

    name: str


@dataclass(frozen=True, slots=True)
class RunApart:
    """A program in a session of its own: a fresh one, or where a session was given, one that begins as that did before
    the run. Answered with the `Result` and the value of the variable `name`, if one is named; None where that session
    cannot be copied.
    """

    source: str
    name: str = ""
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ListFiles:
    """The names of the files in the session's workspace."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The bytes of a file in the session's workspace; None where it cannot be read."""

    name: str


@dataclass(frozen=True, slots=True)
class InThread:
    """What `work` returns. It blocks: where the run is awaited it gets a thread."""

    work: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Confirm:
    """What the caller's `confirm` answers about a step. Answered with `Allow` or `Deny`."""

    source: str


@dataclass(frozen=True, slots=True)
class CompareBranches:
    """Programs, each run in a branch of the session and scored there by a program or a function. Answered with a list
    of source, score (None: it has none) and what went wrong.
    """

    sources: list[str]
    score: Any
    timeout: float | None


Wish = (
    AskModel
    | RunStep
    | AnswerStep
    | FetchVariable
    | ForgetVariable
    | RunApart
    | Confirm
    | CompareBranches
    | ListFiles
    | ReadFile
    | InThread
)
Loop = Generator[Wish, Any, AgentResult]
