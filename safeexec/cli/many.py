"""`safeexec run --many DIR`: every program of a directory, each in a session of its own, some at a time."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from safeexec import ErrorInfo, Result, Sandbox
from safeexec.cli.common import MAX_SOURCE, decoded, files_of, tell
from safeexec.common.text import one_line
from safeexec.untrusted.below import read_named


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--many", metavar="DIR", help="run every .py file below DIR in a session of its own, without standard input"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="with --many: programs at once (default: one per core)"
    )


def main(options: argparse.Namespace) -> int:
    """Run all programs; one line each as they end, then how many came to what. 0 if every one ended ok, else 1."""
    root = Path(options.many)
    if (problem := _problem(options, root)) is not None:
        tell(f"safeexec run: {problem}", file=sys.stderr)
        return 2
    found = sorted(path for path in root.rglob("*.py") if path.is_file())
    paths = [path for path in found if not path.is_symlink()]
    for link in (path for path in found if path.is_symlink()):
        tell(f"safeexec run --many: {one_line(str(link))} is a symbolic link, and is left out", file=sys.stderr)
    if not paths:
        tell(f"safeexec run --many: no .py file below {root}", file=sys.stderr)
        return 2
    outcomes: Counter[str] = Counter()
    running: list[str] = []

    def ended(name: str, result: Result) -> None:
        outcomes[result.outcome] += 1
        if options.json:
            print(json.dumps({"file": name, **result.to_dict()}), flush=True)
        elif not result.ok:
            tell(f"{one_line(name)}: {result.outcome}{_reason(result)}")

    def programs() -> Iterator[str]:
        """Yield the texts of those that can be read, and their names in `running`."""
        for path in paths:
            name = str(path.relative_to(root))
            try:
                source = decoded("the file", read_named(path, max_bytes=MAX_SOURCE))
            except OSError as error:
                problem = ErrorInfo(type(error).__name__, error.strerror or str(error))
                ended(name, Result(outcome="error", error=problem))
                continue
            running.append(name)
            yield source

    with Sandbox(options.policy, files=files_of(options.file) or None) as sandbox:
        for number, result in sandbox.map_as_completed(programs(), workers=options.workers, timeout=options.timeout):
            ended(running[number], result)
    if not options.json:
        print(f"{len(paths)} programs: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return 0 if outcomes["ok"] == len(paths) else 1


def _problem(options: argparse.Namespace, root: Path) -> str | None:
    """Why nothing can be run as it is asked for."""
    if options.program is not None or options.steps or options.record or options.display_dir:
        return "--many runs what is in a directory: FILE, -c, --step, --record, --display-dir are for one program"
    if options.workers is not None and options.workers < 1:
        return "--workers must be at least 1"
    if not root.is_dir():
        return f"--many: {root} {'is a file: `safeexec run FILE` runs it' if root.exists() else 'does not exist'}"
    return None


def _reason(result: Result) -> str:
    error = result.error
    return f": {error.type}: {one_line(error.message.splitlines()[0], 200)}" if error and error.message else ""
