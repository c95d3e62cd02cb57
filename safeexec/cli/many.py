"""`safeexec run --many DIR`: every program of a directory, each in a session of its own, some at a time."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from safeexec import ErrorInfo, Result, Sandbox
from safeexec.cli.common import MAX_SOURCE, decoded, files_of, tell
from safeexec.text import one_line
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
        if bar is not None:
            bar()

    def programs() -> Iterator[str]:
        """The texts of those that can be read, and their names in `running`."""
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

    with (
        Sandbox(options.policy, files=files_of(options.file) or None) as sandbox,
        _progress(len(paths), options.json) as bar,
    ):
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


def _progress(total: int, quiet: bool) -> AbstractContextManager[Any]:
    """A progress bar on a terminal, where rich is installed; entering it gives a function that moves it by one."""
    if quiet or not sys.stderr.isatty():
        return nullcontext(None)
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return nullcontext(None)
    return _bar(Progress(console=Console(stderr=True), transient=True), total)


@contextmanager
def _bar(progress: Any, total: int) -> Iterator[Callable[[], None]]:
    with progress:
        task = progress.add_task("programs", total=total)
        yield lambda: progress.advance(task)
