"""Loads profiles, and remembers those that were loaded.

The shipped ones are resolved in advance, in `policies/resolved.json`: loading one needs no YAML then (importing PyYAML
alone takes 10 ms). That is used for a profile only while every file that it came from is unchanged; otherwise, as for
any other profile, the YAML is read. Write it with ``python -m safeexec.engine.policy.profiles``; a test shows that it
is current.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

import msgspec

from safeexec.engine.policy.places import directories, find, names, shipped_directory, stem
from safeexec.engine.policy.settings import P, PolicyData, plain

FILE = "resolved.json"
Stamp = tuple[str, int, int]
"""Path, mtime in nanoseconds, size."""

RACY = 100_000_000
"""Nanoseconds for which a file counts as being written: a second change may leave its time and size as they were."""

_loaded: dict[tuple[str, type[PolicyData]], tuple[tuple[Stamp, ...], PolicyData]] = {}
"""Path and class → the policy that was loaded from it, and marks that show that none of its files has changed since and
that no file was added to a searched directory."""


class Resolved(msgspec.Struct, frozen=True):
    """One profile: the checksums of its files, the most derived first, and the policy that they make."""

    files: dict[str, int]
    policy: msgspec.Raw


def load(name: str | os.PathLike[str], make: type[P]) -> P:
    """Return the resolved policy of a name or path. Raises `PolicyError`."""
    path = find(name)
    stamps, policy = _loaded.get((path, make), ((), None))
    try:  # what was loaded before, if no file it came from has changed since
        fresh = policy is not None and all(_stamp(stamp[0]) == stamp for stamp in stamps)
    except OSError:
        fresh = False
    if not isinstance(policy, make) or not fresh:
        directory = os.path.dirname(path)
        policy = resolved(directory, stem(path), make) if directory == shipped_directory() else None
        if policy is None:
            from safeexec.engine.policy.extends import read_profile  # with YAML 20 ms, which no shipped profile needs

            policy = read_profile(path, make)
        stamps = tuple(_stamp(file) for file in (*policy.files, *directories()) if os.path.exists(file))
        if time.time_ns() - max(stamp[1] for stamp in stamps) > RACY:
            _loaded[path, make] = stamps, policy
    return policy


def resolved(directory: str, name: str, make: type[P]) -> P | None:
    """Return the policy of a profile in `directory`, if it is resolved in advance and no file of it has changed."""
    try:
        entries = msgspec.json.decode(_contents(directory, FILE), type=dict[str, msgspec.Raw])
        entry = msgspec.json.decode(entries[name], type=Resolved)
        if any(crc32(_contents(directory, file)) != checksum for file, checksum in entry.files.items()):
            return None
        policy = msgspec.json.decode(entry.policy, type=make)
    except (OSError, KeyError, msgspec.DecodeError):
        return None
    return msgspec.structs.replace(policy, files=tuple(os.path.join(directory, file) for file in entry.files))


def _contents(directory: str, file: str) -> bytes:
    with open(os.path.join(directory, file), "rb") as opened:
        return opened.read()


def prepared() -> str:
    """Return the shipped profiles as `policies/resolved.json` holds them."""
    from safeexec.engine.policy.extends import read_profile  # with YAML, as above

    entries = {}
    for name, path in sorted(names(shipped=True).items(), key=lambda item: item[1]):
        policy = read_profile(path, PolicyData)
        files = {os.path.basename(file): crc32(_contents(*os.path.split(file))) for file in policy.files}
        bare = msgspec.json.encode(msgspec.structs.replace(policy, files=()), enc_hook=plain)
        entries[name] = Resolved(files, msgspec.Raw(bare))
    return msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n"


def _stamp(file: str) -> Stamp:
    status = os.stat(file)
    return file, status.st_mtime_ns, status.st_size


if __name__ == "__main__":
    with open(os.path.join(shipped_directory(), FILE), "w", encoding="utf-8") as written:
        written.write(prepared())
