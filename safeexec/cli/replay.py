"""`safeexec replay`: a recording run again in a fresh sandbox, and the first thing that differs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from safeexec import RecordingError, evaluate, replay
from safeexec.cli.common import print_safely, read_source
from safeexec.recordings.timeline import place_of

EXIT_DIFFERENT = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="FILE", help="what `session(record=FILE)` wrote")
    parser.add_argument("--to", type=place, metavar="N", help="stop after this step (SESSION.N for one of a branch)")
    add_changes(parser)


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add options for what may be otherwise than it was recorded."""
    parser.add_argument("--policy", "-p", metavar="P", help="under another policy: a profile's name or a YAML file")
    parser.add_argument(
        "--set",
        type=_named(str),
        action="append",
        default=[],
        metavar="NAME=EXPR",
        help="set a variable to another value than the host did",
    )
    parser.add_argument(
        "--replace", type=_named(place), action="append", default=[], metavar="N=FILE", help="another source of a step"
    )
    parser.add_argument(
        "--file",
        type=_named(str),
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="the bytes of a workspace file that the recording left out",
    )
    parser.add_argument("--state", metavar="PATH", help="the state that a restored session went on from, if left out")
    parser.add_argument("--trust", action="store_true", help="take the recorded policy as it is, whatever it grants")


def changes_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keywords of `safeexec.replay`."""
    return {
        "policy": options.policy,
        "set": {name: evaluate(expression) for name, expression in options.set},
        "replace": {step: read_source(name) for step, name in options.replace},
        "files": {name: Path(path) for name, path in options.file},
        "state": options.state,
        "trust": options.trust,
    }


def place(text: str) -> tuple[int, int]:
    """Return `place_of` the text, for `argparse`."""
    try:
        return place_of(text)
    except RecordingError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _named(kind: Any) -> Any:
    def read(text: str) -> tuple[Any, str]:
        name, equals, rest = text.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"{text!r} has no =")
        return kind(name), rest

    return read


def main(options: argparse.Namespace) -> int:
    """Run the recording again. 0: nothing differs. 1: something does."""
    with replay(options.recording, to=options.to, **changes_of(options)) as replayed:
        for text in replayed.taken:
            print_safely(text)
        if replayed.difference is not None:
            print_safely(replayed.difference)
            return EXIT_DIFFERENT
        torn = ", whose last line is cut off" if replayed.recording.torn else ""
        steps = f"{replayed.steps} step{'' if replayed.steps == 1 else 's'}"
        print_safely(f"{steps} of {options.recording}{torn}: nothing {'else ' if options.replace else ''}differs")
    return 0
