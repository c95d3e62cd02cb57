"""`safeexec debug`: look at a recording step by step, and go on from any of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from safeexec import Recording, RecordingError, SandboxError, Timeline, replay
from safeexec.cli.common import print_error, print_safely
from safeexec.cli.replay import add_changes, changes_of
from safeexec.common.matching import suggestion
from safeexec.common.text import one_line
from safeexec.recordings.timeline import describe_changes, describe_step, place_of

HELP = """\
history          the steps and how each ended             at N       one step: what it read, wrote, printed
when NAME        the steps that changed a variable        vars [N]   the variables after a step, or at the end
error N          the functions that were running when step N raised, with their variables
effects          the calls of host tools that began and of which no end is recorded
try N SOURCE     run SOURCE in a branch of the state after step N (the tools answer from the recording)
N is a step of the recorded session, S.N one of its branch S. quit: leave"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="FILE", help="what `session(record=FILE)` wrote")
    parser.add_argument(
        "command",
        nargs="*",
        metavar="COMMAND",
        help="one command, with the options behind it; without one they are read",
    )
    add_changes(parser)


def main(options: argparse.Namespace) -> int:
    """Do one command, or those of standard input."""
    timeline = Timeline(Recording(options.recording))
    if options.command:
        _do(options, timeline, options.command)
        return 0
    if timeline.unknown:
        print_safely(f"effects of which nobody knows what came of them:\n{effects(timeline)}", file=sys.stderr)
    for words in _asked():
        try:
            _do(options, timeline, words)
        except (SandboxError, OSError) as error:
            print_safely(f"safeexec: {error}", file=sys.stderr)
    return 0


def _asked() -> Iterator[list[str]]:
    """Yield the words of each line, until the end or `quit`."""
    while True:
        try:
            line = input("debug> " if sys.stdin.isatty() else "")
        except EOFError:
            return
        words = line.split(maxsplit=2)
        if words[:1] == ["quit"]:
            return
        if words:
            yield words


def _do(options: argparse.Namespace, timeline: Timeline, words: list[str]) -> None:
    name, *arguments = words
    act = COMMANDS.get((name, len(arguments)))
    if name == "try" and len(arguments) >= 2:
        _try(options, arguments[0], " ".join(arguments[1:]))
    elif name == "error" and len(arguments) == 1:
        _error(options, arguments[0])
    elif act is not None:
        print_safely(act(timeline, *arguments))
    elif name == "help":
        print_safely(HELP)
    else:
        known = [command for command, _ in COMMANDS] + ["error", "try"]
        what = (
            f"{name} takes other words" if name in known else f"there is no command {name!r}{suggestion(name, known)}"
        )
        raise RecordingError(f"{one_line(what)}\n{HELP}")


def effects(timeline: Timeline) -> str:
    """Return what began and has no recorded end."""
    return "\n".join(map(str, timeline.unknown)) or "of every effect it is known what came of it"


def _variables(timeline: Timeline, *step: str) -> str:
    moment = timeline.at(*reversed(place_of(step[0]))) if step else timeline.now()
    return "\n".join(f"{name} = {text}" for name, text in moment.variables().items()) or "no variables"


def _try(options: argparse.Namespace, step: str, source: str) -> None:
    with replay(options.recording, to=place_of(step), **changes_of(options)) as replayed:
        if replayed.difference is not None:
            print_safely(replayed.difference, file=sys.stderr)
        (branch,) = replayed.session_of(place_of(step)[0]).branch()
        result = branch.run(source)
        print_safely(result.stdout + result.text)
        print_error(result)


def _error(options: argparse.Namespace, step: str) -> None:
    with replay(options.recording, to=place_of(step), **changes_of(options)) as replayed:
        if replayed.difference is not None:
            print_safely(replayed.difference, file=sys.stderr)
        frames = replayed.frames(place_of(step)[0])
        for frame in frames:
            print_safely(f"{frame.file}, line {frame.line}, in {one_line(frame.function)}")
            for variable in frame.variables:
                print_safely(f"    {one_line(variable.name)} = {one_line(variable.text)}")
        if not frames:
            print_safely("no function of it was running when it ended")


COMMANDS: dict[tuple[str, int], Callable[..., str]] = {
    ("history", 0): str,
    ("at", 1): describe_step,
    ("effects", 0): effects,
    ("when", 1): describe_changes,
    ("vars", 0): _variables,
    ("vars", 1): _variables,
}
"""Name and number of words → what is shown."""
