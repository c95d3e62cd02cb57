"""Closes sessions that nobody has used for a while. One thread per sandbox that asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from safeexec.host.waiting import Core, drive

Close = Callable[[float], Core[None]]
"""Closes the sessions of a sandbox that nobody has used for so many seconds."""


class IdleCloser:
    """Looks four times per idle time at every session of a sandbox."""

    def __init__(self, close_idle: Close, seconds: float) -> None:
        self._close_idle = close_idle
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="safeexec-idle", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(self._seconds / 4):
            drive(self._close_idle(self._seconds))

    def close(self) -> None:
        """End the thread. Harmless from the thread itself."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
