"""The working copy of a repository: what the model sees and changes, while the original stays as it is.

Only files below the editable paths can be written. Links are never followed, `.git` cannot be named, and what was
changed is known exactly: the copy keeps the bytes of every touched file as they were at the start and at the last
commit.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from safeexec.agent.errors import RepairError
from safeexec.agent.repair.diffs import file_diff
from safeexec.agent.repair.texts import TextForm, form_of

LEFT_OUT = frozenset(
    {
        "__pycache__",
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
MAX_WRITTEN_BYTES = 32 << 20
MAX_WRITTEN_FILES = 1000


class WorkingCopy:
    """A copy of the directory `original` at `root`, with a memory of every file that was changed in it."""

    def __init__(self, original: Path, root: Path, editable: Iterable[str]) -> None:
        self.original = original
        self.root = root
        self.editable = tuple(plain_path(path) for path in editable)
        self._base: dict[str, bytes | None] = {}
        self._accepted: dict[str, bytes | None] = {}
        self._modes: dict[str, int | None] = {}
        self._sizes: dict[str, int] = {}
        if not self.editable:
            raise RepairError("editable names no path: then nothing could be repaired")
        _copy_tree(original, root)
        for path in self.editable:
            if path != "." and not (root / path).exists():
                raise RepairError(f"the editable path {path!r} is not in the repository {original}")

    # Reading

    def files(self) -> Iterator[str]:
        """Every regular file but those of version control, in order."""
        return (path for path, mode in self._entries() if stat.S_ISREG(mode))

    def visible(self) -> Iterator[tuple[str, Path]]:
        """Every regular file by its own path, and by the paths that links inside the tree give it."""
        files = list(self.files())
        yield from ((path, self.root / path) for path in files)
        inside = os.path.realpath(self.root)
        for link in [path for path, mode in self._entries() if stat.S_ISLNK(mode)]:
            target = os.path.relpath(os.path.realpath(self.root / link), inside)
            for path in files:
                if path == target or path.startswith(f"{target}/"):
                    yield link + path.removeprefix(target), self.root / path

    def _entries(self) -> Iterator[tuple[str, int]]:
        for directory, names, files in os.walk(self.root):
            names[:] = sorted(name for name in names if name not in LEFT_OUT and name != ".git")
            for name in sorted([*files, *(name for name in names if os.path.islink(os.path.join(directory, name)))]):
                path = Path(directory, name)
                yield path.relative_to(self.root).as_posix(), path.lstat().st_mode

    def read(self, path: str) -> str:
        """A file's text. Raises RepairError for what is missing, too large or no text."""
        data = self.read_bytes(path)
        if data is None and self._inside(path).is_dir():
            raise RepairError(f"{path}: is a directory")
        if data is None:
            raise RepairError(f"{path}: there is no such file.{self._similar(path)}")
        if len(data) > MAX_FILE_BYTES:
            raise RepairError(f"{path}: {len(data)} bytes are too many to read; search it instead")
        form = form_of(data)
        if form is None:
            raise RepairError(f"{path}: not a text file")
        return form.decode(data)

    def read_bytes(self, path: str) -> bytes | None:
        target = self._inside(path)
        try:
            return target.read_bytes() if target.is_file() else None
        except OSError as error:
            raise RepairError(f"{path}: {error.strerror}") from None

    def _similar(self, path: str) -> str:
        from difflib import get_close_matches

        name = PurePosixPath(path).name
        names = list(self.files())
        same = [known for known in names if PurePosixPath(known).name == name] or get_close_matches(path, names, 3, 0.6)
        return f" Did you mean {', '.join(same[:3])}?" if same else ""

    # Writing

    def write(self, path: str, text: str | None) -> None:
        """Give a file new text, or remove it (None)."""
        self.write_all({path: text})

    def preview(self, changes: Mapping[str, str | None]) -> str:
        """The diff that `write_all` would make. Raises RepairError for what may not be changed."""
        new = {plain_path(path): self._encoded(path, text) for path, text in changes.items()}
        return "".join(
            file_diff(path, self.read_bytes(path), data, executable=self.executable(path)) for path, data in new.items()
        )

    def write_all(self, changes: Mapping[str, str | None]) -> None:
        """Write or remove (None) several files, or none of them: raises RepairError where one may not or cannot be
        written.
        """
        new = {plain_path(path): self._encoded(path, text) for path, text in changes.items()}
        before = {path: self.read_bytes(path) for path in new}
        self._count(new)
        for path, data in before.items():
            if path not in self._base:
                self._base[path] = self._accepted[path] = data
                self._modes[path] = self._inside(path).stat().st_mode if data is not None else None
        try:
            for path, data in new.items():
                self._put(path, data)
        except OSError as error:
            for changed in [changed for changed in before if self.read_bytes(changed) != before[changed]]:
                self._put(changed, before[changed])
            raise RepairError(f"{path}: cannot be written: {error.strerror}") from None

    def _encoded(self, path: str, text: str | None) -> bytes | None:
        """New text in the form of the file that it goes to."""
        self.check_editable(path)
        if self._inside(path).is_dir():
            raise RepairError(f"{path}: is a directory")
        if text is None:
            return None
        form = form_of(self.read_bytes(path) or b"") or TextForm()
        try:
            return form.encode(text)
        except UnicodeEncodeError as error:
            missing = text[error.start : error.start + 1]
            raise RepairError(f"{path}: its encoding, {form.encoding}, has no character {missing!a}") from None

    def _count(self, new: Mapping[str, bytes | None]) -> None:
        """Raises RepairError where the model would fill the disk of the host."""
        sizes = {path: len(data or b"") for path, data in new.items()}
        for path, size in sizes.items():
            if size > MAX_FILE_BYTES:
                raise RepairError(f"{path}: {size} bytes are too many for one file; {MAX_FILE_BYTES} are allowed")
        sizes = {**self._sizes, **sizes}
        if len(sizes) > MAX_WRITTEN_FILES or sum(sizes.values()) > MAX_WRITTEN_BYTES:
            raise RepairError(
                f"a repair may write {MAX_WRITTEN_FILES} files and {MAX_WRITTEN_BYTES >> 20} MiB; this is more"
            )
        self._sizes = sizes

    def check_editable(self, path: str) -> None:
        """Raises RepairError for a path that may not be changed."""
        path = plain_path(path)
        if not any(base == "." or path == base or path.startswith(base + "/") for base in self.editable):
            raise RepairError(f"{path}: may not be changed; editable are {', '.join(self.editable)}")

    def _put(self, path: str, data: bytes | None) -> None:
        _put(self._inside(path), data, self._modes[path])

    def _inside(self, path: str) -> Path:
        target = self.root / plain_path(path)
        try:
            linked = any(place.is_symlink() for place in (target, *target.parents) if place != self.root)
        except OSError as error:
            raise RepairError(f"{path}: {error.strerror}") from None
        if linked:
            raise RepairError(f"{path}: a link; only files of the repository itself can be used, by their own paths")
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
            self._put(path, self._accepted[path])
            self._sizes[path] = 0
        return undone

    def was(self, path: str) -> bytes | None:
        """A changed file as it was in the original."""
        return self._base[path]

    def steps(self, paths: Iterable[str]) -> dict[str, tuple[bytes | None, bytes | None]]:
        """The changed files as they were at the last commit, and as they are."""
        return {path: (self._accepted[path], self.read_bytes(path)) for path in paths}

    def executable(self, path: str) -> bool:
        """Whether a file can be executed: that stays as it was."""
        if path in self._modes:
            return bool((self._modes[path] or 0) & 0o100)
        return os.access(self.root / path, os.X_OK)

    def diff(self, paths: Iterable[str] | None = None, *, since_commit: bool = False) -> str:
        """A unified diff against the original, or against the last commit."""
        before = self._accepted if since_commit else self._base
        known = self.pending if since_commit else self.changed
        wanted = known if paths is None else [path for path in known if path in set(paths)]
        return "".join(
            file_diff(path, before[path], self.read_bytes(path), executable=self.executable(path)) for path in wanted
        )

    def apply(self, paths: Iterable[str]) -> list[str]:
        """Write files as they were last committed to the original tree. Raises RepairError, and writes nothing, if one
        of them was changed there meanwhile or cannot be written.
        """
        wanted = list(paths)
        now = {path: self._original(path) for path in wanted}
        begun = []
        try:
            for path in wanted:
                if now[path] != self._accepted[path]:
                    begun.append(path)
                    _put(self.original / path, self._accepted[path], self._modes[path])
        except OSError as error:
            for path in begun:
                with contextlib.suppress(OSError):  # the last of them may be the one that cannot be written at all
                    _put(self.original / path, now[path], self._modes[path])
            raise RepairError(
                f"{begun[-1]}: cannot be written in {self.original}: {error.strerror}; nothing was applied"
            ) from error
        return wanted

    def _original(self, path: str) -> bytes | None:
        """What stands in the original now. Raises RepairError where that is neither what was copied nor what was
        committed.
        """
        target = self.original / path
        if os.path.realpath(target) != os.path.join(os.path.realpath(self.original), path):
            raise RepairError(f"{path}: a link now stands in its place in {self.original}; nothing was applied")
        now = target.read_bytes() if target.is_file() else None
        if target.is_dir() or now not in (self._base[path], self._accepted[path]):
            raise RepairError(f"{path}: was changed in {self.original} since the copy was made; nothing was applied")
        return now


def _put(target: Path, data: bytes | None, mode: int | None) -> None:
    """Write or remove a file. One that comes back gets the mode that it had."""
    if data is None:
        target.unlink(missing_ok=True)
        return
    comes_back = mode is not None and not target.exists()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    if comes_back and mode is not None:
        target.chmod(stat.S_IMODE(mode))


def plain_path(path: str) -> str:
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

    def left_out(directory: str, name: str) -> bool:
        place = os.path.join(directory, name)
        # A .git that is a file (worktree, submodule) or a link leads to the original: commits would go there.
        elsewhere = name == ".git" and (os.path.islink(place) or not os.path.isdir(place))
        return name in LEFT_OUT or elsewhere or os.path.lexists(os.path.join(place, "pyvenv.cfg"))

    def ignore(directory: str, names: list[str]) -> set[str]:
        return {name for name in names if left_out(directory, name)}

    try:
        shutil.copytree(original, root, symlinks=True, ignore=ignore, copy_function=copy)
    except shutil.Error as error:
        raise RepairError(f"{original}: cannot be copied: {error}") from error
