"""How a session comes to a state: back to one that it was in, or on from a copy that another session has.

Which copies and steps lead to a state the history knows, without processes; here they are resumed and repeated.
"""

from __future__ import annotations

import contextlib
import os
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.session.copy import RESUME_SECONDS, Copy
from safeexec.engine.host.session.decode import notes_of
from safeexec.engine.host.session.history import FRESH, State
from safeexec.engine.host.session.processes import SessionProcesses
from safeexec.engine.host.waiting import Core
from safeexec.errors import CheckpointError, ProtocolError, SandboxError, WorkspaceError
from safeexec.protocol import messages as m
from safeexec.results import NEWEST_LEFT, STARTS_EMPTY

if TYPE_CHECKING:
    from safeexec.engine.host.files.snapshots import Snapshot
    from safeexec.engine.host.files.workspace import Workspace

RESTORE_SECONDS = 6.0
"""How long all copies together may take, whatever each of them does, beside the host's own work at the files: then the
session starts over.
"""
REPEAT_SECONDS = 1.0
"""How long all steps of a journal may take when they are repeated. A child's own bound is 20 ms of processor."""
DIED_BRANCHING = "the checkpoint died while it was branched"


class Restorer:
    """Brings the processes of one session to a state."""

    def __init__(self, processes: SessionProcesses) -> None:
        self._processes = processes
        self.remaining: list[str] = []
        """The variables of the state that was brought back last, as its process listed them."""
        self.lost_steps: list[int] = []
        """The steps that could not be repeated when the state was last brought back."""
        self._repeated = 0
        """The entries of the journal that came out as before when it was last done once more."""
        self.fell_back = False
        """True if it was an older one that was brought back: a store may have a newer one."""

    # Back

    def restore(self, lost_names: list[str]) -> Core[list[str]]:
        """Bring back the state that the session is in, or the newest older one. `lost_names`: those that the last
        step has bound, for a process that goes on from the state before it. Returns notes about what could not be
        carried over.
        """
        processes = self._processes
        history, off = processes.history, processes.policy.checkpoints == "off"
        wanted, self.lost_steps = history.current, []
        deadline = monotonic() + patient(RESTORE_SECONDS)
        for state, copy, entries in list(history.ways_back()):  # all at once: a copy may be forgotten below
            if (now := monotonic()) >= deadline:
                break
            due = min(deadline, now + patient(RESUME_SECONDS))
            self._repeated = 0
            carried = yield from self.go_on_from(state, copy, due, entries, lost_names)
            if carried is None and self._repeated:
                # Nothing says that the steps before the one that came out otherwise would, too.
                lost, (older, before) = self.lost_steps, history.earlier(state, len(entries) - self._repeated)
                if older is not None and (kept := entries[:-before]):
                    state, entries = older, kept
                    carried = yield from self.go_on_from(state, copy, due, entries, lost_names)
                    self.lost_steps = [step for step in lost if carried is None or step > state.step]
            if carried is not None:
                if state is not wanted:
                    self.fell_back = True
                    label = f"step {state.step}" if copy is None or entries else copy.label
                    carried.append(self._with_lost_steps(f"the state of checkpoint {label!r} {NEWEST_LEFT}"))
                return carried
            # Where steps came out otherwise the copy is there, and the next way may be the same one without them.
            if copy is not None and not self.lost_steps:
                processes.copies.forget(copy)
        if (carried := (yield from self.go_on_from(history.last_resort(), None, deadline, [], lost_names))) is None:
            raise SandboxError("the session's process died before it began")
        if wanted.memory is not FRESH:
            self.fell_back = True
            why = "checkpoints are off, so" if off else "no checkpoint was left:"
            carried.append(self._with_lost_steps(f"{why} {STARTS_EMPTY}"))
        return carried

    def _with_lost_steps(self, what: str) -> str:
        """Return `what` has become of the state, and which steps could not be repeated, if that is why."""
        if not self.lost_steps:
            return what
        first, last = self.lost_steps[0], self.lost_steps[-1]
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        return f"{steps} came out otherwise when repeated, and {'is' if first == last else 'are'} lost: {what}"

    def go_on_from(
        self,
        state: State,
        copy: Copy | None,
        deadline: float,
        entries: list[m.JournalEntry],
        lost_names: list[str],
    ) -> Core[list[str] | None]:
        """Go on from `state`: in a process resumed from `copy`, or without one in a new child, with `entries` repeated.
        `lost_names`: those that the step before has bound. Returns notes about what could not be brought back; None if
        the copy is not there any more, or not in time, or the entries come out otherwise.
        """
        processes = self._processes
        processes.check_alive()
        if copy is not None:
            # Asked for first: the copy forks while the kernel still takes down the process that was stopped.
            processes.open_output()
            if (yield from processes.resume(copy, deadline)) is None:
                return None
        yield from processes.wait_until_gone()
        directory: str | None = None
        problems: list[str] = []
        if (workspace := processes.workspace) is not None and state.files is not None:
            # Before it wakes, for then it opens its files again. The copy does not answer for what that takes.
            began = monotonic()
            problems = yield from processes.on_files(partial(workspace.restore, state.files), state.files)
            deadline += monotonic() - began
            # What a branch goes back to may have been frozen in the directory of the session that it came from.
            directory = workspace.path
        self.remaining = []
        if copy is None:
            yield from processes.new_child()
        elif (ready := (yield from self._woken(copy, directory, lost_names, deadline))) is not None:
            self.remaining = ready.names
            problems = [*problems, *notes_of(ready.notes)]
        else:
            return None
        entropy = processes.entropy if copy is None else b""
        if (entries or entropy) and not (yield from self._repeat_or_stop(state, entries, entropy)):
            return None
        processes.release(processes.history.arrive(state, copy))
        return problems

    def _woken(self, copy: Copy, directory: str | None, lost_names: list[str], deadline: float) -> Core[m.Ready | None]:
        """Have the process that is being resumed from `copy` run, in `directory`. None if it is gone."""
        processes = self._processes
        channel = processes.resumed
        assert channel is not None
        yield from self._wake(channel, copy, directory, lost_names)
        if (ready := (yield from channel.wait_ready(deadline))) is None or channel.has_ended():
            processes.give_up_resumed()
            return None
        processes.take_over(channel, copy.lineage, copy)
        processes.enter_group(channel)
        return ready

    def _wake(self, channel: Channel, copy: Copy, directory: str | None, lost_names: list[str]) -> Core[None]:
        """Let a process that was resumed from `copy` go on: in `directory`; and where another session made the
        copy, with this one's output, and shut off from all files but its own. If it is gone, `wait_ready` says so.
        """
        processes = self._processes
        workspace, output = processes.workspace, processes.output
        # Another call of a fresh plugin is such a session, too.
        made_elsewhere, layer = copy.output is not output, None
        if workspace is not None:
            workspace.give_access()
        if made_elsewhere and workspace is not None and workspace.is_branch:
            layer = processes.children.branch_ruleset(workspace.home)
        fds = () if not made_elsewhere else (*output.for_branch, *(() if layer is None else (layer,)))
        idle = processes.policy.checkpoints == "idle"
        try:
            with contextlib.suppress(Gone, ProtocolError):
                yield from channel.send(m.Wake(made_elsewhere, directory, lost_names, layer is not None, idle), fds)
        finally:
            if layer is not None:
                os.close(layer)

    # By repeated steps

    def _repeat_or_stop(self, state: State, entries: list[m.JournalEntry], entropy: bytes) -> Core[bool]:
        """Return whether all came out as before; if not, these steps are lost, and the process is ended."""
        self._repeated = yield from self._repeat(entries, entropy, state.memory.digest)
        if self._repeated == len(entries):
            return True
        processes = self._processes
        self.lost_steps = [entry.request.step for entry in entries if isinstance(entry.request, m.Execute)]
        processes.copying.repeats = False
        processes.children.steps_lost(len(self.lost_steps))
        yield from processes.stop()
        return False

    def _repeat(self, entries: list[m.JournalEntry], entropy: bytes, digest: int = 0) -> Core[int]:
        """Do the steps of the journal once more, in the process that has just come up. Returns how many came out as
        they did the first time before one did not; fewer than there are, too, if all together came to another `digest`,
        or nobody knows. Nobody hears of what they print or show.
        """
        runner, deadline = self._processes.runner, monotonic() + patient(REPEAT_SECONDS)
        assert runner is not None
        self._processes.output.begin()
        try:
            yield from runner.channel.send(m.Repeat(entries, entropy, digest))
            answer = yield from runner.channel.receive(deadline)
            if isinstance(answer, m.Names):
                self.remaining = answer.names[: m.FEW]
                return len(entries)
            if isinstance(answer, m.Done):
                return min(max(answer.repeated, 0), len(entries) - 1)
        except (Gone, ProtocolError):
            pass
        return min(0, len(entries) - 1)

    def repeat_stored(self, entries: list[m.JournalEntry], entropy: bytes) -> Core[bool]:
        """Do steps that a store has kept once more, in a process that has just come up. Returns whether each came out
        as it did. `entropy`: of the process that did them first, if this is the beginning.
        """
        processes = self._processes
        processes.entropy = entropy or processes.entropy
        return not (entries or entropy) or (yield from self._repeat(entries, entropy)) == len(entries)

    def commit_repeated(self, entries: list[m.JournalEntry], state_number: int, tool_calls: int) -> None:
        """Make steps that the process has done once more part of the session: they lead to the state of that number."""
        processes, history = self._processes, self._processes.history
        for entry in entries:
            history.begin(entry.request.step if isinstance(entry.request, m.Execute) else None)
            processes.commit(history.current.files, tool_calls, entry.request, entry.did)
        history.current.memory.state_number = state_number

    # On, as a branch

    def begin_branch(self, parent: SessionProcesses, copy: Copy, template: str | None = None) -> Core[None]:
        """Ask for a process resumed from `copy` of the state of `parent`, with files of its own; `arrive_branch` waits
        for it. `template`: the name of the state, where it is what a session begins with.
        """
        processes, state = self._processes, parent.history.current
        if parent.workspace is not None:
            try:
                yield from parent.on_files(partial(self._branch_files, parent.workspace, state.files), state.files)
            except WorkspaceError as error:
                raise CheckpointError(f"no branch could be made: {error}") from None
        directory = processes.workspace.path if processes.workspace is not None else None
        if (channel := (yield from processes.resume(copy, monotonic() + patient(RESUME_SECONDS)))) is None:
            raise CheckpointError(DIED_BRANCHING)
        yield from self._wake(channel, copy, directory, [])
        # From here on it keeps the copy, whatever becomes of the session that this is a branch of.
        parent.history.give_branch(processes.history, copy, template)
        copy.users += 1
        processes.memory_base, processes.entropy = parent.memory_base, parent.entropy
        processes.join(copy.lineage)

    def arrive_branch(self, copy: Copy) -> Core[list[str]]:
        """Go on in the process that `begin_branch` has asked for. Returns notes about what was not carried over."""
        processes = self._processes
        channel = processes.resumed
        assert channel is not None
        if (ready := (yield from channel.wait_ready(monotonic() + patient(RESUME_SECONDS)))) is None:
            raise CheckpointError(DIED_BRANCHING)
        processes.take_over(channel, copy.lineage, copy)
        processes.begin_group(channel, copy.lineage)
        return ready.notes

    def _branch_files(self, workspace: Workspace, files: Snapshot) -> None:
        # Kept from here, where it is made: whoever waits for it may be interrupted meanwhile.
        self._processes.workspace = workspace.branch(files)
