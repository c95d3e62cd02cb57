"""What goes wrong around a sandbox. Each fault is a context manager: what it takes away it gives back."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch

import psutil

from safeexec import Sandbox
from safeexec.engine.linux import namespaces
from safeexec.engine.linux.libc import make
from tests.limits import descriptors_left, limited


def zygote_of(sandbox: Sandbox) -> int:
    """The process that forks a sandbox's children."""
    with sandbox.session() as session:
        return psutil.Process(session._core.processes.runner_pid()).ppid()


def children_of(zygote: int) -> list[int]:
    """Its runners, copies and spares."""
    try:
        return [child.pid for child in psutil.Process(zygote).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def some(random: Random, pids: list[int]) -> list[int]:
    """One of them, or all."""
    return pids if random.random() < 0.3 or not pids else [random.choice(sorted(pids))]


@contextmanager
def killed_children(random: Random, zygote: int) -> Iterator[None]:
    send(some(random, children_of(zygote)), signal.SIGKILL)
    yield


@contextmanager
def stopped(chosen: list[int]) -> Iterator[None]:
    send(chosen, signal.SIGSTOP)
    try:
        yield
    finally:
        send(chosen, signal.SIGCONT)


@contextmanager
def no_descriptors(random: Random, zygote: int) -> Iterator[None]:
    """Room for a few more at most."""
    with descriptors_left(random.randrange(6)):
        yield


@contextmanager
def no_memory(random: Random, zygote: int) -> Iterator[None]:
    """Some MiB more for the host, at most."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    with limited(resource.RLIMIT_AS, used + (random.randrange(1, 8) << 20)):
        yield


@contextmanager
def full_disk(random: Random, zygote: int) -> Iterator[None]:
    """Not a byte left where workspaces and recordings are, if that is a disk of our own (`temporary_place`)."""
    place = Path(tempfile.gettempdir())
    if not (place / DISK).exists():
        yield
        return
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * 4096):
            pass
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def other_time(random: Random, zygote: int) -> Iterator[None]:
    """The wall clock jumps, years ahead or back."""
    true, by = time.time, random.choice((-1e9, -3600.0, 3600.0, 1e9))
    with patch("time.time", lambda: true() + by), patch("time.time_ns", lambda: int((true() + by) * 1e9)):
        yield


Fault = Callable[[Random, int], "contextlib.AbstractContextManager[None]"]
FAULTS: dict[str, Fault] = {
    "killed children": killed_children,
    "stopped children": lambda random, zygote: stopped(some(random, children_of(zygote))),
    "stopped zygote": lambda random, zygote: stopped([zygote]),
    "no descriptors": no_descriptors,
    "no memory": no_memory,
    "full disk": full_disk,
    "another time": other_time,
}
DISK = ".a-disk-of-its-own"


@contextmanager
def temporary_place() -> Iterator[bool]:
    """A directory for temporary files: a small disk, where the machine lets us make one, in a mount namespace of this
    very process. Whether it is one.
    """
    before = tempfile.tempdir
    place = tempfile.mkdtemp(prefix="tests-")
    os.chmod(place, 0o711)
    made = False
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            make([namespaces.unsharing("mount")])
            made = os.system(f"mount --make-rprivate / && mount -t tmpfs -o size=64m,mode=711 none {place}") == 0
    if made:
        Path(place, DISK).touch()
    tempfile.tempdir = place
    try:
        yield made
    finally:
        tempfile.tempdir = before
        if made:
            os.system(f"umount -l {place}")
        shutil.rmtree(place, ignore_errors=True)
