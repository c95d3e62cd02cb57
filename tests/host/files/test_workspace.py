"""The files of a session: its own, hostile, and following checkpoints and branches."""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Callable

import pytest

from safeexec import Sandbox, Session

pytestmark = pytest.mark.profile("data-analysis")
OpenSession = Callable[..., Session]


def directory(session: Session) -> pathlib.Path:
    assert session.workspace is not None
    return pathlib.Path(session.workspace)


def test_a_session_begins_with_the_sandboxs_files(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "sales.csv"
    source.write_text("a,b\n1,2\n")
    with Sandbox("data-analysis", files={"data/sales.csv": source, "note.txt": b"hello"}) as sandbox:
        for _ in range(2):
            with sandbox.session() as session:
                result = session.run("open('data/sales.csv').read(), open('note.txt').read()")
                assert result.check().value == ("a,b\n1,2\n", "hello")
                assert session.run("open('note.txt', 'w').write('mine')").ok
    assert source.read_text() == "a,b\n1,2\n"


def test_policies_without_a_workspace_have_none(open_session: OpenSession) -> None:
    assert open_session(profile="calculator").workspace is None


def test_two_sessions_do_not_see_each_others_files(open_session: OpenSession) -> None:
    one, two = open_session(), open_session()
    one.run("open('a.txt', 'w').write('1')").check()
    assert two.run("import os\nos.listdir()").value == []
    escape = open_session(profile="confined-python"), open_session(profile="confined-python")
    escape[0].run("open('a.txt', 'w').write('1')").check()
    assert not escape[1].run(f"open({str(directory(escape[0]) / 'a.txt')!r}).read()").ok


def test_branches_have_their_own_files(session: Session) -> None:
    session.run("open('shared.txt', 'w').write('root')").check()
    left, right = session.branch(2)
    with left, right:
        left.run("open('shared.txt', 'w').write('left')\nopen('left.txt', 'w').write('x')").check()
        right.run("open('shared.txt', 'a').write(' and right')").check()
        read = "import os\nsorted(os.listdir()), open('shared.txt').read()"
        assert left.run(read).value == (["left.txt", "shared.txt"], "left")
        assert right.run(read).value == (["shared.txt"], "root and right")
        assert session.run(read).value == (["shared.txt"], "root")


def test_an_open_file_of_a_branch_is_the_branchs_own(session: Session) -> None:
    session.run("f = open('log.txt', 'w')\nf.write('begin ')\nf.flush()").check()
    (branch,) = session.branch()
    with branch:
        branch.run("f.write('branch')\nf.close()").check()
        session.run("f.write('root')\nf.close()").check()
        assert session.run("open('log.txt').read()").value == "begin root"
        assert branch.run("open('log.txt').read()").value == "begin branch"


def test_an_absolute_path_that_was_kept_leads_to_where_it_was_taken(session: Session) -> None:
    """Relative paths follow the branch. An absolute one is a value like any other: it names the root's directory."""
    session.run("import os\nopen('a.txt', 'w').write('root')\npath = os.path.abspath('a.txt')").check()
    (branch,) = session.branch()
    with branch:
        branch.run("open('a.txt', 'w').write('branch')").check()
        assert branch.run("open('a.txt').read()").value == "branch"
        assert branch.run("open(path).read()").value == "root"


def test_modes_links_and_directories_follow_a_rollback(open_session: OpenSession) -> None:
    """Guests are refused links; what one that broke out has made is carried all the same."""
    session = open_session(profile="confined-python")
    session.run("import os\nos.makedirs('d/e')\nopen('d/e/f', 'w').write('1')").check()
    os.symlink("d/e/f", directory(session) / "link")
    session.checkpoint("tree")
    session.run(
        "import shutil\nshutil.rmtree('d')\nos.remove('link')\nopen('d', 'w').write('now a file')\nos.mkdir('link')"
    ).check()
    session.rollback("tree")
    assert session.run("open('link').read(), os.path.isdir('d/e'), os.path.islink('link')").check().value == (
        "1",
        True,
        True,
    )


def test_a_file_that_did_not_change_is_not_copied_again(session: Session) -> None:
    session.run("open('big.bin', 'wb').write(bytes(1 << 20))").check()
    inode = os.stat(directory(session) / "big.bin").st_ino
    session.checkpoint("a")
    session.run("open('small.txt', 'w').write('x')").check()
    session.rollback("a")
    assert os.stat(directory(session) / "big.bin").st_ino == inode


@pytest.mark.profile("confined-python")
def test_links_of_the_guest_lead_the_host_nowhere(session: Session, tmp_path: pathlib.Path) -> None:
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


def test_nothing_of_a_session_is_left_on_disk(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("import os\nos.makedirs('d')\nopen('d/f.txt', 'w').write('x')").check()
        session.checkpoint("a")
        path = directory(session)
        assert path.is_dir()
    assert not path.exists()
    assert not list(path.parent.parent.glob(path.parent.name + "*"))


def test_a_file_that_cannot_be_brought_back_is_told_and_the_others_are(session: Session) -> None:
    """Here its stored copy has gone; a full file system, or another branch at work in the directory, do the same."""
    session.run("for name in ('a.txt', 'b.txt', 'c.txt'): open(name, 'w').write(name)").check()
    session.checkpoint("three")
    snapshot = session._core.line.history.find("three")[0].files
    assert snapshot is not None
    os.unlink(getattr(snapshot["b.txt"].stored, "path", ""))
    session.run("import os\nfor name in os.listdir(): os.remove(name)").check()
    session.rollback("three")
    result = session.run("import os\nsorted(os.listdir())")
    assert [note for note in result.notes if "b.txt in the workspace could not be brought back" in note], result.notes
    assert session.run("open('a.txt').read() + open('c.txt').read()").value == "a.txtc.txt"


@pytest.mark.profile("confined-python")
def test_a_branch_that_is_at_work_in_anothers_directory_ends_no_rollback(session: Session) -> None:
    """It knows the path from before the branch, and moves directories while the host brings files back."""
    session.run(
        "import os\nhome = os.getcwd()\nos.mkdir('d')\nfor n in range(20): open(f'd/{n}', 'w').write('1')"
    ).check()
    session.checkpoint("twenty")
    (branch,) = session.branch()
    mover = (
        "os.chdir(home)\nprint('on')\nwhile True:\n    for a, b in (('d', 'e'), ('e', 'd')):\n"
        "        try: os.rename(a, b)\n        except OSError: pass"
    )
    moving = threading.Event()
    thread = threading.Thread(target=lambda: branch.run(mover, timeout=60, on_output=lambda _: moving.set()))
    thread.start()
    assert moving.wait(30)
    for _ in range(10):
        session.rollback("twenty")
        session.run("import shutil\nfor name in os.listdir(): shutil.rmtree(name, ignore_errors=True)").check()
    branch.cancel()
    thread.join()
    branch.close()
    session.rollback("twenty")
    assert session.run("len(os.listdir('d')), {open(f'd/{n}').read() for n in range(20)}").value == (20, {"1"})


def test_going_back_before_the_last_step_keeps_what_the_host_put_there_before_it(session: Session) -> None:
    """Also where the state that the step began with was itself restored."""
    session.run("x = 1").check()
    assert session.run("while True: pass", timeout=0.1).state == "restored"
    session.write_file("given.txt", b"1")
    for _ in range(2):
        session.run("open('given.txt', 'w').write('2')\nopen('made.txt', 'w').close()").check()
        session.rollback()
        assert session.read_file("given.txt") == b"1" and session.list_files() == ["given.txt"]
