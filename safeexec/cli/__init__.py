"""The command `safeexec`. One module per subcommand; each uses the library's public names only."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = ("run", "check", "repl", "policy", "card", "doctor", "agent", "serve", "mcp", "jupyter", "bench")
EXIT_USAGE = 2
EXIT_READER_GONE = 128 + signal.SIGPIPE
"""What a shell reports of a program that SIGPIPE ended: `safeexec bench | head`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Mistakes of the caller end with status 2 and one line on stderr."""
    from safeexec.errors import SandboxError

    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="safeexec", description="Run Python that a model or a plugin author wrote.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in _wanted(arguments):
        module = import_module(f"safeexec.cli.{name}")
        module.add_parser(commands).set_defaults(main=module.main)
    options = parser.parse_args(arguments)
    try:
        status: int = options.main(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        return _reader_gone()
    except (SandboxError, OSError) as error:
        from safeexec.cli.common import tell

        tell(f"safeexec: {error}", file=sys.stderr)  # a state file, a recording or a policy may say what it likes
        return EXIT_USAGE
    except KeyboardInterrupt:
        return 130


def _reader_gone() -> int:
    """Nobody reads the output any more. What is still buffered goes nowhere, or the interpreter would complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return EXIT_READER_GONE


def _wanted(arguments: Sequence[str]) -> list[str]:
    """Only the command that is asked for is imported: start-up time is part of every run."""
    asked = next((argument for argument in arguments if not argument.startswith("-")), "")
    return [asked] if asked in COMMANDS else [*COMMANDS]


def _version() -> str:
    from safeexec import __version__

    return f"safeexec {__version__}"
