"""Checkpoints as the child makes them: a fork that freezes on its own control socket, and from which a runner goes on
when the host asks.

The runner, which goes on, forks the checkpoint; the other way round makes fork slower with every step (60 ms at depth
120). Which checkpoints live is the host's to say: it closes the control socket of one that nothing leads to any more.
"""

from __future__ import annotations

from safeexec.common.own import contextlib, gc, os, resource, select
from safeexec.engine.child.link import Link
from safeexec.engine.child.process.open_files import OpenFiles
from safeexec.engine.child.step import violations
from safeexec.engine.child.step.output import Streams
from safeexec.engine.linux import landlock
from safeexec.engine.linux.fork import fork
from safeexec.engine.linux.libc import make
from safeexec.protocol import messages as m

FROZEN = b"p"
"""The byte by which the copy reports to the runner, through a pipe, that it is frozen."""
HANDSHAKE_SECONDS = 5.0
"""Time that the runner waits for that."""
COMPACT_KB = 16 << 10
"""Growth, beside half of its size, after which the heap is looked through anew."""


class Checkpoints:
    """Makes checkpoints of this process and, in the copies, waits to be resumed."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self.workspace: str | None = None
        """The session's directory, where the guest can have files open."""
        # What came from the zygote is frozen there: to look through it again would copy all of it (130 MB with pandas).
        self._compacted_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def freeze(self, control: int, step: int, link: Link, leave: int | None = None) -> tuple[m.Wake, list[str]] | None:
        """Fork a checkpoint of this process onto `control`. None in this process; in a runner resumed from the copy
        its command, and notes about what could not be carried over. `leave` is the control socket of another one to
        come, which is not the copy's.

        Raises OSError when the kernel refuses the fork; the control socket is the caller's to close then.
        """
        self._compact_heap()
        files = (
            OpenFiles(self.workspace, {control, -1 if leave is None else leave, link.fileno(), *link.fds})
            if self.workspace is not None
            else None
        )
        read, write = os.pipe()
        # What the copy needs is made here: it copies every page that it writes, and keeps it as long as it is frozen.
        frozen = link.packed(m.Frozen(step))
        poller = select.poll()
        poller.register(link.fileno(), select.POLLIN)
        try:
            pid = fork()
        except (OSError, MemoryError):
            os.close(read)
            os.close(write)
            raise
        if pid == 0:
            try:
                # A copy that kept the sockets of the original would hand them on to all that go on from it.
                link.become(control)
                link.drop_fds()
                if leave is not None:
                    os.close(leave)
                os.close(read)
                os.write(link.fileno(), frozen)
                with contextlib.suppress(BrokenPipeError):  # the host has ended the runner: it knows of the copy
                    os.write(write, FROZEN)
                os.close(write)
                request = _wait(poller, link)
                if request.branch:
                    _take_output(link, self._streams)
                if request.layered:
                    _enter_layer(link, request.workspace)
                if request.workspace is not None:
                    self.workspace = os.environ["HOME"] = os.environ["TMPDIR"] = request.workspace
                notes = files.restore(self.workspace) if files is not None and self.workspace is not None else []
                return request, notes
            except BaseException:
                # A copy that cannot freeze or wake must not go on as a second runner.
                os._exit(71)
        os.close(write)
        # Wait for it: until it is frozen it copies the pages that it touches, and nothing else runs meanwhile.
        ready, _, _ = select.select([read], [], [], HANDSHAKE_SECONDS)
        is_frozen = bool(ready) and os.read(read, 1) == FROZEN
        os.close(read)
        if not is_frozen:
            raise OSError("the checkpoint died before it was frozen")
        os.close(control)  # the copy alone has it from here on: its end shows the host the copy's
        return None

    def _compact_heap(self) -> None:
        """Keep the collector off what exists now, so that it copies no page that both processes share.

        A frozen object is never collected, so everything is looked through again each time the process has grown by
        half. (`gc.get_freeze_count` would be the better measure, but it walks the list: 10 ms for a million objects.)
        """
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if peak_kb > self._compacted_kb + (self._compacted_kb >> 1) + COMPACT_KB:
            gc.unfreeze()
            gc.collect()
            self._compacted_kb = peak_kb
        else:
            gc.collect(1)
        gc.freeze()


def _wait(poller: select.poll, link: Link) -> m.Wake:
    """Stay frozen. Returns only in a freshly forked runner; the checkpoint itself never leaves."""
    while True:
        for _, event in poller.poll():
            if event & select.POLLHUP:
                os._exit(0)  # the host has closed the control socket: nothing leads here any more
        link.receive()
        try:
            is_runner = fork() == 0
        except OSError:  # no process or memory to be had now; the end of the socket, which is dropped, shows the host
            is_runner = False
        if is_runner:
            link.become(link.fds.pop(0))
            request: m.Wake = link.receive()
            return request
        link.drop_fds()


def _enter_layer(link: Link, workspace: str | None) -> None:
    """Give a branch files of its own, and from here on no others. Raises OSError."""
    layer = link.take_fd()
    assert layer is not None and workspace is not None
    make([landlock.restricting_self(layer)])
    os.close(layer)
    violations.known.workspace = os.path.dirname(workspace)


def _take_output(link: Link, streams: Streams) -> None:
    """Give a branch, which is a session of its own, its own stdout and stderr."""
    for act, target in ((streams.log.share, 1), (None, 1), (None, 2)):
        fd = link.take_fd()
        if fd is not None:
            os.dup2(fd, target)
            os.close(fd)
            if act is not None:
                act()
