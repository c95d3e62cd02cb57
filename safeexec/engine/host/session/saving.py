"""How the state of a session becomes a file, and a file the state of a session.

The child pickles and unpickles, as that runs code of the guest: it is confined there, under the limits of a step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from safeexec.engine.host.files import state_file
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.decode import notes_of
from safeexec.engine.host.session.runner import Runner
from safeexec.engine.host.waiting import Core, Work, ending
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.errors import ProtocolError, StateFileError, WorkspaceError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.host.session.supervisor import Supervisor


class Saving:
    """Saves and loads the state of one session, for one caller who has its turn."""

    def __init__(self, supervisor: Supervisor, seconds: float) -> None:
        """`seconds`: what the process may take, which is under the limits of a step; `cancel` ends it."""
        self._supervisor = supervisor
        self._processes = supervisor.processes
        self._seconds = seconds

    def save(
        self, put: Callable[[Iterator[bytes]], None], step: int, waiting: bytes = b"", *, lasting: bool = False
    ) -> Core[dict[str, str]]:
        """Give the variables and the workspace's files to `put`, as the bytes of a state, with the step that waits, if
        one does. Returns what could not be saved, and why. `lasting`: steps will be repeated from there.
        """
        fd = state_file.new_payload()
        try:

            def pickled(runner: Runner) -> Core[m.Saved | Verdict]:
                return self._supervisor.begin_step(0, runner, self._seconds).ask(m.Save(lasting), m.Saved, (fd,))

            answer = yield from self._supervisor.ask(pickled)
            if isinstance(answer, Verdict):
                became = self._supervisor.describe_restore((yield from self._supervisor.undo_step()))
                raise StateFileError(f"the session could not be saved: {answer.message}; {became}")
            if answer.problem:
                raise StateFileError(f"the session could not be saved: {answer.problem}")
            files, workspace = {}, self._processes.workspace
            if workspace is not None:
                try:
                    files = yield from self._processes.on_files(workspace.listing)
                except WorkspaceError as error:
                    raise StateFileError(f"the session could not be saved: {error}") from None
            digest, size = self._supervisor.processes.children.policy.digest, os.fstat(fd).st_size
            header, failed = state_file.header_of(answer, size, files, self._processes.policy, digest, step, waiting)
            yield Work(lambda: put(state_file.pieces(header, self._open_file, fd)))
            return failed
        finally:
            yield from ending(os.fstat(fd).st_size, partial(state_file.free_payload, fd))

    def _open_file(self, name: str) -> int:
        """Return a descriptor of a file of the workspace, to be read."""
        assert self._processes.workspace is not None
        return self._processes.workspace.open(name, os.O_RDONLY)

    def load(self, fd: int, *, foreign: bool = False) -> Core[None]:
        """Bind the variables of a saved payload; without code, if it is `foreign`."""

        def bind(runner: Runner, fds: tuple[int, ...]) -> Core[m.Done]:
            step = self._supervisor.begin_step(0, runner, self._seconds)
            answer = yield from step.ask(m.Load(foreign), m.Done, (fd, *fds))
            if isinstance(answer, Verdict):
                raise StateFileError(f"the state could not be restored: {answer.message}")
            return answer

        try:
            answer = yield from self._supervisor.change(bind)
        except (Gone, ProtocolError) as error:
            raise StateFileError(f"the process died while it restored the state: {error}") from None
        if answer.problem:
            raise StateFileError(f"the state could not be restored: {answer.problem}")
        self._supervisor.notes_next += notes_of(answer.notes)
        self._supervisor.refresh_file_baseline()
