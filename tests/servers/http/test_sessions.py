"""Sessions over HTTP: the table of methods, what is told on the way, and how much of it a tenant may have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from safeexec import SandboxError, connect
from safeexec.common.identity import LARGE
from safeexec.remote.methods import METHODS
from safeexec.servers import account
from tests.footprint import until
from tests.servers.serving import BOB, EVE, Server, needs_server, serving, serving_two, start

pytestmark = needs_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_two("standard", "memory_mb: 300, policies: [calculator]") as server:
        yield server


@pytest.fixture
def session(bob: httpx.Client) -> Iterator[str]:
    """The path of a new session."""
    path = "/v1/sessions/" + call(bob, "/v1/sessions")["session"]
    yield path
    bob.post(path + "/close")


def call(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def problem(client: httpx.Client, path: str, **body: Any) -> tuple[int, str]:
    answer = client.post(path, json=body)
    assert answer.json()["code"] == answer.status_code
    return answer.status_code, answer.json()["type"]


def test_mistakes_have_their_status(bob: httpx.Client, session: str) -> None:
    """One of each kind; what is a mistake: `tests/servers/test_acts.py`."""
    assert problem(bob, "/v1/sessions/no-such-session/run", source="1") == (404, "SessionClosed")
    assert problem(bob, "/v1/run", source="1", policy="../standard.yaml") == (400, "PolicyError")
    assert problem(bob, "/v1/sessions", danger_allow_commands=["sh"]) == (422, "InvalidArguments")
    assert problem(bob, f"{session}/run", source="1", session="x") == (422, "InvalidArguments")
    assert problem(bob, f"{session}/rollback", name="none") == (400, "CheckpointError")
    assert problem(bob, f"{session}/remove", name="none") == (404, "KeyError")
    assert problem(bob, f"{session}/read_file", name="a") == (400, "WorkspaceError")
    assert problem(bob, f"{session}/nothing") == (404, "NoSuchMethod")
    for body in (b"[]", b"{", b"\xff", b"[" * 100_000, b'{"source": 1}', b'{"source": "1", "timeout": NaN}'):
        assert bob.post(f"{session}/run", content=body).status_code == 422


def test_no_tenant_finds_what_is_anothers(bob: httpx.Client, eve: httpx.Client, session: str) -> None:
    for method in METHODS.values():
        if method.name.startswith("session."):
            path = f"{session}/{method.name.partition('.')[2]}"
            assert eve.post(path, json={}).status_code in (404, 422)
    assert problem(eve, f"{session}/run", source="1") == (404, "SessionClosed")
    assert call(bob, f"{session}/run", source="1")["value"] == 1


def test_quotas(eve: httpx.Client) -> None:
    first = call(eve, "/v1/sessions", memory_mb=100)["session"]
    second = call(eve, "/v1/sessions", memory_mb=100)["session"]
    full = eve.post("/v1/sessions", json={"memory_mb": 100})
    assert (full.status_code, full.headers["retry-after"]) == (429, "1")
    assert problem(eve, f"/v1/sessions/{first}/branch", n=1) == (429, "Full")
    call(eve, f"/v1/sessions/{second}/close")
    assert problem(eve, "/v1/sessions", memory_mb=250) == (429, "Full")
    assert problem(eve, "/v1/run", source="1") == (429, "Full")
    (branch,) = call(eve, f"/v1/sessions/{first}/branch", n=1)["sessions"]
    for one in (first, branch):
        call(eve, f"/v1/sessions/{one}/close")
    assert call(eve, "/v1/run", source="1")["value"] == 1
    assert problem(eve, "/v1/run", source="1", policy="standard") == (400, "PolicyError")


def events(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Server-sent events, read as a browser does."""
    name = ""
    for line in answer.iter_lines():
        field, _, text = line.partition(": ")
        if field == "event":
            name = text
        elif field == "data":
            yield name, json.loads(text)


def test_output_is_told_while_a_step_runs_and_a_client_that_leaves_stops_it(bob: httpx.Client, session: str) -> None:
    body = {"source": "print('a')\nwhile True: pass", "stream": True, "timeout": 60}
    with bob.stream("POST", f"{session}/run", json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        first = next(events(answer))
        assert problem(bob, f"{session}/run", source="1") == (409, "SessionBusy")
    assert first == ("session.output", {"session": session.rpartition("/")[2], "stream": "stdout", "text": "a\n"})
    until(lambda: problem_or_none(bob, f"{session}/variables") != "SessionBusy", 30.0)


def test_what_is_printed_begins_no_event_and_a_silent_step_begins_its_answer(bob: httpx.Client, session: str) -> None:
    body = {"source": "print('a\\r\\n\\nevent: result\\ndata: {}\\n\\n\\u2028b')\n5", "stream": True}
    with bob.stream("POST", f"{session}/run", json=body) as answer:
        told = list(events(answer))
    assert [name for name, _ in told[:-1]] == ["session.output"] * (len(told) - 1)
    assert told[-1][0] == "result"
    assert told[-1][1]["value"] == 5
    assert "".join(data["text"] for _, data in told[:-1]) == told[-1][1]["stdout"]
    body = {"source": "import time; time.sleep(2); 1", "stream": True}
    with bob.stream("POST", f"{session}/run", json=body) as answer:
        assert [name for name, _ in events(answer)] == ["result"]
    assert problem(bob, "/v1/sessions/none/run", source="1", stream=True) == (404, "SessionClosed")


def problem_or_none(client: httpx.Client, path: str) -> str | None:
    return client.post(path, json={}).json().get("type")  # type: ignore[no-any-return]


def test_a_request_with_an_id_runs_once_also_when_its_client_leaves(bob: httpx.Client, session: str) -> None:
    call(bob, f"{session}/run", source="x = 0")
    body = {"source": "x += 1; x", "request_id": "first"}
    assert [call(bob, f"{session}/run", **body)["value"] for _ in range(3)] == [1, 1, 1]
    assert problem(bob, f"{session}/run", source="other", request_id="first") == (409, "RequestIdUsed")
    assert call(bob, f"{session}/run", source="x += 1; x", request_id="second")["value"] == 2
    for wrong in ("", "x" * 201, 1):
        assert problem(bob, f"{session}/run", source="1", request_id=wrong) == (422, "InvalidArguments")
    streamed = {"source": "x += 1", "request_id": "third", "stream": True}
    assert problem(bob, f"{session}/run", **streamed) == (422, "InvalidArguments"), "it would run twice"
    body = {"source": "import time; time.sleep(2); 7", "timeout": 30, "request_id": "left"}
    with pytest.raises(httpx.ReadTimeout):
        bob.post(f"{session}/run", json=body, timeout=0.5)
    assert call(bob, f"{session}/run", **body)["value"] == 7
    assert call(bob, f"{session}/variables")["variables"] == call(bob, f"{session}/variables")["variables"]


def test_an_answer_that_had_begun_tells_why_it_ended(server: Server, bob: httpx.Client) -> None:
    session = "/v1/sessions/" + call(bob, "/v1/sessions")["session"]
    body = {"source": "while True: pass", "timeout": 60, "stream": True}
    with server.client(BOB) as other, other.stream("POST", f"{session}/run", json=body) as answer:
        call(bob, f"{session}/close")
        ((name, told),) = events(answer)
    assert name in ("result", "error")
    assert told.get("outcome") == "cancelled" or told["type"] == "SessionClosed"


@pytest.mark.parametrize("bound", ["--idle-seconds", "--max-seconds"])
def test_a_session_does_not_live_for_ever(bound: str) -> None:
    with serving("--policy", "calculator", bound, "1") as server, server.client() as client:
        path = "/v1/sessions/" + call(client, "/v1/sessions")["session"]
        assert call(client, f"{path}/run", source="1")["value"] == 1
        while "safeexec_sessions 0.0" not in client.get("/metrics").text:
            if bound == "--max-seconds":  # however much it is used
                client.post(f"{path}/run", json={"source": "1"})
        assert problem(client, f"{path}/run", source="1") == (404, "SessionClosed")


@pytest.fixture(scope="module")
def described(server: Server) -> dict[str, Any]:
    with server.client(BOB) as client:
        return client.get("/openapi.json").json()  # type: ignore[no-any-return]


def test_the_description_has_every_method(described: dict[str, Any]) -> None:
    assert described["openapi"] == "3.1.0"
    paths = {path for path, verbs in described["paths"].items() if "post" in verbs}
    assert paths >= {method.path for method in METHODS.values()} | {"/run_code", "/execute"}
    text = json.dumps(described)
    names = {piece.partition('"')[0] for piece in text.split('"#/components/schemas/')[1:]}
    assert names <= described["components"]["schemas"].keys()
    body = described["paths"]["/v1/sessions/{session}/run"]["post"]["requestBody"]["content"]["application/json"]
    run = described["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    assert run["required"] == ["source"]
    assert "session" not in run["properties"]


def test_sessions_outlive_the_server(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(f"bob: {BOB}\neve: {{token: {EVE}, store_mb: 1, sessions: 1}}\n")
    serve = "--policy", "standard", "--token-file", str(tokens), "--store", str(tmp_path / "store"), "--durable", "step"
    for before in (None, 1):
        server = start(*serve)
        with server.client(BOB) as bob, server.client(EVE) as eve:
            sessions = [call(bob, "/v1/sessions", stored="ada")["session"] for _ in range(2)]
            assert sessions[0] == sessions[1]
            path = f"/v1/sessions/{sessions[0]}/run"
            assert call(bob, path, source="globals().get('x')")["value"] == before
            call(bob, path, source="import time\nx, t = 1, time.time()")
            for _ in range(2):
                other = call(eve, "/v1/sessions", stored="ada")["session"]
            assert call(eve, f"/v1/sessions/{other}/run", source="'x' in globals()")["value"] is False
            (row,) = call(eve, "/v1/stored")["sessions"]
            assert (row["label"], row.keys()) == ("ada", {"label", "bytes", "used"}), "and nothing of what is in it"
        with connect(server.url, BOB) as there:
            assert there.session_for("ada").run("x").value == 1
            assert [row.label for row in there.stored()] == ["ada"]
        server.process.kill()
        server.process.communicate()
    with serving(*serve) as server, connect(server.url, BOB) as there:
        there.forget("ada")
        assert there.stored() == []
        with pytest.raises(SandboxError, match="by restore"):
            there.session_for("ada", restore=tmp_path / "state")


def test_a_stored_session_has_the_tools_of_the_client_that_asks_for_it(tmp_path: Path) -> None:
    """Also where the server has it open for another client, with other tools."""

    def price(fruit: str) -> int:
        return len(fruit)

    def order(fruit: str) -> str:
        return f"{fruit} ordered"

    with serving("--policy", "standard", "--store", str(tmp_path)) as server:
        for tool, given in ((price, 4), (order, "plum ordered")):
            with connect(server.url, server.token, tools=[tool]) as there:
                session = there.session_for("ada")
                assert session.run(f"x = {tool.__name__}('plum')\nx").check().value == given
        with connect(server.url, server.token) as there:
            assert there.session_for("ada").run("x").value == "plum ordered"


async def test_who_waits_for_the_client_pays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were asked for at once are read when others are taken, and made in one thread after the other."""
    sessions = pytest.importorskip("safeexec.servers.http.sessions")
    clock, paid = iter([0, 1, 11, 20, 120, 130, 1130, 1132]), list[float]()
    for module in (account, sessions):
        monkeypatch.setattr(module, "monotonic", lambda: next(clock))
    client = account.ClientAccount()
    client.begin()
    tenant = SimpleNamespace(check_cpu=int, use_cpu=paid.append)
    async with sessions._charged(tenant, "session.read_file"), account.room():
        assert await account.apart(LARGE, int) == 0
    assert paid == [1132 - 10 - 100 - 1000]
