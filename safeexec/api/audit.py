"""Reports the sandboxes of a process to operators: log records, an audit log, spans and metrics. Never a value of the
guest.

Each finished step is reported once, with the same fields, to

- the logger ``safeexec`` (structured: ``record.safeexec`` is a dict), when it is enabled for INFO;
- the audit log, one JSON object per line, where the sandbox was given one;
- OpenTelemetry, when the application has imported it: a span ``safeexec.step`` and counters whose only attributes are
  policy and outcome; and gauges ``safeexec.sessions.…`` of those open, idle, resting, queued and restored, by policy
  and label; ``safeexec.steps.…`` of those journalled, copied and lost, by policy.

A sandbox for which none of them listens has no observer, and its steps pay nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from time import time, time_ns
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakSet

from safeexec.common.text import printable

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Policy
    from safeexec.results import Result


AuditTarget = Any
"""A file to append to, an open text stream, or a function that gets each record."""
LOGGED = (
    *("session", "who", "step", "call", "policy", "outcome", "state", "error"),
    *("wall_ms", "cpu_ms", "peak_memory_mb"),
)
"""The fields of a record that the log line of a step has, in this order."""
INFO = 20
"""`logging.INFO`, without importing `logging` (5 ms) into applications that do not use it."""


def _logger() -> Any:
    """Return the logger of this library, if the application has imported `logging` and listens; else None."""
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return None
    logger = logging.getLogger("safeexec")
    return logger if logger.isEnabledFor(INFO) else None


@lru_cache(32)
def _sha256(source: bytes) -> str:
    """Return the hash of a source. A plugin's is asked for at every call."""
    import hashlib  # loads OpenSSL: 9 ms at the start of every host

    return hashlib.sha256(source).hexdigest()


def _logged(value: object) -> str:
    """Return a field as one word of a line, quoted where it is several."""
    text = printable(str(value)).replace("\n", " ")
    return f'"{text}"' if " " in text or not text else text


class Observer:
    """Reports what the steps of one sandbox came to."""

    def __init__(self, policy: Policy, audit: Any, telemetry: Telemetry | None) -> None:
        self._policy = policy.name
        self._digest = policy.digest
        self._telemetry = telemetry
        self._audit, self._file = _audit(audit)
        self._lock = threading.Lock()

    def step_done(self, session: Any, source: bytes, result: Result, call: str | None = None) -> None:
        """Report a step that has ended, or a `call` of a plugin whose code is `source`."""
        logger = _logger()
        if self._audit is not None or logger is not None:
            record = self.record(session, source, result, call)
            if self._audit is not None:
                with self._lock:
                    self._audit(record)
            if logger is not None:
                fields = [f"{name}={_logged(record[name])}" for name in LOGGED if record[name] is not None]
                logger.info("step %s", " ".join(fields), extra={"safeexec": record})
        if self._telemetry is not None:
            self._telemetry.step_done(self._policy, result)

    def watch(self, sandbox: Any) -> None:
        """Let the gauges count the sessions of a sandbox, as long as it lives."""
        if self._telemetry is not None:
            _watched.add(sandbox)

    def record(self, session: Any, source: bytes, result: Result, call: str | None) -> dict[str, Any]:
        """Return one step as plain data: who, under which policy, what (by its hash), what came of it.

        `session` has its number in this process, and the label that the host gave it: `who`.
        """
        error = result.error
        return {
            "time": round(time(), 3),
            "pid": os.getpid(),
            "session": session.number,
            "who": session.label,
            "step": result.step,
            "call": call,
            "policy": self._policy,
            "policy_sha256": self._digest,
            "source_sha256": _sha256(source),
            "source_bytes": len(source),
            "outcome": result.outcome,
            "state": result.state,
            "error": None if error is None else error.type,
            "rule": None if error is None else error.rule,
            "wall_ms": round(result.usage.wall_ms, 3),
            "cpu_ms": round(result.usage.cpu_ms, 3),
            "peak_memory_mb": round(result.usage.peak_memory_mb, 1),
            "output_bytes": result.usage.output_bytes,
            "refusals": [{"type": refusal.type, "rule": refusal.rule} for refusal in result.refusals],
            "tool_calls": [
                {"tool": call.tool, "outcome": call.outcome, "wall_ms": round(call.wall_ms, 3)}
                for call in result.tool_calls
            ],
        }

    def close(self) -> None:
        """Close the audit file, if this observer opened one."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._audit = None


def observer_for(policy: Policy, audit: Any) -> Observer | None:
    """Return an observer if anybody listens now, else None."""
    telemetry = None
    if "opentelemetry.trace" in sys.modules:  # to import it here would cost everybody 60 ms
        with suppress(ImportError):
            from opentelemetry import metrics, trace

            telemetry = Telemetry(trace, metrics)
    if audit is None and telemetry is None and _logger() is None:
        return None
    return Observer(policy, audit, telemetry)


def _audit(target: Any) -> tuple[Callable[[dict[str, Any]], object] | None, IO[str] | None]:
    """Return a function that writes one record, and the file to close in the end."""
    if target is None or callable(target):
        return target, None
    import json

    # Append: one write per line, so that several processes may share the file.
    opens = isinstance(target, str | os.PathLike)
    file: IO[str] = open(target, "a", encoding="utf-8", buffering=1) if opens else target  # noqa: SIM115

    def write(record: dict[str, Any]) -> None:
        file.write(json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n")
        file.flush()

    return write, file if opens else None


_watched: WeakSet[Any] = WeakSet()
"""The sandboxes whose sessions the gauges count."""
_GAUGES = {
    "sessions.open": "sessions that are open",
    "sessions.idle": "open sessions that nobody uses",
    "sessions.resting": "idle sessions without a process until they are used again",
    "sessions.waiting": "idle sessions whose step waits for an answer",
    "sessions.queued": "sessions that wait for a place",
    "sessions.restored": "open sessions that were brought back, after a step was stopped or a process died",
    "steps.journalled": "steps that are undone by doing those before them once more",
    "steps.copied": "steps after which the process was copied",
    "steps.lost": "journalled steps that came out otherwise when they were repeated",
}


@lru_cache(8)
def _gauges(metrics: Any, _provider: Any) -> list[Any]:
    """Return the gauges of one provider of meters, made once: they speak for all sandboxes of the process."""
    meter = metrics.get_meter("safeexec")

    def observer(name: str) -> Callable[[Any], list[Any]]:
        return lambda _options: [metrics.Observation(number, dict(at)) for at, number in _numbers(name).items()]

    return [
        meter.create_observable_gauge(f"safeexec.{name}", [observer(name)], description=description)
        for name, description in _GAUGES.items()
    ]


def _numbers(name: str) -> dict[tuple[tuple[str, str], ...], int]:
    """Return one gauge by its attributes: policy, and of sessions the label; those of one policy together."""
    found: Counter[tuple[tuple[str, str], ...]] = Counter()
    of, _, field = name.partition(".")
    for sandbox in list(_watched):
        stats, policy = sandbox.stats(), (("policy", sandbox.policy.name),)
        found[policy] += getattr(stats, f"steps_{field}") if of == "steps" else 0
        for label, counts in stats.by_label.items() if of == "sessions" else ():
            found[policy if label is None else (*policy, ("label", label))] += getattr(counts, field)
    return found


class Telemetry:
    """OpenTelemetry's spans and metrics."""

    def __init__(self, trace: Any, metrics: Any) -> None:
        self._trace = trace
        _gauges(metrics, metrics.get_meter_provider())
        self._tracer = trace.get_tracer("safeexec")
        meter = metrics.get_meter("safeexec")
        self._steps = meter.create_counter("safeexec.steps", description="steps that ended")
        self._seconds = meter.create_histogram("safeexec.step.duration", unit="s", description="wall time of steps")
        self._calls = meter.create_counter("safeexec.tool_calls", description="calls of host tools")

    def step_done(self, policy: str, result: Result) -> None:
        """Write a span, begun when the step began, and the counters. Attributes take a bounded set of values."""
        attributes = {"policy": policy, "outcome": result.outcome}
        end = time_ns()
        span = self._tracer.start_span(
            "safeexec.step", start_time=end - int(result.usage.wall_ms * 1e6), attributes=attributes
        )
        span.set_attribute("cpu_ms", result.usage.cpu_ms)
        span.set_attribute("state", result.state)
        if not result.ok:
            span.set_status(self._trace.StatusCode.ERROR, result.outcome)
        span.end(end)
        self._steps.add(1, attributes)
        self._seconds.record(result.usage.wall_ms / 1e3, attributes)
        for call in result.tool_calls:
            self._calls.add(1, {"policy": policy, "outcome": call.outcome})
