"""How many sessions there are, and whose; one session for each label; the same for an operator's instruments."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from pathlib import Path

import pytest

from safeexec import AsyncSandbox, Policy, PolicyError, Sandbox, SandboxBusy, SessionCounts, StateFileError
from tests.alone import together
from tests.engine.linux.forked import in_a_fork
from tests.footprint import until


def test_a_sandbox_tells_its_sessions() -> None:
    with Sandbox("calculator", max_sessions=1) as sandbox, sandbox.session(label="first") as session:
        session.run("x = 1").check()
        session.rollback()
        assert sandbox.stats().restored == 0, "that was asked for"
        session.run("while True: pass", timeout=0.2)
        told = sandbox.stats()
        assert told.by_label == {"first": SessionCounts(1, 0, 1, 0, 1)}
        assert json.loads(json.dumps(told.to_dict()))["by_label"]["first"]["idle"] == 1

        with pytest.raises(SandboxBusy, match=r"1 of them idle, .*; idle_seconds= closes those"):
            sandbox.session(queue_seconds=0.1, label="x")
        assert sandbox.stats().queued == 0


@pytest.mark.parametrize("seconds", [float("inf"), 30 * 86400.0])
def test_who_waits_for_a_session_may_wait_without_end(seconds: float) -> None:
    with Sandbox("calculator", spare=0, max_sessions=1, queue_seconds=seconds) as sandbox:
        first = sandbox.session()
        values: list[object] = []

        def ask() -> None:
            with sandbox.session(label="x") as second:
                values.append(second.run("6 * 7").value)

        waits = threading.Thread(target=ask)
        waits.start()
        until(lambda: sandbox.stats().queued or not waits.is_alive())
        assert sandbox.stats().by_label["x"].queued == 1
        first.close()
        waits.join(60)
        assert values == [42]


def test_a_limit_that_is_asked_for_holds_in_the_session_of_a_label() -> None:
    with Sandbox("standard", spare=0) as sandbox:
        first = sandbox.session_for("anna", wall_seconds=1)
        assert sandbox.session_for("anna", wall_seconds=1).policy == sandbox.session_for("anna").policy == first.policy
        for other in ({"wall_seconds": 0.5}, {"memory_mb": 64}, {"wall_seconds": 1, "memory_mb": 64}):
            with pytest.raises(PolicyError, match="is open with other keywords than"):
                sandbox.session_for("anna", **other)
        first.close()
        assert sandbox.session_for("anna", wall_seconds=0.5).policy.limits.wall_seconds == 0.5


def test_one_session_for_each_label() -> None:
    with Sandbox("calculator") as sandbox:
        another = sandbox.session(label="anna")
        together([threading.Thread(target=sandbox.session_for, args=("anna",)) for _ in range(4)])
        session = sandbox.session_for("anna")
        session.run("mine = 7")
        assert sandbox.session_for("anna").run("mine").value == 7
        assert sandbox.session_for("ben").run("'mine' in globals()").value is False
        assert sandbox.stats().by_label["anna"].open == 2
        session.close()
        another.close()
        assert sandbox.session_for("anna").run("mine").outcome == "error"
        with pytest.raises(ValueError, match="whose session"):
            sandbox.session_for("")


async def test_the_session_of_a_label_goes_on_from_its_saved_state(tmp_path: Path) -> None:
    """In a service that starts again: once however many ask at once, and under the label, in the limits that are asked
    for. A state that cannot be taken is told, and leaves no session behind.
    """
    path = tmp_path / "anna.state"
    with Sandbox("calculator") as sandbox:
        sandbox.session_for("anna", restore=path).run("x = 1\ndef f(): return x").check()
        sandbox.session_for("anna").save(path)

    async with AsyncSandbox("calculator") as sandbox:
        calls = [sandbox.session_for("anna", restore=path, output_kb=1) for _ in range(3)]
        first, second, _ = await asyncio.gather(*calls)
        assert (await first.run("x += f()\nx")).value == 2
        assert (await second.run("while True: print('x' * 1000)")).outcome == "output"
        assert (await second.run("f()")).value == 2
        assert sandbox.stats().by_label["anna"].open == sandbox.stats().open == 1
        assert (await (await sandbox.session_for("ben", restore=tmp_path / "ben.state")).run("x")).outcome == "error"
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        await first.close()
        with pytest.raises(StateFileError):
            await sandbox.session_for("anna", restore=path)
        assert "anna" not in sandbox.stats().by_label
        assert (await (await sandbox.session_for("anna")).run("1")).ok


def test_a_step_is_one_line_of_fields_and_none_at_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "safeexec"), Sandbox("calculator") as sandbox:
        with sandbox.session(label="user 7") as session:
            session.run("1 / 0")
        (line,) = [record.getMessage() for record in caplog.records if record.name == "safeexec"]
        told = dict(part.split("=") for part in line.removeprefix("step ").replace("user 7", "user-7").split())
        facts = {"who": '"user-7"', "policy": "calculator", "outcome": "error", "error": "ZeroDivisionError"}
        assert facts.items() <= told.items()
        assert float(told["wall_ms"]) >= 0 and float(told["cpu_ms"]) >= 0
        caplog.clear()
        caplog.set_level(logging.WARNING, "safeexec")
        sandbox.run("1")
        assert not [record for record in caplog.records if record.name == "safeexec"]


def test_gauges_count_the_sessions_by_policy_and_label() -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from safeexec.api.audit import Observer, Telemetry

    reader = InMemoryMetricReader()
    provider = sdk.MeterProvider([reader])

    class Metrics:
        """The application's module of metrics, with a provider of this test alone."""

        Observation = metrics.Observation
        get_meter = provider.get_meter
        get_meter_provider = staticmethod(lambda: provider)

    policy = Policy.from_yaml("extends: calculator", name="gauged")  # another sandbox of the process is counted apart
    with Sandbox(policy) as sandbox, sandbox.session(label="gauged"), sandbox.session(label="gauged"):
        Observer(sandbox.policy, None, Telemetry(trace, Metrics)).watch(sandbox._core)
        with sandbox.session() as session:
            session.run("x = 1").check()
            session.run("x = hash('a')").check()
        data = reader.get_metrics_data()
        points = {
            metric.name: {
                point.attributes.get("label"): point.value
                for point in metric.data.data_points
                if point.attributes["policy"] == "gauged"
            }
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }
        assert points["safeexec.sessions.open"]["gauged"] == 2
        assert points["safeexec.sessions.idle"]["gauged"] == 2
        assert [points[f"safeexec.steps.{name}"][None] for name in ("journalled", "copied", "lost")] == [1, 1, 0]
        assert points["safeexec.sessions.queued"]["gauged"] == points["safeexec.sessions.restored"]["gauged"] == 0
        assert points["safeexec.sessions.resting"]["gauged"] in (0, 1, 2)


def test_a_fork_of_the_process_counts_no_session_of_its_parent() -> None:
    with Sandbox("calculator") as sandbox, sandbox.session(label="ann") as session:
        session.run("x = 1").check()
        assert in_a_fork(lambda: (sandbox.stats().open, sandbox.stats().by_label)) == [0, {}]
        assert (sandbox.stats().open, session.run("x").value) == (1, 1)
