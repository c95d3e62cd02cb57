"""What replicas tell each other: each knows what is open elsewhere, and what is left of the quotas of all."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import pytest

from safeexec import Result, SandboxError, SandboxStats, Usage

pytest.importorskip("starlette", reason="the server needs Starlette")
from safeexec.servers.http import tenancy
from safeexec.servers.http.grants import Grant
from safeexec.servers.http.metrics import Metrics, merged
from safeexec.servers.http.peers import Ledger, Peers, ReplicaState, Report
from safeexec.servers.http.requests import RefusedRequest
from safeexec.servers.http.tenancy import Tenancy
from safeexec.servers.service import Service

TOKEN = "a-token-of-the-tests"


def replica(report: Report, name: str = "a", **quotas: Any) -> tuple[Tenancy, Peers]:
    tenancy = Tenancy(Service("calculator", (), replica=name), {"one": Grant(token=TOKEN, **quotas)})
    return tenancy, Peers(name, tenancy, report)


def reporting(ledger: Ledger) -> Report:
    async def report(name: str, state: ReplicaState) -> Mapping[str, ReplicaState]:
        return ledger.report(name, state)

    return report


async def turns(*peers: Peers) -> None:
    """Each tells what the others then hear."""
    for one in (*peers, *peers):
        await one.beat()


async def test_sessions_and_memory_elsewhere_count() -> None:
    report = reporting(Ledger())
    (a, to_a), (b, to_b) = (replica(report, name, sessions=3, memory_mb=300) for name in "ab")
    policy = a.offers.policies["calculator"]
    places = [a.tenants[0].reserve(policy, 100), a.tenants[0].reserve(policy, 100)]
    await turns(to_a, to_b)
    with pytest.raises(RefusedRequest, match="200 of the 300 MiB"):
        b.tenants[0].reserve(policy, 150)
    b.tenants[0].reserve(policy, 100)
    with pytest.raises(RefusedRequest, match="3 sessions are open"):
        b.tenants[0].reserve(policy, 100)
    for place in places:
        place.close()
    await turns(to_a, to_b)
    b.tenants[0].reserve(policy, 200)


async def test_what_is_used_anywhere_is_taken_from_one_bucket_and_nothing_is_told_twice() -> None:
    report = reporting(Ledger())
    (a, to_a), (b, to_b) = (replica(report, name, requests_per_minute=60, cpu_seconds_per_hour=100) for name in "ab")
    for _ in range(40):
        a.tenants[0].count_request()
    a.tenants[0].use_cpu(150)
    await turns(to_a, to_b, to_a, to_b)
    with pytest.raises(RefusedRequest, match="CPU seconds per hour"):
        b.tenants[0].check_cpu()
    for _ in range(15):
        b.tenants[0].count_request()
    await turns(to_a, to_b)
    with pytest.raises(RefusedRequest, match="60 requests per minute"):
        for _ in range(15):
            a.tenants[0].count_request()


async def test_a_new_replica_knows_what_is_left_and_not_what_was_used_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    report = reporting(Ledger())
    a, to_a = replica(report, cpu_seconds_per_hour=100)
    a.tenants[0].use_cpu(250)
    two_hours_later = monotonic() + 7200
    monkeypatch.setattr(tenancy, "monotonic", lambda: two_hours_later)
    a.tenants[0].check_cpu()
    b, to_b = replica(report, "b", cpu_seconds_per_hour=100)
    await turns(to_a, to_b)
    b.tenants[0].check_cpu()


async def test_without_the_ledger_each_counts_for_itself_and_tells_it_later() -> None:
    ledger = Ledger()
    reached = False

    async def report(name: str, state: ReplicaState) -> Mapping[str, ReplicaState]:
        if not reached:
            raise SandboxError("it has died")
        return ledger.report(name, state)

    (a, to_a), (b, to_b) = (replica(report, name, requests_per_minute=60) for name in "ab")
    for _ in range(59):
        a.tenants[0].count_request()
    with pytest.raises(SandboxError, match="it has died"):
        await to_a.beat()
    reached = True
    await turns(to_a, to_b)
    with pytest.raises(RefusedRequest):
        for _ in range(5):
            b.tenants[0].count_request()


def test_counters_have_the_name_of_their_replica_and_are_told_merged() -> None:
    a, b = (replica(reporting(Ledger()), name)[0].metrics for name in "ab")
    a.step(Result("ok", usage=Usage(cpu_ms=500, wall_ms=1000)))
    b.step(Result("ok", usage=Usage(cpu_ms=250, wall_ms=1000)))
    text = merged({"a": a.text(), "b": b.text()}).decode()
    assert 'safeexec_cpu_seconds_total{replica="a"} 0.5' in text
    assert 'safeexec_step_seconds_bucket{le="1.0",replica="b"} 1.0' in text
    assert text.count("# TYPE safeexec_step_seconds histogram") == 1
    told = [SandboxStats(resting=3, waiting=1, steps_copied=2), SandboxStats(steps_copied=1, steps_lost=4)]
    lines = Metrics(lambda: 7, lambda: told).text().decode().splitlines()
    counted = dict(line.split() for line in lines if line.startswith(("safeexec_sessions", "safeexec_undo")))
    undo = {"journalled": "0.0", "copied": "3.0", "lost": "4.0"}
    sessions = {"safeexec_sessions": "7.0", "safeexec_sessions_resting": "3.0", "safeexec_sessions_waiting": "1.0"}
    assert counted == sessions | {f'safeexec_undo_steps_total{{how="{how}"}}': told for how, told in undo.items()}
