"""The frozen copies of one session: those that its states have, and the one that its process makes next."""

from __future__ import annotations

import socket
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import new_control
from safeexec.engine.host.session.copy import Copy, check_depth, living, share_bytes
from safeexec.engine.host.session.history import History
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch.lineage import wait_and_close
from safeexec.engine.linux import processes
from safeexec.errors import CheckpointError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.host.session.output import SessionOutput
    from safeexec.engine.host.session.runner import Runner
    from safeexec.engine.host.watch.gate import ForkGate
    from safeexec.engine.policy.model import Policy

FREEZE_SECONDS = 3.0
"""How long a copy may take to freeze once nothing is before it. If an orphan holds the other end of its socket, it
never does.
"""


class Copies:
    """The copies of one session: those that its states have, and the one that its process makes next."""

    def __init__(self, policy: Policy, gate: ForkGate) -> None:
        self.history: History[Copy] = History()
        self.next: Copy | None = None
        """The copy that the process may make of a state that cannot be had otherwise, when it comes to that."""
        self.undiscovered = False
        """True while there may be copies whose process the host does not know. Meant for times without a runner."""
        self._limits = policy.limits
        self._gate = gate

    def all(self) -> list[Copy]:
        """Return the copies of the history, and the one that the process may be making. From any thread."""
        copies, next_copy = self.history.copies(), self.next
        return copies if next_copy is None or not next_copy.ordered else [*copies, next_copy]

    @property
    def automatic(self) -> list[Copy]:
        """The copies without a name, the oldest first."""
        named = self.history.named_copies()
        return [copy for copy in self.history.copies() if copy not in named]

    # The one that comes next

    def promise(self, runner: Runner, output: SessionOutput, step: int) -> tuple[Copy, socket.socket]:
        """Return a copy that will be made of the state after `step`, and its end of its socket, the caller's to send
        and to close. Raises OSError.
        """
        ours, theirs = new_control()
        return Copy(ours, step, runner.lineage, output, parent=living(runner.origin)), theirs

    def announce(self, runner: Runner) -> None:
        """Note that the process uses the socket: the copy that it makes next counts."""
        if self.next is not None:
            self.next.ordered = True
            self._gate.announce(runner.pid, alone=True)

    def take_next(self) -> Copy:
        """Return the copy that was promised: it will be made of the state that has been begun."""
        next_copy, self.next = self.next, None
        assert next_copy is not None and self.history.next is not None
        next_copy.step, next_copy.created = self.history.next.step, monotonic()
        return next_copy

    def release_next(self) -> None:
        """Release the copy that was promised: nobody will make it."""
        next_copy, self.next = self.next, None
        if next_copy is not None:
            next_copy.release()

    # Those that there are

    def see(self) -> None:
        """Take in which of the copies that were promised are there. Waits for none."""
        for copy in [*self.history.uncertain]:
            # Steps are done one by one: the copy of the state before has been made by now, or never will be.
            frozen = copy.is_frozen()
            if frozen:
                self.history.note_frozen(copy)
            elif frozen is False:
                self.forget(copy)

    def have_current(self, deadline: float) -> Core[bool]:
        """Return whether the state that the session is in has a copy, or never will; waits for it until `deadline`.

        The child makes it in think time or, when steps come back to back, before it begins the next one.
        """
        for copy in self.history.copies_below(self.history.current):
            if (yield from copy.wait_until_frozen(deadline)):
                self.history.note_frozen(copy)
            elif not copy.ended:
                return False
        return True

    def discover(self) -> Core[None]:
        """Learn from the kernel who is frozen on each control socket. One that nobody froze on has ended with the
        runner.
        """
        deadline = monotonic() + patient(FREEZE_SECONDS)
        for copy in self.history.copies():
            if (yield from copy.wait_until_frozen(deadline)):
                self.history.note_frozen(copy)
        self.undiscovered = False

    def forget(self, copy: Copy) -> None:
        """Forget a copy that is gone, or is given up for space; one with a name is released when that is dropped."""
        self.history.forget([copy])
        if copy not in self.history.named_copies():
            copy.release()

    def new(self, runner: Runner, output: SessionOutput, seconds: float | None = None) -> Core[Copy]:
        """Have the process make a copy of the state as it is now; the caller is its one user. Raises `CheckpointError`,
        and `Gone` or `ProtocolError` if the process is lost.
        """
        check_depth(runner.origin)
        try:
            copy, theirs = self.promise(runner, output, self.history.current.step)
        except OSError as error:
            raise CheckpointError(f"no checkpoint could be made: {error.strerror}") from None
        self._gate.announce(runner.pid)
        try:
            with theirs:
                answer = yield from runner.ask(m.Freeze(), m.Done, seconds, (theirs.fileno(),))
            self._gate.withdraw(runner.pid)  # a process that has not forked for it is to fork for nothing else
            if answer.problem or not (yield from copy.wait_until_frozen(monotonic() + patient(FREEZE_SECONDS))):
                raise CheckpointError(f"no checkpoint could be made: {answer.problem or 'the copy died'}")
        except BaseException:
            copy.release()
            raise
        return copy

    def make_room(self) -> Core[None]:
        """Keep the copies within `limits.checkpoint_memory_mb`: automatic ones go first, the oldest of them before.
        Raises `CheckpointError`.
        """
        limit = self._limits.checkpoint_memory_mb << 20
        # What is resident bounds what is their own, and costs 10 us to read; the exact figure costs 2 ms per 100 MB.
        if self._held(processes.memory_without_files) <= limit:
            return
        for copy in self.history.expendable():
            if self._held(share_bytes) <= limit:
                return
            ending = copy.dup_pidfd() if copy.users == 1 else []
            self.forget(copy)
            yield from wait_and_close(ending)  # until it has gone it counts as one more holder of what it shares
        if (total := self._held(share_bytes)) > limit:
            raise CheckpointError(
                f"the checkpoints of this session hold {total >> 20} MiB; limits.checkpoint_memory_mb is "
                f"{limit >> 20}. Drop one first: {', '.join(self.history.named) or 'none has a name'}"
            )

    def _held(self, measure: Callable[[int], int]) -> int:
        """Return how many bytes all copies hold by `measure`: with `share_bytes`, pages that only copies share are
        theirs in full, which they are not by what each holds alone.
        """
        return sum(measure(pid) for copy in self.history.copies() if (pid := copy.pid()) is not None)
