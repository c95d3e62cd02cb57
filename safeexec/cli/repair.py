"""`safeexec repair`: let a model mend a copy of a repository, look at the diff, and write it after a question."""

from __future__ import annotations

import argparse
import json
import shlex
import sys

from safeexec import Policy
from safeexec.agent import MistralModel, Model
from safeexec.agent.loop import ignore_event
from safeexec.agent.repair import RepairAgent, RepairResult
from safeexec.agent.view import StepPictures, View
from safeexec.cli.common import add_model_options, print_safely
from safeexec.common.text import printable


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A model reads, patches and verifies a copy; every check runs confined. The diff and the warnings are shown. "
        "Nothing is written without --apply, and then only after a question. Commit it yourself."
    )
    parser.add_argument("repository", metavar="REPO", help="the directory to repair")
    parser.add_argument("task", nargs="?", help="what is wrong (default: that the checks fail)")
    parser.add_argument(
        "--check",
        action="append",
        default=[],
        type=_command,
        metavar="COMMAND",
        help='decides, as "pytest -q" does (the default)',
    )
    parser.add_argument(
        "--held-out",
        action="append",
        default=[],
        type=_command,
        metavar="COMMAND",
        help="decides too; the model never sees it",
    )
    parser.add_argument(
        "--editable", action="append", metavar="PATH", help="what may be changed (default: what looks like code)"
    )
    parser.add_argument(
        "--program", action="append", default=[], metavar="NAME", help="a program that checks may start besides Python"
    )

    add_model_options(parser, max_steps=30)
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds of one check (default: 120)")
    parser.add_argument("--apply", action="store_true", help="write the changed files")
    parser.add_argument("--yes", action="store_true", help="write without a question")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def _command(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def main(options: argparse.Namespace) -> int:
    """Repair, show, ask, write. 0 for a repair that passes, 1 for one that does not."""
    result = _repair(options, MistralModel(options.model, server_url=options.server_url))
    if options.json:
        print(json.dumps(result.to_dict(), indent=2))
    else:
        _show(result)
    if result.ok and result.files and options.apply:
        _write(options, result)
    return 0 if result.ok else 1


def _repair(options: argparse.Namespace, model: Model) -> RepairResult:
    view = None if options.json else View(StepPictures("pictures"))
    agent = RepairAgent(
        model,
        options.repository,
        verify=options.check or ("pytest", "-q"),
        held_out=options.held_out,
        editable=options.editable,
        policy=Policy.load("confined-python").replace(danger_allow_commands=options.program),
        approval=_approve if sys.stdin.isatty() else None,
        timeout=options.timeout,
        max_steps=options.max_steps,
        on_event=ignore_event if view is None else view.show,
    )
    if view is not None:
        checks = " and ".join(shlex.join(command) for command in options.check or [["pytest", "-q"]])
        print_safely(f"repair {options.repository}: {checks}")
    return agent.run(options.task) if options.task else agent.run()


def _show(result: RepairResult) -> None:
    print_safely(f"editable: {', '.join(result.editable)}")
    print_safely(result.diff or "nothing was changed")
    for warning in result.warnings:
        print_safely(f"warning: {warning}")
    for name, verdict in (("before", result.before), ("after", result.after), ("held out", result.held_out)):
        if verdict is not None:
            print_safely(f"{name}: the verification {verdict.summary()}")
    if not result.ok:
        print_safely(f"not repaired: {result.run.reason}", file=sys.stderr)


def _write(options: argparse.Namespace, result: RepairResult) -> None:
    """Write what was repaired, after a question."""
    if not options.yes and not _asked(f"write to the repository: {', '.join(result.files)}?"):
        print_safely(
            "nothing was written" + ("" if sys.stdin.isatty() else ": nobody is there to ask (--yes)"), file=sys.stderr
        )
        return
    print_safely(f"written: {', '.join(result.apply())}", file=sys.stderr)


def _approve(action: str, diff: str) -> bool:
    print_safely(diff)
    return _asked(f"{action}?")


def _asked(question: str) -> bool:
    """Return whether a person at the terminal says yes."""
    if not sys.stdin.isatty():
        return False
    print(printable(question), "[y/N] ", end="", flush=True)
    return sys.stdin.readline(100).strip().lower() in ("y", "yes")
