"""Whatever a line says, its answer is one line of JSON-RPC 2.0 that says what was wrong, and no fault of the server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from safeexec.remote.methods import INTERNAL, OURS, PARAMETERS, PARSE, REQUEST
from safeexec.servers.jsonrpc import reply
from safeexec.servers.service import Service
from tests.servers.calling import call, opened


async def answered(service: Service, line: bytes | None) -> Any:
    """What answers a line; the answer is checked for its form."""
    answer = await reply(service, line, lambda *_: None)
    if not answer:
        return None
    assert answer.endswith(b"\n") and answer.count(b"\n") == 1
    message = json.loads(answer)
    for part in message if isinstance(message, list) else [message]:
        assert part["jsonrpc"] == "2.0" and "id" in part and ("result" in part) is not ("error" in part)
        if "error" in part:
            assert part["error"]["code"] != INTERNAL, (line, part)
            assert isinstance(part["error"]["message"], str) and part["error"]["data"]["type"]
    return message


LINES: list[tuple[bytes | None, int]] = [
    (b"", PARSE),
    (b"\xff", PARSE),
    (b"{", PARSE),
    (None, REQUEST),
    (b"[]", REQUEST),
    (b"[" + b"1," * 1000 + b"1]", REQUEST),
    (b'{"jsonrpc":"1.0","id":1,"method":"x"}', REQUEST),
    (b'{"jsonrpc":"2.0","id":[],"method":"x"}', REQUEST),
    (b'{"jsonrpc":"2.0","id":true,"method":"x"}', REQUEST),
    (b'{"jsonrpc":"2.0","id":1}', REQUEST),
    (b"[" * 100_000, PARSE),
    (b"1" * 10_000, REQUEST),
    (b'{"jsonrpc":"2.0","id":1e400,"method":"x"}', REQUEST),
    (b'{"jsonrpc":"2.0","id":NaN,"method":"x"}', PARSE),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":"\\ud800"}', PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","\\ud800":1}', PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"session.run","params":"x"}', PARAMETERS),
    (b'{"jsonrpc":"2.0","id":1,"method":"session.run","params":{"session":"x","source":"1"}}', OURS),
]


async def test_the_codes_are_those_of_the_standard_and_a_call_with_a_long_id_is_told_so() -> None:
    async with opened("calculator") as service:
        for line, code in LINES:
            message = await answered(service, line)
            assert message["error"]["code"] == code, line and line[:100]
            assert message["id"] == (1 if code in (PARAMETERS, OURS) else None)
    # Each of these characters takes six in an answer: one that held it could not be sent.
    line = b'{"jsonrpc":"2.0","method":"sandbox.policy","id":"%s"}'
    async with opened("calculator") as service:
        assert (await answered(service, line % ("é" * 1000).encode()))["id"] == "é" * 1000
        for length in (1001, 12 << 20):
            answer = await answered(service, line % ("é" * length).encode())
            assert (answer["id"], answer["error"]["code"]) == (None, REQUEST)


async def test_a_notification_is_not_answered_and_a_batch_by_one_line_in_its_order() -> None:
    async with opened("calculator") as service:
        at = await call(service, "sandbox.session", {})
        told = {"jsonrpc": "2.0", "method": "session.set", "params": {**at, "name": "told", "value": 7}}
        nothing = b'{"jsonrpc":"2.0","method":"nothing"}'
        for line in (json.dumps(told).encode(), nothing, b"[%s]" % nothing):
            assert await answered(service, line) is None
        assert await call(service, "session.get", {**at, "name": "told"}) == {"found": True, "value": 7}
        calls = [
            {"jsonrpc": "2.0", "id": "a", "method": "session.set", "params": {**at, "name": "x", "value": 1}},
            {"jsonrpc": "2.0", "method": "session.run", "params": {**at, "source": "x += 1"}},
            {"jsonrpc": "2.0", "id": 2.5, "method": "session.run", "params": {**at, "source": "x"}},
            7,
        ]
        message = await answered(service, json.dumps(calls).encode())
    assert [part["id"] for part in message] == ["a", 2.5, None]
    assert message[1]["result"]["value"] == 2 and message[2]["error"]["code"] == REQUEST


async def test_a_fault_is_told_here_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def fails(*_: object) -> None:
        raise OSError("no space at /secret")

    monkeypatch.setattr("safeexec.servers.acts.call", fails)
    async with opened("calculator") as service:
        answer = await reply(service, b'{"jsonrpc":"2.0","id":1,"method":"x"}', lambda *_: None)
    error = {"code": INTERNAL, "message": "internal error", "data": {"type": "InternalError"}}
    assert json.loads(answer)["error"] == error
    assert "no space at /secret" in capsys.readouterr().err
