"""`safeexec repl`: an interactive session. State, history and several lines; `:help` lists the commands."""

from __future__ import annotations

import argparse
import codeop
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from safeexec.cli.common import add_policy_option, print_error

if TYPE_CHECKING:
    from safeexec import Session

HELP = """\
:checkpoint NAME  keep the state as it is now     :rollback [NAME]  go back (no name: before the last step)
:checkpoints      list them                       :vars             list the variables
:quit             leave (also Ctrl-D)             Ctrl-C            stop the running step; its state is restored"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser("repl", help="an interactive session")
    add_policy_option(parser)
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds per step")
    return parser


def main(options: argparse.Namespace) -> int:
    """Read, run, print, until the end of input."""
    from safeexec import Sandbox

    ask = _reader()
    with Sandbox(options.policy) as sandbox, sandbox.session() as session:
        if sys.stdin.isatty():
            print(f"safeexec, policy {sandbox.policy.name}; :help lists the commands")
        while True:
            try:
                source = read_step(ask)
            except EOFError:
                return 0
            except KeyboardInterrupt:
                print()
                continue
            if source.startswith(":"):
                if not command(session, source[1:].split()):
                    return 0
            elif source.strip():
                run_step(session, source, options.timeout)


def read_step(ask: Callable[[str], str]) -> str:
    """One complete step: lines until they compile, or are known not to."""
    lines = [ask(">>> ")]
    if lines[0].startswith(":"):
        return lines[0]
    while True:
        source = "\n".join(lines)
        try:
            if codeop.compile_command(source, "<repl>", "exec") is not None and not (
                len(lines) > 1 and lines[-1].strip()
            ):
                return source
        except (SyntaxError, ValueError, OverflowError):
            return source
        lines.append(ask("... "))


def run_step(session: Session, source: str, timeout: float | None) -> None:
    from safeexec.text import printable

    try:
        result = session.run(source, timeout=timeout, on_output=lambda text: print(printable(text), end="", flush=True))
    except KeyboardInterrupt:
        print("stopped; the state before this step is restored", file=sys.stderr)
        return
    if result.ok and result.value is not None:
        print(printable(result.text))
    print_error(result)


def command(session: Session, words: list[str]) -> bool:
    """Run one `:` command. False: leave."""
    from safeexec import CheckpointError

    try:
        match words:
            case ["quit" | "q" | "exit"]:
                return False
            case ["checkpoint", name]:
                session.checkpoint(name)
            case ["rollback"]:
                session.rollback()
            case ["rollback", name]:
                session.rollback(name)
            case ["checkpoints"]:
                for row in session.checkpoints():
                    kind = "automatic" if row.automatic else "named"
                    print(f"{row.name:20} {kind:10} step {row.step:<5} {row.age:8.1f} s old")
            case ["vars"]:
                for variable in session.variables():
                    print(f"{variable.name:20} {variable.type:16} {variable.shape:12} {variable.text}")
            case _:
                print(HELP)
    except CheckpointError as error:
        print(f"safeexec: {error}", file=sys.stderr)
    return True


def _reader() -> Callable[[str], str]:
    """Line input with history and editing where the terminal and the packages allow it."""
    if not sys.stdin.isatty():
        return lambda prompt: input()
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory
    except ImportError:
        import readline  # noqa: F401 - importing it gives input() editing and history

        return input
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    os.makedirs(os.path.join(state, "safeexec"), mode=0o700, exist_ok=True)
    prompt: Any = PromptSession(history=FileHistory(os.path.join(state, "safeexec", "history")))
    return lambda text: str(prompt.prompt(text))
