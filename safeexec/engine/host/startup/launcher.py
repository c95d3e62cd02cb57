"""A zygote as the host sees it: configured once, then it makes children on request."""

from __future__ import annotations

import contextlib
import os
import socket
from time import monotonic

import msgspec

from safeexec.engine.host.patience import note_boot, patient
from safeexec.engine.host.session.channel import CHUNK
from safeexec.engine.host.startup.launch import Launched
from safeexec.engine.host.waiting import Core, Wait, wait
from safeexec.engine.host.watch.gate import ForkGate
from safeexec.engine.linux import processes
from safeexec.errors import ProtectionError, ProtocolError, SandboxClosed
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism
from safeexec.protocol.conversation import FrameReader, frame

START_SECONDS = 60.0
"""A zygote that has not become ready by then is broken; importing every data library takes 4 s on a slow disk."""
CLOSE_SECONDS = 5.0
_GIVEN_SPACE = socket.CMSG_SPACE(3 * 4)
FULL_SECONDS = 10.0
"""Time that the zygote's socket may stay full; it forks in 1 ms."""
_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(m.FromZygote)


class ZygoteHandle:
    """The host's end of one zygote."""

    def __init__(self, launched: Launched) -> None:
        self.socket = launched.socket
        self.pid = launched.pid
        self.pidfd = launched.pidfd
        self._log = launched.log
        self._inner = -1
        self._given: tuple[int, ...] = ()
        self._commands = self.socket
        """The socket on which commands are requested."""
        self.proc = -1
        """The ``/proc`` that its children see, -1 where that is no concern."""
        self.gate = ForkGate(-1, -1)
        self.reapers: tuple[int, ...] = ()
        self.mechanisms: list[Mechanism] = []
        self._problem: dict[int, str] = {}
        self._reader = FrameReader()
        self.socket.setblocking(False)
        processes.pass_identity(self.socket, True)

    def start(self, configure: m.Configure) -> Core[None]:
        """Configure the zygote and wait until it is ready. Raises `ProtectionError` with its words if it cannot be."""
        try:
            note_boot(0.0)  # until this one has said how long it took: the machine may be faster than for the last
            yield from self._send(configure)
            message = yield from self._receive(monotonic() + patient(START_SECONDS))
        except BaseException:
            yield from self.close()
            raise
        if not isinstance(message, m.ZygoteReady) or not self.reapers:
            reason = message.message if isinstance(message, m.ZygoteFailed) else self.log() or "it ended without a word"
            yield from self.close()
            raise ProtectionError(f"the zygote could not start: {reason}")
        note_boot(message.boot_seconds)
        self.mechanisms = message.mechanisms
        given = dict(zip(message.sent, self._given, strict=False))
        self.gate = ForkGate(given.get("gate", -1), self.reapers[1])
        self.proc = given.get("proc", -1)
        if "commands" in given:
            self._commands = socket.socket(fileno=given["commands"])
            self._commands.setblocking(False)

    def spawn(self, request: m.Spawn | m.RunCommand, fds: tuple[int, ...]) -> None:
        """Ask for a child. Its control socket is the first of `fds`; there it says Ready, or the socket ends."""
        rest = memoryview(frame(_encode(request)))
        deadline = monotonic() + patient(FULL_SECONDS)
        handed = False
        to = self._commands if isinstance(request, m.RunCommand) else self.socket
        try:
            while rest:
                try:
                    # Longer than the socket's buffer, it goes in parts; the descriptors go with the first one.
                    sent = to.send(rest) if handed else socket.send_fds(to, [rest], fds)
                    rest, handed = rest[sent:], True
                except BlockingIOError:
                    # Some 278 requests wait unread: hundreds of sessions were opened at once.
                    if not wait(Wait((to.fileno(),), deadline, writable=True)):
                        raise TimeoutError(f"it has not read its requests for {patient(FULL_SECONDS):.1f} s") from None
        except OSError as error:
            if handed:
                # Part of a request was sent: whatever came after it would be read as its rest, so nothing may come.
                with contextlib.suppress(OSError):
                    to.shutdown(socket.SHUT_RDWR)
                processes.kill(self._inner if self._inner >= 0 else self.pidfd)
            raise SandboxClosed(f"the zygote is gone ({error.strerror or error}); reopen the sandbox") from None

    def problem(self, number: int) -> str:
        """Return why child `number` could not be made, in the zygote's words, or an empty string."""
        with contextlib.suppress(OSError):
            self._read_messages(self.socket.recv(CHUNK))
        return self._problem.pop(number, "")

    @property
    def alive(self) -> bool:
        return (
            self.pidfd >= 0
            and not processes.has_ended(self.pidfd)
            and not (self._inner >= 0 and processes.has_ended(self._inner))
        )

    def log(self) -> str:
        """Return the last lines that the zygote wrote to its standard error, for messages about its failure."""
        size = os.fstat(self._log).st_size
        return os.pread(self._log, 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()

    def disown(self) -> None:
        """Close this process's copies of the descriptors, in a fork of the process that started the zygote."""
        self.gate.disown()
        self._let_go()

    def _let_go(self) -> None:
        self.socket.close()
        self._commands.close()
        for fd in (self.pidfd, self._inner, self._log, self.proc):
            if fd >= 0:
                os.close(fd)
        self.pidfd = self._inner = self.proc = -1

    def close(self) -> Core[None]:
        """End the zygote and with it every process of the sandbox; reap it."""
        if self.pidfd < 0:
            return
        self.socket.close()
        if self._inner >= 0:
            # Process 1 of the pid namespace: the kernel ends and reaps everything in it before this pidfd says it has
            # gone. Where there is no such namespace, the reaper ends what is left when it sees the zygote go, and then
            # itself.
            processes.kill(self._inner)
            deadline = monotonic() + patient(CLOSE_SECONDS)
            yield Wait((self._inner,), deadline)
            yield Wait((self.pidfd,), deadline)
        processes.kill(self.pidfd)
        yield Wait((self.pidfd,), monotonic() + patient(CLOSE_SECONDS))
        yield from self.gate.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        self._let_go()

    def _send(self, message: msgspec.Struct) -> Core[None]:
        rest = memoryview(frame(_encode(message)))
        deadline = monotonic() + patient(START_SECONDS)
        while rest:
            try:
                rest = rest[self.socket.send(rest) :]
            except BlockingIOError:
                if not (yield Wait((self.socket.fileno(),), deadline, writable=True)):
                    raise ProtectionError("the zygote does not read its configuration") from None
            except OSError:
                return  # it has ended; what it wrote to its log says why

    def _receive(self, deadline: float) -> Core[m.FromZygote | None]:
        while True:
            if not (yield Wait((self.socket.fileno(),), deadline)):
                raise ProtectionError(f"the zygote was not ready after {patient(START_SECONDS):.0f} s")
            try:
                data, ancillary, _, _ = self.socket.recvmsg(CHUNK, processes.IDENTITY_SPACE + _GIVEN_SPACE)
            except ConnectionResetError:
                return None
            if not data:
                return None
            if self._inner < 0:
                # The process that serves is not the one that was started: that one stays behind as its reaper.
                # No guest code has run yet: these descriptors are the only ones that are ever taken from a process.
                self._given, ancillary = processes.take_descriptors(ancillary)
                with contextlib.suppress(ProcessLookupError):  # it has ended: what it said says why
                    pid, self._inner = processes.sender(ancillary)
                    self.reapers = (self.pid, pid)
                    processes.pass_identity(self.socket, False)
            messages = self._read_messages(data)
            if messages:
                return messages[0]

    def _read_messages(self, data: bytes) -> list[m.FromZygote]:
        received: list[m.FromZygote] = []
        for payload in self._reader.feed(data):
            try:
                message = _decoder.decode(payload)
            except msgspec.DecodeError as error:
                raise ProtocolError(f"the zygote sent a message that cannot be read: {error}") from None
            if isinstance(message, m.SpawnFailed):
                self._problem[message.number] = message.message
            received.append(message)
        return received
