"""Host tools, plugins and event loops, against a bare message round trip and a bare fork measured in the same run.

python benchmarks/tools.py [--calls N]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
from collections.abc import Callable
from time import perf_counter

from safeexec import AsyncSandbox, Sandbox

PLUGIN = "def price(amount, quantity=1):\n    return amount * quantity\n"


def median(call: Callable[[], object], count: int) -> float:
    """Seconds per call."""
    times = []
    for _ in range(count):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    return statistics.median(times)


def bare_round_trip(count: int) -> float:
    """One byte there and back over a socket pair to a forked process."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        while theirs.recv(1):
            theirs.send(b"x")
        os._exit(0)
    theirs.close()

    def call() -> None:
        ours.send(b"x")
        ours.recv(1)

    seconds = median(call, count)
    ours.close()
    os.waitpid(pid, 0)
    return seconds


def bare_fork() -> float:
    return median(lambda: os.waitpid(os.fork() or os._exit(0), 0), 50)


def tool_calls(count: int) -> dict[str, float]:
    """Seconds per call: of an untyped tool, of one whose arguments are checked, of an asynchronous one."""

    def typed(a: int, b: int) -> int:
        return a + b

    async def awaited(a: int, b: int) -> int:
        return a + b

    found = {}
    tools = {"plain": lambda a, b: a + b, "typed": typed, "awaited": awaited}
    with Sandbox("calculator", tools=tools) as sandbox, sandbox.session(checkpoints="off") as session:
        for name in tools:
            session.run(f"def many(n):\n    for i in range(n):\n        {name}(i, 1)\nmany(50)").check()
            found[name] = min(_per_call(lambda: session.run(f"many({count})").check(), count) for _ in range(5))
    return found


def _per_call(run: Callable[[], object], count: int) -> float:
    started = perf_counter()
    run()
    return (perf_counter() - started) / count


def plugin_calls(count: int) -> dict[str, float]:
    """Seconds per call of a plugin: kept without and with undo, and fresh."""
    found = {}
    with Sandbox("plugin") as sandbox:
        for name, state, limits in (
            ("kept, no undo", "keep", {"checkpoints": "off"}),
            ("kept, each call undoable", "keep", {}),
            ("fresh", "fresh", {}),
        ):
            with sandbox.plugin(PLUGIN, exports=["price"], state=state, **limits) as plugin:  # type: ignore[arg-type]
                found[name] = median(lambda plugin=plugin: plugin.price(2, quantity=3), count)  # type: ignore[misc]
    return found


def sessions_at_once(count: int) -> float:
    """Seconds for `count` sessions on one event loop, each opened, used twice and closed."""

    async def one(sandbox: AsyncSandbox, number: int) -> None:
        async with sandbox.session() as session:
            (await session.run(f"x = {number}")).check()
            (await session.run("x + 1")).check()

    async def main() -> float:
        async with AsyncSandbox("calculator") as sandbox:
            started = perf_counter()
            await asyncio.gather(*(one(sandbox, number) for number in range(count)))
            return perf_counter() - started

    return asyncio.run(main())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=500)
    calls = parser.parse_args().calls
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # a wake-up across cores costs ten times one on the same core, at random
    floor = bare_round_trip(calls)
    print(f"{'a bare message round trip':32} {floor * 1e6:8.1f} us")
    for name, seconds in tool_calls(calls).items():
        print(f"{'a tool call, ' + name:32} {seconds * 1e6:8.1f} us   {seconds / floor:5.1f} x")
    os.sched_setaffinity(0, cores)
    fork = bare_fork()
    print(f"{'a bare fork and wait':32} {fork * 1e6:8.1f} us")
    for name, seconds in plugin_calls(calls).items():
        print(f"{'a plugin call, ' + name:32} {seconds * 1e6:8.1f} us   {seconds / fork:5.2f} x")
    print(f"{'200 sessions on one event loop':32} {sessions_at_once(200) * 1e3:8.1f} ms")


if __name__ == "__main__":
    main()
