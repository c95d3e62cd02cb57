"""`safeexec.engine.host.startup.launcher`: a zygote that ends, cannot start or read is an error that says so."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import sys
import termios
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import msgspec
import pytest

from safeexec import Policy, ProtectionError, ProtocolError, Sandbox, SandboxClosed
from safeexec.engine.host.startup import launcher
from safeexec.engine.host.startup.launch import Launched
from safeexec.engine.host.startup.launcher import ZygoteHandle
from safeexec.engine.host.waiting import Wait, drive
from safeexec.engine.linux import processes
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import frame
from tests.footprint import until


def test_a_python_that_cannot_be_started_leaves_nothing_and_on_another_system_none_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = os.listdir("/proc/self/fd")
    for python, says in (
        ("", "does not know the Python"),
        ("/no/such/python", "No such file"),
        ("/etc/passwd", "Permission denied for user .* open its folders to others"),
    ):
        monkeypatch.setattr(sys, "executable", python)
        with pytest.raises(ProtectionError, match=says):
            Launched({})
    assert os.listdir("/proc/self/fd") == before
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("PATH", "")  # no container engine
    with pytest.raises(ProtectionError, match="darwin"):
        Sandbox("calculator").open()


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[ZygoteHandle]:
    """A zygote that reads nothing."""
    monkeypatch.setattr(launcher, "FULL_SECONDS", 0.2)
    with Sandbox("calculator", spare=0) as sandbox:
        zygote = sandbox._core.children.zygote
        signal.pidfd_send_signal(zygote._inner, signal.SIGSTOP)
        yield zygote


LONG = m.RunCommand(number=1, argv=["a" * 1000] * 900, program="/bin/true", directory="/", home="/")


@pytest.mark.parametrize(("request_", "whole"), [(m.Spawn(number=1), True), (LONG, False)], ids=["whole", "in part"])
def test_requests_that_are_not_read_are_refused_and_one_that_was_sent_in_part_is_the_last(
    stopped: ZygoteHandle, request_: Any, whole: bool
) -> None:
    """Whatever came after a part would be read as its rest."""
    with open(os.devnull) as file, pytest.raises(SandboxClosed, match=r"it has not read its requests for [\d.]+ s"):
        while True:
            stopped.spawn(request_, (file.fileno(),) * 3)
    if whole:
        signal.pidfd_send_signal(stopped._inner, signal.SIGCONT)
    else:
        until(lambda: processes.has_ended(stopped._inner))
    assert stopped.alive is whole


def test_requests_without_room_wait_until_it_reads_on(stopped: ZygoteHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "FULL_SECONDS", 60.0)
    wait, waited = launcher.wait, list[bool]()

    def go_on_and_wait(request: Wait) -> bool:
        signal.pidfd_send_signal(stopped._inner, signal.SIGCONT)
        waited.append(wait(request))
        return waited[-1]

    monkeypatch.setattr(launcher, "wait", go_on_and_wait)
    with open(os.devnull) as file:
        while not waited:
            stopped.spawn(m.Spawn(number=1), (file.fileno(),) * 3)
    assert stopped.alive


Peer = Callable[[socket.socket, int], None]
ZygoteThat = Callable[[Peer], ZygoteHandle]


@pytest.fixture
def zygote_that() -> Iterator[ZygoteThat]:
    """A handle of a process that has one end of the socket, and the log, and does not do what a zygote does."""
    before, pids = os.listdir("/proc/self/fd"), []

    def made(act: Peer) -> ZygoteHandle:
        launched: Any = Launched.__new__(Launched)
        launched.socket, theirs = socket.socketpair()
        launched.log = os.memfd_create("log")
        launched.pid = os.fork()
        if launched.pid == 0:
            launched.socket.close()
            try:
                act(theirs, launched.log)
                signal.pause()
            finally:
                os._exit(1)
        pids.append(launched.pid)
        theirs.close()
        launched.pidfd = os.pidfd_open(launched.pid)
        return ZygoteHandle(launched)

    yield made
    left = []
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            left.append(os.waitpid(pid, 0))
        except ProcessLookupError:
            pass
    assert not left and os.listdir("/proc/self/fd") == before


def says(*messages: msgspec.Struct) -> bytes:
    return b"".join(frame(msgspec.msgpack.encode(message)) for message in messages)


READY = m.ZygoteReady(mechanisms=[])
CONFIGURE: Any = m.SpawnFailed(0, "")
"""Whatever it is told: none of these reads it as a zygote would."""


def answering(data: bytes) -> Peer:
    """One that hears what it is told, and sends this."""

    def act(ours: socket.socket, _: int) -> None:
        ours.recv(1)
        ours.sendall(data)

    return act


silent, garbled = answering(b""), answering(frame(b"\xc1"))


def deaf(_: socket.socket, __: int) -> None: ...


def in_two_parts(ours: socket.socket, _: int) -> None:
    ours.recv(1)
    data = says(m.ZygoteFailed("there is no memory"))
    ours.sendall(data[:7])
    while int.from_bytes(fcntl.ioctl(ours, termios.TIOCOUTQ, bytes(4)), "little"):
        os.sched_yield()
    ours.sendall(data[7:])


def breaking_off(ours: socket.socket, log: int) -> None:
    """It ends with unread data: the host's end is reset."""
    select.select([ours], [], [])
    os.write(log, b"ImportError: no such module\n")
    ours.close()


@pytest.mark.parametrize(
    ("act", "error", "told"),
    [
        (silent, ProtectionError, "the zygote was not ready after 0 s"),
        (deaf, ProtectionError, "the zygote does not read its configuration"),
        (garbled, ProtocolError, "the zygote sent a message that cannot be read"),
        (in_two_parts, ProtectionError, "the zygote could not start: there is no memory"),
        (breaking_off, ProtectionError, "the zygote could not start: ImportError: no such module"),
    ],
)
def test_a_zygote_that_does_not_become_ready_is_ended_and_says_why(
    zygote_that: ZygoteThat, monkeypatch: pytest.MonkeyPatch, act: Peer, error: type[Exception], told: str
) -> None:
    if act in (silent, deaf):
        monkeypatch.setattr(launcher, "START_SECONDS", 0.1)
    zygote = zygote_that(act)
    request: Any = m.SpawnFailed(0, "x" * (8 << 20)) if act is deaf else CONFIGURE
    with pytest.raises(error, match=told):
        drive(zygote.start(request))
    assert not zygote.alive
    drive(zygote.close())


def test_why_a_child_could_not_be_made_is_told_once(zygote_that: ZygoteThat) -> None:
    def fails(ours: socket.socket, _: int) -> None:
        told = len(says(CONFIGURE))
        while told:
            told -= len(ours.recv(told))
        ours.sendall(says(READY, m.SpawnFailed(7, "no memory")))
        ours.recv(1)
        ours.sendall(says(m.SpawnFailed(8, "no process"), m.SpawnFailed(9, "no more")))

    zygote = zygote_that(fails)
    drive(zygote.start(CONFIGURE))
    assert [zygote.problem(7), zygote.problem(7)] == ["no memory", ""]
    zygote.socket.send(b".")
    select.select([zygote.socket], [], [])
    assert [zygote.problem(number) for number in (9, 8, 10)] == ["no more", "no process", ""]
    drive(zygote.close())


def test_a_fork_of_the_host_lets_go_of_a_zygote_and_ends_nothing(zygote_that: ZygoteThat) -> None:
    zygote = zygote_that(answering(says(READY)))
    drive(zygote.start(CONFIGURE))
    held, pid = os.pidfd_open(zygote.pid), zygote.pid
    zygote.disown()
    assert not zygote.alive and not processes.has_ended(held)
    drive(zygote.close())
    assert not processes.has_ended(held), "there is nothing that it could end any more"
    processes.kill(held)
    os.waitpid(pid, 0)
    os.close(held)


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (m.ZygoteFailed("there is no memory"), "could not start: there is no memory"),
        (READY, "could not start: it ended without a word"),
    ],
    ids=["failed", "ready"],
)
def test_the_last_word_of_a_zygote_that_has_ended_since_is_heard(
    zygote_that: ZygoteThat, monkeypatch: pytest.MonkeyPatch, last: msgspec.Struct, told: str
) -> None:
    """And was reaped, by who started it: then the kernel may know no more who has said it (before Linux 6.16)."""
    known = processes.sender

    def nobody(messages: Any) -> NoReturn:
        os.close(known(messages)[1])
        raise ProcessLookupError("the kernel names no sender")

    monkeypatch.setattr(processes, "sender", nobody)
    zygote = zygote_that(answering(says(last)))
    with pytest.raises(ProtectionError, match=told):
        drive(zygote.start(CONFIGURE))
    assert not zygote.alive


@pytest.mark.parametrize("profile", ["confined-python", "deterministic"])
def test_no_script_is_run_that_another_process_names(profile: str) -> None:
    """CPython 3.14 and later: a debugger may write the name of one into the memory of a process."""
    with Sandbox(Policy.load(profile).replace(language={"mode": "python"})) as sandbox:
        result = sandbox.run("import sys\ngetattr(sys, 'is_remote_debug_enabled', bool)(), sorted(sys._xoptions)")
        assert result.value == (False, ["disable-remote-debug", "utf8"])
