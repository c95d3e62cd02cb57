"""`safeexec repl`: an interactive session. State, history and several lines; `:help` lists the commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from safeexec import Sandbox, SandboxError
from safeexec.cli.common import add_policy_option, print_error, tell
from safeexec.cli.debug import at, when
from safeexec.cli.pictures import Pictures, is_drawn
from safeexec.cli.typed import read_step
from safeexec.common.matching import nearest
from safeexec.common.text import one_line, printable
from safeexec.servers.jupyter.introspection import complete

if TYPE_CHECKING:
    from safeexec import Session

COMMANDS = (
    *("checkpoint", "rollback", "checkpoints", "vars", "history", "at", "when"),
    *("files", "save", "load", "branch", "why", "help", "quit"),
)
BAR_WIDTH = 20
HELP = """\
:checkpoint NAME  keep the state as it is now     :rollback [NAME]  go back (no name: before the last step)
:checkpoints      list them                       :vars             list the variables
:history          the steps so far                :at N             one of them: read, wrote, variables
:when NAME        the steps that changed a name   :files            list the files of the workspace
:save PATH        write the state to a file       :load PATH        go on from a state that was saved
:branch NAME      go on in a branch (no name: list them; main is the first session)
:why NAME         is a name allowed, by which line
:quit             leave (also Ctrl-D)             Ctrl-C            stop the running step; its state is restored"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_policy_option(parser)
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds per step")


def main(options: argparse.Namespace) -> int:
    """Read, run, print, until the end of input."""
    with Sandbox(options.policy) as sandbox, Desk(sandbox) as desk:
        ask = _reader(desk)
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
                if not desk.command(source[1:].split()):
                    return 0
            elif source.strip():
                status = run_step(desk.session, source, options.timeout, desk.pictures)
                if status is not None:
                    return status


class Desk:
    """What is under way in one terminal: a sandbox, the session that steps run in, and the others by their names."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.recorded = sys.platform == "linux"  # elsewhere it is a session in a container
        self.session = sandbox.session(record=self.recorded)
        self.sessions = {"main": self.session}
        self.pictures = Pictures(None, temporary=True)

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self.sessions.values():
            session.close()

    def command(self, words: list[str]) -> bool:
        """Run one `:` command. False: leave."""
        try:
            match words:
                case ["files"]:
                    for name in self.session.list_files() or ["no files"]:
                        tell(one_line(name))
                case ["save", path]:
                    left = self.session.save(path)
                    without = f", without {one_line(', '.join(left))}" if left else ""
                    tell(f"saved to {one_line(path)}{without}")
                case ["load", path]:
                    self._go_to(os.path.basename(path), self.sandbox.restore(path, record=self.recorded))
                case ["branch"]:
                    for name, session in self.sessions.items():
                        tell(f"{'*' if session is self.session else ' '} {one_line(name)}")
                case ["branch", name]:
                    self._go_to(name, self.sessions.get(name) or self.session.branch()[0])
                case ["history"]:  # without the branches in which completion looks
                    timeline = self.session.history()
                    tell(timeline.listed({session.history().session for session in self.sessions.values()}))
                case ["why", *name] if name:
                    tell(self.sandbox.policy.why(" ".join(name)))
                case [word, *_] if word not in (*COMMANDS, "q", "exit"):
                    tell(f"no command :{one_line(word)}{_nearest(word)}; :help lists them", file=sys.stderr)
                case _:
                    return command(self.session, words)
        except (SandboxError, OSError) as error:
            tell(f"safeexec: {error}", file=sys.stderr)
        return True

    def _go_to(self, name: str, session: Session) -> None:
        before = self.sessions.get(name)
        if before is not None and before is not session:
            before.close()
        self.sessions[name] = self.session = session

    def completions(self, text: str) -> tuple[list[str], int]:
        """Return what could stand at the end of a line, and where that begins: commands, variables, attributes,
        modules.
        """
        if text.startswith(":") and " " not in text:
            return [name for name in COMMANDS if name.startswith(text[1:])], 1
        with suppress(SandboxError):
            return complete(self.session, text, len(text), ())
        return [], len(text)


def _nearest(word: str) -> str:
    found = nearest(word, COMMANDS)
    return f", did you mean :{found[0]}?" if found else ""


class Bar:
    """The progress bars of a step, one line that is drawn again."""

    def __init__(self) -> None:
        self._drawn = False

    def __call__(self, description: str, done: float, total: float | None) -> None:
        if sys.stderr.isatty():
            self._drawn = True
            print(f"\r\x1b[K{bar_text(description, done, total)}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line of the last bar as it is."""
        if self._drawn:
            print(file=sys.stderr)


def bar_text(description: str, done: float, total: float | None) -> str:
    """``load: 3/10 [######··············]``."""
    name = f"{one_line(description)[:60]}: " if description else ""
    if not total or total < 0:
        return f"{name}{done:g}"
    filled = round(BAR_WIDTH * min(1.0, max(0.0, done / total)))
    return f"{name}{done:g}/{total:g} [{'#' * filled}{'·' * (BAR_WIDTH - filled)}]"


def run_step(session: Session, source: str, timeout: float | None, pictures: Pictures) -> int | None:
    """Run one step and show what it prints, its bars while they grow, its value, its pictures. The status with which
    it asked to leave, as by `exit()`.
    """
    bar = Bar()
    try:
        result = session.run(
            source, timeout=timeout, on_output=lambda text: print(printable(text), end="", flush=True), on_progress=bar
        )
    except KeyboardInterrupt:
        print("stopped; the state before this step is restored", file=sys.stderr)
        return None
    finally:
        bar.end()
    if result.ok and result.value is not None:
        tell(result.text)
    pictures.show(display for display in result.displays if is_drawn(display))
    if result.exit_status is None:
        print_error(result)
    return result.exit_status


def command(session: Session, words: list[str]) -> bool:
    """Run one `:` command. False: leave."""
    try:
        match words:
            case ["quit" | "q" | "exit"]:
                return False
            case ["checkpoint", name]:
                session.checkpoint(name)
            case ["rollback", *name] if len(name) < 2:
                session.rollback(*name)
                tell(f"back to {one_line(name[0]) if name else 'before the last step'}")
            case ["checkpoints"]:
                for row in session.checkpoints():
                    kind = "automatic" if row.automatic else "named"
                    tell(f"{one_line(row.name):20} {kind:10} step {row.step:<5} {row.age:8.1f} s old")
            case ["vars"]:
                for variable in session.variables():
                    name, kind, text = map(one_line, (variable.name, variable.type, variable.text))
                    tell(f"{name:20} {kind:16} {one_line(str(variable.shape)):12} {text}")
            case ["at", step]:
                tell(at(session.history(), step))
            case ["when", name]:
                tell(when(session.history(), name))
            case _:
                print(HELP)
    except SandboxError as error:
        tell(f"safeexec: {error}", file=sys.stderr)
    return True


def _reader(desk: Desk) -> Callable[[str], str]:
    """Line input with history, editing and completion where the terminal and the packages allow it."""
    if not sys.stdin.isatty():
        return lambda prompt: input()
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
        from prompt_toolkit.history import FileHistory
    except ImportError:
        return _plain_reader(desk)

    class SessionNames(Completer):  # type: ignore[misc]
        """The names of the session, when they are asked for with Tab."""

        def get_completions(self, document: Any, _event: Any) -> Any:
            text = document.text_before_cursor
            matches, start = desk.completions(text)
            return (Completion(match, start_position=start - len(text)) for match in matches)

    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    os.makedirs(os.path.join(state, "safeexec"), mode=0o700, exist_ok=True)
    history = FileHistory(os.path.join(state, "safeexec", "history"))
    prompt: Any = PromptSession(history=history, completer=SessionNames(), complete_while_typing=False)
    return lambda text: str(prompt.prompt(text))


def _plain_reader(desk: Desk) -> Callable[[str], str]:
    """`input` with the standard library's editing, which Windows has not."""
    try:
        import readline
    except ImportError:
        return input

    found: list[str] = []

    def completed(_word: str, number: int) -> str | None:
        if number == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            matches, start = desk.completions(line)
            found[:] = [line[readline.get_begidx() : start] + match for match in matches]
        return found[number] if number < len(found) else None

    readline.set_completer_delims(" \t\n()[]{},=+-*/%<>:;!&|^~'\"@")
    readline.set_completer(completed)
    readline.parse_and_bind("tab: complete")
    return input
