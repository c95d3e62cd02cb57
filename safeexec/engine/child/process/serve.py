"""The child's loop: read a request, act, answer.

Between an answer and the next request, in think time, it makes the copy that is due, if one is: a fork of this process,
which will wait on the control socket that the host granted with a request. None is due after a step that can be
repeated, as long as all such steps since the last copy are soon done.

Three processes come out of one call of `Server._freeze`, two of them from it:

    runner  ── fork ──▶ goes on: `_freeze` returns True
                 └─▶ copy: stays frozen in `Checkpoints.freeze`, until the host closes its socket, which ends it
                       └── fork, each time the host asks ──▶ resumed runner: `_wake` says Ready, `_freeze` returns False

What the caller of `_freeze` was about to do is the runner's alone: a resumed one takes the next request.
"""

from __future__ import annotations

import _thread
import mmap
import resource
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import msgspec

from safeexec.common.own import contextlib, os
from safeexec.engine.child.link import Link
from safeexec.engine.child.process import determinism
from safeexec.engine.child.process.checkpoints import Checkpoints
from safeexec.engine.child.repeat.digest import digest
from safeexec.engine.child.step import caught
from safeexec.engine.child.step.guest import WARM_UP, Guest
from safeexec.engine.child.step.plugins import WARM_UP as NO_CALL
from safeexec.engine.child.step.plugins import LoadedPlugin
from safeexec.engine.child.step.standard_input import program_file
from safeexec.engine.child.step.tools import ToolCaller, tool_functions
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_arguments
from safeexec.protocol.confinement import Mechanism
from safeexec.protocol.values import decode, encode

QUIET_SECONDS = 0.0005
"""Silence of the host after an answer before a checkpoint is made: an answer is read before the fork
competes for its core, and steps that come back to back are checkpointed when the next one arrives."""
_WARM_UP_REQUEST = m.Execute(0, WARM_UP.encode())
_WARM_UP_CALL = m.Invoke(0, NO_CALL, encode_arguments((1,), {"x": 1.5}, max_bytes=1000, max_depth=2).data)
_STEPS = frozenset({m.Execute, m.Query, m.Invoke, m.Install, m.Proceed})
"""Requests that run guest code, and change the state."""
_HARMLESS = frozenset({m.Compile, m.Fetch, m.ListNames, m.Deliver})
"""Requests that change nothing and run no guest code, so that they are always answered. Before each other one the state
gets the checkpoint that is due: it may change, `__repr__` or `__reduce__` may never return, and the self-test tries a
fork, which would use up the checkpoint's permission.
"""
DEBT_SECONDS = 0.02
"""Seconds of processor after which a checkpoint is made: what about ten checkpoints take."""
DEBT_STEPS = 400
"""Steps, and values that the host has set, after which one is made, however little they took."""
DEBT_BYTES = 128 << 10
"""Bytes of sources, and of values that the host has set, after which one is made."""
RESERVE_BYTES = 4 << 20
"""Address space that is kept back until a step has left none: for the next request, and for a step that frees some."""
_FULL = b"the session's memory is full: this step had what is kept back for such a case, and leaves nothing to the next"
_EXIT_FUNCTIONS = "nothing runs what was registered with atexit, as this step has no stdin: call it yourself at the end"
_HAS_THREADS = "a guest thread is alive, so this state has no checkpoint (a fork carries one thread only)"


class Server:
    """Serves one guest: requests of the host in, answers out, checkpoints in between."""

    def __init__(self, link: Link, guest: Guest, tools: ToolCaller) -> None:
        self.link = link
        self.guest = guest
        self.tools = tools
        self.checkpoints = Checkpoints(guest.streams)
        self.plugin = LoadedPlugin(guest)
        self.unprepared: list[str] = []
        """Problems with what the zygote tried to prepare for its children, and could not."""
        self._checkpoints_when_idle = False
        """`checkpoints: idle`: in think time, and none after a step that can be repeated."""
        self._serving = False
        """True once the host speaks to this process: on the zygote's link it asks for children."""
        self._control: int | None = None
        """The control socket of the next checkpoint."""
        self._due = False
        """True while the state that the process is in is to have one."""
        self._debt_steps = self._debt_bytes = 0
        """The debt is what would have to be repeated, should this process be lost: steps and changes since the last
        checkpoint, and their bytes.
        """
        self._debt_began = 0.0
        """CPU seconds of this process at the last checkpoint."""
        self._step = 0
        self._pid = os.getpid()
        """This process. A process that guest code forks gets back to here, too, and must answer nothing."""
        self._thread = _thread.get_ident()
        self._reserve: mmap.mmap | None = _reserve()
        guest.progress.emit = self._progress
        self._acts: dict[type, Callable[[Any], msgspec.Struct]] = {
            m.Execute: guest.step,
            m.Invoke: self.plugin.invoke,
            m.Install: self._install,
            m.Proceed: self.plugin.proceed,
            m.Query: guest.query,
            m.Compile: guest.check,
            m.Fetch: self._fetch,
            m.Assign: self._assign,
            m.Remove: self._remove,
            m.ListNames: self._names,
            m.Describe: lambda _: m.Described(guest.variables()[: m.SOME]),
            m.Deliver: self._deliver,
            m.Save: self._save,
            m.Load: self._load,
            m.SelfTest: self._self_test,
        }

    def serve(self, spawn: m.Spawn, entropy: bytes) -> NoReturn:
        """Say Ready, then answer requests until the host closes the socket. `warm_up` first if none comes at once."""
        self._checkpoints_when_idle, self._pid, self._serving = spawn.idle, os.getpid(), True
        self.checkpoints.workspace = spawn.workspace
        self.link.send(m.Ready(entropy=entropy))
        if spawn.warm_up and self.link.quiet(QUIET_SECONDS):
            self.warm_up()
        self._clear_debt()
        while True:
            try:
                request = self.link.receive()
            except MemoryError:  # the request waits in the socket
                if self._reserve is None:
                    raise
                self._reserve.close()
                self._reserve = None
                request = self.link.receive()
            answer = self._answer(request)
            if answer is None:
                continue
            self.link.send(answer)
            if self._due and self._checkpoints_when_idle and self.link.quiet(QUIET_SECONDS):
                self._freeze(hurry=False)

    def _answer(self, request: Any) -> msgspec.Struct | None:
        """Do what is asked for. None where there is nothing left to say."""
        kind = type(request)
        if kind is m.Freeze:
            self._freeze_on_request()
            return None
        if self._due and kind not in _HARMLESS and not self._freeze(hurry=True):
            return None  # a runner resumed from the copy: the request was answered in the one that made it
        stdin = None
        if kind in _STEPS:
            self._step = request.step
            if kind is m.Execute and request.stdin:
                stdin = self.link.take_fd()
            if self.link.fds:
                self._grant()
        elif kind is m.Assign or kind is m.Remove:
            self._grant()
        if kind is m.Repeat:
            if request.entropy:
                determinism.seed_all(request.entropy)
            # In this very function and no other: a step that recurses to its limit has to find the stack as deep as
            # when it was asked for by itself, or it comes to something else.
            for repeated, entry in enumerate(request.entries):
                self.guest.streams.empty()
                if isinstance(entry.request, m.Execute):
                    self._step = entry.request.step
                came: Any = self._do(entry.request)
                if m.did(came) != entry.did:
                    return m.Done(problem="something else came of it than before", repeated=repeated)
            names = self._names(m.ListNames(digest=request.digest != 0))
            return names if names.digest == request.digest else m.Done(problem="together they came to something else")
        tools = self.tools
        tools.is_open = kind in _STEPS
        if kind is m.Execute and (request.stdin or request.argv is not None or request.shows):
            with self._given(request, stdin):  # no function: a repeated step finds the stack as deep
                answer = self._do(request)
        else:
            answer = self._do(request)
        if tools.names:
            tools.close()
        else:
            tools.is_open = False
        return answer

    def _do(self, request: Any) -> msgspec.Struct:
        """Do what is asked for, and note whether a checkpoint is due then."""
        kind = type(request)
        if kind in _STEPS and self._step:
            judged = kind is m.Execute and request.judged
            if kind is m.Execute:
                self.guest.looks_for_repeats = judged
            if not judged:
                # A step is judged by the names in its source and in those before it. Here nobody looks at the source,
                # or there is none: no later step can be repeated, not even in a branch whose policy has its steps
                # judged.
                self.guest.repeatable.seen.unpredictable = True
        answer = self._acts[kind](request)
        if os.getpid() != self._pid:
            _end_fork(answer)
        if isinstance(answer, m.StepDone) and kind in _STEPS:
            self._conclude(request, answer)
        elif kind is m.Assign or kind is m.Remove or kind is m.Load:
            self._debt_steps += 1
            self._debt_bytes += len(request.value) if kind is m.Assign else 0
            due = kind is m.Load or not self._checkpoints_when_idle or request.copied
            self._due = due and self._control is not None
        return answer

    def _conclude(self, request: Any, done: m.StepDone) -> None:
        """Add to the answer of a step the figures of the whole process, and whether a checkpoint is due."""
        guest, usage = self.guest, resource.getrusage(resource.RUSAGE_SELF)
        done.step, done.peak_kb = self._step, usage.ru_maxrss
        if caught.noted or guest.language.unseen:
            done.refusals = caught.take(done.error, guest.language)
        done.threads = guest.threads is not None and guest.threads.started and guest.threads.ran()
        if guest.exit_functions:
            guest.exit_functions.clear()
            done.notes.append(_EXIT_FUNCTIONS)
        has_threads = _thread._count() > 0
        if has_threads and self._control is not None:
            done.notes.append(_HAS_THREADS)
        if not self._step:
            done.due = False  # a warm-up
            return
        if self._reserve is None:
            self._reserve = _reserve()
            if self._reserve is None and done.outcome == "ok":
                done.outcome, done.error = "memory", m.ErrorReport(type="MemoryError", message=_FULL)
                done.repeatable = False
        due = True
        if type(request) is m.Execute:
            self._debt_steps += 1
            self._debt_bytes += len(request.source)
            given = request.copied or request.stdin or request.argv is not None
            done.repeatable = done.repeatable and not (given or done.threads or has_threads)
            due = (
                not done.repeatable
                or not self._checkpoints_when_idle
                or self._debt_steps > DEBT_STEPS
                or self._debt_bytes > DEBT_BYTES
                or usage.ru_utime + usage.ru_stime - self._debt_began > DEBT_SECONDS
            )
        self._due = done.due = due and self._control is not None

    # Checkpoints

    def _clear_debt(self) -> None:
        """Begin anew to count what would have to be repeated, should this process be lost."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self._debt_began = usage.ru_utime + usage.ru_stime
        self._debt_steps = self._debt_bytes = 0

    def _grant(self) -> None:
        """Take the control socket that came with a request; it replaces one that was never used."""
        control = self.link.take_fd()
        if control is not None:
            if self._control is not None:
                os.close(self._control)
            self._control = control

    def _freeze(self, *, hurry: bool) -> bool:
        """Make the checkpoint that is due. True in this process, made or not; False in a runner resumed from it."""
        control, self._control, self._due = self._control, None, False
        self._clear_debt()
        resumed, problem = self._copy_onto(control)
        if problem:
            # The state that it was due for is lost to a kill: so is what can be repeated from there.
            self._debt_steps = DEBT_STEPS
        elif not resumed and not hurry:
            self.warm_up()
        return not resumed

    def _freeze_on_request(self) -> None:
        # The control socket stays where it is until it is used: a copy that is made before closes it with the others.
        if self._due and not self._freeze(hurry=True):
            return
        resumed, problem = self._copy_onto(self.link.take_fd())
        if not resumed:
            self.link.send(m.Done(problem=problem))

    def _copy_onto(self, control: int | None) -> tuple[bool, str]:
        """Make a checkpoint that freezes on `control`. Returns whether this is a runner that was resumed from it; and
        why there is none, if so: the end of the socket shows that, too.
        """
        if _thread._count():
            problem = "a guest thread is alive, and a checkpoint can carry one thread only"
        elif control is None:
            problem = "this process has no descriptor left for the socket of a checkpoint"
        else:
            try:
                wake = self.checkpoints.freeze(control, self._step, self.link, self._control)
            except OSError as error:  # no process to be had: NPROC, memory
                problem = f"no checkpoint could be made: {error.strerror or error}"
            except MemoryError:
                problem = "no checkpoint could be made: the session's memory is full"
            else:
                if wake is not None:
                    self._wake(*wake)
                return wake is not None, ""
        if control is not None:
            with contextlib.suppress(OSError):
                os.close(control)
        return False, problem

    def _host_waits(self) -> bool:
        return self._serving and not self.link.quiet(0)

    def warm_up(self) -> None:
        """Touch in think time the pages that the next step will write: each costs 2 us once, now or then. (One step
        touches 178 of them, a second one 1.)
        """
        if self.plugin.waits_for_calls:
            if self._warm_up(_WARM_UP_CALL):
                self.plugin.warm_up()
            return
        self.guest.without_trace(lambda: self._warm_up(_WARM_UP_REQUEST))
        if not self._host_waits():
            self.guest.warm_up()

    def _warm_up(self, request: msgspec.Struct) -> bool:
        """Receive, do and answer a request that changes nothing. False, and nothing done, if the host waits."""
        if self._host_waits():
            return False
        step = self._step
        answer = self._answer(self.link.pretend_to_receive(request))
        self._step = step
        assert answer is not None
        self.link.pretend_to_send(answer)
        return True

    def _wake(self, request: m.Wake, notes: list[str]) -> None:
        """Say that this process is a runner again."""
        self._pid = os.getpid()
        if request.branch:
            self._checkpoints_when_idle = request.idle
            self.guest.streams.log.attach()
        self._control = None  # the copy has closed it
        self._due = False
        self._clear_debt()
        self.guest.lost.update(request.lost)
        names = [name for name in self.guest.names() if len(name) <= m.NAME_CHARACTERS]
        notes = [note[: m.NOTE_CHARACTERS] for note in notes[: m.FEW]]
        self.link.send(m.Ready(notes, names[: m.FEW]))
        # The process for a call of a fresh plugin is asked for before it is needed: it touches now what the call will.
        # A branch does not: there may be many, and each of them begins at once or never.
        if self.plugin.waits_for_calls or (not request.branch and self.link.quiet(QUIET_SECONDS)):
            self.warm_up()

    # Requests

    def _may_report(self) -> bool:
        """Return whether the socket is free: it belongs to the thread that runs a step, then to a call of a tool."""
        return self.tools.is_open and _thread.get_ident() == self._thread and not self.tools.waiting

    def _progress(self, description: str, done: float, total: float | None) -> None:
        """Report that a progress bar of the guest moved."""
        if self._may_report():
            self.link.send(m.Progress(description, done, total))

    def _shown(self, display: m.DisplayData) -> None:
        """Report what the guest displayed."""
        if self._may_report():
            self.link.send(m.Shown(display, self.guest.streams.position()))

    @contextlib.contextmanager
    def _given(self, request: m.Execute, stdin: int | None) -> Iterator[None]:
        """Give a step something to read, or arguments; or let its displays be sent as they come."""
        given = self.guest.input
        file = program_file(request.argv, self.guest.language.plan.workspace != "none")
        namespace = self.guest.namespace
        own = namespace.get("__file__")
        if file:
            namespace["__file__"] = file
        if request.shows:
            self.guest.displays.report = self._shown
        try:
            given.begin(stdin, request.argv)
            yield
        finally:
            given.end()
            if file and namespace.get("__file__") is file:
                if own is None:
                    del namespace["__file__"]
                else:
                    namespace["__file__"] = own
            self.guest.displays.report = None

    def _install(self, request: m.Install) -> m.StepDone:
        functions = tool_functions(self.tools, request.tools)
        names = frozenset(functions)
        self.tools.names |= names
        self.guest.namespace.update(functions)
        self.guest.hidden |= names
        return self.plugin.install(request)

    def _fetch(self, request: m.Fetch) -> m.Fetched:
        guest = self.guest
        if request.name not in guest.namespace or request.name in guest.hidden:
            return m.Fetched(False)
        encoded = encode(
            guest.namespace[request.name],
            max_bytes=guest.limits.value_bytes,
            max_depth=guest.limits.value_depth,
            arrays=request.arrays,
        )
        value, pending = guest.hold(encoded.data)
        return m.Fetched(True, value, pending)

    def _assign(self, request: m.Assign) -> m.Done:
        if request.name in self.guest.hidden:
            return m.Done(problem=f"{request.name!r} belongs to the sandbox")
        try:
            self.guest.namespace[request.name] = value = decode(request.value, arrays=True)
            self.guest.repeatable.assigned(value)
        except MemoryError:
            return m.Done(problem="the value does not fit into the session's memory")
        return m.Done()

    def _remove(self, request: m.Remove) -> m.Done:
        if request.name in self.guest.hidden or request.name not in self.guest.namespace:
            return m.Done(problem=f"no variable {request.name!r}"[: m.PROBLEM_CHARACTERS])
        del self.guest.namespace[request.name]
        return m.Done()

    def _names(self, request: m.ListNames) -> m.Names:
        names = self.guest.names()
        return m.Names(names[: m.MANY], digest(self.guest.namespace, names) if request.digest else 0)

    def _deliver(self, request: m.Deliver) -> m.Done:
        payload, self.guest.pending = self.guest.pending, b""
        return self.link.deliver(payload)

    def _self_test(self, request: m.SelfTest) -> m.Tested:
        from safeexec.engine.child.process.selftest import try_everything  # for hosts that ask

        rows = try_everything(self.guest.limits.memory_bytes, request.processes)
        if self.unprepared:
            detail = f"{'; '.join(self.unprepared)}: each session does without, or makes it for itself"
            rows.append(Mechanism("preparation", False, detail))
        return m.Tested(rows)

    def _save(self, request: m.Save) -> m.Saved:
        from safeexec.engine.child.process import state  # with cloudpickle 15 ms

        return state.save(self.link.take_fd(), self.guest, request.lasting)

    def _load(self, request: m.Load) -> m.Done:
        from safeexec.engine.child.process import state

        fd = self.link.take_fd()  # the file comes first: it may be the only descriptor
        self._grant()
        return state.load(fd, self.guest, request.foreign)


def _reserve() -> mmap.mmap | None:
    """Return so much address space, none of it used. None where there is none."""
    try:
        return mmap.mmap(-1, RESERVE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (MemoryError, OSError):
        return None


def _end_fork(answer: msgspec.Struct) -> NoReturn:
    """Guest code forked, and this is the new process, at the end of the step: it ends here as a Python program would.

    Only the process that got the request may answer it. A traceback goes to standard error, as CPython prints it.
    """
    if not isinstance(answer, m.StepDone):
        os._exit(0)
    if answer.error is not None and answer.exit_status is None:
        os.write(2, answer.error.traceback)
    os._exit(answer.exit_status or int(answer.error is not None))
