"""`safeexec check`: what a policy would refuse in a source. Nothing runs."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from safeexec.cli.common import EXIT_CODES, add_policy_option, read_source, tell

if TYPE_CHECKING:
    from safeexec import ErrorInfo


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "check", help="show what a policy refuses in a source, without running it"
    )
    parser.add_argument("sources", nargs="+", metavar="FILE", help="source files, or - for standard input")
    add_policy_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per finding")
    return parser


def main(options: argparse.Namespace) -> int:
    """0: nothing is refused. 3: something is. 1: a syntax error."""
    from safeexec import Sandbox

    status = 0
    with Sandbox(options.policy) as sandbox:
        for name in options.sources:
            result = sandbox.check(read_source(name))
            if result.error is not None:
                for finding in result.error.diagnostics or (result.error,):
                    _print(name, finding, as_json=options.json)
            status = max(status, EXIT_CODES[result.outcome])
        if not status and not options.json:
            print(f"nothing is refused by {sandbox.policy.name}", file=sys.stderr)
    return status


def _print(name: str, finding: ErrorInfo, *, as_json: bool) -> None:
    if as_json:
        fields = ("type", "message", "line", "column", "end_line", "end_column", "source_line", "rule", "hint")
        print(json.dumps({"file": name} | {field: getattr(finding, field) for field in fields}))
        return
    tell(f"{name}:{finding.line}:{finding.column}: {finding.type}: {finding.message}")
    if finding.traceback:
        tell(finding.traceback.rstrip())
    for label, value in (("rule", finding.rule), ("hint", finding.hint)):
        if value:
            tell(f"    {label}: {value}")
