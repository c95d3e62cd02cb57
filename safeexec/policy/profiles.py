"""Finds profiles by name or path and follows `extends`.

A name is looked for in the directories of `SAFEEXEC_POLICY_PATH` (an environment variable of the host), then among the
shipped profiles. The current directory and a guest's workspace are never searched; a path is read only where the caller
gives one.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from safeexec.errors import PolicyError
from safeexec.policy import resolved
from safeexec.policy.settings import P, PolicyData

if TYPE_CHECKING:
    from safeexec.policy.loader import PolicyFile

Stamp = tuple[str, int, int]
"""Path, mtime in nanoseconds, size."""

SUFFIXES = (".yaml", ".yml")
MAX_DEPTH = 16
"""Profiles in one line of `extends`."""

RACY = 100_000_000
"""Nanoseconds for which a file counts as being written: a second change may leave its time and size as they were."""

_loaded: dict[tuple[str, type[PolicyData]], tuple[tuple[Stamp, ...], PolicyData]] = {}
"""Path and class → the policy that was loaded from it, and what tells that none of its files has changed since and that
no file has come into a directory that is searched."""


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
    own = (os.path.abspath(os.path.expanduser(directory)) for directory in given.split(os.pathsep) if directory)
    return [*own, shipped_directory()]


def names(*, shipped: bool = False) -> dict[str, str]:
    """Every profile that can be loaded by name → its file; or those of this installation alone."""
    found: dict[str, str] = {}
    for directory in [shipped_directory()] if shipped else directories():
        for file in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
            name, suffix = os.path.splitext(file)
            if suffix in SUFFIXES and not name.startswith("."):
                found.setdefault(name, os.path.join(directory, file))
    return found


def find(name: str | os.PathLike[str]) -> str:
    """The file of a profile. A name with a slash or a YAML suffix is a path. Raises `PolicyError` if there is none."""
    text = os.fspath(name)
    if not isinstance(name, str) or _is_path(text):
        return _file(os.path.join(os.getcwd(), os.path.expanduser(text)))
    return _named(text, directories())


def _parent(child: PolicyFile) -> str:
    """The file that `child` extends. Raises `PolicyError` if there is none.

    A profile that extends its own name changes the one that it hides: the next of that name along the search. What a
    shipped profile extends is shipped with it.
    """
    parent = child.content["extends"]
    directory = os.path.dirname(child.path)
    if _is_path(parent):
        if not child.path:
            # The text may come from anywhere, and what an error quotes of another file goes back there.
            raise PolicyError(f"a policy given as text extends a profile by its name; {parent!r} is a path")
        return _file(os.path.join(directory, os.path.expanduser(parent)))
    searched = directories()
    if directory == shipped_directory():
        searched = [directory]
    elif parent == _stem(child.path) and directory in searched:
        searched = searched[searched.index(directory) + 1 :]
    return _named(parent, searched)


def _file(path: str) -> str:
    if os.path.isfile(path):
        return path
    raise PolicyError(f"{path} is no file" if os.path.exists(path) else f"there is no policy file {path}")


def _named(name: str, searched: list[str]) -> str:
    for directory in searched:
        for suffix in SUFFIXES:
            path = os.path.join(directory, name + suffix)
            if os.path.isfile(path):
                return path
    from safeexec.policy.mistakes import nearest

    here = next((f"./{name}{suffix}" for suffix in SUFFIXES if os.path.isfile(f"{name}{suffix}")), "")
    known = names()
    hint = f"; the file here is {here}" if here else nearest(name, known) or f"; known are {', '.join(known)}"
    absent = [directory for directory in searched if not os.path.isdir(directory)]
    if absent:
        hint += f"; SAFEEXEC_POLICY_PATH names {', '.join(absent)}, which is no directory"
    raise PolicyError(f"no policy is called {name!r}{hint}")


def _is_path(text: str) -> bool:
    return "/" in text or text.endswith(SUFFIXES)


def load(name: str | os.PathLike[str], make: type[P]) -> P:
    """The resolved policy of a name or path. Raises `PolicyError`."""
    path = find(name)
    policy = _cached(path, make)
    if policy is None:
        policy = _prepared(path, make) or read_profile(path, make)
        stamps = tuple(_stamp(file) for file in (*policy.files, *directories()) if os.path.exists(file))
        if time.time_ns() - max(stamp[1] for stamp in stamps) > RACY:
            _loaded[path, make] = stamps, policy
    return policy


def read_profile(path: str, make: type[P]) -> P:
    """The policy of a file, read from its YAML. Raises `PolicyError`."""
    from safeexec.policy.resolve import resolve

    return resolve(_stem(path), _chain(_read(path)), make)


def from_text(text: str, *, name: str, filename: str, make: type[P]) -> P:
    """The resolved policy of YAML text. Raises `PolicyError`."""
    from safeexec.policy.loader import read
    from safeexec.policy.resolve import resolve

    return resolve(name, _chain(read(text, file=filename)), make)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _prepared(path: str, make: type[P]) -> P | None:
    directory = os.path.dirname(path)
    if directory != shipped_directory():
        return None
    return resolved.lookup(directory, _stem(path), make)


def _stamp(file: str) -> Stamp:
    status = os.stat(file)
    return file, status.st_mtime_ns, status.st_size


def _cached(path: str, make: type[P]) -> P | None:
    """A policy that was loaded before, if no file it came from has changed since."""
    stamps, policy = _loaded.get((path, make), ((), None))
    try:
        return policy if isinstance(policy, make) and all(_stamp(stamp[0]) == stamp for stamp in stamps) else None
    except OSError:
        return None


def _read(path: str) -> PolicyFile:
    from safeexec.policy.loader import read, unreadable
    from safeexec.untrusted.below import read_named
    from safeexec.untrusted.yaml_text import MAX_LENGTH, Mark

    file = os.path.basename(path)
    try:
        data = read_named(path, max_bytes=4 * MAX_LENGTH)
        text = data.decode()
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[line_start : error.start].decode(errors="replace")) + 1
        place = Mark(data.count(b"\n", 0, error.start) + 1, column)
        return unreadable(file, path, f"not UTF-8 text: byte {error.start} is {data[error.start]:#04x}", place)
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from None
    return read(text, file=file, path=path)


def _chain(source: PolicyFile) -> list[PolicyFile]:
    """The file and those it extends, the base first."""
    chain = [source]
    while "extends" in (child := chain[0]).content:
        try:
            path = _parent(child)
            if any(one.path and os.path.samefile(one.path, path) for one in chain):
                names = " → ".join([*(one.file for one in reversed(chain)), os.path.basename(path)])
                raise PolicyError(f"the profiles extend each other in a circle: {names}")
            if len(chain) >= MAX_DEPTH:
                raise PolicyError(f"more than {MAX_DEPTH} profiles extend one another")
            parent = _read(path)
        except PolicyError as error:
            child.mistakes.append(child.mistake("extends", str(error)))
            break
        chain.insert(0, parent)
    return chain


def prepared() -> str:
    """The shipped profiles as `policies/resolved.json` holds them."""
    return resolved.text(shipped_directory(), lambda path: read_profile(path, PolicyData))


if __name__ == "__main__":
    with open(os.path.join(shipped_directory(), "resolved.json"), "w", encoding="utf-8") as written:
        written.write(prepared())
