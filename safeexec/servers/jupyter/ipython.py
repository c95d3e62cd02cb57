"""`%load_ext safeexec` in an ordinary notebook, or in IPython: cells that begin with `%%safeexec` run in a sandbox.

The cell's other magics are those of the Jupyter kernel; `%safeexec rollback` and the like stand in a line of their own.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Mapping
from typing import Any

from safeexec.servers.jupyter.notebook import MAGICS, Notebook, Page

DEFAULT_POLICY = "data-analysis"


class Outputs(Page):
    """The page of a notebook that is a cell of another one."""

    def stream(self, name: str, text: str) -> None:
        file = sys.stderr if name == "stderr" else sys.stdout
        file.write(text)
        file.flush()

    def show(self, data: Mapping[str, str | bytes], display_id: str | None = None, update: bool = False) -> None:
        from IPython.display import publish_display_data

        publish_display_data(data, transient={"display_id": display_id} if display_id else {}, update=update)

    value = show

    def clear(self, wait: bool) -> None:
        from IPython.display import clear_output

        clear_output(wait=wait)

    def ask(self, prompt: str, given_up: Callable[[], bool]) -> str:
        return input(prompt)


class Cells:
    """The magics. Each policy that is named has a notebook of its own, whose state stays from cell to cell."""

    def __init__(self) -> None:
        self._notebooks: dict[str, Notebook] = {}
        self._last = DEFAULT_POLICY

    def run(self, line: str, cell: str | None = None) -> None:
        """``%%safeexec [POLICY]`` runs the cell; ``%safeexec MAGIC …`` one of the magics in the policy used last."""
        words, before = line.split(), self._last
        if cell is None:
            name = words[0].lstrip("%") if words else ""
            if name not in MAGICS:
                sys.stderr.write(f"%safeexec is followed by one of: {', '.join(MAGICS)}\n")
                return
            cell = f"%{name} {' '.join(words[1:])}"
        elif words:
            self._last = words[-1]
        notebook = self._notebooks.get(self._last) or Notebook(self._last)
        self._notebooks[self._last] = notebook
        failure = notebook.run(cell, Outputs())
        if not notebook.branches:  # it could not be opened: a misspelt policy is not that of the next cell
            del self._notebooks[self._last]
            self._last = before
        if failure is not None:
            sys.stderr.write("\n".join([*failure.lines, ""]))

    def close(self) -> None:
        """End every sandbox."""
        while self._notebooks:
            self._notebooks.popitem()[1].close()


def load_ipython_extension(shell: Any) -> None:
    """Add the magics: ``%load_ext safeexec``."""
    cells = Cells()
    shell.register_magic_function(cells.run, "line_cell", "safeexec")
    atexit.register(cells.close)
