"""Programs that a policy lists (`danger_allow_commands`), run in a workspace, as confined as guest code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.session.output import OutputFile
from safeexec.engine.host.startup.programs import locate
from safeexec.engine.host.waiting import Core, worked
from safeexec.engine.host.watch import lineage
from safeexec.engine.host.watch.account import Subject
from safeexec.engine.host.watch.accountant import accountant
from safeexec.engine.host.watch.clock import Watch, timeout_of
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.engine.linux import processes
from safeexec.errors import PolicyError, ProtocolError
from safeexec.protocol import messages as m
from safeexec.results import CommandResult, Usage

if TYPE_CHECKING:
    from safeexec.engine.host.children import Children
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.linux.cgroups import Group
    from safeexec.engine.policy.model import Policy

ARGUMENT_BYTES = 128 << 10
"""The most bytes of one word of a command line: what Linux takes (MAX_ARG_STRLEN)."""
ARGV_BYTES = 1 << 20
"""The most bytes of all words together. Linux takes a quarter of the stack's limit, 2 MiB as a rule."""


def environment(home: str, memory_mb: int) -> dict[str, str]:
    """Return the variables of a command: where programs and temporary files are, and nothing of the host's own."""
    return {
        "PATH": os.pathsep.join((os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": home,
        "LOGNAME": "guest",
        "TMPDIR": os.path.join(home, "tmp"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # As in `zygote.preload`: for DuckDB.
        "SLURM_CPUS_ON_NODE": "1",
        "SLURM_MEM_PER_NODE": str((memory_mb << 20) // 1_000_000),
        # Git fails where the machine's settings are in view but refused, as without a root of the session's own.
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
    }


def check(policy: Policy, argv: Sequence[str], timeout: float | None) -> tuple[str, float]:
    """Return the program's path and its limit in seconds. Raises `PolicyError` for what the policy does not allow, and
    TypeError or ValueError for what is no command line or no time.
    """
    if (
        isinstance(argv, (str, bytes))
        or not argv
        or not all(isinstance(word, str) and "\0" not in word for word in argv)
    ):
        raise ValueError("argv is a list of str: the program and its arguments")
    try:
        sizes = [len(word.encode()) + 1 for word in argv]
    except UnicodeEncodeError:
        raise ValueError("argv holds a lone surrogate, which is no text") from None
    if max(sizes) > ARGUMENT_BYTES or sum(sizes) > ARGV_BYTES:
        raise ValueError(
            f"argv has {sum(sizes)} bytes, {max(sizes)} in its longest word; {ARGV_BYTES} and {ARGUMENT_BYTES} are "
            "allowed: put long texts into a file of the workspace"
        )
    if argv[0] not in policy.danger_allow_commands:
        allowed = ", ".join(policy.danger_allow_commands) or "none"
        raise PolicyError(
            f"the policy {policy.name!r} does not allow the command {argv[0]!r} (danger_allow_commands: {allowed}, "
            f"{policy.origin('danger_allow_commands') or 'not set'})"
        )
    seconds = timeout_of(policy, timeout)
    program = locate(argv[0])
    if program is None:
        raise PolicyError(f"there is no program {argv[0]!r} on this machine")
    return program, seconds


def run(
    children: Children,
    argv: Sequence[str],
    command: RunningCommand,
    directory: str,
    timeout: float | None,
) -> Core[CommandResult]:
    """Run one program in `directory`, a path inside the workspace. What fails is in the result."""
    program, seconds = check(command.policy, argv, timeout)
    workspace, group = command.workspace, command.group()
    workspace.make_temporary()
    limits = command.policy.limits
    most = limits.output_kb << 10
    with closing(OutputFile("stdout", most)) as out, closing(OutputFile("stderr", most)) as err:
        request = partial(
            m.RunCommand,
            argv=list(argv),
            program=program,
            directory=directory,
            home=workspace.home,
            environment=environment(workspace.home, limits.memory_mb),
        )
        channel, _ = yield from children.started(request, (out.fd, err.fd), "command")
        assert channel.pid is not None  # it has said that it is ready
        pid = command.pid = channel.pid
        watch = Watch(channel, limits, seconds, (out, err), command.room)
        accountant().add(command)

        def spent() -> tuple[float, float]:
            wall, cpu = watch.spent()
            return wall, max(command.account.cpu_seconds, cpu)

        try:
            if group is not None:
                with suppress(OSError):  # it has ended already
                    group.add(pid)
            outcome, status, message = yield from _end(channel, command, watch)
            # The program is gone or will be: what it has printed until now is all there is.
            printed, warned = out.text(most), err.text(most)
            wall, cpu = spent()
            usage = Usage(wall * 1e3, cpu * 1e3, 0.0, printed.size + warned.size)
            cut = printed.left_out > 0 or warned.left_out > 0
            return CommandResult(outcome, status, printed.text, warned.text, usage, message, cut)
        finally:
            _, command.cpu_seconds = spent()
            accountant().remove(command)
            # Nothing of a command outlives it: neither the program nor what it started.
            processes.signal_group(channel.pidfd, pid, signal.SIGKILL)
            channel.kill()
            yield from channel.wait_ended(monotonic() + lineage.KILL_SECONDS)
            channel.close()


def _end(channel: Channel, command: RunningCommand, watch: Watch) -> Core[tuple[Any, int | None, str]]:
    """Wait until the program has ended, or is to be ended. Returns outcome, exit status and what happened."""
    while True:
        try:
            answer = yield from channel.receive(watch.next_look())
        except (Gone, ProtocolError) as error:
            if (verdict := command.verdict) is None:
                return "crashed", None, f"the process that watched the command ended: {error}"
            return verdict.outcome, None, verdict.message
        if isinstance(answer, m.Exited):
            # A flood may end by itself between two looks, at the end of the file: with an error of its own.
            counted = yield from worked(command.room.count)
            if (verdict := command.verdict or counted or watch.check_output()) is None:
                return "ok" if answer.status == 0 else "error", answer.status, ""
            return verdict.outcome, answer.status, verdict.message
        if (verdict := command.verdict or (yield from watch.look())) is not None:
            return verdict.outcome, None, verdict.message


class RunningCommand(Subject):
    """All processes of a command as the accountant sees them: the program, and what it starts. That may fork, and its
    caller ends it at its deadline.
    """

    def __init__(self, policy: Policy, workspace: Workspace, group: Group | None) -> None:
        super().__init__(policy.limits, forks=True)
        self.policy = policy
        self.verdict: Verdict | None = None
        self.workspace = workspace
        self.pid = 0
        """The first of them, once there is one."""
        self.cpu_seconds = 0.0
        """CPU time of all of them, once it has ended."""
        self._group = group

    def lineage_leaders(self) -> Collection[int]:
        return (self.pid,)

    def files(self) -> tuple[Workspace | None, Collection[int]]:
        return self.workspace, self.account.guests()

    def group(self) -> Group | None:
        return self._group

    def exceed(self, verdict: Verdict, hostile: Collection[int] = ()) -> None:
        """Have whoever waits for it end it, at the next look at the clock."""
        self.verdict = self.verdict or verdict
