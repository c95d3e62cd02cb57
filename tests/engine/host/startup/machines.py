"""Machines that can do everything, or everything but something: what a probe would find there."""

from __future__ import annotations

import pytest

from safeexec.engine.linux import probe
from safeexec.engine.linux.probe import Probe, ProbeAnswer

_ALL = Probe(*[ProbeAnswer(True)] * (len(Probe._fields) - 1), landlock_abi=6)
_NO = ProbeAnswer(False, "tried: EPERM")


def able(*lacking: str) -> Probe:
    """A machine that can do everything but this."""
    abi = 0 if "landlock" in lacking else _ALL.landlock_abi
    return _ALL._replace(**dict.fromkeys(lacking, _NO), landlock_abi=abi)


def lacking(monkeypatch: pytest.MonkeyPatch, *names: str, reason: str = "tried: ENOSYS") -> None:
    """Have this machine do without: every sandbox that is opened from now on is told so."""
    facts = probe.probe()._replace(**dict.fromkeys(names, ProbeAnswer(False, reason)))
    monkeypatch.setattr(probe, "_cache", [facts._replace(landlock_abi=0) if "landlock" in names else facts])
