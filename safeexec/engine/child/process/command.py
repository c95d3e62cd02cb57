"""The process that runs one program of the policy's list: locked down as a child is, but for that program's start.

It stays beside the program, waits for it, and tells the host how it ended; so the host learns the exit status without
being the parent.
"""

from __future__ import annotations

import os
import resource
import signal
from typing import NoReturn

from safeexec.engine.child.process.link import Link
from safeexec.engine.child.process.lockdown import PROGRAM_STACK, STACK, Lockdown
from safeexec.protocol import messages as m

CANNOT_EXECUTE = 126


def run_command(
    request: m.RunCommand, control: int, stdout: int, stderr: int, kept: int, lockdown: Lockdown, seal: bytes
) -> NoReturn:
    """Lock this fork of the zygote down, run the program, report, and end with everything that it left running.

    `kept`: the descriptor that the lockdown keeps, which becomes that of the control socket; `seal` begins what is
    said on it.
    """
    os.setsid()
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.dup2(control, kept, inheritable=False)
    link = Link(kept, seal=seal)
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
