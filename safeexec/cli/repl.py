"""`safeexec repl`: an interactive session. State, history and several lines; `:help` lists the commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from token import COMMENT, DEDENT, INDENT, NEWLINE, NL, OP
from tokenize import TokenError, TokenInfo, generate_tokens
from typing import TYPE_CHECKING, Any

from safeexec.cli.common import add_policy_option, print_error, tell
from safeexec.text import one_line, printable

if TYPE_CHECKING:
    from safeexec import Session

HELP = """\
:checkpoint NAME  keep the state as it is now     :rollback [NAME]  go back (no name: before the last step)
:checkpoints      list them                       :vars             list the variables
:quit             leave (also Ctrl-D)             Ctrl-C            stop the running step; its state is restored"""

COMPOUND = {"if", "for", "while", "try", "with", "def", "class", "async", "@"}
"""What a block begins with; it ends with a blank line. `match` does by its colon."""
FIRST, MORE = ">>> ", "... "
"""How the first line of a step is asked for, and each further one."""
MAX_LINES = 200_000
"""Lines of one step; a policy's `limits.step_source_kb` is reached before."""


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
    """One complete step: a statement, or a block up to its blank line. At the end of the input, what there is.

    Raises EOFError where there is nothing more. Lines are looked at once each, as tokens, and nothing is compiled here:
    that would be quadratic, and deep nesting would end the process. Whatever is no Python goes on as it is; the session
    says so.
    """
    lines = [ask(FIRST)]
    if lines[0].startswith(":"):
        return lines[0]
    unread = iter([f"{lines[0]}\n"])

    def more() -> str:
        for line in unread:
            return line
        if len(lines) >= MAX_LINES:
            return ""
        try:
            lines.append(ask(MORE))
        except EOFError:
            return ""
        return f"{lines[-1]}\n"

    try:
        _skip_statement(generate_tokens(more))
    except (TokenError, SyntaxError, ValueError):
        pass
    return "\n".join(lines)


def _skip_statement(tokens: Iterator[TokenInfo]) -> None:
    """Take the tokens of one statement, asking for no line more than it has."""
    depth, first, last = 0, "", ""
    for token in tokens:
        if token.type == OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type == NEWLINE and not (first in COMPOUND or last == ":"):
            return
        if token.type == NEWLINE:
            first = "@"  # in a block, which a blank line ends
        elif token.type == NL:
            if depth <= 0 and (not first or not token.line.strip()):
                return
        elif token.type not in (COMMENT, INDENT, DEDENT):
            first, last = first or token.string, token.string


def run_step(session: Session, source: str, timeout: float | None) -> None:
    try:
        result = session.run(source, timeout=timeout, on_output=lambda text: print(printable(text), end="", flush=True))
    except KeyboardInterrupt:
        print("stopped; the state before this step is restored", file=sys.stderr)
        return
    if result.ok and result.value is not None:
        tell(result.text)
    print_error(result)


def command(session: Session, words: list[str]) -> bool:
    """Run one `:` command. False: leave."""
    from safeexec import SandboxError

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
                    tell(f"{one_line(row.name):20} {kind:10} step {row.step:<5} {row.age:8.1f} s old")
            case ["vars"]:
                for variable in session.variables():
                    name, kind, text = map(one_line, (variable.name, variable.type, variable.text))
                    tell(f"{name:20} {kind:16} {one_line(str(variable.shape)):12} {text}")
            case _:
                print(HELP)
    except SandboxError as error:
        tell(f"safeexec: {error}", file=sys.stderr)
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
