"""The process of a session as the host drives it: got, asked, watched for its end, replaced.

The base of `SessionCore`. What the process is asked to do is in `steps` and `session`; where a new one comes from after
a kill, in `undo`.
"""

from __future__ import annotations

import _thread
import contextlib
import fcntl
import os
import resource
from collections.abc import Collection
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from safeexec.errors import (
    ProtocolError,
    SandboxError,
    SessionBusy,
    SessionClosed,
)
from safeexec.host.session.channel import Channel, Gone
from safeexec.host.session.checkpoints import (
    Checkpoint,
    Checkpoints,
    living,
    new_lane,
)
from safeexec.host.session.decode import decode_file
from safeexec.host.session.kept import Sources, ToolLog
from safeexec.host.session.output import OutputFile, PrintedFile
from safeexec.host.waiting import Core, Wait
from safeexec.host.watch import supervisor
from safeexec.host.watch.memory import total_own_bytes
from safeexec.host.watch.supervisor import Lineage, Verdict
from safeexec.linux import processes
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism
from safeexec.results import FileChange

if TYPE_CHECKING:
    from msgspec import Struct

    from safeexec.host.files.workspace import Workspace
    from safeexec.host.files.workspace_files import FileInfo
    from safeexec.host.sandbox import SandboxCore, Spare
    from safeexec.host.session.steps import OnProgress
    from safeexec.host.watch.rest import Rest
    from safeexec.linux.cgroups import Group
    from safeexec.policy.model import Limits, Policy


READY_SECONDS = 30.0
ANSWER_SECONDS = 30.0
LEAST_SECONDS = 5.0
"""An answer may take as long as a step of this session: between these bounds. Describing variables runs their code."""
DELIVER_SECONDS = 5.0
"""How long a value that a step has announced may take to come: 64 MiB take 0.05 s."""
PARK_SECONDS = 3.0
"""How long a copy may take to park once nothing is before it. A stray that holds the other end of a lane never does."""
THAW_SECONDS = 3.0
"""How long a parked copy may take to say Ready: 2.5 ms with pandas. A hostile one never does."""
RESTORE_SECONDS = 6.0
"""How long all copies together may take: then the session starts over."""
FREEZE_SECONDS = 3.0
"""How long a step that must end may go on because the state before it has no checkpoint yet."""
RECOVER_SECONDS = 1.0
"""How long to wait for the answer to a question whose asker was interrupted. Without it nothing is lost: the state of
the newest checkpoint is the same."""
CLOSED_MEANWHILE = "the session was closed while this step ran"


SETTLE_SECONDS = 0.5
"""How long a session must rest before it settles, which costs the next step 1.4 ms."""
MINDED_SECONDS = 0.0005
"""How long to wait at a time for the thread that looks after resting sessions: a look takes 0.1 ms."""


_numbers = count(1)


class Running:
    """One session's running process, and what is known of it. Two users at once are a `SessionBusy`; `cancel` may
    come from any thread.
    """

    def __init__(self, sandbox: SandboxCore, policy: Policy, spare: Spare | None = None) -> None:
        self.sandbox = sandbox
        self.policy = policy
        self.checkpoints = Checkpoints(policy.limits.checkpoints)
        self.workspace: Workspace | None = spare.workspace if spare is not None else None
        self.mechanisms: list[Mechanism] = []
        self.toolbox = sandbox.toolbox
        self.tool_records = ToolLog()
        self.calls_of_step = 0
        self.on_progress: OnProgress | None = None
        self._out = spare.out if spare is not None else PrintedFile("stdout")
        self._err = spare.err if spare is not None else OutputFile("stderr")
        self._spare = spare
        self._runner: Channel | None = None
        self._lineage: Lineage | None = None
        self.group: Group | None = None
        self._oom_kills = 0
        self._origin: Checkpoint | None = None
        """What the running process was thawed from, also when that copy has gone since."""
        self._memory_base = 0
        """Bytes that its first child was born with, which `limits.memory_mb` does not count."""
        self.more = False
        """Whether the last call returned a generator that goes on."""
        self.step = 0
        self.reached = 0
        """The step whose state this is: less than `step` after one that was undone."""
        self._empty = True
        """Whether there is no state to lose."""
        self._sources = Sources()
        self._listing: dict[str, FileInfo] = {}
        """The workspace's files after the last step, to tell what the next one changes."""
        self.trust = "policy"
        """`kernel-only` when the session was restored from a state that this host did not sign."""
        self._lock = _thread.allocate_lock()
        self.minded = False
        """Whether the thread that looks after resting sessions is about to take the lock, or has it."""
        self.rest: Rest | None = None
        self.next_deep_look = monotonic() + supervisor.DEEP_LOOK_SECONDS
        """When to look again at what the session holds without a name (`host.watch.unnamed`)."""
        self._told_next: list[str] = []
        """Notes for the next result: what became of the state while nobody used it."""
        self.user: int | None = None
        """The thread that uses the session now, and holds its lock."""
        self._closed = False
        self._released = False
        """Whether nothing is held any more. Whoever holds the lock lets go of it."""
        self._why_closed = "the session is closed"
        self.used = monotonic()
        """When the session was last used."""
        self.settled = self.used
        """The use after which its newest checkpoint was last made anew (`host.session.undo`)."""
        self.number = next(_numbers)
        self.label: str | None = None
        """Whose session it is, in the words of the host: for its audit log."""
        self.code = b""
        """The source of the plugin that is loaded."""
        self._verdict: Verdict | None = None
        self._running = False
        self._unfinished = False
        """Whether the process has begun a step that is neither part of the state yet nor undone."""
        self._ending = _thread.RLock()
        """Held to end a step, by whoever does: `cancel` never hits what comes after the step that it saw. Reentrant,
        for a handler of signals may cancel, too."""
        self.born = 0
        """How many fresh children this session has had: one, and one more each time there was no state to go back
        to."""
        self._bereft = False
        """Whether there are checkpoints that the host has not met. Matters only while there is no runner."""
        self._lane_step = 0
        """The step whose state the lane of the running request is for; one that changes nothing has none."""
        self._safe_to_kill = False
        """Whether the state before the running step is known to have its checkpoint, or to get none."""

    # Given by the classes above

    def end_rest(self, over: str) -> Core[None]:
        """End what the session has running between its steps (`host.session.undo`)."""
        raise NotImplementedError

    def settle(self) -> Core[None]:
        """At rest: let the running process and its newest checkpoint share what both hold (`host.session.undo`)."""
        raise NotImplementedError

    def _restore(self) -> Core[list[str]]:
        """Bring back the newest state that lives (`host.session.undo`)."""
        raise NotImplementedError

    def _changed_files(self) -> tuple[FileChange, ...]:
        """The workspace's files that changed since the last call (`host.session.session`)."""
        raise NotImplementedError

    # Opening and closing

    def open(self) -> Core[None]:
        """Get a child and wait until it is locked down."""
        spare, self._spare = self._spare, None
        try:
            if spare is not None and (ready := (yield from spare.ready())) is not None:
                self._begin_in(spare.channel, ready)
                return
            if self.workspace is None and self.policy.filesystem.workspace != "none":
                self.workspace = self.sandbox.new_workspace(self.policy)
            yield from self._fresh_runner()
        except BaseException:
            yield from self.close()
            raise

    def _fresh_runner(self) -> Core[None]:
        channel, ready = yield from self.sandbox.new_child(self.policy, self.workspace, (self._out.fd, self._err.fd))
        self._begin_in(channel, ready)

    def _begin_in(self, channel: Channel, ready: m.Ready) -> None:
        """Make a child that has just come up the process of this session."""
        self.born += 1
        self.reached, self._empty = 0, True
        self._adopt(channel, None)
        self.mechanisms = self.sandbox.mechanisms
        if self._lineage is not None:
            self._lineage.leave(self)
        self._lineage = Lineage(channel, self.sandbox.reapers, self.sandbox.gate)
        self._lineage.sessions.add(self)
        if self.policy.limits.processes:
            self.sandbox.gate.allow(self._lineage.leader, self._lineage.room_for(self.policy.limits.processes))
        self._begin_group(channel)

    def _begin_group(self, channel: Channel) -> None:
        """Give the session a control group, where there are any, with the process that it begins in."""
        assert self._lineage is not None
        self.group, self._oom_kills = self.sandbox.new_group(self.policy), 0
        if self.group is not None:
            self._lineage.groups.append(self.group)
            self._enter_group(channel)

    def _enter_group(self, channel: Channel) -> None:
        """Count the process with its session: it may come from a copy that another one made."""
        if self.group is not None and channel.pid is not None:
            with contextlib.suppress(OSError):  # it has ended already
                self.group.add(channel.pid)

    def _ran_out_of_memory(self) -> bool:
        """Whether the kernel has ended a process of the session's control group since this was last asked."""
        if self.group is None:
            return False
        before = self._oom_kills
        with contextlib.suppress(OSError):
            self._oom_kills = self.group.oom_kills()
        return self._oom_kills > before

    @property
    def protection(self) -> list[Mechanism]:
        """What holds this session, and what does not and why."""
        from safeexec.host.watch import groups

        row = groups.mechanism()
        if row.active and self.group is None:
            row = Mechanism(groups.NAME, False, "no group could be made for this session")
        return [*self.mechanisms, row]

    def _memory_now(self) -> int:
        """Bytes that the session holds beyond what its child was born with: the runner's and those of what guest code
        forked.

        Checkpoints are not among them; `limits.checkpoint_memory_mb` bounds what they hold of their own.
        """
        runner = self._runner
        if runner is None or runner.pid is None:
            return 0
        own, guests = processes.private_memory(runner.pid) - self._memory_base, self._guests()
        # What is resident bounds what is their own, and costs 10 us to read; the exact figure costs 2 ms per 100 MB.
        most = own + sum(map(processes.resident_memory, guests))
        return most if most >> 20 <= self.policy.limits.memory_mb else own + total_own_bytes(guests)

    def _guests(self) -> list[int]:
        """The processes that guest code has forked."""
        for checkpoint in self.checkpoints.living():
            checkpoint.pid()  # who has parked since is known from now on
        return self._lineage.guests(self) if self._lineage is not None else []

    def stray_fork(self) -> Verdict | None:
        """The verdict on a fork that waits and that the host has not asked for. A process that is none of the lineage's
        own, or only a parked copy, is ended instead.
        """
        runner, lineage = self._runner, self._lineage
        if runner is None or lineage is None:
            return None
        for fork in self.sandbox.gate.waiting(lineage.leader):
            if fork.process != runner.pid:
                if fork.process not in lineage.runners():
                    self.sandbox.gate.kill(fork)
            elif fork.thread != fork.process or not runner.has_news():
                # Otherwise it has ended its step meanwhile, and makes the checkpoint of it: that is read first.
                allowed = self.policy.limits.processes
                rule = self.policy.origin("limits.processes")
                return Verdict(
                    "violation",
                    f"the step started {'a process' if not allowed else 'one process too many'}; "
                    f"limits.processes is {allowed}{f' ({rule})' if rule else ''}",
                )
        return None

    def unnamed_over(self) -> Verdict | None:
        """The verdict on a session that holds too much in what has no name, looked at once a second."""
        if monotonic() < self.next_deep_look:
            return None
        from safeexec.host.watch import unnamed

        self.next_deep_look = monotonic() + supervisor.DEEP_LOOK_SECONDS
        return unnamed.over({*self.pids(), *self._guests()}, self.policy.limits, self.workspace)

    def _adopt(self, channel: Channel, origin: Checkpoint | None) -> None:
        self._bereft = True
        self._unfinished = False
        self._runner = channel
        self._origin = origin
        if origin is None and channel.pid is not None:
            # What a thawed process begins with is the session's own, but for what the first child was born with.
            self._memory_base = processes.private_memory(channel.pid)
        self._changed_files()

    def close(self) -> Core[None]:
        """End every process of the session and remove its files. Harmless when closed already."""
        if self._closed:
            return
        self._closed = True
        deadline = monotonic() + supervisor.KILL_SECONDS
        while not self._released:
            if self._lock.acquire(blocking=False):
                try:
                    yield from self._end()
                finally:
                    self._lock.release()
                return
            # In use: the step that runs is ended, and whoever uses the session lets go of it.
            self._end_step(Verdict("cancelled", CLOSED_MEANWHILE), at_once=True)
            if self.user == _thread.get_ident() or monotonic() >= deadline:
                return
            yield Wait((), monotonic() + MINDED_SECONDS)

    def _end(self) -> Core[None]:
        """End everything, wait until it has gone, and remove what it leaves. The lock is held."""
        deadline = monotonic() + supervisor.KILL_SECONDS
        for process in self._end_processes():
            try:
                yield Wait((process,), deadline)
            finally:
                os.close(process)
        self._remove()

    def let_go(self) -> None:
        """The same without waiting, for a session that was closed while it was in use. The lock is held."""
        for process in self._end_processes():
            os.close(process)
        self._remove()

    def _end_processes(self) -> list[int]:
        """Kill what runs and what is parked. Pidfds, the caller's to wait for and to close."""
        runner, self._runner = self._runner, None
        ending = self.checkpoints.close()
        if runner is not None:
            runner.kill()
            if runner.pidfd >= 0:
                with contextlib.suppress(OSError):  # out of descriptors: it ends all the same
                    ending.insert(0, os.dup(runner.pidfd))
        if self._lineage is not None:
            self._lineage.leave(self)
        if runner is not None:
            runner.close()
        return ending

    def _remove(self) -> None:
        """Close the files of a session whose processes have been ended."""
        if self._released:
            return
        self._released = True
        self._out.close()
        self._err.close()
        if self.workspace is not None:
            self.workspace.close()
        self.sandbox.session_closed(self)

    def close_if_idle(self, seconds: float) -> Core[None]:
        """Close the session if nobody has used it for `seconds`."""
        if self._closed or monotonic() - self.used < seconds or not self._lock.acquire(blocking=False):
            return
        try:
            self._why_closed = f"the session was closed after {seconds:g} s without use (idle_seconds)"
            self._closed = True
            yield from self._end()
        finally:
            self._lock.release()

    def forget(self) -> None:
        """This process was forked from the one that has the session: close its copies of the descriptors, end
        nothing.
        """
        self._closed = self._released = True
        self._why_closed = "the session was opened before the process forked; open one in each worker"
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        self.checkpoints.forget()
        self._out.close()
        self._err.close()

    def pids(self) -> Collection[int]:
        """Runner and parked checkpoints: the processes of this session that are not strays."""
        pids = {c.channel.pid for c in self.checkpoints.living() if c.channel is not None and c.channel.pid is not None}
        if self._runner is not None and self._runner.pid is not None:
            pids.add(self._runner.pid)
        return pids

    def runner_pid(self) -> int | None:
        return self._runner.pid if self._runner is not None else None

    def meet_checkpoints(self) -> Core[None]:
        """Learn from the kernel who has parked on each lane. A lane that nobody parked on has ended with the runner."""
        deadline = monotonic() + PARK_SECONDS
        for checkpoint in self.checkpoints.living():
            yield from checkpoint.parked(deadline)
        self._bereft = False

    def restless(self) -> bool:
        """Whether nobody has used the session for a while, and it holds more memory than it would settled."""
        return (
            self.settled != self.used
            and monotonic() - self.used >= SETTLE_SECONDS
            and self.policy.checkpoints == "idle"
        )

    def bereft(self) -> bool:
        """Whether the runner is dead, and checkpoints that it left may be unknown yet. Asked from the threads of
        other branches.
        """
        runner = self._runner
        if runner is None or runner.pidfd < 0:
            return self._bereft
        return processes.has_ended(runner.pidfd)

    @property
    def closed(self) -> bool:
        return self._closed

    def _stop(self, runner: Channel) -> Core[None]:
        """End the running process and its strays."""
        self._runner = None
        self.sandbox.gate.withdraw(runner.pid)
        assert self._lineage is not None
        try:
            yield from self._lineage.end_runner(runner, self)
        finally:
            runner.close()

    def _living_runner(self) -> Core[Channel]:
        """The process that runs steps, ready for a request."""
        runner = self._runner
        if runner is not None and (self._unfinished or not runner.at_rest):
            yield from self._recover(runner)
        if self._runner is None:
            self._told_next += yield from self._restore()
        assert self._runner is not None
        return self._runner

    def _recover(self, runner: Channel) -> Core[None]:
        """The last caller was interrupted (Ctrl-C, a handler that raised), and that again while it put things in order:
        take in the answer that nobody waited for; a step is undone.
        """
        if self._unfinished:
            self.checkpoints.revoke(self._lane_step)
        else:
            deadline = monotonic() + RECOVER_SECONDS
            with contextlib.suppress(Gone, ProtocolError):
                while not runner.at_rest and (yield from runner.receive(deadline)) is not None:
                    pass
                if runner.at_rest:
                    return
        yield from self._stop(runner)

    def _grant(self, step: int) -> tuple[tuple[int, ...], Any]:
        """A lane for the checkpoint of the state after `step`, if the policy makes checkpoints."""
        if self.policy.checkpoints == "off":
            return (), None
        ours, theirs = new_lane()
        self.checkpoints.granted(
            Checkpoint(ours, step, out=self._out, parent=living(self._origin), tool_calls=len(self.tool_records))
        )
        return (theirs.fileno(),), theirs

    def _send_granted(self, runner: Channel, request: Struct, fds: tuple[int, ...], lane: Any) -> Core[None]:
        """Send a request with what `_grant` gave; the lane is the child's then, and this copy of it is closed."""
        try:
            yield from runner.send(request, fds)
        finally:
            if lane is not None:
                lane.close()

    def _deliver(self, runner: Channel, size: int, *, arrays: bool = False) -> Core[Any]:
        """Fetch a value that the child announced, through a memfd that the host made."""
        cap = (self.policy.limits.value_kb << 10) + 4096
        if not 0 < size <= cap:
            raise ProtocolError(f"a value of {size} bytes was announced; {cap} are allowed")
        # It cannot grow: what a child writes into a memfd that it keeps is memory that no limit counts.
        fd = os.memfd_create("value", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            yield from runner.send(m.Deliver(), (fd,))
            answer = yield from self._answer(runner, m.Done, DELIVER_SECONDS)
            if answer.problem:
                raise ProtocolError(answer.problem)
            return decode_file(self, fd, size, arrays=arrays)
        finally:
            os.ftruncate(fd, 0)
            os.close(fd)

    def _ask(self, request: Any, kind: type) -> Core[Any]:
        with (yield from self._turn()):
            runner = yield from self._living_runner()
            try:
                yield from runner.send(request)
                return (yield from self._answer(runner, kind))
            except (Gone, ProtocolError) as error:
                yield from self._lost(runner, error)

    def _answer(self, runner: Channel, kind: type, seconds: float | None = None) -> Core[Any]:
        if seconds is None:
            seconds = min(ANSWER_SECONDS, max(LEAST_SECONDS, self.policy.limits.wall_seconds))
        message = yield from runner.receive(monotonic() + seconds)
        if message is None:
            raise ProtocolError(f"no answer within {seconds:g} s")
        if not isinstance(message, kind):
            raise ProtocolError(f"{type(message).__name__} came instead of {kind.__name__}")
        return message

    def _lost(self, runner: Channel, error: Exception) -> Core[None]:
        """The process died outside a step: restore, and say so."""
        yield from self._stop(runner)
        self._told_next += yield from self._restore()
        raise SandboxError(f"the session's process died ({error}); its state was restored, try again") from None

    def cancel(self) -> bool:
        """Stop the running step from another thread. Whether there was one."""
        return self._end_step(Verdict("cancelled", "the step was cancelled by the host"))

    def _end_step(self, verdict: Verdict, *, at_once: bool = False) -> bool:
        """End the running step. Whether there was one. May be called from any thread."""
        with self._ending:
            if not self._running or self._runner is None:
                return False
            self._verdict = self._verdict or verdict
            if self._safe_to_kill or at_once:
                self._runner.kill()
            # Otherwise the thread that drives the step sees the verdict at its next look, at most 50 ms from now.
            return True

    def _turn(self) -> Core[_Use]:
        """What `_use` gives, once the thread that looks after resting sessions is done: a child that does not answer
        keeps it for seconds, and no event loop may wait for a lock so long.
        """
        while self.minded and not self._closed:
            yield Wait((), monotonic() + MINDED_SECONDS)
        return self._use()

    def _use(self) -> _Use:
        if self._closed:
            raise SessionClosed(self._why_closed)
        return _Use(self._lock, self)

    def _closed_by_zygote(self) -> None:
        self._runner = None


_AT_ONCE = (False,)


class _Use:
    """The session is in use by one caller; a second one is refused at once rather than kept waiting."""

    __slots__ = ("_lock", "_session")

    def __init__(self, lock: _thread.LockType, session: Running) -> None:
        self._lock = lock
        self._session = session

    def __enter__(self) -> None:
        taken: list[bool] = []
        try:
            # One call of C code: no exception of a handler (Ctrl-C) comes between taking the lock and knowing it.
            taken += map(self._lock.acquire, _AT_ONCE)
            if not taken[0] and not _after_the_minder(self._lock, self._session):
                raise SessionBusy(
                    "a step of this session is running in another thread or task; use a session per thread, or branch"
                )
            self._session.user = _thread.get_ident()
        except BaseException:
            if True in taken:
                self._lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        session = self._session
        session.used = monotonic()
        if session.closed:
            session.let_go()
        session.user = None
        self._lock.release()


def _after_the_minder(lock: _thread.LockType, session: Running) -> bool:
    """Wait for the thread that looks after resting sessions, and for nobody else."""
    while session.minded:
        if lock.acquire(timeout=MINDED_SECONDS):
            return True
    return lock.acquire(blocking=False)


def lowered(given: Limits, wanted: Limits) -> list[tuple[int, int]]:
    """By how much the kernel holds a session tighter than its sandbox: (RLIMIT_*, how much less).

    The child lowers them itself, before it reads anything: a root host without CAP_SYS_RESOURCE may not (EPERM).
    """
    if wanted is given:
        return []
    less = (
        (resource.RLIMIT_AS, (given.memory_mb - wanted.memory_mb) << 20),
        (resource.RLIMIT_NOFILE, given.open_files - wanted.open_files),
        (resource.RLIMIT_NPROC, given.processes - wanted.processes + given.threads - wanted.threads),
    )
    return [(number, by) for number, by in less if by > 0]
