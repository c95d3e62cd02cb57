"""Whatever a line says, its answer is one line of JSON-RPC 2.0 that says what was wrong, and no fault of the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from safeexec.remote.methods import INTERNAL, OURS, PARAMETERS, PARSE, REQUEST
from safeexec.servers.jsonrpc import reply
from safeexec.servers.service import Service


class Served:
    """One service and the id of an open session of it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.service = Service("calculator", spare=0)
        self.session = ""

    def reply(self, line: bytes | None) -> Any:
        """What answers a line; the answer is checked for its form."""
        answer = self.loop.run_until_complete(reply(self.service, line, lambda *_: None))
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

    def call(self, method: str, **params: Any) -> Any:
        if method.startswith("session."):
            params = {"session": self.session, **params}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return self.reply(line.encode())


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    made.session = made.call("sandbox.session")["result"]["session"]
    yield made
    made.loop.run_until_complete(made.service.close())
    made.loop.close()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", PARSE),
        (b"\xff", PARSE),
        (b"{", PARSE),
        (None, REQUEST),
        (b"[]", REQUEST),
        (b"[" + b"1," * 1000 + b"1]", REQUEST),
        (b"1", REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"x"}', REQUEST),
        (b'{"jsonrpc":"2.0","id":[],"method":"x"}', REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', REQUEST),
        (b'{"jsonrpc":"2.0","id":1}', REQUEST),
        (b"[" * 100_000, PARSE),
        (b"1" * 10_000, REQUEST),
        (b'{"jsonrpc":"2.0","id":1e400,"method":"x"}', REQUEST),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"x"}', PARSE),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"\\ud800"}', PARSE),
        (b'{"jsonrpc":"\\ud800","id":1,"method":"x"}', PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","\\ud800":1}', PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"session.run","params":"x"}', PARAMETERS),
        (b'{"jsonrpc":"2.0","id":1,"method":"session.run","params":["x"]}', PARAMETERS),
        (b'{"jsonrpc":"2.0","id":1,"method":"session.run","params":{"session":"x","source":"1"}}', OURS),
    ],
)
def test_the_codes_are_those_of_the_standard(served: Served, line: bytes | None, code: int) -> None:
    message = served.reply(line)
    assert message["error"]["code"] == code
    assert message["id"] == (1 if code in (PARAMETERS, OURS) else None)


@pytest.mark.parametrize("length", [1001, 12 << 20])
def test_a_call_with_a_long_id_is_told_so(served: Served, length: int) -> None:
    """Each of these characters takes six in an answer: one that held it could not be sent."""
    line = b'{"jsonrpc":"2.0","method":"sandbox.policy","id":"%s"}'
    assert served.reply(line % ("é" * 1000).encode())["id"] == "é" * 1000
    answer = served.reply(line % ("é" * length).encode())
    assert (answer["id"], answer["error"]["code"]) == (None, REQUEST)


def test_a_notification_is_done_and_not_answered(served: Served) -> None:
    params = {"session": served.session, "name": "told", "value": 7}
    assert served.reply(json.dumps({"jsonrpc": "2.0", "method": "session.set", "params": params}).encode()) is None
    assert served.reply(b'{"jsonrpc":"2.0","method":"nothing"}') is None
    assert served.reply(b'[{"jsonrpc":"2.0","method":"nothing"}]') is None
    assert served.call("session.get", name="told")["result"] == {"found": True, "value": 7}


def test_a_batch_is_done_in_its_order_and_answered_by_one_line(served: Served) -> None:
    at = {"session": served.session}
    calls = [
        {"jsonrpc": "2.0", "id": "a", "method": "session.set", "params": {**at, "name": "x", "value": 1}},
        {"jsonrpc": "2.0", "method": "session.run", "params": {**at, "source": "x += 1"}},
        {"jsonrpc": "2.0", "id": 2.5, "method": "session.run", "params": {**at, "source": "x"}},
        7,
    ]
    message = served.reply(json.dumps(calls).encode())
    assert [part["id"] for part in message] == ["a", 2.5, None]
    assert message[1]["result"]["value"] == 2 and message[2]["error"]["code"] == REQUEST


def test_a_fault_of_the_server_is_told_to_its_own_user_alone(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails(*_: object) -> None:
        raise OSError("no space at /secret")

    monkeypatch.setattr("safeexec.servers.acts.call", fails)
    line = b'{"jsonrpc":"2.0","id":1,"method":"x"}'
    answer = json.loads(served.loop.run_until_complete(reply(served.service, line, lambda *_: None)))
    assert answer["error"] == {"code": INTERNAL, "message": "internal error", "data": {"type": "InternalError"}}
    assert "no space at /secret" in capsys.readouterr().err
