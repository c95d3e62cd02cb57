"""Checkpoints as the child makes them: a fork that parks on a lane of its own, and thaws into a runner when the host
asks.

The runner, which goes on, forks the checkpoint; the other way round makes fork slower with every step (60 ms at depth
120). Automatic checkpoints are dropped by the runner, two generations back, before it forks the next one: the last one
but one is what `rollback()` needs, the last one is what a kill needs.
"""

from __future__ import annotations

import gc
import os
import resource
import select
from collections.abc import Callable
from typing import NamedTuple

from safeexec.child.process.link import Link, packed
from safeexec.child.process.open_files import OpenFiles
from safeexec.linux.fork import fork
from safeexec.protocol import messages as m

KEPT_AUTOMATIC = 2
DROP = b"d"
PARKED = b"p"
HANDSHAKE_SECONDS = 5.0
SETTLE_KB = 16 << 10


class Leash:
    """The runner's hold on one automatic checkpoint: a pipe to tell it to go, a pipe that says that it parked or
    went.
    """

    __slots__ = ("_down", "_up")

    def __init__(self, down: int, up: int) -> None:
        self._down = down
        self._up = up

    def parked(self) -> bool:
        """Wait until the checkpoint has parked. False if it died first."""
        ready, _, _ = select.select([self._up], [], [], HANDSHAKE_SECONDS)
        return bool(ready) and os.read(self._up, 1) == PARKED

    def drop(self, *, wait: bool) -> None:
        """Tell the checkpoint to go, and with `wait` stay until the kernel says that it has gone."""
        try:
            os.write(self._down, DROP)
        except BrokenPipeError:
            wait = False
        if wait:
            select.select([self._up], [], [], HANDSHAKE_SECONDS)
        os.close(self._down)
        os.close(self._up)

    def descriptors(self) -> tuple[int, int]:
        """What a copy of the runner must close: the hold is the runner's alone."""
        return self._down, self._up

    def forget(self) -> None:
        """Let go without telling the checkpoint: it stays until the host drops it."""
        os.close(self._down)
        os.close(self._up)


class Thawed(NamedTuple):
    """What a runner that was thawed from a checkpoint wakes up with."""

    link: Link
    request: m.Thaw
    notes: list[str]


class Checkpoints:
    """Makes checkpoints of this process and, in the copies, waits to be thawed."""

    def __init__(self) -> None:
        self.workspace: str | None = None
        """The session's directory, where the guest can have files open."""
        self._automatic: list[tuple[int, Leash]] = []
        # What came from the zygote is frozen there: to look through it again would copy all of it (130 MB with pandas).
        self._settled_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def freeze(
        self,
        lane: int,
        step: int,
        link: Link,
        *,
        automatic: bool,
        hurry: Callable[[], bool],
        renews: bool = False,
        keep: int = KEPT_AUTOMATIC,
    ) -> Thawed | None:
        """Fork a checkpoint of this process onto `lane`. None in this process; a `Thawed` in a runner thawed from the
        copy.

        Raises OSError when the kernel refuses the fork; the lane is the caller's to close then. `hurry` says whether
        the host already waits. Of the automatic checkpoints `keep` live on, the new one included. `renews`: it is one
        from now on, in the place of that of the same step, which the host drops when it has the new one.
        """
        if automatic:
            self._make_room(step, hurry, keep)
        self._settle_heap()
        others = link.descriptors()
        for _, leash in self._automatic:
            others += leash.descriptors()
        files = OpenFiles(self.workspace, {lane, *others}) if self.workspace is not None else None
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        # What the copy needs is made here: it copies every page that it writes, and keeps it as long as it is parked.
        others += [down_write, up_read]
        parked = packed(m.Parked(step))
        poller = select.poll()
        poller.register(lane, select.POLLIN)
        poller.register(down_read, select.POLLIN)
        try:
            pid = fork()
        except OSError:
            for fd in (down_read, down_write, up_read, up_write):
                os.close(fd)
            raise
        if pid == 0:
            try:
                for fd in others:
                    os.close(fd)
                os.write(lane, parked)
                os.write(up_write, PARKED)
                runner, request = _wait(poller, lane, down_read, up_write)
                link.socket.detach()  # its descriptor was closed above, and the number may be another's by now
                self._automatic.clear()
                if request.branch:
                    _take_output(runner)
                if request.workspace is not None:
                    self.workspace = os.environ["HOME"] = os.environ["TMPDIR"] = request.workspace
                notes = files.restore(self.workspace) if files is not None and self.workspace is not None else []
                return Thawed(runner, request, notes)
            except BaseException:
                # A copy that cannot park or wake must not go on as a second runner.
                os._exit(71)
        os.close(down_read)
        os.close(up_write)
        leash = Leash(down_write, up_read)
        if not leash.parked():
            leash.forget()
            raise OSError("the checkpoint died before it parked")
        os.close(lane)
        if automatic or renews:
            replaced = self._automatic.pop()[1] if self._automatic and self._automatic[-1][0] == step else None
            self._automatic.append((step, leash))
            if replaced is not None and renews:
                replaced.forget()
            elif replaced is not None:
                replaced.drop(wait=not hurry())
        else:
            leash.forget()
        return None

    def _make_room(self, step: int, hurry: Callable[[], bool], keep: int) -> None:
        """Drop the checkpoint two steps back. One of the same step is replaced, but only when the new one has
        parked.
        """
        older = [entry for entry in self._automatic if entry[0] != step]
        while len(older) >= keep:
            entry = older.pop(0)
            self._automatic.remove(entry)
            entry[1].drop(wait=not hurry())

    def _settle_heap(self) -> None:
        """Keep the collector off what exists now, so that it copies no page that both processes share.

        A frozen object is never collected, so everything is looked through again each time the process has grown by
        half. (`gc.get_freeze_count` would be the better measure, but it walks the list: 10 ms for a million objects.)
        """
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if peak_kb > self._settled_kb + (self._settled_kb >> 1) + SETTLE_KB:
            gc.unfreeze()
            gc.collect()
            self._settled_kb = peak_kb
        else:
            gc.collect(1)
        gc.freeze()


def prepare() -> None:
    """Call, in the zygote, what checkpoints call: the dynamic linker looks a function up once and not in every copy."""
    read, write = os.pipe()
    poller = select.poll()
    poller.register(read, select.POLLIN)
    poller.poll(0)
    os.write(write, PARKED)
    select.select([read], [], [], 0)
    os.read(read, 1)
    for fd in (read, write):
        os.close(fd)


def _wait(poller: select.poll, lane_fd: int, down: int, up: int) -> tuple[Link, m.Thaw]:
    """Stay parked. Returns only in a freshly forked runner; the checkpoint itself never leaves."""
    lane: Link | None = None
    while True:
        ready = dict(poller.poll())
        if down in ready:
            # Only an explicit word ends a checkpoint. The end of the pipe is the runner's death, and that is exactly
            # what a checkpoint is for.
            if ready[down] & select.POLLIN and os.read(down, 1) == DROP:
                os._exit(0)
            poller.unregister(down)
        if lane_fd in ready:
            lane = lane or Link(lane_fd)
            request = lane.receive()
            if fork() == 0:
                fds, lane.fds = lane.fds, []
                lane.close()
                os.close(down)
                os.close(up)
                runner = Link(fds.pop(0))
                runner.fds = fds
                return runner, request
            while (fd := lane.take_fd()) is not None:
                os.close(fd)


def _take_output(runner: Link) -> None:
    """A branch is a session of its own, with its own stdout and stderr."""
    for target in (1, 2):
        fd = runner.take_fd()
        if fd is not None:
            os.dup2(fd, target)
            os.close(fd)
