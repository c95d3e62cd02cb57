"""Kills hosts, zygotes and children at random moments while programs run in stored sessions, and looks at what is left.

    python -m tests.engine.store.kills --kills 1000 [--durable second] [--seed 1] [--store postgresql://…]

Each program is a list of steps with calls of tools. A worker goes on where the session is and runs what is missing. At
the end the variables are those of a run that nobody killed, and each call was made once, or was told as unknown.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import safeexec

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
PROGRAMS = [(kind, length) for kind in KINDS for length in (6, 15)]

WORKER = """
import json, os, sys
from safeexec import Sandbox, tool
from tests.engine.store.kills import KINDS
store, log, kind, length, label, durable = sys.argv[1:]

def write(*what):
    with open(log, "a") as file:
        file.write(json.dumps(what) + "\\n")

@tool(idempotent=True)
def pay(n: int, effect_key: str) -> int:
    write("pay", effect_key, n)
    return n + 1

@tool(effect="deferred")
def send(n: int) -> None:
    write("send", n, n)

with Sandbox("standard", tools=[pay, send], store=store, durable=durable) as sandbox:
    session = sandbox.session_for(label)
    print("open", flush=True)
    i = session.get("done", 0)
    while i < int(length):
        i += 1
        result = session.run(KINDS[kind].format(i=i, j=i - 1))
        for note in result.notes:
            write("note", note, i)
        if result.outcome == "crashed":
            i = session.get("done", 0)
        elif not result.ok:
            write("failed", f"{result.outcome} {result.error}", i)
            sys.exit(1)
    values = {name: session.get(name) for name in session.namespace if name[:1] not in "fPp"}
    values.pop("t", None)
    shown = {name: sorted(value) if isinstance(value, set) else value for name, value in values.items()}
    write("end", repr(sorted(shown.items())), i)
"""


def start(folder: Path, store: str, kind: str, length: int, label: str, durable: str) -> subprocess.Popen[str]:
    where = str(Path(safeexec.__file__).parents[2])
    command = [sys.executable, "-c", WORKER, store, str(folder / "log"), kind, str(length), label, durable]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([where, os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def strike(host: int, chance: random.Random) -> str:
    """Kill the host, or a process below it."""
    if chance.random() < 0.7:
        os.kill(host, signal.SIGKILL)
        return "host"
    below = [pid for pid in descendants(host) if pid != host]
    if below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(below), signal.SIGKILL)
    os.kill(host, signal.SIGKILL)
    return "below"


def descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


def run(kills: int, seed: int, durable: str, store: str | None = None, *, progress: bool = False) -> dict[str, Any]:
    """Do it. Returns what was counted; AssertionError where something was lost in silence."""
    chance, counted, number = random.Random(seed), Counter[str](), 0
    while counted["kills"] < kills:
        kind, length = PROGRAMS[number % len(PROGRAMS)]
        number += 1
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            quiet = folder / "quiet"
            quiet.mkdir()
            with start(quiet, f"{name}/quiet/store", kind, length, "quiet", durable) as worker:
                assert worker.wait(300) == 0
            place = store or f"{name}/store"
            label, strikes = f"{kind} {seed} {number}", 0
            while True:
                worker = start(folder, place, kind, length, label, durable)
                assert worker.stdout is not None
                worker.stdout.readline()
                deadline = monotonic() + (chance.random() ** 3 * 0.5 if strikes < 40 else 300)
                while worker.poll() is None and monotonic() < deadline and strikes < 40:
                    sleep(0.0005)
                if strikes < 40 and worker.poll() is None:
                    counted[strike(worker.pid, chance)] += 1
                    counted["kills"] += 1
                    strikes += 1
                worker.wait(300)
                worker.stdout.close()
                if worker.returncode == 0:
                    break
                assert worker.returncode == -signal.SIGKILL, (kind, (folder / "log").read_text()[-2000:])
            judge(kind, folder, counted)
            if progress:
                print({"programs": number, **counted}, flush=True)
    return {"programs": number, **counted}


def judge(kind: str, folder: Path, counted: Counter[str]) -> None:
    said = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    quiet = [json.loads(line) for line in (folder / "quiet/log").read_text().splitlines()]
    notes = [what for name, what, _ in said if name == "note"]
    lost = [note for note in notes if "lost" in note]
    counted["losses told"] += len(lost)
    assert said[-1] == quiet[-1], (kind, said[-1], quiet[-1], notes)
    for name in ("pay", "send"):
        made = Counter((key, n) for what, key, n in said if what == name)
        by_number = Counter(n for key, n in made)
        expected = Counter(n for what, _, n in quiet if what == name)
        for n, times in by_number.items():
            # Once: by one key, however often it was sent with that. A deferred one may be unknown, and told.
            assert times == expected[n], (kind, name, n, said, notes)
        for n in expected.keys() - by_number.keys():
            told = [note for note in notes if f"{name}({n})" in note]
            assert told, (kind, name, n, notes)
            counted["unknown, told"] += 1
        counted["calls"] += sum(by_number.values())
        counted["sent again with their key"] += sum(made.values()) - len(made)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--durable", default="step")
    parser.add_argument("--store")
    options = parser.parse_args()
    run(options.kills, options.seed, options.durable, options.store, progress=True)
