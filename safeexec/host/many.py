"""Many programs at once: a bounded number of workers, a bounded number of results that wait, in order or as they
come.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safeexec.results import Result

Run = Callable[[str], "Result"]


def workers_for(workers: int | None) -> int:
    """How many workers to have: as asked, else one per core that this process may use."""
    if workers is None:
        return len(os.sched_getaffinity(0))
    if workers < 1:
        raise ValueError(f"workers={workers}: at least one")
    return workers


def in_order(run: Run, programs: Iterable[str], workers: int) -> Iterator[Result]:
    """The results of all programs, in their order. At most twice as many as there are workers are under way or wait."""
    waiting: deque[Future[Result]] = deque()
    rest = iter(programs)
    with _pool(workers) as pool:
        try:
            waiting.extend(pool.submit(run, program) for program in islice(rest, 2 * workers))
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(run, program) for program in islice(rest, 1))
                yield result
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def as_completed(run: Run, programs: Iterable[str], workers: int) -> Iterator[tuple[int, Result]]:
    """Number and result of each program, as they come."""
    waiting: dict[Future[Result], int] = {}
    rest = enumerate(programs)
    with _pool(workers) as pool:
        try:
            waiting.update((pool.submit(run, program), number) for number, program in islice(rest, 2 * workers))
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    number = waiting.pop(future)
                    waiting.update((pool.submit(run, program), more) for more, program in islice(rest, 1))
                    yield number, future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="safeexec-map")
