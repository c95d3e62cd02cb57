"""A cluster of Ray on this machine: what `map` gives is what a sandbox gives, and a lost worker is told of."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

import safeexec
from safeexec import PolicyError, Sandbox

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'safeexec[cluster]'")
cluster = pytest.importorskip("safeexec.cluster")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(scope="module", autouse=True)
def started() -> Iterator[None]:
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
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


def test_few_programs_are_read_ahead_and_leaving_ends_the_workers() -> None:
    read = itertools.count()
    results = cluster.map((f"{next(read)}" for _ in itertools.count()), workers=2)
    assert [next(results).value for _ in range(5)] == [0, 1, 2, 3, 4]
    assert next(read) < 2 * cluster.AHEAD * cluster.CHUNK
    assert 1 <= len(workers()) <= 2  # on a busy machine one may still start
    results.close()
    _, alive = psutil.wait_procs(workers(), timeout=60)
    assert not alive


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


def test_the_door_behind_serve() -> None:
    """Two servers, one client: a session stays where it is."""
    serve = pytest.importorskip("ray.serve")
    token = "a-token-of-the-tests"
    try:
        paths = cluster.serve(token, "calculator", replicas=2)
        with safeexec.connect([f"http://127.0.0.1:8000{path}" for path in paths], token) as sandbox:
            assert sandbox.run("6 * 7").value == 42
            sessions = [sandbox.session() for _ in range(4)]
            for number, session in enumerate(sessions):
                session.run(f"x = {number}")
            assert [session.run("x").value for session in sessions] == [0, 1, 2, 3]
            for session in sessions:
                session.close()
        with pytest.raises(safeexec.SandboxError, match="a token is needed"):
            safeexec.connect(f"http://127.0.0.1:8000{paths[0]}", "wrong").open()
    finally:
        serve.shutdown()
