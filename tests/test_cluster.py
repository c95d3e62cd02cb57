"""A cluster of Ray on this machine: what `map` gives is what a sandbox gives, and a lost worker is told of."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
import yaml

import safeexec
from safeexec import PolicyError, Sandbox
from safeexec.servers.http.grants import Grant
from tests.footprint import gone, until

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'safeexec[cluster]'")
cluster = pytest.importorskip("safeexec.cluster")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]
TOKEN, TOKEN_OF_FEW = "a-token-of-the-tests", "another-token-of-the-tests"


@pytest.fixture(scope="module", autouse=True)
def started() -> Iterator[None]:
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    yield
    ray.shutdown()


@pytest.fixture(scope="module", autouse=True)
def _nothing_leaks() -> None:
    """Instead of that of the other modules: what Ray opens in its driver stays until the end of the process."""


def workers() -> list[psutil.Process]:
    """The processes of the actors."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            if "Grader" in " ".join(one.cmdline()):
                found.append(one)
    return found


def test_results_are_those_of_a_sandbox_in_their_order() -> None:
    programs: list[Any] = [f"print({n}); {n} * {n}" for n in range(200)]
    programs += ["1 / 0", {"source": "input()", "stdin": "told"}, "import os; os.fork()"]
    with Sandbox("standard") as sandbox:
        wanted = [(one.outcome, one.value, one.stdout) for one in sandbox.map(programs)]
    assert [(one.outcome, one.value, one.stdout) for one in cluster.map(programs, workers=2)] == wanted


@pytest.mark.parametrize("wrong", [{"argv": ["a\0b"]}, {"argv": "text"}, {"stdin": 5}])
def test_what_a_caller_does_wrong_is_an_error_as_in_a_sandbox(wrong: dict[str, Any]) -> None:
    programs: list[Any] = ["1", {"source": "2", **wrong}]
    with Sandbox("standard") as sandbox, pytest.raises((ValueError, TypeError)) as wanted:
        list(sandbox.map(programs))
    with pytest.raises(wanted.type) as raised:
        list(cluster.map(programs, workers=1))
    assert str(raised.value) == str(wanted.value)
    until(lambda: not workers())


def test_few_programs_are_read_ahead_and_leaving_ends_the_workers() -> None:
    read = itertools.count()
    results = cluster.map((f"{next(read)}" for _ in itertools.count()), workers=2)
    assert [next(results).value for _ in range(5)] == [0, 1, 2, 3, 4]
    assert next(read) < 2 * cluster.AHEAD * cluster.CHUNK
    until(lambda: 1 <= len(workers()) <= 2)  # on a busy machine one may still start, and one of before end
    results.close()
    gone(workers())


def test_what_a_lost_worker_had_is_told_and_nothing_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    give = cluster._Crew.give
    programs = [f"import time; time.sleep(0.01); {n}" for n in range(600)]
    programs[300] = "import time; time.sleep(8); 300"
    killers: list[threading.Timer] = []

    def noted(crew: Any, chosen: list[Any]) -> Any:
        worker = crew._free[-1]
        given.extend(chosen)
        if programs[300] in chosen:  # it is under way until then
            killers.append(threading.Timer(2.0, ray.kill, [worker]))
            killers[0].start()
        return give(crew, chosen)

    monkeypatch.setattr(cluster._Crew, "give", noted)
    found = list(cluster.map(programs, workers=3))
    killers[0].join()
    lost = [one for one in found if not one.ok]
    assert 0 < len(lost) <= cluster.CHUNK
    assert {one.error.type for one in lost} == {"WorkerLost"}
    assert all(one.value == n for n, one in enumerate(found) if one.ok)
    assert len(found) == 600 and given == programs


def test_what_keeps_a_sandbox_from_starting_is_raised() -> None:
    with pytest.raises(PolicyError):
        list(cluster.map(["1"], "no-such-profile"))
    with pytest.raises(TypeError, match="not int"):
        list(cluster.map([1]))
    with pytest.raises(TypeError, match="not one"):
        list(cluster.map("1"))


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of a server of three replicas. Two tenants: one has room for five sessions."""
    serve = pytest.importorskip("ray.serve")
    grants = {"most": Grant(token=TOKEN), "few": Grant(token=TOKEN_OF_FEW, sessions=5, requests_per_minute=60)}
    try:
        yield f"http://127.0.0.1:8000{cluster.serve(grants, 'calculator', replicas=3, path='/below')}"
    finally:
        serve.shutdown()


def replicas(name: str) -> list[psutil.Process]:
    """The processes of the replicas of an application, which are children of Ray's own."""
    found = []
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if one.username() == psutil.Process().username() and f"ServeReplica:{name}:" in "".join(one.cmdline()[:1]):
                found.append(one)
    return found


_SESSIONS = re.compile(r'^safeexec_sessions\{replica="\w+"\} (\d+)', re.MULTILINE)


def asked(address: str, about: str = "") -> str:
    """What the replica of a session says, or any."""
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {TOKEN}", "x-session-id": about})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def test_sessions_stay_where_they_are_and_health_and_counters_are_of_all_replicas(served: str) -> None:
    with safeexec.connect(served, TOKEN) as sandbox:
        sessions = [sandbox.session() for _ in range(12)]
        for number, session in enumerate(sessions):
            session.run(f"x = {number}")
        branches = [session.branch(1)[0] for session in sessions[:3]]
        for branch in branches:
            branch.run("x += 100")
        for _ in range(3):
            assert [session.run("x").value for session in sessions] == list(range(12))
            assert [branch.run("x").value for branch in branches] == [100, 101, 102]
        until(lambda: sum(map(int, _SESSIONS.findall(asked(f"{served}/metrics")))) == 15)
        numbers = _SESSIONS.findall(asked(f"{served}/metrics"))
        assert len(numbers) == 3 and "15" not in numbers  # all 12 at one by chance: 1 in 177,147
        assert [*json.loads(asked(f"{served}/readyz"))["replicas"].values()] == [True] * 3
        for session in sessions + branches:
            session.close()
    with pytest.raises(safeexec.SandboxError, match="a token is needed"):
        safeexec.connect(served, "wrong").open()


def test_a_quota_holds_over_all_replicas(served: str) -> None:
    """Also one of requests: each replica hears within a second what was asked of the others."""

    def opened() -> int:
        request = urllib.request.Request(
            f"{served}/v1/sessions", b"{}", {"Authorization": f"Bearer {TOKEN_OF_FEW}"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    names = [*json.loads(asked(f"{served}/readyz"))["replicas"]]

    def known_everywhere(count: int) -> bool:
        texts = [asked(f"{served}/metrics", about=f"{name}.x") for name in names]
        return all(sum(map(int, _SESSIONS.findall(text))) == count for text in texts)

    for number in range(5):
        assert opened() == 200
        until(partial(known_everywhere, number + 1))
    assert [opened() for _ in range(12)] == [429] * 12


def test_a_lost_replica_ends_its_sessions_with_an_error_and_no_other(served: str) -> None:
    with safeexec.connect(served, TOKEN) as sandbox:
        sessions = [sandbox.session() for _ in range(12)]
        for number, session in enumerate(sessions):
            session.run(f"x = {number}")
        replicas("safeexec")[0].kill()
        left = []
        for number, session in enumerate(sessions):
            try:
                assert session.run("x").value == number
                left.append(session)
            except safeexec.SandboxError as error:
                lost = str(error)
        assert 0 < len(left) < 12
        assert "a session ends with its server" in lost or "died" in lost
        until(lambda: len(json.loads(asked(f"{served}/readyz"))["replicas"]) == 3)
        with sandbox.session() as other:
            assert other.run("6 * 7").value == 42
        # The new replica has taken none of those that live.
        assert all(session.run("x + 1").ok for session in left)


def test_a_sandbox_of_e2b_stays_where_its_header_leads(served: str) -> None:
    def call(path: str, body: bytes | None = None) -> Any:
        headers = {"X-API-Key": TOKEN, "x-session-id": "sandbox-of-ada"}
        with urllib.request.urlopen(urllib.request.Request(f"{served}{path}", body, headers), timeout=30) as answer:
            return json.loads(answer.read())

    identity = call("/sandboxes", b'{"templateID": "base"}')["sandboxID"]
    assert [call(f"/sandboxes/{identity}")["state"] for _ in range(6)] == ["running"] * 6


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="store"):
        cluster.serve(TOKEN, autoscaling={"min_replicas": 1, "max_replicas": 3})
    with pytest.raises(ValueError, match="token_file"):
        cluster.build({})
    with pytest.raises(ValueError, match="takes no 'polcy'"):
        cluster.build({"token_file": str(tmp_path), "polcy": "standard"})


def test_what_the_page_for_kubernetes_says_is_an_application_of_ray_serve(tmp_path: Path) -> None:
    schema = pytest.importorskip("ray.serve.schema")
    page = (Path(safeexec.__file__).parent / "docs/operations.md").read_text()
    (manifest,) = (yaml.safe_load(one) for one in re.findall(r"```yaml\n(apiVersion.*?)```", page, re.DOTALL))
    written = yaml.safe_load(manifest["spec"]["serveConfigV2"])
    (application,) = schema.ServeDeploySchema.model_validate(written).applications
    assert written["applications"][0].keys() <= set(type(application).model_fields)
    module, _, name = application.import_path.partition(":")
    (tmp_path / "tokens").write_text(TOKEN)
    built = getattr(importlib.import_module(module), name)({**application.args, "token_file": str(tmp_path / "tokens")})
    assert type(built).__name__ == "Application"


@contextmanager
def going_on(users: list[Any], counts: list[int], wrong: list[str], busy: Event) -> Iterator[None]:
    """Meanwhile users count in their sessions, each in a thread; while it is `busy` with much work."""
    done = threading.Event()

    def use(number: int) -> None:
        users[number].run("count = 0")
        while not done.wait(0 if busy.is_set() else 0.1):
            work = "sum(range(2_000_000))\n" if busy.is_set() else ""
            try:
                value = users[number].run(f"{work}count += 1\ncount").value
                counts[number] += 1
                if value != counts[number]:
                    wrong.append(f"{value} and not {counts[number]}")
            except safeexec.SandboxError as error:
                wrong.append(str(error))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(len(users))]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_with_a_store_no_client_sees_that_replicas_are_replaced_or_lost(tmp_path: Path) -> None:
    """Users go on all the time: through a rolling update without an error, after a kill with what they had."""
    serve = pytest.importorskip("ray.serve")
    (tmp_path / "token").write_text(TOKEN)
    settings = {
        "token_file": str(tmp_path / "token"),
        "policy": "calculator",
        "store": str(tmp_path / "sessions"),
        "durable": "step",
    }
    try:
        serve.run(cluster.build({**settings, "replicas": 2}), name="stored", route_prefix="/")
        with safeexec.connect("http://127.0.0.1:8000", TOKEN) as sandbox:
            users = [sandbox.session_for(f"user-{number}") for number in range(8)]
            counts, wrong = [0] * len(users), list[str]()
            with going_on(users, counts, wrong, threading.Event()):
                until(lambda: min(counts) > 3)
                before = {one.pid for one in replicas("stored")}
                serve.run(cluster.build({**settings, "replicas": 2}), name="stored", route_prefix="/")
                until(lambda: not before & {one.pid for one in replicas("stored")}, seconds=120)
                reached = min(counts)
                until(lambda: min(counts) > reached + 3)
            assert wrong == []
            replicas("stored")[0].kill()
            assert [user.run("count").value for user in users] == counts
            tight = sandbox.session_for("user-9", memory_mb=200)
            tight.run("y = 1")
            tight.close()
            assert tight.run("y").value == 1 and tight.policy.limits.memory_mb == 200
            users[1].close()
            assert users[1].run("count").value == counts[1]
            sandbox.forget("user-1")
            with pytest.raises(safeexec.SessionClosed):
                users[1].run("count")
    finally:
        serve.shutdown()


def test_replicas_come_and_go_with_the_load_and_no_session_is_lost(tmp_path: Path) -> None:
    serve = pytest.importorskip("ray.serve")
    pace = {"upscale_delay_s": 1, "downscale_delay_s": 3, "look_back_period_s": 2}
    scaled = {"min_replicas": 1, "max_replicas": 3, "target_ongoing_requests": 1, **pace}
    store = tmp_path / "sessions"
    try:
        path = cluster.serve(TOKEN, "calculator", store=store, durable="step", autoscaling=scaled, name="scaled")
        with safeexec.connect(f"http://127.0.0.1:8000{path}", TOKEN) as sandbox:
            users = [sandbox.session_for(f"user-{number}") for number in range(8)]
            counts, wrong = [0] * len(users), list[str]()
            busy = threading.Event()
            busy.set()
            with going_on(users, counts, wrong, busy):
                until(lambda: len(replicas("scaled")) == 3, seconds=180)
                reached = min(counts)
                until(lambda: min(counts) > reached + 2)
                busy.clear()
                until(lambda: len(replicas("scaled")) == 1, seconds=180)
                reached = min(counts)
                until(lambda: min(counts) > reached + 2)
            assert wrong == []
            assert [user.run("count").value for user in users] == counts
    finally:
        serve.shutdown()
