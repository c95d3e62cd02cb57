"""Who comes in, and what is answered to whom does not: over real sockets, to a real server."""

from __future__ import annotations

import base64
import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import httpx
import pytest

from safeexec import SandboxError
from tests.footprint import until
from tests.servers.serving import PLAIN, Server, needs_server, serving, start, stop

pytestmark = needs_server
HELLO = {"code": "print('hello')"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--policy", "standard") as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def raw(server: Server, data: bytes, *, most: float = 20) -> bytes:
    """What the server answers to these very bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=most) as connection:
        connection.sendall(data)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-None", "x"),
        ("Authorization", "Bearer"),
        ("Authorization", "Bearer \u00e9"),
        ("Authorization", "Basic wrong!"),
        ("Authorization", "Basic " + base64.b64encode(b"any:wrong").decode()),
        ("Authorization", "Basic " + base64.b64encode(b"\xff\xfe").decode()),
        ("X-API-Key", "wrong"),
    ],
)
def test_without_the_token_nothing_is_answered(server: Server, name: str, value: str) -> None:
    for path in ("/run_code", "/metrics", "/no-such-path", "/run_code?token=" + server.token):
        answer = httpx.post(server.url + path, json=HELLO, headers={name: value.encode()})  # type: ignore[dict-item]
        assert (answer.status_code, answer.json()["type"]) == (401, "Unauthorized")


def test_the_token_may_stand_in_three_places(server: Server) -> None:
    basic = "basic " + base64.b64encode(f"any:{server.token}".encode()).decode()
    for given in ({"Authorization": f"Bearer {server.token}"}, {"Authorization": basic}, {"X-API-Key": server.token}):
        assert httpx.post(server.url + "/run_code", json=HELLO, headers=given).json()["status"] == "Success"


@pytest.mark.parametrize(
    ("name", "values", "status"),
    [
        ("Host", ["evil.example", "127.0.0.1.evil.example", "10.1.2.3", "localhost:x", ""], 421),
        ("Origin", ["http://evil.example", "null", "http://127.0.0.1"], 403),
    ],
)
def test_other_sites_are_kept_out(client: httpx.Client, name: str, values: list[str], status: int) -> None:
    for path in ("/healthz", "/metrics"):
        assert {client.get(path, headers={name: value}).status_code for value in values} == {status}


def test_no_other_site_is_told_that_it_may_and_what_is_not_there(server: Server, client: httpx.Client) -> None:
    wanted = {"Origin": server.url, "Access-Control-Request-Method": "POST"}
    answer = client.options("/run_code", headers=wanted)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert client.get("/metrics", headers={"Origin": server.url}).status_code == 200
    assert client.get("/metrics", headers={"Host": "localhost"}).status_code == 200
    assert client.post("/no-such-path").status_code == 404
    assert client.get("/run_code").status_code == 405
    assert client.get("/run_code/").status_code == 404


def test_health_readiness_and_counters(server: Server, client: httpx.Client) -> None:
    assert httpx.get(server.url + "/healthz").json() == {"ok": True}
    assert httpx.get(server.url + "/readyz").json() == {"ready": True}  # what holds its sessions is nobody's affair
    assert httpx.get(server.url + "/readyz", headers={"X-API-Key": "wrong"}).json() == {"ready": True}
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["ready"], ready.json()["policy"]) == (200, True, "standard")
    assert {row["name"] for row in ready.json()["protection"]} >= {"seccomp", "rlimits"}
    client.post("/run_code", json=HELLO)
    names = [line for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    assert names
    assert all(line.startswith("safeexec_") for line in names)
    assert 'safeexec_requests_total{method="run_code",status="200"}' in "".join(names)
    told = dict(line.split(" ") for line in names)
    assert all(f'safeexec_undo_steps_total{{how="{how}"}}' in told for how in ("journalled", "copied", "lost"))
    assert float(told["safeexec_sessions_resting"]) >= 0


BODIES: dict[str, bytes] = {
    "a number of many digits": b'{"code": "1", "run_timeout": ' + b"9" * 100_000 + b"}",
    "less than no time": b'{"code": "1", "run_timeout": -1}',
    "lone surrogates": b'{"code": "\\ud800"}',
    "a file that is no base64": b'{"code": "1", "files": {"a": "%%%"}}',
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_does_not_fit_is_refused(client: httpx.Client, name: str) -> None:
    answer = client.post("/run_code", content=BODIES[name])
    assert (answer.status_code, answer.json()["code"]) == (422, 422)
    assert "Traceback" not in answer.text


def test_a_giant_body_is_refused_and_who_sends_it_to_its_end_reads_that(server: Server, client: httpx.Client) -> None:
    head = f"POST /run_code HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {server.token}\r\n"
    for length in (str(1 << 40), "9" * 400):  # before it is read
        assert raw(server, f"{head}Content-Length: {length}\r\n\r\n".encode())[9:12] in (b"413", b"400")
    body = b" " * (65 << 20)
    assert b"TooLarge" in raw(server, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    pieces = (b" " * (1 << 20) for _ in range(65))  # of no length that is told
    assert client.post("/run_code", content=pieces).status_code == 413


def test_an_answer_is_no_longer_than_a_message() -> None:
    from safeexec.remote.methods import MAX_MESSAGE
    from safeexec.servers.http.requests import answer

    assert len(answer("x" * (MAX_MESSAGE - 2)).body) == MAX_MESSAGE
    with pytest.raises(SandboxError, match="are the most that is sent"):
        answer("x" * (MAX_MESSAGE - 1))


def test_a_request_whose_head_never_ends_is_given_up(server: Server) -> None:
    halves = (b"", b"POST /run_code HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"\x16\x03\x01\x02\x00\x01\x00")
    started = monotonic()
    with ThreadPoolExecutor(len(halves)) as pool:
        answers = list(pool.map(lambda half: raw(server, half), halves))
    assert answers[:2] == [b""] * 2
    assert answers[2].startswith(b"HTTP/1.1 400")
    assert monotonic() - started < 20


def test_where_the_policy_has_no_files_that_is_said(server: Server, client: httpx.Client) -> None:
    told = client.post("/run_code", json={"code": "1", "files": {"a": "YQ=="}}).json()
    assert told["status"] == "SandboxError"
    assert told["message"] == "SandboxError: the policy 'standard' gives programs no files"
    box = client.post("/sandboxes", json={}).json()
    headers = {"X-Access-Token": box["envdAccessToken"]}
    file = server.url + "/files?path=a"
    for call in (httpx.post(file, content=b"x", headers=headers), httpx.get(file, headers=headers)):
        assert (call.status_code, "gives it no files" in call.json()["message"]) == (400, True)
    further = httpx.post(server.url + "/contexts", json={}, headers=headers, timeout=60)
    assert further.status_code == 200, "there is nothing to copy"
    client.delete(f"/sandboxes/{box['sandboxID']}")


TENANTS = """
alice: alice-has-a-token-of-her-own
bob: {token: bob-has-a-token-of-his-own, policies: [calculator, plugin], sessions: 1, memory_mb: 300}
carol: {token: carol-has-a-token-as-well, cpu_seconds_per_hour: 1}
erin: {token: erin-has-a-token-as-well, cpu_seconds_per_hour: 2}
fred: {token: fred-has-a-token-as-well, cpu_seconds_per_hour: 1}
gina: {token: gina-has-a-token-as-well, cpu_seconds_per_hour: 1}
dave: {token: dave-has-a-token-as-well, requests_per_minute: 3}
"""


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("tenants") / "tokens.yaml"
    path.write_text(TENANTS)
    with serving("--token-file", str(path), "--host", "0.0.0.0", "--allow-host", "Judge.example") as server:
        yield server


def of(tenants: Server, name: str) -> httpx.Client:
    token = next(word for word in re.findall(r"[\w-]+", TENANTS) if word.startswith(f"{name}-has"))
    return httpx.Client(
        base_url=f"http://127.0.0.1:{tenants.port}", headers={"X-API-Key": token}, timeout=60, verify=PLAIN
    )


def test_what_the_line_of_a_tenant_says_holds_and_the_server_knows_its_names(tenants: Server) -> None:
    assert tenants.token == "(in-the-token-file)"
    with of(tenants, "alice") as alice:
        assert alice.post("/run_code", json=HELLO).json()["run_result"]["stdout"] == "hello\n"
        for host, status in {"judge.example:80": 200, "10.0.0.1": 200, "[::1]:1": 200, "evil.example": 421}.items():
            assert alice.get("/healthz", headers={"Host": host}).status_code == status
    with of(tenants, "bob") as bob:
        answer = bob.post("/run_code", json={"code": "import textwrap, numbers, zoneinfo, sys; sys.version"}).json()
        assert answer["run_result"]["stderr"] == ""
        assert bob.post("/run_code", json={"code": "import csv"}).json()["status"] == "Failed"


def test_requests_per_minute_and_cpu_seconds_per_hour(tenants: Server) -> None:
    with of(tenants, "dave") as dave:
        answers = [dave.post("/run_code", json=HELLO) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    spend = {"code": "import time\nwhile time.process_time() < 1.5: pass", "run_timeout": 60}
    with of(tenants, "carol") as carol:
        assert carol.post("/run_code", json=spend).json()["status"] == "Success"
        answer = carol.post("/run_code", json=HELLO)
        assert (answer.status_code, answer.json()["type"]) == (429, "Quota")
        assert 1 <= int(answer.headers["Retry-After"]) <= 2 * 3600  # it was overdrawn


@pytest.mark.parametrize(("name", "path", "source"), [("fred", "/run_code", "code"), ("gina", "/v1/run", "source")])
def test_a_program_whose_client_leaves_is_counted(tenants: Server, name: str, path: str, source: str) -> None:
    def leave(client: httpx.Client) -> bool:
        try:
            return client.post(path, json={source: "while True: pass"}, timeout=1.0).status_code == 429
        except httpx.ReadTimeout:
            return False

    with of(tenants, name) as client:
        assert client.post(path, json={source: "1"}).status_code == 200  # its sandbox is open from then on
        assert any(leave(client) for _ in range(60))


def test_what_describes_a_variable_counts_as_a_step_does(tenants: Server) -> None:
    source = """
import time
class Slow:
    def __repr__(self):
        end = time.process_time() + seconds
        while time.process_time() < end: pass
        return 'slow'
seconds, slow = 0.0, Slow()
"""
    with of(tenants, "erin") as erin:
        session = f"/v1/sessions/{erin.post('/v1/sessions', json={}).json()['session']}"
        for step in (source, "seconds = 1.2"):  # each step describes what it has bound
            assert erin.post(f"{session}/run", json={"source": step}).json()["ok"]
        assert erin.post(f"{session}/variables", json={}).status_code == 200
        for method, body in {
            "run": {"source": "1"},
            "get": {"name": "slow"},
            "variables": {},
            "command": {"argv": ["true"]},
            "save": {},
            "branch": {"n": 1},
            "list_files": {},
        }.items():
            answer = erin.post(f"{session}/{method}", json=body)
            assert (method, answer.status_code, answer.json().get("type")) == (method, 429, "Quota")
        for method in ("cancel", "close"):
            assert erin.post(f"{session}/{method}", json={}).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "text", "complaint"),
    [
        (("--token-file", "FILE"), "", "empty"),
        (("--token-file", "FILE"), "alice: {token: a-token-of-many-letters, policies: [nowhere]}", "nowhere"),
        (("--token-file", "FILE"), "alice: a-token-of-many-letters\nbob: a-token-of-many-letters", "same token"),
        (("--token-file", "/no/such/file"), "", "/no/such/file"),
        (("--host", "0.0.0.0"), "", "token-file"),
        (("--host", "no address"), "", "no address"),
        (("--policy", "nowhere"), "", "nowhere"),
        (("--allow-policy", "nowhere"), "", "nowhere"),
    ],
)
def test_wrong_options_start_nothing(tmp_path: Path, arguments: tuple[str, str], text: str, complaint: str) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text(text)
    with pytest.raises(AssertionError, match=complaint) as raised:
        start(*(word.replace("FILE", str(path)) for word in arguments))
    assert "Traceback" not in str(raised.value)
    assert "a-token-of" not in str(raised.value)


def test_told_to_stop_it_ends_what_runs() -> None:
    """The step has a grace of five seconds; who waits for it is told."""
    server = start("--policy", "standard")
    body = json.dumps({"code": "while True: pass", "run_timeout": 50}).encode()
    head = f"POST /run_code HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {server.token}\r\nContent-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
        with server.client() as client:
            until(lambda: "safeexec_sessions 1.0" in client.get("/metrics").text)
        stop(server)
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 503")
    assert json.loads(answer.rpartition(b"\r\n")[2])["type"] == "Stopping"
