"""One client's sandboxes and sessions: where they are recorded, and what names them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from safeexec import RecordingError, Sandbox, SandboxError, replay
from safeexec.recordings.store import StoreOptions
from safeexec.recordings.store.directory import DirectoryStore
from safeexec.recordings.store.interface import StoredSession
from safeexec.servers import labels
from safeexec.servers.service import Service
from tests.footprint import DEADLINE_SECONDS
from tests.servers.calling import call, opened, problem


async def test_clients_who_leave_early_do_not_keep_a_sandbox_from_opening() -> None:
    async with opened("calculator") as service:
        for _ in range(10_000):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    sandbox = await service.sandbox()
                    break
        assert (await sandbox.run("1")).value == 1


async def test_a_client_has_a_few_sets_of_tools_and_the_oldest_idle_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("safeexec.servers.service.MAX_TOOLS", 2)
    async with opened("calculator") as service:
        first = await call(service, "sandbox.session", await call(service, "sandbox.tools", tool(0)))
        for number in range(1, 4):
            newest = await call(service, "sandbox.tools", tool(number))
        at = await call(service, "sandbox.session", newest)
        for session in (first, at):
            assert (await call(service, "session.names", session))["names"] == []
        told = await problem(service, "sandbox.tools", tool(4))
        assert told.type == "SandboxError" and "sessions are open with 2 sets of tools" in told.message


def tool(number: int) -> dict[str, object]:
    return {"tools": [{"name": f"tool_{number}"}]}


async def test_what_clients_do_is_recorded_where_that_is_asked_for(tmp_path: Path) -> None:
    async with opened("calculator", record=str(tmp_path)) as service:
        at = await call(service, "sandbox.session", {"namespace": {"x": 20}})
        await call(service, "session.run", {**at, "source": "x += 1\nx"})
        saved = await call(service, "session.save", at)
        again = await call(service, "sandbox.restore", {"state": saved["state"]})
        await call(service, "session.run", {**again, "source": "x * 2"})
    assert len([*tmp_path.iterdir()]) == 2
    ends = []
    for path in tmp_path.iterdir():
        with replay(path) as replayed:
            assert replayed.difference is None
            ends += [result.value for result in replayed.results.values()]
    assert sorted(ends) == [21, 42]


async def test_a_full_directory_of_recordings_opens_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("safeexec.servers.service.RECORD_MB", 1)
    async with opened("calculator", record=str(tmp_path)) as service:
        at = await call(service, "sandbox.session", {})
        await call(service, "session.run", {**at, "source": "kept = 1"})
        (tmp_path / "old.jsonl").write_bytes(bytes(1 << 20))
        large = {**at, "source": "'x' * 300_000"}
        for _ in range(500):  # the step after the line that had no room
            if notes := (await call(service, "session.run", large))["notes"]:
                break
        assert "the recording of this session has stopped: the files in" in str(notes)
        told = await problem(service, "sandbox.session", {})
        assert told.type == "RecordingError"
        assert "total_mb allows 1: move some away, for none is deleted" in told.message
    assert len([*tmp_path.iterdir()]) == 2


def test_recordings_need_a_directory(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is no directory to record in"):
        Service("calculator", record=str(tmp_path / "none"))


async def test_ids_of_sessions_name_their_server() -> None:
    async with opened("calculator", replica="safeexec-0") as service:
        at = await call(service, "sandbox.session", {})
        branches = (await call(service, "session.branch", at))["sessions"]
        for identity in [at["session"], *branches]:
            assert identity.startswith("safeexec-0.")
            assert (await call(service, "session.run", {"session": identity, "source": "1"}))["ok"]
    for wrong in ("a.b", "a/b", "é", "a" * 64):
        with pytest.raises(SandboxError, match="name of a replica"):
            Service("calculator", replica=wrong)


async def test_a_session_of_another_replica_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOVE_SECONDS", float("inf"))
    with Sandbox("calculator", spare=0, store=tmp_path) as elsewhere, elsewhere.session_for("ada"):
        async with opened("calculator", replica="a", store=StoreOptions(at=tmp_path)) as service:
            for seconds in (0, 0.01):
                asked = problem(service, "sandbox.session", {"stored": "ada", "queue_seconds": seconds})
                told = await asyncio.wait_for(asked, DEADLINE_SECONDS)
                assert told.type == "SessionTaken" and f"elsewhere: process {os.getpid()} of" in told.message


async def test_a_session_that_was_removed_or_has_died_gives_up_its_place_and_its_label(tmp_path: Path) -> None:
    """Its id had led to what is gone until nobody had used it for half an hour."""
    others = {*psutil.Process().children(recursive=True)}
    async with opened("calculator", ["standard"], store=StoreOptions(at=tmp_path), durable="step") as service:
        ada = {"stored": "ada"}
        for policy in ("calculator", "standard"):
            await call(service, "sandbox.session", {**ada, "policy": policy})
            await call(service, "sandbox.forget", {"label": "ada"})
            assert not service.sessions
            assert (await call(service, "session.names", await call(service, "sandbox.session", ada)))["names"] == []
        at = await call(service, "sandbox.session", ada)
        await call(service, "session.run", {**at, "source": "x = 1"})
        for process in {*psutil.Process().children(recursive=True)} - others:
            with suppress(psutil.NoSuchProcess):  # its parent was the zygote
                process.kill()
        while service.sessions:  # the next call may come while its processes are dying
            found = await problem(service, "session.run", {**at, "source": "x"})
            assert found.type in ("ProtectionError", "SessionClosed", "SandboxClosed")
        assert (await call(service, "session.run", {**at, "source": "x"}))["value"] == 1


async def test_a_client_lists_the_store_one_call_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a thread for as long as the store is large, and the threads are those of all clients."""
    both, met = threading.Barrier(2), []

    def listed(_: DirectoryStore) -> Iterator[StoredSession]:
        with suppress(threading.BrokenBarrierError):
            met.append(both.wait(0.2))
        return iter(())

    monkeypatch.setattr(DirectoryStore, "list", listed)
    async with opened("calculator", store=StoreOptions(at=tmp_path)) as service:

        async def asked() -> object:
            service.account.begin()
            return await call(service, "sandbox.stored", {})

        assert await asyncio.gather(asked(), asked()) == [{"sessions": []}] * 2
    assert not met
