"""What the loop of an agent asks its driver for."""

from __future__ import annotations

from collections.abc import Generator
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


@dataclass(frozen=True, slots=True)
class FetchVariable:
    """The value of a variable of the session."""

    name: str


@dataclass(frozen=True, slots=True)
class ForgetVariable:
    """Set a variable of the session to None."""

    name: str


Wish = AskModel | RunStep | FetchVariable | ForgetVariable
Loop = Generator[Wish, Any, AgentResult]
