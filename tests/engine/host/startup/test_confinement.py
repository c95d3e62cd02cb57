"""`safeexec.engine.host.startup.confinement`: what of the installation a sandbox may read, wherever it is installed."""

from __future__ import annotations

import _thread
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import safeexec
from safeexec import Policy, ProtectionError
from safeexec.engine.host.startup.confinement import (
    Confinement,
    _mapped,
    _tasks_of,
    _unreadable,
    branch_ruleset,
    describe,
    plan,
    unprivileged_user,
)
from safeexec.engine.host.startup.library_paths import _links_on
from safeexec.engine.linux.probe import Probe
from tests.alone import ran
from tests.engine.host.startup.machines import able
from tests.engine.linux.forked import sleeping

_NEEDED = ("RestrictedPython", "asttokens", "cloudpickle", "msgspec", "psutil", "PyYAML")
_PROGRAM = """
import json, sys
import safeexec
from safeexec import Policy, Sandbox

told = {"installed": safeexec.__file__}
with Sandbox("calculator") as sandbox:
    told["refused"] = sandbox.run("import os").outcome
    with sandbox.session() as session:
        session.run("def f(): return 3")
        session.save(sys.argv[1])
    with sandbox.restore(sys.argv[1]) as session:
        told["restored"] = session.run("f() + 1").value
with Sandbox("confined-python") as sandbox, sandbox.session() as session:
    told["metadata"] = session.run("import importlib.metadata as m; m.version('asttokens')").value
    told["beside"] = session.run(f"open({sys.argv[2]!r}).read()").outcome
print(json.dumps(told))
"""


def _install(target: Path, *, metadata: bool) -> None:
    """What ``pip install --target`` leaves, of the files of this installation."""
    source = Path(safeexec.__file__).parent
    shutil.copytree(source, target / "safeexec", ignore=shutil.ignore_patterns("__pycache__"))
    policies = target / "safeexec" / "policies"
    if not policies.exists():
        shutil.copytree(source.parent / "policies", policies)
    for name in _NEEDED:
        found = distribution(name)
        for file in found.files or ():
            if file.parts[0] in ("..", "__pycache__") or (not metadata and ".dist-info" in file.parts[0]):
                continue
            place = target / file
            if not place.exists() and os.path.exists(found.locate_file(file)):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(found.locate_file(file)), place)


def _run(target: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(target), "HOME": str(target.parent)}
    return ran([sys.executable, "-S", "-c", _PROGRAM, *arguments], env=environment, cwd=target.parent)


@pytest.mark.parametrize(
    "metadata", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["pip --target", "copied"]
)
def test_an_installation_reached_by_pythonpath_works(tmp_path: Path, metadata: bool) -> None:
    """Refusals, saved states and late imports do; what lies beside the packages stays out of reach."""
    target = tmp_path / "packages"
    target.mkdir()
    _install(target, metadata=metadata)
    (target / "secret.txt").write_text("of the caller")
    done = _run(target, str(tmp_path / "state"), str(target / "secret.txt"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["installed"] == str(target / "safeexec" / "__init__.py")
    assert (told["refused"], told["restored"]) == ("rejected", 4)
    assert told["beside"] in ("error", "violation")
    if metadata:
        assert told["metadata"] == distribution("asttokens").version


def test_an_incomplete_installation_says_what_is_missing(tmp_path: Path) -> None:
    target = tmp_path / "packages"
    target.mkdir()
    _install(target, metadata=True)
    shutil.rmtree(target / "RestrictedPython")
    done = _run(target, str(tmp_path / "state"), "")
    assert "ProtectionError: RestrictedPython, which safeexec needs, is in no directory" in done.stderr


_KINDS = ("user", "mount", "pid", "net", "ipc", "uts", "cgroup")


def _planned(*lacking: str, **options: Any) -> Confinement:
    """What is decided for a machine that can do everything but this."""
    return plan(Policy.load("data-analysis"), facts=able(*lacking), **options)


def _missing(planned: Confinement) -> dict[str, str]:
    return {row.name: row.detail for row in (*planned.zygote.missing, *planned.child.missing) if not row.active}


def test_where_everything_works_nothing_is_missing_and_without_seccomp_there_is_no_plan() -> None:
    planned = _planned()
    assert not _missing(planned)
    assert planned.user is not None and planned.user.uid == planned.zygote.uid
    assert planned.zygote.namespaces == _KINDS[1:] and planned.child.user_namespace
    assert (planned.child.proc, planned.child.files) == ("/proc", "write")
    with pytest.raises(ProtectionError, match="seccomp does not work here \\(tried: EPERM\\)"):
        _planned("seccomp")


@pytest.mark.parametrize(
    ("lacking", "rows"),
    [
        (("notify",), {"fork-gate": "what guest code forks is counted"}),
        (("net",), {"network-namespace": "seccomp refuses every socket"}),
        (("pid",), {"pid-namespace": "the end of a sandbox is a sweep"}),
        (("mount", "pid"), {"mount-namespace": "the whole file tree", "pid-namespace": "not available (tried: EPERM)"}),
        (("mount",), {"mount-namespace": "the whole file tree", "pid-namespace": "it goes with the mount namespace"}),
        (("landlock",), {"landlock": "the new root says what can be opened"}),
        (
            ("landlock", "mount"),
            {"landlock": "no file can be opened at all", "pid-namespace": "", "mount-namespace": ""},
        ),
    ],
    ids=", ".join,
)
def test_what_a_machine_lacks_is_named_with_what_still_holds(lacking: tuple[str, ...], rows: dict[str, str]) -> None:
    planned = _planned(*lacking)
    found = _missing(planned)
    found.pop("unprivileged-user", None)  # where only root may read this Python, and it is not in a root of its own
    assert found.keys() == rows.keys() and all(words in found[name] for name, words in rows.items())
    rooted = not {"mount", "pid"} & {*lacking}
    assert ("mount" in planned.zygote.namespaces, "pid" in planned.zygote.namespaces) == (rooted, rooted)
    assert planned.child.proc == ("/proc" if rooted else "/proc/self")
    assert planned.child.files == ("none" if {"landlock", "mount"} <= {*lacking} else "write")


@pytest.mark.parametrize("lacking", [("root",), ("root", "user"), ("user",), ("root", *_KINDS)], ids=", ".join)
def test_processes_are_bounded_for_a_session_or_for_its_user(lacking: tuple[str, ...]) -> None:
    """Only a host that is root, cannot change its user and has no user namespace has no bound: the gate is all."""
    planned, root = _planned(*lacking), os.geteuid() == 0
    assert ("unprivileged-user" in _missing(planned)) == (root and "root" in lacking)
    if "user" not in lacking:
        assert planned.child.processes is not None and planned.child.processes < 1024
    elif "root" in lacking and root:
        assert planned.child.processes is None
    else:
        assert planned.child.processes is not None and planned.child.processes >= 1024


def test_root_stays_root_where_another_user_could_not_read(tmp_path: Path) -> None:
    """In a new root only the library itself counts; in the old one what lies above it, too."""
    library = tmp_path / "closed" / "library"
    library.mkdir(parents=True)
    library.chmod(0o755)
    library.parent.chmod(0o700)
    assert (_unreadable([str(library)], True), _unreadable([str(library)], False)) == (None, str(library.parent))
    assert _planned(libraries=[str(library)]).user is not None
    library.chmod(0o700)
    planned = _planned(libraries=[str(library)])
    assert planned.user is None
    assert f"{library} cannot be read by another user" in _missing(planned)["unprivileged-user"]


@pytest.mark.parametrize(
    ("ranges", "found"),
    [
        ("0 0 4294967295\n", range(5000, 5001)),
        ("0 100000 65536\n", range(5000, 5001)),
        ("0 1000 1\n1 100000 3000\n", range(1999, 3000)),
        (None, range(5000, 5001)),
    ],
)
def test_the_user_of_guests_is_one_that_the_container_maps(ranges: str | None, found: range, tmp_path: Path) -> None:
    path = tmp_path / "uid_map"
    if ranges is not None:
        path.write_text(ranges)
    assert _mapped(str(path), 5000) in found


def test_of_a_directory_that_pip_has_filled_the_packages_may_be_read_and_nothing_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path.resolve() / "lib"
    for name in ("tool-1.dist-info", "tool", "bare-2.dist-info", "own"):
        (target / name).mkdir(parents=True)
        (target / name / "file").touch()
    (target / "tool-1.dist-info" / "RECORD").write_text("tool/file,,\ntool-1.dist-info/RECORD,,\n../../bin/t,,\n")
    monkeypatch.syspath_prepend(str(target))
    planned = _planned()
    below = {path for path in planned.zygote.read if path.startswith(str(tmp_path.resolve()))}
    assert below == {str(target / name) for name in ("tool", "tool-1.dist-info", "bare-2.dist-info")}
    assert str(target) in planned.zygote.listed, "its names are looked at, as at each import"


def test_what_a_path_file_adds_to_the_import_path_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path.resolve() / "site-packages"
    for path in (site, tmp_path / "added", tmp_path / "named-alone", tmp_path / "own"):
        path.mkdir()
    (site / "some.pth").write_text("# why\nimport nothing\n\n../added\n../named-alone\n")
    (site / "odd.pth").mkdir()
    for path in (site, tmp_path / "added", tmp_path / "own"):
        monkeypatch.syspath_prepend(str(path.resolve()))
    read = {path for path in _planned().zygote.read if path.startswith(str(tmp_path.resolve()))}
    assert read == {str(site), str(tmp_path.resolve() / "added")}


def test_links_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert len({*_links_on(str(tmp_path / "a"))}) <= 256


def test_the_threads_of_all_processes_of_a_user_are_counted() -> None:
    user = unprivileged_user().uid if os.geteuid() == 0 else os.getuid()

    def start() -> None:
        held = _thread.allocate_lock()
        held.acquire()
        for _ in range(2):
            # Not `pause`: glibc reaches each thread with a signal as it sets the user, and that one would end.
            _thread.start_new_thread(held.acquire, ())
        if os.geteuid() == 0:
            os.setuid(user)

    with sleeping(start):
        found = _tasks_of(user)
        others = {unprivileged_user().uid for _ in range(300)}
    assert found == 3 or (found > 3 and os.geteuid() != 0)
    assert user not in others, "a sandbox shares its user with no other, however many there were before"


def test_a_machine_is_described_with_what_is_lost() -> None:
    rows = {row.name: row for row in describe(able("net", "landlock"))}
    assert {name for name, row in rows.items() if not row.active} >= {"network-namespace", "landlock"}
    assert rows["network-namespace"].detail == "tried: EPERM: seccomp refuses every socket"
    assert rows["landlock"].detail == "tried: EPERM"
    assert (rows["pid-namespace"].active, rows["pid-namespace"].detail) == (True, "")
    assert {row.name: row for row in describe(able())}["landlock"].detail == "ABI 6"
    assert describe(), "of this one"


def test_without_landlock_or_files_no_branch_has_a_ruleset(machine: Probe, tmp_path: Path) -> None:
    child = plan(Policy.load("data-analysis"), facts=machine).child
    for without in (replace(child, landlock=0), replace(child, files="none")):
        assert branch_ruleset(without, -1, str(tmp_path)) is None


@pytest.mark.needs("landlock")
def test_a_ruleset_that_cannot_be_made_leaves_no_descriptor(machine: Probe, tmp_path: Path) -> None:
    child = plan(Policy.load("data-analysis"), facts=machine).child
    before = os.listdir("/proc/self/fd")
    with pytest.raises(FileNotFoundError):
        branch_ruleset(child, -1, str(tmp_path / "gone"))
    assert os.listdir("/proc/self/fd") == before
    made = branch_ruleset(child, -1, str(tmp_path))
    assert made is not None
    os.close(made)
