"""`safeexec check`: what a policy refuses in a source before it runs. Nothing runs."""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from safeexec import Sandbox
from safeexec.cli.common import EXIT_CODES, MAX_SOURCE, add_policy_option, decoded, print_safely, read_source
from safeexec.untrusted.below import Found, opened, read_file, walk

if TYPE_CHECKING:
    from safeexec import ErrorInfo


UNREAD = 2
"""The status where a file of a directory cannot be read, and nothing worse was found."""
SHOWN = 20
"""Files that were checked beside one that was not, by name."""
MAX_ENTRIES = 100_000
"""Files and directories below one that is checked."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="FILE", help="source files, directories of them, or -")
    add_policy_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per finding")


def main(options: argparse.Namespace) -> int:
    """Check every source. 0: nothing is refused. 3: something is. 1: a syntax error."""
    status, checked = 0, []
    with Sandbox(options.policy) as sandbox:
        for name, source in sources(options.sources):
            if isinstance(source, OSError):
                print_safely(f"{name} is not checked: {source.strerror or source}", file=sys.stderr)
                status = max(status, UNREAD)
                continue
            # As `run` judges it: a program in a file has a standard input.
            result = sandbox.check(source, stdin=name != "-")
            if result.error is not None:
                for finding in result.error.diagnostics or (result.error,):
                    _print(name, finding, as_json=options.json)
            status = max(status, EXIT_CODES[result.outcome])
            checked.append(name)
        if status == UNREAD and checked:
            print_safely(f"checked, and nothing found: {', '.join(checked[:SHOWN])}", file=sys.stderr)
        if not status and not options.json:
            print(
                f"nothing is refused by {sandbox.policy.name} before it runs; attributes of modules are judged "
                "when they are used (`safeexec policy why --program FILE` finds what is spelled)",
                file=sys.stderr,
            )
    return status


def sources(names: Iterable[str]) -> Iterator[tuple[str, str | OSError]]:
    """Yield (name, text) of each file, and of each ``.py`` file in a directory, without hidden ones and links; of one
    in a directory that cannot be read the error. Raises OSError, also for text that is not in its encoding.
    """
    for name in names:
        if not os.path.isdir(name):
            yield name, read_source(name)
            continue
        with opened(name) as top:
            for found in walk(top, max_entries=MAX_ENTRIES, leave_out=lambda _directory, entry: entry.startswith(".")):
                if stat.S_ISREG(found.mode) and found.name.endswith(".py"):
                    path = os.path.join(name, found.path)
                    yield path, _source(path, found)


def _source(path: str, found: Found) -> str | OSError:
    try:
        return decoded(path, read_file(found.directory, found.name, max_bytes=MAX_SOURCE))
    except OSError as error:
        return error


def _print(name: str, finding: ErrorInfo, *, as_json: bool) -> None:
    if as_json:
        fields = ("type", "message", "line", "column", "end_line", "end_column", "source_line", "rule", "hint")
        print(json.dumps({"file": name} | {field: getattr(finding, field) for field in fields}))
        return
    print_safely(f"{name}:{finding.line}:{finding.column}: {finding.type}: {finding.message}")
    if finding.traceback:
        print_safely(finding.traceback.rstrip())
    for label, value in (("rule", finding.rule), ("hint", finding.hint)):
        if value:
            print_safely(f"    {label}: {value}")
