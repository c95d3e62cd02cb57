"""What this process holds: descriptors, threads, descendants, directories. Two footprints differ by what leaked."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from time import monotonic
from typing import NamedTuple

import psutil

from safeexec.engine.host.waiting import Wait, wait

DEADLINE_SECONDS = 30.0
"""How long the kernel may take to end and reap what was killed."""


class Footprint(NamedTuple):
    """Counts by kind, so that two footprints can be subtracted."""

    descriptors: Counter[str]
    threads: Counter[str]
    processes: Counter[str]
    directories: Counter[str]

    def beyond(self, other: Footprint) -> dict[str, dict[str, int]]:
        """What is here and not in `other`: kind of thing → what → how many more."""
        more = {name: dict(getattr(self, name) - getattr(other, name)) for name in self._fields}
        return {name: counts for name, counts in more.items() if counts}


def footprint() -> Footprint:
    """What is held at this moment."""
    return Footprint(_descriptors(), _threads(), _processes(), _directories())


def leaks(before: Footprint, *, allowed: Iterable[Footprint] = ()) -> dict[str, dict[str, int]]:
    """What is held now, but was not `before` and is not `allowed`. Waits for what is just going away."""
    for more in allowed:
        before = Footprint(*(mine + theirs for mine, theirs in zip(before, more, strict=True)))
    deadline = monotonic() + DEADLINE_SECONDS
    while (left := footprint().beyond(before)) and monotonic() < deadline:
        pause()
    return left


def settled() -> Footprint:
    """What is held once it no longer changes: a checkpoint made in think time, a spare on its way."""
    deadline = monotonic() + DEADLINE_SECONDS
    held, same = footprint(), 0
    while same < 10 and monotonic() < deadline:
        pause()
        now = footprint()
        held, same = now, same + 1 if now == held else 0
    return held


def pause() -> None:
    """Let 20 ms pass between two looks at something that must come true by a deadline."""
    wait(Wait((), monotonic() + 0.02))


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until it holds. Raises AssertionError when that takes too long."""
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, "it does not come true"
        pause()


def gone(processes: Iterable[psutil.Process]) -> None:
    """Wait until these processes have ended. Raises AssertionError when that takes too long."""
    _, alive = psutil.wait_procs([*processes], timeout=180)
    assert not alive


def difference(after: Footprint, before: Footprint) -> Footprint:
    """What came between the two."""
    return Footprint(*(mine - theirs for mine, theirs in zip(after, before, strict=True)))


def _descriptors() -> Counter[str]:
    found: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        try:
            found[re.sub(r"\[\d+\]", "", os.readlink(f"/proc/self/fd/{name}"))] += 1
        except FileNotFoundError:
            continue  # the descriptor of this very listing
    return found


def _threads() -> Counter[str]:
    return Counter(thread.name for thread in threading.enumerate() if not thread.name.startswith("pytest_timeout"))


def family(pid: int) -> Counter[str]:
    """A process and its descendants, by command line."""
    process = psutil.Process(pid)
    return _named([process, *process.children(recursive=True)])


def pids() -> set[int]:
    """The descendants of this process, by number."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def _processes() -> Counter[str]:
    return _named(psutil.Process().children(recursive=True))


def _named(processes: Iterable[psutil.Process]) -> Counter[str]:
    found: Counter[str] = Counter()
    for child in processes:
        try:
            found[" ".join(child.cmdline())[:120] or child.name()] += 1
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            found["a process"] += 1
    return found


def _directories() -> Counter[str]:
    return Counter(name for name in os.listdir(tempfile.gettempdir()) if name.startswith("safeexec-"))
