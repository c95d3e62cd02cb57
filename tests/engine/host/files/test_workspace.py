"""The files of a session: its own, hostile, and following checkpoints and branches."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from safeexec import Policy, Sandbox, Session, WorkspaceError
from safeexec.engine.host.files import tree, workspace_files
from safeexec.engine.host.files.regions import MAX_BRANCHINGS
from safeexec.engine.host.files.workspace import Workspace
from safeexec.engine.host.files.workspace_root import WorkspaceRoot
from tests.alone import alone, importing
from tests.conftest import OpenSession
from tests.ordinary import ordinary_user
from tests.untrusted.hostile import FILES, growing

pytestmark = pytest.mark.profile("data-analysis")


def directory(session: Session) -> Path:
    assert session.workspace is not None
    return Path(session.workspace)


def too_much(workspace: Workspace, most: int) -> str:
    """What is too much in it, in words."""
    try:
        workspace.count(most, 100)
    except WorkspaceError as error:
        return str(error)
    return ""


def test_a_session_begins_with_files_and_directories_without_what_links_stand_for(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "run.sh").write_text("x")
    (project / "src" / "run.sh").chmod(0o755)
    (project / "empty").mkdir()
    (project / "secret").symlink_to("/etc/passwd")
    (project / "etc").symlink_to("/etc")
    os.mkfifo(project / "pipe")
    told = "import os\nsorted(os.path.join(top, name) for top, a, b in os.walk('in') for name in a + b)"
    given = {"in/project": project, "data/run.sh": project / "src" / "run.sh", "note.txt": b"hello"}
    with Sandbox("data-analysis", files=given) as sandbox:
        for _ in range(2):
            with sandbox.session() as session:
                found = ["in/project", "in/project/empty", "in/project/src", "in/project/src/run.sh"]
                assert session.run(told).value == found
                assert session.run("os.stat('in/project/src/run.sh').st_mode & 0o100").value == 0o100
                assert session.run("open('data/run.sh').read(), open('note.txt').read()").value == ("x", "hello")
                session.run("open('note.txt', 'w').write('mine')\nopen('data/run.sh', 'w').write('mine')").check()
    assert (project / "src" / "run.sh").read_text() == "x"
    big = tmp_path / "big"
    big.mkdir()
    with open(big / "file", "wb") as file:
        file.truncate(3 << 20)
    small = Policy.load("data-analysis").replace(limits={"workspace_mb": 2})
    too_much = pytest.raises(WorkspaceError, match="holds more than a workspace may: 2 MiB")
    with Sandbox(small, files={"d": big}) as sandbox, too_much:
        sandbox.session()


REACHES = """
import os
def reach(place):
    reached = []
    def attempt(what, act):
        try: act()
        except OSError: return
        reached.append(what)
    attempt("read", lambda: open(f"{place}/data").read())
    attempt("write", lambda: open(f"{place}/data", "w"))
    attempt("create", lambda: open(f"{place}/new", "w"))
    attempt("list", lambda: os.listdir(place))
    attempt("list the region", lambda: os.listdir(os.path.dirname(place)))
    attempt("remove", lambda: os.unlink(f"{place}/data"))
    attempt("make", lambda: os.mkdir(f"{place}/directory"))
    attempt("move", lambda: os.rename("mine", f"{place}/mine"))
    return reached
"""


@pytest.mark.needs("landlock")
@pytest.mark.profile("confined-python")
def test_a_branch_reaches_neither_ancestors_nor_siblings(session: Session) -> None:
    """By whatever path it was told: every layer of Landlock must allow what it does."""
    session.run(f"{REACHES}\nopen('data', 'w').write('root')\nopen('mine', 'w').close()").check()
    left, right = session.branch(2)
    with left, right:
        (inner,) = left.branch()
        with inner:
            family = {"root": session, "left": left, "right": right, "inner": inner}
            places = {name: str(one.workspace) for name, one in family.items()}
            for name, one in family.items():
                assert one.run("open('data', 'w').write('own'); sorted(os.listdir())").value == ["data", "mine"]
                assert one.run(f"os.getcwd() == {places[name]!r} and os.path.samefile('.', os.getcwd())").value is True
            for looker, others in {
                "inner": ("left", "root", "right"),
                "left": ("root", "right"),
                "right": ("root", "left", "inner"),
            }.items():
                for other in others:
                    assert family[looker].run(f"reach({places[other]!r})").value == [], (looker, other)
            for name in ("left", "right", "inner"):
                # As it was in the session that it came from, and after going back to where it came from.
                assert family[name].run("while True: pass", timeout=0.2).state == "restored"
                assert family[name].run(f"reach({places['root']!r})").value == []
                family[name].rollback()
                assert family[name].run(f"reach({places['root']!r})").value == []
    assert session.run("open('data').read()").value == "own"


def test_branches_of_branches_end_with_an_error_that_says_so() -> None:
    """A process has 16 layers of Landlock."""
    root = WorkspaceRoot()
    try:
        chain = [root.new_workspace(1 << 20, 100)]
        for _ in range(MAX_BRANCHINGS):
            chain.append(chain[-1].branch({}))
        with pytest.raises(WorkspaceError, match="16 layers of Landlock"):
            chain[-1].branch({})
        for workspace in chain:  # the oldest first: what lies within lives on
            assert os.path.isdir(workspace.path)
            workspace.close()
            assert not os.path.exists(workspace.path)
        assert not os.listdir(root.path)
    finally:
        root.close()


@pytest.fixture
def small() -> Iterator[Workspace]:
    """A workspace of 1 MiB, without a sandbox."""
    root = WorkspaceRoot()
    workspace = root.new_workspace(1 << 20, 100)
    yield workspace
    workspace.close()
    assert not os.listdir(root.path)
    root.close()


LEFT_OPEN = """
import contextlib, os
from safeexec import WorkspaceError
from safeexec.engine.host.files.workspace_root import WorkspaceRoot
from tests.limits import descriptors_left

def held():
    return sorted(os.listdir("/proc/self/fd"))

before = held()
root = WorkspaceRoot()
of_root = held()
workspace = root.new_workspace(1 << 20, 100)
branch = workspace.branch({})
with descriptors_left(0):
    branch.close()
    workspace.close()
assert held() == of_root, "closed while nothing could be opened"
root.owner = (1 << 40, 0)
with contextlib.suppress(OverflowError):
    root.new_workspace(1 << 20, 100)
assert held() == of_root, "not made: it could not be given to the children's user"
with descriptors_left(0), contextlib.suppress(WorkspaceError):
    WorkspaceRoot()
assert held() == of_root, "no root could be made"
root.close()
assert held() == before
left = [name for name in os.listdir() if "safeexec" in name]
assert not left, left
"""


def test_what_cannot_be_made_or_removed_leaves_no_descriptor(tmp_path: Path) -> None:
    """In a process of its own, which can be without descriptors."""
    done = alone(LEFT_OPEN, env=importing(TMPDIR=str(tmp_path)), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_directory_that_becomes_a_link_leads_nowhere(small: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "file").write_bytes(b"x" * (2 << 20))
    inside = Path(small.path)
    (inside / "d" / "deep").mkdir(parents=True)
    (inside / "d" / "deep" / "file").write_text("own")
    (inside / "link").symlink_to(outside)
    kept, over = small.snapshot(), threading.Event()
    exchange = [("d", "aside"), ("link", "d"), ("d", "link"), ("aside", "d")]

    def exchange_busily() -> None:
        while not over.is_set():
            for name, other in exchange:
                with contextlib.suppress(OSError):
                    os.rename(inside / name, inside / other)

    thread = threading.Thread(target=exchange_busily)
    thread.start()
    try:
        for _ in range(100):
            assert too_much(small, 1 << 20) == ""
            small.snapshot()
            small.restore(kept)
            small.restore({})
    finally:
        over.set()
        thread.join()
    assert [path.name for path in sorted(outside.rglob("*"))] == ["deep", "file"]
    assert (outside / "deep" / "file").stat().st_size == 2 << 20
    small.restore(kept)
    assert (inside / "d" / "deep" / "file").read_text() == "own"
    assert (outside / "deep" / "file").exists()


def test_no_more_is_copied_than_was_counted(small: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that grow between the two, as one of a process that goes on after its step."""
    limit = 1 << 20
    names = [f"{small.path}/{number}" for number in range(20)]
    for name in names:
        Path(name).write_bytes(b"counted")
    copy = tree.copy_contents

    def grow_and_copy(source: int, target: int, size: int) -> None:
        for name in names:
            os.truncate(name, limit)
        copy(source, target, size)

    monkeypatch.setattr(tree, "copy_contents", grow_and_copy)
    with pytest.raises(WorkspaceError, match=r"grew beyond 1 MiB .* while it was copied"):
        small.snapshot()
    held = [path.stat().st_size for path in Path(os.path.dirname(small.home)).glob("*.store/*")]
    assert sum(held) <= limit
    monkeypatch.undo()
    for name in names:
        Path(name).write_bytes(b"small")
    assert len(small.snapshot()) == len(names)


@pytest.mark.needs("mount")  # in the host's own tree modes cannot be changed at all
@pytest.mark.parametrize("checkpoints", ["idle", "off"])
def test_a_workspace_that_its_guest_has_shut_is_open_again(open_session: OpenSession, checkpoints: str) -> None:
    session = open_session(checkpoints=checkpoints)
    session.run("import pathlib\npathlib.Path('kept').write_text('1')").check()
    session.run("pathlib.Path('.').chmod(1)").check()
    for _ in range(2):
        assert session.run("while True: pass", timeout=0.2).state != "kept"
    assert session.run("import os\nos.listdir()").value == ([] if checkpoints == "off" else ["kept"])


@pytest.mark.needs("mount")  # in the host's own tree modes cannot be changed at all
@pytest.mark.profile("confined-python")
def test_modes_links_and_directories_follow_a_rollback(session: Session) -> None:
    """Guests are refused links; what one that broke out has made is carried all the same."""
    made = "os.makedirs('d/e')\nopen('d/e/f', 'w').write('1')\nos.chmod('d/e', 0o500)\nos.mkdir('g', 0o711)"
    session.run(f"import os, shutil\n{made}").check()
    os.symlink("d/e/f", directory(session) / "link")
    look = "open('link').read(), [oct(os.stat(d).st_mode) for d in ('d/e', 'g')], os.path.islink('link')"
    before = session.run(look).check().value
    session.checkpoint("tree")
    change = "shutil.rmtree('d')\nos.remove('link')\nopen('d', 'w').write('now a file')\nos.mkdir('link')"
    session.run(f"os.chmod('d/e', 0o700)\nos.chmod('g', 0o700)\n{change}").check()
    session.rollback("tree")
    assert session.run(look).check().value == before


def test_a_file_that_did_not_change_is_not_copied_again(session: Session) -> None:
    session.run("open('big.bin', 'wb').write(bytes(1 << 20))").check()
    inode = os.stat(directory(session) / "big.bin").st_ino
    session.checkpoint("a")
    session.run("open('small.txt', 'w').write('x')").check()
    session.rollback("a")
    assert os.stat(directory(session) / "big.bin").st_ino == inode


@pytest.mark.profile("confined-python")
def test_links_of_the_guest_lead_the_host_nowhere(session: Session, tmp_path: Path) -> None:
    """Snapshots read as the host's user: a link to a secret must not bring it into the guest's directory."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    os.symlink(secret, directory(session) / "link")
    os.symlink(tmp_path, directory(session) / "dir")
    os.mkfifo(directory(session) / "pipe", 0o666)
    session.run("x = 1").check()
    session.checkpoint("with links")
    session.run("x = 2").check()
    session.rollback("with links")
    (branch,) = session.branch()
    with branch:
        for s in (session, branch):
            for path in ("link", "dir/secret.txt"):
                assert not s.run(f"open({path!r}).read()").ok
    assert secret.read_text() == "the secret"


def test_a_file_that_cannot_be_brought_back_is_told_and_the_others_are(session: Session) -> None:
    """Here its stored copy has gone; a full file system, or another branch at work in the directory, do the same."""
    session.run("for name in ('a.txt', 'b.txt', 'c.txt'): open(name, 'w').write(name)").check()
    session.checkpoint("three")
    snapshot = session._core.processes.history.find("three")[0].files
    os.unlink(getattr(snapshot["b.txt"].stored, "path", ""))
    session.run("import os\nfor name in os.listdir(): os.remove(name)").check()
    session.rollback("three")
    result = session.run("import os\nsorted(os.listdir())")
    assert [note for note in result.notes if "b.txt in the workspace could not be brought back" in note], result.notes
    assert session.run("open('a.txt').read() + open('c.txt').read()").value == "a.txtc.txt"


def test_a_workspace_that_its_guest_moves_away_also_while_it_is_looked_at_is_told_and_made_anew(
    small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ordinary user's host and its guests are one user."""
    inside = Path(small.path)
    (inside / "kept").write_text("1")
    kept = small.snapshot()
    in_its_place = (lambda: None, inside.touch, lambda: inside.symlink_to("w.away"))
    ways_back = (lambda: small.restore(kept), small.snapshot_or_undo)
    for put, bring_back in product(in_its_place, ways_back):
        inside.rename(f"{inside}.away")
        put()
        for look in (small.snapshot, small.marks_now):
            with pytest.raises(WorkspaceError, match="own directory was moved or removed"):
                look()
        assert "moved or removed" in too_much(small, 1 << 20) and not small.is_empty()
        bring_back()
        inside.parent.chmod(0o700)
        assert [path.name for path in inside.parent.iterdir()] == [tree.WORKSPACE]
        assert (inside / "kept").read_text() == "1" and too_much(small, 1 << 20) == ""
    enter = tree.list_directory

    def move_and_enter(above: int, name: str) -> int:
        os.rename(small.path, f"{small.path}.away")
        return enter(above, name)

    monkeypatch.setattr(tree, "list_directory", move_and_enter)
    assert "moved or removed" in too_much(small, 1 << 20)


def test_where_too_much_lies_all_goes_back_to_the_last_look(small: Workspace) -> None:
    """Also what lies beside the workspace, where commands have their temporary files."""
    inside = Path(small.path)
    (inside / "kept").write_text("1")
    kept = small.snapshot()
    (inside / "large").write_bytes(bytes(600_000))
    small.make_temporary()
    small.make_temporary()
    (inside.parent / "tmp" / "more").write_bytes(bytes(600_000))
    assert too_much(small, 1 << 20) and too_much(small, 2 << 20) == ""
    assert small.snapshot_or_undo() == kept and not (inside.parent / "tmp").exists()
    (inside / "large").write_bytes(bytes(2 << 20))
    for look in (small.snapshot, small.listing):
        with pytest.raises(WorkspaceError, match=r"more than 1 MiB \(limits.workspace_mb\)"):
            look()


def test_what_goes_or_changes_while_it_is_copied_is_left_out(small: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Path(small.path)
    for name in ("gone", "fifo", "kept"):
        (inside / name).write_text(name)
    count = tree.counted

    def count_and_change(*arguments: Any) -> Any:
        answer = count(*arguments)
        (inside / "gone").unlink()
        (inside / "fifo").unlink()
        os.mkfifo(inside / "fifo")
        return answer

    monkeypatch.setattr(tree, "counted", count_and_change)
    assert list(small.snapshot()) == ["kept"]
    assert len([*Path(os.path.dirname(small.home)).glob("*.store/*")]) == 1


def test_what_the_guest_removes_while_the_host_writes_it_is_not_in_the_state(
    small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = workspace_files.write_file

    def write_and_lose(top: int, name: str, *rest: Any, **options: Any) -> None:
        write(top, name, *rest, **options)
        os.unlink(f"{small.path}/{name}")

    _, files = small.write("kept", b"1", None)
    monkeypatch.setattr(workspace_files, "write_file", write_and_lose)
    path, files = small.write("lost", b"2", files)
    assert (path, list(files)) == ("lost", ["kept"])


def test_a_branch_that_cannot_have_all_files_is_none(small: Workspace) -> None:
    (Path(small.path) / "data").write_text("1")
    kept = small.snapshot()
    os.unlink(getattr(kept["data"].stored, "path", ""))
    before = os.listdir(os.path.dirname(small.home))
    with pytest.raises(WorkspaceError, match="cannot have the session's files: data in the workspace could not be"):
        small.branch(kept)
    os.chmod(small.home, 0o700)
    assert os.listdir(small.home) == [tree.WORKSPACE] and os.listdir(os.path.dirname(small.home)) == before


def test_what_changes_while_a_directory_of_the_host_is_copied_is_no_trap(
    small: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("fifo", "kept", "large"):
        (source / name).write_text(name)
    walk = tree.walk

    def walk_and_change(top: int, **options: Any) -> Iterator[tuple[str, os.stat_result]]:
        found = [*walk(top, **options)]
        (source / "fifo").unlink()
        os.mkfifo(source / "fifo")
        os.truncate(source / "large", 2 << 20)
        yield from found

    monkeypatch.setattr(tree, "walk", walk_and_change)
    small.copy_tree(source)
    monkeypatch.undo()
    assert small.names() == ["kept"] and small.read("kept", 9) == b"kept"


def test_the_files_of_an_ordinary_users_host_come_back_whatever_its_guest_has_shut() -> None:
    """The guest has the host's own rights, and may take away those to every directory of its own."""
    with ordinary_user():
        root = WorkspaceRoot()
        small = root.new_workspace(1 << 20, 100)
        small.put("d/f", b"1")
        os.chmod(f"{small.path}/d/f", 0o640)
        kept = small.snapshot()
        for shut in (small.path, small.home, root.path):
            os.chmod(shut, 0)
        assert too_much(small, 1 << 20) == "" and small.free > 0
        assert list(small.snapshot()) == ["d", "d/f"]
        for shut in (f"{small.path}/d", small.path, small.home, root.path):
            os.chmod(shut, 0o700)
            if shut.endswith("/d"):
                os.unlink(f"{shut}/f")
            os.chmod(shut, 0)
        assert small.restore(kept) == []
        small.give_access()
        with open(f"{small.path}/d/f") as file:
            assert file.read() == "1" and os.fstat(file.fileno()).st_mode & 0o777 == 0o640
        for shut in (small.path, small.home, root.path):
            os.chmod(shut, 0)
        small.close()
        root.close()
        assert not os.path.exists(root.path)


@pytest.mark.parametrize("problem", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_file_system_without_room_is_told_with_the_setting(
    small: Workspace, monkeypatch: pytest.MonkeyPatch, problem: int
) -> None:
    def full(*_: object) -> None:
        raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr(tree, "copy_contents", full)
    (Path(small.path) / "data").write_text("1")
    with pytest.raises(WorkspaceError, match=f"no room for a workspace's files .*{os.strerror(problem)}.*TMPDIR"):
        small.snapshot()
    with pytest.raises(WorkspaceError, match="no room"):
        small.put("other", __file__)


@pytest.mark.parametrize("forks", [False, True])
def test_a_program_that_closes_nothing_leaves_no_workspace(forks: bool) -> None:
    program = f"""
import os, sys
from safeexec import Sandbox
sandbox = Sandbox("data-analysis", files={{"s.csv": b"private"}}, spare=0).open()
session = sandbox.session()
if {forks}:
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
print(session.run("open('s.csv').read()").value, sandbox._core.children.root.path)
"""
    done = alone(program, check=True)
    value, path = done.stdout.split()
    assert value == "private" and not os.path.exists(path)


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize("place", ["/home/user", "/mnt/data"])
def test_the_places_of_other_services_lead_to_the_workspace(session: Session, place: str) -> None:
    if not any(one.name == "mount-namespace" and one.active for one in session.protection):
        pytest.skip("there is no new root")
    session.run(f"open('{place}/a.txt', 'w').write('one')").check()
    assert session.read_file("a.txt") == b"one"
    (branch,) = session.branch()
    branch.run(f"open('{place}/a.txt', 'w').write('two')").check()
    branch.close()
    assert session.run(f"open('{place}/a.txt').read()").value == "one"
    assert session.run(f"import os\nos.listdir('{place}')").value == ["a.txt"]
    outside = session.run(f"open('{place}/../../etc/passwd')")
    assert not outside.ok and session.run(f"os.symlink('/etc', '{place}/etc')").outcome == "violation"


@pytest.mark.parametrize(
    "kind", [kind for kind in FILES if kind not in ("directory", "link to a file", "link to itself", "link to nothing")]
)
def test_what_is_no_regular_file_of_fitting_size_is_refused(kind: str, small: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "below" / "data.csv"
    path.parent.mkdir()
    FILES[kind](path)
    # What the host may not read at all is the system's own error.
    error, message = PermissionError, "data.csv"
    if os.access(path, os.R_OK):
        error, message = WorkspaceError, "data.csv cannot be copied into the workspace: it .*limits.workspace_mb is 1"
    with pytest.raises(error, match=message):
        small.put("data.csv", path)
    taken = Path(small.path, "data.csv")
    assert not taken.exists() or taken.stat().st_size == 0


def test_a_file_that_is_not_there_or_grows(small: Workspace, tmp_path: Path) -> None:
    """Its lack is the system's own error. While it grows it is copied as it was."""
    with pytest.raises(FileNotFoundError, match="none"):
        small.put("data.csv", tmp_path / "none")
    with growing(tmp_path / "log"):
        try:
            small.put("log", tmp_path / "log")
        except WorkspaceError:  # it had grown past the limit before it was looked at
            pass
    assert Path(small.path, "log").stat().st_size <= 1 << 20
