"""What an operator sees: an audit log, log records with fields, spans and metrics; never what the guest computed."""

from __future__ import annotations

import io
import json
import logging
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from safeexec import Policy, Sandbox
from safeexec.api.audit import observer_for

SECRET = "the-value-of-the-guest"


def test_the_audit_log_has_a_line_per_step(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    tools = {"add": lambda a, b: a + b}
    with Sandbox("calculator", audit=path, tools=tools) as sandbox, sandbox.session(label="user 7") as session:
        session.run(f"x = {SECRET!r}\nadd(1, 2)").check()
        session.run("1 / 0")
        session.run("import subprocess")
        digest = sandbox.policy.digest
    rule = "def f(): return 1"
    with Sandbox("calculator", audit=path) as sandbox, sandbox.plugin(rule, exports=["f"], name="rule") as plugin:
        plugin.f()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["outcome"] for record in records] == ["ok", "error", "rejected", "ok"]
    assert [record["error"] for record in records] == [None, "ZeroDivisionError", "PolicyViolation", None]
    assert records[0]["tool_calls"][0]["tool"] == "add"
    assert records[1]["source_sha256"] == sha256(b"1 / 0").hexdigest()
    assert {record["policy_sha256"] for record in records} == {digest}
    assert len({record["session"] for record in records[:3]}) == 1
    assert [(record["who"], record["call"]) for record in records] == [("user 7", None)] * 3 + [("rule", "f")]
    assert records[3]["source_sha256"] == sha256(rule.encode()).hexdigest()
    assert records[2]["rule"].startswith("calculator.yaml:")
    assert SECRET not in path.read_text()


def test_a_stream_and_a_function_get_records_too() -> None:
    stream, seen = io.StringIO(), list[Any]()
    for audit in (stream, seen.append):
        with Sandbox("calculator", audit=audit) as sandbox:
            sandbox.run("1 + 1")
    assert json.loads(stream.getvalue())["outcome"] == seen[0]["outcome"] == "ok"


def test_log_records_carry_fields(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "safeexec"), Sandbox("calculator") as sandbox:
        sandbox.run(repr(SECRET))
    (record,) = [record for record in caplog.records if record.name == "safeexec"]
    assert record.safeexec["outcome"] == "ok"  # type: ignore[attr-defined]
    assert SECRET not in record.getMessage() + str(record.safeexec)  # type: ignore[attr-defined]


def test_where_nobody_listens_is_no_observer(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    for level in (logging.WARNING, logging.INFO):
        with caplog.at_level(level, "safeexec"):
            assert (observer_for(Policy.load("calculator"), None) is None) is (level == logging.WARNING)


def test_spans_and_metrics() -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import metrics
    from opentelemetry import trace as api
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    api.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    with Sandbox("calculator") as sandbox:
        sandbox.run(repr(SECRET))
        sandbox.run("1 / 0")
    finished = spans.get_finished_spans()
    assert [dict(span.attributes)["outcome"] for span in finished] == ["ok", "error"]
    assert all(span.end_time > span.start_time for span in finished)
    collected = reader.get_metrics_data().to_json()
    assert "safeexec.steps" in collected
    assert SECRET not in collected + "".join(span.to_json() for span in finished)
