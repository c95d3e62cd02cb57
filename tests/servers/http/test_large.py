"""What one client sends, or its guests make, does not keep another one waiting, nor fills the server's memory."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from safeexec.results.jsonable import BASE64_PIECE, TEXT_PART, pieces_of, size_of, to_base64
from safeexec.servers import acts
from safeexec.servers.account import MAX_UNTAKEN, ClientAccount
from safeexec.servers.wire import encode, encode_apart, plain, strictly
from tests.engine.host.loop import LoopClock
from tests.footprint import pause, until
from tests.servers.calling import call, opened
from tests.servers.serving import Server, needs_server, serving

requests = pytest.importorskip("safeexec.servers.http.requests")
MAX_UNDER_WAY = requests.MAX_UNDER_WAY
pytestmark = needs_server


def named(text: str) -> bytes:
    """The members of an object of very many names."""
    return b",".join(text.encode() % number for number in range(1_500_000))


MANY = {
    "arguments of a program": ("/run_code", b'{"code":"1","args":[' + b'"a",' * 5_000_000 + b'"a"]}'),
    "files of a program": ("/run_code", b'{"code":"1","files":{' + named('"%d":null') + b"}}"),
    "files of a session": ("/v1/sessions", b'{"files":{' + named('"%d":""') + b"}}"),
    "values": ("/v1/run", b'{"source":"1","namespace":{"x":[' + b"[]," * 5_000_000 + b"[]]}}"),
    "names of values": ("/v1/run", b'{"source":"1","namespace":{' + named('"n%d":1') + b"}}"),
    "what nobody asked for": ("/v1/run", b'{"source":"1","other":[' + b"1," * 9_000_000 + b"1]}"),
}
CPU_SECONDS, GROWN_MB = 0.7, 150


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--policy", "confined-python") as server, server.client() as client:
        assert client.post("/v1/run", json={"source": "1"}).status_code == 200
        yield server


def used(server: Server) -> tuple[float, float]:
    """CPU seconds of the server, and its peak of memory in MiB."""
    import psutil

    times = psutil.Process(server.process.pid).cpu_times()
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return times.user + times.system, int(status.split("VmHWM:")[1].split()[0]) / 1024


@pytest.mark.parametrize(("path", "body"), MANY.values(), ids=MANY.keys())
def test_a_body_of_millions_of_parts_is_refused_before_they_are_made(server: Server, path: str, body: bytes) -> None:
    cpu, peak = used(server)
    with server.client() as client:
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422 and "more than" in answer.json()["message"], answer.text[:300]
    after, grown = used(server)
    assert after - cpu < CPU_SECONDS and grown - peak < GROWN_MB


def test_a_text_may_hold_whatever_it_likes(server: Server) -> None:
    with server.client() as client:
        said = client.post("/run_code", json={"code": "print(len(input()))", "stdin": "," * 3_000_000})
        assert said.json()["run_result"]["stdout"] == "3000000\n"


def begun(server: Server, path: str, length: int) -> socket.socket:
    """A connection over which the head of a request has been sent."""
    one = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    one.sendall(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-API-Key: {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode()
    )
    return one


def test_the_bodies_of_one_tenant_that_are_under_way_are_bounded_together(server: Server) -> None:
    """They are refused while they arrive; the room is there again when they have gone."""
    _, peak = used(server)
    half = MAX_UNDER_WAY // 2 - (1 << 20)
    held: list[socket.socket] = []
    try:
        for _ in range(6):
            held.append(begun(server, "/v1/run", half))
            with suppress(OSError):  # refused already
                held[-1].sendall(b"x" * (half - 1))
        assert http.client.HTTPResponse(held[-1]).begin() is None
    finally:
        for one in held:
            one.close()
    with server.client() as client:
        for _ in range(200):
            answer = client.post("/v1/run", json={"source": "1", "stdin": "x" * (half // 2)})
            if answer.status_code == 200:
                break
        assert answer.status_code == 200
    assert used(server)[1] - peak < MAX_UNDER_WAY // (1 << 20) * 2.5


def test_who_takes_no_answers_gets_no_more_of_them(server: Server) -> None:
    """Though all were asked for before the first was ready: the memory of the others is that of what was begun."""
    count, size = 7, 48_000_000
    source = json.dumps({"source": "'\xe9' * 8_000_000", "timeout": 300}).encode()
    _, peak = used(server)
    with server.client() as client, ExitStack() as held:
        at = [f"/v1/sessions/{client.post('/v1/sessions').json()['session']}" for _ in range(count + 1)]
        other = at.pop()
        asked = [held.enter_context(begun(server, f"{path}/run", len(source))) for path in at]
        for one in asked:
            one.sendall(source)
        until(lambda: client.post(f"{other}/names").status_code == 429)
        refused = client.post(f"{other}/names").json()
        assert refused["type"] == "Full" and "not taken" in refused["message"]
        assert (used(server)[1] - peak) * (1 << 20) < 2 * MAX_UNTAKEN + 30_000_000 * count
        with ThreadPoolExecutor(count) as readers:
            assert min(readers.map(taken, asked)) > size
        until(lambda: client.post(f"{other}/names").status_code == 200)
        for path in (*at, other):
            client.post(f"{path}/close")


def test_who_takes_no_answers_has_no_more_programs_run(server: Server) -> None:
    """Those that wait for their turn would each leave a result behind: 60 had filled 1.7 GB."""
    count, size = 24, 20_000_000
    body = json.dumps({"source": f"'y' * {size}"}).encode()
    _, peak = used(server)
    with ExitStack() as held:
        asked = [held.enter_context(begun(server, "/v1/run", len(body))) for _ in range(count)]
        for one in asked:
            one.sendall(body)
        until(lambda: rests(server))
        assert (used(server)[1] - peak) * (1 << 20) < MAX_UNTAKEN + 12 * size
        with ThreadPoolExecutor(count) as readers:
            assert min(readers.map(taken, asked)) > size


def rests(server: Server) -> bool:
    """Tell whether it does nothing for a while."""
    before, _ = used(server)
    for _ in range(20):
        pause()
    return used(server)[0] == before


def taken(one: socket.socket) -> int:
    """How long the body of the answer is that comes."""
    response = http.client.HTTPResponse(one)
    response.begin()
    return len(response.read())


ANSWERS = {
    "numbers": "list(range(400_000))",
    "long numbers": "[10**4000 + i for i in range(2000)]",
    "surrogates": "['\\ud800' * 9] * 100_000",
    "dicts": "[{'a': i, 'b': str(i)} for i in range(60_000)]",
    "a dict": "{str(i): i for i in range(200_000)}",
    "bytes": "[b'x' * 20_000_000]",
}
"""What takes 0.2 to 1 s to be read and written."""


@pytest.mark.parametrize("source", ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_large_value_does_not_hold_the_loop_of_the_server(source: str) -> None:
    async with opened("confined-python", []) as service:
        at = await call(service, "sandbox.session", {})
        async with LoopClock() as clock:
            answer = await call(service, "session.run", {**at, "source": source, "timeout": 60})
            assert answer["value"] and len(await encode_apart(answer)) > 1_000_000
        assert clock.held < clock.beside / 10


@pytest.mark.modules("numpy")
async def test_the_value_of_a_large_variable_does_not_hold_the_loop_of_the_server() -> None:
    """An array is one object, however large."""
    async with opened("data-analysis", []) as service:
        at = await call(service, "sandbox.session", {})
        await call(service, "session.run", {**at, "source": "import numpy\na = numpy.arange(3_000_000)"})
        for _ in range(2):  # the first time, numpy is imported
            async with LoopClock() as clock:
                told = await call(service, "session.get", {**at, "name": "a", "exact": True})
        assert len(told["value"]["base64"]) > 30_000_000
        assert clock.held < clock.beside / 10


async def test_many_names_do_not_hold_the_loop_of_the_server() -> None:
    """To make JSON of them takes several times as long as to read them from the child, which is one call of C."""
    async with opened("confined-python", []) as service:
        at = await call(service, "sandbox.session", {})
        source = "globals().update((f'{i:06}' + 'a' * 90, i) for i in range(90_000))"
        await call(service, "session.run", {**at, "source": source})
        async with LoopClock() as clock:
            names = (await call(service, "session.names", at))["names"]
    began = thread_time()
    assert len(plain(names)) == 90_000
    assert clock.held < thread_time() - began


@pytest.mark.parametrize("character", ["#", "é", "\ud800"])
async def test_a_large_source_does_not_hold_the_loop_of_the_server(character: str) -> None:
    """It is refused, and as much as shows that it is too long is all that is decoded: base64 alone takes longer."""
    data = base64.b64encode(character.encode("utf-8", "surrogatepass") * (7 << 20)).decode()
    given = json.dumps({"source": {"type": "bytes", "base64": data}}).encode()
    async with opened("confined-python", []) as service:
        await service.sandbox()
        async with LoopClock() as clock:
            answer = await acts.call(service, "sandbox.run", given)
        assert (answer["outcome"], "step_source_kb" in answer["error"]["message"]) == ("rejected", True)
    began = thread_time()
    base64.b64decode(data)
    assert clock.held < (thread_time() - began) / 2


async def test_the_json_of_a_large_answer_and_the_value_of_a_variable_are_paid_for() -> None:
    paid: list[float] = []
    async with opened("confined-python", []) as service:
        ClientAccount(paid.append).begin()
        await encode_apart(await call(service, "sandbox.run", {"source": "list(range(300_000))"}))
        await asyncio.sleep(0)  # what a thread tells the loop comes in its next round
    answered, encoded = paid
    assert answered > 0 and encoded > 0
    paid: list[float] = []
    async with opened("confined-python", []) as service:
        at = await call(service, "sandbox.session", {"namespace": {"a": list(range(20_000))}})
        ClientAccount(paid.append).begin()
        await call(service, "session.get", {**at, "name": "a", "exact": True})
        await asyncio.sleep(0)  # what a thread tells the loop comes in its next round
    assert paid and min(paid) > 0


NESTED: list[Any] = [
    None, [], {}, [1, "a", None], {"a": [1]}, list(range(20_000)), {str(i): i for i in range(12_000)},
    [[i, str(i)] for i in range(9000)], {"a": {"b": [{"c": i} for i in range(9000)]}, "d": []},
    "x" * TEXT_PART + "\ud83d\ude00" * 9, "x" * (TEXT_PART - 1) + "\ud83d\ude00é\ud800" * 9,
    {"k": ["x" * 3 * TEXT_PART]},
    [list(range(9000)), [], "x", {"k": list(range(9000))}], ["x" * 20_000] * 3, [{str(i): i} for i in range(7000)],
]  # fmt: skip


@pytest.mark.parametrize("value", NESTED, ids=range(len(NESTED)))
def test_json_in_pieces_is_the_json(value: Any) -> None:
    assert "".join(pieces_of(value)) == json.dumps(value, separators=(",", ":"))
    assert json.loads(encode(value)) == json.loads(strictly(json.dumps(value)))


def test_sizes_base64_and_large_answers_are_made_in_pieces() -> None:
    large = [[[0] * 3000] * 3000] * 3000  # a walk takes hours
    assert size_of(large, 1000) > 1000
    assert size_of({"a": "x" * 5000}, 1000) > 1000
    assert size_of([1, [2, "abc"]], 1000) < 20
    for size in (0, 1, BASE64_PIECE - 1, BASE64_PIECE, 2 * BASE64_PIECE + 2):
        data = b"\xff\0a" * (size // 3 + 1)
        assert base64.b64decode(to_base64(data[:size]), validate=True) == data[:size]
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    body = bytes(range(256)) * (requests.ANSWER_PIECE // 100)
    asyncio.run(requests.Large(body)({"type": "http"}, None, send))
    assert b"".join(message.get("body", b"") for message in sent) == body and len(sent) > 3
    assert not sent[-1].get("more_body") and max(len(message.get("body", b"")) for message in sent) <= 1 << 18
