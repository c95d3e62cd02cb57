"""A repository as it was read: its regular files, its links as text, its directories. Version control is left out, and
no program of it ever runs here.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from safeexec.agent.errors import RepairError
from safeexec.untrusted.below import MAX_DEPTH, Found, directory_below, opened, read_file, walk

_CACHES = (".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis")
LEFT_OUT = frozenset({"__pycache__", "node_modules", ".tox", ".nox", ".eggs", *_CACHES})
MAX_BYTES = 256 << 20
MAX_FILES = 50_000
MAX_LINKS = 2_000
"""Each is followed for every verification, in up to 0.25 ms."""
_MAX_PARTS = 200


@dataclass(slots=True)
class Tree:
    """Paths are relative with ``/``. `modes` are permissions; a file without one gets what the umask leaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    """Links and their targets, which may be anywhere."""
    directories: set[str] = field(default_factory=set)


def read_tree(directory: Path) -> Tree:
    """Return the tree of a directory. Raises RepairError for one that cannot be read, or that is too large."""
    tree, size = Tree(), 0
    if not directory.is_dir():
        raise RepairError(f"{directory}: not a directory")
    try:
        with opened(directory) as top:
            for found in walk(top, max_entries=MAX_FILES, leave_out=_left_out):
                size += _take(tree, found, MAX_BYTES - size)
    except OSError as error:
        place = f"{directory}/{error.filename}" if isinstance(error.filename, str) else str(directory)
        raise RepairError(f"{place}: cannot be copied: {error.strerror}") from error
    return tree


def _take(tree: Tree, found: Found, room: int) -> int:
    """Add an entry; the bytes that it takes. FIFOs, sockets and devices are no part of a repository."""
    path = found.path
    if stat.S_ISDIR(found.mode):
        tree.directories.add(path)
    elif stat.S_ISLNK(found.mode):
        if len(tree.links) == MAX_LINKS:
            raise RepairError(f"{path}: the repository has more than {MAX_LINKS:,} links; name the part to repair")
        tree.links[path] = os.readlink(found.name, dir_fd=found.directory)
    elif stat.S_ISREG(found.mode):
        if found.size > room:
            raise RepairError(f"{path}: the repository is larger than {MAX_BYTES >> 20} MiB; name the part to repair")
        data = read_file(found.directory, found.name, max_bytes=room)
        tree.files[path] = data
        tree.modes[path] = found.mode & 0o777  # no setuid: the content will be a model's
        return len(data)
    return 0


def is_version_control(name: str) -> bool:
    """Return True if a file or a directory is git's own, as any file system spells it."""
    return name.lower() == ".git"


def _left_out(directory: int, name: str) -> bool:
    if name in LEFT_OUT or is_version_control(name):
        return True
    try:
        with directory_below(directory, name) as inner:
            os.lstat("pyvenv.cfg", dir_fd=inner)
    except OSError:
        return False
    return True


def with_links(files: Mapping[str, bytes], links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each file by its own path, and by the paths that links inside the tree give it: (path, path of the file).

    Raises RepairError where links multiply the tree past what a tree may hold.
    """
    names = sorted(files)
    count, size = len(names), sum(map(len, files.values()))
    yield from ((name, name) for name in names)
    for link in sorted(links):
        target = _resolve(link, links)
        if target is None:
            continue
        for name in _at_or_below(names, target):
            count, size = count + 1, size + len(files[name])
            if count > MAX_FILES or size > MAX_BYTES:
                raise RepairError(f"{link}: with what links lead to, the repository is too large; name a part of it")
            yield link + name[len(target) :], name


def _at_or_below(names: list[str], target: str) -> Iterator[str]:
    start = bisect_left(names, target)
    if names[start : start + 1] == [target]:
        yield target
    prefix = f"{target}/" if target else ""
    for position in range(bisect_left(names, prefix), len(names)):
        if not names[position].startswith(prefix):
            return
        yield names[position]


def _resolve(link: str, links: Mapping[str, str]) -> str | None:
    """Return the target of a link, links on the way followed; None where that is outside the tree, or nowhere."""
    done: list[str] = []
    ahead = link.split("/")[::-1]
    for _ in range(_MAX_PARTS):
        if not ahead:
            return "/".join(done)
        part = ahead.pop()
        if part not in ("", ".", ".."):
            done.append(part)
            if (said := links.get("/".join(done))) is None:
                continue
            if said.startswith("/"):
                return None
            ahead += said.split("/")[::-1]
        elif part != "..":
            continue
        if not done:
            return None
        done.pop()
    return None


def plain_path(path: str) -> str:
    """Return the path in one spelling. Raises RepairError where it leaves the repository or is version control's."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or len(path) > 4096:
        raise RepairError(
            f"{path[:200]!r}: not a path inside the repository; write it relative to the repository's root, as "
            "src/module.py"
        )
    if len(pure.parts) > MAX_DEPTH + 1:  # the parents of a path of 2,000 parts take 24 ms at each use
        raise RepairError(f"{path[:200]!r}: nested too deeply; a path has at most {MAX_DEPTH} directories")
    if any(map(is_version_control, pure.parts)):
        raise RepairError(f"{path!r}: version control is not for editing")
    return str(pure)
