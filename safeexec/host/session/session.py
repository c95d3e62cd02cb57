"""A session without its I/O: what a face offers, as generators that the face drives.

`SessionCore` holds one lineage of guest state. Its methods that end in a `Core` are driven by `Session` (blocking) and
`AsyncSession`; nothing here blocks. It is built up from `runner` (the process), `undo` (going back) and `steps`
(one step); this file adds the variables, the files, commands and durable states.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from safeexec.errors import (
    ProtocolError,
    SessionClosed,
    StateFileError,
    WorkspaceError,
)
from safeexec.host.session.channel import Channel, Gone
from safeexec.host.session.checkpoints import (
    Checkpoint,
)
from safeexec.host.session.decode import decode_payload, text
from safeexec.host.session.output import OutputFile
from safeexec.host.session.steps import Steps
from safeexec.host.waiting import Core, Work
from safeexec.host.watch.supervisor import Watch
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism
from safeexec.protocol.values import encode
from safeexec.results import FileChange, Result, Variable

if TYPE_CHECKING:
    from safeexec.host.commands import CommandResult


SAVE_SECONDS = 300.0
NAMES = 10_000
"""Names that a saved state's header tells of at most."""


class SessionCore(Steps):
    """One session: its running process, its checkpoints, its files."""

    def adopt(self, channel: Channel, origin: Checkpoint | None, output: tuple[OutputFile, OutputFile]) -> None:
        """Go on in a process that was thawed from `origin` and writes to `output`."""
        for file in (self._out, self._err):
            file.close()
        self._out, self._err = output
        self._adopt(channel, origin)

    def release(self) -> Channel | None:
        """Give up the running process without ending it: that is the caller's to do."""
        runner, self._runner = self._runner, None
        return runner

    def end(self, runner: Channel) -> Core[None]:
        """End a process of this session and whatever it left behind."""
        yield from self._stop(runner)

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        """The policy and the host's tools, for a model's prompt."""
        return self.policy.card(format, tools=self.sandbox.toolbox.tools.values())

    def add_sources(self, label: str, modules: Iterable[tuple[str, str]]) -> None:
        """The sources of a plugin, for the tracebacks of calls that are killed. The first one is the main module."""
        for index, (name, source) in enumerate(modules):
            self._sources[f"<plugin {label}/{name}>" if index else f"<plugin {label}>"] = source

    def fetch(self, name: str, *, arrays: bool = False) -> Core[tuple[bool, Any]]:
        """Whether there is such a variable, and its value."""
        with (yield from self._turn()):
            runner = yield from self._living_runner()
            try:
                yield from runner.send(m.Fetch(name, arrays))
                answer = yield from self._answer(runner, m.Fetched)
                if not answer.found:
                    return False, None
                if answer.pending:
                    return True, (yield from self._deliver(runner, answer.pending, arrays=arrays))
            except (Gone, ProtocolError) as error:
                yield from self._lost(runner, error)
            return True, decode_payload(self, answer.value, arrays=arrays)

    def assign(self, name: str, value: Any) -> Core[None]:
        """Bind a variable to a value of the host. Raises TypeError for a value that cannot cross."""
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{name!r} is not a variable name")
        limits = self.policy.limits
        payload = encode(value, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth, arrays=True)
        if payload.opaque:
            limit = f"it is larger than limits.value_kb ({limits.value_kb} KiB), nested too deep or holds itself"
            reason = limit if payload.truncated else "it is, or holds, an object that is no value"
            raise TypeError(f"the {type(value).__name__} for {name!r} cannot cross into the sandbox: {reason}")
        yield from self._change(m.Assign(name, payload.data))

    def remove(self, name: str) -> Core[None]:
        """Unbind a variable. Raises KeyError."""
        yield from self._change(m.Remove(name))

    def _change(self, request: m.Assign | m.Remove) -> Core[None]:
        with (yield from self._turn()):
            runner = yield from self._living_runner()
            fds, lane = self._grant(self.reached)
            try:
                yield from self._send_granted(runner, request, fds, lane)
                answer = yield from self._answer(runner, m.Done)
            except (Gone, ProtocolError) as error:
                yield from self._lost(runner, error)
            if fds:
                self.sandbox.gate.announce_one(runner.pid)
            self._empty = False
            autos = self.checkpoints.automatic
            if autos and self.workspace is not None:
                # Over its limit (a thread of the guest fills it): the next step ends with that.
                with contextlib.suppress(WorkspaceError):
                    autos[-1].snapshot = self.workspace.snapshot()
            if answer.problem:
                raise KeyError(answer.problem)

    def names(self) -> Core[list[str]]:
        return (yield from self._ask(m.ListNames(), m.Names)).names  # type: ignore[no-any-return]

    def variables(self) -> Core[list[Variable]]:
        described = yield from self._ask(m.Describe(), m.Described)
        return [Variable(row.name, row.type, row.shape, row.size, text(row.text)) for row in described.variables]

    def command(self, argv: Sequence[str], directory: str, timeout: float | None) -> Core[CommandResult]:
        """Run a program in the session's workspace. Its changes to the files are the session's."""
        from safeexec.host import commands
        from safeexec.host.files.workspace import open_beneath

        if self.workspace is None:
            raise WorkspaceError(f"the policy {self.policy.name!r} gives no workspace to run a command in")
        place = self.workspace.path
        if directory not in ("", "."):
            os.close(open_beneath(place, directory, os.O_PATH | os.O_DIRECTORY))
            place = os.path.join(place, directory)
        with (yield from self._turn()):
            result = yield from commands.run(self.sandbox, argv, self.workspace, place, timeout, self.group)
            limits = self.policy.limits
            if self.workspace.over(limits.workspace_mb << 20, limits.workspace_files) is not None:
                self.workspace.undo()  # and not copied
            self._files_changed()
            return result

    def _files_changed(self) -> None:
        """The host or a command changed files: they belong to the newest checkpoint's state."""
        if self.workspace is None:
            return
        snapshot, newest = self.workspace.snapshot(), next(iter(self.checkpoints.newest_first()), None)
        if newest is None:
            self.workspace.initial = snapshot
        elif newest is self.checkpoints.base:
            # It may have a name, or be another branch's, too: there its files stay what they were.
            self.checkpoints.base_files = snapshot
        else:
            newest.snapshot = snapshot

    def self_test(self) -> Core[list[Mechanism]]:
        """Let the session's process try what it must not be able to do. One row per act; `active` where it was
        refused.
        """
        self.sandbox.gate.refuse_next(self.runner_pid())
        return list((yield from self._ask(m.SelfTest(self.policy.limits.processes), m.Tested)).rows)

    def save(self, path: str | os.PathLike[str]) -> Core[dict[str, str]]:
        """Write the variables and the workspace's files to a signed file. Returns the names that could not be saved,
        and why.
        """
        from safeexec.host.files import state_file

        key, target = state_file.signing_key(), state_file.target(path)
        with (yield from self._turn()):
            runner = yield from self._living_runner()
            fd = os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            try:
                try:
                    yield from runner.send(m.Save(), (fd,))
                    answer = yield from self._answer(runner, m.Saved, self._save_seconds())
                except (Gone, ProtocolError) as error:
                    yield from self._lost(runner, error)
                if answer.problem:
                    raise StateFileError(f"the session could not be saved: {answer.problem}")
                names = [name for name in answer.names[:NAMES] if name.isidentifier()]
                failed = {name[:200]: reason[:500] for name, reason in list(answer.failed.items())[:NAMES]}
                files = self.workspace.listing() if self.workspace is not None else {}
                for name in [name for name in files if not _is_text(name)]:
                    del files[name]
                    failed[ascii(name)[:200]] = "the name of this file is not UTF-8"
                directories = [name for name, info in files.items() if stat.S_ISDIR(info.st_mode)]
                regular = {name: info for name, info in files.items() if stat.S_ISREG(info.st_mode)}
                header = state_file.Header(
                    policy=self.policy.name,
                    digest=self.sandbox.policy.digest,
                    python=state_file.python_version(),
                    libraries=dict(list(answer.libraries.items())[:50]),
                    names=names,
                    failed=failed,
                    step=self.step,
                    payload_bytes=min(answer.size, os.fstat(fd).st_size),
                    files=[(name, info.st_size) for name, info in regular.items()],
                    modes=[stat.S_IMODE(info.st_mode) & 0o777 for info in regular.values()],
                    directories=directories,
                )
                yield Work(partial(state_file.write, target, header, self._open_file, fd, key))
            finally:
                # The child may have kept it, and no limit counts what it holds.
                fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
                os.ftruncate(fd, 0)
                os.close(fd)
            return failed

    def _open_file(self, name: str) -> int:
        """A descriptor of a file of the workspace, to be read."""
        from safeexec.host.files.workspace import open_beneath

        assert self.workspace is not None
        return open_beneath(self.workspace.path, name, os.O_RDONLY)

    def _save_seconds(self) -> float:
        """How long saving and restoring may take: pickling runs code of the guest, which no step could run longer."""
        return min(SAVE_SECONDS, self.policy.limits.max_wall_seconds)

    def load(self, fd: int) -> Core[None]:
        """Bind the variables that a saved payload holds. It is unpickled in the child, whose confinement is what
        holds it.
        """
        with (yield from self._turn()):
            runner = yield from self._living_runner()
            lanes, lane = self._grant(self.reached)
            try:
                answer = yield from self._watched(runner, m.Load(), (*lanes, fd), lane)
            except (Gone, ProtocolError) as error:
                raise StateFileError(f"the process died while it restored the state: {error}") from None
            if lanes:
                self.sandbox.gate.announce_one(runner.pid)
            if answer.problem:
                raise StateFileError(f"the state could not be restored: {answer.problem}")
            self._empty = False
            self._files_changed()

    def _watched(self, runner: Channel, request: m.Load, fds: tuple[int, ...], lane: Any) -> Core[m.Done]:
        """Send what runs guest code and is no step, and wait for its end; the limits of a step hold, and `cancel`.
        Raises `StateFileError` when one ends it: the process is left as it is then.
        """
        limits, outputs = self.policy.limits, (self._out, self._err)
        for output in outputs:
            output.begin()
        watch = Watch(
            runner,
            limits,
            limits.wall_seconds,
            outputs,
            self.workspace,
            self._memory_now,
            self._guests,
            self.unnamed_over,
        )
        self._verdict, self._safe_to_kill, self._running = None, True, True
        try:
            yield from self._send_granted(runner, request, fds, lane)
            while (verdict := self._verdict or watch.look()) is None:
                answer = yield from runner.receive(watch.next_look())
                if isinstance(answer, m.Done):
                    return answer
                if answer is not None:
                    raise ProtocolError(f"{type(answer).__name__} came instead of Done")
            raise StateFileError(f"the state could not be restored: {verdict.message}")
        finally:
            with self._ending:
                self._running = False

    def sql(self, query: str, name: str, timeout: float | None) -> Core[Result]:
        """Run one SQL query as a step; a result is bound to the variable `name`."""
        if not isinstance(query, str):
            raise TypeError(f"query must be str, not {type(query).__name__}")
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{name!r} is not a variable name")
        text = query.encode("utf-8", "surrogatepass")
        return (yield from self.perform(lambda step: m.Query(step, text, name), timeout=timeout))

    def read_file(self, name: str) -> bytes:
        """The bytes of a file of the workspace. Raises `WorkspaceError`."""
        from safeexec.host.files import workspace_files

        return workspace_files.read_file(self._directory(), name, max_bytes=self.policy.limits.workspace_mb << 20)

    def write_file(self, name: str, data: bytes) -> None:
        """Put a file into the workspace; it belongs to the state as it is now. Raises `WorkspaceError`."""
        from safeexec.host.files import workspace_files

        directory = self._directory()
        with self._use():
            assert self.workspace is not None
            limit = self.policy.limits.workspace_mb << 20
            workspace_files.write_file(directory, name, bytes(data), max_bytes=limit, owner=self.workspace.owner)
            self._files_changed()
            self._listing = workspace_files.snapshot(directory)

    def list_files(self) -> list[str]:
        """The names of the regular files of the workspace, sorted."""
        from safeexec.host.files import workspace_files

        return [info.name for info in workspace_files.list_files(self._directory())]

    def _directory(self) -> str:
        if self._closed:
            raise SessionClosed("the session is closed")
        if self.workspace is None:
            raise WorkspaceError(
                f"the policy {self.policy.name!r} gives sessions no workspace "
                f"(filesystem.workspace, {self.policy.origin('filesystem.workspace') or 'not set'})"
            )
        return self.workspace.path

    def _changed_files(self) -> tuple[FileChange, ...]:
        """The files that the last step created, changed and deleted."""
        from safeexec.host.files import workspace_files

        if self.workspace is None:
            return ()
        before, self._listing = self._listing, workspace_files.snapshot(self.workspace.path)
        return workspace_files.changed_since(before, self._listing)


def _is_text(name: str) -> bool:
    """Whether a file's name is UTF-8. `os` shows other bytes as lone surrogates, which no message can carry."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
