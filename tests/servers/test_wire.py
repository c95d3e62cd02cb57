"""Values of guests in the JSON of calls and answers: read within bounds, and written for strict readers."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from safeexec.remote.methods import PARAMETERS
from safeexec.results.marked import exact
from safeexec.servers import acts
from safeexec.servers.wire import encode
from tests.alone import alone
from tests.servers.calling import call, opened, problem


async def test_a_namespace_like_a_marked_value_has_two_names_and_answers_are_for_strict_readers_too() -> None:
    async with opened() as service:
        given = {"namespace": {"type": "bytes", "base64": "AAE="}}
        at = await call(service, "sandbox.session", given)
        for method, where in (("sandbox.run", given), ("session.run", at), ("session.run", at | given)):
            told = await call(service, method, {**where, "source": "type + base64"})
            assert told["value"] == "bytesAAE="
    # Half of a character becomes a question mark, as in MCP; whole ones and what only looks like one stay.
    given = ["\ud800", "a\udfffb\ud800c", "\\ud800", "\\\\\ud800", "\U0001f600", "\ud83d\ude00", "\udc00\ud800", 'é"\n']
    read = msgspec.json.decode(encode(given))
    assert read == ["?", "a?b?c", "\\ud800", "\\\\?", "\U0001f600", "\U0001f600", "??", 'é"\n']
    assert encode({"\ud800": 1}) == b'{"?":1}'


async def test_all_values_of_a_call_share_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    async with opened() as service:
        monkeypatch.setattr("safeexec.results.marked.decode", lambda data, clock, **how: seen.append(clock))
        namespace = {"a": exact({1}, 100), "b": {"deep": [exact({2}, 100)]}}
        await call(service, "sandbox.run", {"namespace": namespace, "source": "a"})
    assert len(seen) == 2 and seen[0] is seen[1]


async def test_nothing_is_built_of_values_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of one that the policy does not let in, nor of those that come with it."""
    built: list[str] = []

    def loads(text: str) -> Any:
        built.append(text)
        return json.loads(text)

    monkeypatch.setattr("safeexec.servers.wire.loads", loads)
    monkeypatch.setattr("safeexec.servers.wire.MAX_PARTS", 3000)
    inside = [[False] * 900, "\1" * 900, ["", -1, 2.5] * 80, {"type": "bytes", "base64": "YWJj" * 300}, [[]] * 90]
    parts, spaces = [[]] * 600, b"[" + b" " * 10_000 + b"1]"

    async with opened("calculator") as service:
        at = await call(service, "sandbox.session", {"value_kb": 1})
        for value in inside:
            assert await call(service, "session.set", {**at, "name": "x", "value": value}) == {}
        assert len(built) == len(inside)
        built.clear()
        for value in (json.dumps(parts).encode(), spaces):
            sent = json.dumps(at).encode()[:-1] + b', "name": "x", "value": ' + value + b"}"
            with pytest.raises(TypeError, match=r"'x' cannot cross .* larger than limits\.value_kb \(1 KiB\)"):
                await acts.call(service, "session.set", sent)
        for name, parameters in (
            ("session.run", {**at, "source": "1", "namespace": {"a": 1, "x": parts}}),
            ("sandbox.session", {"namespace": {f"x{number}": parts for number in range(3)}}),
            ("sandbox.run", {"source": "1", "namespace": {f"x{number}": parts for number in range(3)}}),
        ):
            told = await problem(service, name, parameters)
            assert told.code == PARAMETERS
            assert "limits.value_kb" in told.message or "3,000 lists" in told.message
        assert built == []
        two = await call(service, "sandbox.session", {"namespace": {"x": parts, "y": parts}})
        assert (await call(service, "session.run", {**two, "source": "len(x + y)"}))["value"] == 1200


FIRST_VALUES = """
import asyncio, json, sys, threading
from safeexec.servers import acts
from safeexec.servers.service import Service

class Seen:
    def find_spec(self, name, *_):
        where.append((name, threading.current_thread() is threading.main_thread()))

async def main():
    service = Service("data-analysis")
    async def call(method, **given):
        return await acts.call(service, method, json.dumps(given).encode())
    at = await call("sandbox.session")
    await call("session.run", **at, source="import pandas; x = {'y': pandas.DataFrame({'a': [1]})}")
    where.clear()
    steps = {
        "get": lambda: call("session.get", **at, name="x", exact=True),
        "set": lambda: call("session.set", **at, name="z", value=json.loads(sys.argv[2])),
        "card": lambda: call("session.card", **at),
    }
    await steps[sys.argv[1]]()
    await service.close()

where = []
sys.meta_path.insert(0, Seen())
asyncio.run(main())
print({name: main for name, main in where if name in ("pandas", "safeexec.reports.card")})
"""


@pytest.mark.modules("pandas")
@pytest.mark.parametrize(("step", "module"), [("get", "pandas"), ("set", "pandas"), ("card", "safeexec.reports.card")])
def test_what_the_first_value_or_card_imports_is_imported_beside_the_loop(step: str, module: str) -> None:
    import pandas

    frame = json.dumps(exact(pandas.DataFrame({"a": [1]}), 1000))
    assert f"{module!r}: False" in alone(FIRST_VALUES, step, frame, check=True).stdout


@pytest.mark.parametrize(
    ("value", "why"), [(b'"\xff"', ""), (b"9" * 30, '20 are read; a longer int is {"type": "int", "repr": "…"}')]
)
async def test_a_value_that_cannot_be_read_is_named(value: bytes, why: str) -> None:
    async with opened("calculator") as service:
        with pytest.raises(ValueError, match=f"the value for 'x' cannot be read: .*{re.escape(why)}"):
            await acts.call(service, "sandbox.run", b'{"source": "1", "namespace": {"a": 1, "x": ' + value + b"}}")
