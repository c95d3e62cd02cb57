"""Finds profiles by name or path and follows `extends`.

A name is looked for in the directories of `SAFEEXEC_POLICY_PATH` (an environment variable of the host), then among the
shipped profiles. The current directory and a guest's workspace are never searched; a path is read only where the caller
gives one.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from safeexec.errors import PolicyError
from safeexec.policy.model import Policy

if TYPE_CHECKING:
    from safeexec.policy.loader import Source

Stamp = tuple[str, int, int]
"""Path, mtime in nanoseconds, size."""

SUFFIXES = (".yaml", ".yml")
MAX_DEPTH = 16
"""Profiles in one line of `extends`."""

_loaded: dict[str, tuple[tuple[Stamp, ...], Policy]] = {}
"""Path → the policy that was loaded from it, and what tells that none of its files has changed since."""


@lru_cache(maxsize=1)
def shipped_directory() -> Path:
    """Where the profiles of this installation are: the package `safeexec.policies`, or `policies/` of a source tree."""
    installed = Path(__file__).resolve().parent.parent / "policies"
    if installed.is_dir():
        return installed
    checkout = Path(__file__).resolve().parent.parent.parent / "policies"
    if (checkout / "standard.yaml").is_file():
        return checkout
    # An editable install may map the package to another place.
    from importlib.resources import files

    return Path(str(files("safeexec.policies")))


def directories() -> list[Path]:
    """The directories that are searched for a name, in order."""
    given = os.environ.get("SAFEEXEC_POLICY_PATH", "")
    return [Path(entry) for entry in given.split(os.pathsep) if entry] + [shipped_directory()]


def names() -> dict[str, Path]:
    """Every profile that can be loaded by name → its file."""
    found: dict[str, Path] = {}
    for directory in directories():
        for path in sorted(directory.glob("*.y*ml")) if directory.is_dir() else []:
            if path.suffix in SUFFIXES:
                found.setdefault(path.stem, path)
    return found


def find(name: str | os.PathLike[str], *, relative_to: Path | None = None) -> Path:
    """The file of a profile. A name with a slash or a YAML suffix is a path. Raises `PolicyError` if there is none."""
    text = os.fspath(name)
    if isinstance(name, Path) or "/" in text or os.sep in text or text.endswith(SUFFIXES):
        path = (relative_to or Path.cwd()) / Path(text).expanduser()
        if path.is_file():
            return path
        raise PolicyError(f"there is no policy file {path}")
    for directory in directories():
        for suffix in SUFFIXES:
            path = directory / (text + suffix)
            if path.is_file():
                return path
    from safeexec.policy.mistakes import nearest

    known = names()
    hint = nearest(text, known)
    raise PolicyError(f"no policy is called {text!r}{hint or ''}{'' if hint else '; known are ' + ', '.join(known)}")


def load(name: str | os.PathLike[str]) -> Policy:
    """The resolved policy of a name or path. Raises `PolicyError`."""
    path = find(name)
    policy = _cached(path)
    if policy is None:
        policy = _prepared(path) or read_profile(path)
        _loaded[str(path)] = (tuple(_stamp(file) for file in policy.files), policy)
    return policy


def read_profile(path: Path) -> Policy:
    """The policy of a file, read from its YAML. Raises `PolicyError`."""
    from safeexec.policy.resolve import resolve

    return resolve(path.stem, _chain(_read(path)))


def from_text(text: str, *, name: str, filename: str) -> Policy:
    """The resolved policy of YAML text. Raises `PolicyError`."""
    from safeexec.policy.loader import read
    from safeexec.policy.resolve import resolve

    return resolve(name, _chain(read(text, file=filename)))


def _prepared(path: Path) -> Policy | None:
    if path.parent != shipped_directory():
        return None
    from safeexec.policy.resolved import lookup

    return lookup(path)


def _stamp(file: str) -> Stamp:
    status = os.stat(file)
    return file, status.st_mtime_ns, status.st_size


def _cached(path: Path) -> Policy | None:
    """A policy that was loaded before, if no file it came from has changed since."""
    stamps, policy = _loaded.get(str(path), ((), None))
    try:
        return policy if all(_stamp(stamp[0]) == stamp for stamp in stamps) else None
    except OSError:
        return None


def _read(path: Path) -> Source:
    from safeexec.policy.loader import read

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PolicyError(
            f"{path}: not UTF-8 text: byte {error.start} is {path.read_bytes()[error.start]:#04x}"
        ) from None
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from None
    return read(text, file=path.name, path=str(path))


def _chain(source: Source) -> list[Source]:
    """The file and those it extends, the base first."""
    from safeexec.policy.mistakes import fail

    chain = [source]
    while "extends" in (child := chain[0]).content:
        parent = child.content["extends"]
        directory = Path(child.path).parent if child.path else None
        try:
            path = find(parent, relative_to=directory)
        except PolicyError as error:
            child.mistakes.append(child.mistake("extends", str(error)))
            break
        line = [*(one.path for one in chain)]
        if any(one and os.path.samefile(one, path) for one in line) or len(chain) >= MAX_DEPTH:
            names = " → ".join([*(one.file for one in reversed(chain)), path.name])
            raise fail([child.mistake("extends", f"the profiles extend each other in a circle: {names}")])
        chain.insert(0, _read(path))
    return chain
