"""The zygote's loop: fork a child on request. One thread, no guest code, no state but what was preloaded."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, NoReturn

import msgspec
from msgspec.structs import replace

from safeexec.engine import advice
from safeexec.engine.child.link import Link
from safeexec.engine.child.process import determinism, substitutes
from safeexec.engine.child.process.lockdown import PROGRAM_STACK, STACK, Lockdown
from safeexec.engine.child.repeat.objects import look_at_modules
from safeexec.engine.child.step import caught
from safeexec.engine.linux import processes, seccomp
from safeexec.engine.linux.fork import fork
from safeexec.engine.linux.libc import make
from safeexec.engine.zygote import preload
from safeexec.engine.zygote.confine import enter
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.engine.child.process.serve import Server

CANNOT_EXECUTE = 126
COMMAND_FDS = 3
"""Control socket, stdout, stderr."""
SPAWN_FDS = 4
"""Control socket, stdout, stderr, and the file in which the host reads what Python code prints."""
IDLE_SECONDS = 0.02
"""Time without a request before the zygote goes on with its late imports: no child waits for one."""
FIRST_IDLE_SECONDS = 0.2
"""Time without a request just after the start of the zygote: the steps that a sandbox was opened for
come then, and may have one core only.
"""
BUSY = 8
"""After so many children, one late import is made before each further one, even without a pause. Where there never is a
pause, each child whose program fails would have to make all of them itself.
"""


class Zygote:
    """Everything a child is made of, and the socket on which the host requests one."""

    def __init__(
        self, link: Link, configure: m.Configure, server: Server, lockdown: Lockdown, command_lockdown: Lockdown | None
    ) -> None:
        self.link, self.server = link, server
        self.lockdown, self.command_lockdown = lockdown, command_lockdown
        self.seed, self.packages = configure.seed, configure.packages
        late = [(name, partial(importlib.import_module, name)) for name in preload.LATE] + advice.late_imports()
        self._late: list[tuple[str, Callable[[], object]]] = [("look at modules", look_at_modules)]
        """Work that no first result waits for, left to be done in pauses, each piece with a name."""
        self._late += [(f"import of {name}", work) for name, work in late]
        self._late_begun = self._warmed = False
        self._forked = 0

    def serve(self) -> NoReturn:
        """Fork on request until the host closes the socket."""
        if self.lockdown.plan.files == "none":
            while self._late:  # no child could import it, where nothing but seccomp holds what is opened
                self._prepare(*self._late.pop(0))
        while True:
            self._use_pause()
            self._make(self.link)
            self._forked += 1

    def _make(self, link: Link) -> None:
        """Make what the next request on `link` says. If that fails, the host gets the reason."""
        request = link.receive()
        wanted = SPAWN_FDS if isinstance(request, m.Spawn) else COMMAND_FDS
        fds = [fd for _ in range(wanted) if (fd := link.take_fd()) is not None]
        pid = -1
        try:
            if len(fds) < wanted:
                # The kernel leaves out what has no room in this process's table, and delivers the rest.
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            pid = fork()
        except OSError as error:
            self.link.send(m.SpawnFailed(request.number, f"the zygote cannot fork: {error.strerror}"))
        if pid == 0:
            self._become(request, *fds)
        for fd in fds:
            os.close(fd)

    def begin_commands(self) -> int:
        """Fork what makes the commands, before the gate is there: they may start programs as they like, and no program
        expects that a signal interrupts a fork. (A shell of which a child ended while the next fork waited for the host
        said "Cannot fork": 46 of 180 pipelines of dash on a busy machine.) It ends with this process.

        Returns the socket on which the host requests one: what came through this process counted against the limit of a
        child (of 200 commands at once, 120 met ETOOMANYREFS).
        """
        assert self.command_lockdown is not None
        hosts, own = socket.socketpair()
        if fork() == 0:
            hosts.close()
            make([processes.setting_death_signal()])
            self.command_lockdown.parent = os.getpid()
            link = Link(own.detach(), self.link.decoder)
            while True:
                self._make(link)
        own.close()
        return hosts.detach()

    def _use_pause(self) -> None:
        """Do what is left to prepare, as long as no request comes."""
        without_pause = self._forked >= BUSY
        while self._late:
            if not self.link.quiet(IDLE_SECONDS if self._late_begun else FIRST_IDLE_SECONDS):
                if not without_pause:
                    break
                without_pause = False
            self._late_begun = True
            self._prepare(*self._late.pop(0))
        if not self._warmed and not self._late:
            self._warmed = True
            self._try("warm-up", partial(preload.warm, self.server))
            self.lockdown.measure()

    def _prepare(self, what: str, act: Callable[[], object]) -> None:
        self._try(what, act)
        self._try("warm-up", self.server.warm_up)  # what steps look for in new modules is found here, once for all
        preload.freeze_heap()

    def _try(self, what: str, act: Callable[[], object]) -> None:
        """Do something that children can do without. A failure is logged, and listed in the protection of each session
        to come: it ends no sandbox.
        """
        try:
            act()
        except BaseException as error:
            problem = f"{what} failed ({type(error).__name__}: {error})"
            print(problem, file=sys.stderr)
            if problem not in self.server.unprepared:
                self.server.unprepared.append(problem)

    def _become(self, request: m.Spawn | m.RunCommand, *fds: int) -> NoReturn:
        """Be what a fork of the zygote becomes: a child, or the process that runs one program of the policy's list.

        Both take their descriptors, lock down, and say Ready before anything of the guest is read. A lockdown that
        fails ends the process: the host sees the end of the socket, and the reason on the zygote's.
        """
        host, status = self.link.fileno(), 70
        try:
            # The descriptor of this link becomes that of the child's own; a copy of it lives until the lockdown.
            host = os.dup(host)
            os.setsid()  # by the number of this kernel session the host finds all that descends from it
            if isinstance(request, m.RunCommand):
                self._run_command(request, *fds)
            else:
                self._serve_guest(request, *fds)
        except BaseException as error:
            if isinstance(error, MemoryError):
                status = m.OUT_OF_MEMORY
            _report(host, request.number, error)
        finally:
            os._exit(status)

    def _serve_guest(self, spawn: m.Spawn, control: int, stdout: int, stderr: int, shared: int) -> None:
        """Turn this fresh fork into a locked-down child, and serve until the host closes the socket.

        The zygote has made the parts of a child (`zygote.preload`) and run a few steps with them; here the child gets
        what is its own. Every page that this code writes is copied and stays with the session: a server that each child
        made for itself cost another 130 pages of 4 KiB.
        """
        guest, link = self.server.guest, self.server.link
        os.dup2(shared, 1)  # for this moment: the call that maps it was made ready in the zygote, for descriptor 1
        guest.streams.log.share()
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.dup2(control, link.fileno(), inheritable=False)
        # A library that is imported late must not try to leave its byte code beside itself: the kernel would refuse it.
        sys.dont_write_bytecode = True
        entropy = determinism.begin(self.seed)
        if spawn.workspace is not None:
            os.chdir(spawn.workspace)
            os.environ["HOME"] = os.environ["TMPDIR"] = spawn.workspace
        self.lockdown.apply(workspace=spawn.home, lowered=spawn.lowered)
        if self.packages is not None:
            sys.path.append(self.packages)  # what Python and the host have installed comes first
        if spawn.workspace is not None and guest.language.plan.mode == "python":
            sys.path.insert(0, "")  # as `python` does: modules of the directory that a program stands in
        if guest.threads is not None and spawn.threads is not None:
            guest.threads.limit = spawn.threads
        if spawn.value is not None:
            size, depth = spawn.value
            guest.limits = self.server.tools.limits = replace(guest.limits, value_bytes=size, value_depth=depth)
        guest.streams.log.attach()
        self.server.serve(spawn, entropy)

    def _run_command(self, request: m.RunCommand, control: int, stdout: int, stderr: int) -> None:
        """Lock this fork down as a child is, but for the start of one program; run that beside it, report how it ended,
        so that the host learns it without being its parent, and end with everything that it left running.
        """
        assert self.command_lockdown is not None
        kept = self.server.link.fileno()
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.dup2(control, kept, inheritable=False)
        link = Link(kept, token=self.server.link.token)
        os.chdir(request.directory)
        self.command_lockdown.limit()  # here: what makes the commands would have used up the CPU time of one
        self.command_lockdown.apply(workspace=request.home, lowered=[(resource.RLIMIT_STACK, STACK - PROGRAM_STACK)])
        # Ignored signals stay ignored across an exec, and a program that cannot wait for its children is broken.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        link.send(m.Ready())
        pid = os.fork()
        if pid == 0:
            try:
                os.execve(request.program, request.argv, request.environment)
            except OSError as error:
                os.write(2, f"{request.argv[0]}: cannot be executed: {error.strerror}\n".encode())
            finally:
                os._exit(CANNOT_EXECUTE)
        _, status = os.waitpid(pid, 0)
        link.send(m.Exited(os.waitstatus_to_exitcode(status)))
        os._exit(0)


def _report(host: int, number: int, error: BaseException) -> None:
    """Say on descriptor `host`, and in the log, why child `number` could not be made. First to the host: with few
    rights and descriptors left, the module that formats a traceback may not be importable.
    """
    with contextlib.suppress(OSError):
        Link(host).send(m.SpawnFailed(number, f"{type(error).__name__}: {error}"))
    import traceback

    sys.stderr.write("".join(traceback.format_exception(error)))


def run(fd: int, began: float) -> NoReturn:
    """Become a zygote: read the configuration from `fd`, confine, preload, say so, serve. It `began` to boot then."""
    link = Link(fd, msgspec.msgpack.Decoder(m.ToZygote))
    # While the host makes its plans: what every zygote needs, and nothing that a policy chooses.
    preload.import_modules(preload.COMMON)
    took = monotonic() - began
    # Nobody waits for children here; the kernel reaps them, and the host learns how they ended from their pidfds.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    configure = link.receive()
    try:
        zygote, mechanisms = prepare(link, configure)
    except BaseException as error:
        link.send(m.ZygoteFailed(f"{type(error).__name__}: {error}"))
        os._exit(1)
    _say_ready(zygote, mechanisms, configure, took)
    zygote.lockdown.limit()
    zygote.serve()


def _say_ready(zygote: Zygote, mechanisms: list[Mechanism], configure: m.Configure, took: float) -> None:
    """Say so, with what only this process can give: the descriptors go to the host and nowhere else."""
    link, sent = zygote.link, dict[m.GivenByZygote, int]()
    if configure.command is not None:
        sent["commands"] = zygote.begin_commands()
    if configure.confinement.fork_gate:
        sent["gate"] = seccomp.install_fork_gate()  # from here on this process's own forks ask, too
        detail = "no fork without the host's permission: checkpoints, branches, and what limits.processes allows"
        mechanisms = [*mechanisms, Mechanism("fork-gate", True, detail)]
    if configure.child.landlock and configure.child.files != "none" and configure.child.proc == "/proc":
        sent["proc"] = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
    socket.send_fds(link.socket, [link.packed(m.ZygoteReady(mechanisms, list(sent), took))], list(sent.values()))
    for fd in sent.values():
        os.close(fd)


def prepare(link: Link, configure: m.Configure) -> tuple[Zygote, list[Mechanism]]:
    """Confine first, so that no library of the policy is imported with more rights than it needs; then preload."""
    preload.prepare_environment(configure)
    mechanisms = enter(configure.confinement)
    determinism.watch_entropy()
    if configure.seed is not None:
        determinism.install(configure.seed, configure.clock)
    preload.import_modules(configure.preload)
    server = preload.build_server(configure, link.fileno())
    # The plan of the children comes last: it is the one by which this process explains refusals.
    command = Lockdown(configure.command, (link.fileno(),)) if configure.command is not None else None
    lockdown = Lockdown(configure.child, (link.fileno(),))
    caught.listen(configure.child)
    server.guest.language.close_paths(caught.closed_paths(configure.child))
    if not configure.limits.processes:
        substitutes.refuse_programs()
    preload.finish(server)
    return Zygote(link, configure, server, lockdown, command), [*mechanisms, *lockdown.mechanisms]
