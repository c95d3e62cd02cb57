"""Fills the image from which children without files import (`child.process.library`): byte code and time zones.

What is in it is what a child may still need once everything that its policy allows has been imported: this package's
late parts and the libraries that those use, modules that the standard library imports only when it runs, every text
encoding, the time zones.
"""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import struct
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder, SourceFileLoader

from safeexec.child.process.library import ABSENT, ENCODINGS, HEAD, MODULES, SOURCES, ZONES, Library, Table

__all__ = ["Image"]

ON_DEMAND = (
    # of this package, and what it is made with
    "safeexec.child",
    "safeexec.language",
    "safeexec.hints",
    "safeexec.matching",
    "safeexec.protocol",
    "RestrictedPython",
    "asttokens",
    "cloudpickle",
    # what those import, and what modules of the standard library import when they run
    "_colorize",
    "_weakrefset",
    "concurrent",
    "difflib",
    "fnmatch",
    "importlib._abc",
    "importlib.util",
    "inspect",
    "linecache",
    "logging",
    "platform",
    "queue",
    "shutil",
    "stringprep",
    "threading",
    "tokenize",
    "traceback",
    "tracemalloc",
)
"""Modules, and packages with all that is in them."""
COPIED = ("argparse", "copy", "logging")
"""Of which guest code gets a second copy (`facades.replacements`)."""
MOST_BYTES = 64 << 20
"""Of address space while the image is filled; it takes 3 MB."""
_PYC_HEAD = struct.Struct("<4sIII")
_ENDINGS = tuple(suffix[1:] for suffix in EXTENSION_SUFFIXES)
_ZONE_MARK = b"TZif"
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL

Found = tuple[str, bytes, str, bool]
"""Name, content, the module's file, whether it is a package."""


class Image:
    """The zygote's side of the image: made at the start, filled part by part, and sealed when it is complete."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("library", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        # Sized before RLIMIT_FSIZE holds, and mapped to be written: the limit is about what is written by calls.
        os.ftruncate(self._fd, MOST_BYTES)
        # Children get a descriptor of their own kind: it cannot write, and a child without files cannot open another.
        self.library = Library(
            os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY | os.O_CLOEXEC),
            os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK),
        )
        self._loaded = {*sys.modules} - {*COPIED}
        self._zones = _zone_directories()
        self._left = [MODULES, ENCODINGS, ZONES, SOURCES]
        self._end = HEAD.size * len(self._left)

    @property
    def begun(self) -> bool:
        return MODULES not in self._left

    @property
    def complete(self) -> bool:
        return not self._left

    def fill(self) -> None:
        """Read the next part and let the children that wait for it go on."""
        import mmap

        part = self._left.pop(0)
        sources: dict[int, Callable[[], Iterator[Found]]] = {
            MODULES: lambda: _code((*ON_DEMAND, *COPIED), self._loaded),
            ENCODINGS: lambda: _code(("encodings",), self._loaded),
            ZONES: lambda: _zone_data(self._zones),
            SOURCES: _sources,
        }
        table: Table = {}
        known: dict[bytes, int] = {}
        end = 0
        for name, content, origin, package in sources[part]():
            if content not in known:
                known[content] = end
                end += len(content)
            table[name] = known[content], len(content), origin, package
        if part == MODULES:
            table = dict.fromkeys(_installed(), (0, ABSENT, "", False)) | table
        head = marshal.dumps(table)
        with mmap.mmap(self._fd, MOST_BYTES) as memory:
            memory.seek(self._end)
            memory.write(head)
            memory.write(b"".join(known))
            memory[part * HEAD.size : (part + 1) * HEAD.size] = HEAD.pack(self._end, len(head))
            self._end = memory.tell()
        if self.complete:
            os.ftruncate(self._fd, self._end)
            fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, _SEALS)
        self.library.table(part)


def _code(names: tuple[str, ...], loaded: set[str]) -> Iterator[Found]:
    """The byte code of modules that no child has from the start."""
    for name, origin, package in _files(names):
        if name not in loaded and (code := _byte_code(name, origin)) is not None:
            yield name, code, origin, package


def _sources() -> Iterator[Found]:
    """The source of modules that run as guest code, and of their parts."""
    for name, origin, package in _files(()):
        with contextlib.suppress(OSError), open(origin, "rb") as file:
            yield name, file.read(), origin, package


def _files(names: tuple[str, ...]) -> Iterator[tuple[str, str, bool]]:
    """(module, file, whether it is a package) of modules and of all that lies in packages."""
    for name in names:
        parent, _, _ = name.rpartition(".")
        spec = PathFinder.find_spec(name, list(sys.modules[parent].__path__) if parent else None)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            continue
        if spec.submodule_search_locations is None:
            yield name, spec.origin, False
        else:
            yield from _package(name, os.path.dirname(spec.origin))


def _package(name: str, directory: str) -> Iterator[tuple[str, str, bool]]:
    try:
        entries = list(os.scandir(directory))
    except OSError:  # found before this process gave up its rights, and out of its reach since: a copy beside a program
        return
    for entry in entries:
        if entry.name == "__init__.py":
            yield name, entry.path, True
        elif entry.name.endswith(".py"):
            yield f"{name}.{entry.name[:-3]}", entry.path, False
        elif os.path.exists(os.path.join(entry.path, "__init__.py")):
            yield from _package(f"{name}.{entry.name}", entry.path)


def _installed() -> Iterator[str]:
    """Names of the modules at the top of the import path."""
    for directory in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(directory):
                stem, _, ending = name.partition(".")
                if stem.isidentifier() and ending in ("", "py", *_ENDINGS):
                    yield stem


def _byte_code(name: str, origin: str) -> bytes | None:
    """The module's code as marshal writes it: from its ``.pyc`` where that is of this source, else compiled."""
    from importlib.util import MAGIC_NUMBER, cache_from_source

    try:
        with open(cache_from_source(origin), "rb") as file:
            data = file.read()
        source = os.stat(origin)
        expected = (MAGIC_NUMBER, 0, int(source.st_mtime) & 0xFFFFFFFF, source.st_size & 0xFFFFFFFF)
        if _PYC_HEAD.unpack_from(data) == expected:
            return data[_PYC_HEAD.size :]
    except (OSError, struct.error, NotImplementedError):
        pass
    try:
        return marshal.dumps(SourceFileLoader(name, origin).get_code(name))
    except (OSError, SyntaxError):
        return None


def _zone_directories() -> tuple[str, ...]:
    """Where `zoneinfo` looks, the package tzdata last."""
    import zoneinfo

    found = list(zoneinfo.TZPATH)
    package = PathFinder.find_spec("tzdata")
    if package is not None and package.submodule_search_locations:
        found += [os.path.join(place, "zoneinfo") for place in package.submodule_search_locations]
    return tuple(found)


def _zone_data(directories: tuple[str, ...]) -> Iterator[Found]:
    """Every time zone, as the first directory that has it tells it."""
    seen: set[str] = set()
    for directory in directories:
        for key, path in _zone_files(directory, ""):
            if key in seen:
                continue
            with open(path, "rb") as file:
                data = file.read()
            if data.startswith(_ZONE_MARK):
                seen.add(key)
                yield key, data, "", False


def _zone_files(directory: str, prefix: str) -> Iterator[tuple[str, str]]:
    """(key, path), without the trees of other leap second rules and the default rules, as `zoneinfo` lists them."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            if prefix or entry.name not in ("right", "posix"):
                yield from _zone_files(entry.path, f"{prefix}{entry.name}/")
        elif entry.name != "posixrules" and entry.is_file():  # `localtime` is a link, which a container may lack
            yield prefix + entry.name, entry.path
