"""Finds profiles by name or path and follows `extends`.

A name is looked for in the directories of `SAFEEXEC_POLICY_PATH` (an environment variable of the host), then among the
shipped profiles. The current directory and a guest's workspace are never searched; a path is read only where the caller
gives one.
"""

from __future__ import annotations

import os
from functools import lru_cache
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
def shipped_directory() -> str:
    """Where the profiles of this installation are: the package `safeexec.policies`, or `policies/` of a source tree."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    installed = os.path.join(package, "policies")
    if os.path.isdir(installed):
        return installed
    checkout = os.path.join(os.path.dirname(package), "policies")
    if os.path.isfile(os.path.join(checkout, "standard.yaml")):
        return checkout
    # An editable install may map the package to another place.
    from importlib.resources import files

    return str(files("safeexec.policies"))


def directories() -> list[str]:
    """The directories that are searched for a name, in order."""
    given = os.environ.get("SAFEEXEC_POLICY_PATH", "")
    return [*filter(None, given.split(os.pathsep)), shipped_directory()]


def names() -> dict[str, str]:
    """Every profile that can be loaded by name → its file."""
    found: dict[str, str] = {}
    for directory in directories():
        for file in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
            name, suffix = os.path.splitext(file)
            if suffix in SUFFIXES and not name.startswith("."):
                found.setdefault(name, os.path.join(directory, file))
    return found


def find(name: str | os.PathLike[str], *, relative_to: str | None = None) -> str:
    """The file of a profile. A name with a slash or a YAML suffix is a path. Raises `PolicyError` if there is none."""
    text = os.fspath(name)
    if not isinstance(name, str) or _is_path(text):
        path = os.path.join(relative_to or os.getcwd(), os.path.expanduser(text))
        if os.path.isfile(path):
            return path
        raise PolicyError(f"there is no policy file {path}")
    for directory in directories():
        for suffix in SUFFIXES:
            path = os.path.join(directory, text + suffix)
            if os.path.isfile(path):
                return path
    from safeexec.policy.mistakes import nearest

    known = names()
    hint = nearest(text, known)
    raise PolicyError(f"no policy is called {text!r}{hint or ''}{'' if hint else '; known are ' + ', '.join(known)}")


def _is_path(text: str) -> bool:
    return "/" in text or text.endswith(SUFFIXES)


def load(name: str | os.PathLike[str]) -> Policy:
    """The resolved policy of a name or path. Raises `PolicyError`."""
    path = find(name)
    policy = _cached(path)
    if policy is None:
        policy = _prepared(path) or read_profile(path)
        _loaded[path] = (tuple(_stamp(file) for file in policy.files), policy)
    return policy


def read_profile(path: str) -> Policy:
    """The policy of a file, read from its YAML. Raises `PolicyError`."""
    from safeexec.policy.resolve import resolve

    return resolve(_stem(path), _chain(_read(path)))


def from_text(text: str, *, name: str, filename: str) -> Policy:
    """The resolved policy of YAML text. Raises `PolicyError`."""
    from safeexec.policy.loader import read
    from safeexec.policy.resolve import resolve

    return resolve(name, _chain(read(text, file=filename)))


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _prepared(path: str) -> Policy | None:
    directory = os.path.dirname(path)
    if directory != shipped_directory():
        return None
    from safeexec.policy.resolved import lookup

    return lookup(directory, _stem(path))


def _stamp(file: str) -> Stamp:
    status = os.stat(file)
    return file, status.st_mtime_ns, status.st_size


def _cached(path: str) -> Policy | None:
    """A policy that was loaded before, if no file it came from has changed since."""
    stamps, policy = _loaded.get(path, ((), None))
    try:
        return policy if all(_stamp(stamp[0]) == stamp for stamp in stamps) else None
    except OSError:
        return None


def _read(path: str) -> Source:
    from safeexec.policy.loader import read

    try:
        with open(path, "rb") as file:
            text = file.read().decode()
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path}: not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}") from None
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from None
    return read(text, file=os.path.basename(path), path=path)


def _chain(source: Source) -> list[Source]:
    """The file and those it extends, the base first."""
    from safeexec.policy.mistakes import fail

    chain = [source]
    while "extends" in (child := chain[0]).content:
        parent = child.content["extends"]
        try:
            if not child.path and _is_path(parent):
                # The text may come from anywhere, and what an error quotes of another file goes back there.
                raise PolicyError(f"a policy given as text extends a profile by its name; {parent!r} is a path")
            path = find(parent, relative_to=os.path.dirname(child.path))
        except PolicyError as error:
            child.mistakes.append(child.mistake("extends", str(error)))
            break
        line = [*(one.path for one in chain)]
        if any(one and os.path.samefile(one, path) for one in line) or len(chain) >= MAX_DEPTH:
            names = " → ".join([*(one.file for one in reversed(chain)), os.path.basename(path)])
            raise fail([child.mistake("extends", f"the profiles extend each other in a circle: {names}")])
        chain.insert(0, _read(path))
    return chain
