"""Threads of guest code, counted: one more than `limits.threads` is refused as the kernel refuses one.

The kernel's own count (RLIMIT_NPROC) holds a broken-out guest, and has room for the session's checkpoints as well.
Whatever starts a thread in Python (`threading`, pools, `asyncio.to_thread`) calls one of the functions of `_thread`
that are replaced here.
"""

from __future__ import annotations

import _thread
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from safeexec.engine.child.on_import import after_import
from safeexec.engine.child.step import violations

_STARTERS = ("start_new_thread", "start_new", "start_joinable_thread")
_COPIES = {"start_new_thread": "_start_new_thread", "start_joinable_thread": "_start_joinable_thread"}
"""Their names in `threading`; the second is of 3.13."""


class Threads:
    """Counts those that run, and refuses one more than may."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._running = 0
        self.started = False
        """True if any ran since `ran` was asked last."""
        self._lock = _thread.allocate_lock()

    def install(self) -> None:
        """Count from now on. In the zygote: its children inherit it, each with a count of its own."""
        threading: Any = sys.modules.get("threading")
        for name in _STARTERS:
            if hasattr(_thread, name):
                counted = self._counted(getattr(_thread, name))
                setattr(_thread, name, counted)
                if threading is not None and name in _COPIES:
                    setattr(threading, _COPIES[name], counted)
        after_import("concurrent.futures.thread", self._size_pools)

    def _size_pools(self) -> None:
        """Let a pool without a size take what may run, less one: asyncio ends its pool by a thread more.

        Python's own choice, the number of processors and four, is beyond the limit on a large machine.
        """
        from concurrent.futures.thread import ThreadPoolExecutor  # the package is still importing it

        initialize: Any = ThreadPoolExecutor.__init__

        @functools.wraps(initialize)
        def __init__(pool: Any, max_workers: int | None = None, *args: Any, **options: Any) -> None:
            if max_workers is None:
                max_workers = max(1, min(32, (os.cpu_count() or 1) + 4, self.limit - 1))
            initialize(pool, max_workers, *args, **options)

        ThreadPoolExecutor.__init__ = __init__  # type: ignore[method-assign, assignment]

    def _counted(self, start: Callable[..., Any]) -> Callable[..., Any]:
        def start_thread(function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
            def run(*args: Any, **kwargs: Any) -> None:
                try:
                    function(*args, **kwargs)
                finally:
                    self._end()

            with self._lock:
                if self._running >= self.limit:
                    raise self._refusal()
                self._running += 1
                self.started = True
            try:
                return start(run, *args, **options)
            except BaseException:
                self._end()
                raise

        return start_thread

    def ran(self) -> bool:
        """Return whether any ran since this was asked last."""
        ran, self.started = self.started, self._running > 0
        return ran

    def _end(self) -> None:
        with self._lock:
            self._running -= 1

    def _refusal(self) -> RuntimeError:
        error: Any = RuntimeError("can't start new thread")
        error.rule = violations.rule_of("threads")
        error.hint = (
            f"limits.threads is {self.limit} here ({error.rule}), and that many are running: `join()` some before you "
            f"start more, or use `ThreadPoolExecutor(max_workers={self.limit})`."
            if self.limit
            else f"limits.threads is 0 here ({error.rule}): call the functions one after the other."
        )
        return error  # type: ignore[no-any-return]
