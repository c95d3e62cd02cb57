"""`safeexec.engine.host.startup.fonts`: guests draw, whoever the host is, and nothing stays that had no place."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from safeexec.engine.host.startup import fonts
from tests.alone import alone, importing

DRAWS = """
import os, stat, sys
from safeexec import Policy, Sandbox
from safeexec.engine.host.startup.fonts import font_cache

place = font_cache()
assert place == font_cache()
above = os.path.dirname(place)
assert os.path.dirname(above) == os.environ["TMPDIR"], place
assert stat.S_IMODE(os.stat(above).st_mode) & 0o066 == 0, "others may pass, as the guests of root do, and no more"
if (pid := os.fork()) == 0:
    sys.exit()
os.waitpid(pid, 0)
policy = Policy.load("calculator").replace(imports={"matplotlib.pyplot": ["subplots"]})
draws = "figure, _ = subplots()\\nfigure.text(0, 0, 'a')\\nfigure.canvas.draw()"
with Sandbox(policy) as sandbox:
    source = f"from matplotlib.pyplot import subplots\\n{draws}"
    assert sandbox.run(source, timeout=60).check().stderr == ""
assert font_cache() == place and os.listdir(place)
"""


def test_a_cache_that_cannot_be_kept_goes_with_the_process(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    (tmp_path / "no directory").touch()
    (tmp_path / "tmp").mkdir()
    places = {"XDG_CACHE_HOME": str(tmp_path / "no directory"), "TMPDIR": str(tmp_path / "tmp")}
    done = alone(DRAWS, env=importing(**places))
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "tmp").iterdir())


def unknown(name: str) -> str:
    raise PackageNotFoundError(name)


NO_CACHE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "there is no matplotlib": ({"version": unknown}, []),
    "it cannot be imported": ({"import_path": list}, ["safeexec"]),
    "it takes too long": ({"BUILD_SECONDS": 0.001}, ["safeexec"]),
}


@pytest.mark.parametrize("why", NO_CACHE)
def test_a_cache_that_cannot_be_built_is_none_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    changed, left = NO_CACHE[why]
    for name, value in {"version": lambda _: "3", **changed}.items():
        monkeypatch.setattr(fonts, name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fonts.font_cache() is None
    assert [path.name for path in tmp_path.rglob("*")] == left
