"""`safeexec doctor`: what this machine can enforce, found by trying, and whether it is enough for a profile."""

from __future__ import annotations

import argparse
import json
import logging
import platform
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from safeexec import Policy, ProtectionError, Sandbox, __version__, machine_protection
from safeexec.cli.common import add_policy_option, tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from safeexec import Mechanism


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Tries the forbidden acts in a confined process. Exit status 1: something required is missing."
    add_policy_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


class Findings(NamedTuple):
    """What was found for one policy. `held`: a session has all that it requires, and every attempt was refused."""

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
    return Findings(policy, list(machine_protection()), session, problem, held)


def main(options: argparse.Namespace) -> int:
    """0: a session of the profile is held by all that its policy requires. 1: it is not, or an act succeeded."""
    logging.basicConfig(format="%(message)s")  # what the start of a sandbox has to say of the installation
    policy, machine, session, problem, held = examine(options.policy)
    if options.json:
        print(
            json.dumps(
                {
                    "safeexec": __version__,
                    "kernel": platform.release(),
                    "python": platform.python_version(),
                    "policy": policy.name,
                    "ok": held,
                    "problem": problem,
                    "machine": _plain(machine),
                    "session": _plain(session),
                }
            )
        )
        return 0 if held else 1
    print(f"safeexec {__version__}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    _print("This machine", machine)
    if session:
        _print(f"A session of {policy.name}", session)
    tell(
        f"\n{problem}"
        if problem
        else f"\n{policy.name}: all that it requires is active, and every attempt was refused"
        if held
        else f"\n{policy.name}: an attempt that should have been refused was not",
        file=sys.stderr if not held else sys.stdout,
    )
    return 0 if held else 1


def _plain(rows: Iterable[Mechanism]) -> list[dict[str, Any]]:
    return [{"name": row.name, "active": row.active, "detail": row.detail} for row in rows]


def _print(title: str, rows: Iterable[Mechanism]) -> None:
    tell(f"\n{title}")
    for row in rows:
        tell(f"  {'yes' if row.active else 'NO ':3} {row.name:24} {row.detail}")
