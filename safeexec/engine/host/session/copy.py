"""A frozen copy of a session's process: what the host holds of it, and how it is resumed.

A copy waits on its control socket, whose other end it holds. Closing ours ends the copy.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct, field

from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch.gate import ForkGate
from safeexec.engine.host.watch.lineage import Lineage
from safeexec.engine.linux import processes
from safeexec.errors import CheckpointError, ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import FREEZING, FROZEN, RESUMED

if TYPE_CHECKING:
    from safeexec.engine.host.session.output import SessionOutput

RESUME_SECONDS = 3.0
"""How long a copy may take until a process that goes on from it says Ready: 2.5 ms with pandas, frozen already. A
hostile one never does.
"""
_PEEK = socket.MSG_PEEK | socket.MSG_DONTWAIT
MAX_GENERATIONS = 8
"""How many living copies may descend one from the other; beyond that, fork itself slows down (60 ms at depth 120)."""


class Copy(Struct, eq=False):
    """One frozen copy of the process of a session. `users` counts the sessions that could go back to it.

    `is_frozen`, `pid` and `alive` may be used from any thread: none of these waits, or takes what the copy has said
    from its socket. `wait_until_frozen` does both, and `resume` and `dup_pidfd` build on that: they are for whoever has
    the session's turn.
    """

    control: socket.socket
    step: int
    lineage: Lineage
    output: SessionOutput | None = None
    """The files to which the process printed that made the copy. Another session that goes on from it has its own."""
    name: str | None = None
    parent: Copy | None = None
    """The copy from which that process had been resumed, if it had."""
    created: float = field(default_factory=monotonic)
    users: int = 1
    ordered: bool = False
    """True once the process was sent the command to make it: what freezes on its control socket counts."""
    channel: Channel | None = None
    peeked: int | None = None
    """The pid that `pid` has found, while the channel does not know it."""
    ended: bool = False
    """True once nobody can freeze on the control socket any more, as far as `wait_until_frozen` has found out."""

    @property
    def label(self) -> str:
        return self.name if self.name is not None else f"step {self.step}"

    def is_frozen(self) -> bool | None:
        """Return whether the copy is frozen; False when it never will, None while that is open."""
        if self.channel is not None and self.channel.pid is not None:
            return True
        try:
            return bool(self.control.recv(1, _PEEK))
        except BlockingIOError:
            return None
        except OSError:
            return False

    def pid(self) -> int | None:
        """Return the copy's process, once it is frozen. None for a copy that nobody will make, too."""
        channel = self.channel
        if channel is not None and channel.pid is not None:
            return channel.pid
        if self.peeked is None:
            try:
                data, ancillary, _, _ = self.control.recvmsg(1, processes.IDENTITY_SPACE, _PEEK)
                if data:
                    self.peeked, pidfd = processes.sender(ancillary)
                    os.close(pidfd)  # each look at the message installs one more; `wait_until_frozen` keeps its own
            except OSError:  # nothing has come yet, or it is closed
                return None
        return self.peeked

    @property
    def alive(self) -> bool:
        """True if its process, or the one that is to make it, has not ended."""
        if self.channel is not None and self.channel.pidfd >= 0:
            return not processes.has_ended(self.channel.pidfd)
        poller = select.poll()
        try:
            poller.register(self.control, 0)
        except ValueError:  # closed meanwhile
            return False
        return not poller.poll(0)  # nobody has the other end any more

    def wait_until_frozen(self, deadline: float) -> Core[bool]:
        """Return whether the copy is frozen and lives. Waits for it, not longer than the deadline."""
        channel = self._open_channel()
        if channel.state == FROZEN:
            return not channel.has_ended()
        try:
            return isinstance((yield from channel.receive(deadline)), m.Frozen)
        except (Gone, ProtocolError):
            self.ended = True
            return False

    def _open_channel(self) -> Channel:
        """Return the channel to the copy. If the copy is frozen, its pid is known there."""
        if self.channel is None:
            self.channel = Channel(self.control, FREEZING)
        if self.channel.pid is None:
            self.channel.read_if_ready()
        return self.channel

    def resume(self, deadline: float, gate: ForkGate) -> Core[Channel | None]:
        """Ask the copy for a process that goes on from its state, and wait for nothing but the copy: the process waits
        for `Wake` on the channel. None if the copy is gone, or has not frozen by the deadline (monotonic seconds).
        """
        if not (yield from self.wait_until_frozen(deadline)):
            return None
        assert self.channel is not None
        channel, theirs = Channel.pair(RESUMED)
        gate.announce(self.channel.pid)
        try:
            with theirs:
                yield from self.channel.send(m.Resume(), (theirs.fileno(),))
        except (Gone, ProtocolError):
            channel.close()
            return None
        except BaseException:
            channel.close()
            raise
        return channel

    def dup_pidfd(self) -> list[int]:
        """Return a pidfd of the copy if it is frozen, the caller's to close. Does not wait."""
        return self._open_channel().dup_pidfd() if self.is_frozen() else []

    def kill(self) -> None:
        """End the copy, whoever uses it. From any thread."""
        if self.channel is not None and self.channel.pidfd >= 0:
            self.channel.kill()
        else:
            with contextlib.suppress(OSError):  # closed already
                self.control.shutdown(socket.SHUT_RDWR)  # what is frozen, or will, ends with its socket

    def release(self) -> None:
        """Count one user fewer; the last one ends the copy."""
        self.users -= 1
        if self.users == 0:
            self.kill()
            self.disown()

    def disown(self) -> None:
        """Close what this process holds of it, and nothing else."""
        if self.channel is not None:
            self.channel.close()
        else:
            self.control.close()


def living(copy: Copy | None) -> Copy | None:
    """Return the nearest ancestor, `copy` itself included, that is still held."""
    while copy is not None and copy.users == 0:
        copy = copy.parent
    return copy


def check_depth(parent: Copy | None) -> None:
    """Raise `CheckpointError` where a copy below `parent` would lie too deep."""
    above = []
    while (parent := living(parent)) is not None:
        above.append(parent.label)
        parent = parent.parent
    if len(above) >= MAX_GENERATIONS:
        raise CheckpointError(
            f"this state lies {len(above)} restores and branches deep, each on a checkpoint that still lives "
            f"({', '.join(above)}); drop one that has a name, or close sessions that lie between"
        )


def own_bytes(pid: int) -> int:
    """Return how many bytes would be freed if process `pid` ended: its unique set size; and what it holds of shared
    memory.

    Where the host may not read that (an ordinary user's host, a process that cannot be dumped), the resident bytes that
    no file backs, which also count what is still shared with a parent: too much rather than too little. 0 if it is
    gone.
    """
    import psutil  # 15 ms, once: for the memory of checkpoints, which no run of a step reads

    try:
        return int(psutil.Process(pid).memory_full_info().uss) + processes.shared_memory(pid)
    except psutil.AccessDenied:
        return processes.memory_without_files(pid)
    except psutil.NoSuchProcess:
        return 0


def share_bytes(pid: int) -> int:
    """Return how many bytes process `pid` holds, each page divided by the number of its holders: over all holders the
    sum is exact. Where the host may not read that, the resident bytes that no file backs.
    """
    share = processes.proportional_memory(pid)
    return processes.memory_without_files(pid) if share is None else share
