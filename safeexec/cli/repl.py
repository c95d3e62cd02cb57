"""`safeexec repl`: a notebook at a terminal. State, history and several lines; `:help` lists the commands."""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from token import COMMENT, DEDENT, INDENT, NEWLINE, NL, OP
from tokenize import TokenError, TokenInfo, generate_tokens
from typing import Any

from safeexec import Display, Policy, SandboxError
from safeexec.cli.common import add_policy_option, print_safely
from safeexec.cli.pictures import Pictures, is_drawn
from safeexec.common.matching import nearest
from safeexec.common.text import one_line, printable
from safeexec.servers.jupyter.introspection import complete
from safeexec.servers.jupyter.notebook import MAGICS, RECORDED, Notebook, Page

HELP = """\
:checkpoint NAME  keep the state as it is now     :rollback [NAME]  go back (no name: before the last step)
:checkpoints      list them                       :vars             list the variables
:history          the steps so far                :at N             one of them: read, wrote, variables
:when NAME        the steps that changed a name   :files            list the files of the workspace
:save PATH        write the state to a file       :load PATH        go on from a state that was saved
:branch NAME      go on in a branch (no name: list them; main is the first session)
:why NAME         is a name allowed, by which line     :card, :policy    all that code may do
:quit             leave (also Ctrl-D)             Ctrl-C            stop the running step; its state is restored
NAME?             explain a name                  %timeit CODE      how long it takes; the other magics of the kernel"""


COMPOUND = {"if", "for", "while", "try", "with", "def", "class", "async", "@"}
"""The words that begin a block; it ends with a blank line. `match` begins one by its colon."""
FIRST, MORE = ">>> ", "... "
"""The prompts for the first line of a step, and each further one."""
MAX_LINES = 200_000
"""Lines of one step; a policy's `limits.step_source_kb` is reached before."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_policy_option(parser)
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds per step")


def main(options: argparse.Namespace) -> int:
    """Read, run, print, until the end of input."""
    with closing(Desk(options.policy, options.timeout)) as desk:
        policy = desk.session.policy.name  # opened now: what is wrong with it ends the command
        ask = _reader(desk)
        if sys.stdin.isatty():
            print(f"safeexec, policy {policy}; :help lists the commands")
        while desk.exit_status is None:
            try:
                source = read_step(ask)
            except EOFError:
                return 0
            except KeyboardInterrupt:
                print()
                continue
            if source.strip():
                desk.enter(source)
        return desk.exit_status


class Desk(Notebook):
    """A notebook whose cells are typed at a terminal, and whose magics may begin with a colon."""

    def __init__(self, policy: str, timeout: float | None = None) -> None:
        """`timeout`: seconds of a step, the policy's where none is given."""
        super().__init__(policy, timeout or Policy.load(policy).limits.wall_seconds)
        self.magics = COMMANDS
        self.terminal = Terminal()

    def enter(self, source: str) -> None:
        """Run a step, or a command. What went wrong is on standard error."""
        if source.startswith(":"):
            word, _, argument = source[1:].strip().partition(" ")
            word = {"q": "quit", "exit": "quit", "": "help"}.get(word, word)
            if word not in COMMANDS:
                near = nearest(word, COMMANDS)
                meant = f", did you mean :{near[0]}?" if near else ""
                print_safely(f"no command :{one_line(word)}{meant}; :help lists them", file=sys.stderr)
                return
            source = f"%{word} {argument}"
        try:
            failed = self.run(source, self.terminal)
        except KeyboardInterrupt:
            print("stopped; the state before this step is restored", file=sys.stderr)
            return
        except OSError as error:
            print_safely(f"safeexec: {error}", file=sys.stderr)
            return
        finally:
            self.terminal.end_line()
        if failed is not None and self.exit_status is None:
            print_safely("\n".join(failed.lines), file=sys.stderr)

    def completions(self, text: str) -> tuple[list[str], int]:
        """Return what could end a line, and where that begins: commands, variables, attributes, modules."""
        if text.startswith(":") and " " not in text:
            return [name for name in COMMANDS if name.startswith(text[1:])], 1
        with suppress(SandboxError):
            return complete(self.session, text, len(text), COMMANDS)
        return [], len(text)

    def save(self, path: str) -> None:
        left = self.session.save(path)
        without = f", without {one_line(', '.join(left))}" if left else ""
        print_safely(f"saved to {one_line(path)}{without}")

    def load(self, path: str) -> None:
        assert self._sandbox is not None
        session = self._sandbox.restore(path, record=RECORDED)
        self.current = os.path.basename(path)
        if (before := self.branches.get(self.current)) is not None:
            before.close()
        self.branches[self.current] = session

    def leave(self, _: str) -> None:
        self.exit_status = 0


COMMANDS: dict[str, Callable[[Any, str], None]] = {
    **MAGICS,
    "save": Desk.save,
    "load": Desk.load,
    "help": lambda _, __: print(HELP),
    "quit": Desk.leave,
}
"""The kernel's magics, and those that touch files of this machine: a cell may be a stranger's, what is typed is not."""


class Terminal(Page):
    """The page of a notebook at a terminal: a picture becomes a file, and a bar is one line that is drawn again."""

    def __init__(self) -> None:
        self._pictures = Pictures(None, temporary=True)
        self._drawn = False

    def form(self, display: Mapping[str, str | bytes]) -> Mapping[str, str | bytes]:
        """Return all of it: a terminal shows text alone, and nothing of that acts on it."""
        return display

    def end_line(self) -> None:
        """Leave the line of the last bar as it is."""
        if self._drawn:
            self._drawn = False
            print(file=sys.stderr)

    def stream(self, name: str, text: str) -> None:
        self.end_line()
        print(printable(text), end="", flush=True, file=sys.stderr if name == "stderr" else sys.stdout)

    def show(self, data: Mapping[str, str | bytes], display_id: str | None = None, update: bool = False) -> None:
        display = Display(data)
        if is_drawn(display):
            self._pictures.show([display])
        elif display_id is None:
            self.value(data)
        elif sys.stderr.isatty():
            self._drawn = True
            print(f"\r\x1b[K{one_line(_text(display))}", end="", file=sys.stderr, flush=True)

    def value(self, data: Mapping[str, str | bytes]) -> None:
        self.end_line()
        print_safely(_text(Display(data)))

    def ask(self, prompt: str, given_up: Callable[[], bool]) -> str:
        self.end_line()
        return input(prompt)


def _text(display: Display) -> str:
    return display.text or display.markdown or display.latex or f"data: {', '.join(display)}"


def _reader(desk: Desk) -> Callable[[str], str]:
    """Return what reads a line: with history, editing and completion at a terminal of a system that has readline."""
    if not sys.stdin.isatty():
        return lambda prompt: input()
    try:
        import readline
    except ImportError:  # Windows
        return input

    found: list[str] = []

    def completed(_word: str, number: int) -> str | None:
        if number == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            matches, start = desk.completions(line)
            found[:] = [line[readline.get_begidx() : start] + match for match in matches]
        return found[number] if number < len(found) else None

    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    os.makedirs(os.path.join(state, "safeexec"), mode=0o700, exist_ok=True)
    history = os.path.join(state, "safeexec", "typed")
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(10_000)
    atexit.register(readline.write_history_file, history)
    readline.set_completer_delims(" \t\n()[]{},=+-*/%<>:;!&|^~'\"@")
    readline.set_completer(completed)
    readline.parse_and_bind("tab: complete")
    return input


# Lines as steps


def read_step(ask: Callable[[str], str]) -> str:
    """Return one complete step: a statement, or a block up to its blank line. At the end of the input, what there is.

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

    with suppress(TokenError, SyntaxError, ValueError):
        if _skip_statement(generate_tokens(more)):
            typed = lines[-1].strip(" \t")
            print_safely(
                f"{one_line(typed)}: the statement before it was not finished, and is dropped",
                file=sys.stderr,
            )
            return typed
    return "\n".join(lines)


def _skip_statement(tokens: Iterator[TokenInfo]) -> bool:
    """Take the tokens of one statement, asking for no line more than it has. True: a line of it is a `:` command, as no
    line of Python begins with a colon outside of brackets.
    """
    depth, first, last = 0, "", ""
    for token in tokens:
        if token.type == OP and token.string == ":" and not depth and not token.line[: token.start[1]].strip(" \t"):
            return True
        if token.type == OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type == NEWLINE and not (first in COMPOUND or last == ":"):
            return False
        if token.type == NEWLINE:
            first = "@"  # in a block, which a blank line ends
        elif token.type == NL:
            if depth <= 0 and (not first or not token.line.strip()):
                return False
        elif token.type not in (COMMENT, INDENT, DEDENT):
            first, last = first or token.string, token.string
    return False
