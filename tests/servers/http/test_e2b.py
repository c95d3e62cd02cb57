"""The shape of E2B: by its own SDK, and by hand for what an SDK does not do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from safeexec import Display, Result
from tests.alone import ran
from tests.footprint import until
from tests.servers.serving import BOB, PLAIN, Server, clients, needs_server, serving_two

e2b = pytest.importorskip("safeexec.servers.http.e2b")
pytestmark = needs_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_two("confined-python", "policies: [confined-python]") as server:
        yield server


@pytest.fixture
def box(bob: httpx.Client) -> Iterator[dict[str, Any]]:
    created = bob.post("/v2/sandboxes", json={"templateID": "any", "timeout": 60})
    assert created.status_code == 201
    yield created.json()
    bob.delete(f"/sandboxes/{created.json()['sandboxID']}")


def of(server: Server, box: dict[str, Any]) -> httpx.Client:
    """As the SDK calls a sandbox: with its own token alone."""
    headers = {"X-Access-Token": box["envdAccessToken"], "E2b-Sandbox-Id": box["sandboxID"]}
    return httpx.Client(base_url=server.url, headers=headers, timeout=60, verify=PLAIN)


def run(client: httpx.Client, code: str, **more: Any) -> list[dict[str, Any]]:
    answer = client.post("/execute", json={"code": code, **more})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def value(client: httpx.Client, code: str, **more: Any) -> str | None:
    """What the cell is, as text."""
    return next((row["text"] for row in run(client, code, **more) if row["type"] == "result"), None)


SDK = r"""
import json, os, sys
os.environ["E2B_API_URL"] = os.environ["E2B_SANDBOX_URL"] = sys.argv[1]
os.environ["E2B_API_KEY"] = sys.argv[2]
from e2b import SandboxQuery
from e2b_code_interpreter import Sandbox
told = {}
box = Sandbox.create(timeout=60, metadata={"a": "b c"})
told["create"] = [box.is_running(), box.run_code("x = 1; x").text]
heard = []
cell = box.run_code("import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.2)",
                    on_stdout=lambda message: heard.append((message.timestamp, message.line)))
told["stream"] = [cell.logs.stdout, heard[-1][0] - heard[0][0] > 200_000_000, cell.execution_count]
failed = box.run_code("1/0")
told["fail"] = [failed.error.name, failed.error.traceback.splitlines()[-1][:5]]
read = "open('a/b.txt').read()"
told["files"] = [box.files.write("a/b.txt", "x").path, box.files.read("/home/user/a/b.txt"), box.run_code(read).text]
forks = box.fork(count=3)
for number, fork in enumerate(forks):
    fork.run_code(f"x += {number}")
told["fork"] = [fork.run_code("x").text for fork in forks] + [box.run_code("x").text]
context = box.create_code_context()
told["context"] = [box.run_code(read, context=context).text, box.run_code("x", context=context).error.name]
box.remove_code_context(context)
told["contexts"] = len(box.list_code_contexts())
told["pause"] = [box.pause(), box.pause(), box.is_running(), str(box.get_info().state.value)]
box = Sandbox.connect(box.sandbox_id)
told["resume"] = [box.run_code("x").text, box.files.read("a/b.txt")]
told["list"] = len(Sandbox.list().next_items())
pages, paginator = [], Sandbox.list(SandboxQuery(metadata={"a": "b c"}), limit=3)
while paginator.has_next:
    pages += [len(paginator.next_items())]
told["pages"] = pages
read = "import os; [os.environ.get(name) for name in 'ABC']"
told["environment"] = [box.run_code(read, envs={"B": "2"}).text, box.run_code(read).text]
with_some = Sandbox.create(envs={"A": "1"})
told["environment"] += [with_some.run_code(read, envs={"C": "'"}).text, with_some.fork()[0].run_code(read).text]
try:
    box.commands.run("ls")
except Exception as error:
    told["process"] = "not offered" in str(error)
try:
    box.run_code("while True: pass", timeout=1)
except Exception as error:
    told["leave"] = [type(error).__name__, box.run_code("x").text]
told["kill"] = [box.kill(), box.kill(), box.is_running()]
print(json.dumps(told))
"""


def test_e2bs_own_sdk(server: Server, tmp_path: Path) -> None:
    done = ran([clients(), "-c", SDK, server.url, BOB], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "create": [True, "1"],
        "stream": [["0\n", "1\n", "2\n"], True, 2],
        "fail": ["ZeroDivisionError", "hint:"],
        "files": ["/home/user/a/b.txt", "x", "'x'"],
        "fork": ["1", "2", "3", "1"],
        "context": ["'x'", "NameError"],
        "contexts": 1,
        "pause": [True, False, False, "paused"],
        "resume": ["1", "x"],
        "list": 4,
        "pages": [3, 1],
        "environment": ["[None, '2', None]", "[None, None, None]", """['1', None, "'"]""", "['1', None, None]"],
        "process": True,
        "leave": ["TimeoutException", "1"],
        "kill": [True, False, False],
    }


def test_what_an_sdk_may_ask_for_and_ours_does_not(server: Server, bob: httpx.Client, box: dict[str, Any]) -> None:
    one = f"/sandboxes/{box['sandboxID']}"
    assert (bob.get(one).json()["state"], bob.get(f"{one}/metrics").json()) == ("running", [])
    assert bob.post(f"{one}/timeout", json={"timeout": 60}).status_code == 204
    assert bob.post(f"{one}/resume", json={}).status_code == 409
    with of(server, box) as inside:
        (put,) = inside.post("/files", files={"file": ("a;b.txt", b"hi")}).json()
        assert put == {"name": "a;b.txt", "type": "file", "path": "/home/user/a;b.txt"}
        assert inside.get("/files", params={"path": put["path"]}).content == b"hi"
        assert inside.get("/files", params={"path": "no"}).status_code == 404
        environment = "import os; str(os.environ.get('A'))"
        assert value(inside, environment, env_vars={"A": "1"}) == "'1'" and value(inside, environment) == "'None'"
        context = inside.post("/contexts", json={}).json()["id"]
        assert value(inside, "open('a;b.txt').read()", context_id=context) == "'hi'"
        assert [row["id"] for row in inside.get("/contexts").json()] == ["default", context]
        assert inside.delete("/contexts/default").status_code == 400
        assert inside.delete(f"/contexts/{context}").status_code == 204
        assert inside.post("/execute", json={"code": "1", "context_id": context}).status_code == 404


def test_sandboxes_are_found_by_their_metadata_page_by_page(server: Server, bob: httpx.Client) -> None:
    first = bob.post("/sandboxes", json={"metadata": {"k": "v"}}).json()
    with of(server, first) as inside:
        run(inside, "x = 1")
    (fork,) = bob.post(f"/sandboxes/{first['sandboxID']}/fork", json={}).json()
    with of(server, fork["sandbox"]) as inside:
        assert value(inside, "x") == "1"
    found = bob.get("/v2/sandboxes", params={"metadata": "k=v", "limit": 1})
    rest = bob.get("/v2/sandboxes", params={"metadata": "k=v", "nextToken": found.headers["x-next-token"]})
    made = [row["sandboxID"] for row in found.json() + rest.json()]
    assert made == [fork["sandbox"]["sandboxID"], first["sandboxID"]]
    assert [bob.delete(f"/sandboxes/{one}").status_code for one in made] == [204, 204]


def test_only_the_sandboxs_own_tokens_count_inside_it(server: Server, bob: httpx.Client, box: dict[str, Any]) -> None:
    body = {"code": "1"}
    named = {"E2b-Sandbox-Id": box["sandboxID"]}
    assert bob.post("/execute", json=body, headers=named).status_code == 401
    assert httpx.post(server.url + "/execute", json=body).status_code == 401
    for token in ("x", BOB, "", box["envdAccessToken"][:-1]):
        headers = named | {"X-Access-Token": token}
        assert httpx.post(server.url + "/execute", json=body, headers=headers).status_code == 401
    for name, key in (("X-Access-Token", "envdAccessToken"), ("E2B-Traffic-Access-Token", "trafficAccessToken")):
        for more in ({}, named):
            answer = httpx.post(server.url + "/execute", json=body, headers={name: box[key], **more}, timeout=30)
            assert answer.status_code == 200
    other = bob.post("/sandboxes", json={}).json()
    headers = named | {"X-Access-Token": other["envdAccessToken"]}
    assert httpx.post(server.url + "/execute", json=body, headers=headers).status_code == 401


def test_another_tenant_finds_nothing(
    eve: httpx.Client, box: dict[str, Any], server: Server, bob: httpx.Client
) -> None:
    one = f"/sandboxes/{box['sandboxID']}"
    assert box["sandboxID"] not in eve.get("/v2/sandboxes").text
    assert eve.get(one).status_code == 404
    assert eve.delete(one).status_code == 404
    for verb in ("timeout", "connect", "resume", "pause", "fork"):
        assert eve.post(f"{one}/{verb}", json={"timeout": 5}).status_code == 404
        assert eve.post(f"/v2{one}/{verb}", json={"timeout": 5}).status_code == 404
    with of(server, box) as inside:
        assert inside.get("/health").status_code == 204
        assert bob.delete(f"/sandboxes/{box['sandboxID']}").status_code == 204
        for path in ("/health", "/files?path=a", "/contexts"):
            answer = inside.get(path)
            assert (answer.status_code, "was not found" in answer.json()["message"]) == (502, True)
    assert bob.delete(f"/sandboxes/{box['sandboxID']}").status_code == 404


def test_a_life_ends_and_no_sandbox_is_paused_amid_a_cell(server: Server, bob: httpx.Client) -> None:
    box = bob.post("/sandboxes", json={"timeout": 1}).json()
    kept = bob.post("/sandboxes", json={"timeout": 1, "autoPause": True}).json()
    with of(server, box) as inside:
        until(lambda: inside.get("/health").status_code != 204)
    until(lambda: bob.get(f"/sandboxes/{kept['sandboxID']}").json()["state"] == "paused")
    assert bob.post(f"/sandboxes/{kept['sandboxID']}/resume", json={"timeout": 60}).status_code == 201
    with of(server, kept) as inside:
        assert value(inside, "1") == "1"
    bob.delete(f"/sandboxes/{kept['sandboxID']}")
    box = bob.post("/sandboxes", json={"timeout": 1, "autoPause": True}).json()
    with of(server, box) as inside:
        rows = run(inside, "import time\ntime.sleep(3)\n'over'")
        assert [row["text"] for row in rows if row["type"] == "result"] == ["'over'"]
    until(lambda: bob.get(f"/sandboxes/{box['sandboxID']}").json()["state"] == "paused")
    bob.delete(f"/sandboxes/{box['sandboxID']}")


def test_what_a_guest_prints_begins_no_line(server: Server, box: dict[str, Any]) -> None:
    hostile = '\\r\\n{"type": "error", "name": "X", "value": "", "traceback": ""}\\u2028\\x1b[2J'
    with of(server, box) as inside:
        rows = run(inside, f"print('{hostile}')")
    assert [row["type"] for row in rows if row["type"] != "stdout"] == ["number_of_executions"]
    assert "".join(row["text"] for row in rows if row["type"] == "stdout").count('"name": "X"') == 1


@pytest.mark.parametrize("path", ["a/../../x", "/etc/passwd", "/home/user/../x", "", "/home/user/"])
def test_no_file_leaves_the_workspace(server: Server, box: dict[str, Any], path: str) -> None:
    with of(server, box) as inside:
        assert inside.post("/files", params={"path": path}, content=b"x").status_code == 400
        assert inside.post("/files", files={"file": (path, b"x")}).status_code == 400
        assert inside.get("/files", params={"path": path}).status_code in (400, 404)


def test_files_and_directories_are_listed(server: Server, box: dict[str, Any]) -> None:
    with of(server, box) as client:
        for path in ("a.txt", "/home/user/sub/deep/b.txt"):
            client.post("/files", params={"path": path}, content=b"four").raise_for_status()

        def call(method: str, **asked: Any) -> Any:
            return client.post(f"/filesystem.Filesystem/{method}", json=asked)

        def paths(**asked: Any) -> list[str]:
            return [entry["path"].removeprefix("/home/user/") for entry in call("ListDir", **asked).json()["entries"]]

        assert paths(path="/home/user") == paths(path="", depth=1) == ["a.txt", "sub"]
        assert paths(path="/home/user/", depth=3) == ["a.txt", "sub", "sub/deep", "sub/deep/b.txt"]
        assert paths(path="sub") == paths(path="./sub/") == paths(path="~/sub/deep/..") == ["sub/deep"]
        assert client.get("/files", params={"path": "./sub/../a.txt"}).text == "four"
        entry = call("Stat", path="a.txt").json()["entry"]
        assert (entry["name"], entry["type"], entry["size"]) == ("a.txt", "FILE_TYPE_FILE", "4")
        assert call("Stat", path="/home/user/sub").json()["entry"]["type"] == "FILE_TYPE_DIRECTORY"
        for method, path in (("Stat", "nope"), ("Stat", "/etc/passwd"), ("ListDir", "a.txt"), ("Stat", "../x")):
            answer = call(method, path=path)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert client.post("/filesystem.Filesystem/Stat", content=b"\n\x05a.txt").status_code == 422


def test_what_is_not_offered_says_so(server: Server, bob: httpx.Client, box: dict[str, Any]) -> None:
    for body in ({"envVars": {"A=": "1"}}, {"mcp": {"x": 1}}, {"network": {"x": 1}}, {"iam": 1}, {"volumeMounts": [1]}):
        assert "not offered" in bob.post("/sandboxes", json=body).json()["message"]
    nothing = {"mcp": None, "network": {}, "iam": False, "volumeMounts": []}
    made = bob.post("/sandboxes", json=nothing)
    assert made.status_code == 201 and bob.delete(f"/sandboxes/{made.json()['sandboxID']}").status_code == 204
    refused = bob.post(f"/sandboxes/{box['sandboxID']}/snapshots", json={})
    assert (refused.status_code, refused.json()["type"]) == (400, "NotOffered")
    with of(server, box) as inside:
        for body in ({"language": "r"}, {"env_vars": {"A": "\0"}}):
            answer = inside.post("/execute", json={"code": "1", **body})
            assert (answer.status_code, answer.json()["type"]) == (400, "NotOffered")
        assert inside.post("/contexts", json={"cwd": "/etc"}).status_code == 400
        answer = inside.post("/process.Process/Start", content=b"\0\0\0\0\0")
        assert (answer.status_code, answer.json()["code"]) == (501, "unimplemented")
        streamed = {"Content-Type": "application/connect+proto"}
        answer = inside.post("/process.Process/Start", content=b"\0\0\0\0\0", headers=streamed)
        assert (answer.content[0], int.from_bytes(answer.content[1:5])) == (2, len(answer.content) - 5)
        assert json.loads(answer.content[5:])["error"]["code"] == "unimplemented"
        assert inside.post("/files?path=a", content=b"x", headers={"Content-Encoding": "gzip"}).status_code == 415
        assert inside.post("/files", content=b"x", headers={"Content-Type": "multipart/form-data"}).status_code == 400


LONG = b"x" * 1001
BODIES = [
    b"", b"[]", b"{", b'{"timeout": 1e99}', b'{"metadata": {"a": 1}}', b'{"templateID": "%s"}' % LONG,
    b'{"metadata": {"a": "%s"}}' % LONG, json.dumps({"metadata": {str(number): "" for number in range(101)}}).encode(),
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_does_not_fit_is_refused(bob: httpx.Client, body: bytes) -> None:
    assert bob.post("/sandboxes", content=body).status_code == 422


def test_a_query_that_does_not_fit_is_refused_and_a_key_creates_one_sandbox(bob: httpx.Client) -> None:
    for query in ("limit=0", "limit=x", "limit=9999999999", "nextToken=1", "nextToken=2024-01-01T00:00:00"):
        assert bob.get(f"/v2/sandboxes?{query}").status_code == 400
    made = [bob.post("/v2/sandboxes", json={}, headers={"Idempotency-Key": "k-1"}).json() for _ in range(2)]
    assert made[0] == made[1]
    other = bob.post("/v2/sandboxes", json={"timeout": 5}, headers={"Idempotency-Key": "k-1"})
    assert (other.status_code, other.json()["type"]) == (409, "RequestIdUsed")
    alike = [bob.post("/sandboxes", json={}, headers={"Idempotency-Key": "k" * 255 + end}).json() for end in "ab"]
    assert alike[0]["sandboxID"] != alike[1]["sandboxID"]
    for box in (made[0], *alike):
        bob.delete(f"/sandboxes/{box['sandboxID']}")


def test_a_quota_holds_for_forks_and_contexts(server: Server, eve: httpx.Client) -> None:
    box = eve.post("/sandboxes", json={}).json()
    made = eve.post(f"/sandboxes/{box['sandboxID']}/fork", json={"count": 3}).json()
    assert [next(iter(one)) for one in made] == ["sandbox", "error", "error"]
    assert made[1]["error"]["code"] == 429
    full = eve.post("/sandboxes", json={})
    assert (full.status_code, full.headers["retry-after"]) == (429, "1")
    with of(server, box) as inside:
        assert inside.post("/contexts", json={}).status_code == 429
    for row in eve.get("/sandboxes").json():
        assert eve.delete(f"/sandboxes/{row['sandboxID']}").status_code == 204
    again = eve.post("/sandboxes", json={})
    assert again.status_code == 201
    eve.delete(f"/sandboxes/{again.json()['sandboxID']}")


def test_cells_of_a_context_queue_and_a_client_that_leaves_stops_its_own(server: Server, box: dict[str, Any]) -> None:
    with of(server, box) as inside:
        run(inside, "x = 1")
        with pytest.raises(httpx.ReadTimeout):
            inside.post("/execute", json={"code": "x = 2\nwhile True: pass"}, timeout=0.5)
        started = monotonic()
        assert value(inside, "x") == "1"
        assert monotonic() - started < 30


def test_a_sandbox_is_killed_while_a_cell_runs(server: Server, bob: httpx.Client, box: dict[str, Any]) -> None:
    one = f"/sandboxes/{box['sandboxID']}"
    body = {"code": "print('a')\nwhile True: pass"}
    with of(server, box) as inside, inside.stream("POST", "/execute", json=body) as answer:
        lines = answer.iter_lines()
        while '"a' not in next(lines):
            pass
        assert bob.post(f"{one}/pause").status_code == 429
        assert bob.post(f"{one}/fork", json={}).status_code == 429
        assert bob.delete(one).status_code == 204
        assert json.loads([*lines][-1])["type"] == "error"


def open_now(client: httpx.Client) -> str:
    return next(line for line in client.get("/metrics").text.splitlines() if line.startswith("safeexec_sessions "))


def test_what_changes_at_once_leaves_nothing_behind(server: Server, bob: httpx.Client) -> None:
    """Contexts that are begun anew side by side, while the sandbox is killed."""
    before = open_now(bob)
    for last in ("restart", "kill"):
        created = bob.post("/sandboxes", json={}).json()
        one = f"/sandboxes/{created['sandboxID']}"
        with of(server, created) as inside, ThreadPoolExecutor(8) as pool:
            begun = [pool.submit(inside.post, "/contexts/default/restart") for _ in range(6)]
            killed = pool.submit(bob.delete, one) if last == "kill" else None
            assert {answer.result().status_code for answer in begun} <= {200, 404, 502}
        assert (killed.result() if killed is not None else bob.delete(one)).status_code == 204
        assert open_now(bob) == before


def test_a_paused_sandbox_loses_nothing_and_no_time(server: Server, bob: httpx.Client, box: dict[str, Any]) -> None:
    one = f"/sandboxes/{box['sandboxID']}"
    with of(server, box) as inside:
        run(inside, "g = (i for i in range(3)); next(g)")
        assert bob.post(f"{one}/timeout", json={"timeout": 1}).status_code == 204
        assert bob.post(f"{one}/pause").status_code == 204
        for refused in (f"{one}/pause", f"{one}/fork"):
            assert bob.post(refused, json={}).status_code == 409
        other = bob.post("/sandboxes", json={"timeout": 2}).json()["sandboxID"]
        until(lambda: bob.get(f"/sandboxes/{other}").status_code != 200)  # it is younger, and lives longer
        assert bob.get(one).json()["state"] == "paused"
        assert bob.post(f"{one}/connect", json={"timeout": 60}).status_code == 201
        assert value(inside, "next(g)") == "1"


def test_a_connection_makes_no_life_shorter(server: Server, bob: httpx.Client, box: dict[str, Any]) -> None:
    one = f"/sandboxes/{box['sandboxID']}"
    before = bob.get(one).json()["endAt"]
    assert bob.post(f"{one}/connect", json={"timeout": 1}).status_code == 200
    assert bob.get(one).json()["endAt"] == before
    assert bob.post(f"{one}/connect", json={"timeout": 600}).status_code == 200
    assert bob.get(one).json()["endAt"] > before
    with of(server, box) as inside:
        (*_, failed) = run(inside, "1 / 0")
        assert (failed["type"], failed["name"], failed["value"]) == ("error", "ZeroDivisionError", "division by zero")
        assert bob.post(f"{one}/pause").status_code == 204
        paused = inside.post("/execute", json={"code": "1"})
        assert (paused.status_code, paused.json()["type"]) == (502, "Paused")


def test_what_cannot_be_copied_leaves_no_session_behind(server: Server, bob: httpx.Client, box: dict[str, Any]) -> None:
    before = open_now(bob)
    with of(server, box) as inside:
        run(inside, "open('a\\nb', 'w').close()")
        refused = inside.post("/contexts", json={})
        assert (refused.status_code, refused.json()["type"]) == (400, "WorkspaceError")
        assert open_now(bob) == before
        run(inside, "import os; os.remove('a\\nb')")
        assert inside.post("/contexts", json={}).status_code == 200


# How a cell is shown


def test_a_value_that_was_displayed_is_shown_once_and_is_the_main_result() -> None:
    rich = Display({"text/plain": b"Table(2)", "text/html": b"<table>"})
    first, last = e2b.shown(Result("ok", text="Table(2)", displays=(Display({"text/plain": b"a"}), rich)))
    assert e2b.as_result(first) == {"is_main_result": False, "text": "a"}
    assert e2b.as_result(last) == {"is_main_result": True, "text": "Table(2)", "html": "<table>"}
    figure = Display({"text/plain": b"Figure()", "image/png": b"\x89PNG"})
    rows = [e2b.as_result(part) for part in e2b.shown(Result("ok", text="Figure()", displays=(figure,)))]
    assert [row["is_main_result"] for row in rows] == [False, True], "a figure is no value"
    assert (rows[0]["png"], rows[1]["text"]) == ("iVBORw==", "Figure()")


def test_json_is_read_and_written_and_what_cannot_be_is_extra() -> None:
    data = {"application/json": '{"a": [1]}', "application/x-own": b"\xff"}
    shown = e2b.as_result(e2b.ShownPart(data, False))
    assert shown == {"is_main_result": False, "json": {"a": [1]}, "extra": {"application/x-own": "/w=="}}
    for text in ("{", "[" * 100_000, '{"a": NaN}'):
        assert e2b.as_result(e2b.ShownPart({"application/json": text}, True))["extra"] == {"application/json": text}
    # Each depth: between those that are read and those that are not were two that were read and not written.
    for depth in range(90, 1100):
        row = e2b.as_result(e2b.ShownPart({"application/json": "[" * depth + "]" * depth}, True))
        e2b.answer([{"execution": {"results": [row]}}])
        assert ("json" in row) != ("extra" in row)
