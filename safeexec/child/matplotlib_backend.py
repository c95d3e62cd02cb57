"""A matplotlib backend without windows, named by ``MPLBACKEND=module://safeexec.child.matplotlib_backend``.

It draws as Agg does; what `plt.show()` does on it is `child.figures.on_show`, from the first figure on.
"""

from __future__ import annotations

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from safeexec.child import figures


class FigureManager(FigureManagerBase):
    """A manager that shows figures by handing them over."""

    @classmethod
    def pyplot_show(cls, *, block: bool | None = None) -> None:
        figures.on_show()


class FigureCanvas(FigureCanvasAgg):  # type: ignore[misc]
    """The canvas of Agg with the manager above."""

    manager_class = FigureManager
