"""Rulesets of branches: made where there is something to hold, and closed where they cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from safeexec import Policy
from safeexec.engine.host.files.layers import BranchLayers
from safeexec.engine.host.startup.confinement import plan
from safeexec.engine.linux.probe import Probe


def test_without_landlock_or_files_no_branch_has_a_ruleset(machine: Probe, tmp_path: Path) -> None:
    child = plan(Policy.load("data-analysis"), facts=machine).child
    for without in (None, replace(child, landlock=0), replace(child, files="none")):
        assert BranchLayers(without, -1).ruleset(str(tmp_path)) is None


@pytest.mark.needs("landlock")
def test_a_ruleset_that_cannot_be_made_leaves_no_descriptor(machine: Probe, tmp_path: Path) -> None:
    proc = os.open("/proc", os.O_PATH)
    layers = BranchLayers(plan(Policy.load("data-analysis"), facts=machine).child, proc)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(FileNotFoundError):
        layers.ruleset(str(tmp_path / "gone"))
    assert os.listdir("/proc/self/fd") == before
    made = layers.ruleset(str(tmp_path))
    assert made is not None
    os.close(made)
    layers.close()
    layers.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(proc)
