"""Programs of a guest that has broken out, against the limits: each is judged by what the host sees outside of it.

`broken/*.py` are the programs. Their first lines say under which profile (with its language layer off) and limits each
runs, how its step may end (`ends`), how long to look on after it (`rests`), and what it must not exceed (`holds`, in
MiB beyond the start): `memory` of its processes, `shared` memory and `kernel` memory of the machine, `disk`. After each
the session and another one of its sandbox answer as if nothing had been, and closing them leaves no process.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import psutil
import pytest

from safeexec import Policy, Sandbox
from tests.attempts import STEP
from tests.footprint import pause, until

PROGRAMS = sorted((Path(__file__).parent / "broken").glob("*.py"))
MIB = 1 << 20


class Watched:
    """The most that each of these has been beyond what it was at the start, in MiB."""

    def __init__(self, directory: str) -> None:
        self._readers: dict[str, Callable[[], float]] = {
            "memory": _resident,
            "shared": lambda: _of_machine("Shmem"),
            "kernel": lambda: _of_machine("SUnreclaim"),
            "disk": lambda: shutil.disk_usage(directory).used / MIB,
        }
        self._start = {name: read() for name, read in self._readers.items()}
        self.most = dict.fromkeys(self._readers, 0.0)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._end.wait(0.05):
            for name, read in self._readers.items():
                self.most[name] = max(self.most[name], read() - self._start[name])

    def close(self) -> None:
        self._end.set()
        self._thread.join()


def _resident() -> float:
    """Of all descendants of this process."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        try:
            shown = process.memory_info()
            total += shown.rss - shown.shared
        except psutil.Error:
            continue
    return total / MIB


def _of_machine(name: str) -> float:
    found = re.search(rf"^{name}: +(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found[1]) / 1024


def _numbers(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", text)}


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> Iterator[tuple[Sandbox, dict[str, str], str]]:
    text = request.param.read_text()
    headers = dict(re.findall(r"^# (\w+): (.*)$", text, re.MULTILINE))
    policy = Policy.load(headers["profile"]).replace(language={"mode": "python"})
    policy = policy.replace(socketpair=True, **_numbers(headers.get("limits", "")))
    with Sandbox(policy) as opened:
        yield opened, headers, text


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", PROGRAMS, ids=[path.stem for path in PROGRAMS], indirect=True)
def test_a_limit_holds_whoever_runs_in_the_child(sandbox: tuple[Sandbox, dict[str, str], str], tmp_path: Path) -> None:
    opened, headers, source = sandbox
    timeout = float(headers["timeout"])
    with opened.session() as session, opened.session() as bystander:
        session.run("kept = 41")
        bystander.run("kept = 41")
        watched = Watched(str(session.workspace or tmp_path))
        try:
            results = [session.run(step, timeout=timeout) for step in source.split(STEP)]
            ends = monotonic() + float(headers.get("rests", 0))
            while monotonic() < ends:
                pause()
        finally:
            watched.close()
        if "ends" in headers:
            assert results[-1].outcome in headers["ends"].split(), results[-1].error
        for name, most in _numbers(headers.get("holds", "")).items():
            assert watched.most[name] < most, watched.most
        assert bystander.run("kept + 1").value == 42
        assert session.run("kept + 1", timeout=10).value == 42
        if "ends" in headers:
            assert results[-1].state == "restored"
    # A sandbox without a session has its zygote, its reaper, and spare children.
    until(lambda: len(psutil.Process().children(recursive=True)) <= 8)
