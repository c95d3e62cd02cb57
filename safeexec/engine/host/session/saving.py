"""How the state of a session becomes a file, and a file the state of a session.

The child pickles and unpickles, as that runs code of the guest: it is confined there, under the limits of a step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from safeexec.common.text import one_line
from safeexec.engine.host.files import state_file
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.runner import Runner
from safeexec.engine.host.session.step import SECURE_SECONDS, AnswerTool, Step
from safeexec.engine.host.waiting import Core, Work, ending
from safeexec.engine.host.watch.clock import Watch
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.errors import ProtocolError, StateFileError, WorkspaceError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.host.session.supervisor import Supervisor
    from safeexec.engine.policy.model import Policy

A = TypeVar("A", m.Saved, m.Done)
"""The answer to a request."""


class Saving:
    """Saves and loads the state of one session, for one caller who has its turn."""

    def __init__(self, supervisor: Supervisor, policy: Policy, answer_tool: AnswerTool, seconds: float) -> None:
        self._supervisor = supervisor
        self._processes = supervisor.processes
        self._policy = policy
        self._answer_tool = answer_tool
        self._seconds = seconds

    def save(
        self, put: Callable[[Iterator[bytes]], None], step: int, waiting: bytes = b"", *, lasting: bool = False
    ) -> Core[dict[str, str]]:
        """Give the variables and the workspace's files to `put`, as the bytes of a state, with the step that waits, if
        one does. Returns what could not be saved, and why. `lasting`: steps will be repeated from there.
        """
        fd = state_file.new_payload()
        try:
            save = m.Save(lasting)
            answer = yield from self._supervisor.ask(lambda runner: self._watched(runner, save, m.Saved, (fd,)))
            if isinstance(answer, Verdict):
                became = self._supervisor.became((yield from self._supervisor.undo_step()))
                raise StateFileError(f"the session could not be saved: {answer.message}; {became}")
            if answer.problem:
                raise StateFileError(f"the session could not be saved: {answer.problem}")
            files = yield from self._files()
            digest, size = self._supervisor.sandbox.policy.digest, os.fstat(fd).st_size
            header, failed = state_file.header_of(answer, size, files, self._policy, digest, step, waiting)
            yield Work(lambda: put(state_file.pieces(header, self._open_file, fd)))
            return failed
        finally:
            yield from ending(os.fstat(fd).st_size, partial(state_file.free_payload, fd))

    def _files(self) -> Core[dict[str, os.stat_result]]:
        """Return what a saved state has of the workspace."""
        if (workspace := self._processes.workspace) is None:
            return {}
        try:
            return (yield from self._processes.on_files(workspace.listing))
        except WorkspaceError as error:
            raise StateFileError(f"the session could not be saved: {error}") from None

    def _open_file(self, name: str) -> int:
        """Return a descriptor of a file of the workspace, to be read."""
        assert self._processes.workspace is not None
        return self._processes.workspace.open(name, os.O_RDONLY)

    def load(self, fd: int, *, foreign: bool = False) -> Core[None]:
        """Bind the variables of a saved payload; without code, if it is `foreign`."""

        def bind(runner: Runner, fds: tuple[int, ...]) -> Core[m.Done]:
            answer = yield from self._watched(runner, m.Load(foreign), m.Done, (fd, *fds))
            if isinstance(answer, Verdict):
                raise StateFileError(f"the state could not be restored: {answer.message}")
            return answer

        try:
            answer = yield from self._supervisor.tell(bind)
        except (Gone, ProtocolError) as error:
            raise StateFileError(f"the process died while it restored the state: {error}") from None
        if answer.problem:
            raise StateFileError(f"the state could not be restored: {answer.problem}")
        self._supervisor.notes_next += [one_line(note, m.NOTE_CHARACTERS) for note in answer.notes]
        self._supervisor.refresh_file_baseline()

    def _watched(
        self, runner: Runner, request: m.Save | m.Load, kind: type[A], fds: tuple[int, ...]
    ) -> Core[A | Verdict]:
        """Send a request that runs guest code and is no step, and wait for its answer. The limits of a step hold, and
        `cancel` ends it. Returns a `Verdict` if it must end; the process is left as it is then. Raises `Gone` or
        `ProtocolError`.
        """
        processes, channel = self._processes, runner.channel
        processes.out.begin()
        processes.err.begin()
        watch = Watch(channel, self._policy.limits, self._seconds, (processes.out, processes.err))
        step = self._supervisor.doing = Step(0, processes, runner, watch, self._answer_tool)
        try:
            yield from channel.send(request, fds)
            while (verdict := step.verdict or watch.exceeded()) is None:
                try:
                    answer = yield from channel.receive(watch.next_look())
                except Gone:
                    if step.verdict is None:
                        raise
                    continue
                if isinstance(answer, kind):
                    return answer
                if answer is not None:
                    raise ProtocolError(f"{type(answer).__name__} came instead of {kind.__name__}")
            yield from step.secure(SECURE_SECONDS)
            return verdict
        finally:
            step.close()
