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

from safeexec import Sandbox
from safeexec.cli.common import MAX_SOURCE, files_of, tell
from safeexec.text import one_line
from safeexec.untrusted.below import read_named
from safeexec.untrusted.source_text import encoding_of


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--many", metavar="DIR", help="run every .py file below DIR in a session of its own")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="with --many: programs at once (default: one per core)"
    )


def main(options: argparse.Namespace) -> int:
    """Run all programs; one line each as they end, then how many came to what. 0 if every one ended ok, else 1."""
    if options.workers is not None and options.workers < 1:
        print("safeexec run: --workers must be at least 1", file=sys.stderr)
        return 2
    root = Path(options.many)
    paths = sorted(path for path in root.rglob("*.py") if path.is_file() and not path.is_symlink())
    if not paths:
        print(f"safeexec run --many: no .py file below {root}", file=sys.stderr)
        return 2
    outcomes: Counter[str] = Counter()
    programs = map(_source, paths)
    with (
        Sandbox(options.policy, files=files_of(options.file) or None) as sandbox,
        _progress(len(paths), options.json) as bar,
    ):
        for number, result in sandbox.map_as_completed(programs, workers=options.workers, timeout=options.timeout):
            outcomes[result.outcome] += 1
            name = str(paths[number].relative_to(root))
            if options.json:
                print(json.dumps({"file": name, **result.to_dict()}), flush=True)
            elif not result.ok:
                error = result.error
                tell(
                    f"{one_line(name)}: {result.outcome}"
                    + (
                        f": {error.type}: {one_line(error.message.splitlines()[0], 200)}"
                        if error and error.message
                        else ""
                    )
                )
            if bar is not None:
                bar()
    if not options.json:
        print(f"{len(paths)} programs: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return 0 if outcomes["ok"] == len(paths) else 1


def _source(path: Path) -> str:
    """A program's text as Python would read the file: by its mark or coding comment; else as UTF-8, as far as it is."""
    data = read_named(path, max_bytes=MAX_SOURCE)
    try:
        return data.decode(encoding_of(data) or "utf-8")
    except UnicodeError:
        return data.decode("utf-8", "replace")


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
