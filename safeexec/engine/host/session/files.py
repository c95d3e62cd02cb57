"""The files of a session's workspace, as the host reads and changes them: they belong to the state as it is then."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from safeexec.common.text import as_bytes
from safeexec.engine.host.session.turns import arouse, exclusive
from safeexec.engine.host.waiting import Core, Work, drive
from safeexec.errors import SessionClosed, WorkspaceError

if TYPE_CHECKING:
    from safeexec.engine.host.files.snapshots import Snapshot
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.session.supervisor import Supervisor
    from safeexec.engine.host.session.tool_calls import Waits
    from safeexec.engine.host.session.turns import Turns
    from safeexec.engine.host.watch.room import Room
    from safeexec.results import CommandResult


class SessionFiles:
    """The files of one session."""

    def __init__(self, turns: Turns, supervisor: Supervisor, waits: Waits) -> None:
        self.turns = turns
        self._supervisor = supervisor
        self._waits = waits
        self._policy = supervisor.processes.policy
        self.changed = False
        """True if the host has changed files, for whoever writes that down."""
        self.branched = False
        """True if there have been branches of the session, which know where its files are."""
        self.untold_cpu = 0.0
        """CPU seconds of commands whose callers got no result."""
        self.room: Room | None = None
        """Counts them while a step runs."""

    @exclusive("command")
    def command(self, argv: Sequence[str], directory: str, timeout: float | None) -> Core[CommandResult]:
        """Run a program in the session's workspace. Its changes to the files are the session's. Raises `PolicyError`,
        `WorkspaceError` for another directory, ValueError.
        """
        from safeexec.engine.host import commands  # with shutil 5 ms

        self._waits.check()
        processes = self._supervisor.processes
        workspace = processes.workspace
        if workspace is None:
            raise WorkspaceError(f"the policy {self._policy.name!r} gives no workspace to run a command in")
        place = workspace.path if directory in ("", ".") else workspace.directory(directory)
        yield from self._supervisor.ensure_ready()  # there is no control group without a process
        command = commands.RunningCommand(self._policy, workspace, processes.group)
        self._supervisor.command = command
        try:
            try:
                result: CommandResult = yield from commands.run(processes.children, argv, command, place, timeout)
            finally:
                self._supervisor.command = None
            processes.history.change_files((yield from processes.on_files(workspace.snapshot_or_undo)))
        except BaseException:
            self.untold_cpu += command.cpu_seconds
            raise
        self.changed = True
        return result

    def read_file(self, name: str, max_bytes: int | None = None) -> bytes:
        """Return the bytes of a file of the workspace. Raises `WorkspaceError`, also for more than `max_bytes`."""
        most = self._policy.limits.workspace_mb << 20
        return self._workspace().read(name, most if max_bytes is None else min(most, max_bytes))

    def list_files(self) -> list[str]:
        """Return the names of the regular files of the workspace, sorted."""
        return self._workspace().names()

    def write_file(self, name: str, data: bytes | str) -> None:
        """Put a file into the workspace. Raises `WorkspaceError`."""
        drive(self._write_file(name, as_bytes(data)))

    @exclusive("write")
    def _write_file(self, name: str, data: bytes) -> Core[None]:
        self._waits.check()
        workspace, history = self._workspace(), self._supervisor.processes.history
        path, files = yield Work(partial(workspace.write, name, data, history.current.files))
        history.change_files(files)
        self.changed = True
        if path in files:
            self._supervisor.marks[path] = files[path].mark

    @exclusive("put_files")
    def put_files(self, files: Mapping[str, str | bytes | os.PathLike[str]]) -> Core[None]:
        """Copy files of the host (paths), or bytes, into the workspace. Raises `WorkspaceError`, OSError."""
        self._waits.check()
        processes = self._supervisor.processes
        workspace = processes.workspace
        assert workspace is not None

        def put() -> Snapshot:
            for name, content in files.items():
                workspace.put(name, content)
            return workspace.snapshot()

        processes.history.change_files((yield Work(put)))
        self.changed = True
        self._supervisor.marks = workspace.marks

    def take_back(self) -> Core[None]:
        """Put the files back as they are in the state: a branch may have changed modes and times, which Landlock does
        not cover. By whoever has a turn.
        """
        processes = self._supervisor.processes
        files = processes.history.current.files
        if processes.workspace is not None and files is not None:
            processes.workspace.give_access()
            problems = yield from processes.on_files(partial(processes.workspace.restore, files), files)
            self._supervisor.notes_next += problems
            self._supervisor.refresh_file_baseline()

    def _workspace(self) -> Workspace:
        """Return the workspace. Raises `SessionClosed`, or `WorkspaceError` where there is none."""
        if self._supervisor.why_closed is not None:
            raise SessionClosed(self._supervisor.why_closed)
        if (durable := self.turns.durable) is not None and durable.must_resume(self._supervisor):
            drive(arouse(self))
        if (workspace := self._supervisor.processes.workspace) is None:
            raise WorkspaceError(
                f"the policy {self._policy.name!r} gives sessions no workspace "
                f"(filesystem.workspace, {self._policy.origin('filesystem.workspace') or 'not set'})"
            )
        return workspace
