"""`safeexec run`: run a program with its arguments and its standard input, or texts as the steps of one session."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import IO, TextIO

from safeexec import Sandbox
from safeexec.cli.common import EXIT_CODES, add_file_option, add_policy_option, files_of, print_error, read_source
from safeexec.cli.pictures import Pictures
from safeexec.common.text import printable


class _StepFile(str):
    """The name of a file that is a step, as it was written."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run a program: FILE with its arguments, which reads standard input. The exit status is the program's own, "
        "or tells the outcome. Several -c and --step are the steps of one session, in their order."
    )
    parser.add_argument("program", nargs="?", metavar="FILE", help="the program, or - for standard input")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARG", help="its sys.argv after its name")
    parser.add_argument("-c", dest="steps", action="append", default=[], metavar="CODE", help="source text of a step")
    parser.add_argument(
        "--step", dest="steps", action="append", type=_StepFile, metavar="FILE", help="a file that is a step"
    )
    add_policy_option(parser)
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds per step, at most what the policy allows")
    add_file_option(parser)
    parser.add_argument(
        "--display-dir", metavar="DIR", help="write pictures and tables that steps show into this directory"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per step instead of its output")
    parser.add_argument("--record", metavar="FILE", help="write a recording, for replay, debug and view")


def main(options: argparse.Namespace) -> int:
    """Run every source in turn; stop at the first that does not end ok, and return its exit status."""
    sources = [read_source(step) if isinstance(step, _StepFile) else step for step in options.steps]
    if options.program is not None:
        sources.append(read_source(options.program))
    if not sources:
        print("safeexec run: nothing to run: give a FILE, - or -c CODE", file=sys.stderr)
        return 2
    pictures = Pictures(options.display_dir)
    with (
        Sandbox(options.policy, files=files_of(options.file) or None) as sandbox,
        sandbox.session(record=options.record) as session,
    ):
        for number, source in enumerate(sources, 1):
            last = number == len(sources)
            result = session.run(
                source,
                timeout=options.timeout,
                stdin=_standard_input(options.program) if last else None,
                argv=[*map(_text, (options.program or "-c", *options.arguments))] if last else None,
                on_stdout=None if options.json else _writer(sys.stdout),
                on_stderr=None if options.json else _writer(sys.stderr),
            )
            if options.json:
                print(json.dumps(result.to_dict()), flush=True)
            else:
                if result.ok and result.value is not None and options.steps:
                    _writer(sys.stdout)(result.text + "\n")
                pictures.show(result.displays)
                if result.exit_status is None:
                    print_error(result)
            if result.exit_status is not None:
                return result.exit_status
            if not result.ok:
                return EXIT_CODES[result.outcome]
    return 0


def _text(word: str) -> str:
    """Return a word of the command line; bytes that are not UTF-8, which cannot cross, as question marks."""
    return word.encode("utf-8", "replace").decode()


def _standard_input(program: str | None) -> IO[bytes] | None:
    """Return what the program reads: this command's standard input, unless a person or its own text is there."""
    if program == "-" or sys.stdin.isatty():
        return None
    # Without a buffer: a thread that waits in a read of one, when this process ends, has Python abort it.
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)


def _writer(stream: TextIO) -> Callable[[str], None]:
    """Return what writes a guest's output; to a terminal without what would act on it."""
    terminal = stream.isatty()

    def write(text: str) -> None:
        stream.write(printable(text) if terminal else text)
        stream.flush()

    return write
