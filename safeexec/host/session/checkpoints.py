"""The checkpoints of one session as the host keeps them: which lane leads to which state, and what may be dropped.

A lane is a socket whose other end a parked copy of the session holds. Closing the lane ends the copy.
"""

from __future__ import annotations

import os
import socket
from time import monotonic

from msgspec import Struct, field

from safeexec.errors import CheckpointError, ProtocolError
from safeexec.host.files.workspace import Snapshot
from safeexec.host.session.channel import Channel, Gone
from safeexec.host.session.output import OutputFile
from safeexec.host.waiting import Core
from safeexec.host.watch.memory import own_bytes
from safeexec.linux import processes
from safeexec.protocol import messages as m
from safeexec.protocol.turns import PARKED, PARKING

KEPT_AUTOMATIC = 2
"""Steps whose automatic checkpoints live: the last one (what a kill needs) and the one before it (what `rollback()`
needs).
"""
MAX_GENERATIONS = 8
"""Restores on top of restores of living ancestors; beyond, fork itself slows down (60 ms at depth 120)."""


class CheckpointInfo(Struct, frozen=True):
    """One row of `session.checkpoints()`. `age` in seconds; `memory_mb` is what dropping it would free, in MiB."""

    name: str
    parent: str | None
    step: int
    automatic: bool
    age: float
    memory_mb: float


class Checkpoint(Struct, eq=False):
    """One parked copy of a session. `users` counts the sessions that would fall back to it."""

    lane: socket.socket
    step: int
    out: OutputFile | None = None
    """Where the process prints that it is a copy of: another session than that one gives it files of its own."""
    name: str | None = None
    parent: Checkpoint | None = None
    snapshot: Snapshot | None = None
    tool_calls: int = 0
    created: float = field(default_factory=monotonic)
    users: int = 1
    channel: Channel | None = None
    ended: bool = False
    """Whether nobody can park on the lane any more, as far as `parked` has found out."""

    @property
    def label(self) -> str:
        return self.name if self.name is not None else f"step {self.step}"

    def parked(self, deadline: float) -> Core[bool]:
        """Whether the copy has parked and lives. Waits for it, not longer than the deadline."""
        if self.channel is None:
            self.channel = Channel(self.lane, PARKING)
        if self.channel.pid is None:
            self.channel.read_if_ready()
        if self.channel.state == PARKED:
            return self.alive
        try:
            return isinstance((yield from self.channel.receive(deadline)), m.Parked)
        except (Gone, ProtocolError):
            self.ended = True
            return False

    def pid(self) -> int | None:
        """The copy's process, once it has parked. Does not wait."""
        if self.channel is None:
            self.channel = Channel(self.lane, PARKING)
        if self.channel.pid is None:
            self.channel.read_if_ready()
        return self.channel.pid

    @property
    def alive(self) -> bool:
        return self.channel is None or self.channel.pidfd < 0 or not processes.has_ended(self.channel.pidfd)

    def release(self) -> None:
        """One user fewer; the last one ends the copy."""
        self.users -= 1
        if self.users == 0:
            if self.channel is not None:
                self.channel.kill()
                self.channel.close()
            else:
                self.lane.close()


def new_lane() -> tuple[socket.socket, socket.socket]:
    """A lane: the host's end, which learns from the kernel who parks on it, and the copy's end."""
    ours, theirs = socket.socketpair()
    processes.pass_identity(ours, True)
    return ours, theirs


def living(checkpoint: Checkpoint | None) -> Checkpoint | None:
    """The nearest ancestor, `checkpoint` itself included, whose copy is still held."""
    while checkpoint is not None and checkpoint.users == 0:
        checkpoint = checkpoint.parent
    return checkpoint


def ancestors(checkpoint: Checkpoint | None) -> list[Checkpoint]:
    """The held copies on the way from `checkpoint` up, itself included."""
    found = []
    while (checkpoint := living(checkpoint)) is not None:
        found.append(checkpoint)
        checkpoint = checkpoint.parent
    return found


class Checkpoints:
    """All checkpoints of one session: the automatic ones in order, the named ones by name."""

    __slots__ = ("_limit", "automatic", "base", "base_files", "named", "since")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.automatic: list[Checkpoint] = []
        self.named: dict[str, Checkpoint] = {}
        self.base: Checkpoint | None = None
        """What the running process was thawed from. None: a fresh child."""
        self.base_files: Snapshot | None = None
        """The files of that state, where the host has changed them since."""
        self.since = monotonic()
        """When it was."""

    def granted(self, checkpoint: Checkpoint) -> None:
        """A lane for the state after a step was handed out; what it supersedes goes."""
        autos = self.automatic
        if autos and autos[-1].step == checkpoint.step:
            # The child makes the newer one first and drops the older one itself; two lanes live until it did.
            stale = [c for c in autos[:-1] if c.step == checkpoint.step]
            for old in stale:
                autos.remove(old)
                old.release()
        autos.append(checkpoint)
        # The newest lane is only a promise until its step is done and the child has parked on it.
        steps, first = KEPT_AUTOMATIC + 1, len(autos) - 1
        while first > 0 and (autos[first - 1].step == autos[first].step or steps > 1):
            steps -= autos[first - 1].step != autos[first].step
            first -= 1
        if first > 0:
            superseded = autos[:first]
            del autos[:first]
            for old in superseded:
                old.release()
            self._drop_base()

    def renew(self, checkpoint: Checkpoint) -> None:
        """`checkpoint` holds the same state as the newest automatic one, and takes its place."""
        old, self.automatic[-1] = self.automatic[-1], checkpoint
        checkpoint.tool_calls = old.tool_calls
        checkpoint.created = old.created
        old.release()

    def _drop_base(self) -> None:
        base = self.base
        if base is not None and base.name is None:
            self.base = None
            base.release()

    def revoke(self, step: int) -> None:
        """Step `step` failed: the lane that was granted for the state after it leads nowhere."""
        for checkpoint in [c for c in self.automatic if c.step == step]:
            self.automatic.remove(checkpoint)
            checkpoint.release()

    def thawed_from(self, checkpoint: Checkpoint | None) -> None:
        """The session now runs on from `checkpoint`: the automatic ones of the abandoned line go.

        Those of steps before it are part of its past, too, if it is an automatic one itself: `rollback()` needs them.
        """
        if checkpoint is not None:
            checkpoint.users += 1
        # It is among the living at every moment: the sweep of another branch, in a thread of its own, ends what is not.
        base, self.base, self.base_files = self.base, checkpoint, None
        self.since = monotonic()
        autos = self.automatic
        past = [old for old in autos if old.step < checkpoint.step] if checkpoint in autos and checkpoint else []
        self.automatic = past
        for old in autos:
            if old not in past:
                old.release()
        if base is not None:
            base.release()

    def add(self, name: str, checkpoint: Checkpoint) -> None:
        """Keep a named checkpoint; one of the same name is replaced. Raises `CheckpointError` when there is no room."""
        self.room_for(name)
        old = self.named.pop(name, None)
        if old is not None:
            old.release()
        self.named[name] = checkpoint

    def room_for(self, name: str) -> None:
        if name not in self.named and len(self.named) >= self._limit:
            raise CheckpointError(
                f"this session already has {len(self.named)} named checkpoints, and limits.checkpoints allows "
                f"{self._limit}; drop one first: {', '.join(self.named)}"
            )

    def find(self, name: str) -> Checkpoint:
        try:
            return self.named[name]
        except (KeyError, TypeError):
            known = ", ".join(self.named) or "none"
            raise CheckpointError(f"no checkpoint {name!r}; named checkpoints of this session: {known}") from None

    def drop(self, name: str) -> None:
        checkpoint = self.find(name)
        del self.named[name]
        checkpoint.release()

    def newest_first(self, *, named: bool = False) -> list[Checkpoint]:
        """Where a session could go on after a kill: the newest state of its past first; `named`: checkpoints with a
        name count, too, at the end those that are not of its past.
        """
        held = {*self.automatic, *(self.named.values() if named else ())}
        if self.base is not None:
            held.add(self.base)
        # What the running process was thawed from is older than what has been made of that process, and newer than all
        # that was made before.
        return sorted(held, key=lambda c: self.since if c is self.base else c.created, reverse=True)

    def living(self) -> list[Checkpoint]:
        """Every checkpoint this session holds, each once."""
        seen: dict[int, Checkpoint] = {}
        for checkpoint in (*self.automatic, *self.named.values(), *([self.base] if self.base else [])):
            seen[id(checkpoint)] = checkpoint
        return list(seen.values())

    def forget(self) -> None:
        """Close this process's copies of the lanes, in a fork of the process that has them; the copies live on."""
        for checkpoint in self.living():
            if checkpoint.channel is not None:
                checkpoint.channel.close()
            else:
                checkpoint.lane.close()

    def rows(self) -> list[CheckpointInfo]:
        """The tree as data: every named checkpoint and the automatic ones that have parked."""
        now = monotonic()
        rows = []
        for checkpoint in self.living():
            pid = checkpoint.pid()
            if checkpoint.name is None and (pid is None or not checkpoint.alive):
                continue
            rows.append(
                CheckpointInfo(
                    name=checkpoint.label,
                    parent=checkpoint.parent.label if checkpoint.parent is not None else None,
                    step=checkpoint.step,
                    automatic=checkpoint.name is None,
                    age=now - checkpoint.created,
                    memory_mb=own_bytes(pid) / (1 << 20) if pid is not None else 0.0,
                )
            )
        return sorted(rows, key=lambda row: (row.step, row.name))

    def close(self) -> list[int]:
        """Give up every reference; copies that no branch needs end. Returns their pidfds, the caller's to wait for and
        to close.
        """
        held = []
        for checkpoint in self.living():
            if checkpoint.pid() is not None and checkpoint.channel is not None:
                try:
                    held.append((checkpoint, os.dup(checkpoint.channel.pidfd)))
                except OSError:  # out of descriptors: it ends all the same, and nobody waits for it
                    break
        for checkpoint in (*self.automatic, *self.named.values(), *([self.base] if self.base is not None else [])):
            checkpoint.release()
        self.automatic, self.named, self.base = [], {}, None
        ending = []
        for checkpoint, pidfd in held:
            if checkpoint.users:
                os.close(pidfd)
            else:
                ending.append(pidfd)
        return ending
