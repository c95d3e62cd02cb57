"""Finds out by trying what this machine can enforce, and whether that is enough for a policy."""

from __future__ import annotations

import sys
from typing import NamedTuple

from safeexec import Mechanism, Policy, ProtectionError, Sandbox


class Findings(NamedTuple):
    """The findings for one policy. `held`: a session has all that it requires, and every attempt was refused."""

    policy: Policy
    machine: list[Mechanism]
    session: list[Mechanism]
    problem: str
    held: bool


def examine(policy: str | Policy) -> Findings:
    """Open a session of the policy and try what it must not be able to do. Raises `PolicyError`."""
    policy = Policy.load(policy)
    session, problem = [], ""
    try:
        with Sandbox(policy, spare=0) as sandbox, sandbox.session(checkpoints="off") as opened:
            session = list(opened.protection)
    except ProtectionError as error:
        problem = str(error)
    held = not problem and all(
        row.active for row in session if row.detail.startswith("tried") or "; tried" in row.detail
    )
    machine: list[Mechanism] = []
    if sys.platform == "linux":
        from safeexec import machine_protection  # which asks the kernel

        machine = list(machine_protection())
    return Findings(policy, machine, session, problem, held)
