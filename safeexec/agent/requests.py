"""Requests of an agent's generators to their driver: a reply, a decision, a program run apart, or a plain call."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from safeexec.agent.messages import Message
from safeexec.agent.outcome import AgentResult


@dataclass(frozen=True, slots=True)
class AskModel:
    """A reply to `messages` within `seconds`. Answered with a `Reply`; raises ModelError or TranscriptError."""

    messages: list[Message]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Confirm:
    """The decision of the caller's `confirm` about a step. Answered with `Allow` or `Deny`."""

    source: str


@dataclass(frozen=True, slots=True)
class RunApart:
    """A program in a session of its own: a fresh one, or where a session was given, one that begins as that did before
    the run. Answered with the `Result` and the value of the variable `name`, if one is named; None where that session
    cannot be copied.
    """

    source: str
    name: str = ""
    timeout: float | None = None


Call = Callable[[], Any]
"""A call of a method of the session: `partial(session.run, source)`. Answered with what it returns, awaited where the
session is awaited; raises WorkspaceError.
"""
Request = AskModel | Confirm | RunApart | Call
Loop = Generator[Request, Any, AgentResult]
