"""Control groups on a real hierarchy: made, filled, killed, removed; and limits, where the controllers are given."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec.engine.linux import cgroups, namespaces
from safeexec.engine.linux.libc import libc, make
from safeexec.engine.linux.probe import probe
from tests.alone import alone, importing
from tests.engine.linux.forked import in_a_fork, sleeping
from tests.footprint import pause

MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2


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
    for place in (*Path(made.path).glob("*/"), made.path):
        remove(place)


def remove(place: str | Path) -> None:
    """Remove a group, once its last process has quite gone."""
    while True:
        try:
            return os.rmdir(place)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        pause()


@pytest.fixture
def divided(group: cgroups.Group, monkeypatch: pytest.MonkeyPatch) -> Iterator[cgroups.Group]:
    """One that may give on a controller, whichever there is."""
    above = Path(group.path).parent
    given = (above / "cgroup.controllers").read_text().split()
    if not given:
        pytest.skip("the hierarchy has no controller")
    monkeypatch.setattr(cgroups, "CONTROLLERS", (given[0],))
    try:
        cgroups._give_controllers(str(above), "above")
    except (cgroups.Unavailable, OSError) as error:
        pytest.skip(f"no controller can be given on here: {error}")
    yield group
    (Path(group.path) / "cgroup.subtree_control").write_text(f"-{given[0]}")


def sleeper(source: str = "") -> subprocess.Popen[bytes]:
    """A process that waits for a byte, runs `source` and waits for ever."""
    program = f"import os, time\nos.read(0, 1)\n{source}\ntime.sleep(3600)"
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)


def go(process: subprocess.Popen[bytes]) -> None:
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
    assert process.wait(60) == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        group.add(process.pid)
    while group.pids():
        pause()
    assert group.remove()
    assert group.remove(), "removing it again does no harm"
    os.mkdir(group.path)


def test_a_process_that_is_alone_in_its_group_makes_room_for_others(divided: cgroups.Group) -> None:
    """With its children it moves into a leaf: a group with processes gives no controllers on."""

    def act() -> list[bool]:
        divided.add(os.getpid())
        with sleeping() as child:
            cgroups._give_controllers(divided.path, "own")
            cgroups._give_controllers(divided.path, "own")
            leaf = (Path(divided.path) / "safeexec-host" / "cgroup.procs").read_text().split()
        return [divided.pids() == [], {*map(int, leaf)} == {child, os.getpid()}]

    assert in_a_fork(act) == [True, True]
    assert (Path(divided.path) / "cgroup.subtree_control").read_text().split() == list(cgroups.CONTROLLERS)


def test_a_process_that_is_not_alone_says_so(divided: cgroups.Group) -> None:
    process = sleeper()
    divided.add(process.pid)

    def act() -> str:
        divided.add(os.getpid())
        try:
            cgroups._give_controllers(divided.path, "own")
        except cgroups.Unavailable as error:
            return str(error)
        return ""

    assert in_a_fork(act).startswith("2 processes live in own: start the host alone")
    divided.kill()
    process.communicate()


@pytest.mark.skipif(not probe().mount.works, reason=probe().mount.reason)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_hierarchy_is_found_wherever_it_is_mounted(group: cgroups.Group) -> None:
    """Whole, as a part (a container's, without a namespace of its own), or nowhere."""
    inner = f"{group.path}/inner"
    os.mkdir(inner)

    def act() -> list[Any]:
        (Path(inner) / "cgroup.procs").write_text(str(os.getpid()))
        place, _ = cgroups.hierarchy()
        make([namespaces.unsharing("mount")])
        namespaces.mount("none", "/", None, MS_REC | MS_PRIVATE)
        namespaces.mount(group.path, "/mnt", None, MS_BIND)
        libc.umount2(place.encode(), MNT_DETACH)
        found = cgroups.hierarchy()
        libc.umount2(b"/mnt", MNT_DETACH)
        try:
            return [found, cgroups.hierarchy()]
        except cgroups.Unavailable as error:
            return [found, str(error)]

    assert in_a_fork(act) == [["/mnt", "/inner"], "cgroup v2 is not mounted"]


def test_who_may_make_no_group_is_told(group: cgroups.Group) -> None:
    def act() -> str:
        if os.geteuid() == 0:
            os.setresuid(61234, 61234, 61234)
        try:
            return cgroups.prepare_parent_without_limits()
        except cgroups.Unavailable as error:
            return str(error)

    assert in_a_fork(act).startswith(("no group can be made below", "systemd has not delegated"))


def test_what_hosts_have_left_that_were_killed_is_removed(group: cgroups.Group) -> None:
    """What lives is not: `group` is one of this process."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = Path(group.path).parent / f"safeexec-{process.pid}-1"
    left.mkdir()
    try:
        cgroups._remove_stale(str(left.parent))
        assert not left.exists() and os.path.isdir(group.path)
    finally:
        if left.exists():
            left.rmdir()


def test_a_place_is_found_or_the_reason_is_told() -> None:
    """In a process of its own: the host may move into a leaf. What was tried is gone afterwards."""
    script = (
        "from safeexec.engine.linux import cgroups\ntry:\n    print('place', cgroups.prepare_parent_with_limits())\n"
        "except (cgroups.Unavailable, OSError) as error:\n    print('reason', error)"
    )
    done = alone(script, env=importing())
    kind, _, told = done.stdout.strip().partition(" ")
    assert kind in ("place", "reason") and told, done.stderr
    if kind == "place":
        assert os.path.isdir(told)
        assert not [name for name in os.listdir(told) if name.endswith("-trial")]
