"""The shipped profiles, resolved in advance: loading one then needs no YAML (importing PyYAML alone takes 10 ms).

`policies/resolved.json` is used for a profile only while every file that it came from is unchanged; otherwise the YAML
is read. Write it with ``python -m safeexec.engine.policy.profiles``; a test shows that it is current.
"""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Callable

import msgspec

from safeexec.engine.policy.settings import P, PolicyData, plain

FILE = "resolved.json"


class Resolved(msgspec.Struct, frozen=True):
    """One profile: the checksums of its files, the most derived first, and the policy that they make."""

    files: dict[str, int]
    policy: msgspec.Raw


def lookup(directory: str, name: str, make: type[P]) -> P | None:
    """The policy of the profile `name` in `directory`, if it is resolved in advance and no file of it has changed."""
    try:
        entries = msgspec.json.decode(_contents(directory, FILE), type=dict[str, msgspec.Raw])
        resolved = msgspec.json.decode(entries[name], type=Resolved)
        if any(crc32(_contents(directory, file)) != checksum for file, checksum in resolved.files.items()):
            return None
        policy = msgspec.json.decode(resolved.policy, type=make)
    except (OSError, KeyError, msgspec.DecodeError):
        return None
    files = tuple(os.path.join(directory, file) for file in resolved.files)
    return msgspec.structs.replace(policy, files=files)


def _contents(directory: str, file: str) -> bytes:
    with open(os.path.join(directory, file), "rb") as opened:
        return opened.read()


def text(directory: str, read: Callable[[str], PolicyData]) -> str:
    """The file as it is shipped, from the YAML in `directory`, each file of which `read` reads."""
    entries = {}
    for profile in sorted(file for file in os.listdir(directory) if file.endswith(".yaml")):
        policy = read(os.path.join(directory, profile))
        files = {os.path.basename(file): crc32(_contents(*os.path.split(file))) for file in policy.files}
        bare = msgspec.json.encode(msgspec.structs.replace(policy, files=()), enc_hook=plain)
        entries[profile.removesuffix(".yaml")] = Resolved(files, msgspec.Raw(bare))
    return msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n"
