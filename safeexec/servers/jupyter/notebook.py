"""A session behind the cells of a notebook: cells, magics and what they show, whichever page it is on.

The page gets what is safe to show (`safeexec.results.mimebundle`). Guest code runs in the session alone, also when a
name is completed or explained.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from textwrap import indent
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

from safeexec import Policy, Sandbox, SandboxClosed, SandboxError, SessionClosed, ToolError
from safeexec.common.text import one_line, printable
from safeexec.recordings.timeline import describe_changes, describe_step
from safeexec.results import Rows
from safeexec.results.mimebundle import inert, of_display, of_text
from safeexec.results.observation import failure
from safeexec.servers.jupyter import introspection
from safeexec.untrusted.markup import escape

if TYPE_CHECKING:
    from safeexec import Display, Result, Session
    from safeexec.results.mimebundle import Bundle

MAIN = "main"
"""The branch that there is from the start."""
INPUT_SECONDS = 86_400.0
"""How long a person may take to answer `input()`."""
CANCEL_SECONDS = 2.0
"""How long an interrupt waits for the step of a cell that has just begun."""
MAX_BARS = 50
RECORDED = sys.platform == "linux"
"""Elsewhere a session is in a container, where none is recorded."""
_BAR_WIDTH = 20
_QUESTION = re.compile(r"\?{1,2}([\w.]{1,200})|([\w.]{1,200})\?{1,2}")
_MAGIC = re.compile(r"(%%?|!)[ \t]*(\S*)[ \t]*(.*)")
_INSTALL = "Nothing can be installed from a cell: install it where the kernel runs, and allow it in the policy."
_SHELL = "There is no shell here: write it in Python."
_SHOW = "Pass the text to HTML, Markdown, Latex or SVG of IPython.display, where the policy has that module."
_INSTEAD = {
    **dict.fromkeys(("pip", "conda", "mamba", "uv"), _INSTALL),
    **dict.fromkeys(
        ("bash", "sh", "script", "system", "sx", "cd", "ls", "ll", "pwd", "cat", "cp", "mv", "env"), _SHELL
    ),
    **dict.fromkeys(("html", "HTML", "markdown", "latex", "svg", "SVG"), _SHOW),
    **dict.fromkeys(("javascript", "js"), "A page runs nothing of a cell's: draw with matplotlib."),
    **dict.fromkeys(("debug", "pdb"), "An error tells its line and a hint: print what you want to see."),
    **dict.fromkeys(("run", "load"), "Put the file into the workspace, and import it, or copy its text into a cell."),
    **dict.fromkeys(("prun", "lprun", "memit", "mprun"), "There is no profiler: %timeit tells how long code takes."),
    "pylab": "Import what you use: import numpy as np, import matplotlib.pyplot as plt.",
    "reset": "Restart the kernel, or go back with %rollback.",
    "file": "Write %%writefile NAME.",
    **dict.fromkeys(
        ("matplotlib", "config", "load_ext", "reload_ext", "autoreload", "xmode", "colors", "precision"), ""
    ),
}
"""Magics of others. An empty text: it is passed over, wherever it stands; there is nothing that it could change."""
_TIMEIT = re.compile(r"%{1,2}timeit\b((?:[ \t]+-(?:[nr][ \t]*\d{1,9}|[a-z]))*)[ \t]*(.*)", re.DOTALL)
_LOOP = """\
def timeit_cell(timeit_number, timeit_repeat):
    from time import perf_counter as timeit_clock
    def timeit_run(timeit_count):
        timeit_begin = timeit_clock()
        for timeit_each in range(timeit_count):
{code}
        return timeit_clock() - timeit_begin
    if not timeit_number:
        timeit_number = 1
        while timeit_run(timeit_number) < 0.2 and timeit_number < 1_000_000_000:
            timeit_number *= 10
    taken = [timeit_run(timeit_number) / timeit_number for timeit_each in range(timeit_repeat)]
    mean = sum(taken) / timeit_repeat
    spread = (sum((one - mean) ** 2 for one in taken) / timeit_repeat) ** 0.5
    size, unit = next(((10**-n, name) for n, name in ((0, "s"), (3, "ms"), (6, "us")) if mean >= 10**-n), (1e-9, "ns"))
    runs = f"mean ± std. dev. of {{timeit_repeat}} runs, {{timeit_number:,}} loops each"
    print(f"{{mean / size:.3g}} {{unit}} ± {{spread / size:.3g}} {{unit}} per loop ({{runs}})")
try:
    timeit_cell({number}, {repeat})
finally:
    del timeit_cell
"""
"""`%timeit`: the names of its code are those of a function, as in IPython."""


class CellFailure(NamedTuple):
    """The reason why a cell did not end well, as a notebook shows it."""

    name: str
    message: str
    lines: list[str]


class Page:
    """The place where a notebook shows what its cells do. This one shows nothing, and nobody is there."""

    def form(self, display: Mapping[str, str | bytes], /) -> Mapping[str, str | bytes]:
        """Return what of a display it may show: here as for a page that runs what it is given."""
        return of_display(display)

    def stream(self, name: str, text: str) -> None:
        """Show text of `stdout` or `stderr`."""

    def show(self, data: Mapping[str, str | bytes], display_id: str | None = None, update: bool = False) -> None:
        """Show a display, or another one in the place of those with its id."""

    def value(self, data: Mapping[str, str | bytes]) -> None:
        """Show what a cell amounts to."""

    def clear(self, wait: bool) -> None:
        """Take away all that the cell has shown; with `wait` only when something else is shown."""

    def ask(self, prompt: str, given_up: Callable[[], bool]) -> str:
        """Return a line of the person's. Raises EOFError where there is nobody, or when it is given up."""
        raise EOFError("nobody can be asked for input here")


class Notebook:
    """One sandbox with a session per branch; cells run in the branch that is current."""

    def __init__(self, policy: str | os.PathLike[str], timeout: float | None = None) -> None:
        """`timeout`: seconds of one step, the most that the policy gives where none is given."""
        self.page: Page
        self.magics = MAGICS
        self.exit_status: int | None = None
        """The status with which the last cell has asked to leave, as by `exit()`."""
        self._timeout = timeout
        self.branches: dict[str, Session] = {}
        self.current = MAIN
        self._policy = policy
        self._sandbox: Sandbox | None = None
        self._running = self._closed = False
        self._interrupted = threading.Event()
        self._opening = threading.Thread(target=self._try_to_open, name="safeexec-notebook")
        self._opening.start()

    def _try_to_open(self) -> None:
        """Open while the page gets ready. The first cell reports what is wrong with it."""
        with suppress(SandboxError):
            self._open()

    def _open(self) -> None:
        policy = Policy.load(self._policy).replace(tools={"timeout_seconds": INPUT_SECONDS})
        try:
            self._sandbox = Sandbox(policy, tools={"input": self._input})
        except ToolError:  # the policy lists its tools, and this one is not among them
            self._sandbox = Sandbox(policy)
        self._begin(self._sandbox.open())

    def _begin(self, sandbox: Sandbox) -> None:
        self.current = MAIN
        self.branches = {MAIN: sandbox.session(record=RECORDED)}

    def close(self) -> None:
        """End every process, for good. From any thread."""
        self._closed = True
        self._opening.join()
        if self._sandbox is not None:
            self._sandbox.close()

    @property
    def session(self) -> Session:
        """The session of the current branch. Raises `SandboxError` where the sandbox cannot be started."""
        self._opening.join()
        if not self.branches:
            self._open()
        return self.branches[self.current]

    def _input(self, prompt: str = "") -> str:
        """Ask the person at the notebook for one line."""
        return self.page.ask(printable(prompt), self._interrupted.is_set)

    # Cells

    def run(self, cell: str, page: Page) -> CellFailure | None:
        """Run the magics that a cell begins with, then its code, and show on `page`. None when all went well."""
        self.page = page
        self._interrupted.clear()
        self._running = True
        try:
            if asked := _QUESTION.fullmatch(cell.strip()):
                return self._explain(asked[1] or asked[2])
            if cell.startswith("%%writefile "):
                self._write_file(cell)
                return None
            if cell.startswith("%%capture"):
                return self._capture(cell)
            if timed := _TIMEIT.match(cell.strip()):
                return self._step(_loop(timed[1], timed[2]), False)
            magics, source = split(cell)
            for line in magics:
                if failed := self._magic(line):
                    return failed
            if self._interrupted.is_set():
                return refused("the cell was interrupted before its code ran", "Nothing has changed: run it again.")
            return self._step(source, any(_is_time(line) for line in magics)) if source.strip() else None
        except (SessionClosed, SandboxClosed) as error:
            if self._sandbox is None or self._closed:
                return refused("the notebook is closed", "Start the kernel again.")
            self._begin(self._sandbox.reopen())
            hint = "state: lost; an empty session has begun, run the cells that it needs again"
            return CellFailure(type(error).__name__, str(error), [f"{type(error).__name__}: {error}", hint])
        except SandboxError as error:
            return CellFailure(type(error).__name__, str(error), [printable(f"{type(error).__name__}: {error}")])
        finally:
            self._running = False

    def cancel(self) -> None:
        """Stop the running cell, from another thread; the state before its step is restored."""
        self._interrupted.set()
        deadline = monotonic() + CANCEL_SECONDS
        # A cell that has begun comes to its step in a moment.
        while self._running and monotonic() < deadline:
            session = self.branches.get(self.current)
            if session is not None and session.cancel():
                return
            sleep(0.01)

    def _step(self, source: str, timed: bool) -> CellFailure | None:
        shown = _StepOutput(self.page)
        result = self.session.run(
            source,
            timeout=self._timeout or self.session.policy.limits.max_wall_seconds,
            on_stdout=lambda text: self.page.stream("stdout", printable(text)),
            on_stderr=lambda text: self.page.stream("stderr", printable(text)),
            on_display=shown.display,
            on_progress=shown.progress,
        )
        self.exit_status = result.exit_status
        self._show_value(result, shown)
        if timed:
            self._say(f"CPU time: {result.usage.cpu_ms:.3g} ms\nWall time: {result.usage.wall_ms:.3g} ms")
        if not result.ok:
            error = result.error
            if error is not None and error.type == "SyntaxError" and (error.source_line or "").startswith("%"):
                instead = _INSTEAD.get(_parts(error.source_line)[1])
                hint = instead or "Magics begin a cell: put it into a cell of its own."
                return refused("a magic stands behind code", hint)
            name, message = (error.type, error.message) if error is not None else (result.outcome, "")
            return CellFailure(printable(name), printable(message), failure(result))
        for note in result.notes:
            self.page.stream("stderr", f"note: {printable(note)}\n")
        return None

    def _show_value(self, result: Result, shown: _StepOutput) -> None:
        """Show what has not been sent yet: the value, and that displays were left out."""
        rest = result.displays[shown.count :]
        rich = next((display for display in rest if len(display) > 1), None)
        for display in rest:
            if display is not rich:
                self.page.show(self.page.form(display))
        if rich is not None:
            self.page.value(self.page.form(rich))
        elif result.text and not any(display.text == result.text for display in result.displays):
            self.page.value({"text/plain": printable(result.text)})

    # Magics

    def _magic(self, line: str) -> CellFailure | None:
        kind, name, argument = _parts(line)
        if _is_time(line):
            return None
        if kind == "!":
            return refused(f"{line.strip()!r} is refused", _INSTEAD.get(name) or _SHELL)
        if kind == "%" and name in self.magics:
            self.magics[name](self, argument)
            return None
        there_are = f"There are {', '.join(f'%{known}' for known in (*self.magics, 'time', 'timeit'))}."
        return refused(f"the magic {one_line(kind + name)} is refused", _INSTEAD.get(name) or there_are)

    def _explain(self, name: str) -> CellFailure | None:
        """Show what is known of a name: `name?`."""
        text = introspection.inspect(self.session, name)
        if text is None:
            return refused(
                f"nothing is known of {one_line(name)}", "Name a variable of a cell that has run, or a module."
            )
        self._say(text)
        return None

    def _write_file(self, cell: str) -> None:
        """Make the lines below `%%writefile [-a] NAME` a file of the workspace, or put them at its end."""
        head, _, text = cell.partition("\n")
        text += "" if text.endswith("\n") else "\n"
        name = head.removeprefix("%%writefile").strip()
        if name.startswith("-a "):
            name = name[3:].strip()
            kept = self.session.read_file(name) if name in self.session.list_files() else b""
            self.session.write_file(name, kept + text.encode())
        else:
            self.session.write_file(name, text)
        self._say(f"wrote {one_line(name)}")

    def _capture(self, cell: str) -> CellFailure | None:
        """Run the rest of the cell, in its own lines, and show nothing: `%%capture`."""
        head, _, rest = cell.partition("\n")
        if head.strip() != "%%capture":
            return refused(
                "%%capture takes no name", "Catch what is printed with contextlib.redirect_stdout(io.StringIO())."
            )
        return self.run(f"\n{rest}", QuietPage(self.page))

    def _say(self, text: str) -> None:
        self.page.stream("stdout", printable(text) + "\n")

    def _checkpoint(self, name: str) -> None:
        self.session.checkpoint(name)
        self._say(f"checkpoint {one_line(name)}: %rollback {one_line(name)} goes back to it")

    def _rollback(self, name: str) -> None:
        calls = [call for call in self.session.rollback(name or None) if call.tool != "input"]
        self._say(f"back to {one_line(name)}" if name else "back to before the last step")
        if calls:
            self._say(f"{len(calls)} calls of host tools since then cannot be undone")

    def _branch(self, name: str) -> None:
        """Begin a branch here for a new name. Cells go on in the one that is named; without a name in this one."""
        if name and name not in self.branches:
            (self.branches[name],) = self.session.branch()
        self.current = name or self.current
        for branch in self.branches:
            self._say(f"{'*' if branch == self.current else ' '} {one_line(branch)}")

    def _policy_text(self, _: str) -> None:
        policy = Policy.load(self._policy)
        self.page.show(of_text(f"# {policy.name}, from {', which extends '.join(policy.files)}\n{policy.to_yaml()}"))

    def _why(self, name: str) -> None:
        usage = "%why NAME: a module, attribute, builtin or call"
        self._say(str(Policy.load(self._policy).why(name)) if name else usage)

    def _history(self, _: str) -> None:
        # What the page looks up, as `x?`, runs in branches of its own: these steps are nobody's.
        self._say(self.session.history().listed({branch.history().session for branch in self.branches.values()}))

    def _files(self, _: str) -> None:
        self._say("\n".join(one_line(name) for name in self.session.list_files()) or "no files")

    def _variables(self, _: str) -> None:
        self.page.show(Rows(self.session.variables())._repr_mimebundle_())


MAGICS: dict[str, Callable[[Notebook, str], None]] = {
    "checkpoint": Notebook._checkpoint,
    "rollback": Notebook._rollback,
    "branch": Notebook._branch,
    "checkpoints": lambda book, _: book.page.show(Rows(book.session.checkpoints())._repr_mimebundle_()),
    "vars": Notebook._variables,
    "who": Notebook._variables,
    "whos": Notebook._variables,
    "policy": Notebook._policy_text,
    "why": Notebook._why,
    "card": lambda book, _: book._say(book.session.card()),
    "files": Notebook._files,
    "history": Notebook._history,
    "at": lambda book, step: book._say(describe_step(book.session.history(), step)),
    "when": lambda book, name: book._say(describe_changes(book.session.history(), name)),
}


class QuietPage(Page):
    """A page of which only the questions are seen."""

    def __init__(self, page: Page) -> None:
        self.ask = page.ask  # type: ignore[method-assign]


class _StepOutput:
    """The displays and progress bars that one step has shown so far."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._ids: set[str | None] = set()
        self._bars: list[_ShownBar] = []
        self.count = 0
        """Displays of the step's result that have been shown."""

    def display(self, display: Display) -> None:
        if not display:
            self._ids, self._bars, self.count = set(), [], 0
            self._page.clear(display.update)
            return
        if not (display.update and display.display_id in self._ids):
            self.count += 1
        self._ids.add(display.display_id)
        self._page.show(self._page.form(display), display.display_id, display.update)

    def progress(self, description: str, done: float, total: float | None) -> None:
        """Draw a bar, or move the newest of this total that is less far; its description may have changed."""
        alike = [bar for bar in reversed(self._bars) if bar.total == total]
        bar = next((bar for bar in alike if bar.description == description and bar.done <= done), None)
        bar = bar or next((bar for bar in alike if bar.done < done), None)
        update = bar is not None or len(self._bars) >= MAX_BARS
        if bar is None and update:
            bar = self._bars[-1]
        elif bar is None:
            self._bars.append(bar := _ShownBar(os.urandom(16).hex(), description, done, total))
        bar.description, bar.done, bar.total = description, done, total
        self._page.show(_bar(description, done, total), bar.display_id, update)


@dataclass
class _ShownBar:
    """A progress bar that is on the page. The guest's events say what it shows, and not which one it is."""

    display_id: str
    description: str
    done: float
    total: float | None


def _bar(description: str, done: float, total: float | None) -> Bundle:
    label = f"{one_line(description)}: " if description else ""
    if total is None or not (math.isfinite(done) and math.isfinite(total) and total > 0):
        return {"text/plain": f"{label}{done:g}"}
    share = min(max(done / total, 0.0), 1.0)
    full = int(share * _BAR_WIDTH)
    text = f"{done:g}/{total:g}"
    meter = f'<progress max="1" value="{share:.4f}"></progress>'
    return {
        "text/plain": f"{label}{share:4.0%}|{'█' * full}{' ' * (_BAR_WIDTH - full)}| {text}",
        "text/html": inert(f"{escape(label)}{meter} {escape(f'{share:.0%} {text}')}"),
    }


def refused(message: str, hint: str) -> CellFailure:
    """Return the failure of a cell that asks for what is not here."""
    return CellFailure("Refused", message, [f"Refused: {message}", f"hint: {hint}"])


def _parts(line: str) -> tuple[str, str, str]:
    found = _MAGIC.match(line)
    assert found is not None
    return found[1], found[2], found[3].strip()


def _loop(options: str, code: str) -> str:
    """Return the step that measures `code`, with the options of `%timeit`."""
    given = {name: int(number) for name, number in re.findall(r"-([nr])[ \t]*(\d+)", options)}
    body = indent(f"{code}\npass", " " * 12)
    return _LOOP.format(code=body, number=given.get("n", 0), repeat=max(1, given.get("r", 7)))


def _is_time(line: str) -> bool:
    """Return whether a line is `%%time` above the code, or `%time CODE`."""
    return _parts(line)[1] == "time" and line.startswith("%")


def split(cell: str) -> tuple[list[str], str]:
    """Return the magics that a cell begins with, and its code, blank lines in their place; none for comments alone."""
    lines = cell.split("\n")
    lines = ["" if line.startswith("%") and _INSTEAD.get(_parts(line)[1]) == "" else line for line in lines]
    magics: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith(("%", "!")):
            magics.append(line)
            lines[number] = _parts(line)[2] if _is_time(line) else ""
            if lines[number]:
                return magics, "\n".join(lines)
        elif line.strip() and not line.startswith("#"):
            return magics, "\n".join(lines)
    return magics, ""
