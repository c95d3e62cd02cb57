"""matplotlib figures as pictures: those that a step leaves open, and those that it shows. Never imports matplotlib."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any
from weakref import WeakKeyDictionary

PIXELS = 20_000_000
"""A larger figure is drawn at a lower resolution: the guest chooses figsize, and 100 inches at 300 dpi take 3.6 GB."""


def open_figures() -> list[Any]:
    """The figures that pyplot holds open, oldest first."""
    managers = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    if managers is None or not managers.figs:
        return []
    return [manager.canvas.figure for _, manager in sorted(managers.figs.items())]


_seen: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def is_news(figure: Any) -> bool:
    """Whether something was drawn that has not been shown."""
    return not is_empty(figure) and (figure not in _seen or figure.stale)


def remember(figure: Any) -> None:
    """The figure has been shown as it is now. It stays open, and pyplot's current one, as in any program."""
    _seen[figure] = True
    figure.stale = False


def figure_of(value: Any) -> Any:
    """The figure that `value` is, or None."""
    kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return value if kind is not None and isinstance(value, kind) else None


def is_empty(figure: Any) -> bool:
    """Whether nothing was drawn: `plt.figure()` and no more."""
    return not (figure.get_axes() or figure.texts or figure.images or figure.lines or figure.patches or figure.subfigs)


def draw(figure: Any, *, svg: bool = False) -> dict[str, Any]:
    """PNG, and SVG on request. Raises whatever drawing raises: a guest's own artist, a broken mathtext, no memory."""
    data: dict[str, Any] = {}
    width, height = figure.get_size_inches()
    dpi = float(figure.get_dpi())
    if width * height * dpi * dpi > PIXELS:
        dpi = max((PIXELS / (width * height)) ** 0.5, 1.0)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight")
    data["image/png"] = buffer.getvalue()
    if svg:
        buffer = BytesIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight")
        data["image/svg+xml"] = buffer.getvalue().decode("utf-8")
    return data


def take_over_show(show: Callable[[], object]) -> None:
    """Make `plt.show()` and `figure.show()` call `show` on every backend.

    Both end in `show` of the figure's manager: `plt.show()` by `_Backend.show` (Agg, PDF, SVG; matplotlib 3.11).
    """
    sys.modules["matplotlib.backend_bases"].FigureManagerBase.show = lambda manager: show()
