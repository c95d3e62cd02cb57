"""What the zygote prepares in pauses can fail: the sandbox goes on, and says so."""

from __future__ import annotations

import os
from pathlib import Path

from tests.alone import alone, importing

RUN = """
import time
from safeexec import Sandbox

deadline = time.monotonic() + {seconds}
with Sandbox("calculator", spare=0) as sandbox:
    while time.monotonic() < deadline:
        with sandbox.session() as session:
            assert session.run("1 + 1").value == 2
            rows = [row for row in session.protection if row.name == "preparation"]
        if rows:
            print(rows[0].active, rows[0].detail)
            break
        time.sleep(0.05)
    assert sandbox.run("1 / 0").outcome == "error"
    assert sandbox.run("2 + 2").value == 4
"""


def test_a_late_import_that_fails_is_told_and_ends_no_sandbox(tmp_path: Path) -> None:
    package = tmp_path / "asttokens"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('not today')\n")
    for place in (package, *package.parents[:3]):  # guests of a root host are another user
        place.chmod(0o755)
    path = os.pathsep.join((str(tmp_path), importing()["PYTHONPATH"]))
    done = alone(RUN.format(seconds=60), env=importing(PYTHONPATH=path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("False import of asttokens failed (SystemExit: not today)")
