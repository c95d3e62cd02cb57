"""No method of the async API holds the loop for long, with the largest input that its limits take."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from contextlib import suppress
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


def at_once(owner: str, names: str) -> dict[str, Drive]:
    """What is no coroutine and takes nothing: it is the loop's all the same."""

    async def drive(given: Given, name: str) -> None:
        with suppress(SandboxError):
            found = getattr(getattr(given, owner), name)
            found() if callable(found) else None

    return {name: partial(drive, name=name) for name in names.split()}


async def done(call: Callable[..., object], *args: object) -> None:
    with suppress(SandboxError):
        call(*args)


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


async def spare(given: Given, use: Callable[[AsyncSandbox], Awaitable[Any]]) -> None:
    sandbox = AsyncSandbox("confined-python")
    try:
        await sandbox.open()
        await use(sandbox)
    finally:
        await sandbox.close()


PROGRAMS: list[Any] = [{"source": "import sys; len(sys.stdin.read())", "stdin": "x" * (8 << 20)}] * 4

DRIVEN: dict[type, dict[str, Drive]] = {
    AsyncSandbox: {
        **at_once("sandbox", "card max_sessions policy protection stats templates"),
        "check": lambda given: given.sandbox.check(SOURCE),
        "close": lambda given: spare(given, lambda sandbox: sandbox.close()),
        "command": lambda given: refused(given.sandbox.command(WORDS)),
        "drop_template": lambda given: given.sandbox.drop_template("large"),
        "forget": lambda given: refused(given.sandbox.forget("one")),
        "map": lambda given: mapped(given.sandbox.map(PROGRAMS)),
        "map_as_completed": lambda given: mapped(given.sandbox.map_as_completed(PROGRAMS)),
        "open": lambda given: spare(given, lambda sandbox: sandbox.open()),
        "plugin": lambda given: closed(given.sandbox.plugin(LONG_MODULE)),
        "reopen": lambda given: spare(given, lambda sandbox: sandbox.reopen()),
        "restore": lambda given: restored(given, given.sandbox.restore),
        "run": lambda given: given.sandbox.run(PRINTS, stdin=FILE_TEXT, namespace={"v": TEXT}),
        "session": lambda given: closed(given.sandbox.session()),
        "session_for": lambda given: restored(given, lambda path: given.sandbox.session_for("one", restore=path)),
        "stored": lambda given: refused(given.sandbox.stored()),
        "template": lambda given: given.sandbox.template("large", prepare=SOURCE, files={"a": FILE_BYTES}),
        "waiting": lambda given: given.sandbox.waiting(),
    },
    AsyncSession: {
        **at_once("session", "cancel card checkpoints history pending policy untold_cpu workspace"),
        "adopt": lambda given: refused(given.session.adopt()),
        "answer": lambda given: refused(given.session.answer(True)),
        "branch": branched,
        "cancel_waiting": lambda given: refused(given.session.cancel_waiting()),
        "checkpoint": lambda given: given.session.checkpoint("here"),
        "close": lambda given: closed(given.sandbox.session()),
        "command": lambda given: refused(given.session.command(WORDS)),
        "drop": lambda given: done(given.session.drop, "here"),
        "get": lambda given: given.session.get("many"),
        "list_files": lambda given: given.session.list_files(),
        "names": lambda given: given.session.names(),
        "note": lambda given: done(given.session.note, NOTE),
        "protection": lambda given: given.session.protection,
        "read_file": lambda given: given.session.read_file("large"),
        "remove": lambda given: given.session.remove("n7"),
        "rollback": lambda given: given.session.rollback(),
        "run": lambda given: given.session.run(PRINTS, stdin=FILE_TEXT, namespace={"v": TEXT}),
        "save": lambda given: given.session.save(given.here / "saved"),
        "set": lambda given: given.session.set("v", TEXT),
        "sql": lambda given: refused(given.session.sql(QUERY)),
        "stream": streamed,
        "variables": lambda given: given.session.variables(),
        "waiting_for": lambda given: given.session.waiting_for,
        "write_file": lambda given: given.session.write_file("w", FILE_TEXT),
    },
    AsyncStream: {"result": streamed},
    AsyncPlugin: {
        **at_once("plugin", "exports manifest name"),
        "call": lambda given: given.plugin.call("f", TEXT),
        "close": lambda given: closed(given.sandbox.plugin(MODULE)),
        "invoke": lambda given: given.plugin.invoke("f", (LISTS,)),
        "iterate": iterated,
        "reload": lambda given: given.plugin.reload(MODULE),
    },
}
"""Every public name of both APIs: a new one has to be driven here."""


async def refused(call: Awaitable[Any]) -> None:
    with suppress(SandboxError):
        await call


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
