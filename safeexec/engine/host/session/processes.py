"""The processes of one session: the one that runs and the frozen copies, and what goes with them.

Which copy leads where the history knows, without processes; `restorer` has the session come to such a state.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.session.copies import Copies
from safeexec.engine.host.session.copy import Copy
from safeexec.engine.host.session.history import CopyDecision
from safeexec.engine.host.session.output import SessionOutput
from safeexec.engine.host.session.runner import Runner
from safeexec.engine.host.waiting import Core, worked
from safeexec.engine.host.watch import control_groups
from safeexec.engine.host.watch.bill import Bill
from safeexec.engine.host.watch.lineage import Lineage, wait_and_close
from safeexec.engine.linux.processes import has_ended, memory_without_files
from safeexec.errors import CheckpointError, SandboxError, SessionClosed, WorkspaceError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.host.children import Children
    from safeexec.engine.host.files.snapshots import Snapshot
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.session.spare import Spare
    from safeexec.engine.linux.cgroups import Group
    from safeexec.engine.policy.model import Policy

R = TypeVar("R")

MOST_ENTRIES = 1000
"""Steps of a journal, whatever the child says: it makes a copy after far fewer."""


class SessionProcesses:
    """Holds the runner and the frozen copies of a session, and what goes with them: files, output, control group."""

    def __init__(self, children: Children, policy: Policy, spare: Spare | None = None) -> None:
        self.children = children
        self.policy = policy
        self.copies = Copies(policy, children.gate)
        self.history = self.copies.history
        self.copying = CopyDecision(self.history)
        self.runner: Runner | None = None
        self.workspace: Workspace | None = spare.workspace if spare is not None else None
        self.output = SessionOutput(policy.limits, children.policy.limits) if spare is None else spare.output
        self.bill = Bill()
        self.group: Group | None = None
        self.children_born = 0
        """How many new children there have been: one, and one more each time there was no state to go back to."""
        self._oom_kills = 0
        self._lineages: list[Lineage] = []
        self.memory_base: int | None = None
        """Bytes that its first process was born with, which no limit counts. Whatever else a resumed process begins
        with is the session's own. None as long as there has been none.
        """
        self.entropy = b""
        """The seed of the random numbers of its first child, and so of any other."""
        self._spare = spare
        self._change: m.Assign | m.Remove | None = None
        """The change that was begun last, if it can be repeated."""
        self._ending: list[int] = []
        """A pidfd of the runner that was stopped last, which may not be gone."""
        self.resumed: Channel | None = None
        """The process that is being resumed."""

    # The first process, and those without a past

    def begin(self) -> Core[None]:
        """Get a child and wait until it is locked down."""
        if self.workspace is None and self.policy.filesystem.workspace != "none":  # a spare child has one
            self.workspace = self.children.new_workspace(self.policy)
            yield from self.on_files(partial(self.children.fill, self.workspace), incoming=bool(self.children.files))
        yield from self.new_child()
        if self.workspace is not None:
            self.history.change_files(self.workspace.initial)

    def new_child(self) -> Core[None]:
        """Have a spare child, or a new one, run the session's steps from now on."""
        spare, self._spare = self._spare, None
        if spare is None and self.output.closed and self.workspace is None:
            spare = self.children.spare_for(self.policy)
        if spare is not None:
            if (ready := (yield from spare.ready())) is not None:
                self.output = spare.output
                self._born(spare.channel, ready)
                return
            if spare.output is not self.output:  # else what it has is the session's, for the child that comes instead
                spare.close()
        self.open_output()
        self._born(*(yield from self.children.new_child(self.policy, self.workspace, self.output.for_child)))

    def _born(self, channel: Channel, ready: m.Ready) -> None:
        self.children_born += 1
        if self.children_born == 1:
            self.entropy = ready.entropy
        lineage = Lineage(channel, self.children.reapers, self.children.gate)
        self.join(lineage)
        if self.policy.limits.processes:
            self.children.gate.allow(lineage.leader, lineage.room_for(self.policy.limits.processes))
        self.memory_base = None
        self.take_over(channel, lineage, None)
        self.begin_group(channel, lineage)

    def can_rest(self) -> bool:
        """Return whether the session needs no process until it is used again. One that has branches needs it: they are
        counted by its lineage.
        """
        runner = self.runner
        if runner is None or not runner.channel.at_rest:
            return False
        if not self.copying.repeats or not self.history.needs_no_process():
            return False
        if self.copying.may_have_changed():
            return False
        return runner.origin is not None or len(runner.lineage.sessions) == 1

    def rest(self) -> Core[None]:
        """Give up the process, and all that only a process needs."""
        yield from self.stop()
        yield from wait_and_close(self._take_ending())
        self._leave_lineages()
        if not self._lineages:
            self.group = None  # the last lineage has removed it
        self.output.close()

    def take_over(self, channel: Channel, lineage: Lineage, origin: Copy | None) -> None:
        """Make the process behind `channel` the one that runs the session's steps."""
        if channel is not self.resumed:
            self.give_up_resumed()
        self.resumed = None
        self.copies.release_next()
        self.copies.undiscovered = True
        self.copying.looked_at, self.copying.resumed = False, origin is not None
        channel.bill = self.bill
        self.runner = Runner(channel, lineage, origin, self.policy.limits)
        if self.memory_base is None and channel.pid is not None:
            self.memory_base = memory_without_files(channel.pid)

    def adopt(self, channel: Channel, origin: Copy, output: SessionOutput) -> None:
        """Go on in a process that was resumed from `origin` and writes to `output`."""
        self.output.close()
        self.output = output
        self.take_over(channel, origin.lineage, origin)

    def open_output(self) -> None:
        """Have files for what is printed again, after a rest."""
        if self.output.closed:
            self.output = SessionOutput(self.policy.limits, self.children.policy.limits)

    def join(self, lineage: Lineage) -> None:
        """Belong to the sessions whose processes descend from that first child."""
        lineage.sessions.add(self)
        self._lineages.append(lineage)

    def _leave_lineages(self) -> None:
        """Leave the lineages of which the session has no process any more: what is left of them ends."""
        held = {copy.lineage for copy in self.history.copies()}
        if self.runner is not None:
            held.add(self.runner.lineage)
        for lineage in [lineage for lineage in self._lineages if lineage not in held]:
            self._lineages.remove(lineage)
            lineage.leave(self)

    @property
    def lineage(self) -> Lineage:
        """The processes that descend from the first child of this session, or of the one that it branched from."""
        return self.runner.lineage if self.runner is not None else self._lineages[-1]

    def check_branches(self, count: int) -> None:
        """Raise `CheckpointError` unless so many more branches may descend from its first process."""
        there, limit = len(self.lineage.sessions) - 1, self.policy.limits.branches
        if there + count <= limit:
            return
        rule = self.policy.origin("limits.branches")
        open_now = f" beside the {there} that are open" if there else ""
        raise CheckpointError(
            f"{count} branch{'' if count == 1 else 'es'} asked for{open_now}, {limit} allowed"
            f"{f' by {rule}' if rule else ''} (limits.branches); close some, or give the policy more"
        )

    # Control groups

    def begin_group(self, channel: Channel, lineage: Lineage) -> None:
        """Give the session a control group, where there are any, with the process that it begins in."""
        self.group, self._oom_kills = control_groups.new_group(self.policy), 0
        if self.group is not None:
            lineage.groups.append(self.group)
            self.enter_group(channel)

    def enter_group(self, channel: Channel) -> None:
        """Count the process with its session: it may come from a copy that another one made."""
        if self.group is not None and channel.pid is not None:
            with contextlib.suppress(OSError):  # it has ended already
                self.group.add(channel.pid)

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel has ended a process of the session's control group since this was last asked."""
        if self.group is None:
            return False
        before = self._oom_kills
        with contextlib.suppress(OSError):
            self._oom_kills = self.group.oom_kills()
        return self._oom_kills > before

    # The state to come: by a copy, or by the journal

    def begin_state(self, step: int | None = None) -> socket.socket | None:
        """Begin a step, or without a number a change of the host's. If its process has no socket for its next copy yet,
        return the copy's end of one, which the caller sends and closes; else, and where the policy makes no copies,
        None. Raises `SandboxError`.
        """
        theirs = None
        if self.copies.next is None and self.policy.checkpoints != "off":
            assert self.runner is not None
            number = self.history.current.step if step is None else step
            try:
                self.copies.next, theirs = self.copies.promise(self.runner, self.output, number)
            except OSError as error:
                # Before anything has begun: a step without it could not be undone.
                raise SandboxError(f"no checkpoint can be made of the state to come: {error.strerror}") from None
        self.history.begin(step)
        return theirs

    def begin_change(self, request: m.Assign | m.Remove | None) -> socket.socket | None:
        """Begin a change of the host's: one that can be repeated, or None. Returns as `begin_state`."""
        self._change = request if self.policy.checkpoints == "idle" and not self.copying.must_copy() else None
        if self._change is None and request is not None:
            request.copied = True
        return self.begin_state()

    def commit(self, files: Snapshot | None, tool_calls: int, request: Any = None, did: int = 0) -> bool:
        """Make what was begun part of the session. `request`: what the process says can be repeated. `did`: a number
        for what it did, to which a repetition must come too. Without a request, or where it cannot be had again, a copy
        will be made of the state after it. Returns whether it is in the journal.
        """
        copies, history = self.copies, self.history
        if history.uncertain:
            copies.see()
        entry, size = (None, 0) if request is None else _entry_of(request, did)
        next_copy = None
        if entry is None:
            self.copying.looked_at = False  # what a look has changed is in the copy
            next_copy = None if copies.next is None else copies.take_next()
        elif history.current.memory.depth >= MOST_ENTRIES:
            entry = None  # a child that lies: its step is neither repeated nor copied
        if gone := history.commit(files, tool_calls, entry=entry, size=size, copy=next_copy):
            self.release(gone)
        return entry is not None

    def commit_change(self, tool_calls: int, *, refused: bool = False) -> Core[None]:
        """Make a change of the host's, which the process has made or `refused`, part of the session, with the files as
        they are. If this is interrupted, or the workspace is over its limit, with those of the state before: then the
        next step ends for that limit.
        """
        files = self.history.current.files
        try:
            self._announce_change()
            if self.workspace is not None:
                files = yield from self.on_files(self.workspace.snapshot)
        except WorkspaceError:
            pass
        except BaseException:
            self._announce_change()  # it may have been interrupted
            raise
        finally:
            self.commit(files, tool_calls, self._change, 1 if refused else 0)

    def _announce_change(self) -> None:
        if self._change is None and self.runner is not None:
            self.copies.announce(self.runner)

    def undo(self) -> None:
        """Undo what was begun. To be done first of all: an orphan may hold the other end of a control socket."""
        self.history.undo()
        self.copies.release_next()

    def release(self, copies: Iterable[Copy]) -> None:
        """Release copies that the history has forgotten."""
        for copy in copies:
            copy.release()
        if len(self._lineages) > 1:
            self._leave_lineages()

    # A process that is being resumed from a copy

    def resume(self, copy: Copy, deadline: float) -> Core[Channel | None]:
        """Return a process that is resumed from `copy`, and waits for `Wake`. None if the copy is gone.

        Raises `SessionClosed` once the zygote has died: without a pid namespace the copies outlive it and its reaper.
        """
        self.check_alive()
        self.give_up_resumed()
        self.resumed = yield from copy.resume(deadline, self.children.gate)
        return self.resumed

    def check_alive(self) -> None:
        """Raise `SessionClosed` once the zygote has died."""
        if not self.children.alive:
            raise SessionClosed("the zygote of this sandbox died; reopen the sandbox")

    def give_up_resumed(self) -> None:
        """End the process that was being resumed, if there is one."""
        resumed, self.resumed = self.resumed, None
        if resumed is not None:
            resumed.read_if_ready()
            resumed.give_up()

    # Files

    def on_files(self, call: Callable[[], R], incoming: Snapshot | bool | None = None) -> Core[R]:
        """Do `call`, which works on the files of the workspace: off an event loop, unless there are none and none are
        `incoming`. (A thread takes 100 us, a look at nothing 20.)
        """
        workspace = self.workspace
        assert workspace is not None
        if not incoming and workspace.is_empty():
            return call()

        def tidied() -> R:
            workspace.tidy()
            return call()

        return (yield from worked(tidied))

    # Ending

    def stop(self) -> Core[None]:
        """End the running process and its orphans. The runner stays until that is done: after an interruption, this is
        to be called again.
        """
        if (runner := self.runner) is not None:
            yield from wait_and_close(self._take_ending())  # one at a time: there is no end to what they hold
            yield from runner.lineage.end_runner(runner.channel, self)
            self.runner = None
            # It runs no more; until what it held is free, only those wait who need that (`wait_until_gone`).
            self._ending = runner.channel.dup_pidfd()
            runner.channel.close()

    def wait_until_gone(self) -> Core[None]:
        """Wait for the end of the runner that was stopped, where something that it holds until then may be needed: the
        locks of files, a place among the processes.
        """
        if self.workspace is not None or self.policy.limits.processes:
            yield from wait_and_close(self._take_ending())

    def _take_ending(self) -> list[int]:
        ending, self._ending = self._ending, []
        return ending

    def end_processes(self) -> list[int]:
        """Kill what runs and what is frozen. Returns pidfds, the caller's to wait for and to close."""
        runner, self.runner = self.runner, None
        self.give_up_resumed()
        self.copies.release_next()
        copies = self.history.clear()
        held = self._take_ending()
        if runner is not None:
            runner.channel.kill()
            held += runner.channel.dup_pidfd()
            self.children.gate.withdraw(runner.pid)
        for copy in copies:
            if copy.users == 1:  # a branch may still go back to any other
                held += copy.dup_pidfd()
                self.children.gate.withdraw(copy.pid())
            copy.release()
        for lineage in self._lineages:
            lineage.leave(self)
        self._lineages.clear()
        if runner is not None:
            runner.channel.close()
        return held

    def kill_all(self) -> None:
        """Kill what runs and what is frozen, and nothing more: another thread may be at work with them."""
        if (runner := self.runner) is not None:
            runner.channel.kill()
        for copy in self.copies.all():
            if copy.users == 1:
                copy.kill()

    def close(self) -> None:
        """Close the files of a session whose processes have been ended."""
        self.output.close()
        if self.workspace is not None:
            self.workspace.close()

    def disown(self) -> None:
        """Close the copies of descriptors in a fork of the process that has the session. Ends nothing."""
        if self.runner is not None:
            self.runner.channel.close()
            self.runner = None
        if self.resumed is not None:
            self.resumed.close()
        for process in self._take_ending():
            os.close(process)
        for copy in self.history.copies():
            copy.disown()
        if self.copies.next is not None:
            self.copies.next.disown()
        if self.workspace is not None:
            self.workspace.disown()
        self.output.close()

    # The interface of the watch

    def runner_pid(self) -> int | None:
        """Return the process that runs steps, if there is one."""
        return self.runner.pid if self.runner is not None else None

    def pids(self) -> Collection[int]:
        """Return runner and frozen copies: the processes of this session that are not orphans."""
        pids = {pid for copy in self.copies.all() if (pid := copy.pid()) is not None}
        if (runner := self.runner) is not None and runner.pid is not None:
            pids.add(runner.pid)
        return pids

    def leaders(self) -> list[int]:
        """Return the first process of each lineage that there are processes of. From any thread."""
        return [lineage.leader for lineage in list(self._lineages)]

    def discover_copies(self) -> Core[None]:
        """`Copies.discover`, as the lineage calls it."""
        return self.copies.discover()

    def runner_died(self) -> bool:
        """Return whether the runner is dead, and copies that it left may be unknown yet. Called from the threads of
        other branches.
        """
        runner = self.runner
        if runner is None or runner.channel.pidfd < 0:
            return self.copies.undiscovered
        return has_ended(runner.channel.pidfd)


def _entry_of(request: Any, did: int) -> tuple[m.JournalEntry | None, int]:
    """Return the entry for a request that the process says can be repeated, and how many bytes it holds: the source of
    a step, or the value that the host has set. No entry where the host has not kept all that the step was given
    (standard input, arguments). `did`: a number for what it did, to which a repetition must come too.
    """
    if type(request) is m.Assign or type(request) is m.Remove:
        return m.JournalEntry(request, did), len(getattr(request, "value", b""))
    if type(request) is not m.Execute or request.stdin or request.argv is not None or request.copied:
        return None, 0
    plain = not (request.shows or request.frames)
    entry = m.JournalEntry(request if plain else m.Execute(request.step, request.source), did)
    return entry, len(request.source)
