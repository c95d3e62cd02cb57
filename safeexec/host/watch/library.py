"""Whether a step had to wait for the zygote, which does not count as its time.

Children without files import their late parts from an image that the zygote fills when somebody asks (`zygote.image`).
On a busy machine that takes longer than a short limit of time.
"""

from __future__ import annotations

import fcntl
import os
import select
from contextlib import suppress
from time import monotonic, time

MOST_SECONDS = 10.0
"""How long the clock of steps stands still for it, once in the life of a sandbox: guest code can ask as well."""


class LateLibrary:
    """The image and its bell, the host's descriptors of both; -1 where a sandbox has none."""

    __slots__ = ("_asked", "_bell", "_filled", "_image")

    def __init__(self, image: int, bell: int) -> None:
        self._image = image
        self._bell = bell
        self._asked: float | None = None
        """When the host first saw that somebody had asked."""
        self._filled: float | None = None
        """When the image that was asked for was complete."""

    def clock_begins(self, started: float) -> float:
        """When the clock begins for a step that began at `started`: then, or when the image was complete that it may
        have waited for; as long as that is not complete, now. Monotonic seconds.
        """
        if self._filled is None and self._image >= 0 and self._has_been_asked():
            now = monotonic()
            if fcntl.fcntl(self._image, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE:
                # Its length was set last, and is never changed again.
                self._filled = now - max(0.0, time() - os.fstat(self._image).st_mtime)
            else:
                self._asked = now if self._asked is None else self._asked
                return now if now < self._asked + MOST_SECONDS else started
        return started if self._filled is None else max(started, self._filled)

    def _has_been_asked(self) -> bool:
        """The bell stays as it is: nobody takes anything from it."""
        poller = select.poll()
        poller.register(self._bell, select.POLLIN)
        return bool(poller.poll(0))

    def close(self) -> None:
        """Give both up. Harmless when they are."""
        for fd in (self._image, self._bell):
            if fd >= 0:
                with suppress(OSError):
                    os.close(fd)
        self._image = self._bell = -1


NO_LIBRARY = LateLibrary(-1, -1)
"""For a sandbox whose children read files, or that is not open."""
