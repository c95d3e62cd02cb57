"""`safeexec.host.startup.launcher`: a zygote that ends, cannot start or does not read is an error that says so."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from safeexec import Policy, ProtectionError, Sandbox, SandboxClosed
from safeexec.host.startup import launcher
from safeexec.host.startup.configuration import configuration
from safeexec.host.startup.launch import Launched
from safeexec.host.startup.launcher import ZygoteHandle
from safeexec.host.tools.toolbox import Toolbox
from safeexec.host.waiting import drive
from safeexec.linux import processes
from safeexec.protocol import messages as m
from tests.footprint import pause


def test_a_zygote_that_ends_before_it_is_ready_leaves_nothing() -> None:
    policy = Policy.load("calculator")
    configure, _ = configuration(policy, Toolbox({}, policy, None), None, None)
    before = os.listdir("/proc/self/fd")
    launched = Launched({})
    zygote = ZygoteHandle(launched)
    os.kill(launched.pid, signal.SIGKILL)
    with pytest.raises(ProtectionError, match="the zygote could not start: it ended without a word"):
        drive(zygote.start(configure))
    assert not zygote.alive and os.listdir("/proc/self/fd") == before
    with pytest.raises(ChildProcessError):
        os.waitpid(launched.pid, 0)


def test_a_python_that_cannot_be_started_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.listdir("/proc/self/fd")
    for python, error in (("", ProtectionError), ("/no/such/python", FileNotFoundError)):
        monkeypatch.setattr("sys.executable", python)
        with pytest.raises(error):
            Launched({})
    assert os.listdir("/proc/self/fd") == before


def test_on_another_system_nothing_is_started_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ProtectionError, match="this is darwin: only Linux"):
        Sandbox("calculator").open()


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[ZygoteHandle]:
    """A zygote that reads nothing."""
    monkeypatch.setattr(launcher, "FULL_SECONDS", 0.2)
    with Sandbox("calculator", spare=0) as sandbox:
        zygote = sandbox._core._zygote
        assert zygote is not None
        signal.pidfd_send_signal(zygote._inner, signal.SIGSTOP)
        yield zygote


def test_requests_that_are_not_read_are_refused_whole(stopped: ZygoteHandle) -> None:
    """None is there in part: once it goes on, it serves again."""
    with open(os.devnull) as file, pytest.raises(SandboxClosed, match=r"it has not read its requests for 0\.2 s"):
        while True:
            stopped.spawn(m.Spawn(number=1), (file.fileno(),) * 3)
    signal.pidfd_send_signal(stopped._inner, signal.SIGCONT)
    assert stopped.alive


def test_a_request_of_which_a_part_was_sent_is_the_last_one(stopped: ZygoteHandle) -> None:
    """Whatever came next would be read as its rest."""
    request = m.RunCommand(number=1, argv=["a" * 1000] * 900, program="/bin/true", directory="/", home="/")
    with open(os.devnull) as file, pytest.raises(SandboxClosed, match="it has not read its requests"):
        while True:
            stopped.spawn(request, (file.fileno(),) * 3)
    while not processes.has_ended(stopped._inner):
        pause()
    assert not stopped.alive
