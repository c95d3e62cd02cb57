"""What was repaired goes back into the user's repository: files, commits and branches, and the way back. No program of
the repository runs for it.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec.agent import RepairError, ScriptedModel
from safeexec.agent.repair import RepairAgent, RepairResult
from safeexec.agent.repair.commits import Change, check_branch, commit, take_back
from safeexec.cli import main
from tests.agent.chat_server import Say, chat_server
from tests.agent.test_repair import git
from tests.agent.test_strangers_repositories import elsewhere, filtered, hooked

BROKEN, MENDED = b"def f():\n    return 1\n", b"def f():\n    return 2\n"
CHANGES: dict[str, Change] = {"src/m.py": (BROKEN, MENDED, 0o644)}
AUTHOR = "A Person <a@example.org>"
PATCH = "<execute_python>\nreplace_text('src/m.py', 'return 1', 'return 2')\nprint(verify('Two'))\n</execute_python>"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "src").mkdir(parents=True)
    (root / "src/m.py").write_bytes(BROKEN)
    (root / "check.py").write_text("import m\nassert m.f() == 2\n")
    return root


@pytest.fixture
def committed(repository: Path) -> Path:
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "as it was")
    return repository


def repaired(repository: Path) -> RepairResult:
    result = RepairAgent(ScriptedModel([PATCH, "Done."]), repository, verify=["python", "check.py"]).run()
    assert result.ok
    return result


def test_files_are_applied_and_put_back(repository: Path) -> None:
    result = repaired(repository)
    with pytest.raises(RepairError, match="nothing was applied"):
        result.revert()
    assert result.apply() == result.revert() == ["src/m.py"]
    assert (repository / "src/m.py").read_bytes() == BROKEN
    result.apply()
    (repository / "src/m.py").write_text("# a person's\n")
    with pytest.raises(RepairError, match="was changed"):
        result.revert()
    assert json.loads(json.dumps(result.to_dict()))["files"] == ["src/m.py"]


@pytest.mark.parametrize("prepare", [hooked, filtered])
def test_a_commit_runs_nothing_of_the_repository(
    repository: Path, tmp_path: Path, prepare: Callable[[Path, str], None]
) -> None:
    mark = tmp_path / "mark"
    prepare(repository, f"id > {mark}")
    if prepare is hooked:
        git(repository, "-c", "core.hooksPath=/dev/null", "add", "-A")
        git(repository, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "as it was")
    mark.unlink(missing_ok=True)
    result = repaired(repository)
    result.apply(commit=True, author=AUTHOR)
    assert not mark.exists()
    assert result.commit is not None and result.commit.reference.startswith("refs/heads/")
    made = (repository / ".git" / result.commit.reference).read_text().strip()
    assert made == result.commit.id


def test_a_commit_is_the_patch_alone_and_is_taken_back(committed: Path) -> None:
    (committed / "own.txt").write_text("staged by a person")
    git(committed, "add", "own.txt")
    git(committed, "gc", "-q")
    result = repaired(committed)
    assert result.apply(commit=True, message="Return two", author=AUTHOR) == ["src/m.py"]
    shown = git(committed, "show", "--format=%an %s", "--stat", "HEAD")
    assert "A Person Return two" in shown and "src/m.py" in shown and "own.txt" not in shown
    assert git(committed, "status", "--porcelain") == "A  own.txt\n", "index and files agree with the commit"
    assert git(committed, "fsck", "--strict") == ""
    with pytest.raises(RepairError, match="applied already"):
        result.apply()
    result.revert()
    assert git(committed, "status", "--porcelain") == "A  own.txt\n"
    assert git(committed, "log", "--format=%s").split("\n")[0] == "as it was"


def test_a_branch_leaves_files_and_index_as_they_are(committed: Path) -> None:
    (committed / "gone.py").write_text("x = 1\n")
    (committed / "run.sh").write_text("true\n")
    git(committed, "add", "-A")
    git(committed, "commit", "-q", "-m", "more")
    changes = {**CHANGES, "gone.py": (b"x = 1\n", None, 0o644), "new/é.py": (None, b"y = 1\n", 0o755)}
    done = commit(committed, changes, message="All kinds", author=AUTHOR, branch="fix/all")
    assert git(committed, "status", "--porcelain") == ""
    listed = git(committed, "-c", "core.quotePath=off", "ls-tree", "-r", "fix/all")
    assert [line.split()[0] + line.split("\t")[1] for line in listed.splitlines()] == [
        "100644check.py", "100755new/é.py", "100644run.sh", "100644src/m.py",
    ]  # fmt: skip
    assert git(committed, "show", "fix/all:src/m.py").encode() == MENDED
    with pytest.raises(RepairError, match="there is a branch 'fix/all' already"):
        commit(committed, changes, message="x", author=AUTHOR, branch="fix/all")
    take_back(committed, done)
    assert git(committed, "branch", "--format=%(refname:short)").split() == ["main"]


def dirty(root: Path) -> None:
    (root / "src/m.py").write_bytes(BROKEN + b"# mine\n")
    git(root, "commit", "-q", "-a", "-m", "mine")


def detached(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


def locked(root: Path) -> None:
    (root / ".git/index.lock").write_text("")


def linked(root: Path) -> None:
    shutil.rmtree(root / ".git")
    elsewhere(root, "true")


def linked_objects(root: Path) -> None:
    """Git would read them, and all else that is there."""
    objects = root / ".git/objects"
    objects.rename(root / "elsewhere")
    objects.symlink_to(root / "elsewhere")


def broken(root: Path) -> None:
    (root / ".git/refs/heads/main").write_text("0" * 40)


def symbolic(root: Path) -> None:
    (root / ".git/HEAD").write_text("ref: refs/heads/../../../etc/passwd\n")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (dirty, "was not in the last commit as the repair began with it"),
        (detached, "no branch of a plain name"),
        (locked, "index.lock is there"),
        (linked, "linked worktree"),
        (linked_objects, "Not a directory"),
        (broken, "git read-tree"),
        (symbolic, "no branch of a plain name"),
    ],
)
def test_what_cannot_be_committed_is_said_and_nothing_changes(
    committed: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(committed)
    watched = [committed / name for name in ("src/m.py", ".git/HEAD", ".git/refs/heads/main", ".git/index")]
    before = [path.read_bytes() for path in watched if path.exists()]
    with pytest.raises(RepairError, match=reason):
        commit(committed, CHANGES, message="x", author=AUTHOR)
    assert [path.read_bytes() for path in watched if path.exists()] == before
    assert not list((committed / ".git").glob("refs/heads/*.lock")) if (committed / ".git").is_dir() else True


def test_what_cannot_be_taken_back_stays(committed: Path) -> None:
    done = commit(committed, CHANGES, message="x", author=AUTHOR)
    locked(committed)
    with pytest.raises(RepairError, match=r"index\.lock is there"):
        take_back(committed, done)
    assert git(committed, "rev-parse", "HEAD").strip() == done.id


def test_a_branch_that_git_has_packed_is_told_to_stay(committed: Path) -> None:
    done = commit(committed, CHANGES, message="x", author=AUTHOR, branch="fix/packed")
    git(committed, "pack-refs", "--all")
    with pytest.raises(RepairError, match="git has packed refs/heads/fix/packed"):
        take_back(committed, done)
    assert git(committed, "rev-parse", "fix/packed").strip() == done.id
    assert not (committed / ".git/refs/heads/fix/packed.lock").exists()


@pytest.mark.parametrize(
    "name", ["", "-x", "a..b", "x.lock", "a/.b", "a b", "refs/../x", "a\nb", "x" * 300, "a//b", "@{-1}"]
)
def test_a_name_that_is_no_plain_branch_is_refused(name: str) -> None:
    with pytest.raises(RepairError, match="no plain name"):
        check_branch(name)


def test_an_author_has_name_and_address(committed: Path) -> None:
    with pytest.raises(RepairError, match="author is written"):
        commit(committed, CHANGES, message="x", author="a\nparent 0")


def test_the_command_shows_asks_and_writes(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    words = ["repair", str(repository), "--check", f"{sys.executable} check.py"]
    with chat_server(Say(PATCH), Say("Done.")) as server:
        assert main([*words, "--apply", "--server-url", server.url]) == 0
    shown = capsys.readouterr()
    assert "+    return 2" in shown.out and "editable: src" in shown.out
    assert "nothing was written: nobody is there to ask (--yes)" in shown.err
    assert (repository / "src/m.py").read_bytes() == BROKEN
    with chat_server(Say(PATCH), Say("Done.")) as server:
        # What is wrong may stand anywhere among the options.
        assert main([*words, "--apply", "--yes", "mend m", "--json", "--server-url", server.url]) == 0
    assert "mend m" in str(server.requests[0])
    assert json.loads(capsys.readouterr().out)["ok"] is True
    assert (repository / "src/m.py").read_bytes() == MENDED


def test_the_command_takes_a_clear_yes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from safeexec.cli import repair

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for said, answer in (("y\n", True), ("YES\n", True), ("\n", False), ("maybe\n", False), ("", False)):
        monkeypatch.setattr(sys, "stdin", Terminal(said))
        assert repair._asked("Write?") is answer
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert not repair._asked("Write?"), "no terminal"


def test_a_command_with_an_open_quotation_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["repair", ".", "--check", "pytest -k 'two"])
    assert "pytest -k 'two\": No closing quotation" in capsys.readouterr().err
