"""Whole notebooks, as nbclient runs them from the first cell to the last. Single cells: `test_notebook.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec.cli import main

pytestmark = [
    pytest.mark.slow,
    pytest.mark.modules(
        "ipykernel", "nbclient", "nbformat", "numpy", "pandas", "matplotlib", "scipy", "sklearn", "sympy"
    ),
    pytest.mark.timeout(900),
]

NOTEBOOKS: dict[str, tuple[tuple[str, str], ...]] = {
    "files": (
        ("with open('in.csv', 'w') as file: file.write('a,b\\n1,2\\n3,4\\n')", ""),
        ("import pandas as pd\nint(pd.read_csv('in.csv').b.sum())", "6"),
        ("%files", "in.csv"),
        ("%%writefile helper.py\ndef f():\n    return 42\n", "wrote helper.py"), ("import helper\nhelper.f()", "42"),
    ),
    "plots": (
        ("import numpy as np, matplotlib.pyplot as plt", ""),
        ("t = np.linspace(0, 1)\nplt.plot(t, t ** 2)\nplt.title('square')\nplt.show()", "image/png"),
        ("fig, axes = plt.subplots(1, 2)\naxes[0].hist([1, 1, 2])\ndisplay(fig)", "image/png"),
    ),
    "algebra": (
        ("import sympy\nx = sympy.symbols('x')", ""),
        ("sympy.integrate(sympy.sin(x) / x ** 2 + x, x)", "text/latex"),
        ("sympy.solve(x ** 2 - 2)", "sqrt(2)"),
    ),
    "mistakes": (
        ("df['amout']", "NameError"), ("import socket", "data-analysis.yaml"), ("!ls", "no shell"), ("1 / 0", "~^~"),
        ("6 * 7", "42"),
    ),
}  # fmt: skip
"""Name → cells, each with a text that its outputs hold."""


@pytest.fixture(scope="module", autouse=True)
def _no_loop_is_left() -> Iterator[None]:
    """jupyter_client keeps an event loop per thread."""
    yield
    pytest.importorskip("jupyter_core.utils").ensure_event_loop().close()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    assert main(["jupyter", "install", "--prefix", str(tmp_path)]) == 0
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share/jupyter"))
    notebook: Any = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source, _ in NOTEBOOKS[name]]
    client = NotebookClient(notebook, kernel_name="safeexec", timeout=300, startup_timeout=300, allow_errors=True)
    client.execute(cwd=str(tmp_path))
    for cell, (_, expected) in zip(notebook.cells, NOTEBOOKS[name], strict=True):
        outputs = "\n".join(_texts(cell.outputs))
        assert expected in outputs
        assert ("Error" in expected or name == "mistakes") or not any(o.output_type == "error" for o in cell.outputs)
    nbformat.validate(notebook)


def _texts(outputs: list[Any]) -> list[str]:
    """What outputs say, and of which kinds they are."""
    found = []
    for output in outputs:
        found += [output.get("text", ""), *output.get("traceback", ())]
        found += [f"{mime} {text}" for mime, text in output.get("data", {}).items()]
    return found
