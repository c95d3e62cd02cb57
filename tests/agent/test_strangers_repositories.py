"""A repository that a stranger packed: nothing of it runs in the host, whatever it holds, and no file of the user's is
read or written through it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec.agent import RepairError, ScriptedModel
from safeexec.agent.repair import RepairAgent
from safeexec.agent.repair import tree as trees
from safeexec.agent.repair.copies import WorkingCopy
from tests.agent.chat_server import Say, chat_server
from tests.agent.scripted import code
from tests.agent.test_repair import git
from tests.conftest import Called

REPAIR = code("replace_text('src/m.py', 'return 1', 'return 2')\nprint(verify('mend'))")
BROKEN, MENDED = "def f():\n    return 1\n", "def f():\n    return 2\n"
CHECK = "import sys; sys.path.insert(0, 'src')\nimport m\nassert m.f() == 2\nprint('1 passed')\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "src").mkdir(parents=True)
    (root / "src/m.py").write_text(BROKEN)
    (root / "check.py").write_text(CHECK)
    return root


def bare_root(root: Path, command: str) -> None:
    """`.git` is no repository, so git takes the root of the tree, a bare repository with a filter of its own."""
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]\n\tbare = false\n")
    git(root.parent, "init", "-q", "--bare", "bare")
    for name in ("HEAD", "objects", "refs"):
        shutil.move(root.parent / "bare" / name, root / name)
    (root / "config").write_text(
        f'[core]\n\trepositoryformatversion = 0\n\tbare = true\n[filter "x"]\n\tclean = "{command}; cat"\n'
    )
    (root / "info").mkdir()
    (root / "info/attributes").write_text("* filter=x\n")


def filtered(root: Path, command: str) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "as it was")
    (root / ".gitattributes").write_text("* filter=x diff=x\n")
    with (root / ".git/config").open("a") as file:
        file.write(f'[filter "x"]\n\tclean = "{command}; cat"\n[diff "x"]\n\ttextconv = "{command}; cat"\n')
        file.write(f'[core]\n\tfsmonitor = "{command}; false"\n\thooksPath = ../hooks\n')


def hooked(root: Path, command: str) -> None:
    git(root, "init", "-q")
    hooks = root / ".git/hooks"
    for name in ("pre-commit", "post-commit", "post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\n{command}\n")
        (hooks / name).chmod(0o755)


def elsewhere(root: Path, command: str) -> None:
    filtered(root, command)
    shutil.move(root / ".git", root / "common")
    (root / ".git").write_text("gitdir: common\n")


@pytest.mark.parametrize("prepare", [bare_root, filtered, hooked, elsewhere])
def test_no_git_of_a_repository_runs(repository: Path, tmp_path: Path, prepare: Callable[[Path, str], None]) -> None:
    mark = tmp_path / "mark"
    prepare(repository, f"id > {mark}")
    model = ScriptedModel([REPAIR, "Mended.", "Mended."])
    result = RepairAgent(model, repository, verify=["python", "check.py"], editable=["src/"]).run()
    assert result.ok and [commit.id for commit in result.commits] == ["1"]
    assert result.apply() == ["src/m.py"]
    assert not mark.exists()


# What is in the tree


def test_what_is_no_file_is_not_waited_for_and_a_sparse_one_refused_by_its_size(repository: Path) -> None:
    os.mkfifo(repository / "src/pipe")
    os.symlink("/dev/zero", repository / "src/zero")
    os.symlink("/proc/kmsg", repository / "src/kmsg")
    copy = WorkingCopy(repository, ["src"])
    assert copy.files() == ["check.py", "src/m.py"]
    assert [path for path, *_ in copy.visible()] == ["check.py", "src/m.py"]
    with (repository / "src/large").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(RepairError, match=r"src/large: the repository is larger than 256 MiB"):
        WorkingCopy(repository, ["src"])


def test_too_many_links_and_files_and_levels_are_refused(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "src/n.py").write_text("")
    for number in range(60):
        os.symlink("../src", repository / f"src/link{number}")
    monkeypatch.setattr(trees, "MAX_FILES", 100)
    with pytest.raises(RepairError, match="what links lead to"):
        list(WorkingCopy(repository, ["src"]).visible())
    monkeypatch.setattr(trees, "MAX_LINKS", 3)
    with pytest.raises(RepairError, match=r"src/link\d+: the repository has more than 3 links"):
        WorkingCopy(repository, ["src"])
    monkeypatch.undo()
    (repository / "/".join(["src", *"a" * 100])).mkdir(parents=True)
    with pytest.raises(RepairError, match="nested too deeply"):
        WorkingCopy(repository, ["src"])
    monkeypatch.setattr(trees, "MAX_FILES", 10)
    with pytest.raises(RepairError, match="too many files"):
        WorkingCopy(repository, ["src"])


def test_names_that_are_no_text_are_kept(repository: Path) -> None:
    for name in (b"caf\xe9.py", b"new\nline.py", b"\x1b[31m.py", "\u202eyp.x".encode()):
        Path(os.fsdecode(os.fsencode(repository / "src") + b"/" + name)).write_bytes(b"x = 1\n")
    model = ScriptedModel([code("print(list_files('src'))"), REPAIR, "Done.", "Done."])
    result = RepairAgent(model, repository, verify=["python", "check.py"], editable=["src/"]).run()
    assert result.ok
    assert "caf" in result.run.steps[0].observation and "\x1b" not in result.run.steps[0].observation


@pytest.mark.parametrize("name", ["src/a\nb.py", "src/\x1b[2J.py", "src/a\x00b.py", "src/\ud800.py", "src/\u202ea.py"])
def test_a_model_gives_no_name_that_a_terminal_would_obey(repository: Path, name: str) -> None:
    copy = WorkingCopy(repository, ["src"])
    with pytest.raises(RepairError):
        copy.write(name, "x = 1\n")
    assert copy.changed == []


# Back to the user's tree


def mended(repository: Path) -> WorkingCopy:
    copy = WorkingCopy(repository, ["src"])
    copy.write("src/m.py", MENDED)
    copy.write("src/new/x.py", "x = 1\n")
    copy.accept()
    return copy


def test_a_link_that_was_planted_meanwhile_is_not_written_through(repository: Path, tmp_path: Path) -> None:
    """In the place of a file, and in that of a directory."""
    copy, mine, there = mended(repository), tmp_path / "mine", tmp_path / "there"
    mine.write_text(BROKEN)
    there.mkdir()
    for place, target in (("src/m.py", mine), ("src/new", there)):
        (repository / "src/m.py").unlink()
        (repository / "src/m.py").write_text(BROKEN)
        (repository / place).unlink(missing_ok=True)
        (repository / place).symlink_to(target)
        with pytest.raises(RepairError, match="nothing was applied"):
            copy.apply()
        assert (mine.read_text(), list(there.iterdir())) == (BROKEN, [])
        assert (repository / "src/m.py").read_text() == BROKEN


def test_what_is_applied_runs_as_nobody_else_and_a_second_name_keeps_its_text(repository: Path, tmp_path: Path) -> None:
    (repository / "src/m.py").chmod(0o4755)
    copy = mended(repository)
    os.link(repository / "src/m.py", tmp_path / "mine")
    copy.apply()
    assert (repository / "src/new/x.py").exists()
    assert (tmp_path / "mine").read_text() == BROKEN
    assert (repository / "src/m.py").read_text() == MENDED
    assert (repository / "src/m.py").stat().st_mode & 0o7777 == 0o755


def test_what_a_person_is_shown_is_printable(repository: Path) -> None:
    (repository / "src/test_\x1b[2Jm.py").write_text("x = '\x1b]0;title\x07'\n")
    shown: list[str] = []

    def approval(action: str, diff: str) -> bool:
        shown.extend((action, diff))
        return True

    delete = "for path in list_files('src'):\n    if path != 'src/m.py':\n        delete_file(path)\n"
    mend = "replace_text('src/m.py', 'return 1', 'return 2  # \\u202e')\nverify('mend')"
    model = ScriptedModel([code(delete + mend), "Done.", "Done."])
    result = RepairAgent(model, repository, verify=["python", "check.py"], editable=["src/"], approval=approval).run()
    assert result.ok and shown and result.warnings
    assert not {"\x1b", "\x07", "\u202e"} & set("".join((*shown, *map(str, result.warnings))))
    assert "\u202e" in result.diff, "a diff is as it is, for programs"


def test_what_was_applied_is_not_applied_again(repository: Path) -> None:
    result = RepairAgent(ScriptedModel([REPAIR, "Done."]), repository, verify=["python", "check.py"]).run()
    assert result.apply() == ["src/m.py"] and (repository / "src/m.py").read_text() == MENDED
    with pytest.raises(RepairError, match="applied already"):
        result.apply()
    assert json.loads(json.dumps(result.to_dict()))["files"] == ["src/m.py"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_command_shows_asks_and_writes(
    repository: Path, monkeypatch: pytest.MonkeyPatch, called: Called, tmp_path: Path
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    with chat_server(*[Say(REPAIR), Say("Done.")] * 3) as server:
        words = ["repair", repository, "--check", f"{sys.executable} check.py", "--apply", "--server-url", server.url]
        for said, why in (("", "nobody is there to ask (--yes)"), ("maybe\n", "")):
            monkeypatch.setattr(sys, "stdin", Terminal(said) if said else io.StringIO("y\n"))
            told = called(*words)
            assert told.status == 0 and "+    return 2" in told.out and "editable: src" in told.out
            assert "nothing was written" in told.err and why in told.err
        assert (repository / "src/m.py").read_text() == BROKEN
        monkeypatch.setattr(sys, "stdin", Terminal("YES\n"))
        # What is wrong may stand anywhere among the options.
        assert called(*words, "mend m", "--json").status == 0
        assert "mend m" in str(server.requests[-1])
    assert (repository / "src/m.py").read_text() == MENDED


def test_a_command_with_an_open_quotation_is_refused(called: Called) -> None:
    told = called("repair", ".", "--check", "pytest -k 'two")
    assert told.status == 2 and "pytest -k 'two\": No closing quotation" in told.err
