"""The event loop of asynchronous tools that blocking callers share: who waits for a call is let go when it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from safeexec import Sandbox, Session
from safeexec.host.tools import calls

PATIENCE = 60.0


def test_with_the_last_owner_its_calls_end() -> None:
    begun, owner = threading.Event(), object()
    told: list[BaseException] = []

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    def call() -> None:
        try:
            calls.await_blocking(for_ever(), None, owner)
        except RuntimeError as error:
            told.append(error)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    assert begun.wait(PATIENCE)
    assert calls._owners == {owner}
    calls.release(owner)
    caller.join(PATIENCE)
    assert [str(error) for error in told] == ["the tool was cancelled"]


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


def by_a_template(sandbox: Sandbox) -> None:
    async def prepare(session: Session) -> None:
        session.set("x", await plus_one(1))

    sandbox.template("t", prepare=prepare)
    with sandbox.session(template="t") as session:
        assert session.run("x").value == 2


@pytest.mark.parametrize("use", [by_a_tool, by_a_plugin, by_a_template])
def test_with_a_sandbox_everything_ends_that_was_kept_for_its_asynchronous_functions(
    use: Callable[[Sandbox], Any],
) -> None:
    with Sandbox("plugin", tools=[plus_one], spare=0) as sandbox:
        use(sandbox)
        assert len(calls._owners) == 1
    assert not calls._owners and calls._loop is None
