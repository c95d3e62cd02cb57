"""What a server counts of its sandboxes."""

from __future__ import annotations

import pytest

from safeexec import SandboxStats

metrics = pytest.importorskip("safeexec.servers.http.metrics")


def test_what_all_sandboxes_count_is_told_together() -> None:
    told = [
        SandboxStats(resting=3, waiting=1, steps_journalled=5, steps_copied=2),
        SandboxStats(steps_copied=1, steps_lost=4),
    ]
    lines = metrics.Metrics(lambda: 7, lambda: told).text().decode().splitlines()
    assert [line for line in lines if line.startswith(("safeexec_sessions", "safeexec_undo"))] == [
        "safeexec_sessions 7.0",
        'safeexec_undo_steps_total{how="journalled"} 5.0',
        'safeexec_undo_steps_total{how="copied"} 3.0',
        'safeexec_undo_steps_total{how="lost"} 4.0',
        "safeexec_sessions_resting 3.0",
        "safeexec_sessions_waiting 1.0",
    ]
