"""What a session and its commands need of the sandbox that they belong to. Only type checkers read this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from safeexec.host.audit import Observer
from safeexec.host.files.layers import BranchLayers
from safeexec.host.files.workspace import Workspace
from safeexec.host.session.channel import Channel
from safeexec.host.tools.toolbox import Toolbox
from safeexec.host.waiting import Core
from safeexec.host.watch.gate import ForkGate
from safeexec.linux.cgroups import Group
from safeexec.policy.model import Policy
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism


class Home(Protocol):
    """A sandbox, as its sessions see it."""

    policy: Policy
    toolbox: Toolbox
    observer: Observer | None
    layers: BranchLayers

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

    def new_child(
        self, policy: Policy, workspace: Workspace | None, output: tuple[int, int]
    ) -> Core[tuple[Channel, m.Ready]]:
        """A locked-down child that waits for its first request."""

    def new_group(self, policy: Policy) -> Group | None:
        """A control group for a new session, where this process may make one."""

    def new_workspace(self, policy: Policy) -> Workspace:
        """A directory for the files of a new session."""

    def spawn(self, request: Callable[[int], m.Spawn | m.RunCommand], output: tuple[int, int]) -> tuple[int, Channel]:
        """Ask the zygote for a process; `request` gets its number."""

    def problem(self, number: int) -> str:
        """Why process `number` could not be made, in the zygote's words."""

    def replenish(self) -> None:
        """Have a spare child made."""

    def session_opened(self, session: Any) -> None:
        """A session begins."""

    def session_closed(self, session: Any) -> None:
        """A session has ended."""
