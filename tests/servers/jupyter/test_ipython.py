"""`%load_ext safeexec` in IPython: cells in a sandbox beside cells that are not."""

from __future__ import annotations

import subprocess

import pytest

from tests.alone import alone

pytestmark = pytest.mark.modules("IPython")
SESSION = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in (
    "%load_ext safeexec",
    "%%safeexec standard\\nprint('inside', __name__)\\nx = 6 * 7\\nx",
    "'x' in globals()",
    "%%safeexec nosuch\\n1",
    "%%safeexec\\nx + 1",
    "%%safeexec\\nimport socket",
    "%safeexec vars",
    "%%safeexec\\nx = 'spoilt'",
    "%safeexec rollback",
    "%%safeexec\\nx * 2",
    "%safeexec nonsense",
    "from safeexec import Sandbox\\nwith Sandbox('standard') as sandbox: result = sandbox.run('40 + 2')\\nresult",
):
    print('>>>', cell.splitlines()[-1], flush=True)
    shell.run_cell(cell)
"""


def test_cells_of_a_sandbox_beside_others() -> None:
    done = alone(SESSION, stdin=subprocess.DEVNULL)
    said = {part.splitlines()[0].strip(): part for part in done.stdout.split(">>>")[1:]}
    assert "inside __main__" in said["x"] and "42" in said["x"]
    assert "False" in said["'x' in globals()"]
    assert "43" in said["x + 1"]
    assert "84" in said["x * 2"]
    assert "standard.yaml" in done.stderr and "no policy is called 'nosuch'" in done.stderr
    assert "name" in said["%safeexec vars"]
    assert "is followed by one of" in done.stdout + done.stderr
    assert "Step 1: ok." in said["result"]
