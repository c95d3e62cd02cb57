"""Reads a profile from its YAML, with those that it extends. Not loaded for a shipped profile that is unchanged."""

from __future__ import annotations

import os

from safeexec.engine.policy.diff import differences
from safeexec.engine.policy.loader import PolicyFile, fail, read, unreadable
from safeexec.engine.policy.places import directories, existing, find, is_path, named, names, shipped_directory, stem
from safeexec.engine.policy.resolve import resolve
from safeexec.engine.policy.settings import P, PolicyData
from safeexec.errors import PolicyError
from safeexec.untrusted.below import read_named
from safeexec.untrusted.yaml_text import MAX_LENGTH, Mark

MAX_DEPTH = 16
"""Profiles in one line of `extends`."""


def read_profile(path: str, make: type[P], since: str = "") -> P:
    """Return the policy of a file, read from its YAML. With `since`, a version of this package, what it extends of the
    shipped profiles is what they were then, where that is kept (`standard-0.9.yaml`). Raises `PolicyError`.
    """
    return _resolved(stem(path), _chain(_read(path), since), make)


def as_of(name: str | os.PathLike[str], make: type[P], since: str) -> P:
    """Return the policy of a name or path with the shipped profiles of an earlier version. Raises `PolicyError`."""
    shipped = names(shipped=True)
    kept = {profile.rpartition("-")[2] for profile in shipped if profile.rpartition("-")[2][:1].isdigit()}
    if since not in kept:
        raise PolicyError(f"of {since!r} no profiles are kept; of {', '.join(sorted(kept))} they are")
    path = find(name)
    if path == shipped.get(stem(path)):
        path = shipped.get(f"{stem(path)}-{since}", path)
    return read_profile(path, make, since)


def from_text(text: str, *, name: str, filename: str, make: type[P]) -> P:
    """Return the resolved policy of YAML text. Raises `PolicyError`."""
    return _resolved(name, _chain(read(text, file=filename)), make)


def _resolved(name: str, chain: list[PolicyFile], make: type[P]) -> P:
    """Return the policy of a chain, the base first; what says that it only narrows does. Raises `PolicyError`."""
    policy = resolve(name, chain, make)
    mistakes = []
    for count, source in enumerate(chain):
        if source.content.get("only_narrower") and not count:
            mistakes.append(source.mistake("only_narrower", "narrower than what? The file has no `extends`"))
        elif source.content.get("only_narrower"):
            before, after = (resolve(name, chain[:end], PolicyData) for end in (count, count + 1))
            mistakes += [
                source.mistake(
                    found.path,
                    f"is wider than {chain[count - 1].file} has it ({found.change}), and only_narrower is true",
                )
                for found in differences(before, after)
                if found.allows_more
            ]
    if mistakes:
        raise fail(mistakes, policy)
    return policy


def _parent(child: PolicyFile, since: str = "") -> str:
    """Return the file that `child` extends. Raises `PolicyError` if there is none.

    A profile that extends its own name changes the one that it hides: the next of that name along the search. What a
    shipped profile extends is shipped with it.
    """
    parent = child.content["extends"]
    directory = os.path.dirname(child.path)
    if is_path(parent):
        if not child.path:
            # The text may come from anywhere, and what an error quotes of another file goes back there.
            raise PolicyError(f"a policy given as text extends a profile by its name; {parent!r} is a path")
        return existing(os.path.join(directory, os.path.expanduser(parent)))
    searched = directories()
    if directory == shipped_directory():
        searched = [directory]
    elif parent == stem(child.path) and directory in searched:
        searched = searched[searched.index(directory) + 1 :]
    if since and os.path.isfile(os.path.join(shipped_directory(), f"{parent}-{since}.yaml")):
        parent = f"{parent}-{since}"
    return named(parent, searched)


def _read(path: str) -> PolicyFile:
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


def _chain(source: PolicyFile, since: str = "") -> list[PolicyFile]:
    """Return the file and those it extends, the base first."""
    chain = [source]
    while "extends" in (child := chain[0]).content:
        try:
            path = _parent(child, since)
            if any(one.path and os.path.samefile(one.path, path) for one in chain):
                names = " → ".join([*(one.file for one in reversed(chain)), os.path.basename(path)])
                raise PolicyError(f"the profiles extend each other in a circle: {names}")
            if len(chain) >= MAX_DEPTH:
                raise PolicyError(f"more than {MAX_DEPTH} profiles extend one another")
            parent = _read(path)
            if parent.mistakes and not _beside(child.path, path):
                # Whoever wrote `child` may be a stranger, who would be shown what stands in any file of the machine.
                shown = os.path.basename(path)
                raise PolicyError(f"{shown} is no policy that can be read; `safeexec policy check` of it says why")
        except PolicyError as error:
            child.mistakes.append(child.mistake("extends", str(error)))
            break
        chain.insert(0, parent)
    return chain


def _beside(child: str, path: str) -> bool:
    """Return whether a file is in the directory of the profile that extends it, or below, or among the user's."""
    folders = [os.path.dirname(os.path.realpath(child)), *map(os.path.realpath, directories())]
    return any(os.path.commonpath((folder, os.path.realpath(path))) == folder for folder in folders)
