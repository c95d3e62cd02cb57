"""Commands: programs that a policy lists (`danger_allow_commands`), run in a workspace under the same confinement as
guest code.

A program is more than its file: a script needs its interpreter, a dynamic executable its loader. All of them, and
nothing else, may be executed.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.session.output import OutputFile
from safeexec.engine.host.session.step import timeout_of
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch import lineage
from safeexec.engine.host.watch.account import Subject
from safeexec.engine.host.watch.accountant import accountant
from safeexec.engine.host.watch.clock import Watch
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.engine.linux import processes
from safeexec.errors import PolicyError, ProtectionError, ProtocolError
from safeexec.protocol import messages as m
from safeexec.results import CommandResult, Usage

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.session.interfaces import MakesChildren
    from safeexec.engine.host.watch.gate import ForkGate
    from safeexec.engine.linux.cgroups import Group
    from safeexec.engine.policy.model import Limits, Policy

_MAX_SHEBANG = 256
_PT_INTERP = 3
START_SECONDS = 30.0
"""How long the process of a command may take until it is locked down."""
ARGUMENT_BYTES = 128 << 10
"""The most bytes of one word of a command line: what Linux takes (MAX_ARG_STRLEN)."""
ARGV_BYTES = 1 << 20
"""The most bytes of all words together. Linux takes a quarter of the stack's limit, 2 MiB as a rule."""


def locate(name: str) -> str | None:
    """Return the absolute path of a program: as given, or found beside this Python and then on the host's PATH."""
    if os.path.isabs(name):
        return name if os.access(name, os.X_OK) else None
    places = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    return shutil.which(name, path=places)


def executables(programs: Sequence[str]) -> tuple[str, ...]:
    """Return every file that has to be executed to run `programs`, by the path that it is called by and by its real
    one. Raises `PolicyError` for one that is not there.
    """
    found: dict[str, None] = {}
    for name in programs:
        path = locate(name)
        if path is None:
            raise PolicyError(f"danger_allow_commands: there is no program {name!r} on this machine")
        found.update(dict.fromkeys(_needed(path)))
    return tuple(found)


def _needed(path: str, depth: int = 0) -> Iterator[str]:
    real = os.path.realpath(path)
    yield from (path, real)
    with open(real, "rb") as file:
        head = file.read(_MAX_SHEBANG)
    if head.startswith(b"#!") and depth < 4:
        words = head[2:].split(b"\n")[0].split()
        if words:
            yield from _needed(os.fsdecode(words[0]), depth + 1)
            if os.path.basename(words[0]) == b"env" and len(words) > 1:
                through = locate(os.fsdecode(words[-1]))
                if through is not None:
                    yield from _needed(through, depth + 1)
    elif head.startswith(b"\x7fELF") and (loader := _loader(real)) is not None:
        yield os.path.realpath(loader)


def _loader(path: str) -> str | None:
    """Return the dynamic loader that an ELF file names (PT_INTERP), if it is a 64-bit little-endian one."""
    with open(path, "rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[4:6] != b"\x02\x01":
            return None
        offset, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
        for index in range(min(count, 64)):
            file.seek(offset + index * size)
            entry = file.read(56)
            if len(entry) == 56 and struct.unpack_from("<I", entry)[0] == _PT_INTERP:
                start, length = struct.unpack_from("<Q", entry, 8)[0], struct.unpack_from("<Q", entry, 32)[0]
                file.seek(start)
                return os.fsdecode(file.read(min(length, 4096)).rstrip(b"\0"))
    return None


def environment(home: str, memory_mb: int) -> dict[str, str]:
    """Return the variables of a command: where programs and temporary files are, and nothing of the host's own."""
    return {
        "PATH": os.pathsep.join((os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": home,
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
    children: MakesChildren,
    argv: Sequence[str],
    workspace: Workspace,
    directory: str,
    timeout: float | None,
    group: Group | None,
) -> Core[CommandResult]:
    """Run one program in `directory`, a path inside `workspace`, counted with `group`. What fails is in the result."""
    program, seconds = check(children.policy, argv, timeout)
    workspace.make_temporary()
    limits = children.policy.limits
    most = limits.output_kb << 10
    with closing(OutputFile("stdout", most)) as out, closing(OutputFile("stderr", most)) as err:
        number, channel = children.spawn(
            lambda number: m.RunCommand(
                number=number,
                argv=list(argv),
                program=program,
                directory=directory,
                home=workspace.home,
                environment=environment(workspace.home, limits.memory_mb),
            ),
            (out.fd, err.fd),
        )
        try:
            try:
                ready = yield from channel.receive(monotonic() + patient(START_SECONDS))
            except (Gone, ProtocolError) as error:
                raise ProtectionError(f"no command could be started: {children.problem(number) or error}") from None
            if not isinstance(ready, m.Ready):
                raise ProtectionError(f"the process of the command was not ready after {patient(START_SECONDS):.1f} s")
            if channel.pid is not None:
                children.gate.allow(channel.pid, lambda: True)
            if group is not None and channel.pid is not None:
                with suppress(OSError):  # it has ended already
                    group.add(channel.pid)
            return (yield from _finish(limits, channel, seconds, workspace, group, out, err))
        finally:
            yield from _end(children.gate, channel)


class _Watched(Subject):
    """All processes of a command as the accountant sees them: the program, and what it starts. That may fork, and its
    caller ends it at its deadline.
    """

    def __init__(self, channel: Channel, limits: Limits, workspace: Workspace, group: Group | None) -> None:
        super().__init__(limits, forks=True)
        self.verdict: Verdict | None = None
        self._channel = channel
        self._workspace = workspace
        self._group = group

    def lineage_leaders(self) -> Collection[int]:
        return () if self._channel.pid is None else (self._channel.pid,)

    def files(self) -> tuple[Workspace | None, Collection[int]]:
        return self._workspace, self.account.guests()

    def group(self) -> Group | None:
        return self._group

    def exceed(self, verdict: Verdict, hostile: Collection[int]) -> None:
        """Whoever waits for it ends it, at its next look at the clock."""
        self.verdict = self.verdict or verdict


def _finish(
    limits: Limits,
    channel: Channel,
    seconds: float,
    workspace: Workspace,
    group: Group | None,
    out: OutputFile,
    err: OutputFile,
) -> Core[CommandResult]:
    watched = _Watched(channel, limits, workspace, group)
    watch = Watch(channel, limits, seconds, (out, err), watched.room)
    accountant().add(watched)
    outcome: Any = "crashed"
    status, message = None, ""
    verdict: Verdict | None = None
    while verdict is None:
        try:
            answer = yield from channel.receive(watch.next_look())
        except (Gone, ProtocolError) as error:
            message, verdict = f"the process that watched the command ended: {error}", watched.verdict
            break
        if isinstance(answer, m.Exited):
            status = answer.status
            outcome, verdict = "ok" if status == 0 else "error", watched.verdict or watched.room.count()
            break
        verdict = watched.verdict or (yield from watch.looked())
    accountant().remove(watched)
    if verdict is not None:
        outcome, message = verdict.outcome, verdict.message
    cap = limits.output_kb << 10
    # The program is gone or will be: what it has printed until now is all there is.
    printed, warned = out.text(cap), err.text(cap)
    cpu = max(watched.account.cpu_seconds, watch.cpu_seconds())
    usage = Usage((monotonic() - watch.started) * 1e3, cpu * 1e3, 0.0, printed.size + warned.size)
    cut = printed.left_out > 0 or warned.left_out > 0
    return CommandResult(outcome, status, printed.text, warned.text, usage, message, cut)


def _end(gate: ForkGate, channel: Channel) -> Core[None]:
    """End the program and what it started: nothing of a command outlives it."""
    if channel.pid is not None and channel.pidfd >= 0:
        processes.signal_group(channel.pidfd, channel.pid, signal.SIGKILL)
    channel.kill()
    yield from channel.wait_ended(monotonic() + lineage.KILL_SECONDS)
    if channel.pid is not None:
        gate.forget_lineage(channel.pid)
    channel.close()
