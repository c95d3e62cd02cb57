"""Progress bars of the guest as events: tqdm calls back instead of drawing a line ten times a second.

tqdm is never imported here. When it is loaded, its `display` is replaced, which `update`, iteration and `close` all
end in; so `tqdm(...)`, `trange`, `tqdm.auto` and pandas' `progress_apply` need no change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import StringIO
from time import monotonic
from typing import Any

from safeexec.engine.child.on_import import after_import

Emit = Callable[[str, float, float | None], object]
"""Called with description, how much is done, and of how much (None where that is not known)."""

MIN_SECONDS = 0.1
"""Between two events of one bar, the first and the last excepted."""
_DESCRIPTION = 200


class ProgressBars:
    """Turns the progress bars of this process into calls of `emit`, from `prepare` on."""

    def __init__(self, emit: Emit) -> None:
        self.emit = emit

    def prepare(self) -> None:
        """Take over tqdm, now or when the guest loads it. Once per process: a fork inherits it."""
        after_import("tqdm.std", self._take_over)
        after_import("tqdm.notebook", _take_over_notebook)

    def _take_over(self) -> None:
        """Let bars draw nothing, and report the last state of each when it is closed."""
        kind: Any = sys.modules["tqdm.std"].tqdm
        close = kind.close

        def display(bar: Any, msg: str | None = None, pos: int | None = None) -> bool:
            self._emit(bar)
            return True

        def closed(bar: Any) -> None:
            if not getattr(bar, "disable", True):
                self._emit(bar, last=True)
            bar.fp = StringIO()  # the original ends the bar's line in the bar's file
            close(bar)

        kind.display, kind.close = display, closed
        kind.monitor_interval = 0  # no monitor thread: a process with a second thread cannot be checkpointed
        kind.clear = lambda bar, nolock=False: None
        kind.moveto = lambda bar, n: None
        kind.status_printer = staticmethod(lambda file: lambda text: None)

    def _emit(self, bar: Any, *, last: bool = False) -> None:
        try:
            done, total = bar.n, bar.total
            now, before = monotonic(), getattr(bar, "_safeexec_emitted", None)
            due = before is None or last or now - before[0] >= MIN_SECONDS
            if not due or (before is not None and before[1] == done):
                return
            bar._safeexec_emitted = (now, done)
            description = str(bar.desc or "").removesuffix(": ")[:_DESCRIPTION]
            self.emit(description, float(done), None if total is None else float(total))
        except (TypeError, ValueError, AttributeError):
            return  # a guest's `total` that is no number: no event, and its loop goes on


def _take_over_notebook() -> None:
    """Make bars of `tqdm.notebook`, which are widgets and raise where ipywidgets is missing, bars like any other."""
    module, std = sys.modules["tqdm.notebook"], sys.modules["tqdm.std"]
    vars(module).update(tqdm=std.tqdm, tqdm_notebook=std.tqdm, trange=std.trange, tnrange=std.trange)
