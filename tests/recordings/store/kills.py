"""Kills what programs in stored sessions run on, at random moments, and looks at what is left.

    python -m tests.recordings.store.kills [--kills 1000] [--seed 1] [--durable second] [--place postgres]

Each program is a list of steps with calls of tools. A host goes on where the session is and runs what is missing, while
one of these comes: it is killed, or its zygote or a child of it is; the database server is; the disk is full; it is
stopped, another host takes over, and it wakes. At the end the variables are those of a run that nobody struck, each
call was made by one key that no other has, or was told as unknown, and no step that was said to be done is missing,
unless that was told. A host looks where its session is whenever a step was not done, and runs that one next: so it has
the keys that it had, also where `second` has lost it. Only a step whose result says that it crashed after its calls
makes new ones.

Every host is a fork of this process, which has imported all that it needs: a kill takes 0.2 s of processor time.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import random
import re
import select
import signal
import subprocess
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar, NamedTuple

from safeexec import Sandbox, tool
from safeexec.errors import SandboxError, SessionTaken, StoreError
from safeexec.recordings.store import StoreOptions, open_store, postgres
from tests.recordings.store.conftest import Server, served

KINDS = {
    "counting": "total = globals().get('total', 0) + {i}\npaid{i} = pay({i})\ndone = {i}",
    "data": "xs = [*globals().get('xs', []), {i}] * (1 if {i} % 7 else 2)\nxs = xs[-50:]\ndone = {i}",
    "functions": "def f{i}(n): return n * {i} + (f{j}(n) if {i} > 1 else 0)\nlast = f{i}(2)\ndone = {i}",
    "random": "import random\nif {i} == 1: random.seed(3)\nvalue = random.random()\npay({i})\ndone = {i}",
    "classes": (
        "class P{i}:\n    def __init__(self, n): self.n = n\n"
        "ps = [*globals().get('ps', []), P{i}({i})]\nkept = sum(p.n for p in ps)\ndone = {i}"
    ),
    "two calls": "a = pay({i})\nb = pay(a)\nboth = (a, b)\ndone = {i}",
    "clock": "import time\nt = time.time() > 0\ncount = globals().get('count', 0) + 1\ndone = {i}",
    "sets": "seen = globals().get('seen', set()) | {{str({i}), 'x' * {i}}}\norder = sorted(seen)\ndone = {i}",
    "deferred": "send({i})\npaid = pay({i})\ndone = {i}",
    "numbers": "ys = [n * {i} % 101 for n in range(2000)]\nbest = max(ys), sum(ys)\ndone = {i}",
}
"""Name → one step of the program, by its number."""
PROGRAMS = [(kind, length) for length in (8, 30) for kind in KINDS]
PLACES = ("directory", "postgres")
TAKEN = 3
"""Status of a host that was told of another owner."""
PATIENCE = 120.0
"""Seconds that a host may take, whatever happens to it."""
MOST = 25
"""Strikes at one program."""


class Job(NamedTuple):
    """What a host is to do, and where."""

    kind: str
    length: int
    store: str
    log: Path
    label: str
    durable: Any
    seed: float
    taking: bool = False
    """Whether it gets the session of a host that is only stopped."""


def host(job: Job, opened: Callable[[], None]) -> int:
    """Run what is missing of a program. Returns a status."""
    chance, me = random.Random(job.seed), os.getpid()
    postgres.LEASE_SECONDS, postgres.LOOK_SECONDS, postgres.PATIENCE_SECONDS = 0.6, 0.1, 2.0
    if job.taking:  # as a file system of a network that gives a lock to another machine all the same
        fcntl.flock = lambda *_: None

    def write(*what: Any) -> None:
        with job.log.open("a") as file:
            file.write(json.dumps([me, *what]) + "\n")

    @tool(idempotent=True)
    def pay(n: int, effect_key: str) -> int:
        write("pay", effect_key, n)
        return n + 1

    @tool(effect="deferred")
    def send(n: int) -> None:
        write("send", n, n)

    def go_on(sandbox: Sandbox) -> bool:
        session = sandbox.session_for(job.label)
        opened()
        i = session.get("done", 0)
        write("back", i)
        while i < job.length:
            i += 1
            result = session.run(KINDS[job.kind].format(i=i, j=i - 1))
            for note in result.notes:
                write("note", note, i)
            if result.ok:
                write("ok", i)
            elif result.error is not None and result.error.type == "SessionTaken":
                raise SessionTaken(result.error.message)
            elif result.outcome in ("crashed", "cancelled"):
                write("again", result.outcome, [call.tool for call in result.tool_calls], str(result.error)[:200])
                i = session.get("done", 0)
                write("back", i)
            else:
                raise AssertionError(f"step {i}: {result.outcome} {result.error}")
            sleep(chance.choice((0, 0, 0, 0.004, 0.02, 0.3 * chance.random())))
        values = {name: session.get(name) for name in session.namespace if name[:1] not in "fPp"}
        values.pop("t", None)
        shown = {name: sorted(value) if isinstance(value, set) else value for name, value in values.items()}
        write("end", repr(sorted(shown.items())))
        return True

    def close(sandbox: Sandbox) -> None:
        try:
            sandbox.close()
        except StoreError as error:
            write("lost", repr(error))

    deadline, ended = monotonic() + PATIENCE, False
    sandbox: Sandbox | None = None
    while not ended:
        try:
            if sandbox is None:
                sandbox = Sandbox("calculator", tools=[pay, send], store=job.store, durable=job.durable)
                sandbox.open()
            ended = go_on(sandbox)
        except SessionTaken as error:
            if "is open elsewhere" not in str(error):
                write("taken", str(error))
                return TAKEN
        except StoreError as error:
            write("store", str(error))
            sleep(0.1)
        except SandboxError as error:
            write("lost", repr(error))
            if sandbox is not None:
                close(sandbox)
            sandbox = None
        if not ended:
            assert monotonic() < deadline, "it does not come back"
            sleep(0.02)
    close(sandbox)
    return 0


class Running:
    """A host in a process of its own."""

    all: ClassVar[set[int]] = set()

    def __init__(self, job: Job) -> None:
        self.job = job
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            status = 1
            try:
                os.close(reading)
                status = host(job, lambda: os.write(writing, b"o") and None)
            except BaseException:
                with job.log.open("a") as file:
                    file.write(json.dumps([os.getpid(), "failed", traceback.format_exc()[-4000:]]) + "\n")
            finally:
                os._exit(status)
        self.all.add(self.pid)
        os.close(writing)
        self._opened, self._ended = reading, os.pidfd_open(self.pid)

    def wait_open(self) -> None:
        """Until it has the session, or has ended."""
        select.select([self._opened, self._ended], [], [], PATIENCE)

    def ends_within(self, seconds: float) -> bool:
        return bool(select.select([self._ended], [], [], seconds)[0])

    def wait(self) -> int:
        """Return its status; what it said where that is none of those expected."""
        if not self.ends_within(PATIENCE + 30):
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.all.discard(self.pid)
        os.close(self._opened)
        os.close(self._ended)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, TAKEN, -signal.SIGKILL), (self.job, code, self.job.log.read_text()[-4000:])
        return code

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    @classmethod
    @contextlib.contextmanager
    def none_left(cls) -> Iterator[None]:
        """End those that are left at the end, as after an interrupt."""
        try:
            yield
        finally:
            for pid in cls.all:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            cls.all.clear()


def below(pid: int) -> list[list[int]]:
    """The processes below one, by how far below they are: its launcher, the zygote, children, copies."""
    found = [[pid]]
    while found[-1]:
        next_ones: list[int] = []
        for one in found[-1]:
            with contextlib.suppress(OSError):
                next_ones += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        found.append(next_ones)
    return found[1:-1]


class Strikes:
    """What comes over a host, by name."""

    def __init__(self, chance: random.Random, server: Server | None, disk: Path | None) -> None:
        self._chance, self._server, self._disk = chance, server, disk

    def at(self, running: Running) -> Iterator[str]:
        """Strike once. Yields the name of each thing done."""
        weights = {self.host: 50, self.zygote: 12, self.child: 18, self.stopped: 6}
        if running.job.store.startswith("postgres"):
            weights[self.server] = 20
        elif self._disk is not None:
            weights[self.full] = 15
        (strike,) = self._chance.choices([*weights], [*weights.values()])
        yield from strike(running)

    def host(self, running: Running) -> Iterator[str]:
        running.kill()
        yield "host"

    def zygote(self, running: Running) -> Iterator[str]:
        if self._kill([one for level in below(running.pid)[:3] for one in level]):
            yield "zygote"

    def child(self, running: Running) -> Iterator[str]:
        if self._kill([one for level in below(running.pid)[3:] for one in level]):
            yield "child"

    def _kill(self, pids: list[int]) -> bool:
        with contextlib.suppress(ProcessLookupError):
            if pids:
                os.kill(self._chance.choice(pids), signal.SIGKILL)
                return True
        return False

    def server(self, running: Running) -> Iterator[str]:
        self._server.kill()
        yield "server"
        if self._chance.random() < 0.2:
            running.ends_within(0.2 * self._chance.random())
            yield from self.host(running)
        running.ends_within(0.3 * self._chance.random())
        self._server.restart()

    def full(self, running: Running) -> Iterator[str]:
        assert self._disk is not None
        filler = self._disk / "filler"
        try:
            with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
            yield "disk full"
            running.ends_within(0.2 * self._chance.random())
            if self._chance.random() < 0.2:
                yield from self.host(running)
        finally:
            filler.unlink()

    def stopped(self, running: Running) -> Iterator[str]:
        os.kill(running.pid, signal.SIGSTOP)
        yield "stopped"
        other = Running(running.job._replace(seed=self._chance.random(), taking=True))
        other.wait_open()
        other.ends_within(0.2 * self._chance.random())
        os.kill(running.pid, signal.SIGCONT)
        running.wait()
        running.__dict__.update(other.__dict__)


def run(kills: int, seed: int, durable: str = "", place: str = "", *, progress: bool = False) -> dict[str, Any]:
    """Do it. Returns what was counted; AssertionError where something was lost in silence."""
    chance, counted, quiet = random.Random(seed), Counter[str](), {}
    places = [place] if place else list(PLACES)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        top = Path(name)
        server = stack.enter_context(served()) if "postgres" in places else None
        disk = stack.enter_context(small_disk(top))
        stack.enter_context(Running.none_left())
        strikes = Strikes(chance, server, disk)
        todo = product(PROGRAMS, [durable] if durable else ["step", "second"], places)
        jobs = sorted(todo, key=lambda _: chance.random())
        while counted["kills"] < kills:
            (kind, length), how, where = jobs[counted["programs"] % len(jobs)]
            if (kind, length) not in quiet:
                log = top / f"quiet-{kind}-{length}"
                alone = Job(kind, length, f"{name}/quiet", log, f"{kind} {length}", "step", 0)
                assert Running(alone).wait() == 0
                quiet[kind, length] = said(alone)
            counted["programs"] += 1
            number = counted["programs"]
            store = server.url if where == "postgres" and server is not None else str((disk or top) / "store")
            job = Job(kind, length, store, top / f"log-{number}", f"{kind} {seed} {number}", how, chance.random())
            endure(job, strikes, chance, min(MOST, kills - counted["kills"]), counted)
            counted[f"on {where}, {how}"] += 1
            judge(job, said(job), quiet[kind, length], counted)
            forget(job)
            if progress:
                print(dict(counted), flush=True)
    return dict(counted)


def endure(job: Job, strikes: Strikes, chance: random.Random, most: int, counted: Counter[str]) -> None:
    """Run a program to its end, and strike at its hosts as long as it goes on."""
    struck = 0
    while True:
        running = Running(job._replace(seed=chance.random()))
        if chance.random() < 0.9:
            running.wait_open()
        while struck < most and not running.ends_within(chance.expovariate(1 / 0.06)):
            for what in strikes.at(running):
                counted[what] += 1
                counted["kills"] += 1
                struck += 1
        if running.wait() == 0:
            return


def forget(job: Job) -> None:
    """Remove what a program that has ended leaves: the small disk is for the next one."""
    job.log.unlink()
    store, deadline = open_store(StoreOptions(at=job.store)), monotonic() + PATIENCE
    try:
        while True:
            try:
                return store.remove(store.claim(job.label))
            except StoreError:  # the claim of a host that was killed runs out
                assert monotonic() < deadline
                sleep(0.1)
    finally:
        store.close()


def said(job: Job) -> list[Any]:
    return [json.loads(line) for line in job.log.read_text().splitlines()]


def judge(job: Job, all_said: list[Any], quiet: list[Any], counted: Counter[str]) -> None:
    """Compare with the run that nobody struck."""
    ends = {what for _, name, *what in all_said if name == "end" for what in what}
    notes = [what[0] for _, name, *what in all_said if name == "note"]
    counted["losses told"] += len([note for note in notes if "lost" in note])
    assert ends == {what for _, name, *what in quiet if name == "end" for what in what}, (job, ends, all_said)
    for name in ("pay", "send"):
        made = Counter(tuple(what) for what in calls_of(name, job, all_said, counted))
        by_number = Counter(n for _, n in made)
        expected = Counter(what[1] for _, kind, *what in quiet if kind == name)
        for n, times in by_number.items():
            # Once: by one key, however often it was sent with that. A deferred one may be unknown, and told.
            assert times == expected[n], (job, name, n, all_said)
        for n in expected.keys() - by_number.keys():
            assert [note for note in notes if f"{name}({n})" in note], (job, name, n, all_said)
            counted["unknown, told"] += 1
        assert name == "pay" or sum(made.values()) == len(made), (job, all_said)
        assert len({key for key, _ in made}) == len(made), (job, name, all_said)
        counted["calls"] += sum(by_number.values())
        counted["sent again with their key"] += sum(made.values()) - len(made)
    judge_done(job, all_said, counted)


def calls_of(name: str, job: Job, all_said: list[Any], counted: Counter[str]) -> list[Any]:
    """Return the calls of a tool, but for those of a step whose result said that it crashed after them."""
    kept: list[Any] = []
    of_step: dict[int, list[Any]] = {}
    """By process, the calls of the step that it runs."""
    for place, (pid, kind, *what) in enumerate(all_said):
        if kind == name:
            of_step.setdefault(pid, []).append(what)
        elif kind in ("ok", "again", "back"):
            made = of_step.pop(pid, [])
            if kind == "again" and what[0] == "crashed" and name == "pay":  # what is deferred is not carried out
                assert what[1].count(name) >= len({one[0] for one in made}), (job, place, all_said)
                counted["calls told of by a crash"] += len(made)
            else:
                kept += made
    return kept + [what for made in of_step.values() for what in made]


def judge_done(job: Job, all_said: list[Any], counted: Counter[str]) -> None:
    """Look whether what was said to be done was there when the session came back; else it was told as lost."""
    done = by = since = 0
    for place, (pid, name, *what) in enumerate(all_said):
        if name == "ok":
            done, by, since = what[0], pid, place
        elif name == "back" and what[0] < done:
            told = [str(more[0]) for who, kind, *more in all_said[since:] if who == pid and kind == "note"]
            if not any(who == pid and kind in ("ok", "again") for who, kind, *_ in all_said[place:]):
                continue  # it has ended before it could tell
            over = pid != by or any(kind == "lost" for _, kind, *_ in all_said[since:place])
            if over and job.durable == "second":
                counted["steps younger than a second, lost with their session"] += done - what[0]
            else:
                assert any(re.search("lost|undone|newest that was left", note) for note in told), (job, place, all_said)
            done = what[0]


@contextlib.contextmanager
def small_disk(top: Path) -> Iterator[Path | None]:
    """A disk of 8 MiB, where this user can mount one."""
    path = top / "disk"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(path)], capture_output=True)
    try:
        yield path if made.returncode == 0 else None
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "-l", str(path)], check=True)  # whoever ends last may be about to


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--durable", default="", choices=["step", "second"])
    parser.add_argument("--place", default="", choices=PLACES)
    options = parser.parse_args()
    run(options.kills, options.seed, options.durable, options.place, progress=True)
