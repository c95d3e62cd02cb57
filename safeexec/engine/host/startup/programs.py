"""Finds the files that must be executed to run the programs that a policy lists (`danger_allow_commands`).

A program is more than its file: a script needs its interpreter, a dynamic executable its loader. All of them, and
nothing else, may be executed.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
from collections.abc import Iterator, Sequence

from safeexec.errors import PolicyError

_MAX_SHEBANG = 256
_PT_INTERP = 3


def locate(name: str) -> str | None:
    """Return the absolute path of a program: as given, or found beside this Python and then on the host's PATH."""
    if os.path.isabs(name):
        return name if os.access(name, os.X_OK) else None
    places = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    return shutil.which(name, path=places)


def executables(programs: Sequence[str]) -> tuple[str, ...]:
    """Return every file that has to be executed to run `programs`, by its real path and by those that it is called by.
    Raises `PolicyError` for one that is not there.
    """
    found: dict[str, None] = {}
    for name in programs:
        path = locate(name)
        if path is None:
            raise PolicyError(f"danger_allow_commands: there is no program {name!r} on this machine")
        found.update(dict.fromkeys((*_needed(path), *_aliases(path))))
    return tuple(found)


def _aliases(path: str) -> Iterator[str]:
    """Yield the other paths of a program in the usual directories: `shell=True` starts /bin/sh, also where a policy's
    `sh` was found in /usr/bin, which is the same directory on most systems.
    """
    for directory in os.defpath.split(os.pathsep):
        other = os.path.join(directory, os.path.basename(path))
        if other != path and os.path.exists(other) and os.path.samefile(other, path):
            yield other


def _needed(path: str, depth: int = 0) -> Iterator[str]:
    real = os.path.realpath(path)
    yield from (path, real)
    with open(real, "rb") as file:
        head = file.read(_MAX_SHEBANG)
    if head.startswith(b"#!") and depth < 4:
        words = head[2:].split(b"\n")[0].split()
        if words:
            yield from _needed(os.fsdecode(words[0]), depth + 1)
            if os.path.basename(words[0]) == b"env" and len(words) > 1:
                through = locate(os.fsdecode(words[-1]))
                if through is not None:
                    yield from _needed(through, depth + 1)
    elif head.startswith(b"\x7fELF") and (loader := _loader(real)) is not None:
        yield os.path.realpath(loader)


def _loader(path: str) -> str | None:
    """Return the dynamic loader that an ELF file names (PT_INTERP), if it is a 64-bit little-endian one."""
    with open(path, "rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[4:6] != b"\x02\x01":
            return None
        # e_phoff, e_phentsize, e_phnum
        offset, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
        for index in range(min(count, 64)):
            file.seek(offset + index * size)
            entry = file.read(56)
            if len(entry) == 56 and struct.unpack_from("<I", entry)[0] == _PT_INTERP:
                start, length = struct.unpack_from("<Q", entry, 8)[0], struct.unpack_from("<Q", entry, 32)[0]
                file.seek(start)
                return os.fsdecode(file.read(min(length, 4096)).rstrip(b"\0"))
    return None
