"""A session in memory, with branches, limits and failures: for searches of which every exit is tried."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

from safeexec import Changes, CheckpointError, ErrorInfo, Result, SessionClosed


class World:
    """What the sessions of one test share: how many are open, what is called, and what goes wrong when."""

    def __init__(self, branches: int = 32, **variables: Any) -> None:
        """With `variables` there is a session that has them."""
        self.limit = branches
        self.open: set[ModelSession] = set()
        self.calls = 0
        self.before: Callable[[str], None] = lambda name: None
        self.lock = threading.RLock()
        if variables:
            self.root(**variables)

    def fail(self, at: int, act: Callable[[], object]) -> None:
        """Have this done at call number `at`."""
        self.before = lambda name: act() if self.calls == at else None

    def root(self, **variables: Any) -> ModelSession:
        return ModelSession(self, variables)

    def called(self, name: str) -> None:
        with self.lock:
            self.calls += 1
        self.before(name)


class ModelSession:
    """A session whose programs are Python, run here: they are the test's own."""

    def __init__(self, world: World, variables: dict[str, Any], depth: int = 0) -> None:
        self.world = world
        self.names = variables
        self.depth = depth
        self.closed = False
        self.programs: list[str] = []
        limits = SimpleNamespace(branches=world.limit, wall_seconds=5.0)
        self.policy = SimpleNamespace(limits=limits, checkpoints="idle")
        world.open.add(self)

    def _use(self, name: str) -> None:
        self.world.called(name)
        if self.closed:
            raise SessionClosed("the session is closed")

    def branch(self, n: int = 1, *, checkpoints: str | None = None) -> list[ModelSession]:
        self._use("branch")
        with self.world.lock:
            if len(self.world.open) - 1 + n > self.world.limit:
                raise CheckpointError(f"{n} asked for, {self.world.limit} allowed")
            if self.depth >= 8:
                raise CheckpointError("8 restores and branches deep")
            return [ModelSession(self.world, deepcopy(self.names), self.depth + 1) for _ in range(n)]

    def run(self, source: str, timeout: float | None = None) -> Result:
        self._use("run")
        self.programs.append(source)
        before = dict(self.names)
        try:
            try:
                value = eval(source, {}, self.names)
            except SyntaxError:
                value = exec(source, {}, self.names)
        except Exception as error:
            return Result(outcome="error", error=ErrorInfo(type=type(error).__name__, message=str(error)))
        changed = tuple(name for name in self.names if name in before and self.names[name] != before[name])
        created = tuple(name for name in self.names if name not in before)
        return Result(outcome="ok", value=value, changes=Changes(created, changed))

    def get(self, name: str) -> Any:
        self._use("get")
        return self.names[name]

    def rollback(self) -> None:
        self._use("rollback")

    def cancel(self) -> bool:
        return False

    def close(self) -> None:
        with self.world.lock:
            self.closed = True
            self.world.open.discard(self)
