"""A whole notebook, as nbclient runs it from the first cell to the last. Single cells: `test_notebook.py`."""

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

CELLS: tuple[tuple[str, str], ...] = (
    ("with open('in.csv', 'w') as file: file.write('a,b\\n1,2\\n3,4\\n')", ""),
    ("import pandas as pd\nint(pd.read_csv('in.csv').b.sum())", "6"),
    ("%%writefile helper.py\ndef f():\n    return 42\n", "wrote helper.py"), ("import helper\nhelper.f()", "42"),
    ("import numpy as np, matplotlib.pyplot as plt", ""),
    ("t = np.linspace(0, 1)\nplt.plot(t, t ** 2)\nplt.title('square')\nplt.show()", "image/png"),
    ("import sympy\nx = sympy.symbols('x')", ""), ("sympy.integrate(sympy.sin(x) / x ** 2 + x, x)", "text/latex"),
    ("import os\nos.system('ls')", "rule: "), ("!ls", "no shell"), ("1 / 0", "~^~"), ("6 * 7", "42"),
)  # fmt: skip
"""Cells, each with a text that its outputs hold."""


@pytest.fixture(scope="module", autouse=True)
def _no_loop_is_left() -> Iterator[None]:
    """jupyter_client keeps an event loop per thread."""
    yield
    pytest.importorskip("jupyter_core.utils").ensure_event_loop().close()


def test_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    assert main(["jupyter", "install", "--prefix", str(tmp_path)]) == 0
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share/jupyter"))
    notebook: Any = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source, _ in CELLS]
    client = NotebookClient(notebook, kernel_name="safeexec", timeout=300, startup_timeout=300, allow_errors=True)
    client.execute(cwd=str(tmp_path))
    for cell, (_, expected) in zip(notebook.cells, CELLS, strict=True):
        outputs = "\n".join(_texts(cell.outputs))
        assert expected in outputs
        fails = expected in ("rule: ", "no shell", "~^~")
        assert any(output.output_type == "error" for output in cell.outputs) is fails
    nbformat.validate(notebook)


def _texts(outputs: list[Any]) -> list[str]:
    """What outputs say, and of which kinds they are."""
    found = []
    for output in outputs:
        found += [output.get("text", ""), *output.get("traceback", ())]
        found += [f"{mime} {text}" for mime, text in output.get("data", {}).items()]
    return found
