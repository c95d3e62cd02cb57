"""Whatever a tool raises, and whatever a guest sends it, the step gives a result and the host goes on."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from safeexec import AsyncSandbox, Policy, Sandbox

STOCK = {"pear": 1}


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("in str")


class NoText(Exception):
    def __str__(self) -> Any:
        return 5


def raises(error: BaseException) -> Callable[[], None]:
    def tool() -> None:
        raise error

    return tool


def awaited(error: BaseException) -> Callable[[], Any]:
    async def tool() -> None:
        await asyncio.sleep(0)
        raise error

    return tool


def stock(fruit: Any) -> int:
    return STOCK[fruit]


def parse(option: str) -> None:
    argparse.ArgumentParser().parse_args([option])


ERRORS = [
    Unprintable(),
    NoText(),
    SystemExit(3),
    GeneratorExit(),
    StopIteration(5),
    StopAsyncIteration(),
    KeyError(10**5000),
]
TOOLS: dict[str, Callable[..., Any]] = {
    **{f"raises_{number}": raises(error) for number, error in enumerate(ERRORS)},
    **{f"awaits_{number}": awaited(error) for number, error in enumerate(ERRORS) if number not in (4, 5)},
    "stock": stock,
    "parse": parse,
    "echo": lambda value: value,
}
CALLS = [f"{name}()" for name in TOOLS if "_" in name] + ["stock(10**5000)", "stock((10**5000,))", "parse('--no')"]


@pytest.fixture(scope="module")
def sandbox() -> Any:
    with Sandbox("standard", tools=TOOLS, spare=0) as sandbox:
        yield sandbox


@pytest.mark.parametrize("call", CALLS)
def test_what_a_tool_raises_is_an_error_of_the_step(sandbox: Sandbox, call: str) -> None:
    with sandbox.session() as session:
        session.run("x = 41")
        result = session.run(call)
        assert (result.outcome, [record.outcome for record in result.tool_calls]) == ("error", ["error"])
        assert session.run("x + 1").value == 42


async def test_the_same_on_an_event_loop() -> None:
    async with AsyncSandbox("calculator", tools=TOOLS) as sandbox, sandbox.session() as session:
        await session.run("x = 41")
        assert [(await session.run(call)).outcome for call in CALLS] == ["error"] * len(CALLS)
        assert (await session.run("x + 1")).value == 42


def test_a_default_that_may_be_a_secret_is_not_shown() -> None:
    def fetch(url: str, key: str = "sk-secret", *, retries: int = 3, client: Any = {"key": "sk-secret"}) -> str:  # noqa: B006
        return url

    bound = partial(fetch, key="sk-secret")
    with Sandbox("standard", tools={"fetch": fetch, "bound": bound}) as sandbox, sandbox.session() as session:
        refused = session.run("fetch()"), session.run("bound(1, 2, 3, 4)"), session.run("help(fetch); help(bound)")
        told = session.card() + str(refused) + Policy.load("standard").card(tools={"fetch": fetch, "bound": bound})
        assert "sk-secret" not in told and "retries: int = 3" in told
