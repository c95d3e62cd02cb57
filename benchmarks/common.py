"""What the benchmarks share: medians taken in turn, a bare forked child to compare with, and the table they print.

Every figure stands beside a reference that is measured in the same run, call by call in turn, so that a busy machine
disturbs both alike. Read the ratios; the absolute times belong to one machine.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

PROGRAM = """\
import math
from dataclasses import dataclass

@dataclass
class Loan:
    principal: float
    rate: float
    months: int

    def payment(self) -> float:
        monthly = self.rate / 12
        return self.principal * monthly / (1 - (1 + monthly) ** -self.months)

def compound(balance, rate, years):
    for year in range(years):
        balance *= 1 + rate
        if balance > 1e9:
            break
    return round(balance, 2)

loans = [Loan(1000.0 * i, 0.03 + i / 100, 12 * i) for i in range(1, 6)]
payments = {loan.months: loan.payment() for loan in loans}
cheapest = min(loans, key=lambda loan: loan.payment())
rows = [(months, payment) for months, payment in sorted(payments.items())]
try:
    ratio = rows[0][1] / math.fsum(payment for _, payment in rows)
except ZeroDivisionError:
    ratio = math.nan
text = ", ".join(f"{months}: {payment:.2f}" for months, payment in rows)
total = compound(1000, 0.05, 10)
"""
"""30 lines as a model writes them: imports, a class, a function, comprehensions, formatting."""


def options(description: str | None, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line that every script here has."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    return parser.parse_args(arguments)


def timed(call: Callable[[], object], rounds: int) -> float:
    """The median of `rounds` calls, seconds."""
    return statistics.median(_seconds(call) for _ in range(rounds))


def in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int, pause: float = 0.0
) -> tuple[float, float]:
    """The medians of two calls, seconds. They take turns, so that drift of the machine hits both.

    `pause` is rest before each call, seconds: the think time of whoever writes the next step.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, taken in zip((ours, theirs), times, strict=True):
            if pause:
                time.sleep(pause)
            taken.append(_seconds(call))
    return statistics.median(times[0]), statistics.median(times[1])


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_new_process(source: str, *, rounds: int = 1, isolated: bool = False) -> float:
    """The median of the number that `source`, run by a Python of its own, prints last."""
    command = [sys.executable, *(["-I"] if isolated else []), "-c", source]
    numbers = []
    for _ in range(rounds):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        numbers.append(float(done.stdout.split()[-1]))
    return statistics.median(numbers)


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """All that starts inside stays on one core: a wake-up across cores costs ten times one on the same, at random."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def fork_and_wait() -> None:
    """The least that copying a process can cost."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


class BareChild:
    """The floor: a forked child on a socket pair that compiles and runs what it is sent. No policy, no confinement.

    `before` runs in the child first, for instance to apply one mechanism of the kernel.
    """

    def __init__(self, before: Callable[[], object] | None = None) -> None:
        self._socket, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._socket.close()
                if before is not None:
                    before()
                self._serve(theirs)
            finally:
                os._exit(0)
        theirs.close()

    def run(self, source: str) -> dict[str, Any]:
        """Run one step; what it printed and the value of its last expression."""
        _send(self._socket, {"source": source})
        answer = _receive(self._socket)
        if answer is None:
            raise EOFError("the bare child died")
        return answer

    def round_trips(self, count: int) -> float:
        """Seconds for one message from the child to here and the answer to it, mean of `count`."""
        start = time.perf_counter()
        _send(self._socket, {"calls": count})
        for _ in range(count):
            _receive(self._socket)
            _send(self._socket, {})
        _receive(self._socket)
        return (time.perf_counter() - start) / count

    def stop(self, source: str, seconds: float) -> None:
        """Run what never ends, and kill the child after so many seconds."""
        _send(self._socket, {"source": source})
        select.select([self._socket], [], [], seconds)
        self.close()

    def close(self) -> None:
        self._socket.close()
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    @staticmethod
    def _serve(channel: socket.socket) -> None:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        while (request := _receive(channel)) is not None:
            for _ in range(request.get("calls", 0)):
                _send(channel, {})
                _receive(channel)
            _send(channel, _run(request.get("source", ""), namespace))


def _run(source: str, namespace: dict[str, Any]) -> dict[str, Any]:
    tree, last, value = ast.parse(source), None, None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(tree, "<step>", "exec"), namespace)
        if last is not None:
            value = eval(compile(last, "<step>", "eval"), namespace)
    return {"output": output.getvalue(), "value": value if isinstance(value, (int, float, str)) else repr(value)}


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    channel.sendall(struct.pack("<I", len(data)) + data)


def _receive(channel: socket.socket) -> dict[str, Any] | None:
    head = channel.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return None
    message: dict[str, Any] = json.loads(channel.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL))
    return message


class Table:
    """Rows of what, ours, reference, ratio; printed as they come."""

    def __init__(self, title: str) -> None:
        print(f"\n{title}\n  {'':58} {'safeexec':>11} {'reference':>11} {'ratio':>7}  reference is", flush=True)

    def row(self, what: str, ours: float, reference: float, against: str, *, unit: str = "s") -> None:
        """One line. Seconds (`unit="s"`) are shown as us, ms or s; other units as they are."""
        ratio = f"{ours / reference:.3g}" if reference else "-"
        print(f"  {what:58} {shown(ours, unit):>11} {shown(reference, unit):>11} {ratio:>7}  {against}", flush=True)

    @staticmethod
    def skip(what: str, reason: str) -> None:
        """A line for what could not be measured here, and why."""
        print(f"  {what:58} skipped: {reason}", flush=True)


def shown(number: float, unit: str = "s") -> str:
    """A figure with its unit: ``88.1 us``."""
    if unit != "s":
        return f"{number:.2f} {unit}"
    for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if number * factor >= 1:
            return f"{number * factor:.2f} {name}"
    return f"{number * 1e9:.0f} ns"
