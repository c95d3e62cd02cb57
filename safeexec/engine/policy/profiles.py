"""Loads profiles, and remembers those that were loaded: a shipped one is prepared, another is read from its YAML."""

from __future__ import annotations

import os
import time

from safeexec.engine.policy import resolved
from safeexec.engine.policy.places import directories, find, shipped_directory, stem
from safeexec.engine.policy.settings import P, PolicyData

Stamp = tuple[str, int, int]
"""Path, mtime in nanoseconds, size."""

RACY = 100_000_000
"""Nanoseconds for which a file counts as being written: a second change may leave its time and size as they were."""

_loaded: dict[tuple[str, type[PolicyData]], tuple[tuple[Stamp, ...], PolicyData]] = {}
"""Path and class → the policy that was loaded from it, and what tells that none of its files has changed since and that
no file has come into a directory that is searched."""


def load(name: str | os.PathLike[str], make: type[P]) -> P:
    """The resolved policy of a name or path. Raises `PolicyError`."""
    path = find(name)
    policy = _cached(path, make)
    if policy is None:
        policy = _prepared(path, make)
        if policy is None:
            from safeexec.engine.policy.extends import read_profile  # with YAML 20 ms, which no shipped profile needs

            policy = read_profile(path, make)
        stamps = tuple(_stamp(file) for file in (*policy.files, *directories()) if os.path.exists(file))
        if time.time_ns() - max(stamp[1] for stamp in stamps) > RACY:
            _loaded[path, make] = stamps, policy
    return policy


def _prepared(path: str, make: type[P]) -> P | None:
    directory = os.path.dirname(path)
    if directory != shipped_directory():
        return None
    return resolved.lookup(directory, stem(path), make)


def _stamp(file: str) -> Stamp:
    status = os.stat(file)
    return file, status.st_mtime_ns, status.st_size


def _cached(path: str, make: type[P]) -> P | None:
    """A policy that was loaded before, if no file it came from has changed since."""
    stamps, policy = _loaded.get((path, make), ((), None))
    try:
        return policy if isinstance(policy, make) and all(_stamp(stamp[0]) == stamp for stamp in stamps) else None
    except OSError:
        return None


if __name__ == "__main__":
    from safeexec.engine.policy.extends import prepared

    with open(os.path.join(shipped_directory(), "resolved.json"), "w", encoding="utf-8") as written:
        written.write(prepared())
