"""The first code of a child after the fork: take the descriptors, lock down, say Ready, serve.

The zygote has made the parts of a child (`zygote.preload`) and run a few steps with them; here the child gets what is
its own. Every page that this code writes is copied and stays with the session: a server that each child made for itself
cost another 130 pages of 4 KiB.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from safeexec.engine.child.process import randomness
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.child.process.lockdown import Lockdown
    from safeexec.engine.child.process.serve import Server


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
    """Turn this fresh fork of the zygote into a locked-down child, and serve until the host closes the socket.

    Nothing of the guest has been read when the lockdown is complete. A lockdown that fails ends the process: the host
    sees the end of the socket, and the reason on the zygote's.
    """
    os.setsid()
    os.dup2(shared, 1)
    server.guest.streams.log.share()
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.dup2(control, server.link.fileno(), inheritable=False)
    # A library that is imported late must not try to leave its byte code beside itself: the kernel would refuse it.
    sys.dont_write_bytecode = True
    entropy = randomness.begin(seed)
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
