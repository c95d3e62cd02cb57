"""A session without its I/O: what an API offers, as generators that the API drives. Nothing here blocks.

A session is put together from parts, each of which has what it needs of the others, and none the session:

    SessionCore                its life: opened, left to rest, branched, saved, closed
      steps      Steps         what is run in it: each is a `Step`, from its request to its end
      variables  Variables     } as the host reads
      files      SessionFiles  } and sets them
      way_back   WayBack       checkpoints, rollbacks
      waits                    the step that waits for an answer: here none can, `recordings` keeps one
      turns      Turns         who uses it, and who follows that: a recorder, a store, effects of tools
      supervisor Supervisor    keeps its state: what it is in the middle of, a process that is ready, a restored one
        processes              SessionProcesses: the one that runs, by its `Copies` those that are frozen, and by its
                               `History` the states that these lead to
        restorer               Restorer: brings the processes to a state, back or on as a branch
"""

from __future__ import annotations

import os
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from safeexec.engine.host.session.copy import Copy
from safeexec.engine.host.session.files import SessionFiles
from safeexec.engine.host.session.processes import SessionProcesses
from safeexec.engine.host.session.runner import Runner
from safeexec.engine.host.session.steps import SessionName, Steps
from safeexec.engine.host.session.supervisor import CLOSED, CLOSED_MEANWHILE, IDLE, RESTING, Supervisor
from safeexec.engine.host.session.tool_calls import Waits
from safeexec.engine.host.session.turns import Turn, Turns, exclusive
from safeexec.engine.host.session.variables import Variables
from safeexec.engine.host.session.way_back import WayBack
from safeexec.engine.host.waiting import BRIEF_SECONDS, Core, Wait, given_up
from safeexec.engine.host.watch import accountant, control_groups, lineage
from safeexec.engine.host.watch.clock import timeout_of
from safeexec.engine.host.watch.watched import WatchedSession
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.session.interfaces import SandboxInterface
    from safeexec.engine.host.session.saving import Saving
    from safeexec.engine.host.session.spare import Spare
    from safeexec.engine.policy.model import Policy

REST_SECONDS = 0.5
"""How long a session must be idle before it rests, which costs the next step 4 ms."""
STEP_SECONDS = 0.05
"""How long it must be idle for each step of its journal: the next use repeats them, in 0.1 to 0.2 ms each."""
COMING = 8
"""Processes of branches that are asked for at a time: the copy forks the next one while these start."""
CLOSED_HERE = "the session is closed"
CLOSED_WITH_SANDBOX = "the sandbox was closed, and this session with it"
NO_GROUP = "not needed, as its guests may start no process, or no group could be made for this session"
SHARED = (
    "sessions of the template {!r} and their branches share what forks share: a user, a process group, a limit on "
    "processes, the Landlock domain of their first process; when one is stopped, all pause. Give each principal a "
    "template of its own"
)
_numbers = count(1)


class SessionCore:
    """One lineage of guest state: variables, files, checkpoints. One user at a time, but `close` and
    `supervisor.cancel` are for any thread.
    """

    def __init__(
        self, sandbox: SandboxInterface, policy: Policy, label: str | None = None, spare: Spare | None = None
    ) -> None:
        """`label`: whose session it is, in the words of the host."""
        self.sandbox = sandbox
        self.policy = policy
        self.name = SessionName(next(_numbers), label)
        self.template: str | None = None
        """The name of the template that the session, or the one that it branched from, began with."""
        self.supervisor = supervisor = Supervisor(SessionProcesses(sandbox.children, policy, spare))
        self.turns = turns = Turns(self, supervisor)
        self.waits = self.new_waits()
        self.variables = Variables(turns, supervisor, self.waits)
        self.files = SessionFiles(turns, supervisor, self.waits)
        self.way_back = WayBack(turns, supervisor, self.waits)
        self.steps = Steps(sandbox, self.name, turns, supervisor, self.variables, self.files, self.waits)
        self.rested = turns.used
        """The use after which it last began to rest, as `turns.used` was then."""
        self.rests = False
        """True while it has no process until its next use, and nothing that only a process needs."""
        self.callers = 0
        """How many hold it."""
        self.unowned = False
        """True once no caller has it any more."""
        self.watch_anew()

    def new_waits(self) -> Waits:
        """Return what keeps a step that waits. `RecordedSession` has its own."""
        return Waits()

    def watch_anew(self) -> None:
        """Begin a new watch: it has other processes, and what they use counts from now on."""
        self.watched = WatchedSession(self)
        self.files.room = self.watched.room

    # The interface of other modules

    @property
    def label(self) -> str | None:
        return self.name.label

    @property
    def processes(self) -> SessionProcesses:
        """Its processes: others once it has come back from a store."""
        return self.supervisor.processes

    @property
    def workspace(self) -> Workspace | None:
        return self.processes.workspace

    @property
    def closed(self) -> bool:
        return self.supervisor.why_closed is not None

    @property
    def untold_cpu(self) -> float:
        """CPU seconds that no result has reported, as of the last look: of threads that a step has left running, of
        variables that were described, of commands whose callers left.
        """
        return max(0.0, self.watched.account.total_seconds - self.steps.told_cpu) + self.files.untold_cpu

    @property
    def summary(self) -> str:
        """The session in a few words: ``3 of 'calculator', step 12, idle``."""
        number, label = self.name
        label = f" ({label})" if label else ""
        return f"{number}{label} of {self.policy.name!r}, step {self.steps.number}, {self.supervisor.state}"

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        """Return the policy and the host's tools, for a model's prompt."""
        if self.policy is self.sandbox.policy:
            return self.sandbox.card(format)
        return self.policy.card(format, tools=self.sandbox.toolbox.tools.values())

    @exclusive("protection")
    def protection(self) -> Core[tuple[Mechanism, ...]]:
        """Return what holds this session, and what does not and why: as planned, and as its process finds by trying."""
        found = {row.name: row for row in (*self.sandbox.children.mechanisms, *control_groups.mechanisms())}
        for name in (control_groups.NAME, control_groups.CORE):
            if self.processes.group is None and found[name].active:
                found[name] = Mechanism(name, False, NO_GROUP)
        if self.template is not None:
            found["own-lineage"] = Mechanism("own-lineage", False, SHARED.format(self.template))
        found["watch"] = accountant.mechanism(self.policy, self.sandbox.policy.limits)
        for act in (yield from self.supervisor.ask(self._self_test)):
            row = found.get(act.name, act)
            detail = act.detail if row is act or not row.detail else f"{row.detail}; {act.detail}"
            found[act.name] = Mechanism(act.name, act.active and row.active, detail)
        return tuple(found.values())

    def _self_test(self, runner: Runner) -> Core[list[Mechanism]]:
        """Return one row per forbidden act; `active` where it was refused."""
        gate = self.sandbox.children.gate
        if (yield from self.processes.copies.have_current(monotonic())):
            gate.withdraw(runner.pid)  # no checkpoint is due: what is left of an earlier one is not the self-test's
        with gate.refusing(runner.pid):
            return list((yield from runner.ask(m.SelfTest(self.policy.limits.processes), m.Tested)).rows)

    # Opening and closing

    def open(self) -> Core[None]:
        """Get a child and wait until it is locked down."""
        try:
            yield from self.supervisor.begin()
        except BaseException:
            yield from self.close()
            raise

    def close(self, why: str = CLOSED_HERE) -> Core[None]:
        """End every process of the session and remove its files. Harmless when closed already. What a store keeps of
        it stays. Raises `StoreError`, when all that is done, if the store does not have its last steps.
        """
        if given_up():  # by whoever was opening it, or branching: nobody else has it
            self.supervisor.why_closed = why
            self.end_at_once()
            return
        if (durable := self.turns.durable) is not None:
            yield from self.turns.attend(partial(durable.flush, self))
        yield from self.end(why)
        if durable is not None:
            durable.check_closed()

    def take(self) -> None:
        """Count one caller more."""
        self.callers += 1
        self.unowned = False

    def abandon(self) -> None:
        """Count one caller fewer; with the last one it is to be closed soon."""
        self.callers -= 1
        if self.callers <= 0:
            self.unowned = True
            self.sandbox.sessions.look_after(self)

    def close_if_idle(self, seconds: float) -> Core[None]:
        """Close the session if nobody has used it for `seconds`, or leave it to its store. Not one that waits for an
        answer, which a person may take longer to give.
        """
        if self.turns.in_use or monotonic() - self.turns.used < seconds:
            return
        if not self.unowned and (durable := self.turns.durable) is not None:
            yield from self.turns.attend(partial(durable.suspend, self))
        elif self.unowned or not self.waits.is_asking():
            why = (
                "when no caller had it any more" if self.unowned else f"after {seconds:g} s without use (idle_seconds)"
            )
            yield from self.close(f"the session was closed {why}")

    def begin_close(self) -> None:
        """Do the first half of `close`, which waits for nothing, as the sandbox is being closed. If nobody uses the
        session, its processes are killed.
        """
        if self.supervisor.why_closed is None:
            self.supervisor.why_closed = CLOSED_WITH_SANDBOX
            if self.turns.in_use:
                self.supervisor.cancel(CLOSED_MEANWHILE)
            else:
                self.processes.kill_all()

    def end(self, why: str) -> Core[None]:
        """Close the session without a word to its store, as soon as may be; who uses it meanwhile is made to end."""
        return self.turns.briefly(partial(self._end, why))

    def _end(self, why: str, turn: Turn) -> Core[None]:
        if self.supervisor.why_closed is None:
            self.supervisor.why_closed = why
        deadline = monotonic() + lineage.KILL_SECONDS
        while self.supervisor.state is not CLOSED:
            if self.turns.take(turn):
                yield from self.end_and_wait()
                return
            # In use: the step that runs is ended, and whoever uses the session lets go of it.
            if self.supervisor.cancel(CLOSED_MEANWHILE) and (runner := self.processes.runner) is not None:
                runner.channel.kill()
            if self.turns.is_mine:  # by a listener of the step, say: it would wait for itself
                return
            if monotonic() >= deadline:
                self.processes.kill_all()
                return
            yield Wait((), monotonic() + BRIEF_SECONDS)

    def end_and_wait(self) -> Core[None]:
        """End everything, wait until it has gone, and remove what it leaves. By who has the turn."""
        yield from lineage.wait_and_close(self.processes.end_processes())
        # It holds files: they are closed now, and not when the garbage collector runs.
        self.supervisor.doing = None
        if (workspace := self.processes.workspace) is not None:
            yield from self.processes.on_files(workspace.close)
        self.end_at_once()

    def end_at_once(self) -> None:
        """End everything without waiting, where the session was closed while it was in use."""
        if self.supervisor.state is not CLOSED:
            for process in self.processes.end_processes():
                os.close(process)
            self.processes.close()
            self.supervisor.transition(CLOSED)
            self.turns.ended(self)
            self.sandbox.sessions.closed(self)

    def disown(self) -> None:
        """Close the copies of descriptors in a fork of the process that has the session. Ends nothing."""
        self.supervisor.why_closed = "the session was opened before the process forked; open one in each worker"
        if self.supervisor.state is not CLOSED:
            self.supervisor.transition(CLOSED)
        self.processes.disown()

    # While it is idle

    def can_rest(self) -> bool:
        """Return whether nobody has used the session for so long that it is worth giving up what the next use needs."""
        depth = self.processes.history.current.memory.depth
        return (
            self.rested != self.turns.used
            and monotonic() - self.turns.used >= max(REST_SECONDS, STEP_SECONDS * depth)
            and self.policy.checkpoints == "idle"
        )

    def rest(self) -> Core[None]:
        """Give up its process, or at least memory, while it is idle."""
        self.rested = self.turns.used
        if (durable := self.turns.durable) is not None:
            yield from durable.flush(self)
        yield from self.supervisor.rest_or_compact()
        if self.supervisor.state is RESTING:
            self.rests = True
            self.sandbox.sessions.rests(self)

    def wake(self) -> None:
        """Count it, and have it looked at, as one in use. Raises `SandboxBusy` where there are too few descriptors."""
        if self.watched.idle:
            self.watched.wake()
        if self.rests:
            self.sandbox.sessions.wakes(self)
            self.rests = False

    # Branches

    @exclusive("branch")
    def branch(self, count: int, checkpoints: str | None = None) -> Core[list[SessionCore]]:
        """Return `count` new sessions that go on from the state as it is now. `checkpoints`: when theirs are made."""
        if not isinstance(count, int) or count < 1:
            raise ValueError("a session branches into at least one")
        policy = self.policy
        if checkpoints is not None:
            if checkpoints not in ("idle", "before-step", "off"):
                raise ValueError(f"checkpoints={checkpoints!r}: idle, before-step or off")
            policy = replace(policy, checkpoints=checkpoints)
        yield from self.supervisor.ensure_ready()
        self.processes.check_branches(count)
        self.files.branched = True
        copy = yield from self.supervisor.shared_copy()
        branches: list[SessionCore] = []
        arrived = 0
        try:
            while arrived < count:
                if len(branches) < count and len(branches) - arrived < COMING:
                    branches.append((yield from self.begin_branch(policy, self.label, copy)))
                else:
                    yield from branches[arrived].arrive(copy)
                    arrived += 1
        except BaseException:
            for branch in branches:
                yield from branch.close()
            raise
        finally:
            copy.release()  # each branch counts as a user of its own
        return branches

    def begin_branch(
        self, policy: Policy, label: str | None, copy: Copy, template: str | None = None
    ) -> Core[SessionCore]:
        """Return a session that goes on from the state as it is now, of which `copy` is: its process is asked for, and
        `arrive` waits for it. `template`: the name of the state, where it is what a session begins with.
        """
        branch = type(self)(self.sandbox, policy, label)
        branch.template = self.template
        branch.steps.number = self.steps.number
        branch.steps.toolbox = self.steps.toolbox
        branch.supervisor.tool_records = self.supervisor.tool_records.copy()
        branch.supervisor.sources = self.supervisor.sources.copy()
        try:
            yield from branch.supervisor.restorer.begin_branch(self.processes, copy, template)
        except BaseException:
            yield from branch.close()
            raise
        return branch

    def arrive(self, copy: Copy) -> Core[None]:
        """Wait for the process of a branch, which was asked for."""
        self.supervisor.notes_next = list((yield from self.supervisor.restorer.arrive_branch(copy)))
        self.supervisor.refresh_file_baseline()
        self.supervisor.transition(IDLE)
        self.sandbox.sessions.opened(self)

    # Saved states

    @exclusive("save")
    def save(self, path: str | os.PathLike[str], timeout: float | None) -> Core[dict[str, str]]:
        """Write the variables and the workspace's files to a file. Returns what could not be saved, and why."""
        from safeexec.engine.host.files import state_file

        put = partial(state_file.write, state_file.target(path))
        waiting = yield from self.waits.written()
        return (yield from self.saving(timeout).save(put, self.steps.number, waiting))

    @exclusive("load")
    def load(self, fd: int, timeout: float | None) -> Core[None]:
        """Bind the variables of a saved payload."""
        yield from self.saving(timeout).load(fd)

    def saving(self, timeout: float | None) -> Saving:
        """Return what saves and loads its state, by whoever has a turn."""
        from safeexec.engine.host.session.saving import Saving  # with hashlib and its like 10 ms

        return Saving(self.supervisor, timeout_of(self.policy, timeout))
