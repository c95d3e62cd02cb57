"""One process of the sandbox as the host sees it: a socket, a pidfd, a place in the conversation.

Whatever arrives is untrusted. Who sent it the kernel says (`SCM_PIDFD`, `SCM_CREDENTIALS`), never the message.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Sequence
from functools import partial
from time import clock_gettime, monotonic

from msgspec import Struct

from safeexec.engine.host.patience import patient
from safeexec.engine.host.waiting import READ, Core, Wait, apart
from safeexec.engine.host.watch.bill import SMALL_BYTES, SMALL_SECONDS, Bill
from safeexec.engine.linux import processes
from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import ANSWERING, CALLING, DELIVERING, IDLE, RUNNING, STARTING, Conversation

AT_WORK = (RUNNING, CALLING, DELIVERING, ANSWERING)
"""States of a conversation in which the process owes an answer."""
CHUNK = 32 << 10
"""Bytes per read. A buffer past 128 KiB would be mapped and unmapped by malloc at every message (12 us)."""
SEND_SECONDS = 10.0
"""How long a living child may leave a request unread before it counts as broken."""
EXITING_SECONDS = 0.0001
"""How often to look whether a process that was killed runs no more. Mostly it does not at the first look."""
NO_CLOCK = -1
"""A clock that the kernel does not know."""
TOKEN = os.urandom(8)
"""Begins each message of the children of this process; see `protocol.conversation`."""


class Gone(Exception):
    """The process will say nothing more: it has ended, or closed its socket. See `Channel` for when it has ended."""


def new_control() -> tuple[socket.socket, socket.socket]:
    """Return a control socket: the host's end, which learns from the kernel who speaks first, and the process's end."""
    ours, theirs = socket.socketpair()
    processes.pass_identity(ours, True)
    return ours, theirs


class Channel:
    """The host's end of one process. Not thread-safe, but for methods that say "from any thread".

    A process that is killed goes in two moments, which the kernel tells apart. It is *exiting* once none of its threads
    runs guest code any more (`wait_exiting`): mostly at once. It has *ended* when what it held is free again, as its
    memory and the locks of its files (`wait_ended`, `has_ended`, both by the pidfd): up to seconds later. `Gone` is
    what a reader or a writer meets: the end of the socket, which a process can also close as it lives.
    """

    __slots__ = ("_clock", "_conversation", "_inbox", "_poller", "_reading", "_wait", "bill", "pid", "pidfd", "socket")

    def __init__(self, ours: socket.socket, state: str = STARTING) -> None:
        """`ours`: as `new_control` gives it."""
        self.pidfd = -1
        self.pid: int | None = None
        self._clock = NO_CLOCK
        self.socket = ours
        self.bill = Bill()
        """The account to which reading its messages is charged."""
        ours.setblocking(False)
        self._conversation = Conversation(state, token=TOKEN)
        self._inbox: list[m.FromChild] = []
        self._reading = False
        """True while bytes have been taken from the socket that may not be messages in the inbox yet."""
        self._poller = select.poll()
        self._poller.register(ours, READ)
        self._wait = Wait((ours.fileno(),), 0.0, poller=self._poller)
        """The condition for which `receive` waits: one object, as there is one reader."""

    @classmethod
    def pair(cls, state: str = STARTING) -> tuple[Channel, socket.socket]:
        """Return a channel and the other end of its socket, which is for the process to come."""
        ours, theirs = new_control()
        return cls(ours, state), theirs

    @property
    def state(self) -> str:
        """The place in the conversation, which says who may speak: a constant of `protocol.conversation`."""
        return self._conversation.state

    @property
    def at_rest(self) -> bool:
        """True if the process waits for a request, and all that it has said has been taken in."""
        return self._conversation.state == IDLE and not self._inbox

    @property
    def at_work(self) -> bool:
        """True if the process owes an answer."""
        return self._conversation.state in AT_WORK

    def all_read(self) -> bool:
        """Return whether all that has arrived has been read, so that `at_work`, if read after this, is true to it. From
        any thread.
        """
        try:
            return not (self._readable() or self._reading or self._inbox)
        except ValueError:  # closed meanwhile
            return False

    def _readable(self) -> bool:
        """Return whether something has arrived. Raises ValueError for a socket that is closed."""
        # Not `_poller`: one that a thread waits with raises RuntimeError in any other.
        poller = select.poll()
        poller.register(self.socket, READ)
        return bool(poller.poll(0))

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of the process; 0 if it is gone, or has not spoken yet."""
        try:
            return clock_gettime(self._clock)
        except OSError:
            return 0.0

    def send(self, message: Struct, fds: Sequence[int] = ()) -> Core[None]:
        """Send one message. Raises `Gone`, or `ProtocolError` when the other end does not read."""
        if (large := _PAYLOADS.get(type(message))) is None:
            data = self._conversation.send(message)
        else:
            data = yield from apart(len(getattr(message, large) or b""), partial(self._conversation.send, message))
        try:
            if fds:  # they go with the first byte, so that the rest needs none
                sent = socket.send_fds(self.socket, [data], list(fds))
            else:
                sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise Gone(str(error)) from None
        if sent < len(data):
            yield from self._send_rest(memoryview(data)[sent:])

    def _send_rest(self, rest: memoryview) -> Core[None]:
        deadline = monotonic() + patient(SEND_SECONDS)
        while rest:
            if not (yield Wait((self.socket.fileno(),), deadline, writable=True)):
                raise ProtocolError("the child does not read its requests")
            try:
                rest = rest[self.socket.send(rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise Gone(str(error)) from None

    def receive(self, deadline: float) -> Core[m.FromChild | None]:
        """Return the next message, or None at the deadline. Raises `Gone` or `ProtocolError`."""
        while not self._inbox:
            self._wait.deadline = deadline
            if not (yield self._wait):
                return None
            self._read()
            if not self._inbox and monotonic() >= deadline:
                return None  # a message that comes byte by byte keeps the socket readable for ever
        return self._inbox.pop(0)

    def _read(self) -> None:
        self._reading = True
        try:
            if self.pidfd < 0:
                data = self._identify()
            else:
                data = self.socket.recv(CHUNK)
        except BlockingIOError:
            # Not the socket, then: the pidfd woke us. An orphan fork may hold the socket open, the process is gone all
            # the same.
            raise Gone("the process ended") from None
        except OSError as error:
            raise Gone(str(error)) from None
        if not data:
            raise Gone("the process closed its socket")
        if len(data) <= SMALL_BYTES:
            self.bill.cpu += SMALL_SECONDS
            self._inbox += self._conversation.receive(data)
        else:
            self._inbox += self.bill.charged(len(data), self._conversation.receive, data)
        self._reading = False

    def _identify(self) -> bytes:
        """Read the first bytes, and with them who sent them, as the kernel says."""
        data, ancillary, _, _ = self.socket.recvmsg(CHUNK, processes.IDENTITY_SPACE)
        if data:
            try:
                self.pid, self.pidfd = processes.sender(ancillary)
                self._clock = processes.cpu_clock(self.pid)
            except ProcessLookupError:
                raise Gone("the process ended") from None
            # Else each message would bring another pidfd, and a system call to close it.
            processes.pass_identity(self.socket, False)
            self._poller.register(self.pidfd, READ)
            self._wait.fds = (self.socket.fileno(), self.pidfd)
        return data

    def read_if_ready(self) -> None:
        """Take in what has arrived, without waiting. Harmless when the process has gone, or the socket is closed."""
        with contextlib.suppress(Gone, ProtocolError):
            if self.socket.fileno() >= 0 and self._readable():
                self._read()

    def wake(self) -> None:
        """Wake the thread or task that waits for a message, as the process is about to be ended. From any thread."""
        # A poll finds the end of the socket at once. The process cannot write any more; what it is sent still arrives.
        with contextlib.suppress(OSError):  # closed already
            self.socket.shutdown(socket.SHUT_RD)

    def wait_ready(self, deadline: float) -> Core[m.Ready | None]:
        """Wait for the `Ready` of a process that comes up: one that resumes, or a spare. None if it does not
        come by the deadline. The process is given up then, and when the caller is interrupted.
        """
        try:
            ready = yield from self.receive(deadline)
        except (Gone, ProtocolError):
            ready = None
        except BaseException:
            self.give_up()
            raise
        if isinstance(ready, m.Ready):
            return ready
        self.give_up()
        return None

    def dup_pidfd(self) -> list[int]:
        """Return a duplicate of the pidfd, the caller's to close; none where it is not known, or descriptors have run
        out: it ends all the same, and nobody waits for it.
        """
        try:
            return [os.dup(self.pidfd)] if self.pidfd >= 0 else []
        except OSError:
            return []

    def kill(self) -> None:
        """Send SIGKILL. Does not wait; harmless when the process has ended."""
        if self.pidfd >= 0:
            processes.kill(self.pidfd)

    def wait_ended(self, deadline: float) -> Core[bool]:
        """Wait until the process has ended; return whether it has by the deadline."""
        if self.pidfd < 0:
            return True
        return (yield Wait((self.pidfd,), deadline))  # type: ignore[no-any-return]

    def wait_exiting(self, deadline: float) -> Core[bool]:
        """Wait until the process, which has been killed, is exiting; return whether it is by the deadline."""
        while self.pid is not None and not processes.is_exiting(self.pid):
            if (yield from self.wait_ended(min(deadline, monotonic() + EXITING_SECONDS))):
                return True
            if monotonic() >= deadline:
                return False
        return True

    def has_ended(self) -> bool:
        """Return whether the process has ended, without waiting."""
        return self.pidfd < 0 or processes.has_ended(self.pidfd)

    def close(self) -> None:
        """Close socket and pidfd; the process sees the end of its socket."""
        self.socket.close()
        self._close_pidfd()

    def give_up(self) -> None:
        """End a process that is starting: one that has not spoken yet finds its socket closed."""
        self.kill()
        self.close()

    def _close_pidfd(self) -> None:
        pidfd, self.pidfd = self.pidfd, -1
        if pidfd >= 0:
            os.close(pidfd)

    def __del__(self) -> None:
        """Whoever had it may have been interrupted, or out of memory, before it was closed or stored. The socket then
        closes itself, the pidfd does not. After `close` there is none.
        """
        self._close_pidfd()


_PAYLOADS: dict[type[Struct], str] = {
    m.Assign: "value",
    m.ToolReply: "value",
    m.Query: "query",
    m.Invoke: "arguments",
}
"""The field with a value or a query, of the messages that have one: all else in a message is small."""
