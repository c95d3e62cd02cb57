"""The event loop of asynchronous tools that blocking callers share: who waits for a call is let go when it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from safeexec import Sandbox, Session, tool
from safeexec.engine.host.tools import blocking_tools

PATIENCE = 60.0


def test_with_the_last_owner_its_calls_end() -> None:
    begun, owner = threading.Event(), object()
    told: list[BaseException] = []

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    def call() -> None:
        try:
            blocking_tools.await_blocking(for_ever(), None, owner)
        except RuntimeError as error:
            told.append(error)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    assert begun.wait(PATIENCE)
    blocking_tools.release(owner)
    caller.join(PATIENCE)
    assert [str(error) for error in told] == ["the tool was cancelled"]


def loop_runs() -> bool:
    return any(thread.name == "safeexec-async-tools" for thread in threading.enumerate())


async def plus_one(number: int) -> int:
    return number + 1


def by_a_tool(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        assert session.run("plus_one(1)").value == 2


def by_a_plugin(sandbox: Sandbox) -> None:
    plugin = sandbox.plugin("def f(n):\n    return plus_one(plus_two(n))", tools={"plus_two": plus_one})
    assert plugin.f(1) == 3
    plugin.reload()
    assert plugin.f(1) == 3


def by_a_tool_with_an_undo(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        assert session.run("times_two(1)").value == 2
        assert session.rollback() == []


def by_a_template(sandbox: Sandbox) -> None:
    async def prepare(session: Session) -> None:
        session.set("x", await plus_one(1))

    sandbox.template("t", prepare=prepare)
    with sandbox.session(template="t") as session:
        assert session.run("x").value == 2


@tool(undo=lambda *_: plus_one(0))
async def times_two(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize(
    ("use", "function"),
    [(by_a_tool, plus_one), (by_a_tool_with_an_undo, times_two), (by_a_plugin, plus_one), (by_a_template, plus_one)],
)
def test_with_a_sandbox_everything_ends_that_was_kept_for_its_asynchronous_functions(
    use: Callable[[Sandbox], Any], function: Callable[..., Any]
) -> None:
    with Sandbox("plugin", tools=[function], spare=0) as sandbox:
        use(sandbox)
        assert loop_runs()
    assert not loop_runs()
