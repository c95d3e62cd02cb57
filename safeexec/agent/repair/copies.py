"""The working copy of a repository: what the model sees and changes, while the original stays as it is.

Only files below the editable paths can be written. Links are never followed out of the copy, `.git` cannot be named,
and what was changed is known exactly: the copy keeps the bytes of every touched file as they were at the start and at
the last commit.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from safeexec.agent.errors import RepairError

LEFT_OUT = frozenset(
    {
        "__pycache__",
        ".venv",
        "venv",
        "node_modules",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".eggs",
    }
)
MAX_BYTES = 256 << 20
MAX_FILE_BYTES = 2 << 20


class WorkingCopy:
    """A copy of the directory `original` at `root`, with a memory of every file that was changed in it."""

    def __init__(self, original: Path, root: Path, editable: Iterable[str]) -> None:
        self.original = original
        self.root = root
        self.editable = tuple(_plain(path) for path in editable)
        self._base: dict[str, bytes | None] = {}
        self._accepted: dict[str, bytes | None] = {}
        _copy_tree(original, root)
        for path in self.editable:
            if path != "." and not (root / path).exists():
                raise RepairError(f"the editable path {path!r} is not in the repository {original}")

    # Reading

    def files(self) -> Iterator[str]:
        """Every regular file but those of version control, in order."""
        for directory, names, files in os.walk(self.root):
            names[:] = sorted(name for name in names if name not in LEFT_OUT and name != ".git")
            for name in sorted(files):
                path = Path(directory, name)
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path.relative_to(self.root).as_posix()

    def read(self, path: str) -> str:
        """A file's text. Raises RepairError for what is missing, too large or not UTF-8."""
        data = self.read_bytes(path)
        if data is None:
            raise RepairError(f"{path}: there is no such file.{self._similar(path)}")
        if len(data) > MAX_FILE_BYTES:
            raise RepairError(f"{path}: {len(data)} bytes are too many to read; search it instead")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise RepairError(f"{path}: not a text file (UTF-8)") from None

    def read_bytes(self, path: str) -> bytes | None:
        target = self._inside(path)
        return target.read_bytes() if target.is_file() else None

    def _similar(self, path: str) -> str:
        from difflib import get_close_matches

        name = PurePosixPath(path).name
        names = list(self.files())
        same = [known for known in names if PurePosixPath(known).name == name] or get_close_matches(path, names, 3, 0.6)
        return f" Did you mean {', '.join(same[:3])}?" if same else ""

    # Writing

    def write(self, path: str, text: str | None) -> None:
        """Give a file new text, or remove it (None). Raises RepairError outside the editable paths."""
        path = _plain(path)
        self.check_editable(path)
        target = self._inside(path)
        before = self.read_bytes(path)
        self._base.setdefault(path, before)
        self._accepted.setdefault(path, before)
        self._put(target, None if text is None else text.encode("utf-8"))

    def check_editable(self, path: str) -> None:
        """Raises RepairError for a path that may not be changed."""
        path = _plain(path)
        if not any(base == "." or path == base or path.startswith(base + "/") for base in self.editable):
            raise RepairError(f"{path}: may not be changed; editable are {', '.join(self.editable)}")

    def _put(self, target: Path, data: bytes | None) -> None:
        if data is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def _inside(self, path: str) -> Path:
        plain = _plain(path)
        target = self.root / plain
        if not target.resolve().is_relative_to(self.root.resolve()) or target.is_symlink():
            raise RepairError(f"{path}: a link; only files of the repository itself can be used")
        return target

    # What was changed

    @property
    def pending(self) -> list[str]:
        """Files that differ from the last commit."""
        return sorted(path for path, data in self._accepted.items() if self.read_bytes(path) != data)

    @property
    def changed(self) -> list[str]:
        """Files that differ from the original."""
        return sorted(path for path, data in self._base.items() if self.read_bytes(path) != data)

    def accept(self) -> None:
        """Take the files as they are for committed."""
        for path in self._accepted:
            self._accepted[path] = self.read_bytes(path)

    def roll_back(self) -> list[str]:
        """Undo everything since the last commit; the files concerned."""
        undone = self.pending
        for path in undone:
            self._put(self._inside(path), self._accepted[path])
        return undone

    def was(self, path: str) -> bytes | None:
        """A changed file as it was in the original."""
        return self._base[path]

    def diff(self, paths: Iterable[str] | None = None, *, since_commit: bool = False) -> str:
        """A unified diff against the original, or against the last commit."""
        before = self._accepted if since_commit else self._base
        known = self.pending if since_commit else self.changed
        wanted = known if paths is None else [path for path in known if path in set(paths)]
        return "".join(_diff(path, before[path], self.read_bytes(path)) for path in wanted)

    def apply(self, paths: Iterable[str]) -> list[str]:
        """Write the changed files to the original tree. Raises RepairError, and writes nothing, if one of them was
        changed there meanwhile.
        """
        wanted = list(paths)
        for path in wanted:
            target = self.original / path
            if not target.parent.resolve().is_relative_to(self.original.resolve()) or target.is_symlink():
                raise RepairError(f"{path}: a link now stands in its place in {self.original}; nothing was applied")
            now = target.read_bytes() if target.is_file() else None
            if now not in (self._base[path], self.read_bytes(path)):
                raise RepairError(
                    f"{path}: was changed in {self.original} since the copy was made; nothing was applied"
                )
        for path in wanted:
            self._put(self.original / path, self.read_bytes(path))
        return wanted


def _plain(path: str) -> str:
    """The path in one spelling. Raises RepairError for one that leaves the repository or names its version control."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise RepairError(
            f"{path!r}: not a path inside the repository; write it relative to the repository's root, as src/module.py"
        )
    if any(part.lower() == ".git" for part in pure.parts):
        raise RepairError(f"{path!r}: version control is not for editing")
    return str(pure)


def _copy_tree(original: Path, root: Path) -> None:
    if not original.is_dir():
        raise RepairError(f"{original}: not a directory")
    total = 0

    def copy(source: str, target: str) -> str:
        nonlocal total
        if not stat.S_ISREG(os.lstat(source).st_mode):
            return target  # sockets, FIFOs, devices: reading one could wait for ever
        total += os.path.getsize(source)
        if total > MAX_BYTES:
            raise RepairError(f"{original}: larger than {MAX_BYTES >> 20} MiB; name the part of it to repair")
        return shutil.copy2(source, target)

    def ignore(directory: str, names: list[str]) -> set[str]:
        left_out = {name for name in names if name in LEFT_OUT}
        # A .git that is a file (worktree, submodule) points back to the original: commits would go there.
        return left_out | {
            name for name in names if name == ".git" and not os.path.isdir(os.path.join(directory, name))
        }

    try:
        shutil.copytree(original, root, symlinks=True, ignore=ignore, copy_function=copy)
    except shutil.Error as error:
        raise RepairError(f"{original}: cannot be copied: {error}") from error


def _diff(path: str, before: bytes | None, after: bytes | None) -> str:
    from difflib import unified_diff

    old = (before or b"").decode("utf-8", "replace").splitlines(keepends=True)
    new = (after or b"").decode("utf-8", "replace").splitlines(keepends=True)
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    lines = unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
