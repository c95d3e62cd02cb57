"""Fetches the packages that a policy requires: wheels, outside of every sandbox, into a directory that children read.

pip is asked twice: which releases (it decides by the metadata of the index, and by what this Python has installed), and
for exactly those by their hash. It cannot start a program, whatever a package's metadata says, so nothing is built.
Nothing that was fetched is ever imported or parsed here: of its names, those that its RECORD lists are read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from time import time

import msgspec

from safeexec.common.text import printable
from safeexec.engine.host.startup.launch import import_path
from safeexec.engine.linux import processes, seccomp
from safeexec.engine.linux.libc import make
from safeexec.engine.policy.edit import brought
from safeexec.engine.policy.model import Policy
from safeexec.engine.policy.requirements import Requirement, canonical, of_lock, parse
from safeexec.errors import PolicyError
from safeexec.untrusted.below import read_named

FETCH_SECONDS = 300.0
"""Deadline of each of the two questions to pip."""
MOST_REPORT = 64 << 20
MOST_RECORD = 16 << 20
MOST_LOCK = 4 << 20
STALE_SECONDS = 3600.0
"""After so long nobody is at work in a directory that was made aside."""
_ENDINGS = (".py", ".so")
_SITE = ("sitecustomize", "usercustomize")
"""Modules that Python would import at its start."""
_BOOT = "import sys;sys.path[:]={path!r};from safeexec.api.packages import be_pip;be_pip({arguments!r})"
_ALWAYS = (
    *("--disable-pip-version-check", "--no-input", "--no-color", "--quiet", "--retries=2", "--timeout=20"),
    "--progress-bar=off",
)


_Release = tuple[str, str, str]
"""Name and version of what this Python has installed, and its ``.dist-info``."""


def read_lock(path: str | os.PathLike[str]) -> list[str]:
    """Return the requirements of a lock file. Raises `PolicyError`."""
    try:
        return of_lock(read_named(path, max_bytes=MOST_LOCK).decode())
    except (OSError, ValueError) as error:
        raise PolicyError(f"{os.fspath(path)}: no lock file can be read there: {error}") from None


def fetched(policy: Policy) -> tuple[Policy, str]:
    """Return the policy with the modules that its requirements bring, and the directory in which they lie. Blocks.

    Raises `PolicyError` where they cannot be had, or bring nothing that may be imported.
    """
    requirements = [parse(line) for line in policy.requirements]
    here = _installed()
    place = os.path.join(_cache(), _key(requirements, here))
    if not os.path.lexists(place):
        _fetch(place, requirements, here)
    try:
        written = read_named(os.path.join(place, "modules.json"), max_bytes=MOST_RECORD)
        modules = msgspec.json.decode(written, type=dict[str, list[str]])
    except (OSError, msgspec.DecodeError):
        raise PolicyError(f"what was fetched into {place} is damaged: remove it") from None
    return brought(policy, modules), os.path.join(place, "lib")


# The cache


def _cache() -> str:
    """Return where sets are kept. Only its owner may enter: what lies there runs in sandboxes. Raises `PolicyError`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    path = os.path.join(base, "safeexec", "packages")
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        info = os.lstat(path)
    except OSError as error:
        raise PolicyError(
            f"requirements need a directory for what is fetched, and {path} cannot be made ({error.strerror}); "
            "XDG_CACHE_HOME names another place"
        ) from None
    if not os.path.isdir(path) or os.path.islink(path) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
        raise PolicyError(f"{path} is not this user's own directory, or others may write there: remove it")
    return path


def _key(requirements: Iterable[Requirement], here: dict[str, _Release]) -> str:
    """Return the name of what is fetched for these requirements beside what is installed."""
    lines = sorted(requirement.line for requirement in requirements)
    installed = sorted(f"{name}=={version}" for name, (_, version, _) in here.items())
    abi = str(sysconfig.get_config_var("SOABI"))
    return sha256("\n".join((*lines, "", *installed, abi, sys.implementation.cache_tag)).encode()).hexdigest()[:32]


# What this Python has installed


def _installed() -> dict[str, _Release]:
    """Canonical name → release, the first on the import path. By the names of directories alone: nothing is opened."""
    found: dict[str, _Release] = {}
    for entry in import_path():
        for release in _releases(entry):
            found.setdefault(canonical(release[0]), release)
    return found


def _releases(directory: str) -> Iterator[_Release]:
    with contextlib.suppress(OSError):
        for entry in sorted(os.listdir(directory)):
            name, dash, version = entry.removesuffix(".dist-info").partition("-")
            if dash and entry.endswith(".dist-info"):
                yield name, version, os.path.join(directory, entry)


def _modules(info: str) -> list[str]:
    """Return the modules at the top of a release, by the RECORD in its ``.dist-info``."""
    try:
        record = read_named(os.path.join(info, "RECORD"), max_bytes=MOST_RECORD).decode("utf-8", "replace")
    except OSError:
        return []
    tops: dict[str, None] = {}
    for line in record.splitlines():
        path = line.partition(",")[0]
        top, below, _ = path.partition("/")
        module = top if below else top.partition(".")[0]
        if path.endswith(_ENDINGS) and module.isidentifier() and module[0] != "_" and module not in _SITE:
            tops[module] = None
    return list(tops)


# Fetching


def _fetch(place: str, requirements: list[Requirement], here: dict[str, _Release]) -> None:
    """Make the set aside and move it to its place, where another process may have been faster."""
    cache, fresh = os.path.dirname(place), ""
    try:
        _sweep(cache)
        fresh = tempfile.mkdtemp(prefix="fetching-", dir=cache)
        made = os.path.join(fresh, "set")
        lib = os.path.join(made, "lib")
        os.makedirs(lib)
        chosen = _resolve(fresh, requirements, here)
        if chosen:
            wanted = _written(fresh, "chosen.txt", chosen)
            options = ("--no-deps", "--require-hashes", "--only-binary=:all:", "--target", lib, "-r", wanted)
            _pip(fresh, ("install", *options), requirements)
        infos = {name: info for name, (_, _, info) in here.items()}
        infos |= {canonical(name): info for name, _, info in _releases(lib)}
        modules = {item.name: _modules(infos[item.name]) for item in requirements if item.name in infos}
        with open(os.path.join(made, "modules.json"), "wb") as file:
            file.write(msgspec.json.encode(modules))
        # Guests may run as another user. That one reaches the set by a mount, and never through the cache's directory.
        os.chmod(lib, 0o755)
        try:
            os.rename(made, place)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
    except OSError as error:
        raise PolicyError(f"requirements cannot be fetched into {cache}: {error}") from None
    finally:
        if fresh:
            shutil.rmtree(fresh, ignore_errors=True)


def _sweep(cache: str) -> None:
    """Remove what a killed fetch has left."""
    for name in os.listdir(cache):
        path = os.path.join(cache, name)
        with contextlib.suppress(OSError):
            if name.startswith("fetching-") and time() - os.lstat(path).st_mtime > STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def _resolve(fresh: str, requirements: list[Requirement], here: dict[str, _Release]) -> list[str]:
    """Return what is to be fetched, a line with version and hash each. What is installed already stays as it is, and
    what fits it is chosen.
    """
    asked = _written(fresh, "asked.txt", [item.line for item in requirements])
    pinned = [line for name, version, _ in here.values() if (line := _pin(name, version))]
    constraints = _written(fresh, "constraints.txt", pinned)
    report = os.path.join(fresh, "report.json")
    options = ("--dry-run", "--report", report, "--only-binary=:all:", "-c", constraints, "-r", asked)
    _pip(fresh, ("install", *options), requirements)
    chosen = []
    try:
        for item in msgspec.json.decode(read_named(report, max_bytes=MOST_REPORT))["install"]:
            name, version, download = item["metadata"]["name"], item["metadata"]["version"], item["download_info"]
            if item.get("is_direct"):
                url = printable(str(download.get("url", "?")))[:200]
                raise PolicyError(
                    f"requirements: a dependency is asked for by its address ({url}), not by its name; such packages "
                    "are not fetched"
                )
            digest = str(download.get("archive_info", {}).get("hashes", {}).get("sha256", ""))
            if not (pin := _pin(str(name), str(version))) or not re.fullmatch("[0-9a-f]{64}", digest):
                raise PolicyError(
                    f"requirements: the index gives no version and hash for {str(name)[:100]!r}; pip computes the hash "
                    "from 23.1 on: python -m pip install --upgrade pip"
                )
            chosen.append(f"{pin} --hash=sha256:{digest}")
    except (OSError, msgspec.DecodeError, LookupError, TypeError, AttributeError) as error:
        raise PolicyError(f"requirements: what pip reports cannot be read: {printable(str(error))}") from None
    return chosen


def _pin(name: str, version: str) -> str:
    """Return ``name==version``, or "" where these are no such words."""
    line = f"{name}=={version}"
    try:
        return line if parse(line).written == line else ""
    except ValueError:
        return ""


def _written(directory: str, name: str, lines: list[str]) -> str:
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def _pip(fresh: str, arguments: tuple[str, ...], requirements: list[Requirement]) -> None:
    words = (arguments[0], *_ALWAYS, *arguments[1:])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["TMPDIR"] = fresh
    log = os.path.join(fresh, "log")
    try:
        with open(log, "wb") as out:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _BOOT.format(path=_pip_path(), arguments=words)],
                cwd=fresh,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                timeout=FETCH_SECONDS,
                check=False,
            )
        problem = "" if done.returncode == 0 else _said(log)
    except subprocess.TimeoutExpired:
        problem = f"no answer for {FETCH_SECONDS:g} s"
    if problem:
        wanted = ", ".join(item.written for item in requirements)
        raise PolicyError(
            f"requirements: {wanted[:300]} cannot be had as wheels: {problem}. Is an index in reach, or a folder of "
            "wheels named (PIP_INDEX_URL, or PIP_NO_INDEX=1 and PIP_FIND_LINKS)?"
        )


def _said(log: str) -> str:
    """Return the end of what pip printed."""
    with open(log, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
        lines = printable(file.read(4000).decode("utf-8", "replace")).splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines[-3:]
    return " / ".join(errors)[-600:] or "pip failed without a word"


def _pip_path() -> list[str]:
    """Return the import path of pip's process: with the pip that Python brings along, where none is installed."""
    path = import_path()
    if any(os.path.isdir(os.path.join(entry, "pip")) for entry in path):
        return path
    bundled = os.path.join(os.path.dirname(os.__file__), "ensurepip", "_bundled")
    with contextlib.suppress(OSError):
        for name in os.listdir(bundled):
            if name.startswith("pip-") and name.endswith(".whl"):
                return [*path, os.path.join(bundled, name)]
    raise PolicyError(
        f"requirements are fetched by pip, and {sys.executable} has none: install it "
        "(python -m ensurepip, or uv pip install pip)"
    )


def be_pip(arguments: Iterable[str]) -> None:
    """Run pip in this process, which was started for it, without the right to start any other."""
    make([processes.setting_death_signal()])
    os.umask(0o022)
    seccomp.install(seccomp.no_programs())
    sys.argv = ["pip", *arguments]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
