"""matplotlib figures as pictures: those that a step leaves open, and those that it shows. Never imports matplotlib."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from io import BytesIO
from typing import Any
from warnings import warn
from weakref import WeakKeyDictionary, WeakSet

PIXELS = 20_000_000
"""A larger figure is drawn at a lower resolution: the guest chooses figsize, and 100 inches at 300 dpi take 3.6 GB."""


def open_figures() -> list[Any]:
    """The figures that pyplot holds open, oldest first."""
    managers = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    if managers is None or not managers.figs:
        return []
    return [manager.canvas.figure for _, manager in sorted(managers.figs.items())]


_seen: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()
"""A digest of the picture as which each figure was shown last."""
_done: WeakSet[Any] = WeakSet()
"""The figures that `show` has closed: what the guest draws in one later, by a name that it holds, is shown again."""


class _Done:
    """`any`: whether a figure was shown and closed."""

    any = False


def candidates() -> list[Any]:
    """The figures that may have something to show: those that are open, and those that were shown and are held."""
    opened = open_figures()
    return [*(figure for figure in _done if figure not in opened), *opened]


def is_news(figure: Any) -> bool:
    """Tell whether something may have been drawn that has not been shown. `savefig` looks like it: see `remember`."""
    return not is_empty(figure) and (figure not in _seen or figure.stale)


def remember(figure: Any, picture: bytes) -> bool:
    """Note that the figure is shown as this picture. False where that was shown last."""
    digest = sha256(picture).digest()
    news = _seen.get(figure) != digest
    _seen[figure] = digest
    figure.stale = False
    return news


def close(figure: Any) -> None:
    """A figure that was shown is done: no later line draws in it by accident, as in a notebook."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
    _done.add(figure)
    _Done.any = True


def current() -> Any:
    """The figure in which the next line of pyplot draws, or None."""
    managers = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    manager = None if managers is None else managers.get_active()
    return None if manager is None else manager.canvas.figure


def figure_of(value: Any) -> Any:
    """The figure that `value` is, or None."""
    kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return value if kind is not None and isinstance(value, kind) else None


def is_empty(figure: Any) -> bool:
    """Tell whether nothing was drawn: `plt.figure()` and no more."""
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


def tell_of_empty_files() -> None:
    """Have `plt.savefig(…)` warn where it saves an empty figure because the one before was shown, and is done."""
    pyplot: Any = sys.modules["matplotlib.pyplot"]
    save = pyplot.savefig

    @wraps(save)
    def savefig(*args: Any, **kwargs: Any) -> Any:
        figure = current()
        if _Done.any and (figure is None or is_empty(figure)):
            warn("the figure that is saved is empty: plt.show() has ended the one before; save it first", stacklevel=2)
        return save(*args, **kwargs)

    pyplot.savefig = savefig


def take_over_show(show: Callable[[], object]) -> None:
    """Make `plt.show()` and `figure.show()` call `show` on every backend.

    Both end in `show` of the figure's manager: `plt.show()` by `_Backend.show` (Agg, PDF, SVG; matplotlib 3.11).
    """
    sys.modules["matplotlib.backend_bases"].FigureManagerBase.show = lambda manager: show()
