"""Finds the files of this installation that a child may read: Python's, its libraries', the system's."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator

from safeexec import errors
from safeexec.engine.host.startup.launch import loader_folders
from safeexec.errors import ProtectionError

_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/nix/store", "/gnu/store")
SYSTEM_DATA = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/usr/share/zoneinfo",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
)
_NEEDED = ("RestrictedPython", "asttokens", "cloudpickle")
"""Packages that a zygote imports after it has given up its rights."""
_METADATA = ".dist-info"
_SITES = ("site-packages", "dist-packages")
_SHARED_PREFIXES = frozenset(("/", "/usr", "/usr/local"))
"""Prefixes that hold a whole system: of those only Python's own directories are needed."""


def parents(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


def library_paths(extra: Iterable[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the real paths that Python and its libraries read, and the symlinks that lead to them.

    Holds the standard library, the prefix, site-packages (also the user's, where it is on), what ``.pth`` files and
    editable installs add, this package, and the system's libraries, time zones and fonts.
    """
    wanted = [*_python_paths(), *_SYSTEM_LIBRARIES, *SYSTEM_DATA, *extra]
    real: dict[str, None] = {}
    links: dict[str, str] = {}
    for path in wanted:
        if os.path.isabs(path) and os.path.exists(path):
            links.update(_links_on(path))
            real[os.path.realpath(path)] = None
    kept = [path for path in real if not is_below(path, real)]
    return tuple(sorted(kept)), tuple(links.items())


def is_below(path: str, others: Collection[str]) -> bool:
    """Return True for a path in one of these directories."""
    return any(parent in others for parent in parents(path))


def machine_paths() -> Iterator[str]:
    """Yield what libraries ask about the machine, and do not find in a new root: processors, and the control group's
    limits.

    Where they are in view but refused, joblib fails: it expects ENOENT.
    """
    yield "/sys/devices/system/cpu/online"
    limits = ("cpu.max", "memory.max", "memory.high", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes")
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            groups = [line.strip().split(":", 2)[1:] for line in file]
    except OSError:
        return
    for controllers, group in groups:
        for controller in controllers.split(","):
            for place in {group, "/"}:
                directory = os.path.normpath(f"/sys/fs/cgroup/{controller}/{place}")
                yield from (path for name in limits if os.path.exists(path := os.path.join(directory, name)))


def _python_paths() -> Iterator[str]:
    # The site directories are on the import path. `sysconfig` would say the same, at the cost of a large table.
    yield os.path.dirname(os.__file__)
    yield os.path.join(sys.base_exec_prefix, sys.platlibdir, "python{}.{}".format(*sys.version_info))
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        if os.path.realpath(prefix) not in _SHARED_PREFIXES:
            yield prefix
    yield os.path.dirname(os.path.abspath(errors.__file__))
    yield from _site_paths()
    for name, module in list(sys.modules.items()):
        if name.startswith("__editable___"):  # setuptools' finders map packages to a source tree
            yield from (path for path in getattr(module, "MAPPING", {}).values() if isinstance(path, str))
    for folder in loader_folders():  # the shared libraries there, and not what lies beside them
        libraries = (name for name in _list(folder) if name.rstrip(".0123456789").endswith(".so"))  # libz.so.1.3 too
        yield from filter(os.path.isfile, (os.path.join(folder, name) for name in libraries))


def _site_paths() -> Iterator[str]:
    """Yield the site directories on the import path, and the entries that their ``.pth`` files added to it.

    Other entries are the caller's own code (the script's directory, PYTHONPATH), which guest code has no need to read.
    """
    on_path = {os.path.abspath(entry) for entry in sys.path if entry}
    sites = [entry for entry in on_path if os.path.basename(entry) in _SITES]
    yield from sites
    for file in (os.path.join(site, name) for site in sites for name in _list(site) if name.endswith(".pth")):
        with contextlib.suppress(OSError), open(file, encoding="utf-8", errors="replace") as lines:
            added = (os.path.abspath(os.path.join(os.path.dirname(file), line.strip())) for line in lines)
            yield from on_path.intersection(added)


def installation_targets() -> Iterator[str]:
    """Yield the directories on the import path that ``pip install --target`` has filled, whatever they are called."""
    standard = os.path.dirname(os.__file__)
    for entry in {os.path.abspath(entry) for entry in sys.path if entry}:
        if standard in (entry, os.path.dirname(entry)) or os.path.basename(entry) in _SITES:
            continue
        if any(name.endswith(_METADATA) for name in _list(entry)):
            yield entry


def installed_in(directory: str) -> Iterator[str]:
    """Yield what is installed in such a directory, and not what lies beside it: the caller's own code may."""
    names: dict[str, None] = {}
    for info in (name for name in _list(directory) if name.endswith(_METADATA)):
        names[info] = None
        try:
            with open(os.path.join(directory, info, "RECORD"), encoding="utf-8", errors="replace") as file:
                names.update(dict.fromkeys(line.partition(",")[0].partition("/")[0] for line in file))
        except OSError:
            continue
    yield from (os.path.join(directory, name) for name in names if name not in ("", ".", "..", "__pycache__"))


def needed_packages() -> tuple[str, ...]:
    """Return where the packages of `_NEEDED` lie on the import path. Raises `ProtectionError`."""
    entries = [os.path.abspath(entry) for entry in sys.path if entry]
    found = {
        name: next((path for entry in entries if os.path.isdir(path := os.path.join(entry, name))), "")
        for name in _NEEDED
    }
    if missing := [name for name, place in found.items() if not place]:
        raise ProtectionError(
            f"{missing[0]}, which safeexec needs, is in no directory of this Python's import path (sys.path): install "
            "safeexec with its dependencies, by pip or uv"
        )
    return tuple(found.values())


def _list(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _links_on(path: str) -> Iterator[tuple[str, str]]:
    """Yield (place, target) of every symlink on the way to `path`, targets included."""
    parts, place = path.strip("/").split("/"), "/"
    for _ in range(256):  # names and links: a circle of links ends here, as it does in the kernel after 40 (ELOOP)
        if not parts:
            return
        here = os.path.join(place, parts.pop(0))
        if os.path.islink(here):
            target = os.readlink(here)
            yield here, target
            there = os.path.normpath(os.path.join(place, target))
            parts, place = there.strip("/").split("/") + parts, "/"
        else:
            place = here
