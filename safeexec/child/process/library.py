"""Modules and time zones for a child that may open no file: it reads them from an image in memory.

The image is a memfd that the zygote makes before it forks and fills when it has nothing else to do
(`zygote.image`). Children hold a descriptor that can only be read. One that was forked before a part is there asks for
it at its first need, and waits.
"""

from __future__ import annotations

import io
import marshal
import os
import select
import struct
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

MODULES, ENCODINGS, ZONES, SOURCES = range(4)
"""The parts of an image, in the order in which they are filled: what any error may need, and what few steps do."""
HEAD = struct.Struct("<QQ")
"""Of each part, at the beginning of the image: offset and length of its table; zero until the part is there."""
ABSENT = -1
"""The size of a module that is installed and not in the image: it can be found, not loaded."""
LOOKS = 20_000
LOOK_SECONDS = 0.0005
"""A part is waited for ten seconds; not by the clock, which may be the guest's own (`child.language.determinism`)."""


Table = dict[str, tuple[int, int, str, bool]]
"""Marshalled; name → offset from the end of the table, size, the module's file, whether it is a package."""


class Library:
    """One image, as a finder of modules and as the source of time zones."""

    def __init__(self, fd: int, bell: int) -> None:
        self.fd = fd
        """Readable only."""
        self.bell = bell
        """An eventfd: the zygote does not wait for a pause once somebody has written to it."""
        self._tables: dict[int, tuple[Table, int]] = {}

    def table(self, part: int) -> Table:
        """What there is in a part; waits for it, and takes it for empty if it never comes."""
        looks = 0
        while part not in self._tables:
            offset, size = HEAD.unpack(os.pread(self.fd, HEAD.size, part * HEAD.size))
            if size:
                self._tables[part] = marshal.loads(os.pread(self.fd, size, offset)), offset + size
            elif looks == LOOKS:
                return {}
            else:
                if not looks:
                    os.eventfd_write(self.bell, 1)
                looks += 1
                select.select((), (), (), LOOK_SECONDS)
        return self._tables[part][0]

    def _read(self, part: int, name: str) -> bytes:
        offset, size, _, _ = self.table(part)[name]
        return os.pread(self.fd, size, self._tables[part][1] + offset)

    def replace_files(self) -> None:
        """In the child: import from the image alone. No path is looked at any more, not even to fail."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not PathFinder]
        sys.meta_path.append(self)
        sys.path.clear()

    # Time zones

    def serve_zones(self) -> None:
        """Let `zoneinfo` find its data here. Before its names are handed to anybody."""
        import zoneinfo

        common: Any = sys.modules["zoneinfo._common"]
        paths: Any = sys.modules["zoneinfo._tzpath"]
        # The C code keeps `find_tzfile`, which looks in TZPATH, and asks `_common` for what is not there.
        paths.TZPATH = ()
        common.load_tzdata = self.open_zone
        zoneinfo.available_timezones = paths.available_timezones = self.zone_names

    def open_zone(self, key: str) -> io.BytesIO:
        """The data of a time zone. Raises `ZoneInfoNotFoundError`, as `zoneinfo` does."""
        if key not in self.table(ZONES):
            from zoneinfo import ZoneInfoNotFoundError

            raise ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(self._read(ZONES, key))

    def zone_names(self) -> set[str]:
        """Every time zone: `zoneinfo.available_timezones`."""
        return set(self.table(ZONES))

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        entry = self.table(_part_of(name)).get(name)
        if entry is None:
            return None
        _, _, origin, package = entry
        spec = ModuleSpec(name, _LibraryLoader(self), origin=origin, is_package=package)  # type: ignore[arg-type]
        spec.has_location = True
        return spec

    def source(self, name: str) -> tuple[str, bool] | None:
        """The source of a module that runs as guest code, and whether it is a package."""
        entry = self.table(SOURCES).get(name)
        return None if entry is None else (self._read(SOURCES, name).decode(), entry[3])

    def code(self, name: str) -> Any:
        """The code of a module that `find_spec` has found. Raises ImportError."""
        if self.table(_part_of(name))[name][1] == ABSENT:
            raise ImportError(f"{name} cannot be imported here: this session opens no files", name=name)
        return marshal.loads(self._read(_part_of(name), name))


class _LibraryLoader:
    """The loader of one module. One for each, as `child.language.on_import` sets `exec_module` of a single one."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._library.code(module.__name__), module.__dict__)


def _part_of(module: str) -> int:
    return ENCODINGS if module.startswith("encodings.") else MODULES
