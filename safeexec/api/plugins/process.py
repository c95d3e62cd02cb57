"""The processes of a loaded plugin: the one that keeps its state, or the copies for calls that each find it fresh."""

from __future__ import annotations

import contextlib
from collections import deque
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.session.output import SessionOutput
from safeexec.engine.host.session.runner import READY_SECONDS
from safeexec.engine.host.session.session import SessionCore
from safeexec.engine.host.session.spare import Spare
from safeexec.engine.host.session.template import FrozenState, freeze
from safeexec.engine.host.waiting import Core
from safeexec.engine.host.watch.lineage import KILL_SECONDS
from safeexec.errors import CheckpointError, ProtocolError
from safeexec.protocol import messages as m
from safeexec.results import STARTS_EMPTY, PluginError

if TYPE_CHECKING:
    from safeexec.results import Result

LOADED = "loaded"
"""The checkpoint of a fresh plugin from which each call's copy is resumed."""
SWEEP = 64
"""Fresh calls between two searches for processes that an escaped guest may have left behind."""
AHEAD = 2
"""Copies that wait for the next calls of a fresh plugin. With one, calls in a row leave a third of two cores idle."""
DYING = 4
"""Processes of past calls that may still be on their way out."""
LOST = "the plugin is loaded again before the next call: what earlier calls kept in it is lost"
"""In the notes of a call after which a kept plugin had no state to go back to."""


class Loaded:
    """The session of a loaded plugin, and for a fresh one the copies that wait for the next calls."""

    def __init__(self, core: SessionCore, *, fresh: bool) -> None:
        self.core = core
        self._fresh = fresh
        self._born = core.processes.children_born
        """The number of the child that the plugin was loaded into."""
        self._frozen: FrozenState | None = None
        """A fresh plugin as it was loaded: the process of each call comes from the copy of that state."""
        self._next: deque[Spare] = deque()
        """Processes that are being resumed, each with output files that no other call has seen."""
        self._dying: deque[Channel] = deque()
        self._calls = 0

    def freeze(self) -> Core[None]:
        """Keep the plugin as it is now, and make the copies for the first calls."""
        try:
            self._frozen = yield from freeze(self.core, LOADED)
        except CheckpointError as error:
            raise PluginError(f"a fresh plugin needs a checkpoint of its loaded state: {error}") from None
        yield from self.leave()
        yield from self._ask()

    def ready(self) -> Core[bool]:
        """Return whether there is a process for the next call. In a fresh plugin a copy that was asked for before;
        another one is asked for now, and made while the call runs, on another core.
        """
        if not self._fresh:
            return True
        assert self._frozen is not None
        if self.started_over:
            return False
        if self.core.processes.runner_pid() is not None:
            # The last call was stopped, and the session has been restored to the plugin as it was loaded.
            return True
        if not self._frozen.copy.alive:
            # With it gone, the end of the last call took the processes resumed from it for orphans and ended them: one
            # that has said that it is there may not have died yet.
            return False
        if not self._next:
            yield from self._ask()
        if not self._next:
            return False
        copy = self._next.popleft()
        try:
            ready = yield from copy.ready()
        except BaseException:
            copy.close()
            raise
        if ready is None:
            copy.close()
            return False
        self._frozen.adopt(copy.channel, copy.output)
        yield from self._ask()
        return True

    @property
    def started_over(self) -> bool:
        """True if the plugin has not been loaded into the session's process."""
        return self.core.processes.children_born != self._born

    def installed(self) -> None:
        """Note that the plugin has been loaded into the process that there is now."""
        self._born = self.core.processes.children_born

    def after(self, result: Result) -> Core[Result]:
        """Return the result of a call that has ended. In a fresh plugin its process goes, with what the call left."""
        if result.state == "kept":
            yield from self.leave()
        elif self.started_over:
            notes = tuple(note for note in result.notes if not note.endswith(STARTS_EMPTY))
            change = {"notes": notes, "state": "restored"} if self._fresh else {"notes": (*notes, LOST)}
            result = msgspec.structs.replace(result, **change)
        return result

    def leave(self) -> Core[None]:
        """End the process of the last call, in a fresh plugin."""
        if not self._fresh:
            return
        loaded, processes = self._frozen, self.core.processes
        workspace = processes.workspace
        assert loaded is not None
        self._calls += 1
        old = loaded.leave()
        if old is not None:
            if workspace is not None or self._calls % SWEEP == 0:
                yield from loaded.end(old)
            else:
                old.kill()
                self._dying.append(old)
        if workspace is not None and (files := loaded.state.files) is not None:
            # The next call reports what could not be brought back, and finds it so.
            self.core.supervisor.notes_next += yield from processes.on_files(partial(workspace.restore, files), files)
        while len(self._dying) > DYING:
            yield from self._bury()

    def _bury(self) -> Core[None]:
        last = self._dying.popleft()
        yield from last.wait_ended(monotonic() + patient(KILL_SECONDS))
        last.close()

    def _ask(self) -> Core[None]:
        """Ask for the next copies; nobody waits for them here."""
        while self._frozen is not None and len(self._next) < AHEAD:
            gate = self.core.sandbox.children.gate
            channel = yield from self._frozen.copy.resume(monotonic() + patient(READY_SECONDS), gate)
            if channel is None:
                return
            output = SessionOutput(self.core.policy.limits, self.core.sandbox.policy.limits)
            copy = Spare(channel, output, None)
            self._next.append(copy)
            with contextlib.suppress(Gone, ProtocolError):  # then it never says that it is there
                yield from channel.send(m.Wake(branch=True), output.for_branch)

    def close(self) -> Core[None]:
        while self._next:
            copy = self._next.popleft()
            copy.channel.read_if_ready()
            copy.channel.give_up()  # what has not said that it is there ends with the session
            copy.close()
        while self._dying:
            yield from self._bury()
        yield from self.core.close()
