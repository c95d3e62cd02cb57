"""The shipped profiles, resolved in advance: loading one then needs no YAML (importing PyYAML alone takes 10 ms).

`policies/resolved.json` is used for a profile only while every file that it came from is unchanged; otherwise the YAML
is read. Write it with ``python -m safeexec.policy.resolved``; a test shows that it is current.
"""

from __future__ import annotations

import os
from binascii import crc32

import msgspec

from safeexec.policy.model import Policy

FILE = "resolved.json"


class Resolved(msgspec.Struct, frozen=True):
    """One profile: the checksums of its files, the most derived first, and the policy that they make."""

    files: dict[str, int]
    policy: Policy


def lookup(directory: str, name: str) -> Policy | None:
    """The policy of the profile `name` in `directory`, if it was resolved in advance and none of its files has changed
    since.
    """
    try:
        entries = msgspec.json.decode(_contents(directory, FILE), type=dict[str, msgspec.Raw])
        resolved = msgspec.json.decode(entries[name], type=Resolved)
        if any(crc32(_contents(directory, file)) != checksum for file, checksum in resolved.files.items()):
            return None
    except (OSError, KeyError, msgspec.DecodeError):
        return None
    files = tuple(os.path.join(directory, file) for file in resolved.files)
    return msgspec.structs.replace(resolved.policy, files=files)


def _contents(directory: str, file: str) -> bytes:
    with open(os.path.join(directory, file), "rb") as opened:
        return opened.read()


def text() -> str:
    """The file as it is shipped, from the YAML."""
    from safeexec.policy.model import plain
    from safeexec.policy.profiles import read_profile, shipped_directory

    directory = shipped_directory()
    entries = {}
    for profile in sorted(file for file in os.listdir(directory) if file.endswith(".yaml")):
        policy = read_profile(os.path.join(directory, profile))
        files = {os.path.basename(file): crc32(_contents(*os.path.split(file))) for file in policy.files}
        entries[profile.removesuffix(".yaml")] = Resolved(files, msgspec.structs.replace(policy, files=()))
    return msgspec.json.format(msgspec.json.encode(entries, enc_hook=plain), indent=1).decode() + "\n"


if __name__ == "__main__":
    from safeexec.policy.profiles import shipped_directory

    with open(os.path.join(shipped_directory(), FILE), "w", encoding="utf-8") as written:
        written.write(text())
