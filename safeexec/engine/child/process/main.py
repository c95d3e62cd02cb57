"""What a fork of the zygote becomes: a child, or the process that runs one program of the policy's list.

Both take their descriptors, lock down, and say Ready before anything of the guest is read. A lockdown that fails ends
the process: the host sees the end of the socket, and the reason on the zygote's.

The zygote has made the parts of a child (`zygote.preload`) and run a few steps with them; here the child gets what is
its own. Every page that this code writes is copied and stays with the session: a server that each child made for itself
cost another 130 pages of 4 KiB.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from safeexec.engine.child.process import determinism
from safeexec.engine.child.process.link import Link
from safeexec.engine.child.process.lockdown import PROGRAM_STACK, STACK, Lockdown
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.child.process.serve import Server

CANNOT_EXECUTE = 126


def become_child(
    spawn: m.Spawn,
    control: int,
    stdout: int,
    stderr: int,
    shared: int,
    server: Server,
    lockdown: Lockdown,
    seed: int | None,
    packages: str | None,
) -> NoReturn:
    """Turn this fresh fork of the zygote into a locked-down child, and serve until the host closes the socket."""
    os.setsid()
    os.dup2(shared, 1)
    server.guest.streams.log.share()
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.dup2(control, server.link.fileno(), inheritable=False)
    # A library that is imported late must not try to leave its byte code beside itself: the kernel would refuse it.
    sys.dont_write_bytecode = True
    entropy = determinism.begin(seed)
    if spawn.workspace is not None:
        os.chdir(spawn.workspace)
        os.environ["HOME"] = os.environ["TMPDIR"] = spawn.workspace
    lockdown.apply(workspace=spawn.home, lowered=spawn.lowered)
    if packages is not None:
        sys.path.append(packages)  # what Python and the host have installed comes first
    guest = server.guest
    if spawn.workspace is not None and guest.language.plan.mode == "python":
        sys.path.insert(0, "")  # as `python` does: modules of the directory that a program stands in
    if guest.threads is not None and spawn.threads is not None:
        guest.threads.limit = spawn.threads
    if spawn.value is not None:
        size, depth = spawn.value
        guest.limits = server.tools.limits = replace(guest.limits, value_bytes=size, value_depth=depth)
    guest.streams.log.attach()
    server.serve(spawn, entropy)


def run_command(
    request: m.RunCommand, control: int, stdout: int, stderr: int, kept: int, lockdown: Lockdown, token: bytes
) -> NoReturn:
    """Lock this fork of the zygote down as a child is, but for the start of one program; run that beside it, report how
    it ended, so that the host learns it without being its parent, and end with everything that it left running.

    `kept`: the descriptor that the lockdown keeps, which becomes that of the control socket; `token` begins what is
    said on it.
    """
    os.setsid()
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.dup2(control, kept, inheritable=False)
    link = Link(kept, token=token)
    os.chdir(request.directory)
    lockdown.apply(workspace=request.home, lowered=[(resource.RLIMIT_STACK, STACK - PROGRAM_STACK)])
    # Ignored signals stay ignored across an exec, and a program that cannot wait for its children is broken.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    link.send(m.Ready())
    pid = os.fork()
    if pid == 0:
        _execute(request)
    _, status = os.waitpid(pid, 0)
    link.send(m.Exited(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _execute(request: m.RunCommand) -> NoReturn:
    try:
        os.execve(request.program, request.argv, request.environment)
    except OSError as error:
        os.write(2, f"{request.argv[0]}: cannot be executed: {error.strerror}\n".encode())
    finally:
        os._exit(CANNOT_EXECUTE)
