"""What only a database does: claims run out, and it may be down, slow, or stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from safeexec import Sandbox
from safeexec.errors import SessionTaken, StoreError
from safeexec.recordings.store import StoreOptions, open_store, postgres
from tests.recordings.store.conftest import Server


@pytest.fixture
def options(server: Server, tmp_path: Path) -> StoreOptions:
    return StoreOptions(at=server.url, tenant=tmp_path.name)


def test_sessions_outlive_their_host_in_a_database(options: StoreOptions) -> None:
    for before in (None, 1, 2):
        with Sandbox("standard", store=options, durable="step") as sandbox:
            session = sandbox.session_for("ada")
            assert session.run("globals().get('x')").value == before
            session.run(f"import time\nx = {(before or 0) + 1}\nt = time.time()\ndata = 'a' * 2_000_000").check()
            session.run("y = x").check()
            assert len(session.history()) == 1
    with Sandbox("standard", store=options) as sandbox:
        assert [row.label for row in sandbox.stored()] == ["ada"]
        sandbox.forget("ada")
        assert sandbox.stored() == []


def test_a_claim_runs_out_and_the_old_owner_is_refused(options: StoreOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "LEASE_SECONDS", 0.3)
    monkeypatch.setattr(postgres.PostgresStore, "_renew", lambda self: None)  # as of a host that is stopped
    with Sandbox("standard", store=options, durable="step") as slow, Sandbox("standard", store=options) as fast:
        session = slow.session_for("ada")
        session.run("x = 1").check()
        deadline = monotonic() + 30
        while True:
            try:
                other = fast.session_for("ada")
                break
            except SessionTaken:
                assert monotonic() < deadline
                sleep(0.05)
        other.run("x += 1").check()
        result = session.run("x = 100")
        assert (result.outcome, result.state) == ("cancelled", "restored")
        assert result.error.type == "SessionTaken"
        with pytest.raises(SessionTaken):
            session.run("x")
        assert other.run("x").value == 2


def test_claims_are_renewed(options: StoreOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(postgres, "LOOK_SECONDS", 0.05)
    first, second = open_store(options), open_store(options)
    first.claim("ada")
    ends = monotonic() + 2.5
    while monotonic() < ends:
        with pytest.raises(SessionTaken):
            second.claim("ada")
        sleep(0.1)
    first.close()
    second.close()


def test_a_database_that_stops_is_told_of_and_comes_back(
    server: Server, options: StoreOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE_SECONDS", 1.0)
    with Sandbox("standard", store=options, durable="step") as sandbox:
        session = sandbox.session_for("ada")
        session.run("x = 1").check()
        server.kill()
        result = session.run("x = 2")
        assert (result.outcome, result.state) == ("cancelled", "restored")
        with pytest.raises(StoreError, match="the database does not do it"):
            session.run("x")
        server.control("start")
        assert session.run("x").value == 1
        backends = [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == server.pid()]
        for pid in backends:
            os.kill(pid, signal.SIGSTOP)
        try:
            result = session.run("x = 3")
        finally:
            for pid in backends:
                os.kill(pid, signal.SIGCONT)
        assert (result.outcome, result.state) == ("cancelled", "restored")
        assert session.run("x").value in (1, 3)  # what it had been given, it may have kept


def _parent(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.parametrize("url", ["postgresql:///x?host=/nowhere", "postgresql://127.0.0.1:1/x", "postgresql://%%%"])
def test_a_database_that_is_not_there(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="the database does not do it"):
        Sandbox("standard", store=url).open()


def test_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(postgres, "import_module", missing)
    with pytest.raises(StoreError, match=r"pip install 'safeexec\[postgres\]'"):
        open_store("postgresql:///x")
