"""No method of the async API holds the loop for long, with the largest input that its limits take."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from safeexec import AsyncPlugin, AsyncSandbox, AsyncSession, AsyncStream, Policy, SandboxError
from tests.engine.host.loop import LoopClock

HELD_SECONDS = 0.05
"""CPU time; on a quiet machine 0.02 is what we aim at."""
LIMITS = Policy.load("confined-python").limits
VALUE = (LIMITS.value_kb << 10) - 100_000
FILE = (LIMITS.workspace_mb << 20) // 8
SOURCE = "x = 1\n" * ((LIMITS.step_source_kb << 10) // 6 - 10)
MANY = "{str(i): [i, str(i)] for i in range(150_000)}"
PRINTS = f"for i in range(50_000): print('line', i)\nprint('x' * {LIMITS.output_kb << 12})\n'y' * {VALUE}"
TEXT, FILE_TEXT, FILE_BYTES, NOTE = "z" * VALUE, "z" * FILE, b"x" * FILE, "x" * (1 << 20)
LISTS = [[i, str(i)] for i in range(100_000)]
WORDS, QUERY = ["true", *["x" * 1000] * 1000], "select '" + "x" * 100_000 + "'"
MODULE = "def f(x): return x\ndef g():\n    for i in range(2000): yield i"

LONG_MODULE = MODULE + "\n" + SOURCE[:120_000]


class Given(NamedTuple):
    sandbox: AsyncSandbox
    session: AsyncSession
    plugin: AsyncPlugin
    here: Path


Drive = Callable[[Given], Awaitable[Any]]


def named(owner: str, names: str = "", /, *, refused: bool = False, **given: tuple[object, ...]) -> dict[str, Drive]:
    """Names of a face by what they are given: `names` take nothing. `refused`: they may be, or are no coroutines."""

    async def drive(to: Given, name: str) -> None:
        with suppress(SandboxError) if refused else nullcontext():
            found = getattr(getattr(to, owner), name)
            answer = found(*arguments[name]) if callable(found) else found
            await answer if inspect.isawaitable(answer) else None

    arguments = dict.fromkeys(names.split(), ()) | given
    return {name: partial(drive, name=name) for name in arguments}


async def closed(opening: Any) -> None:
    await (await opening).close()


async def restored(given: Given, opening: Callable[[Path], Any]) -> None:
    path = given.here / f"again-{len(list(given.here.iterdir()))}"
    await given.session.save(path)
    await closed(opening(path))


async def mapped(results: Any) -> None:
    assert len([result async for result in results]) == 4


async def streamed(given: Given) -> None:
    stream = given.session.stream(PRINTS)
    assert sum([len(text) async for text in stream]) > 100_000
    stream.result.check()


async def branched(given: Given) -> None:
    for session in await given.session.branch(8):
        await session.close()


async def iterated(given: Given) -> None:
    assert len([item async for item in given.plugin.iterate("g")]) == 2000


async def spare(use: Callable[[AsyncSandbox], Awaitable[Any]]) -> None:
    sandbox = AsyncSandbox("confined-python")
    try:
        await sandbox.open()
        await use(sandbox)
    finally:
        await sandbox.close()


PROGRAMS: list[Any] = [{"source": "import sys; len(sys.stdin.read())", "stdin": "x" * (8 << 20)}] * 4

DRIVEN: dict[type, dict[str, Drive]] = {
    AsyncSandbox: {
        **named("sandbox", "card max_sessions policy protection stats stored templates", refused=True),
        **named("sandbox", refused=True, command=(WORDS,), forget=("one",)),
        **named("sandbox", "waiting", check=(SOURCE,), drop_template=("large",)),
        "close": lambda given: spare(lambda sandbox: sandbox.close()),
        "map": lambda given: mapped(given.sandbox.map(PROGRAMS)),
        "map_as_completed": lambda given: mapped(given.sandbox.map_as_completed(PROGRAMS)),
        "open": lambda given: spare(lambda sandbox: sandbox.open()),
        "plugin": lambda given: closed(given.sandbox.plugin(LONG_MODULE)),
        "reopen": lambda given: spare(lambda sandbox: sandbox.reopen()),
        "restore": lambda given: restored(given, given.sandbox.restore),
        "run": lambda given: given.sandbox.run(PRINTS, stdin=FILE_TEXT, namespace={"v": TEXT}),
        "session": lambda given: closed(given.sandbox.session()),
        "session_for": lambda given: restored(given, lambda path: given.sandbox.session_for("one", restore=path)),
        "template": lambda given: given.sandbox.template("large", prepare=SOURCE, files={"a": FILE_BYTES}),
    },
    AsyncSession: {
        **named("session", "adopt cancel cancel_waiting card checkpoints history pending policy", refused=True),
        **named("session", "untold_cpu workspace", refused=True, answer=(True,), command=(WORDS,), sql=(QUERY,)),
        **named("session", "list_files names protection rollback variables waiting_for"),
        **named("session", checkpoint=("here",), get=("many",), read_file=("large",), remove=("n7",)),
        **named("session", set=("v", TEXT), write_file=("w", FILE_TEXT)),
        **named("session", refused=True, drop=("here",), note=(NOTE,)),
        "branch": branched,
        "close": lambda given: closed(given.sandbox.session()),
        "run": lambda given: given.session.run(PRINTS, stdin=FILE_TEXT, namespace={"v": TEXT}),
        "save": lambda given: given.session.save(given.here / "saved"),
        "stream": streamed,
    },
    AsyncStream: {"result": streamed},
    AsyncPlugin: {
        **named("plugin", "exports manifest name", call=("f", TEXT), invoke=("f", (LISTS,)), reload=(MODULE,)),
        "close": lambda given: closed(given.sandbox.plugin(MODULE)),
        "iterate": iterated,
    },
}
"""Every public name of both APIs: a new one has to be driven here."""


@pytest.mark.parametrize("face", DRIVEN)
def test_every_public_name_of_a_face_is_driven(face: type) -> None:
    assert {name for name in dir(face) if not name.startswith("_")} == DRIVEN[face].keys()


@pytest.mark.slow
@pytest.mark.parametrize("face", DRIVEN)
async def test_no_method_holds_the_loop(face: type, tmp_path: Path) -> None:
    held: dict[str, float] = {}
    async with AsyncSandbox("confined-python") as sandbox, sandbox.session() as session:
        prepare = f"many = {MANY}\nfor i in range(1000): globals()[f'n{{i}}'] = i\nlarge = 'x' * {VALUE}\n"
        files = f"open('large', 'w').write('x' * {FILE})\nfor i in range(800): open(f'f{{i}}', 'w').close()"
        (await session.run(prepare + files)).check()
        async with sandbox.plugin(MODULE) as plugin:
            given = Given(sandbox, session, plugin, tmp_path)
            for name, drive in sorted(DRIVEN[face].items(), key=lambda one: one[0] == "drop_template"):
                if name == "drop_template":
                    await sandbox.template("large", prepare="1")
                async with LoopClock() as clock:
                    await drive(given)
                held[name] = round(clock.held, 3)
    gc.collect()
    print(held)
    assert {name: seconds for name, seconds in held.items() if seconds > HELD_SECONDS} == {}
