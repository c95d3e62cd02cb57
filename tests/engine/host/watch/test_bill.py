"""What a stranger sends is paid for by its step, and no event loop waits until it is read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from safeexec import AsyncSandbox, Policy, Sandbox
from tests.engine.host.loop import LoopClock

LARGE = {
    "ints": "list(range(1_000_000, 2_500_000))",
    "Decimals": "__import__('decimal').Decimal(1), [__import__('decimal').Decimal(i) for i in range(20_000)]",
    "surrogates": "['\\ud800'] * 75_000",
}
"""Each takes 0.1 to 0.3 s to be read: long for a loop, and far from the 3 s that a value may take, on any machine."""


@pytest.mark.parametrize("source", LARGE.values(), ids=LARGE.keys())
async def test_no_value_holds_the_event_loop(source: str) -> None:
    async with AsyncSandbox("confined-python") as sandbox, sandbox.session(checkpoints="off") as session:
        await session.run("1")
        async with LoopClock() as clock:
            result = await session.run(source, timeout=60)
            name = await session.run(f"x = {source}", timeout=60)
            fetched = await session.get("x")
    assert name.ok and fetched == result.value
    assert result.ok and type(result.value) in (list, dict, tuple), result.value
    assert clock.held < clock.beside / 10


HALVES = """\
class Halves:
    def _repr_html_(self): return '\\ud800' * 1_300_000
for _ in range(2): display(Halves())
"""


@pytest.mark.parametrize("heard", [pytest.param(False, marks=pytest.mark.slow), True])
async def test_displays_of_half_characters_are_read_apart_and_paid_for(heard: bool) -> None:
    shown: list[Any] = []
    async with AsyncSandbox("confined-python") as sandbox, sandbox.session(checkpoints="off") as session:
        await session.run("1")
        began = time.process_time()
        async with LoopClock() as clock:
            result = (await session.run(HALVES, timeout=60, on_display=shown.append if heard else None)).check()
        used = time.process_time() - began
    assert [len(display.html or "") for display in result.displays] == [1_300_000] * 2
    assert result.usage.cpu_ms > used * 500
    assert clock.held < clock.beside / 4
    assert len(shown) == (2 if heard else 0)


def taken(value: list[Any]) -> int:
    """The number of items."""
    return len(value)


TOOLS = ("decimal = __import__('decimal').Decimal\nsmall = [decimal(i) for i in range(5_000)]\n", "taken(small)")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    policy = Policy.load("confined-python").replace(tools={"max_calls": 3})
    with Sandbox(policy, tools=[taken]) as sandbox:
        yield sandbox


def test_of_calls_beyond_the_limit_nothing_is_read_and_large_arguments_arrive_whole(sandbox: Sandbox) -> None:
    with sandbox.session(checkpoints="off") as session:
        session.run(TOOLS[0]).check()
        began = time.process_time()
        session.run("for _ in range(3): taken(small)").check()
        within = time.process_time() - began
        refused = "for _ in range(103):\n    try: taken(small)\n    except PermissionError: pass"
        began = time.process_time()
        session.run(refused, timeout=60).check()
        assert time.process_time() - began < 8 * within
    assert sandbox.run("taken([bytes(20 * 1024 * 1024), 'x' * 1_000_000, 1])").value == 3


def test_what_a_step_sends_is_read_on_its_clock_and_counts_as_its_own(sandbox: Sandbox) -> None:
    """Tools run with the clock stopped; to read what they are given does not."""
    policy = sandbox.policy.replace(tools={"max_calls": 1_000_000})
    with Sandbox(policy, tools=[taken]) as other, other.session(checkpoints="off") as session:
        session.run(TOOLS[0]).check()
        began = time.process_time()
        result = session.run("while True: taken(small)", timeout=0.5)
        used = time.process_time() - began
    assert result.outcome == "timeout"
    assert used < 2.0
    assert result.usage.cpu_ms > used * 500


def test_cpu_time_of_the_host_is_part_of_the_limit(sandbox: Sandbox) -> None:
    policy = sandbox.policy.replace(tools={"max_calls": 1_000_000}, limits={"cpu_seconds": 0.4})
    with Sandbox(policy, tools=[taken]) as other:
        result = other.run(TOOLS[0] + "while True: taken(small)", timeout=30)
    assert result.outcome == "cpu" and result.error is not None
    assert "of it in the host" in result.error.message
