"""The shipped profiles, resolved in advance: loading one then needs no YAML (importing PyYAML alone takes 10 ms).

`policies/resolved.json` is used for a profile only while every file that it came from is unchanged; otherwise the YAML
is read. Write it with ``python -m safeexec.policy.resolved``; a test shows that it is current.
"""

from __future__ import annotations

from binascii import crc32
from pathlib import Path

import msgspec

from safeexec.policy.model import Policy

FILE = "resolved.json"


class Resolved(msgspec.Struct, frozen=True):
    """One profile: the checksums of its files, the most derived first, and the policy that they make."""

    files: dict[str, int]
    policy: Policy


def lookup(path: Path) -> Policy | None:
    """The policy of the profile at `path`, if it was resolved in advance and none of its files has changed since."""
    directory = path.parent
    try:
        entries = msgspec.json.decode((directory / FILE).read_bytes(), type=dict[str, msgspec.Raw])
        resolved = msgspec.json.decode(entries[path.stem], type=Resolved)
        if any(crc32((directory / file).read_bytes()) != checksum for file, checksum in resolved.files.items()):
            return None
    except (OSError, KeyError, msgspec.DecodeError):
        return None
    files = tuple(str(directory / file) for file in resolved.files)
    return msgspec.structs.replace(resolved.policy, files=files)


def text() -> str:
    """The file as it is shipped, from the YAML."""
    from safeexec.policy.model import plain
    from safeexec.policy.profiles import read_profile, shipped_directory

    entries = {}
    for path in sorted(shipped_directory().glob("*.yaml")):
        policy = read_profile(path)
        files = {Path(file).name: crc32(Path(file).read_bytes()) for file in policy.files}
        entries[path.stem] = Resolved(files, msgspec.structs.replace(policy, files=()))
    return msgspec.json.format(msgspec.json.encode(entries, enc_hook=plain), indent=1).decode() + "\n"


if __name__ == "__main__":
    from safeexec.policy.profiles import shipped_directory

    (shipped_directory() / FILE).write_text(text(), encoding="utf-8")
