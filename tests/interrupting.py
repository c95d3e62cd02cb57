"""Signals that arrive. Python acts on one between two byte codes, and a system call that waits is ended by one that
comes during the call: one in between interrupts nothing. So what sends a signal here sends it until it was acted on.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

AGAIN_SECONDS = 10.0
"""After this long a program that was told to end is told again. Soon enough for a test, too late to disturb the end."""


@contextmanager
def interrupting(begun: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C once in the main thread, which runs the body, as soon as `begun` has returned (in another thread)."""
    over = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if not over.is_set():
            over.set()
            raise KeyboardInterrupt

    def send() -> None:
        begun()
        while not over.is_set():
            signal.pthread_kill(main, signal.SIGINT)
            over.wait(0.02)

    before = signal.signal(signal.SIGINT, interrupt)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


def ended_by(number: int, process: subprocess.Popen[Any], seconds: float = 60.0) -> int:
    """The status with which `process` ends by signal `number`. Raises `subprocess.TimeoutExpired`."""
    for _ in range(int(seconds / AGAIN_SECONDS)):
        process.send_signal(number)
        try:
            return process.wait(AGAIN_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    return process.wait(AGAIN_SECONDS)
