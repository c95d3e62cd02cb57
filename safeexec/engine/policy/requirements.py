"""Reads and checks lines of `requirements`: a name of the index, versions, hashes; no path, no URL, no option."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from safeexec.engine.policy.settings import PolicyData

MOST = 500
"""Requirements of one policy."""
MOST_CHARACTERS = 32_000
"""The most characters of one requirement: a lock gives a hash for each wheel of a release, 75 characters."""
BROUGHT = "brought."
"""Begins the origins of modules that came with a requirement: its name and theirs follow. (Below ``requirements.``
stand lines of it as they are written, with dots of their own.)
"""
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"(?:===|==|~=|!=|<=|>=|<|>)[ ]*[A-Za-z0-9][A-Za-z0-9.*+!_-]{0,99}")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_FORM = "expected a name of the index and versions, such as humanize==4.9.0 or httpx[http2]>=0.27,<1"


class Requirement(NamedTuple):
    """One line. `written` is what a resolver reads, without the hashes."""

    name: str
    """As indexes compare names: ``ruamel-yaml`` for ``Ruamel.YAML``."""
    written: str
    hashes: tuple[str, ...]

    @property
    def line(self) -> str:
        return " ".join((self.written, *self.hashes))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> Requirement:
    """Return one requirement. Raises ValueError with what was expected."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{len(text)} characters, and a requirement has at most {MOST_CHARACTERS}")
    head, *hashes = text.split(" --")
    hashes = ["--" + item.strip(" ") for item in hashes]
    for item in hashes:
        if not _HASH.fullmatch(item):
            raise ValueError(f"{item[:40]!r} is no --hash=sha256: with 64 digits, and options are not taken")
    head = head.strip(" ")
    found = NAME.match(head)
    if found is None:
        raise ValueError(_FORM)
    rest = head[found.end() :].lstrip(" ")
    extras: list[str] = []
    if rest.startswith("["):
        inside, closed, rest = rest[1:].partition("]")
        extras = [item.strip(" ") for item in inside.split(",")]
        if not closed or not all(NAME.fullmatch(item) for item in extras):
            raise ValueError(_FORM)
    versions = [item.strip(" ") for item in rest.split(",")] if rest.strip(" ") else []
    if not all(_VERSION.fullmatch(item) for item in versions):
        raise ValueError(_FORM)
    written = found[0] + (f"[{','.join(extras)}]" if extras else "") + ",".join(versions)
    return Requirement(canonical(found[0]), written, tuple(hashes))


def mistakes(lines: Iterable[str]) -> Iterable[tuple[int, str]]:
    """Yield (position, what is wrong with it) of each requirement that cannot be taken."""
    known: dict[str, int] = {}
    hashed: list[bool] = []
    for at, line in enumerate(lines):
        if at == MOST:
            yield at, f"a policy has at most {MOST} requirements"
            return
        try:
            read = parse(line)
        except ValueError as error:
            yield at, f"{error!s}; found {line[:60]!r}"
            continue
        if read.name in known:
            yield at, f"{read.name} is required twice"
        known[read.name] = at
        hashed.append(bool(read.hashes))
        if hashed[0] != hashed[-1]:
            yield at, "where one requirement has a hash all need one, those of their dependencies as well"


def of_lock(text: str) -> list[str]:
    """Return the requirements of a lock file as pip-compile and uv write it. Each line is judged as any requirement."""
    lines = text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines()
    lines = [line.partition("#")[0] if line.lstrip().startswith("#") else line.partition(" #")[0] for line in lines]
    return [" ".join(line.split()) for line in lines if line.strip()]


def coming(policy: PolicyData) -> dict[str, str]:
    """Return the modules that come with a policy's requirements → the line of the policy.

    A sandbox that has fetched them has noted which they are (`api.packages`); of a policy alone they are
    expected to be called like their packages.
    """
    found, known = {}, set()
    for path, rule in policy.origins.items():
        if path.startswith(BROUGHT):
            name, _, module = path.removeprefix(BROUGHT).partition(".")
            found[module] = rule
            known.add(name)
    for line in policy.requirements:
        try:
            name = parse(line).name
        except ValueError:
            continue  # of a policy that is refused, and is looked at for its other mistakes
        if name not in known and (module := name.replace("-", "_")).isidentifier():
            found[module] = policy.origin(f"requirements.{line}")
    return found
