"""What an operator sees of the sandboxes of a process: log records, an audit log, spans and metrics. Never a value of
the guest.

Each finished step is told once, with the same fields, to

- the logger ``safeexec`` (structured: ``record.safeexec`` is a dict), when it is enabled for INFO;
- the audit log, one JSON object per line, where the sandbox was given one;
- OpenTelemetry, when the application has imported it: a span ``safeexec.step`` and counters whose only attributes are
policy
  and outcome.

A sandbox for which none of them listens has no observer, and its steps pay nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from time import time, time_ns
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Protocol

    from safeexec.policy.model import Policy
    from safeexec.results import Result

    class Audited(Protocol):
        """A session, as an operator tells it from others."""

        number: int
        label: str | None


AuditTarget = Any
"""A file to append to, an open text stream, or a function that gets each record."""
INFO = 20
"""`logging.INFO`, without importing `logging` (5 ms) into applications that do not use it."""


def _logger() -> Any:
    """The logger of this library, if the application has imported `logging` and listens; else None."""
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return None
    logger = logging.getLogger("safeexec")
    return logger if logger.isEnabledFor(INFO) else None


@lru_cache(32)
def _sha256(source: bytes) -> str:
    """The hash of a source. A plugin's is asked for at every call."""
    import hashlib  # loads OpenSSL: 9 ms at the start of every host

    return hashlib.sha256(source).hexdigest()


class Observer:
    """Tells what the steps of one sandbox came to."""

    def __init__(self, policy: Policy, audit: Any, telemetry: Telemetry | None) -> None:
        self._policy = policy.name
        self._digest = policy.digest
        self._telemetry = telemetry
        self._audit, self._file = _audit(audit)
        self._lock = threading.Lock()

    def step_done(self, session: Audited, source: bytes, result: Result, call: str | None = None) -> None:
        """A step has ended, or a `call` of a plugin whose code is `source`."""
        logger = _logger()
        if self._audit is not None or logger is not None:
            record = self.record(session, source, result, call)
            if self._audit is not None:
                with self._lock:
                    self._audit(record)
            if logger is not None:
                told = "step %d of session %d: %s in %.1f ms"
                extra = {"safeexec": record}
                logger.info(told, result.step, session.number, result.outcome, result.usage.wall_ms, extra=extra)
        if self._telemetry is not None:
            self._telemetry.step_done(self._policy, result)

    def record(self, session: Audited, source: bytes, result: Result, call: str | None) -> dict[str, Any]:
        """One step as plain data: who, under which policy, what (by its hash), what came of it.

        `session` tells the sessions of this process apart; `who` is the label that the host gave it.
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
    """An observer if anybody listens now, else None."""
    telemetry = Telemetry.of_the_application()
    if audit is None and telemetry is None and _logger() is None:
        return None
    return Observer(policy, audit, telemetry)


def _audit(target: Any) -> tuple[Callable[[dict[str, Any]], object] | None, IO[str] | None]:
    """A function that writes one record, and the file to close in the end."""
    if target is None or callable(target):
        return target, None
    if isinstance(target, str | os.PathLike):
        # Append: one write per line, so that several processes may share the file.
        file: IO[str] = open(target, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        return _writer(file), file
    return _writer(target), None


def _writer(file: IO[str]) -> Callable[[dict[str, Any]], object]:
    import json

    def write(record: dict[str, Any]) -> None:
        file.write(json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n")
        file.flush()

    return write


class Telemetry:
    """OpenTelemetry's spans and metrics."""

    def __init__(self, trace: Any, metrics: Any) -> None:
        self._trace = trace
        self._tracer = trace.get_tracer("safeexec")
        meter = metrics.get_meter("safeexec")
        self._steps = meter.create_counter("safeexec.steps", description="steps that ended")
        self._seconds = meter.create_histogram("safeexec.step.duration", unit="s", description="wall time of steps")
        self._calls = meter.create_counter("safeexec.tool_calls", description="calls of host tools")

    @classmethod
    def of_the_application(cls) -> Telemetry | None:
        """A telemetry if the application uses OpenTelemetry: importing it here would cost everybody 60 ms."""
        if "opentelemetry.trace" not in sys.modules:
            return None
        try:
            from opentelemetry import metrics, trace
        except ImportError:
            return None
        return cls(trace, metrics)

    def step_done(self, policy: str, result: Result) -> None:
        """One span, begun when the step began, and the counters. Attributes take a bounded set of values."""
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
