"""The interfaces between a session and what it is used with: its sandbox, tools, recorder, store. Only type checkers
read this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from safeexec.engine.host.files.workspace import Workspace
from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.session.spare import Spare
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch.gate import ForkGate
from safeexec.engine.policy.model import Policy
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism
from safeexec.results import Result


class ToolAnswers(Protocol):
    """Tools, as a session sees them: the sandbox's or a plugin's own, or what stands before them."""

    def answer(self, call: m.ToolRequest, session: Any, deadline: float | None) -> Core[m.ToolReply]:
        """Run one call and give the reply for the guest."""


class RecordsSession(Protocol):
    """Writes down what is done in a session."""

    number: int
    call: int

    def tell(self, record: Any) -> None:
        """Write down a record."""

    def secured(self, *, intent: bool = False, written: bool = False) -> Core[None]:
        """Wait until what was told is on the disk, where that is asked for; an `intent` is written in any case, in a
        store to its disk. `written`: it outlives this process.
        """

    def follow(
        self, operation: Callable[..., Core[Any]], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Core[Any]:
        """Return what an operation of the session returns; write it down before and after."""

    def left(self, session: Any, name: str) -> None:
        """Note that the session has gone back to a checkpoint, in a process that is to come."""

    def note(self, session: Any, text: str, score: float | None) -> None:
        """Write down what the host has to say of the session as it is now."""

    def history(self) -> Any:
        """Return what it has written down, as moments."""

    def closed(self, session: Any) -> None:
        """Note that the session is over."""


class KeepsSession(Protocol):
    """What keeps a session in a store."""

    def is_suspended(self, session: Any) -> bool:
        """Tell whether the session is left to the store, until it is used again, or has lost what the store still
        has.
        """

    @property
    def overdue(self) -> bool:
        """Whether its state is to be saved, now that nobody uses it."""

    def ensure_resumed(self, session: Any) -> Core[None]:
        """Before it is used: where it is away, go on with what is in the store."""

    def flush(self, session: Any) -> Core[None]:
        """See to it that all of the session is in the store."""

    def suspend(self, session: Any) -> Core[None]:
        """Leave it to the store."""


class HasEffects(Protocol):
    """Has the effects of a session's tools follow it."""

    def follow(self, name: str, work: Core[Any]) -> Core[Any]:
        """Do the operation of this name, then what follows from where the session is."""

    def pending(self) -> list[Any]:
        """Return the deferred calls that wait."""

    def carry_out(self) -> Core[list[str]]:
        """Carry them out. Returns what went wrong, in words."""

    def closed(self) -> None:
        """Drop what waits: the session is over."""


class HearsSteps(Protocol):
    """Hears what the steps of a sandbox came to, for whoever operates it."""

    def step_done(self, session: Any, source: bytes, result: Result, call: str | None = None) -> None:
        """Hear that a step has ended, or a `call` of a plugin whose code is `source`."""

    def watch(self, sandbox: Any) -> None:
        """Hear that the sandbox was opened: its `stats` may be asked for as long as it lives."""

    def close(self) -> None:
        """Hear that the sandbox is closed."""


class SandboxInterface(Protocol):
    """What a session and its commands ask of their sandbox."""

    policy: Policy
    toolbox: Toolbox
    observer: HearsSteps | None
    undo: list[int]
    """Steps that can be repeated, that were copied, and two kinds that came out otherwise: see `stats`."""

    @property
    def alive(self) -> bool:
        """Whether its zygote is."""

    @property
    def reapers(self) -> tuple[int, ...]:
        """The processes to which orphans of a session fall."""

    @property
    def gate(self) -> ForkGate:
        """What every fork of its processes waits for."""

    @property
    def mechanisms(self) -> list[Mechanism]:
        """What holds every session, and what does not and why."""

    def branch_ruleset(self, region: str) -> int | None:
        """Return what shuts a branch off from all files but those in its `region`; None where nothing does."""

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        """Return its policy and tools, for a model's prompt."""

    def spare_for(self, policy: Policy) -> Spare | None:
        """Return a child that waits for a session of this policy, if there is one."""

    def new_child(
        self, policy: Policy, workspace: Workspace | None, output: tuple[int, ...]
    ) -> Core[tuple[Channel, m.Ready]]:
        """Return a locked-down child that waits for its first request."""

    def new_workspace(self, policy: Policy) -> Workspace:
        """Return an empty directory for the files of a new session."""

    def fill(self, workspace: Workspace) -> None:
        """Put the files into it that every session begins with."""

    @property
    def files(self) -> Mapping[str, object]:
        """The files that every session begins with."""

    def spawn(self, request: Callable[[int], m.Spawn | m.RunCommand], output: tuple[int, ...]) -> tuple[int, Channel]:
        """Ask the zygote for a process; `request` gets its number."""

    def problem(self, number: int) -> str:
        """Return why process `number` could not be made, in the zygote's words."""

    def steps_lost(self, count: int) -> None:
        """Count steps that came out otherwise when they were repeated."""

    def session_began(self) -> None:
        """Note that a session has done its first step."""

    def session_opened(self, session: Any) -> None:
        """Note that a session begins."""

    def session_rests(self, session: Any) -> None:
        """Note that a session has given up its process."""

    def session_wakes(self, session: Any) -> None:
        """Note that a session that rests is used again. Raises `SandboxBusy` where descriptors are too few."""

    def admit(self, session: Any, seconds: float | None) -> Core[None]:
        """Wait for a place for a session that comes back from its store. Raises `SandboxBusy`."""

    def session_resumed(self, session: Any) -> None:
        """Note that a session which was left to its store has a process again."""

    def session_suspended(self, session: Any) -> None:
        """Note that a session is left to its store."""

    def look_after(self, session: Any) -> None:
        """Have a session that may rest looked at soon."""

    def session_closed(self, session: Any) -> None:
        """Note that a session has ended."""
