"""The command `safeexec`. One module per subcommand; each uses the library's public names only."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from safeexec import __version__
from safeexec.cli.common import print_safely
from safeexec.common.matching import suggestion
from safeexec.common.text import one_line
from safeexec.errors import SandboxError

COMMANDS = {
    "run": "run Python source under a policy",
    "check": "show what a policy refuses in a source, without running it",
    "repl": "an interactive session",
    "policy": "list, show, check, compare and explain policies",
    "card": "what a model should know about a policy, for its system prompt",
    "doctor": "show what this machine can enforce for a profile",
    "challenge": "put flags outside the sandbox and try to read one from inside",
    "agent": "let a model solve a task by running code",
    "view": "show a recording or a transcript as one page for a browser",
    "plugin": "check a plugin as a host would load it",
    "repair": "let a model mend a repository until its checks pass",
    "serve": "serve sessions to programs in any language",
    "container": "make the image that a sandbox in a container runs in",
    "mcp": "serve sessions to models over MCP",
    "jupyter": "a Jupyter kernel that runs cells in a sandbox",
    "bench": "measure what a sandbox costs on this machine",
    "example": "list short programs, or print one: safeexec example ten_lines > my.py",
    "replay": "run a recording of a session again, and compare",
    "debug": "look at a recording step by step, and go on from any of them",
}
"""The commands, with a line of help for each. The module of that name adds its options and runs it."""
EXIT_USAGE = 2
EXIT_READER_GONE = 128 + 13
"""The status that a shell reports of a program that SIGPIPE (13) ended: `safeexec bench | head`."""


class _Parser(argparse.ArgumentParser):
    """A command without the word that says what to do lists the words."""

    def error(self, message: str) -> NoReturn:
        """Do as the base class; the subcommands' parsers are of this class, too."""
        if self._subparsers is not None and message.startswith("the following arguments are required"):
            self.print_help(sys.stderr)
            self.exit(EXIT_USAGE)
        super().error(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Mistakes of the caller end with status 2 and one line on stderr. Without a
    standard input it reads an empty one.
    """
    if sys.stdin is None:  # who started this closed descriptor 0
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _Parser(prog="safeexec", description="Run Python that a model or a plugin author wrote.")
    parser.add_argument("--version", action="version", version=f"safeexec {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked = next((argument for argument in arguments if not argument.startswith("-")), "")
    if arguments[:1] == [asked] and asked not in COMMANDS:
        known = suggestion(asked, COMMANDS) or f"; there are {', '.join(COMMANDS)}"
        parser.error(f"there is no command {one_line(asked)!r}{known}")
    for name, about in COMMANDS.items():
        command = commands.add_parser(name, help=about)
        if name == asked:  # the one that is imported: start-up time is part of every run
            module = import_module(f"safeexec.cli.{name}")
            module.add_options(command)
            command.set_defaults(main=module.main)
    options, rest = parser.parse_known_args(arguments)
    if options.command == "repair" and options.task is None and len(rest) == 1 and not rest[0].startswith("-"):
        options.task = rest.pop()  # argparse knows no optional word after options
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        status: int = options.main(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Nobody reads the output any more. The rest of it goes nowhere, or the interpreter would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_READER_GONE
    except (SandboxError, OSError) as error:
        print_safely(
            f"safeexec: {error}", file=sys.stderr
        )  # a state file, a recording or a policy may say what it likes
        return EXIT_USAGE
    except KeyboardInterrupt:
        return 130
