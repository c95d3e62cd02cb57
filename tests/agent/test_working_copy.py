"""The working copy: what stays as it was, what cannot be written, and diffs that real programs apply."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from safeexec.agent import RepairError
from safeexec.agent.repair import copies
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.diffs import file_diff
from safeexec.untrusted.below import MAX_DEPTH


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/code.py").write_text("a = 1\nb = 2\n")
    return root


def opened(project: Path) -> WorkingCopy:
    return WorkingCopy(project, ["src"])


FORMS = {
    "crlf": b"a = 1\r\nb = 2\r\n",
    "byte order mark": b"\xef\xbb\xbfa = 1\nb = 2\n",
    "latin-1": "# -*- coding: latin-1 -*-\na = 'ü'\nb = 2\n".encode("latin-1"),
    "undeclared": b"# \xfc\x81\na = 1\nb = 2\n",
    "mixed line ends": b"a = 1\r\n\nb = 2\n",
    "no end": b"a = 1\nb = 2",
    "other line separators": "a = 1\x0c\x85\u2028\nb = 2\n".encode(),
}


@pytest.mark.parametrize("before", FORMS.values(), ids=FORMS)
def test_all_but_the_edited_passage_stays_byte_for_byte(project: Path, before: bytes) -> None:
    (project / "src/code.py").write_bytes(before)
    copy = opened(project)
    text = copy.read("src/code.py")
    assert not text.startswith("\ufeff")
    copy.write("src/code.py", text.replace("b = 2", "b = 3\nc = 4"))
    end = b"\r\n" if b"\r\n" in before and b"\n\n" not in before else b"\n"
    assert copy.read_bytes("src/code.py") == before.replace(b"b = 2", b"b = 3" + end + b"c = 4")


def test_a_character_that_the_encoding_has_not_is_named(project: Path) -> None:
    (project / "src/code.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xfc\n")
    copy = opened(project)
    with pytest.raises(RepairError, match=r"latin_1.*'\\u20ac'"):
        copy.write("src/code.py", "\u20ac")
    (project / "src/code.py").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(RepairError, match="not a text file"):
        opened(project).read("src/code.py")


def test_a_file_is_no_directory_and_a_directory_none_when_its_files_are_gone(project: Path) -> None:
    copy = opened(project)
    with pytest.raises(RepairError, match=r"src/code\.py/x\.py: cannot be written"):
        copy.write("src/code.py/x.py", "a file is no directory")
    assert copy.pending == []
    copy = opened(project)
    copy.write("src/new/inner/x.py", "x\n")
    for directory in (".", "src", "src/new", "src/new/inner/"):
        with pytest.raises(RepairError, match="is a directory"):
            copy.read(directory)
    with pytest.raises(RepairError, match="is a directory"):
        copy.write("src/new/inner", "x\n")
    copy.roll_back()
    with pytest.raises(RepairError, match="no such file"):
        copy.read("src/new")
    copy.write("src/new", "x\n")


def test_a_model_cannot_fill_the_disk(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = opened(project)
    with pytest.raises(RepairError, match="too many for one file"):
        copy.write("src/code.py", "x" * (copies.MAX_FILE_BYTES + 1))
    monkeypatch.setattr(copies, "MAX_WRITTEN_FILES", 3)
    for n in range(3):
        copy.write(f"src/{n}.py", "x")
    with pytest.raises(RepairError, match="this is more"):
        copy.write("src/3.py", "x")
    monkeypatch.setattr(copies, "MAX_WRITTEN_BYTES", 10)
    with pytest.raises(RepairError, match="this is more"):
        copy.write("src/0.py", "x" * 9)


def test_a_path_is_no_deeper_than_a_repository(project: Path) -> None:
    copy = opened(project)
    deepest = "src/" + "a/" * (MAX_DEPTH - 1) + "x.py"
    copy.write(deepest, "x\n")
    copy.accept()
    copy.apply()
    assert opened(project).read(deepest) == "x\n"
    deeper = f"src/a/{deepest.removeprefix('src/')}"
    for act in (copy.read, copy.read_bytes, lambda path: copy.preview(path, "x"), lambda path: copy.write(path, "x")):
        with pytest.raises(RepairError, match="nested too deeply"):
            act(deeper)


@pytest.mark.parametrize("place", ["src2/x.py", "src/", "SRC/x.py", "src/../x.py", "/src/x.py", ".git/x", "src/.GIT/x"])
def test_what_is_not_below_the_editable_path_is_refused(project: Path, place: str) -> None:
    (project / "src2").mkdir()
    with pytest.raises(RepairError):
        opened(project).write(place, "x")


def test_version_control_and_a_virtual_environment_are_left_out(project: Path) -> None:
    (project / ".GIT").write_text("not a repository")
    (project / "src" / ".Git").mkdir()
    (project / "src" / ".Git" / "x.py").write_text("x = 1")
    assert [path for path in opened(project).files() if ".git" in path.lower()] == []
    for name in ("src/venv", "env"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("")
    (project / "env/pyvenv.cfg").write_text("")
    assert list(opened(project).files()) == ["src/code.py", "src/venv/__init__.py"]


def test_links_inside_the_tree_do_not_widen_what_can_be_written(project: Path) -> None:
    (project / "lib").mkdir()
    (project / ".git").mkdir()
    (project / ".git/config").write_text("[core]\n")
    (project / "src/lib").symlink_to("../lib")
    (project / "src/git").symlink_to("../.git")
    (project / "src/loop").symlink_to("loop")
    copy = opened(project)
    for path in ("src/lib/x.py", "src/git/config", "src/loop"):
        with pytest.raises(RepairError, match="a link"):
            copy.write(path, "x")
        with pytest.raises(RepairError, match="a link"):
            copy.read(path)


def test_what_links_lead_to_is_there_for_the_verification(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (project / "data").mkdir()
    (project / "data/rates").write_text("1")
    (project / "src/data").symlink_to("../data")
    (project / "src/rates").symlink_to("../data/rates")
    (project / "src/out").symlink_to(tmp_path / "secret")
    (project / "src/up").symlink_to("../../secret")
    assert [path for path, *_ in opened(project).visible()] == [
        "data/rates", "src/code.py", "src/data/rates", "src/rates",
    ]  # fmt: skip


def contents(choice: random.Random) -> Iterator[tuple[bytes | None, bytes | None]]:
    lines = [b"a\n", b"b\n", b"\r\n", b"c\r\n", b"\x0c\n", b"x\x85y\n", b"\xe2\x80\xa8\n", b"\xff\n"]
    lines += [b"-- x\n", b"++ y\n"]
    while True:
        before = b"".join(choice.choices(lines, k=choice.randrange(30)))
        after = b"".join(line for line in before.splitlines(keepends=True) if choice.random() < 0.9)
        after += choice.choice([b"", b"z\n", b"z"])
        yield (before, after) if choice.random() < 0.7 else choice.choice([(None, after), (before, None)])


PROGRAMS = [("git", "apply", "--whitespace=nowarn"), ("patch", "-p1", "-s", "-N", "--binary")]


@pytest.mark.parametrize("program", [program for program in PROGRAMS if shutil.which(program[0])])
def test_diffs_are_such_that_other_programs_apply_them(program: tuple[str, ...], tmp_path: Path) -> None:
    names = ["a.py", "é.py", "new\nline.py", 'q"uote.py', "back\\slash.py", "caf\udce9.py", "a b.py"]
    choice = random.Random(1)
    pairs = contents(choice)
    for number in range(25):
        root = tmp_path / str(number)
        root.mkdir()
        wanted, diff = {}, ""
        for name in names:
            before, after = next(pairs)
            if " " in name and not (before and after):
                continue  # `patch` itself cannot read the name of an empty file with a blank
            if before is not None:
                (root / name).write_bytes(before)
            diff += file_diff(name, before, after)
            wanted[name] = after
        subprocess.run(program, cwd=root, input=os.fsencode(diff), check=True, capture_output=True)
        assert {name: (root / name).read_bytes() for name in wanted if (root / name).exists()} == {
            name: after for name, after in wanted.items() if after is not None
        }


def test_a_diff_of_lines_that_repeat_takes_no_quadratic_time() -> None:
    before = b"".join(b"%d\n" % (n % 150) for n in range(60_000))
    after = b"".join(b"%d\n" % (n % 151) for n in range(60_000))
    assert file_diff("x", before, after).count("\n@@ ") == 1, "no line has one partner"
    choice = random.Random(1)
    before, after = (b"".join(choice.choices([b"a\n", b"b\n"], k=60_000)) for _ in range(2))
    assert file_diff("x", before, after).count("\n@@ ") == 1
