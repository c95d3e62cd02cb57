"""`timeit` for callables: the real one compiles text."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from itertools import repeat as _times
from typing import Any

_Code = Callable[[], Any] | str


def _callable(code: _Code, what: str) -> Callable[[], Any]:
    if code == "pass":
        return lambda: None
    if not callable(code):
        raise TypeError(f"{what} given as text is refused: pass a function, for example timeit(lambda: ...)")
    return code


class Timer:
    """`timeit.Timer` for functions."""

    def __init__(
        self,
        stmt: _Code = "pass",
        setup: _Code = "pass",
        timer: Callable[[], float] = time.perf_counter,
        globals: object = None,
    ) -> None:
        self._stmt = _callable(stmt, "stmt")
        self._setup = _callable(setup, "setup")
        self._timer = timer

    def timeit(self, number: int = 1_000_000) -> float:
        """Seconds that `number` calls take, with the garbage collector off as in the real one."""
        self._setup()
        statement, timer, collecting = self._stmt, self._timer, gc.isenabled()
        gc.disable()
        try:
            start = timer()
            for _ in _times(None, number):
                statement()
            return timer() - start
        finally:
            if collecting:
                gc.enable()

    def repeat(self, repeat: int = 5, number: int = 1_000_000) -> list[float]:
        """`timeit` so many times."""
        return [self.timeit(number) for _ in range(repeat)]

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> tuple[int, float]:
        """The first number of 1, 2, 5, 10, 20, 50 … calls that takes 0.2 seconds, and what it took."""
        scale = 1
        while True:
            for digit in 1, 2, 5:
                number = scale * digit
                taken = self.timeit(number)
                if callback:
                    callback(number, taken)
                if taken >= 0.2:
                    return number, taken
            scale *= 10


def timeit(
    stmt: _Code = "pass",
    setup: _Code = "pass",
    timer: Callable[[], float] = time.perf_counter,
    number: int = 1_000_000,
    globals: object = None,
) -> float:
    """`timeit.timeit` for functions."""
    return Timer(stmt, setup, timer).timeit(number)


def repeat(
    stmt: _Code = "pass",
    setup: _Code = "pass",
    timer: Callable[[], float] = time.perf_counter,
    repeat: int = 5,
    number: int = 1_000_000,
    globals: object = None,
) -> list[float]:
    """`timeit.repeat` for functions."""
    return Timer(stmt, setup, timer).repeat(repeat, number)


REPLACEMENTS: dict[str, Any] = {"timeit.Timer": Timer, "timeit.timeit": timeit, "timeit.repeat": repeat}
