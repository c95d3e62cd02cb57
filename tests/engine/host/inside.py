"""What only the inside of a session tells: its processes, what its watch has seen, what serves its guest. No other
helper reads it.
"""

from __future__ import annotations

from typing import Any

import pytest

from safeexec import AsyncSandbox, Sandbox, Session
from safeexec.engine.child.process.serve import DEBT_SECONDS
from safeexec.engine.host.waiting import drive
from safeexec.engine.linux import processes
from tests.footprint import until

SERVER = """
import sys
server, frame = None, sys._getframe()
while type(server).__name__ != "Server":
    server, frame = frame.f_locals.get("self"), frame.f_back
"""
"""Guest code that finds what serves it: it can then do what no honest child does."""
SPEAKS = f"""{SERVER}
import os, socket, struct, time
import msgspec
pack = msgspec.msgpack.encode

def say(*payloads, to=server.link.socket):
    to.sendall(b"".join(struct.pack("<I", len(payload)) + server.link.token + payload for payload in payloads))
"""
"""Guest code that says to the host what it likes."""


def runner_of(session: Session) -> Any:
    """The process that runs its steps now, or None."""
    return session._core.processes.runner_pid()


def pids_of(session: Session) -> list[int]:
    """The processes that the host has asked for: runner and copies."""
    return list(session._core.processes.pids())


def members(session: Session) -> list[int]:
    """All of its processes, of whatever guest code has forked too."""
    return [stat.pid for leader in session._core.processes.leaders() for stat in processes.session_members(leader)]


def newest_copy(session: Session) -> Any:
    return session._core.processes.copies.automatic[-1]


def frozen(session: Session) -> int:
    """The process of the newest checkpoint, as soon as there is one."""
    until(lambda: newest_copy(session).pid() is not None)
    pid = newest_copy(session).pid()
    assert pid is not None
    return pid


def ended_at_rest(session: Session) -> bool:
    """Whether the watch has ended its process between two steps. Whoever was at work with the session then has left a
    note of it.
    """
    supervisor = session._core.supervisor
    return supervisor.idle_violation is not None or any("between its steps" in note for note in supervisor.notes_next)


def rests(session: Session) -> bool:
    """Let it rest now. Whether it has given up its process."""
    core = session._core
    drive(core.turns.attend(core.rest))
    return core.processes.runner is None


def may_rest(session: Session) -> bool:
    """Let it rest now, where nothing but the time that its steps took may forbid it. Whether it has given up its
    process. Skips the test where they took more processor than is repeated, 8 ms being usual: their state has a copy.
    """
    if rests(session):
        return True
    if (seconds := session._core.processes.runner.channel.cpu_seconds()) > DEBT_SECONDS:
        pytest.skip(f"on this machine, now, the steps took {seconds * 1000:.0f} ms of processor: they are not repeated")
    return False


def open_sessions(sandbox: Sandbox | AsyncSandbox) -> list[Any]:
    return list(sandbox._core.sessions.of_callers())


def is_alive(sandbox: Sandbox) -> bool:
    """Whether its zygote is there."""
    return sandbox._core.alive
