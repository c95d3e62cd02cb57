"""Closes sessions that nobody has used for a while. One thread per sandbox that asks for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from safeexec.host.waiting import drive

if TYPE_CHECKING:
    from safeexec.host.sandbox import SandboxCore


class IdleCloser:
    """Looks four times per idle time at every session of a sandbox."""

    def __init__(self, sandbox: SandboxCore, seconds: float) -> None:
        self._sandbox = sandbox
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="safeexec-idle", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(self._seconds / 4):
            drive(self._sandbox.close_idle(self._seconds))

    def close(self) -> None:
        """End the thread. Harmless from the thread itself."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
