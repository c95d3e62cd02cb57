"""Helpers that several commands share: options, sources, and how a result looks in a terminal."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from safeexec.common.text import printable
from safeexec.errors import ToolError
from safeexec.results.observation import failure
from safeexec.untrusted.source_text import encoding_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from safeexec import Result

MAX_SOURCE = 16 << 20
"""Bytes of one program; a policy's `limits.step_source_kb` is at most as much."""
EXIT_CODES = {
    "ok": 0,
    "error": 1,
    "rejected": 3,
    "violation": 4,
    "memory": 5,
    "timeout": 6,
    "cpu": 7,
    "output": 8,
    "cancelled": 9,
    "crashed": 10,
    "waiting": 11,
}
"""Exit status of `safeexec run` per outcome. 2: a wrong command line or policy, or a machine that cannot protect."""


def add_policy_option(parser: argparse.ArgumentParser, default: str = "standard") -> None:
    parser.add_argument(
        "--policy", "-p", default=default, metavar="P", help=f"a profile's name or a YAML file (default: {default})"
    )


def add_http_options(parser: argparse._ActionsContainer, token_file: str) -> None:
    """Add options for where a server listens on HTTP, and the file of who may use it; `token_file` says what it has."""
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="of HTTP; 0 picks one (default: 8000)")
    parser.add_argument("--token-file", metavar="FILE", help=token_file)


def add_tools_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tools",
        nargs="+",
        default=[],
        metavar="MODULE:FUNCTION",
        help="host functions that code may call, if the policy allows them (tools.allow)",
    )


def tools_of(options: argparse.Namespace) -> list[Callable[..., Any]]:
    """Return the functions that ``--tools`` names, of the current directory or installed. Raises `ToolError`. What they
    print as they are imported goes to standard error: standard output may be a protocol's.
    """
    sys.path.insert(0, "")  # as with `python -m`
    found = []
    for name in options.tools:
        module, colon, function = name.partition(":")
        if not colon:
            raise ToolError(f"--tools {name}: names a function of a module, as {name}:FUNCTION")
        try:
            with redirect_stdout(sys.stderr):
                found.append(getattr(import_module(module), function))
        except (ImportError, AttributeError, ValueError) as error:
            raise ToolError(f"--tools {name}: {error}") from None
    return found


def add_file_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH",
        help="copy a file into the workspace (NAME=PATH to rename)",
    )


def files_of(given: list[str]) -> dict[str, str]:
    """Return names in the workspace and paths: of ``NAME=PATH``, or of ``PATH``, whose last part is the name then."""
    files: dict[str, str] = {}
    for entry in given:
        name, separator, path = entry.partition("=")
        if not separator:
            name, path = entry.rstrip("/").rpartition("/")[2], entry
        files[name] = path
    return files


def add_model_options(parser: argparse.ArgumentParser, max_steps: int) -> None:
    """Add options for which model an agent asks, and how often it may try."""
    parser.add_argument("--model", default="mistral-large-latest", metavar="NAME", help="default: mistral-large-latest")
    parser.add_argument("--server-url", metavar="URL", help="a compatible server in place of Mistral's")
    parser.add_argument("--max-steps", type=int, default=max_steps, metavar="N", help=f"default: {max_steps}")


def print_safely(*values: object, file: TextIO | None = None, sep: str = " ") -> None:
    """Print what strangers may have written: nothing of it acts on the terminal."""
    print(printable(sep.join(map(str, values))), file=file or sys.stdout)


def read_source(name: str) -> str:
    """Return the text of a source file, or of standard input for ``-``. Raises OSError, also for what is no text."""
    # The user named it: a pipe is allowed (`<(…)`), a program without end is not.
    with open(sys.stdin.fileno(), "rb", closefd=False) if name == "-" else open(name, "rb") as file:
        data = file.read(MAX_SOURCE + 1)
    if len(data) > MAX_SOURCE:
        raise OSError(f"{name} has more than {MAX_SOURCE} bytes")
    return decoded(name, data)


def decoded(name: str, data: bytes) -> str:
    """Return the text of a source file, as Python reads it: in UTF-8, or as its comment says (PEP 263). Raises OSError
    for what is no such text.
    """
    encoding = encoding_of(data) or "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        known = "UTF-8" if encoding.startswith("utf-8") else encoding
        raise OSError(f"{name} is not {known} text: byte {error.start} cannot be read") from None


def print_error(result: Result) -> None:
    """Print on stderr why a step did not end well: the place, what happened, the rule, the hint; or its notes."""
    lines = failure(result) if result.error is not None else [f"note: {note}" for note in result.notes]
    if lines:
        print_safely("\n".join(lines), file=sys.stderr)
