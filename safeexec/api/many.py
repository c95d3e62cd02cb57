"""Many programs at once: a bounded number of workers and of results that wait, in order or as they come."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Protocol, Unpack

    from safeexec.api.options import Program, RunOptions
    from safeexec.results import Result

    class Runs(Protocol):
        """A session, as the worker that runs one program in it sees it."""

        def run(self, source: str, **options: Unpack[RunOptions]) -> Result: ...
        def cancel(self) -> bool: ...

    OpenSession = Callable[[], AbstractContextManager[Runs]]

STOP_SECONDS = 0.05
"""Time between attempts to stop programs that nobody waits for: a session that just opens cannot be stopped yet."""


def workers_for(workers: int | None, max_sessions: int | None) -> int:
    """Return how many workers to have: as asked, else one per core that this process may use; no more than may have a
    session, as those would wait for one another.
    """
    if workers is None:
        if sys.platform == "linux":
            workers = len(os.sched_getaffinity(0))
        else:
            workers = os.cpu_count() or 1
    if workers < 1:
        raise ValueError(f"workers={workers}: at least one")
    return workers if max_sessions is None else min(workers, max_sessions)


def parts_of(program: str | Program, timeout: float | None) -> tuple[str, RunOptions]:
    """Return the source of a program, and how it is run. Raises TypeError for a dict of anything else."""
    if isinstance(program, str):
        return program, {"timeout": timeout}
    if not isinstance(program, Mapping):
        raise TypeError(f"a program is a str, or a dict of source, stdin and argv, not {type(program).__name__}")
    if "source" not in program or not program.keys() <= _PARTS:
        raise TypeError(
            f"a program is a str, or a dict of source, stdin and argv, not of {', '.join(program) or 'nothing'}"
        )
    return program["source"], {"timeout": timeout, "stdin": program.get("stdin"), "argv": program.get("argv")}


_PARTS = {"source", "stdin", "argv"}


def each_of(programs: Iterable[str | Program]) -> Iterable[str | Program]:
    """Return the programs. Raises TypeError for a single one: a text would be run letter by letter."""
    if isinstance(programs, str | Mapping):
        raise TypeError("map takes a list of programs, not one: [program]; `Sandbox.run` runs one")
    return programs


class Workers:
    """Threads that run programs, each in a session of its own. At most twice as many programs as there are threads are
    under way or wait. When the caller leaves the iteration, by an exception, Ctrl-C or `close`, those that run are
    stopped.
    """

    def __init__(self, open_session: OpenSession, workers: int, timeout: float | None) -> None:
        self._open_session = open_session
        self._timeout = timeout
        self._ahead = 2 * workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="safeexec-map")
        self._futures: set[Future[Result]] = set()
        self._sessions: set[Runs] = set()

    def in_order(self, programs: Iterable[str | Program]) -> Iterator[Result]:
        """Yield the results of all programs, in their order."""
        for _, result in self._results(programs, lambda running: running[:1]):
            yield result

    def as_completed(self, programs: Iterable[str | Program]) -> Iterator[tuple[int, Result]]:
        """Yield number and result of each program, as they come."""
        return self._results(programs, lambda running: wait(running, return_when=FIRST_COMPLETED).done)

    def _results(
        self, programs: Iterable[str | Program], next_of: Callable[[list[Future[Result]]], Iterable[Future[Result]]]
    ) -> Iterator[tuple[int, Result]]:
        rest = enumerate(each_of(programs))
        with self:
            running = {self._submit(program): number for number, program in islice(rest, self._ahead)}
            while running:
                for future in next_of(list(running)):
                    result = future.result()  # or what opening its session raised
                    self._futures.discard(future)
                    number = running.pop(future)
                    running.update((self._submit(program), more) for more, program in islice(rest, 1))
                    yield number, result

    def _submit(self, program: str | Program) -> Future[Result]:
        future = self._pool.submit(self._run, program)
        self._futures.add(future)
        return future

    def _run(self, program: str | Program) -> Result:
        with self._open_session() as session:
            self._sessions.add(session)
            try:
                source, options = parts_of(program, self._timeout)
                return session.run(source, **options)
            finally:
                self._sessions.discard(session)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._futures:
            future.cancel()
        while running := [future for future in self._futures if not future.done()]:
            for session in list(self._sessions):
                session.cancel()
            wait(running, STOP_SECONDS)
        self._pool.shutdown()
