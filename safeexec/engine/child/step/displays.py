"""The rich results of a step: what it passed to `display()`, the figures it showed or left open, and its value.

No library is imported here. Costs nothing where no library is loaded: `collect` of a plain value takes 0.3 us.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from safeexec.common.text import short_repr, type_name
from safeexec.engine.child.on_import import after_import, replace_after_import
from safeexec.engine.child.step import representations
from safeexec.protocol.messages import DisplayData

MAX_DISPLAYS = 50
MAX_BYTES = 4 << 20
"""Bytes of one form of one display."""
MAX_STEP_BYTES = 16 << 20
"""Bytes of all displays of a step. A frame of the protocol holds 64 MiB."""
_ID_CHARACTERS = 200
_MIME = re.compile(r"[a-z]+/[A-Za-z0-9.+\-]{1,80}\Z")
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range})


class DisplayHandle:
    """The answer of `display(value, display_id=…)`: `update(value)` shows another value in its place."""

    def __init__(self, display_id: str, update: Callable[..., None]) -> None:
        self.display_id = display_id
        self.update = update

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"


class _Pyplot:
    """The figures that pyplot holds open. Its functions are those that were loaded: `plt.figure = (8, 5)` is a slip of
    models.
    """

    def __init__(self) -> None:
        pyplot = sys.modules["matplotlib.pyplot"]
        self._numbers, self._current, self._activate = pyplot.get_fignums, pyplot.gcf, pyplot.figure
        self.close = pyplot.close

    def open(self) -> list[Any]:
        """Return all, oldest first."""
        current = self.current()
        figures = [self._activate(number) for number in self._numbers()]
        if current is not None:
            self._activate(current)
        return figures

    def current(self) -> Any:
        """Return the figure in which the next line of pyplot draws, or None."""
        return self._current() if self._numbers() else None


class Displays:
    """Collects the displays of one step after the other."""

    def __init__(self) -> None:
        self._shown: list[DisplayData] = []
        self._left = MAX_STEP_BYTES
        self._left_out = 0
        self._pictures: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """A hash of the picture as which each figure was shown last."""
        self._done: WeakSet[Any] = WeakSet()
        """The figures that were shown and closed: what the guest draws in one by a name later is shown again."""
        self._pyplot: _Pyplot | None = None
        """None until it is loaded."""
        self._drawn: list[Any] = []
        """The figures that this step has shown."""
        self._finished: list[Any] = []
        """Figures that it passed to `display`: they are closed at its end, for its next lines may draw there."""
        self._left_open: list[Any] = []
        """Figures that it left open, unshown: the current one stays so for the next step, which closes the others."""
        self.in_use = False
        """True once there may be something to show besides a step's value: by `display`, or by matplotlib."""
        self.report: Callable[[DisplayData], None] | None = None
        """Hears of each display as it comes, but not of the step's value."""

    def display(
        self,
        *values: Any,
        display_id: str | bool | None = None,
        clear: bool | str = False,
        raw: bool = False,
    ) -> DisplayHandle | None:
        """Show each value in its richest form. With a `display_id` (True: a new one) the answer has `update(value)`,
        which shows another value in its place. With `clear`, the displays of the step so far are taken away; a page
        takes them away with what was printed, and for `clear="wait"` only when something else is shown. With `raw` a
        value is the forms themselves, MIME type → data.
        """
        if clear:
            self._forget_shown()
            if self.report is not None:
                self.report(DisplayData({}, update=clear == "wait"))
        if display_id is True:
            display_id = os.urandom(16).hex()  # of no generator that guests or forks share
        name = str(display_id)[:_ID_CHARACTERS] if display_id else None
        for value in values:
            self._display(value, name, raw)
        if name is None:
            return None
        return DisplayHandle(name, lambda value, *, raw=False: self._display(value, name, raw, update=True))

    def _display(self, value: Any, display_id: str | None, raw: bool, *, update: bool = False) -> None:
        if raw:
            self._add({"text/plain": "", **representations.of_bundle(value)}, display_id, update)
            return
        data = self._drawn_as(value)
        self._add(data, display_id, update)
        if representations.is_figure(value):
            self._is_news(value, data)  # or it would be drawn again when the step ends
            self._drawn.append(value)
            self._finished.append(value)

    def collect(self, value: Any, text: str | None = None) -> list[DisplayData]:
        """Return the displays of the step that ends with `value`, whose repr is `text`; open figures are drawn."""
        if self._pyplot is not None:
            self._end_figures(value, self._pyplot)
        drawn, self._drawn = self._drawn, []
        if (type(value) not in _PLAIN or "sympy" in sys.modules) and not any(value is figure for figure in drawn):
            self._show_value(value, text)
        shown = self._shown
        if self._left_out:
            note = f"{self._left_out} more displays were left out: a step may show {MAX_DISPLAYS}"
            shown.append(DisplayData({"text/plain": note.encode()}, truncated=True))
        self._forget_shown()
        return shown

    def _forget_shown(self) -> None:
        self._shown = []
        self._left = MAX_STEP_BYTES
        self._left_out = 0

    def prepare(self) -> None:
        """Take over what libraries show with, now or when the guest loads them. Once: a fork inherits it."""
        # Both `plt.show()` and `figure.show()` end in `show` of the figure's manager: `plt.show()` by `_Backend.show`
        # (Agg, PDF, SVG; matplotlib 3.11).
        after_import("matplotlib.backend_bases", lambda: setattr(self, "in_use", True))
        replace_after_import("matplotlib.backend_bases", {"FigureManagerBase.show": lambda _: self._show_figures()})
        after_import("matplotlib.pyplot", lambda: setattr(self, "_pyplot", _Pyplot()))
        replace_after_import("plotly.io", {"show": self._show_chart})
        replace_after_import("altair", {"TopLevelMixin.show": lambda chart, *_, **__: self._show_chart(chart)})

        def display(*values: Any, display_id: Any = None, raw: bool = False, **options: Any) -> Any:
            return self.display(*values, display_id=display_id, raw=raw)

        # `from IPython.display import display`, where the library is installed, else prints the repr.
        replace_after_import("IPython.core.display_functions", {"display": display})

    def _show_chart(self, chart: Any, *arguments: Any, **options: Any) -> None:
        """Show plotly's figures and altair's charts, whose `show` else looks for a browser or a notebook."""
        if type(chart) is dict:  # plotly takes the plain form too
            chart = sys.modules["plotly"].graph_objects.Figure(chart)
        self._add(self._drawn_as(chart))

    # matplotlib: the figures that a step leaves open, and those that it shows

    def _show_figures(self) -> None:
        """Draw all figures that have something new, and close them: `plt.show()`."""
        if self._pyplot is not None:
            for figure in self._draw_news(self._pyplot):
                self._close(figure, self._pyplot)

    def _draw_news(self, pyplot: _Pyplot) -> list[Any]:
        """Draw the figures that have something new, of those that are open, and those that were shown and are held.
        All that were looked at and are not empty.
        """
        opened, looked_at = pyplot.open(), []
        for figure in (*(figure for figure in self._done if figure not in opened), *opened):
            try:
                if _is_empty(figure):
                    continue
                looked_at.append(figure)
                if figure not in self._pictures or figure.stale:
                    data = self._drawn_as(figure)
                    if self._is_news(figure, data):
                        self._add(data)
                        self._drawn.append(figure)
            except BaseException:  # a method of a figure may be the guest's: the step has its own end all the same
                continue
        return looked_at

    def _is_news(self, figure: Any, data: dict[str, Any]) -> bool:
        """Return whether the picture of a figure is not the one that was shown last; from now on it is. After a mere
        `savefig` a figure looks as if something were drawn in it.
        """
        picture = hash(data.get("image/png"))
        is_news = self._pictures.get(figure) != picture
        self._pictures[figure] = picture
        figure.stale = False
        return is_news

    def _close(self, figure: Any, pyplot: _Pyplot) -> None:
        """End a figure that was shown: no later line draws in it by accident, as in a notebook."""
        pyplot.close(figure)
        self._done.add(figure)

    def _end_figures(self, value: Any, pyplot: _Pyplot) -> None:
        """Show what the step leaves open. The current figure stays open for the next step, unless it was shown."""
        self._draw_news(pyplot)
        last = pyplot.current()
        earlier = [one for one in self._left_open if one is not last and not any(one is shown for shown in self._drawn)]
        for figure in (*self._finished, *([value] if representations.is_figure(value) else []), *earlier):
            self._close(figure, pyplot)
        self._left_open, self._finished = pyplot.open(), []

    def _show_value(self, value: Any, text: str | None) -> None:
        """Show the value of the step, if it has more than its repr."""
        try:
            data = representations.rich(value)
            if data and "text/plain" not in data:
                too_long = text is None or len(text) > representations.TEXT_CHARACTERS
                data["text/plain"] = short_repr(value, representations.TEXT_CHARACTERS) if too_long else text
        except Exception:  # the value still has its repr
            return
        if data:
            self._add(data, report=False)

    def _drawn_as(self, value: Any) -> dict[str, Any]:
        try:
            data = representations.rich(value)
            if "text/plain" not in data:
                data["text/plain"] = short_repr(value, representations.TEXT_CHARACTERS)
        except Exception as error:
            why = f"{type_name(type(error))}: {short_repr(str(error), 300)}"
            data = {"text/plain": f"<{type_name(type(value))}: it could not be shown ({why})>"}
        return data

    def _add(
        self, data: dict[str, Any], display_id: str | None = None, update: bool = False, *, report: bool = True
    ) -> None:
        self.in_use = True
        replaced = [place for place, shown in enumerate(self._shown) if update and shown.display_id == display_id]
        if len(self._shown) >= MAX_DISPLAYS and not replaced:
            self._left_out += 1
            return
        self._left += sum(len(item) for place in replaced for item in self._shown[place].data.values())
        kept: dict[str, bytes] = {}
        dropped: list[str] = []
        for mime, item in data.items():
            if not _MIME.match(mime) or len(kept) >= 20:
                continue
            encoded = item.encode("utf-8", "surrogatepass") if type(item) is str else item
            if type(encoded) is not bytes:
                continue
            if len(encoded) > MAX_BYTES or len(encoded) > self._left:
                dropped.append(f"{mime} of {len(encoded)} bytes")
                continue
            self._left -= len(encoded)
            kept[mime] = encoded
        if dropped:
            note = f"\n({', '.join(dropped)} left out: at most {MAX_BYTES} bytes each, {MAX_STEP_BYTES} per step)"
            kept["text/plain"] = kept.get("text/plain", b"")[: 64 << 10] + note.encode()
        if kept:
            display = DisplayData(kept, bool(dropped), display_id, update)
            for place in replaced:
                self._shown[place] = display
            if not replaced:
                self._shown.append(display)
            if self.report is not None and report:
                self.report(display)


def _is_empty(figure: Any) -> bool:
    """Return whether nothing was drawn: `plt.figure()` and no more."""
    return not (figure.get_axes() or figure.texts or figure.images or figure.lines or figure.patches or figure.subfigs)
