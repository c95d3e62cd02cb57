"""The counters of a server, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from safeexec import Result, SandboxStats

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """The counters of one server. No tenant's name and nothing of a guest is in them."""

    def __init__(self, sessions: Callable[[], int], stats: Callable[[], Iterable[SandboxStats]]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("safeexec_requests", "Requests", ["method", "status"], registry=self._registry)
        self._steps = Counter("safeexec_steps", "Steps that ended", ["outcome"], registry=self._registry)
        self._cpu = Counter("safeexec_cpu_seconds", "CPU time of steps", registry=self._registry)
        self._wall = Histogram("safeexec_step_seconds", "Duration of steps", buckets=SECONDS, registry=self._registry)
        open_now = Gauge("safeexec_sessions", "Sessions that are open, paused ones included", registry=self._registry)
        open_now.set_function(sessions)
        self._registry.register(_Collector(partial(_counted, stats)))

    def request(self, method: str, status: int) -> None:
        self._requests.labels(method, str(status)).inc()

    def step(self, result: Result) -> None:
        self._steps.labels(result.outcome).inc()
        self._cpu.inc(result.usage.cpu_ms / 1000)
        self._wall.observe(result.usage.wall_ms / 1000)

    def text(self) -> bytes:
        return bytes(generate_latest(self._registry))


def merged(texts: Mapping[str, bytes]) -> bytes:
    """Return the counters of several replicas, each sample with the name of its own: their sum is the server's."""
    families: dict[str, Metric] = {}
    for replica, text in texts.items():
        for family in text_string_to_metric_families(text.decode()):
            whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                whole.add_sample(sample.name, {**sample.labels, "replica": replica}, sample.value)
    registry = CollectorRegistry()
    registry.register(_Collector(families.values))
    return bytes(generate_latest(registry))


class _Collector(NamedTuple):
    """A function that is asked when somebody reads the counters."""

    collect: Callable[[], Iterable[Metric]]


def _counted(stats: Callable[[], Iterable[SandboxStats]]) -> Iterator[Metric]:
    """Yield the counters of the sandboxes themselves."""
    current = list(stats())
    steps = CounterMetricFamily("safeexec_undo_steps", "Steps, by how they are undone", labels=["how"])
    for how in ("journalled", "copied", "lost"):
        steps.add_metric([how], sum(getattr(one, f"steps_{how}") for one in current))
    yield steps
    resting = sum(one.resting for one in current)
    yield GaugeMetricFamily("safeexec_sessions_resting", "Sessions without a process until used", resting)
    waiting = sum(one.waiting for one in current)
    yield GaugeMetricFamily("safeexec_sessions_waiting", "Sessions whose step waits for an answer", waiting)
