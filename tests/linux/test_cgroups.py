"""Control groups on a real hierarchy: made, filled, killed, removed; and limits, where the controllers are given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from safeexec.linux import cgroups
from tests.footprint import pause


@pytest.fixture
def group() -> Iterator[cgroups.Group]:
    """A group without limits, below the one that this process is in."""
    try:
        mount, own = cgroups.hierarchy()
        made = cgroups.Group(f"{mount}{own.rstrip('/')}/safeexec-{os.getpid()}-test")
    except (cgroups.Unavailable, OSError) as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield made
    made.kill()
    while not made.remove():
        pause()


@pytest.fixture
def limited() -> Iterator[cgroups.Group]:
    """One with limits, where the hierarchy may be divided."""
    try:
        made = cgroups.Group(f"{cgroups.delegated()}/safeexec-{os.getpid()}-limited")
    except (cgroups.Unavailable, OSError) as error:
        pytest.skip(f"no limits here: {error}")
    made.limit(memory_bytes=64 << 20, processes=8)
    yield made
    made.kill()
    while not made.remove():
        pause()


def sleeper(source: str = "") -> subprocess.Popen[bytes]:
    """A process that waits for a byte, runs `source` and waits for ever."""
    return subprocess.Popen(
        [sys.executable, "-c", f"import os, time\nos.read(0, 1)\n{source}\ntime.sleep(3600)"], stdin=subprocess.PIPE
    )


def go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"x")
    process.stdin.close()


def test_what_a_process_forks_is_born_in_its_group_and_ends_with_it(group: cgroups.Group) -> None:
    process = sleeper("os.setsid(); os.fork(); os.fork()")
    group.add(process.pid)
    go(process)
    while len(group.pids()) < 4:
        pause()
    assert not group.remove()
    if not group.kill():
        pytest.skip("cgroup.kill needs Linux 5.14")
    assert process.wait(10) == -signal.SIGKILL
    while group.pids():
        pause()
    assert group.remove()
    assert group.remove(), "removing it again does no harm"
    os.mkdir(group.path)


def test_a_process_that_has_ended_cannot_be_moved(group: cgroups.Group) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with pytest.raises(ProcessLookupError):
        group.add(process.pid)


def test_the_sum_of_memory_is_bounded(limited: cgroups.Group) -> None:
    process = sleeper("parts = []\nwhile True: parts.append(bytes(1 << 20).replace(b'\\0', b'x'))")
    limited.add(process.pid)
    before = limited.oom_kills()
    go(process)
    assert process.wait(30) == -signal.SIGKILL
    assert limited.oom_kills() > before


def test_the_number_of_processes_is_bounded(limited: cgroups.Group) -> None:
    source = "made = []\ntry:\n    while True: made.append(os.fork() or time.sleep(3600))\nexcept OSError: pass"
    process = sleeper(source)
    limited.add(process.pid)
    go(process)
    while len(limited.pids()) < 8:
        pause()
    assert len(limited.pids()) == 8
    limited.kill()
    process.wait(10)


def test_a_place_is_found_or_the_reason_is_told() -> None:
    """In a process of its own: the host may move into a leaf. What was tried is gone afterwards."""
    script = (
        "from safeexec.linux import cgroups\ntry:\n    print('place', cgroups.delegated())\n"
        "except (cgroups.Unavailable, OSError) as error:\n    print('reason', error)"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    kind, _, told = done.stdout.strip().partition(" ")
    assert kind in ("place", "reason") and told, done.stderr
    if kind == "place":
        assert os.path.isdir(told)
        assert not [name for name in os.listdir(told) if name.endswith("-trial")]
