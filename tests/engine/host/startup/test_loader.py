"""A Python whose libraries LD_LIBRARY_PATH finds: the zygote gets that variable, no guest sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec.engine.host.startup.launch import loader_folders
from tests.alone import alone, importing

_HOST = """
import os, sys
from pathlib import Path
from safeexec import Policy, Sandbox

folder, determinism = sys.argv[1], sys.argv[2:]
policy = Policy.load("confined-python")
if determinism:
    policy = policy.replace(determinism={"seed": 1})
with Sandbox(policy) as sandbox, sandbox.session() as session:
    print(session.run("import os\\nos.environ.get('LD_LIBRARY_PATH')").value)
    print("told" if folder in str(session.run("open('/proc/self/environ').read()").value) else "not told")
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            ours = b"safeexec.engine.zygote" in path.with_name("cmdline").read_bytes()
            if ours and path.parent.name != str(os.getpid()) and folder.encode() in path.read_bytes():
                print("left in", path)
        except OSError:
            pass
    print(session.run(f"open('{folder}/libmine.so.1').read()").value)
    print(session.run(f"open('{folder}/notes.txt').read()").error.type in ("PermissionError", "FileNotFoundError"))
"""


@pytest.mark.parametrize("more", [(), ("determinism",)])
def test_the_loader_finds_its_folders_and_guests_do_not_see_them(tmp_path: Path, more: tuple[str, ...]) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    for place in (tmp_path, folder):
        place.chmod(0o755)
    (folder / "libmine.so.1").write_text("a library")
    (folder / "notes.txt").write_text("no library")
    (folder / "libmine.so.1").chmod(0o644)
    done = alone(_HOST, str(folder), *more, env=importing(LD_LIBRARY_PATH=f"{folder}:"))
    assert done.stdout.splitlines() == ["None", "not told", "a library", "True"], done.stdout + done.stderr


def test_folders_that_depend_on_where_a_process_stands_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", ":lib:/opt/one/lib:./x:/opt/two/lib")
    assert loader_folders() == ["/opt/one/lib", "/opt/two/lib"]
