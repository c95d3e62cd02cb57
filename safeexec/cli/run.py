"""`safeexec run`: run files, standard input or a text as the steps of one session."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from safeexec.cli import many
from safeexec.cli.common import EXIT_CODES, add_policy_option, print_error, read_source
from safeexec.cli.pictures import Pictures

Subparsers = Any


def add_parser(commands: Subparsers) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="run Python source under a policy",
        description="Run files as the steps of one session. The exit status tells the outcome.",
    )
    parser.add_argument("sources", nargs="*", metavar="FILE", help="source files, or - for standard input")
    parser.add_argument(
        "-c", dest="code", action="append", default=[], metavar="CODE", help="source text; may be given several times"
    )
    add_policy_option(parser)
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds per step, at most what the policy allows")
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH",
        help="copy a file into the workspace (NAME=PATH to rename)",
    )
    parser.add_argument(
        "--display-dir", metavar="DIR", help="write pictures and tables that steps show into this directory"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per step instead of its output")
    many.add_options(parser)
    return parser


def main(options: argparse.Namespace) -> int:
    """Run every source in turn; stop at the first that does not end ok, and return its exit status."""
    if options.many is not None:
        return many.main(options, _files(options.file) or None)
    from safeexec import Sandbox

    sources = [*options.code, *(read_source(name) for name in options.sources)]
    if not sources:
        print("safeexec run: nothing to run: give a FILE, - or -c CODE", file=sys.stderr)
        return 2
    pictures = Pictures(options.display_dir)
    with Sandbox(options.policy, files=_files(options.file) or None) as sandbox, sandbox.session() as session:
        for source in sources:
            result = session.run(source, timeout=options.timeout, on_output=None if options.json else _write)
            if options.json:
                print(json.dumps(result.to_dict()), flush=True)
            else:
                if result.ok and result.value is not None and options.code:
                    _write(result.text + "\n")
                pictures.show(result.displays)
                print_error(result)
            if not result.ok:
                return EXIT_CODES[result.outcome]
    return 0


def _write(text: str) -> None:
    from safeexec.text import printable

    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _files(given: list[str]) -> dict[str, str]:
    """``NAME=PATH`` or ``PATH``, whose last part is the name then."""
    files: dict[str, str] = {}
    for entry in given:
        name, separator, path = entry.partition("=")
        if not separator:
            name, path = entry.rstrip("/").rpartition("/")[2], entry
        files[name] = path
    return files
