"""The working copy of a repository: what the model sees and changes, while the original stays as it is.

It is held in memory: what was read at the start, what was accepted last, and what is there now. Only files below the
editable paths can be written. Links are never followed, version control is not part of it, and what was changed is
known exactly.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from safeexec.agent.errors import RepairError
from safeexec.agent.repair.diffs import file_diff
from safeexec.agent.repair.judges import held_out_paths, is_named, likely_code
from safeexec.agent.repair.texts import TextForm, form_of
from safeexec.agent.repair.tree import MAX_BYTES, plain_path, read_tree, with_links
from safeexec.common.matching import nearest
from safeexec.untrusted.below import opened, put_file, read_file, remove_file

MAX_FILE_BYTES = 2 << 20
MAX_WRITTEN_BYTES = 32 << 20
MAX_WRITTEN_FILES = 1000


class WorkingCopy:
    """A copy of the directory `original`. Without `editable`, the files that look like its code may be changed, but for
    those that the commands in `shown` name. Files that the commands in `held_out` name can be neither read nor written
    here. Raises RepairError for a directory that cannot be worked with, and for a held-out command that names no file
    of it.
    """

    def __init__(
        self,
        original: Path,
        editable: Iterable[str] | None = None,
        *,
        shown: Sequence[Sequence[str]] = (),
        held_out: Sequence[Sequence[str]] = (),
    ) -> None:
        tree = read_tree(original)
        self.original = original
        self._words = [word for command in shown for word in command]
        if editable is None:
            editable = [path for path in likely_code(tree.files) if not self.is_named(path)]
            problem = f"{original} has no package and no module that looks like its code: name what may be changed, as "
            problem += "editable=['lib/']"
        else:
            problem = "editable is empty: nothing may be changed"
        self.editable = tuple(map(plain_path, editable))
        if not self.editable:
            raise RepairError(problem)
        hidden = [self._named_by(command, tree.files) for command in held_out]
        self._hidden = {path: tree.files.pop(path) for path in set().union(*hidden)}
        self._links = tree.links
        self._modes = tree.modes
        self._closed = _parents(self._hidden) - _parents(tree.files)
        """Directories that hold nothing else: no file is added to them."""
        self._directories = tree.directories - self._closed
        self._base = tree.files
        self._accepted = dict(tree.files)
        self._now = dict(tree.files)
        known = self._now.keys() | self._all_directories()
        for path in self.editable:
            if path not in known:
                raise RepairError(f"the editable path {path!r} is not in the repository {original}")

    def _named_by(self, command: Sequence[str], paths: Collection[str]) -> list[str]:
        """Return the files that a held-out command names. Raises RepairError where there is none to hold out."""
        files = held_out_paths(paths, self.editable, command, self._words)
        if not files and "-c" not in command:
            raise RepairError(
                f"held_out: {shlex.join(command)} names no file of the repository, so that there is nothing to "
                "hide from the model: name the tests that it must not see"
            )
        return files

    # Reading

    def is_named(self, path: str) -> bool:
        """Return True if a command that is shown names the file, or its module."""
        return is_named(path, self._words)

    def files(self) -> list[str]:
        """Return every regular file, in order."""
        return sorted(self._now)

    def visible(self, *, hidden: bool = False) -> Iterator[tuple[str, bytes, int]]:
        """Yield path, bytes and permissions (as git has them) of every file, also by the paths that links inside the
        tree give it. `hidden`: with the files that nobody reads here.
        """
        files = {**self._now, **self._hidden} if hidden else self._now
        for path, own in with_links(files, self._links):
            yield path, files[own], 0o755 if self.executable(own) else 0o644

    def read(self, path: str) -> str:
        """Return a file's text. Raises RepairError for what is missing, too large or no text."""
        data = self.read_bytes(path)
        if data is None and plain_path(path) in self._all_directories():
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
        """Return a file's bytes; None where there is none. Raises RepairError for a link."""
        plain = plain_path(path)
        self._check_no_link(plain)
        return self._now.get(plain)

    def _check_no_link(self, path: str) -> None:
        if not self._links.keys().isdisjoint((path, *map(str, PurePosixPath(path).parents))):
            raise RepairError(f"{path}: a link; only files of the repository itself can be used, by their own paths")

    def _all_directories(self) -> set[str]:
        """Return the directories of the original, and those of new files."""
        return {".", *self._directories, *_parents(self._now.keys() - self._base.keys())}

    def _similar(self, path: str) -> str:
        name = PurePosixPath(path).name
        known = self.files()
        same = [other for other in known if PurePosixPath(other).name == name]
        if not same:
            names = {PurePosixPath(other).name: other for other in known}
            same = [names[other] for other in nearest(name, names, 3)]
        return f" Did you mean {', '.join(same[:3])}?" if same else ""

    # Writing

    def preview(self, path: str, text: str | None) -> str:
        """Return the diff that `write` would make. Raises RepairError for what may not be changed."""
        plain = self._check_writable(path)
        after = self._encoded(plain, text)
        return file_diff(plain, self._now.get(plain), after, executable=self.executable(plain))

    def write(self, path: str, text: str | None) -> None:
        """Give a file new text, or remove it (None). Raises RepairError for what may not be changed."""
        path = self._check_writable(path)
        data = self._encoded(path, text)
        after = {name: known for name, known in self._now.items() if name != path}
        if data is not None:
            after[path] = data
        written = {path for path in after if after[path] != self._base.get(path)}
        if len(written) > MAX_WRITTEN_FILES or sum(len(after[path]) for path in written) > MAX_WRITTEN_BYTES:
            raise RepairError(
                f"a repair may write {MAX_WRITTEN_FILES} files and {MAX_WRITTEN_BYTES >> 20} MiB; this is more"
            )
        self._now = after

    def _check_writable(self, path: str) -> str:
        """Return the path in one spelling. Raises RepairError for one that may not be changed, or cannot be."""
        path = plain_path(path)
        parents = [*map(str, PurePosixPath(path).parents)]
        if path in self._hidden or not self._closed.isdisjoint((path, *parents)):
            raise RepairError(f"{path}: may not be changed")
        if not any(base == "." or path == base or base in parents for base in self.editable):
            raise RepairError(f"{path}: may not be changed; editable are {', '.join(self.editable)}")
        if path not in self._now and (not path.isprintable() or len(path) > 1000):
            raise RepairError(f"{path[:200]!a}: no name for a new file: keep to letters, digits and punctuation")
        self._check_no_link(path)
        for above in parents:
            if above in self._now:
                raise RepairError(f"{path}: cannot be written: {above} is a file, not a directory")
        if path in self._all_directories():
            raise RepairError(f"{path}: is a directory")
        return path

    def _encoded(self, path: str, text: str | None) -> bytes | None:
        """Return new text in the form of the file that it goes to; None for one that is removed."""
        if text is None:
            return None
        form = form_of(self._now.get(path, b"")) or TextForm()
        try:
            data = form.encode(text)
        except UnicodeEncodeError as error:
            missing = text[error.start : error.start + 1]
            raise RepairError(f"{path}: its encoding, {form.encoding}, has no character {missing!a}") from None
        if len(data) > MAX_FILE_BYTES:
            raise RepairError(f"{path}: {len(data)} bytes are too many for one file; {MAX_FILE_BYTES} are allowed")
        return data

    # What was changed

    @property
    def pending(self) -> list[str]:
        """Files that differ from the last commit."""
        return _differing(self._accepted, self._now)

    @property
    def changed(self) -> list[str]:
        """Files that differ from the original."""
        return _differing(self._base, self._now)

    def accept(self) -> None:
        """Mark the files as they are now as committed."""
        self._accepted = dict(self._now)

    def roll_back(self) -> list[str]:
        """Undo everything since the last commit; return the paths of the files that it restored."""
        undone = self.pending
        self._now = dict(self._accepted)
        return undone

    def was(self, path: str) -> bytes | None:
        """Return a file as it was in the original."""
        return self._base.get(path)

    def executable(self, path: str) -> bool:
        """Return True for a file that can be executed: that stays as it was."""
        return bool(self._modes.get(path, 0) & 0o100)

    def diff(self, *, since_commit: bool = False) -> str:
        """Return a unified diff against the original, or against the last commit."""
        before = self._accepted if since_commit else self._base
        return "".join(
            file_diff(path, before.get(path), self._now.get(path), executable=self.executable(path))
            for path in _differing(before, self._now)
        )

    # Back to the original

    def apply(self) -> None:
        """Write the files that changed, as they were last committed, to the original tree. Raises RepairError, and
        writes nothing, if one of them was changed there meanwhile or cannot be written.

        A file is replaced and not written into: no link and no other name of it leads to what is written.
        """
        try:
            with opened(self.original) as top:
                now = {path: self._original(top, path) for path in self.changed}
                self._replace(top, {path: (before, self._accepted.get(path)) for path, before in now.items()})
        except OSError as error:
            raise RepairError(f"{self.original}: {error.strerror}; nothing was applied") from error

    def _replace(self, top: int, changes: Mapping[str, tuple[bytes | None, bytes | None]]) -> None:
        begun: list[str] = []
        try:
            for path, (before, after) in changes.items():
                if before != after:
                    begun.append(path)
                    self._put(top, path, after)
        except OSError as error:
            for path in begun:
                with contextlib.suppress(OSError):  # the last of them may be the one that cannot be written at all
                    self._put(top, path, changes[path][0])
            raise RepairError(
                f"{begun[-1]}: cannot be written in {self.original}: {error.strerror}; nothing was applied"
            ) from error

    def _put(self, top: int, path: str, data: bytes | None) -> None:
        if data is None:
            remove_file(top, path)
        else:
            put_file(top, path, data, mode=self._modes.get(path))

    def _original(self, top: int, path: str) -> bytes | None:
        """Return the bytes of a file in the original now. Raises RepairError where they are neither those that were
        copied nor those that were committed.
        """
        try:
            now: bytes | None = read_file(top, path, max_bytes=MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            now = None
        except OSError as error:
            raise RepairError(
                f"{path}: was changed in {self.original} since the copy was made, or is a link now "
                f"({error.strerror}); nothing was applied"
            ) from error
        if now not in (self._base.get(path), self._accepted.get(path)):
            raise RepairError(f"{path}: was changed in {self.original} since the copy was made; nothing was applied")
        return now


def _parents(paths: Iterable[str]) -> set[str]:
    return {str(above) for path in paths for above in PurePosixPath(path).parents}


def _differing(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
