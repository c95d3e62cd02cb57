"""`safeexec doctor`: what this machine can enforce, found by trying, and whether it is enough for a profile."""

from __future__ import annotations

import argparse
import json
import logging
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from safeexec import Mechanism, __version__
from safeexec.cli.common import add_policy_option, print_safely
from safeexec.servers.readiness import examine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Tries the forbidden acts in a confined process. Exit status 1: something required is missing."
    add_policy_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def examine_interpreter() -> Iterator[Mechanism]:
    """Return whether this Python is one that a release was tried on, and what the packages at its heart say of it.
    Nothing of this keeps a sandbox from starting.
    """
    running = "{}.{}".format(*sys.version_info)
    try:
        about = metadata("safeexec")
    except PackageNotFoundError:  # run from a source tree
        yield Mechanism("tried", False, "not known: safeexec is not installed, so nothing says what it was tried on")
        return
    classified = [text.rpartition(" ")[2] for text in about.get_all("Classifier") or () if " :: Python :: 3." in text]
    newest = max(classified, key=lambda version: int(version.partition(".")[2]))
    tried = running in classified
    detail = f"this release was tried on Python {running}" if tried else f"nobody has tried it: the newest is {newest}"
    yield Mechanism("tried", tried, detail)
    for requirement in about.get_all("Requires-Dist") or ():
        name = re.split(r"[^\w.-]", requirement)[0]
        try:
            bound = ", ".join(metadata(name).get_all("Requires-Python") or ()) if "extra ==" not in requirement else ""
        except PackageNotFoundError:
            continue
        if "<" in bound:
            yield Mechanism("bound", True, f"{name} {version(name)} says of itself that it needs Python {bound}")


def main(options: argparse.Namespace) -> int:
    """Print what was found. 0: all that the policy requires holds a session of it. 1: not so, or an act succeeded."""
    logging.basicConfig(format="%(message)s")  # what the start of a sandbox has to say of the installation
    policy, machine, session, problem, held = examine(options.policy)
    interpreter = list(examine_interpreter())
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
                    "interpreter": list(map(asdict, interpreter)),
                    "machine": list(map(asdict, machine)),
                    "session": list(map(asdict, session)),
                }
            )
        )
        return 0 if held else 1
    print(f"safeexec {__version__}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    _print("This Python", interpreter)
    _print("This machine", machine)
    if session:
        _print(f"A session of {policy.name}", session)
    print_safely(
        f"\n{problem}"
        if problem
        else f"\n{policy.name}: all that it requires is active, and every attempt was refused"
        if held
        else f"\n{policy.name}: an attempt that should have been refused was not",
        file=sys.stderr if not held else sys.stdout,
    )
    return 0 if held else 1


def _print(title: str, rows: Iterable[Mechanism]) -> None:
    print_safely(f"\n{title}")
    for row in rows:
        print_safely(f"  {'yes' if row.active else 'NO ':3} {row.name:24} {row.detail}")
