"""Profiles without files, at a new sandbox's first step: what comes late is there."""

from __future__ import annotations

import pytest

from safeexec import Sandbox


@pytest.mark.parametrize(
    ("profile", "source", "told"),
    [
        ("calculator", "1 / 0", "The divisor is 0"),
        ("standard", "import subprocess\nsubprocess.run('ls')", "rejected"),
        ("plugin", "import numpy", "numpy"),
        (
            "calculator",
            "from zoneinfo import ZoneInfo\nfrom datetime import datetime\n"
            "datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Paris')).isoformat()",
            "2024-07-01T00:00:00+02:00",
        ),
        ("standard", "import zoneinfo\n'Europe/Paris' in zoneinfo.available_timezones()", "True"),
        ("plugin", "'x€'.encode('cp1252')", "x\\x80"),
        ("calculator", "import copy\ncopy.deepcopy([1, [2]])", "[1, [2]]"),
        ("standard", "[1, 2][5]", "IndexError"),
    ],
)
def test_the_first_step_of_a_new_sandbox(profile: str, source: str, told: str) -> None:
    """The zygote has not had a pause yet in which it could have prepared anything."""
    with Sandbox(profile, spare=0) as sandbox:
        result = sandbox.run(source)
    assert told in f"{result.outcome} {result.text} {result.observation()}"
    assert not result.refusals
