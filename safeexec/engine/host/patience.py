"""Bounds for how long the host waits for its own processes, on a machine as slow as this one has shown to be.

Every bound of the host's own (`READY_SECONDS` …) is a hundred times and more what a usual machine takes. Under
emulation, or beside many others, a process takes that much longer; what it took a zygote to boot says how much.
"""

from __future__ import annotations

import os

from safeexec.errors import ProtectionError

VARIABLE = "SAFEEXEC_PATIENCE"
USUAL_SECONDS = 0.25
"""A zygote that is ready for its configuration sooner is on a usual machine: 0.2 s where eight share two cores."""
MOST = 20.0
"""The most by which the bounds grow unasked: a hostile child can keep its own session waiting that much longer."""
_factor = 1.0


def note_boot(seconds: float) -> None:
    """Take what the newest zygote took as the measure of this machine, unless the variable says by how much the bounds
    grow. Raises `ProtectionError` for a value that says nothing.
    """
    global _factor
    given = os.environ.get(VARIABLE)
    try:
        factor = float(given) if given else min(MOST, max(1.0, seconds / USUAL_SECONDS))
    except ValueError:
        factor = 0.0
    if not 1 <= factor <= 1000:
        raise ProtectionError(f"{VARIABLE} is a factor from 1 to 1000, and not {given!r:.40}")
    _factor = factor


def patient(seconds: float) -> float:
    """Return a bound of the host's own, as it holds on this machine."""
    return seconds * _factor
