"""Commit the files of a repair in the user's repository, without hooks, filters, or a setting of that repository.

No git of the repository runs. Trees are made by git in a confined session, in a repository of our own that reads
the objects of the original; blobs and the commit are made here; what comes back is trees whose names are checked.
References and the index are written as git does it, under its locks.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from safeexec import Policy, Sandbox, SandboxError, Session
from safeexec.agent.errors import RepairError
from safeexec.untrusted.below import directory_below, new_file, opened, read_file, remove_file

_ID = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*+(?>(?:/[A-Za-z0-9_][A-Za-z0-9._+-]*+)*)")
_MAX_REFERENCE = 4096
_MAX_PACKED = 16 << 20
_MAX_INDEX = 128 << 20
_MAX_TREE = 16 << 20
_SECONDS = 60.0
Change = tuple[bytes | None, bytes | None, int]
"""A file before and after, None where it is not there, and its permissions."""


@dataclass(frozen=True, slots=True)
class GitCommit:
    """A commit that was made: its id, the reference that names it, and what undoing it takes."""

    id: str
    parent: str
    reference: str
    changes: Mapping[str, Change] = field(repr=False)
    alone: bool = False
    """On a new branch, with index and files left as they are."""


def check_branch(name: str) -> str:
    """The name of a new branch. Raises RepairError for one that git, or a shell, could misread."""
    if (
        not _BRANCH.fullmatch(name)
        or ".." in name
        or name.endswith((".", ".lock"))
        or len(name) > 200
        or ".lock/" in name
    ):
        raise RepairError(f"branch: {name[:200]!a} is no plain name for a branch, as fix/discount is")
    return name


def commit(
    repository: Path, changes: Mapping[str, Change], *, message: str, author: str, branch: str | None = None
) -> GitCommit:
    """Commit the changes upon the commit that is checked out: on its branch, or on a new one alone, which leaves index
    and files as they are. Raises RepairError, and changes nothing, where that cannot be done.
    """
    if not re.fullmatch(r"[^<>\n\0]{1,200} <[^<>\n\0]{1,200}>", author):
        raise RepairError("author is written 'Name <name@example.org>'")
    try:
        with opened(repository) as top:
            head, parent = _head(top)
            reference = head if branch is None else f"refs/heads/{check_branch(branch)}"
            if branch is not None and _resolve(top, reference) is not None:
                raise RepairError(f"branch: there is a branch {branch!r} already")
            index = read_file(top, ".git/index", max_bytes=_MAX_INDEX) if branch is None else None
            with _session(top, repository) as session:
                _check_unchanged(session, parent, changes)
                tree, objects = _tree(session, changes)
                staged = _staged(session, index, changes) if index is not None else None
            made = _commit_object(tree, parent, message, author)
            for name, data in (*objects.items(), *map(_named, [made, *_blobs(changes)])):
                _put_object(top, name, data)
            done = GitCommit(_named(made)[0], parent, reference, dict(changes), alone=branch is not None)
            if index is None or staged is None:
                _move(top, reference, None, done.id)
                return done
            with _new_index(top, index, staged):
                _move(top, reference, parent, done.id)
            return done
    except RepairError:
        raise
    except (OSError, SandboxError, zlib.error) as error:
        raise RepairError(f"{repository}: no commit was made: {error}") from error


def take_back(repository: Path, done: GitCommit) -> None:
    """Undo a commit that is still the newest of its reference. Raises RepairError where it is not."""
    try:
        with opened(repository) as top:
            if done.alone:
                _remove(top, done.reference, done.id)
                return
            index = read_file(top, ".git/index", max_bytes=_MAX_INDEX)
            with _session(top, repository) as session:
                staged = _staged(session, index, {path: (b, a, mode) for path, (a, b, mode) in done.changes.items()})
            with _new_index(top, index, staged):
                _move(top, done.reference, done.id, done.parent)
    except RepairError:
        raise
    except (OSError, SandboxError) as error:
        raise RepairError(f"{repository}: the commit could not be taken back: {error}") from error


# References


def _head(top: int) -> tuple[str, str]:
    """The branch that is checked out, and its commit."""
    try:
        text = read_file(top, ".git/HEAD", max_bytes=_MAX_REFERENCE).decode("ascii", "replace").strip()
    except OSError as error:
        raise RepairError(
            f"no commit was made: .git is no directory of a repository ({error.strerror}); of a linked worktree or a "
            "submodule apply the files alone, and commit them yourself"
        ) from error
    reference = text.removeprefix("ref: ")
    if not reference.startswith("refs/heads/") or not _BRANCH.fullmatch(reference):
        raise RepairError("no commit was made: no branch of a plain name is checked out")
    found = _resolve(top, reference)
    if found is None:
        raise RepairError(f"no commit was made: {reference} has no commit yet that could be read")
    return reference, found


def _resolve(top: int, reference: str) -> str | None:
    """The commit of a reference, loose or packed; None where there is none."""
    with suppress(FileNotFoundError, NotADirectoryError):
        text = read_file(top, f".git/{reference}", max_bytes=_MAX_REFERENCE).decode("ascii", "replace").strip()
        if not _ID.fullmatch(text):
            raise RepairError(f"no commit was made: {reference} is no plain reference to a commit")
        return text
    with suppress(FileNotFoundError):
        for line in read_file(top, ".git/packed-refs", max_bytes=_MAX_PACKED).split(b"\n"):
            name, _, rest = line.partition(b" ")
            if rest == reference.encode() and _ID.fullmatch(name.decode("ascii", "replace")):
                return name.decode()
    return None


def _move(top: int, reference: str, old: str | None, new: str) -> None:
    """Let a reference name another commit, under git's lock. Raises RepairError if it does not name `old` any more."""
    lock = f".git/{reference}.lock"
    _locked(top, lock, f"{new}\n".encode())
    try:
        if _resolve(top, reference) != old:
            raise RepairError(f"no commit was made: {reference} has changed meanwhile")
        _rename(top, lock, f".git/{reference}")
    except BaseException:
        remove_file(top, lock)
        raise


def _remove(top: int, reference: str, old: str) -> None:
    """Remove a branch, under git's lock. Raises RepairError if it does not name `old` any more, or stays: git has
    packed it.
    """
    lock = f".git/{reference}.lock"
    _locked(top, lock, b"")
    try:
        if _resolve(top, reference) != old:
            raise RepairError(f"{reference} has gone on since: remove the branch yourself")
        remove_file(top, f".git/{reference}")
        if _resolve(top, reference) is not None:
            raise RepairError(f"git has packed {reference} meanwhile: remove the branch yourself")
    finally:
        remove_file(top, lock)


@contextmanager
def _new_index(top: int, old: bytes, new: bytes) -> Iterator[None]:
    """Put an index in place of the old one once what is done inside has been done. Git's lock is held around both, so
    that nothing is done where git is at work. Raises RepairError if the index is not the old one any more.
    """
    lock = ".git/index.lock"
    _locked(top, lock, new)
    try:
        if read_file(top, ".git/index", max_bytes=_MAX_INDEX) != old:
            raise RepairError("no commit was made: the index of git has changed meanwhile")
        yield
        _rename(top, lock, ".git/index")
    except BaseException:
        remove_file(top, lock)
        raise


def _locked(top: int, path: str, data: bytes) -> None:
    try:
        new_file(top, path, data)
    except FileExistsError:
        raise RepairError(f"no commit was made: {path} is there, so git is at work in the repository") from None


def _rename(top: int, old: str, new: str) -> None:
    with directory_below(top, str(PurePosixPath(new).parent)) as directory:
        names = PurePosixPath(old).name, PurePosixPath(new).name
        os.rename(*names, src_dir_fd=directory, dst_dir_fd=directory)


# Objects


def _object(kind: str, content: bytes) -> bytes:
    return f"{kind} {len(content)}\0".encode() + content


def _named(made: bytes) -> tuple[str, bytes]:
    """An object by its name, which is a hash of what it says."""
    return hashlib.sha1(made, usedforsecurity=False).hexdigest(), zlib.compress(made)


def _blobs(changes: Mapping[str, Change]) -> list[bytes]:
    return [_object("blob", after) for _, after, _ in changes.values() if after is not None]


def _put_object(top: int, name: str, data: bytes) -> None:
    with suppress(FileExistsError):
        new_file(top, f".git/objects/{name[:2]}/{name[2:]}", data, mode=0o444)


def _commit_object(tree: str, parent: str, message: str, author: str) -> bytes:
    at = f"{author} {int(time.time())} +0000"
    text = f"tree {tree}\nparent {parent}\nauthor {at}\ncommitter {at}\n\n{message.strip()}\n"
    return _object("commit", text.encode("utf-8", "replace"))


# Git in a session of its own


@contextmanager
def _session(top: int, repository: Path) -> Iterator[Session]:
    """A session with an empty repository that reads the objects of the original, and git as its only program.

    OSError where the objects are a link: git would read where it leads.
    """
    with directory_below(top, ".git/objects"):
        objects = repository / ".git" / "objects"
    policy = Policy.load("confined-python").replace(
        checkpoints="off",
        danger_allow_commands=["git"],
        filesystem={"read": [str(objects)]},
        limits={"workspace_files": 100_000},
    )
    with Sandbox(policy, spare=0) as sandbox, sandbox.session() as session:
        for name in ("own", "staged"):
            session.write_file(f"{name}/HEAD", b"ref: refs/heads/none\n")
            session.write_file(f"{name}/config", b"[core]\n\trepositoryformatversion = 0\n")
            session.write_file(f"{name}/refs/heads/.none", b"")
            session.write_file(f"{name}/objects/info/alternates", f"{objects}\n".encode())
        yield session


def _git(session: Session, *words: str, directory: str = "own") -> str:
    done = session.command(
        ["git", f"--git-dir={directory}", "--work-tree=.", "--literal-pathspecs", *words], timeout=_SECONDS
    )
    if not done.ok:
        raise RepairError(f"no commit was made: git {words[0]}: {(done.stderr or done.message).strip()[:500]}")
    return done.stdout


def _check_unchanged(session: Session, parent: str, changes: Mapping[str, Change]) -> None:
    """Read the commit. Raises RepairError where a file was not in it as the repair began with it."""
    _git(session, "read-tree", parent)
    listed = _git(session, "ls-files", "-s", "-z", "--", *changes)
    known = {path: fields.split()[1:2] for fields, _, path in (line.partition("\t") for line in listed.split("\0"))}
    for path, (before, _, _) in changes.items():
        was = [_named(_object("blob", before))[0]] if before is not None else []
        if known.get(path, []) != was:
            raise RepairError(
                f"no commit was made: {path} was not in the last commit as the repair began with it; commit or stash "
                "your own changes first"
            )


def _tree(session: Session, changes: Mapping[str, Change]) -> tuple[str, dict[str, bytes]]:
    """The tree with the changes, and the objects that it needs and the original has not."""
    _stage(session, changes, "own")
    tree = _git(session, "write-tree", "--missing-ok").strip()
    found: dict[str, bytes] = {}
    for path in session.list_files():
        match = re.fullmatch(r"own/objects/([0-9a-f]{2})/([0-9a-f]{38})", path)
        if match:
            found[match[1] + match[2]] = _checked(match[1] + match[2], session.read_file(path))
    if not _ID.fullmatch(tree):
        raise RepairError("no commit was made: git named no tree")
    return tree, found


def _checked(name: str, data: bytes) -> bytes:
    """An object as it may be stored. Raises RepairError for what is no tree, or not the one of this name."""
    made = zlib.decompressobj().decompress(data, _MAX_TREE)
    if not made.startswith(b"tree ") or _named(made)[0] != name:
        raise RepairError("no commit was made: git wrote something else than trees")
    return zlib.compress(made)


def _staged(session: Session, index: bytes, changes: Mapping[str, Change]) -> bytes:
    """The user's index with the changes in it."""
    session.write_file("staged/index", index)
    _stage(session, changes, "staged")
    return session.read_file("staged/index")


def _stage(session: Session, changes: Mapping[str, Change], directory: str) -> None:
    words: list[str] = []
    gone: Sequence[str] = [path for path, (_, after, _) in changes.items() if after is None]
    for path, (_, after, mode) in changes.items():
        if after is not None:
            kind = "100755" if mode & 0o100 else "100644"
            words += ["--cacheinfo", f"{kind},{_named(_object('blob', after))[0]},{path}"]
    _git(
        session,
        "update-index",
        "--add",
        *words,
        *(["--force-remove", "--", *gone] if gone else []),
        directory=directory,
    )
