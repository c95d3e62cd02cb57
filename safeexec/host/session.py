"""A session without its I/O: what happens between a request and its result, as generators that a face drives.

`SessionCore` holds one lineage of guest state. Its methods that end in a `Core` are driven by `Session` (blocking) and
`AsyncSession`; nothing here blocks.
"""

from __future__ import annotations

import _thread
import os
import re
import resource
import signal
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from safeexec.errors import (
    CheckpointError,
    PolicyError,
    ProtocolError,
    SandboxError,
    SessionBusy,
    SessionClosed,
    StateFileError,
    WorkspaceError,
)
from safeexec.host import supervisor
from safeexec.host.channel import Channel, Gone
from safeexec.host.checkpoints import (
    MAX_GENERATIONS,
    Checkpoint,
    CheckpointInfo,
    Checkpoints,
    generations,
    living,
    new_lane,
)
from safeexec.host.decode import build_killed, build_result, decode_payload, restored, text
from safeexec.host.memory import descendants, own_bytes, total_own_bytes
from safeexec.host.output import OnOutput, OutputFile
from safeexec.host.supervisor import Lineage, Place, Verdict, Watch
from safeexec.host.waiting import Core
from safeexec.linux import processes
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_arguments
from safeexec.protocol.confinement import Mechanism
from safeexec.protocol.values import encode
from safeexec.results import ErrorInfo, FileChange, Result, ToolCallRecord, Variable

if TYPE_CHECKING:
    from safeexec.host.commands import CommandResult
    from safeexec.host.sandbox import SandboxCore, Spare
    from safeexec.host.workspace import Workspace
    from safeexec.host.workspace_files import FileInfo
    from safeexec.policy.model import Limits, Policy

OnProgress = Callable[[str, float, "float | None"], object]
"""Gets description, how much is done, and of how much (None: unknown), as the guest's progress bars move."""
READY_SECONDS = 30.0
ANSWER_SECONDS = 30.0
SAVE_SECONDS = 300.0
NAMES = 10_000
PARK_SECONDS = 30.0
FREEZE_SECONDS = 3.0
"""How long a step that must end may go on because the state before it has no checkpoint yet."""


_numbers = count(1)


class SessionCore:
    """One session: its running process, its checkpoints, its files. Not thread-safe but for `cancel`; two users at once are a `SessionBusy`."""

    def __init__(self, sandbox: SandboxCore, policy: Policy, spare: Spare | None = None) -> None:
        self.sandbox = sandbox
        self.policy = policy
        self.checkpoints = Checkpoints(policy.limits.checkpoints)
        self.workspace: Workspace | None = spare.workspace if spare is not None else None
        self.mechanisms: list[Mechanism] = []
        self.toolbox = sandbox.toolbox
        self.tool_records: list[ToolCallRecord] = []
        self.calls_of_step = 0
        self.on_progress: OnProgress | None = None
        self._out = spare.out if spare is not None else OutputFile("stdout")
        self._err = spare.err if spare is not None else OutputFile("stderr")
        self._spare = spare
        self._runner: Channel | None = None
        self._lineage: Lineage | None = None
        self._origin: Checkpoint | None = None
        """What the running process was thawed from, also when that copy has gone since."""
        self._memory_base = 0
        self.more = False
        """Whether the last call returned a generator that goes on."""
        self.step = 0
        self._sources: dict[str, str] = {}
        self._listing: dict[str, FileInfo] = {}
        """The workspace's files after the last step, to tell what the next one changes."""
        self.trust = "policy"
        """`kernel-only` when the session was restored from a state that this host did not sign."""
        self._lock = _thread.allocate_lock()
        self._closed = False
        self._why_closed = "the session is closed"
        self.used = monotonic()
        """When the session was last used."""
        self.number = next(_numbers)
        self._verdict: Verdict | None = None
        self._running = False
        self._bereft = False
        """Whether there are checkpoints that the host has not met. Matters only while there is no runner."""
        self._lane_step = 0
        """The step whose state the lane of the running request is for; one that changes nothing has none."""
        self._safe_to_kill = False
        """Whether the state before the running step is known to have its checkpoint, or to get none."""

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
        self._adopt(channel, None)
        self.mechanisms = self.sandbox.mechanisms
        if self._lineage is not None:
            self._lineage.leave(self)
        self._lineage = Lineage(channel, self.sandbox.reapers)
        self._lineage.sessions.add(self)

    def _memory_now(self) -> int:
        """Bytes that the session holds beyond what its child was born with: the runner's and those of what guest code forked.

        Checkpoints are not among them; `limits.checkpoint_memory_mb` bounds what they hold of their own.
        """
        runner = self._runner
        if runner is None or runner.pid is None:
            return 0
        parked = {checkpoint.pid() for checkpoint in self.checkpoints.living()}
        guests = [pid for pid in descendants(runner.pid) if pid not in parked]
        return processes.private_memory(runner.pid) - self._memory_base + total_own_bytes(guests)

    def _adopt(self, channel: Channel, origin: Checkpoint | None) -> None:
        self._bereft = True
        self._runner = channel
        self._origin = origin
        self._memory_base = processes.private_memory(channel.pid) if channel.pid is not None else 0
        self._changed_files()

    def close(self) -> Core[None]:
        """End every process of the session and remove its files. Harmless when closed already."""
        if self._closed:
            return
        self._closed = True
        self._verdict = self._verdict or Verdict("cancelled", "the session was closed")
        runner, self._runner = self._runner, None
        self.checkpoints.close()
        if runner is not None:
            runner.kill()
        if self._lineage is not None:
            self._lineage.leave(self)
        if runner is not None:
            yield from runner.ended(monotonic() + supervisor.KILL_SECONDS)
            runner.close()
        self._out.close()
        self._err.close()
        if self.workspace is not None:
            self.workspace.close()
        self.sandbox.session_closed(self)

    # For plugins, which change the running process between two calls

    def adopt(self, channel: Channel, origin: Checkpoint | None, output: tuple[OutputFile, OutputFile]) -> None:
        """Go on in a process that was thawed from `origin` and writes to `output`."""
        for file in (self._out, self._err):
            file.close()
        self._out, self._err = output
        self._adopt(channel, origin)

    def release(self) -> Channel | None:
        """Give up the running process without ending it: that is the caller's to do."""
        runner, self._runner = self._runner, None
        return runner

    def end(self, runner: Channel) -> Core[None]:
        """End a process of this session and whatever it left behind."""
        yield from self._stop(runner)

    def add_sources(self, label: str, modules: Iterable[tuple[str, str]]) -> None:
        """The sources of a plugin, for the tracebacks of calls that are killed. The first one is the main module."""
        for index, (name, source) in enumerate(modules):
            self._sources[f"<plugin {label}/{name}>" if index else f"<plugin {label}>"] = source

    def close_if_idle(self, seconds: float) -> Core[None]:
        """Close the session if nobody has used it for `seconds`."""
        if self._closed or monotonic() - self.used < seconds or not self._lock.acquire(blocking=False):
            return
        try:
            self._why_closed = f"the session was closed after {seconds:g} s without use (idle_seconds)"
            yield from self.close()
        finally:
            self._lock.release()

    def forget(self) -> None:
        """This process was forked from the one that has the session: close its copies of the descriptors, end nothing."""
        self._closed = True
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

    def bereft(self) -> bool:
        """Whether the runner is dead, and checkpoints that it left may be unknown yet. Asked from the threads of other branches."""
        runner = self._runner
        if runner is None or runner.pidfd < 0:
            return self._bereft
        return processes.has_ended(runner.pidfd)

    @property
    def closed(self) -> bool:
        return self._closed

    # Steps

    def run(
        self,
        source: str,
        *,
        timeout: float | None,
        atomic: bool,
        on_output: OnOutput | None,
        on_progress: OnProgress | None = None,
    ) -> Core[Result]:
        """Run one step and give its result."""
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        limit = self._timeout(timeout)
        with self._use():
            if (size := len(source)) > self.policy.limits.step_source_kb << 10:
                return self._too_long(size)
            self.step += 1
            self._sources[f"<step {self.step}>"] = source
            self.on_progress = on_progress
            request = m.Execute(self.step, source.encode("utf-8", "surrogatepass"), on_output is not None)
            result = yield from self._act(request, limit, atomic, on_output)
            if (observer := self.sandbox.observer) is not None:
                observer.step_done(self.number, request.source, result)
            return result

    def check(self, source: str) -> Core[Result]:
        """What the policy refuses in `source`; nothing of it runs. Parsing happens in the child: a hostile source can exhaust a parser."""
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        with self._use():
            return (
                yield from self._act(m.Check(source.encode("utf-8", "surrogatepass")), self._timeout(None), False, None)
            )

    def invoke(
        self,
        path: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        timeout: float | None = None,
        atomic: bool = False,
    ) -> Core[Result]:
        """Call an object of the namespace with values of the host, as a step."""
        limits = self.policy.limits
        payload = encode_arguments(args, kwargs, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth)
        if payload.truncated:
            raise TypeError(f"an argument of {path}() is too large, or of a type that cannot cross into the sandbox")
        return (
            yield from self.perform(lambda step: m.Invoke(step, path, payload.data), timeout=timeout, atomic=atomic)
        )

    def perform(
        self,
        make: Callable[[int], m.Invoke | m.Install | m.Proceed],
        *,
        timeout: float | None = None,
        atomic: bool = False,
    ) -> Core[Result]:
        """Send the request that `make` builds for the number of the next step, and give its result."""
        limit = self._timeout(timeout)
        with self._use():
            self.step += 1
            request = make(self.step)
            result = yield from self._act(request, limit, atomic, None)
            if (observer := self.sandbox.observer) is not None and type(request) is m.Invoke:
                observer.step_done(self.number, request.path.encode(), result)
            return result

    def _timeout(self, timeout: float | None) -> float:
        limits = self.policy.limits
        if timeout is None:
            return limits.wall_seconds
        if not 0 < timeout <= limits.max_wall_seconds:
            raise PolicyError(
                f"timeout={timeout!r} is out of bounds: the policy {self.policy.name!r} allows more than 0 and at most "
                f"{limits.max_wall_seconds:g} s (limits.max_wall_seconds, {self.policy.origin('limits.max_wall_seconds')})"
            )
        return float(timeout)

    def _too_long(self, size: int) -> Result:
        limits = self.policy.limits
        return Result(
            outcome="rejected",
            error=ErrorInfo(
                type="PolicyViolation",
                message=f"the source has {size} characters; limits.step_source_kb allows {limits.step_source_kb} KiB",
                rule=self.policy.origin("limits.step_source_kb"),
                hint="Send the program in several smaller steps; variables are kept between them.",
            ),
            step=self.step,
        )

    def _act(
        self,
        request: m.Execute | m.Invoke | m.Install | m.Proceed | m.Check,
        timeout: float,
        atomic: bool,
        on_output: OnOutput | None,
    ) -> Core[Result]:
        runner = yield from self._living_runner()
        fds, lane = self._grant(self.step) if type(request) is not m.Check else ((), None)
        self._out.begin()
        self._err.begin()
        self._verdict = None
        self._safe_to_kill = False
        self._lane_step = self.step if type(request) is not m.Check else self.step + 1
        self.calls_of_step = 0
        calls = len(self.tool_records)
        watch = Watch(runner, self.policy.limits, timeout, (self._out, self._err), self.workspace, self._memory_now)
        self._running = True
        try:
            try:
                yield from runner.send(request, fds)
            finally:
                if lane is not None:
                    lane.close()
            done = yield from self._await_done(runner, watch, on_output)
        except (Gone, ProtocolError) as error:
            return (yield from self._crashed(runner, watch, error, calls))
        except BaseException:
            # Ctrl-C, a cancelled task, an exception of a callback: the step is undone before it goes on.
            self._running = False
            yield from self._secured(FREEZE_SECONDS)
            yield from self._stop_undone(runner)
            yield from self._restore()
            raise
        finally:
            self._running = False
        if isinstance(done, Verdict):
            return (yield from self._killed(runner, watch, done, calls))
        result = yield from self._result(runner, done, watch, calls)
        self._commit(result)
        if self.workspace is not None and (files := self._changed_files()):
            result = replace(result, files=files)
        if not result.ok and (atomic or self.policy.on_error == "restore") and result.outcome != "rejected":
            yield from self._stop_undone(runner)
            yield from self._restore()
            result = restored(result)
        if on_output is not None:
            self._stream_rest(on_output)
        self.sandbox.replenish()
        return result

    def _await_done(self, runner: Channel, watch: Watch, on_output: OnOutput | None) -> Core[m.StepDone | Verdict]:
        """Wait for the end of the step, serving its tool calls and streaming its output. A `Verdict` when it must be killed."""
        look = watch.next_look()
        while True:
            if self._verdict is not None:
                return self._verdict
            until = look if on_output is None else min(look, monotonic() + STREAM_SECONDS)
            message = yield from runner.receive(until)
            if on_output is not None:
                self._stream(on_output)
            if isinstance(message, m.StepDone):
                # A flood may end itself at RLIMIT_FSIZE, with an OSError about a full file, before a look finds it.
                if message.outcome == "output" or (message.outcome == "error" and watch.flooded()):
                    self._verdict = self._verdict or watch.flood()
                    return self._verdict
                return message
            if isinstance(message, m.ToolCall):
                yield from self._tool_call(runner, message, watch)
            elif isinstance(message, m.Progress):
                if self.on_progress is not None:
                    self.on_progress(message.description, message.done, message.total)
            if monotonic() >= look:
                if not self._safe_to_kill:
                    yield from self._secured(0.0)
                verdict = watch.look()
                if verdict is not None:
                    if not self._safe_to_kill and self._verdict is None and (yield from self._secured(FREEZE_SECONDS)):
                        # Until now the child made the checkpoint of the state before this step: its time begins here.
                        watch.start_again()
                        look = watch.next_look()
                        continue
                    self._verdict = self._verdict or verdict
                    return self._verdict
                look = watch.next_look()

    def _secured(self, seconds: float) -> Core[bool]:
        """Whether the state before this step has its checkpoint, waiting so long for it; without one a kill would lose that state.

        The child makes it in think time or, when steps come back to back, before it begins the next one.
        """
        before = next((c for c in reversed(self.checkpoints.automatic) if c.step < self._lane_step), None)
        parked = before is None or (yield from before.parked(monotonic() + seconds))
        # A lane that has ended is as good as one that is parked: there is nothing to wait for.
        self._safe_to_kill = parked or (before is not None and before.ended)
        return parked

    def _tool_call(self, runner: Channel, call: m.ToolCall, watch: Watch) -> Core[None]:
        started = monotonic()
        stops = self.policy.tools.clock == "stops"
        reply = yield from self.toolbox.answer(call, self, None if stops else watch.deadline)
        if stops:
            watch.paused += monotonic() - started
        yield from runner.send(reply)

    def _stream(self, on_output: OnOutput) -> None:
        for stream in (self._out, self._err):
            if text := stream.fresh(STREAM_BYTES):
                on_output(text)

    def _stream_rest(self, on_output: OnOutput) -> None:
        for stream in (self._out, self._err):
            if text := stream.rest(STREAM_BYTES):
                on_output(text)

    # What became of a step

    def _result(self, runner: Channel, done: m.StepDone, watch: Watch, calls: int) -> Core[Result]:
        wall, cpu = monotonic() - watch.started, watch.cpu_seconds()
        payload = done.value
        self.more = done.more
        if done.pending:
            payload = yield from self._deliver(runner, done.pending)
        return build_result(self, done, payload, wall, cpu, self._out, self._err, tuple(self.tool_records[calls:]))

    def _deliver(self, runner: Channel, size: int) -> Core[bytes]:
        """Fetch a payload that the child announced, through a memfd that the host made."""
        cap = (self.policy.limits.value_kb << 10) + 4096
        if not 0 < size <= cap:
            raise ProtocolError(f"a value of {size} bytes was announced; {cap} are allowed")
        fd = os.memfd_create("value")
        try:
            yield from runner.send(m.Deliver(), (fd,))
            answer = yield from self._answer(runner, m.Done)
            if answer.problem:
                raise ProtocolError(answer.problem)
            return os.pread(fd, size, 0)
        finally:
            os.close(fd)

    def _killed(self, runner: Channel, watch: Watch, verdict: Verdict, calls: int) -> Core[Result]:
        if not self._safe_to_kill:
            yield from self._secured(FREEZE_SECONDS)
        place = yield from supervisor.where(runner, self._err)
        wall, cpu = monotonic() - watch.started, watch.cpu_seconds()
        yield from self._stop_undone(runner)
        return (yield from self._undone(verdict, place, wall, cpu, calls))

    def _crashed(self, runner: Channel, watch: Watch, error: Exception, calls: int) -> Core[Result]:
        wall, cpu = monotonic() - watch.started, watch.cpu_seconds()
        if not (yield from runner.ended(monotonic() + 0.2)):
            reason = str(error) if isinstance(error, ProtocolError) else "it closed its connection to the host"
        else:
            reason = death(runner.pidfd)
        yield from self._stop_undone(runner)
        if self._verdict is not None:
            verdict = self._verdict
        elif not self.sandbox.alive:
            self._closed_by_zygote()
            raise SessionClosed("the zygote of this sandbox died and took the session with it; reopen the sandbox")
        else:
            verdict = Verdict("crashed", f"the process that ran the step died: {reason}")
        return (yield from self._undone(verdict, Place(), wall, cpu, calls))

    def _undone(self, verdict: Verdict, place: Place, wall: float, cpu: float, calls: int) -> Core[Result]:
        """The result of a step that was killed or died, after the state before it has been brought back."""
        sources = dict(self._sources)
        notes = yield from self._restore()
        return build_killed(
            self, verdict, place, wall, cpu, self._out, self._err, tuple(self.tool_records[calls:]), notes, sources
        )

    def _commit(self, result: Result) -> None:
        """The step's state is the session's state: its files belong to the checkpoint that will be made of it."""
        autos = self.checkpoints.automatic
        if autos and autos[-1].step == self.step:
            autos[-1].tool_calls = len(self.tool_records)
            if self.workspace is not None:
                autos[-1].snapshot = self.workspace.snapshot()

    # Stopping and restoring

    def _stop_undone(self, runner: Channel) -> Core[None]:
        """End the process of a step that is to be undone. First its lane goes: a stray may hold the other end open."""
        self.checkpoints.revoke(self._lane_step)
        yield from self._stop(runner)

    def _stop(self, runner: Channel) -> Core[None]:
        """End the running process and its strays."""
        self._runner = None
        assert self._lineage is not None
        yield from self._lineage.end_runner(runner, self)
        runner.close()

    def _restore(self) -> Core[list[str]]:
        """Bring back the newest state that lives. Returns notes about what could not be carried over."""
        if self.policy.checkpoints == "off" and not self.checkpoints.named and self.checkpoints.base is None:
            notes = ["checkpoints are off, so the session starts empty"] if self.step > 1 else []
            yield from self._start_over()
            return notes
        missed = 0
        for checkpoint in self.checkpoints.newest_first(named=self.policy.checkpoints == "off"):
            carried = yield from self._thaw_into_self(checkpoint)
            if carried is not None:
                if missed or (checkpoint.name is not None and checkpoint.step < self.step - 1):
                    carried.append(f"the state of checkpoint {checkpoint.label!r} is the newest that was left")
                return carried
            missed += 1
        yield from self._start_over()
        return ["no checkpoint was left: the session starts empty"] if self.step > 1 or missed else []

    def _start_over(self) -> Core[None]:
        """Go on in a fresh child: the state before the first step."""
        if not self.sandbox.alive:
            self._closed_by_zygote()
            raise SessionClosed("the zygote of this sandbox died; reopen the sandbox")
        self.checkpoints.thawed_from(None)
        self._sources.clear()
        if self.workspace is not None:
            self.workspace.restore(self.workspace.initial)
        yield from self._fresh_runner()

    def _thaw_into_self(self, checkpoint: Checkpoint) -> Core[list[str] | None]:
        """Go on from `checkpoint`. None if it is not there any more."""
        if self.workspace is not None and checkpoint.snapshot is not None:
            # First, for the copy opens its files again when it thaws.
            self.workspace.restore(checkpoint.snapshot)
        thawed = yield from self._thaw(checkpoint, branch=False, workspace=None, fds=())
        if thawed is None:
            return None
        channel, ready = thawed
        self.checkpoints.thawed_from(checkpoint)
        self._adopt(channel, checkpoint)
        return list(ready.notes)

    def _thaw(
        self, checkpoint: Checkpoint, *, branch: bool, workspace: str | None, fds: tuple[int, ...]
    ) -> Core[tuple[Channel, m.Ready] | None]:
        if not (yield from checkpoint.parked(monotonic() + PARK_SECONDS)):
            return None
        assert checkpoint.channel is not None
        channel, theirs = Channel.pair()
        try:
            with theirs:
                yield from checkpoint.channel.send(
                    m.Thaw(branch, workspace, self._lost_names()), (theirs.fileno(), *fds)
                )
            ready = yield from channel.receive(monotonic() + READY_SECONDS)
        except (Gone, ProtocolError):
            ready = None
        if not isinstance(ready, m.Ready):
            channel.kill()
            channel.close()
            return None
        return channel, ready

    def _lost_names(self) -> list[str]:
        """Names that the steps since the restored state seem to bind: a NameError about one of them can say why it is gone."""
        source = self._sources.get(f"<step {self.step}>", "")[:LOST_SOURCE]
        return list(dict.fromkeys(found for match in _BINDS.findall(source) for found in match if found))[:NAMES_LOST]

    def _living_runner(self) -> Core[Channel]:
        if self._runner is None:
            yield from self._restore()
        assert self._runner is not None
        return self._runner

    def _grant(self, step: int) -> tuple[tuple[int, ...], Any]:
        """A lane for the checkpoint of the state after `step`, if the policy makes checkpoints."""
        if self.policy.checkpoints == "off":
            return (), None
        ours, theirs = new_lane()
        self.checkpoints.granted(Checkpoint(ours, step, parent=living(self._origin), tool_calls=len(self.tool_records)))
        return (theirs.fileno(),), theirs

    # Checkpoints by name

    def checkpoint(self, name: str) -> Core[None]:
        """Keep the state as it is now under `name`."""
        if not isinstance(name, str) or not name:
            raise CheckpointError("a checkpoint needs a name: a str that is not empty")
        with self._use():
            self.checkpoints.room_for(name)
            checkpoint = yield from self._freeze()
            checkpoint.name = name
            self.checkpoints.add(name, checkpoint)

    def _freeze(self) -> Core[Checkpoint]:
        runner = yield from self._living_runner()
        parent = living(self._origin)
        if (depth := generations(parent)) >= MAX_GENERATIONS:
            raise CheckpointError(
                f"this state lies {depth} restores deep, each on a checkpoint that still lives; drop one of them first"
            )
        self._make_room()
        ours, theirs = new_lane()
        checkpoint = Checkpoint(
            ours,
            self.step,
            parent=parent,
            tool_calls=len(self.tool_records),
            snapshot=self.workspace.snapshot() if self.workspace is not None else None,
        )
        try:
            try:
                with theirs:
                    yield from runner.send(m.Freeze(), (theirs.fileno(),))
                answer = yield from self._answer(runner, m.Done)
            except (Gone, ProtocolError) as error:
                yield from self._stop(runner)
                yield from self._restore()
                raise CheckpointError(
                    f"the process died while the checkpoint was made ({error}); the session was restored"
                ) from None
            if answer.problem or not (yield from checkpoint.parked(monotonic() + PARK_SECONDS)):
                raise CheckpointError(f"no checkpoint could be made: {answer.problem or 'the copy died'}")
        except BaseException:
            checkpoint.release()
            raise
        return checkpoint

    def _make_room(self) -> None:
        """Keep the checkpoints within `limits.checkpoint_memory_mb`: automatic ones go first, the oldest of them before."""
        limit = self.policy.limits.checkpoint_memory_mb
        held = [(c, pid) for c in self.checkpoints.living() if (pid := c.pid()) is not None]
        # What is resident bounds what is their own, and costs 10 us to read; the exact figure costs 2 ms per 100 MB.
        if sum(processes.private_memory(pid) for _, pid in held) >> 20 <= limit:
            return
        rows = [(c, own_bytes(pid)) for c, pid in held]
        total = sum(size for _, size in rows) >> 20
        for checkpoint, size in rows:
            if total <= limit:
                return
            if checkpoint in self.checkpoints.automatic[:-1]:
                self.checkpoints.automatic.remove(checkpoint)
                checkpoint.release()
                total -= size >> 20
        if total > limit:
            raise CheckpointError(
                f"the checkpoints of this session hold {total} MiB of their own; limits.checkpoint_memory_mb is {limit}. "
                f"Drop one first: {', '.join(self.checkpoints.named) or 'none has a name'}"
            )

    def rollback(self, name: str | None) -> Core[list[ToolCallRecord]]:
        """Go back to a named checkpoint, or to before the last step. Returns the tool calls that cannot be undone."""
        with self._use():
            if name is not None:
                target: Checkpoint | None = self.checkpoints.find(name)
            else:
                if self.step == 0:
                    raise CheckpointError("no step has run yet: there is nothing to roll back")
                if self.policy.checkpoints == "off":
                    raise CheckpointError("checkpoints are off in this session: roll back to a named checkpoint")
                target = next((c for c in self.checkpoints.newest_first() if c.step < self.step), None)
                if target is None and self.step > 1:
                    raise CheckpointError(
                        "the state before the last step is no longer kept: roll back to a named checkpoint"
                    )
            since = self.tool_records[target.tool_calls if target is not None else 0 :]
            if target is not None and not (yield from target.parked(monotonic() + PARK_SECONDS)):
                raise CheckpointError(f"the checkpoint {target.label!r} is gone (its process was killed)")
            if self._runner is not None:
                yield from self._stop(self._runner)
            if target is None:
                yield from self._start_over()
            elif (yield from self._thaw_into_self(target)) is None:
                yield from self._restore()
                raise CheckpointError(
                    f"the checkpoint {target.label!r} died while it was thawed; the session was restored"
                )
            return since

    def branch(self, count: int) -> Core[list[SessionCore]]:
        """`count` new sessions that go on from the state as it is now."""
        limit = self.policy.limits.branches
        assert self._lineage is not None
        if not isinstance(count, int) or count < 1:
            raise ValueError("a session branches into at least one")
        if len(self._lineage.sessions) - 1 + count > limit:
            raise CheckpointError(
                f"{len(self._lineage.sessions) - 1} branches of this session are open and limits.branches allows {limit}"
            )
        with self._use():
            checkpoint = yield from self._freeze()
            branches: list[SessionCore] = []
            try:
                for _ in range(count):
                    branches.append((yield from self._branch_from(checkpoint)))
            except BaseException:
                for branch in branches:
                    yield from branch.close()
                raise
            finally:
                checkpoint.release()
            return branches

    def _branch_from(self, checkpoint: Checkpoint) -> Core[SessionCore]:
        branch = SessionCore(self.sandbox, self.policy)
        try:
            if self.workspace is not None:
                branch.workspace = self.workspace.branch(checkpoint.snapshot)
            thawed = yield from self._thaw(
                checkpoint,
                branch=True,
                workspace=branch.workspace.path if branch.workspace is not None else None,
                fds=(branch._out.fd, branch._err.fd),
            )
            if thawed is None:
                raise CheckpointError("the checkpoint died while it was branched")
            branch._adopt(thawed[0], checkpoint)
            branch._lineage = self._lineage
            assert self._lineage is not None
            self._lineage.sessions.add(branch)
            branch.mechanisms = self.mechanisms
            branch.checkpoints.base = checkpoint
            checkpoint.users += 1
            branch.step = self.step
            branch._sources = dict(self._sources)
            self.sandbox.session_opened(branch)
        except BaseException:
            yield from branch.close()
            raise
        return branch

    def checkpoint_rows(self) -> list[CheckpointInfo]:
        return self.checkpoints.rows()

    def drop(self, name: str) -> None:
        """Give up a named checkpoint."""
        with self._use():
            self.checkpoints.drop(name)

    # The namespace

    def fetch(self, name: str, *, arrays: bool = False) -> Core[tuple[bool, Any]]:
        """Whether there is such a variable, and its value."""
        with self._use():
            runner = yield from self._living_runner()
            try:
                yield from runner.send(m.Fetch(name, arrays))
                answer = yield from self._answer(runner, m.Fetched)
                if not answer.found:
                    return False, None
                payload = answer.value
                if answer.pending:
                    payload = yield from self._deliver(runner, answer.pending)
            except (Gone, ProtocolError) as error:
                yield from self._lost(runner, error)
            return True, decode_payload(self, payload, arrays=arrays)

    def assign(self, name: str, value: Any) -> Core[None]:
        """Bind a variable to a value of the host. Raises TypeError for a value that cannot cross."""
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{name!r} is not a variable name")
        limits = self.policy.limits
        payload = encode(value, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth, arrays=True)
        if payload.opaque:
            limit = f"it is larger than limits.value_kb ({limits.value_kb} KiB), nested too deep or holds itself"
            reason = limit if payload.truncated else "it is, or holds, an object that is no value"
            raise TypeError(f"the {type(value).__name__} for {name!r} cannot cross into the sandbox: {reason}")
        yield from self._change(m.Assign(name, payload.data))

    def remove(self, name: str) -> Core[None]:
        """Unbind a variable. Raises KeyError."""
        yield from self._change(m.Remove(name))

    def _change(self, request: m.Assign | m.Remove) -> Core[None]:
        with self._use():
            runner = yield from self._living_runner()
            fds, lane = self._grant(self.step)
            try:
                try:
                    yield from runner.send(request, fds)
                finally:
                    if lane is not None:
                        lane.close()
                answer = yield from self._answer(runner, m.Done)
            except (Gone, ProtocolError) as error:
                yield from self._lost(runner, error)
            autos = self.checkpoints.automatic
            if autos and self.workspace is not None:
                autos[-1].snapshot = self.workspace.snapshot()
            if answer.problem:
                raise KeyError(answer.problem)

    def names(self) -> Core[list[str]]:
        return (yield from self._ask(m.ListNames(), m.Names)).names  # type: ignore[no-any-return]

    def variables(self) -> Core[list[Variable]]:
        described = yield from self._ask(m.Describe(), m.Described)
        return [Variable(row.name, row.type, row.shape, row.size, text(row.text)) for row in described.variables]

    def _ask(self, request: Any, kind: type) -> Core[Any]:
        with self._use():
            runner = yield from self._living_runner()
            try:
                yield from runner.send(request)
                return (yield from self._answer(runner, kind))
            except (Gone, ProtocolError) as error:
                yield from self._lost(runner, error)

    def _answer(self, runner: Channel, kind: type, seconds: float = ANSWER_SECONDS) -> Core[Any]:
        message = yield from runner.receive(monotonic() + seconds)
        if message is None:
            raise ProtocolError(f"no answer within {seconds:g} s")
        if not isinstance(message, kind):
            raise ProtocolError(f"{type(message).__name__} came instead of {kind.__name__}")
        return message

    def _lost(self, runner: Channel, error: Exception) -> Core[None]:
        """The process died outside a step: restore, and say so."""
        yield from self._stop(runner)
        yield from self._restore()
        raise SandboxError(f"the session's process died ({error}); its state was restored, try again") from None

    def command(self, argv: Sequence[str], directory: str, timeout: float | None) -> Core[CommandResult]:
        """Run a program in the session's workspace. Its changes to the files are the session's."""
        from safeexec.host import commands
        from safeexec.host.workspace import open_beneath

        if self.workspace is None:
            raise WorkspaceError(f"the policy {self.policy.name!r} gives no workspace to run a command in")
        place = self.workspace.path
        if directory not in ("", "."):
            os.close(open_beneath(place, directory, os.O_PATH | os.O_DIRECTORY))
            place = os.path.join(place, directory)
        with self._use():
            result = yield from commands.run(self.sandbox, argv, self.workspace, place, timeout)
            self._files_changed()
            return result

    def _files_changed(self) -> None:
        """The host or a command changed files: they belong to the newest checkpoint's state."""
        autos = self.checkpoints.automatic
        if self.workspace is not None:
            snapshot = self.workspace.snapshot()
            if autos:
                autos[-1].snapshot = snapshot
            else:
                self.workspace.initial = snapshot

    def self_test(self) -> Core[list[Mechanism]]:
        """Let the session's process try what it must not be able to do. One row per act; `active` where it was refused."""
        return list((yield from self._ask(m.SelfTest(), m.Tested)).rows)

    # Durable states

    def save(self, path: str | os.PathLike[str]) -> Core[dict[str, str]]:
        """Write the variables and the workspace's files to a signed file. Returns the names that could not be saved, and why."""
        from safeexec.host import state_file

        key = state_file.signing_key()
        with self._use():
            runner = yield from self._living_runner()
            fd = os.memfd_create("state")
            try:
                try:
                    yield from runner.send(m.Save(), (fd,))
                    answer = yield from self._answer(runner, m.Saved, SAVE_SECONDS)
                except (Gone, ProtocolError) as error:
                    yield from self._lost(runner, error)
                if answer.problem:
                    raise StateFileError(f"the session could not be saved: {answer.problem}")
                names = [name for name in answer.names[:NAMES] if name.isidentifier()]
                failed = {name[:200]: reason[:500] for name, reason in list(answer.failed.items())[:NAMES]}
                files = self.workspace.contents() if self.workspace is not None else {}
                header = state_file.Header(
                    policy=self.policy.name,
                    digest=self.sandbox.policy.digest,
                    python=state_file.python_version(),
                    libraries=dict(list(answer.libraries.items())[:50]),
                    names=names,
                    failed=failed,
                    step=self.step,
                    payload_bytes=min(answer.size, os.fstat(fd).st_size),
                    files=[(name, len(content)) for name, content in files.items()],
                )
                state_file.write(path, header, list(files.values()), fd, key)
            finally:
                os.close(fd)
            return failed

    def load(self, fd: int) -> Core[None]:
        """Bind the variables that a saved payload holds. It is unpickled in the child, whose confinement is what holds it."""
        with self._use():
            runner = yield from self._living_runner()
            lanes, lane = self._grant(self.step)
            try:
                try:
                    yield from runner.send(m.Load(), (*lanes, fd) if lanes else (fd,))
                finally:
                    if lane is not None:
                        lane.close()
                answer = yield from self._answer(runner, m.Done, SAVE_SECONDS)
            except (Gone, ProtocolError) as error:
                raise StateFileError(f"the process died while it restored the state: {error}") from None
            if answer.problem:
                raise StateFileError(f"the state could not be restored: {answer.problem}")

    # Other threads

    def cancel(self) -> bool:
        """Stop the running step from another thread. Whether there was one."""
        runner = self._runner
        if not self._running or runner is None:
            return False
        self._verdict = self._verdict or Verdict("cancelled", "the step was cancelled by the host")
        if self._safe_to_kill:
            runner.kill()
        # Otherwise the thread that drives the step sees the verdict at its next look, at most 50 ms from now.
        return True

    # Files

    def sql(self, query: str, name: str, timeout: float | None) -> Core[Result]:
        """Run one SQL query as a step; a result is bound to the variable `name`."""
        if not isinstance(query, str):
            raise TypeError(f"query must be str, not {type(query).__name__}")
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{name!r} is not a variable name")
        text = query.encode("utf-8", "surrogatepass")
        return (yield from self.perform(lambda step: m.Query(step, text, name), timeout=timeout))

    def read_file(self, name: str) -> bytes:
        """The bytes of a file of the workspace. Raises `WorkspaceError`."""
        from safeexec.host import workspace_files

        return workspace_files.read_file(self._directory(), name, max_bytes=self.policy.limits.workspace_mb << 20)

    def write_file(self, name: str, data: bytes) -> None:
        """Put a file into the workspace; it belongs to the state as it is now. Raises `WorkspaceError`."""
        from safeexec.host import workspace_files

        directory = self._directory()
        with self._use():
            assert self.workspace is not None
            limit = self.policy.limits.workspace_mb << 20
            workspace_files.write_file(directory, name, bytes(data), max_bytes=limit, owner=self.workspace.owner)
            self._files_changed()
            self._listing = workspace_files.snapshot(directory)

    def list_files(self) -> list[str]:
        """The names of the regular files of the workspace, sorted."""
        from safeexec.host import workspace_files

        return [info.name for info in workspace_files.list_files(self._directory())]

    def _directory(self) -> str:
        if self._closed:
            raise SessionClosed("the session is closed")
        if self.workspace is None:
            raise WorkspaceError(
                f"the policy {self.policy.name!r} gives sessions no workspace "
                f"(filesystem.workspace, {self.policy.origin('filesystem.workspace') or 'not set'})"
            )
        return self.workspace.path

    def _changed_files(self) -> tuple[FileChange, ...]:
        """The files that the last step created, changed and deleted."""
        from safeexec.host import workspace_files

        if self.workspace is None:
            return ()
        before, self._listing = self._listing, workspace_files.snapshot(self.workspace.path)
        return workspace_files.changed_since(before, self._listing)

    def _use(self) -> _Use:
        if self._closed:
            raise SessionClosed(self._why_closed)
        return _Use(self._lock, self)

    def _closed_by_zygote(self) -> None:
        self._runner = None


class _Use:
    """The session is in use by one caller; a second one is refused at once rather than kept waiting."""

    __slots__ = ("_lock", "_session")

    def __init__(self, lock: _thread.LockType, session: SessionCore) -> None:
        if not lock.acquire(blocking=False):
            raise SessionBusy(
                "a step of this session is running in another thread or task; use a session per thread, or branch"
            )
        self._lock = lock
        self._session = session

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._session.used = monotonic()
        self._lock.release()


LOST_SOURCE = 50_000
NAMES_LOST = 200
_BINDS = re.compile(
    r"^[ \t]*(?:(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=)|(?:import|from)[^\n]*?(\w+)[ \t]*$)", re.M
)
STREAM_SECONDS = 0.003
"""How far behind the guest `on_output` may be."""
STREAM_BYTES = 1 << 20


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


def death(pidfd: int) -> str:
    """How a process ended, in words, as far as the kernel still knows."""
    info = processes.pidfd_info(pidfd)
    if info is None or info.exit_status is None:
        return "killed, or crashed in C code"
    status = info.exit_status
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = next((one.name for one in signal.Signals if one.value == number), str(number))
        return f"killed by signal {name}"
    return f"it exited with status {os.WEXITSTATUS(status)}"
