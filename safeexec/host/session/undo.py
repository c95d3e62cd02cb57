"""Going back: checkpoints by name, rollback, branches, and the state that a killed step leaves behind."""

from __future__ import annotations

import re
from time import monotonic
from typing import Self

from safeexec.errors import (
    CheckpointError,
    ProtocolError,
    SessionClosed,
    WorkspaceError,
)
from safeexec.host.files.workspace import Snapshot
from safeexec.host.session.channel import Channel, Gone
from safeexec.host.session.checkpoints import (
    MAX_GENERATIONS,
    Checkpoint,
    CheckpointInfo,
    ancestors,
    living,
    new_lane,
)
from safeexec.host.session.runner import CLOSED_MEANWHILE, PARK_SECONDS, RESTORE_SECONDS, THAW_SECONDS, Running
from safeexec.host.waiting import Core
from safeexec.host.watch.memory import own_bytes
from safeexec.linux import processes
from safeexec.protocol import messages as m
from safeexec.results import NEWEST_LEFT, STARTS_EMPTY, ToolCallRecord

NO_LONGER_KEPT = "the state before the last step is no longer kept: roll back to a named checkpoint"
NAME_LENGTH = 200
_AUTOMATIC_NAME = re.compile(r"step \d+")
LOST_SOURCE = 50_000
NAMES_LOST = 200
_BINDS = re.compile(
    # Linear: a hostile source is searched, too. The last word of an import is one that no word character comes before;
    # a lazy `[^\n]*?(\w+)` took 24 s, with the host's lock held, for a name of 50,000 letters.
    r"^[ \t]*(?:(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=)|(?:import|from)\b[^\n]*(?<!\w)(\w+)[ \t]*$)",
    re.M,
)


class Undo(Running):
    """A session whose steps can be undone."""

    def _stop_undone(self, runner: Channel) -> Core[None]:
        """End the process of a step that is to be undone. First its lane goes: a stray may hold the other end open."""
        self.checkpoints.revoke(self._lane_step)
        yield from self._stop(runner)

    def _restore(self) -> Core[list[str]]:
        """Bring back the newest state that lives. Returns notes about what could not be carried over."""
        if self._closed:
            raise SessionClosed(CLOSED_MEANWHILE)
        reached, empty = self.reached, self._empty
        if self.policy.checkpoints == "off" and not self.checkpoints.named and self.checkpoints.base is None:
            yield from self._start_over()
            return [] if empty else [f"checkpoints are off, so {STARTS_EMPTY}"]
        deadline = monotonic() + RESTORE_SECONDS
        for missed, checkpoint in enumerate(self.checkpoints.newest_first(named=self.policy.checkpoints == "off")):
            if monotonic() >= deadline:
                break
            files = self.checkpoints.base_files if checkpoint is self.checkpoints.base else None
            carried = yield from self._thaw_into_self(checkpoint, files)
            if carried is not None:
                self.checkpoints.base_files = files
                if missed or checkpoint.step < reached:
                    carried.append(f"the state of checkpoint {checkpoint.label!r} {NEWEST_LEFT}")
                return carried
        yield from self._start_over()
        return [] if empty else [f"no checkpoint was left: {STARTS_EMPTY}"]

    def end_rest(self, over: str) -> Core[None]:
        """End what the session has running although no step does, and go on from its newest checkpoint."""
        assert self.rest is not None
        for checkpoint in self.checkpoints.living():
            if (pid := checkpoint.pid()) is not None and checkpoint.channel is not None and self.rest.hostile(pid):
                checkpoint.channel.kill()
        if self._runner is not None:
            yield from self._stop(self._runner)
        notes = yield from self._restore()
        self._told_next = [f"between its steps the session {over}: what it had running was ended", *notes]

    def _start_over(self) -> Core[None]:
        """Go on in a fresh child: the state before the first step."""
        if not self.sandbox.alive:
            self._closed_by_zygote()
            raise SessionClosed("the zygote of this sandbox died; reopen the sandbox")
        self.checkpoints.thawed_from(None)
        self._sources.clear()
        if self.workspace is not None:
            self._told_next += self.workspace.restore(self.workspace.initial)
        yield from self._fresh_runner()

    def _thaw_into_self(self, checkpoint: Checkpoint, files: Snapshot | None = None) -> Core[list[str] | None]:
        """Go on from `checkpoint`, with `files` instead of its own. None if it is not there any more."""
        place: str | None = None
        problems: list[str] = []
        snapshot = checkpoint.snapshot if files is None else files
        if self.workspace is not None and snapshot is not None:
            # First, for the copy opens its files again when it thaws.
            problems = self.workspace.restore(snapshot)
            # What a branch goes back to may have been parked in the directory of the session that it came from.
            place = self.workspace.path
        # So it is with what it prints to, which another call of a fresh plugin may have had, too.
        others = checkpoint.out is not self._out
        fds = (self._out.fd, self._err.fd) if others else ()
        thawed = yield from self._thaw(checkpoint, branch=others, workspace=place, fds=fds)
        if thawed is None:
            return None
        channel, ready = thawed
        self._adopt(channel, checkpoint)
        self.reached, self._empty = checkpoint.step, False
        self.checkpoints.thawed_from(checkpoint)
        self._enter_group(channel)
        return [*problems, *ready.notes]

    def _thaw(
        self, checkpoint: Checkpoint, *, branch: bool, workspace: str | None, fds: tuple[int, ...]
    ) -> Core[tuple[Channel, m.Ready] | None]:
        if not (yield from checkpoint.parked(monotonic() + PARK_SECONDS)):
            return None
        assert checkpoint.channel is not None
        channel, theirs = Channel.pair()
        self.sandbox.gate.announce(checkpoint.channel.pid)
        try:
            with theirs:
                yield from checkpoint.channel.send(
                    m.Thaw(branch, workspace, self._lost_names()), (theirs.fileno(), *fds)
                )
            ready = yield from channel.receive(monotonic() + THAW_SECONDS)
        except (Gone, ProtocolError):
            ready = None
        except BaseException:
            channel.kill()
            channel.close()
            raise
        if not isinstance(ready, m.Ready):
            channel.kill()
            channel.close()
            return None
        return channel, ready

    def _lost_names(self) -> list[str]:
        """Names that the steps since the restored state seem to bind: a NameError about one of them can say why it
        is gone.
        """
        source = self._sources.get(f"<step {self.step}>", "")[:LOST_SOURCE]
        return list(dict.fromkeys(found for match in _BINDS.findall(source) for found in match if found))[:NAMES_LOST]

    def checkpoint(self, name: str) -> Core[None]:
        """Keep the state as it is now under `name`."""
        if not isinstance(name, str) or not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
            raise CheckpointError(
                f"a checkpoint needs a name: a str of 1 to {NAME_LENGTH} characters, none of them a control character"
            )
        if _AUTOMATIC_NAME.fullmatch(name):
            raise CheckpointError(f"{name!r} is what automatic checkpoints are called: choose another name")
        with (yield from self._turn()):
            self.checkpoints.room_for(name)
            checkpoint = yield from self._freeze()
            checkpoint.name = name
            self.checkpoints.add(name, checkpoint)

    def settle(self) -> Core[None]:
        """At rest: make the newest checkpoint anew, so that it and the running process share what both hold.

        An automatic checkpoint is made before the process rehearses its next step; from then on each has a copy of its
        own of every page that the rehearsal writes (1.3 MB for each). The next step copies its pages again (1.4 ms).
        """
        self.settled = self.used
        newest = self.checkpoints.automatic[-1] if self.checkpoints.automatic else None
        runner = self._runner
        if runner is None or self._unfinished or not runner.at_rest:
            return  # the next user puts it in order
        if newest is None or newest.step != self.reached or newest.pid() is None:
            return
        try:
            checkpoint = yield from self._freeze(PARK_SECONDS, renews=True)
        except CheckpointError as error:
            # The checkpoint that is there does. But if it was needed, because the process has died, that must be told.
            if self._runner is not runner:
                self._told_next.append(f"between its steps {error}")
            return
        self.checkpoints.renew(checkpoint)

    def _freeze(self, seconds: float | None = None, *, renews: bool = False) -> Core[Checkpoint]:
        runner = yield from self._living_runner()
        parent = living(self._origin)
        if len(above := ancestors(parent)) >= MAX_GENERATIONS:
            raise CheckpointError(
                f"this state lies {len(above)} restores and branches deep, each on a checkpoint that still lives "
                f"({', '.join(checkpoint.label for checkpoint in above)}); drop one that has a name, or close sessions "
                "that lie between"
            )
        if not renews:
            self._make_room()
        try:
            snapshot = self.workspace.snapshot() if self.workspace is not None else None
        except WorkspaceError as error:
            raise CheckpointError(f"no checkpoint could be made: {error}") from None
        ours, theirs = new_lane()
        checkpoint = Checkpoint(
            ours,
            self.reached,
            out=self._out,
            parent=parent,
            tool_calls=len(self.tool_records),
            snapshot=snapshot,
        )
        self.sandbox.gate.announce(runner.pid)
        try:
            try:
                with theirs:
                    yield from runner.send(m.Freeze(renews), (theirs.fileno(),))
                answer = yield from self._answer(runner, m.Done, seconds)
                self.sandbox.gate.withdraw(runner.pid)
            except (Gone, ProtocolError) as error:
                yield from self._stop(runner)
                self._told_next += yield from self._restore()
                raise CheckpointError(
                    f"the process died while the checkpoint was made ({error}); the session was restored"
                ) from None
            if answer.problem or not (yield from checkpoint.parked(monotonic() + PARK_SECONDS)):
                raise CheckpointError(f"no checkpoint could be made: {answer.problem or 'the copy died'}")
        except BaseException:
            checkpoint.release()
            raise
        return checkpoint

    def _make_room(self) -> None:
        """Keep the checkpoints within `limits.checkpoint_memory_mb`: automatic ones go first, the oldest of them
        before.
        """
        limit = self.policy.limits.checkpoint_memory_mb
        held = [(c, pid) for c in self.checkpoints.living() if (pid := c.pid()) is not None]
        # What is resident bounds what is their own, and costs 10 us to read; the exact figure costs 2 ms per 100 MB.
        if sum(processes.private_memory(pid) for _, pid in held) >> 20 <= limit:
            return
        rows = [(c, own_bytes(pid)) for c, pid in held]
        total = sum(size for _, size in rows) >> 20
        for checkpoint, size in rows:
            if total <= limit:
                return
            if checkpoint in self.checkpoints.automatic[:-1]:
                self.checkpoints.automatic.remove(checkpoint)
                checkpoint.release()
                total -= size >> 20
        if total > limit:
            raise CheckpointError(
                f"the checkpoints of this session hold {total} MiB; limits.checkpoint_memory_mb is {limit}. "
                f"Drop one first: {', '.join(self.checkpoints.named) or 'none has a name'}"
            )

    def rollback(self, name: str | None) -> Core[list[ToolCallRecord]]:
        """Go back to a named checkpoint, or to before the last step. Returns the tool calls that cannot be undone."""
        with (yield from self._turn()):
            target = self.checkpoints.find(name) if name is not None else self._before_last_step()
            since = list(self.tool_records.since(target.tool_calls if target is not None else 0))
            if target is not None and not (yield from target.parked(monotonic() + PARK_SECONDS)):
                raise CheckpointError(
                    NO_LONGER_KEPT if name is None else f"the checkpoint {name!r} is gone (its process was killed)"
                )
            if self._runner is not None:
                yield from self._stop(self._runner)
            if target is None:
                yield from self._start_over()
                return since
            # Before the last step it had the files that the host has put there since; by its name, those that it had.
            files = self.checkpoints.base_files if name is None and target is self.checkpoints.base else None
            carried = yield from self._thaw_into_self(target, files)
            if carried is None:
                self._told_next += yield from self._restore()
                raise CheckpointError(
                    f"the checkpoint {target.label!r} died while it was thawed; the session was restored"
                )
            self.checkpoints.base_files = files
            self._told_next += carried
            return since

    def _before_last_step(self) -> Checkpoint | None:
        """The state before the last step that is part of the session. None: the state before the first one."""
        if self.reached == 0:
            raise CheckpointError("no step is part of this state: there is nothing to roll back")
        if self.policy.checkpoints == "off":
            raise CheckpointError("checkpoints are off in this session: roll back to a named checkpoint")
        target = next((c for c in self.checkpoints.newest_first() if c.step < self.reached), None)
        if target is None and self.reached > 1:
            raise CheckpointError(NO_LONGER_KEPT)
        return target

    def branch(self, count: int) -> Core[list[Self]]:
        """`count` new sessions that go on from the state as it is now."""
        limit = self.policy.limits.branches
        assert self._lineage is not None
        if not isinstance(count, int) or count < 1:
            raise ValueError("a session branches into at least one")
        if len(self._lineage.sessions) - 1 + count > limit:
            raise CheckpointError(
                f"{len(self._lineage.sessions) - 1} branches of this session are open; limits.branches allows {limit}"
            )
        with (yield from self._turn()):
            checkpoint = yield from self._freeze()
            branches: list[Self] = []
            try:
                while len(branches) < count:
                    branches.append((yield from self._branch_from(checkpoint)))
            except BaseException:
                for branch in branches:
                    yield from branch.close()
                raise
            finally:
                checkpoint.release()
            return branches

    def _branch_from(self, checkpoint: Checkpoint) -> Core[Self]:
        branch = type(self)(self.sandbox, self.policy)
        try:
            if self.workspace is not None:
                branch.workspace = self.workspace.branch(checkpoint.snapshot)
            thawed = yield from self._thaw(
                checkpoint,
                branch=True,
                workspace=branch.workspace.path if branch.workspace is not None else None,
                fds=(branch._out.fd, branch._err.fd),
            )
            if thawed is None:
                raise CheckpointError("the checkpoint died while it was branched")
            branch._adopt(thawed[0], checkpoint)
            branch._memory_base = self._memory_base
            branch._lineage = self._lineage
            assert self._lineage is not None
            self._lineage.sessions.add(branch)
            branch._begin_group(thawed[0])
            branch.mechanisms = self.mechanisms
            branch.checkpoints.thawed_from(checkpoint)
            branch.step, branch.reached, branch._empty = self.step, self.reached, self._empty
            branch.tool_records = self.tool_records.copy()
            branch._told_next = list(thawed[1].notes)
            branch.label = self.label
            branch._sources = self._sources.copy()
            self.sandbox.session_opened(branch)
        except BaseException:
            yield from branch.close()
            raise
        return branch

    def checkpoint_rows(self) -> list[CheckpointInfo]:
        return self.checkpoints.rows()

    def drop(self, name: str) -> None:
        """Give up a named checkpoint."""
        with self._use():
            self.checkpoints.drop(name)
