"""The event loop of the steps that await, which stands still between them."""

from __future__ import annotations

from collections.abc import Coroutine
from types import CodeType
from typing import Any

from safeexec.engine.child.on_import import after_import


class StepLoop:
    """The event loop of a session's steps, made when a first one awaits at its top level, as cells of a notebook do.

    It stands still between steps: a task that is not done goes on with the next step that awaits, and a queue or a lock
    can be used in several. At rest it has neither a descriptor nor a thread, which no copy of the process could have
    for itself.
    """

    def __init__(self) -> None:
        self._loop: Any = None

    def prepare(self) -> None:
        """Set this as the loop on which tasks are made where none runs, as in a notebook; once asyncio is there."""
        after_import("asyncio", self._adopt)

    def _adopt(self) -> None:
        import asyncio

        self._loop = self._make()
        self._loop._close_self_pipe()
        asyncio.set_event_loop(self._loop)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a step's coroutine to its end; it raises what that raises, and RuntimeError where a loop runs."""
        loop = self._loop
        if loop is None or loop.is_closed():
            loop = self._loop = self._make()
        else:
            loop._make_self_pipe()
        try:
            return loop.run_until_complete(coroutine)
        finally:
            if not loop.is_closed():
                if (executor := loop._default_executor) is not None:
                    loop._default_executor = None
                    executor.shutdown()
                loop._close_self_pipe()

    @staticmethod
    def _make() -> Any:
        import asyncio  # for steps that await, as below
        import selectors

        # No epoll: its descriptor would be one object for all copies of the process.
        return asyncio.SelectorEventLoop(selectors.PollSelector())


async def on_the_loop(code: CodeType, namespace: dict[str, Any]) -> None:
    """Run code that awaits nothing while the loop runs: the tasks that it makes are of that loop."""
    exec(code, namespace)
