"""Finds profiles, by name or path.

A name is looked for in the directories of `SAFEEXEC_POLICY_PATH` (an environment variable of the host), then among the
shipped profiles. The current directory and a guest's workspace are never searched; a path is read only where the caller
gives one.
"""

from __future__ import annotations

import os
from functools import lru_cache

from safeexec import errors
from safeexec.errors import PolicyError

SUFFIXES = (".yaml", ".yml")


@lru_cache(maxsize=1)
def shipped_directory() -> str:
    """Return where the profiles are: the package `safeexec.policies`, or `policies/` of a source tree."""
    package = os.path.dirname(os.path.abspath(errors.__file__))
    installed = os.path.join(package, "policies")
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(package), "policies")


def directories() -> list[str]:
    """Return the directories that are searched for a name, in order."""
    given = os.environ.get("SAFEEXEC_POLICY_PATH", "")
    own = (os.path.abspath(os.path.expanduser(directory)) for directory in given.split(os.pathsep) if directory)
    return [*own, shipped_directory()]


def names(*, shipped: bool = False) -> dict[str, str]:
    """Return every profile that can be loaded by name → its file; or those of this installation alone."""
    found: dict[str, str] = {}
    for directory in [shipped_directory()] if shipped else directories():
        for file in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
            name, suffix = os.path.splitext(file)
            if suffix in SUFFIXES and not name.startswith("."):
                found.setdefault(name, os.path.join(directory, file))
    return found


def find(name: str | os.PathLike[str]) -> str:
    """Return the file of a profile: a name with a slash or a YAML suffix is a path. Raises `PolicyError` for none."""
    if not isinstance(name, str | os.PathLike):
        raise PolicyError(f"a policy is a name, a path or a Policy, not {type(name).__name__}")
    text = os.fspath(name)
    if not isinstance(name, str) or is_path(text):
        return existing(os.path.join(os.getcwd(), os.path.expanduser(text)))
    return named(text, directories())


def existing(path: str) -> str:
    """Return the path, if a file is there. Raises `PolicyError`."""
    if os.path.isfile(path):
        return path
    if os.path.exists(path):
        raise PolicyError(f"{path} is no file")
    meant = f"; the profile is called {stem(path)}" if stem(path) in names() else ""
    raise PolicyError(f"there is no policy file {path}{meant}")


def named(name: str, searched: list[str]) -> str:
    """Return the file of that name in the first directory that has one. Raises `PolicyError`."""
    for directory in searched:
        for suffix in SUFFIXES:
            path = os.path.join(directory, name + suffix)
            if os.path.isfile(path):
                return path
    here = next((f"./{name}{suffix}" for suffix in SUFFIXES if os.path.isfile(f"{name}{suffix}")), "")
    known = names()
    how = "open the sandbox with that path (`--policy`), or name its directory in SAFEEXEC_POLICY_PATH"
    hint = f"; the file here is {here}: {how}"
    if not here:
        from safeexec.common.matching import (
            suggestion,  # with difflib 2 ms; every run imports this module, few misspell
        )

        near = suggestion(name, known)
        hint = near or f"; known are {', '.join(known)}, and those that SAFEEXEC_POLICY_PATH leads to"
    if not here and os.path.exists(name):
        hint = f"; {name} here is no policy: a policy is a file whose name ends in {' or '.join(SUFFIXES)}"
    absent = [directory for directory in searched if not os.path.isdir(directory)]
    if absent:
        hint += f"; SAFEEXEC_POLICY_PATH names {', '.join(absent)}, which is no directory"
    raise PolicyError(f"no policy is called {name[:100]!r}{hint}")


def is_path(text: str) -> bool:
    """Return whether a profile is named by its path."""
    return "/" in text or text.endswith(SUFFIXES)


def stem(path: str) -> str:
    """Return the name of the profile in a file."""
    return os.path.splitext(os.path.basename(path))[0]
