"""How long an event loop stood still, by the CPU time of its thread: what else runs on the machine does not count."""

from __future__ import annotations

import asyncio
import time
from typing import Any

TICK_SECONDS = 0.002


class LoopClock:
    """Ticks on the loop that runs. `held` is the most CPU time that its thread used between two ticks, `beside` what
    the other threads used: of long work that is done beside the loop, `held` is a small part on any machine.
    """

    def __init__(self) -> None:
        self.held = self.beside = 0.0

    async def __aenter__(self) -> LoopClock:
        self._task = asyncio.ensure_future(self._tick())
        self.beside -= time.process_time() - time.thread_time()
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: Any) -> None:
        await asyncio.sleep(2 * TICK_SECONDS)
        self.beside += time.process_time() - time.thread_time()
        self._task.cancel()

    async def _tick(self) -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            self.held = max(self.held, time.thread_time() - began)
