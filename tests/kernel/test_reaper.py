"""Nothing outlives its host: not the zygote, not its reaper, not a child, not what a child has forked."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from safeexec.engine.linux import processes
from tests.footprint import until
from tests.kernel import harness
from tests.kernel.conftest import SITUATIONS

PATIENCE = 60.0
ORPHANS = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
for _ in range(3):
    os.wait()
open('ready', 'w').close()
time.sleep(3600)
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory that a user without rights reaches, too: pytest's own is closed to others."""
    with tempfile.TemporaryDirectory(prefix="safeexec-kernel-") as directory:
        yield Path(directory)


def _living(family: list[processes.ProcessStat]) -> list[processes.ProcessStat]:
    found = []
    for member in family:
        now = processes.process_stat(member.pid)
        if now is not None and now.start == member.start and now.state not in "ZX":
            found.append(member)
    return found


def _family(host: subprocess.Popen[str], base: Path) -> list[processes.ProcessStat]:
    """Reaper, zygote, child and its three orphans. The orphans fall to the zygote or to its reaper."""
    until(lambda: (base / "workspaces" / "one" / "ready").exists() or host.poll() is not None)
    assert host.poll() is None, host.communicate()
    family = processes.descendants(host.pid)
    assert len(family) == 6, family
    return family


def _start(situation: str, base: Path) -> subprocess.Popen[str]:
    return harness.start(ORPHANS, "confined-python", str(base), **SITUATIONS[situation])


@pytest.mark.parametrize(
    ("who", "number"), [("host", signal.SIGKILL), ("reaper", signal.SIGTERM), ("reaper", signal.SIGKILL)]
)
def test_host_and_reaper_take_everything_along(situation: str, base: Path, who: str, number: int) -> None:
    """SIGTERM sweeps. SIGKILL takes along what the kernel ties to the reaper: everything in a pid namespace."""
    with _start(situation, base) as host:
        family = _family(host, base)
        reaper = next(member for member in family if member.ppid == host.pid)
        assert _signal(host.pid if who == "host" else reaper.pid, number)
        if who == "host" or number == signal.SIGTERM or not situation.endswith("without-namespaces"):
            until(lambda: not _living(family))
        host.wait(PATIENCE)
        for member in _living(family):
            _signal(member.pid, signal.SIGKILL)


@pytest.mark.skipif("os.geteuid() != 0", reason="what a process has open is told to root")
def test_neither_reaper_nor_zygote_keeps_a_right(situation: str, base: Path) -> None:
    """Each leads a session of its own. The reaper has open what it waits for: host, zygote, and a pipe for signals."""
    with _start(situation, base) as host:
        family = _family(host, base)
        try:
            (reaper,) = (member.pid for member in family if member.ppid == host.pid)
            (zygote,) = (one.pid for one in family if one.ppid == reaper and os.getsid(one.pid) == one.pid)
            until(lambda: _rights(reaper) == _rights(zygote) == 0)
            # Of root: no other of the same user may look into it.
            until(lambda: {os.stat(f"/proc/{pid}/environ").st_uid for pid in (reaper, zygote)} == {0})
            until(lambda: len(os.listdir(f"/proc/{reaper}/fd")) == 4)
        finally:
            host.kill()
        until(lambda: not _living(family))


def _rights(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("CapPrm", "CapEff")))


def _signal(pid: int, number: int) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        return processes.send_signal(descriptor, number)
    finally:
        os.close(descriptor)
