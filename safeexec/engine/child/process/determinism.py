"""The seeds of a child's random numbers; and randomness and clock as a policy's `determinism` fixes them: two runs of a
program print the same bytes.

What is replaced is replaced in the real modules, in the zygote, before any program runs, so that libraries and
``from time import time`` of guest code find the same. From the seed come `random` (the global generator and those that
are made without a seed), `os.urandom` and with it `secrets`, `uuid4`, `random.SystemRandom`, temporary names and
numpy's generators without a seed; numpy's global generator is seeded as ``numpy.random.seed(seed)`` does.

A clock that stands: `time.time` and what else gives the date always give the policy's instant, plus what `time.sleep`
was asked to wait. The counters (`monotonic`, `perf_counter`, `process_time`, `thread_time`) advance by one microsecond
per reading, so that a rate can be computed. Waiting itself is real: event loops, locks, queues and futures keep the
machine's clock, and so does C code that asks the kernel (``numpy.datetime64("now")``).

Object addresses: the zygote runs without address randomisation where the kernel allows it, so that sets of objects
mostly keep their order and `repr` its addresses from run to run on one machine. That is not promised: not across
machines or versions, not after a restore, and not where the kernel refuses. Neither are `os.getpid`, the path of the
workspace, the times of its files, and what threads do at the same time.
"""

from __future__ import annotations

import _random
import contextlib
import ctypes
import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from safeexec.engine.child.repeat.repeatable import external_events
from safeexec.protocol.messages import ENTROPY_BYTES

_WAITERS = ("threading", "queue", "selectors", "subprocess", "concurrent.futures._base", "asyncio.base_events")
"""Modules that wait by the clock: one that stands would let them wait for ever."""
_COUNTERS = ("monotonic", "perf_counter", "process_time", "thread_time")
_TICK_NS = 1000
_COUNTERS_START_NS = 1000 * 10**9
_ENTROPY = 1 << 64
"""Keeps the stream behind `os.urandom` apart from what `random.seed` makes of the same number."""

_MT_WORDS = 624
"""The state of a Mersenne Twister."""

_entropy = _random.Random(0)


def install(seed: int, clock: str) -> None:
    """Replace the sources of this process, once: randomness by `seed`, the clock unless `clock` is ``real``."""
    _install_randomness()
    if clock != "real":
        _install_clock(clock)
    begin(seed)


def begin(fixed: int | None) -> bytes:
    """Give every loaded generator a seed of this session's own; with `fixed`, the same one in every session. Returns
    the entropy that it came from, if any.

    The zygote forks without the hook with which `random` would have seeded itself (`linux.fork`).
    """
    if fixed is None:
        entropy = os.urandom(ENTROPY_BYTES)
        seed_all(entropy)
        return entropy
    _entropy.seed(fixed + _ENTROPY)
    random.seed(fixed)
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(fixed & 0xFFFFFFFF)
    return b""


def seed_all(entropy: bytes) -> None:
    """Seed every loaded generator: another child with the same entropy has the same numbers."""
    random.seed(entropy)
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is not None:
        # Its `seed()` makes this state of fewer bytes, which costs a child another 50 pages.
        words = memoryview(random.Random(entropy + b"numpy").randbytes(4 * _MT_WORDS)).cast("I")
        numpy.set_state(("MT19937", words, _MT_WORDS))
    sympy: Any = sys.modules.get("sympy.core.random")
    if sympy is not None:
        sympy.seed(entropy + b"sympy")


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Take nothing from the program's next random numbers meanwhile."""
    kept = _entropy.getstate()
    try:
        yield
    finally:
        _entropy.setstate(kept)


def watch_entropy() -> None:
    """Note it as an event outside of the process when a generator is seeded by the system, or takes its numbers from
    there: one of `random`, and one of numpy, which asks `secrets`, and with it `random`.
    """

    def note() -> None:
        external_events[:] = ["entropy"]

    module: Any = random
    seed_of, make, system = module.Random.seed, module.Random.__new__, module._urandom

    def urandom(size: int, /) -> bytes:
        note()
        return bytes(system(size))

    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        if a is None:
            note()
        seed_of(self, a, version)

    def new(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not args:  # CPython 3.11 has a seed by now, and a class of the program's may go on without another one
            note()
        return make(cls, *args, **kwargs)

    new.__name__, new.__qualname__, new.__module__ = "__new__", "Random.__new__", "random"
    module.Random.__new__ = new
    _replace_sources(urandom, seed)


def _install_randomness() -> None:
    entropy, seed_of = _entropy, random.Random.seed

    def urandom(size: int, /) -> bytes:
        if size < 0:
            raise ValueError("negative argument not allowed")
        return entropy.getrandbits(8 * size).to_bytes(size, "little") if size else b""

    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        seed_of(self, entropy.getrandbits(128) if a is None else a, version)

    def getrandom(size: int, flags: int = 0) -> bytes:
        return urandom(size)

    _replace(os, urandom, getrandom)
    _replace(sys.modules["posix"], urandom, getrandom)
    _replace_sources(urandom, seed)


def _replace_sources(urandom: Callable[..., bytes], seed: Callable[..., None]) -> None:
    """Have the module `random` take random bytes, and the seeds of its generators, from these functions."""
    seed.__qualname__, seed.__module__ = "Random.seed", "random"
    module: Any = random
    module._urandom = urandom
    module.Random.seed = seed
    module.seed = module._inst.seed


def _replace(module: ModuleType, *functions: Callable[..., Any]) -> None:
    """Put each function in the place of the one of its name, where there is one; it looks as if made there."""
    for function in functions:
        if hasattr(module, function.__name__):
            function.__module__, function.__qualname__ = module.__name__, function.__name__
            setattr(module, function.__name__, function)


def _install_clock(instant: str) -> None:
    real = ModuleType("time")
    vars(real).update(vars(time))
    waiters = [import_module(name) for name in _WAITERS]
    clock = _Clock(instant)
    _replace(time, *_clock_functions(clock, real))
    for module in waiters:
        if vars(module).get("time") is time:
            vars(module)["time"] = real
    _install_dates(clock)


class _Clock:
    """An instant that moves when somebody sleeps, and a counter that moves when somebody looks."""

    def __init__(self, instant: str) -> None:
        from datetime import UTC, datetime, timedelta

        moment = datetime.fromisoformat(instant)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime.fromtimestamp(0, UTC)
        self.now_ns = since // timedelta(microseconds=1) * 1000
        self._counter = _COUNTERS_START_NS

    def count_ns(self) -> int:
        self._counter += _TICK_NS
        return self._counter

    def advance(self, seconds: float) -> None:
        passed = int(seconds * 1e9)
        self.now_ns += passed
        self._counter += passed


def _clock_functions(clock: _Clock, real: Any) -> list[Callable[..., Any]]:
    """Return `time.time` and its relatives, what takes the current time where it is given none, and the counters."""
    wall = {real.CLOCK_REALTIME, getattr(real, "CLOCK_TAI", real.CLOCK_REALTIME)}

    def now() -> float:
        return clock.now_ns / 1e9

    def time_ns() -> int:
        return clock.now_ns

    def clock_gettime_ns(clk_id: int, /) -> int:
        real.clock_gettime_ns(clk_id)  # OSError for a number that is no clock
        return clock.now_ns if clk_id in wall else clock.count_ns()

    def clock_gettime(clk_id: int, /) -> float:
        return clock_gettime_ns(clk_id) / 1e9

    def at_some_time(name: str, before: int, default: Callable[[], Any]) -> Callable[..., Any]:
        function = getattr(real, name)

        def convert(*arguments: Any) -> Any:
            given = len(arguments) > before and arguments[before] is not None
            return function(*arguments) if given else function(*arguments[:before], default())

        convert.__name__ = name
        return convert

    converters = [at_some_time(name, 0, now) for name in ("localtime", "gmtime", "ctime")]
    converters += [at_some_time("asctime", 0, converters[0]), at_some_time("strftime", 1, converters[0])]

    def sleep(seconds: float, /) -> None:
        real.sleep(seconds)
        clock.advance(seconds)

    def counter(name: str, read: Callable[[], float]) -> Callable[[], float]:
        read.__name__ = name
        return read

    counters = [counter(name, lambda: clock.count_ns() / 1e9) for name in _COUNTERS]
    counters += [counter(f"{name}_ns", lambda: clock.count_ns()) for name in _COUNTERS]
    now.__name__ = "time"
    return [now, time_ns, clock_gettime, clock_gettime_ns, sleep, *converters, *counters]


def _install_dates(clock: _Clock) -> None:
    """Replace `datetime.now`, `datetime.utcnow` and `date.today` in the real classes.

    They are written into the dict of the C type, which has no other way in: so `datetime` stays the very class that
    libraries hold, and its objects, subclasses, pickles and representations are the ordinary ones.
    """
    from datetime import UTC, date, datetime

    def today(cls: type[date]) -> date:
        return cls.fromtimestamp(clock.now_ns / 1e9)

    def now(cls: type[datetime], tz: Any = None) -> datetime:
        seconds, rest = divmod(clock.now_ns, 10**9)
        return cls.fromtimestamp(seconds, tz).replace(microsecond=rest // 1000)

    def utcnow(cls: type[datetime]) -> datetime:
        if sys.version_info >= (3, 12):
            import warnings

            warnings.warn(_UTCNOW, DeprecationWarning, stacklevel=2)
        return now(cls, UTC).replace(tzinfo=None)

    functions: list[tuple[type, Callable[..., Any]]] = [(date, today), (datetime, now), (datetime, utcnow)]
    for owner, function in functions:
        function.__module__, function.__qualname__ = "datetime", f"{owner.__name__}.{function.__name__}"
        gc.get_referents(vars(owner))[0][function.__name__] = classmethod(function)  # the dict behind the view
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))  # what the class remembers of itself is void


_UTCNOW = (
    "datetime.datetime.utcnow() is deprecated and scheduled for removal in a future version. Use timezone-aware "
    "objects to represent datetimes in UTC: datetime.datetime.now(datetime.UTC)."
)
