"""Code repair: a model patches and verifies a copy of a repository; what helps is committed, the rest rolled back."""

from __future__ import annotations

from safeexec.agent.repair.agent import RepairAgent, RepairResult
from safeexec.agent.repair.tools import RepairCommit, RepairWarning

__all__ = ["RepairAgent", "RepairCommit", "RepairResult", "RepairWarning"]
