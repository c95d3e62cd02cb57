"""Keeps a process ready for the steps of a session, sends it questions, and restores the state when it is lost; what
happens in a step, and in which order, is in `steps.py`. The sources of the steps are kept here too: for tracebacks of
those that are killed, and for the names that an undone one had bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeVar

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.copies import FREEZE_SECONDS
from safeexec.engine.host.session.copy import Copy, check_depth
from safeexec.engine.host.session.history import FRESH
from safeexec.engine.host.session.listeners import NOBODY, Listeners
from safeexec.engine.host.session.processes import SessionProcesses
from safeexec.engine.host.session.restorer import Restorer
from safeexec.engine.host.session.runner import Runner
from safeexec.engine.host.session.step import SECURE_SECONDS, AnswerTool, Step
from safeexec.engine.host.session.tool_calls import ToolLog
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch.clock import Watch
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.errors import CheckpointError, ProtocolError, SandboxError, SessionClosed, WorkspaceError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.host.commands import RunningCommand
    from safeexec.engine.host.files.workspace_files import Marks
    from safeexec.engine.host.watch.room import Room
    from safeexec.results import Result

R = TypeVar("R")

LATE_ANSWER_SECONDS = 1.0
"""How long to wait for the answer to a question whose asker was interrupted. Without it nothing is lost: the state of
the newest copy is the same."""
NAMES_REMAINING = 200
"""Variables that a result names after a restore."""
FREEZING = " while the checkpoint was made"
CLOSED_MEANWHILE = "the session was closed while this ran"

# The states of a session, and what may follow each: one table, as `protocol.conversation` has one for messages. A call
# moves the session from `IDLE` to `ASKING` or `STEPPING` and back. One that is cut off in between (Ctrl-C, a cancelled
# task) leaves the state as it stands; the next one sees by it what has to be put in order first.

NEW: Final = "new"
"""It has had no process yet."""
IDLE: Final = "idle"
"""Its process waits for a request."""
ASKING: Final = "asking"
"""Its process was sent a question or a change: the answer has to be taken in."""
STEPPING: Final = "stepping"
"""Its process was given a step that is neither part of the session yet nor undone."""
RESTING: Final = "resting"
"""It needs no process until its next use: a new one will be in the same state."""
LOST: Final = "lost"
"""It has no process: the state that it is in has to be brought back."""
CLOSED: Final = "closed"
"""Nothing is held any more."""

FOLLOWS: Final[dict[str, frozenset[str]]] = {
    NEW: frozenset({IDLE, CLOSED}),
    IDLE: frozenset({ASKING, STEPPING, LOST, CLOSED}),
    ASKING: frozenset({IDLE, LOST, CLOSED}),
    STEPPING: frozenset({IDLE, LOST, CLOSED}),
    LOST: frozenset({IDLE, RESTING, LOST, CLOSED}),
    RESTING: frozenset({LOST, CLOSED}),
    CLOSED: frozenset(),
}


class Supervisor:
    """Keeps the state of one session. Each method is part of a turn of the session."""

    def __init__(self, processes: SessionProcesses) -> None:
        self.processes = processes
        self.restorer = Restorer(processes)
        self.state = NEW
        self.doing: Step | None = None
        """The request that runs, or the one that ran last."""
        self.command: RunningCommand | None = None
        """The command that runs, in the control group of the session."""
        self.tool_records = ToolLog()
        self.sources = Sources()
        self.marks: Marks = {}
        """The workspace's files after the last step, with which those after the next one are compared."""
        self.notes_next: list[str] = []
        """Notes for the next result: what became of the state while nobody used it."""
        self.restored = 0
        """How often the state has been brought back."""
        self.woke = 0.0
        """Seconds that this turn took to bring the process back: before its step, or before what came first in it."""
        self.idle_violation: Verdict | None = None
        """The verdict on what the session did while no step ran: its process has been ended for it."""
        self.diverged = False
        """True if steps were lost because a repetition came out otherwise, and no caller knows of it."""
        self.why_closed: str | None = None
        """Set by whoever closes the session, from any thread; whoever uses it then lets go of everything."""

    # Beginning

    def begin(self) -> Core[None]:
        """Get a child and wait until it is locked down."""
        yield from self.processes.begin()
        self.take_in_process()

    def begin_anew(self) -> Core[None]:
        """Get another child, in the place of processes that are gone. What is known of calls of tools stays."""
        policy, children = self.processes.policy, self.processes.children
        self.processes = SessionProcesses(children, policy, children.spare_for(policy))
        self.restorer = Restorer(self.processes)
        self.state, self.doing, self.notes_next = NEW, None, []
        self.restored, self.idle_violation, self.diverged = 0, None, False
        yield from self.begin()

    def begin_step(
        self,
        number: int,
        runner: Runner,
        timeout: float,
        room: Room | None = None,
        answer_tool: AnswerTool | None = None,
        listeners: Listeners = NOBODY,
    ) -> Step:
        """Return the request that runs from now on, with its clock started and the output of the last one gone."""
        output = self.processes.output
        output.begin()
        watch = Watch(runner.channel, self.processes.policy.limits, timeout, (output.stdout, output.stderr), room)
        streams = () if listeners is NOBODY else listeners.streams(output)
        calls = self.tool_records.total
        self.doing = Step(number, self.processes, runner, watch, answer_tool, listeners, streams, calls, self.woke)
        return self.doing

    # Ending a step, and queries of the watch: from any thread

    def cancel(self, why: str = "the step was cancelled by the host") -> bool:
        """Stop the running step or command, or what runs under its limits. Returns whether there was one."""
        verdict = Verdict("cancelled", why)
        if (command := self.command) is not None:
            command.exceed(verdict)
            return True
        return (step := self.doing) is not None and step.hand_in(verdict)

    def exceed(self, verdict: Verdict) -> bool:
        """End the step for what the session uses. False: no caller ends it, so its processes are to be killed."""
        step = self.doing
        if step is not None and step.hand_in(verdict):
            return not (step.in_tool or step.listening)
        self.idle_violation = verdict
        return False

    def overdue(self) -> Verdict | None:
        """Return the verdict on a step that is past its deadline, where its caller does not end it."""
        return None if (step := self.doing) is None else step.overdue()

    @property
    def forks_requested(self) -> int:
        """The processes that its runner may have been asked to make, beside the copies that were promised."""
        return 1 if self.state is ASKING else 0

    # States

    def transition(self, state: str) -> None:
        """Enter another state of the session: one that the table `FOLLOWS` has after this one."""
        assert state in FOLLOWS[self.state], f"{self.state} → {state}"
        self.state = state

    @property
    def settled(self) -> bool:
        """True if nothing was interrupted, and nothing was lost while nobody used the session."""
        return self.state is IDLE and self.idle_violation is None

    # Asking the process

    def ready_runner(self, *, step: bool = False) -> Core[Runner]:
        """Return the process that runs steps, ready for a request. Raises `SessionClosed` where the zygote has died;
        and `SandboxError` where the state has diverged, unless it is for a `step`, whose result says so.
        """
        if not self.processes.children.alive:
            if self.state is IDLE:
                yield from self.stop()
            self.processes.check_alive()
        if (over := self.idle_violation) is not None:
            self.idle_violation = None
            self.notes_next.append(f"between its steps {over.message}: what it had running was ended")
            if self.state is IDLE:
                self.transition(LOST)
        if self.state is not IDLE:
            yield from self.finish_interrupted()
        if not step and self.take_diverged():
            notes, self.notes_next = self.notes_next, []
            raise SandboxError(f"{'; '.join(notes)}; try again")
        assert self.processes.runner is not None
        return self.processes.runner

    def ensure_ready(self) -> Core[None]:
        """Bring back now, and not in the operation that comes, what was lost while nobody used the session; as
        `ready_runner`.
        """
        if not self.settled:
            yield from self.ready_runner()

    def ask(self, question: Callable[[Runner], Core[R]]) -> Core[R]:
        """Return what the process answers. If it dies of that, its state is restored: `SandboxError`."""
        runner = yield from self.ready_runner()
        self.processes.copying.looked_at = True
        try:
            return (yield from self._asking(question(runner)))
        except (Gone, ProtocolError) as error:
            return (yield from self.restore_and_raise(error))

    def _asking(self, work: Core[R]) -> Core[R]:
        """Do `work` with the process. Raises what it raises: after `Gone` or `ProtocolError` the state is lost."""
        self.transition(ASKING)
        try:
            found = yield from work
        except CheckpointError:
            self.transition(IDLE)
            raise
        self.transition(IDLE)
        return found

    def change(
        self, ask: Callable[[Runner, tuple[int, ...]], Core[m.Done]], request: m.Assign | m.Remove | None = None
    ) -> Core[m.Done]:
        """Change variables in the process: another version of the state that the session is in. `ask` is given
        the descriptors that go with its message: `request`, if that can be repeated.
        """
        processes = self.processes
        runner = yield from self.ready_runner()
        copy_socket = processes.begin_change(request)
        self.transition(ASKING)
        fds = () if copy_socket is None else (copy_socket.fileno(),)
        try:
            answer = yield from ask(runner, fds)
        finally:
            if copy_socket is not None:
                copy_socket.close()
        try:
            yield from processes.commit_change(self.tool_records.total, refused=bool(answer.problem))
        finally:
            self.transition(IDLE)
        return answer

    # After an interruption

    def finish_interrupted(self) -> Core[None]:
        """Put in order what the last caller left unfinished: it was interrupted (Ctrl-C, a signal handler that raised),
        and once more while it put things in order itself.
        """
        began, runner = monotonic(), self.processes.runner
        if runner is not None and self.state is ASKING:
            yield from self._read_late_answer(runner)
        elif runner is not None and self.state is STEPPING:
            yield from self._undo_abandoned_step(runner)
        if self.state is LOST or self.state is RESTING:
            rested = self.state is RESTING
            yield from self.stop()
            self.notes_next += yield from self.restore(planned=rested)
        self.woke += monotonic() - began

    def _read_late_answer(self, runner: Runner) -> Core[None]:
        """Take in the answer that nobody waits for. A change that it confirms has been made."""
        try:
            deadline, channel = monotonic() + patient(LATE_ANSWER_SECONDS), runner.channel
            while not channel.at_rest and (yield from channel.receive(deadline)) is not None:
                pass
            answered = channel.at_rest
        except (Gone, ProtocolError):
            answered = False
        if not answered:
            self.processes.undo()
            self.transition(LOST)
            return
        if self.processes.history.next is not None:
            yield from self.processes.commit_change(self.tool_records.total)
        self.transition(IDLE)

    def _undo_abandoned_step(self, runner: Runner) -> Core[None]:
        """Undo a step whose caller is gone, unless it is part of the session already or was never sent."""
        processes = self.processes
        if self.doing is not None:
            self.doing.close()
        may_have_begun = self._may_have_begun(runner)
        if may_have_begun:
            # The copy of the state before may still have to come from the process, which is about to be ended.
            yield from processes.copies.have_current(monotonic() + patient(SECURE_SECONDS))
        processes.undo()
        self.transition(LOST if may_have_begun else IDLE)

    def _may_have_begun(self, runner: Runner) -> bool:
        """Return whether the process may have begun the step that is not part of the session yet."""
        history = self.processes.history
        if not runner.channel.at_rest:
            return True
        if history.next is None:
            return False
        # Answered, or never sent. No child begins a step before it has made the copy of the state before, if one is
        # due.
        copies = history.copies_of(history.current.memory)
        return not copies or any(copy.is_frozen() for copy in copies)

    # Going back

    def stop(self) -> Core[None]:
        """End the process; what it was doing is undone. There is none until `restore`, which the caller owes."""
        self.processes.undo()
        self.transition(LOST)
        yield from self.processes.stop()

    def restore(self, *, planned: bool = False) -> Core[list[str]]:
        """Bring back the state that the session is in, or the newest older one. Returns notes. `planned`: nothing went
        wrong, as in a rollback.
        """
        if self.why_closed is not None:
            raise SessionClosed(CLOSED_MEANWHILE)
        notes = yield from self.restorer.restore(self.sources.bound_last())
        self.diverged = self.diverged or bool(self.restorer.lost_steps)
        self.restored += not planned
        self.take_in_process()
        return notes

    def take_in_process(self) -> None:
        """Begin with a process that has just come up, and with the files that go with it."""
        if self.processes.history.current.memory is FRESH:
            self.sources.clear()
        self.refresh_file_baseline()
        self.transition(IDLE)

    def refresh_file_baseline(self) -> None:
        """Compare the files after the next step with those that are there now."""
        if self.processes.workspace is not None and self.processes.history.current.files is not None:
            self.marks = self.processes.workspace.marks

    def describe_restore(self, notes: list[str]) -> str:
        """Return in words what became of the state, after a restore that left these notes."""
        if self.processes.history.current.memory is FRESH and notes:
            return notes[-1]
        return f"the session was restored ({'; '.join(notes)})" if notes else "the session was restored"

    def restore_after_step(self) -> Core[list[str]]:
        """`restore` after a step whose process `stop` has ended: what the step did to the process is forgotten."""
        # Neither what it printed nor what a look found as it was ended is to count against the process that goes on.
        self.processes.output.begin()
        self.idle_violation = None
        return (yield from self.restore())

    def undo_step(self) -> Core[list[str]]:
        """`stop`, then `restore_after_step`: the step leaves no trace. Returns notes."""
        yield from self.stop()
        return (yield from self.restore_after_step())

    def take_diverged(self) -> bool:
        """Return whether steps were lost as they came out otherwise, and clear that: the caller reports it."""
        diverged, self.diverged = self.diverged, False
        return diverged

    def note_untold(self, result: Result) -> None:
        """Keep for the next result what this one was to say: its caller was interrupted after the step had ended, and
        never gets it.
        """
        kept = f"step {result.step} had ended when it was cancelled, and is part of the state"
        self.notes_next += (*result.notes, kept) if result.state == "kept" else result.notes

    def remaining(self) -> tuple[str, ...]:
        """Return the names of the variables after a restore."""
        return tuple(name for name in self.restorer.remaining if name.isidentifier())[:NAMES_REMAINING]

    def restore_and_raise(self, error: Exception, when: str = "") -> Core[NoReturn]:
        """Restore the state, as the process died outside a step, and say so: `SandboxError`, or `CheckpointError` where
        it died `when` a copy was made.
        """
        message, notes = yield from self._restore_after_death(when, error)
        self.notes_next += notes
        self.diverged = False  # the exception says so
        raise (CheckpointError(message) if when else SandboxError(f"{message}; try again")) from None

    def _restore_after_death(self, when: str, error: Exception) -> Core[tuple[str, list[str]]]:
        """Restore the state, as the process died outside a step. Returns a message, with the reason that the host's
        watch has found, else `error`; and the notes that the restore left, which are in the message too.
        """
        yield from self.stop()
        notes = yield from self.restore()
        over, self.idle_violation = self.idle_violation, None
        reason = error if over is None else over.message
        return f"the session's process died{when} ({reason}); {self.describe_restore(notes)}", notes

    # Copies of the state as it is

    def new_copy(self) -> Core[Copy]:
        """Return a copy of the state as it is now."""
        processes = self.processes
        runner = yield from self.ready_runner()
        yield from processes.copies.make_room()
        yield from self._see_files()
        try:
            return (yield from self._asking(processes.copies.new(runner, processes.output)))
        except (Gone, ProtocolError) as error:
            return (yield from self.restore_and_raise(error, FREEZING))

    def shared_copy(self) -> Core[Copy]:
        """Return a copy of the state as it is now, for one user more: one that is frozen already, or a new one."""
        if self.settled:
            history = self.processes.history
            for copy in history.copies_of(history.current.memory):
                if (yield from copy.wait_until_frozen(monotonic())):
                    check_depth(copy.parent)
                    yield from self._see_files()
                    copy.users += 1
                    return copy
        return (yield from self.new_copy())

    def _see_files(self) -> Core[None]:
        """Take in the files as they are now as those of the state. Raises `CheckpointError`."""
        processes = self.processes
        if processes.workspace is not None:
            try:
                processes.history.see_files((yield from processes.on_files(processes.workspace.snapshot)))
            except WorkspaceError as error:
                raise CheckpointError(f"no checkpoint could be made: {error}") from None

    def rest_or_compact(self) -> Core[None]:
        """Give up the process of an idle session, if another one can be had that is in the same state; else
        have it share more of its memory.
        """
        if self.state is RESTING:
            return
        if self.settled and self.processes.can_rest():
            if not (yield from self._take_digest()):
                return
            self.doing = None
            self.sources.last = ""  # the next process is not to report the names of this step as lost
            self.processes.undo()
            self.transition(LOST)
            yield from self.processes.rest()
            self.transition(RESTING)
        else:
            yield from self._compact()

    def _take_digest(self) -> Core[bool]:
        """Get the digest of the process's variables, for the one that will repeat the journal: each step
        is compared by what it reported, which misses what lies deep in a container. False if the process died of it.
        """
        processes = self.processes
        memory, runner = processes.history.current.memory, processes.runner
        assert runner is not None
        if memory.entry is None or memory.digest:
            return True
        names = yield from self._while_idle(" while it rested", runner.ask(m.ListNames(digest=True), m.Names))
        memory.digest = 0 if names is None else names.digest
        return names is not None

    def _while_idle(self, when: str, work: Core[R]) -> Core[R | None]:
        """Do `work` with the process while the session is idle. None if no copy could be made, or the process died of
        it, which the next result reports.
        """
        try:
            return (yield from self._asking(work))
        except CheckpointError:
            pass
        except (Gone, ProtocolError) as error:
            message, _ = yield from self._restore_after_death(when, error)
            self.notes_next.append(f"between its steps {message}")
        return None

    def _compact(self) -> Core[None]:
        """Make the newest copy anew, so that it and the process share what both hold.

        An automatic copy is made before the process warms up for its next step; from then on each has a copy of
        its own of every page that the warm-up writes (1.3 MB for each). The next step copies its pages again (1.4 ms).
        """
        processes, history = self.processes, self.processes.history
        automatic = processes.copies.automatic
        newest = next((copy for copy in history.copies_of(history.current.memory) if copy in automatic), None)
        if self.state is not IDLE or processes.runner is None or not processes.runner.channel.at_rest:
            return  # the next user puts it in order
        if newest is None or not newest.is_frozen():
            return
        if newest is processes.runner.origin:
            # No step since: they share all that they can, and other branches may share the copy. A chain of branches
            # stays as deep as it was made, however long its sessions are idle.
            return
        made = processes.copies.new(processes.runner, processes.output, patient(FREEZE_SECONDS))
        copy = yield from self._while_idle(FREEZING, made)
        if copy is not None:  # else the one that is there does
            copy.created = newest.created
            processes.release(history.replace(newest, copy))


SOURCE_CHARACTERS = 4 << 20
"""Characters of the sources that a session remembers. That of the step that runs is kept whatever its size."""
SEARCHED_CHARACTERS = 50_000
"""Characters of one source that are searched for the names that it binds."""
LOST_NAMES = 200
"""The most names that are found there."""
_BINDS = re.compile(
    # Linear: a hostile source is searched, too. The last word of an import is one that no word character comes before;
    # a lazy `[^\n]*?(\w+)` took 24 s, with the host's lock held, for a name of 50,000 letters.
    r"^[ \t]*(?:(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=)|(?:import|from)\b[^\n]*(?<!\w)(\w+)[ \t]*$)",
    re.M,
)


class Sources(dict[str, str]):
    """The sources of a session by file, ``<step 3>``, for tracebacks of steps that are killed. Those of the oldest
    steps go first; a plugin's stay.
    """

    __slots__ = ("_size", "last")

    def __init__(self) -> None:
        super().__init__()
        self._size = 0
        self.last = ""
        """The source of the last step; empty where that was a call."""

    def add(self, step: int, source: str) -> None:
        """Remember the source of a step."""
        self[f"<step {step}>"] = self.last = source
        self._size += len(source)
        while self._size > SOURCE_CHARACTERS:
            oldest = next(file for file in self if file.startswith("<step "))
            if oldest == f"<step {step}>":
                return
            self._size -= len(self.pop(oldest))

    def add_plugin(self, label: str, modules: Iterable[tuple[str, str]]) -> None:
        """Keep those of a plugin, by module, for tracebacks of calls that are killed. The first is the main module."""
        for index, (name, source) in enumerate(modules):
            self[f"<plugin {label}:{name}>" if index else f"<plugin {label}>"] = source

    def bound_last(self) -> list[str]:
        """Return names that the last step seems to bind: once it is undone, a NameError can say why one is gone."""
        found = _BINDS.findall(self.last[:SEARCHED_CHARACTERS])
        return list(dict.fromkeys(name for match in found for name in match if name))[:LOST_NAMES]

    def clear(self) -> None:
        super().clear()
        self._size, self.last = 0, ""

    def copy(self) -> Self:
        copied = type(self)()
        copied.update(self)
        copied._size, copied.last = self._size, self.last
        return copied
