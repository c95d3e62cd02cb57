"""Tenants of a server: their tokens and quotas, and how a token file is read. Callers pass the time.

A token file is one word, the token of the only tenant, or names tenants and what each may use:

    alice: a-token-of-at-least-16-characters
    bob:
      token: another-token-of-at-least-16
      policies: [calculator, standard]
      sessions: 20
      memory_mb: 8192
      cpu_seconds_per_hour: 3600
      requests_per_minute: 600
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from safeexec import SandboxError
from safeexec.common.matching import suggestion
from safeexec.common.text import one_line
from safeexec.untrusted.below import read_named
from safeexec.untrusted.yaml_text import YamlText, read_yaml

MAX_FILE = 1 << 20
MIN_TOKEN, MAX_TOKEN = 16, 1000
Amount = Annotated[int, Meta(ge=1)]


class Grant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rights and quotas of one tenant; None: no bound of its own."""

    token: Annotated[str, Meta(min_length=MIN_TOKEN, max_length=MAX_TOKEN)]
    policies: Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    """Names of policies that the server offers, the tenant's default first."""
    sessions: Amount | None = None
    """Sessions at once, running programs and paused sandboxes included."""
    memory_mb: Amount | None = None
    """The memory limits of these sessions together, MiB."""
    cpu_seconds_per_hour: Amount | None = None
    requests_per_minute: Amount | None = None
    store_mb: Amount | None = None
    """The room of its sessions in the server's store, MiB."""


def read_tenants(path: str | os.PathLike[str]) -> dict[str, Grant]:
    """Return the tenants of a file, by name; of a file that is one word, one tenant with an empty name. Raises
    `SandboxError`, which names each mistake with its line, and no token, and OSError.
    """
    tenants: dict[str, Grant] = {}
    owners: dict[str, str] = {}
    wrong = []
    document = _document(path)
    for name, entry in document.content.items():
        line = f"{document.marks[name].line}: " if name in document.marks else " "
        try:
            grant = msgspec.convert({"token": entry} if isinstance(entry, str) else entry, Grant)
        except msgspec.ValidationError as error:
            wrong.append(f"{line}{_wrong(name, entry, str(error))}")
            continue
        if (owner := owners.setdefault(grant.token, name)) != name:
            wrong.append(f"{line}{name}: it has the same token as {owner}")
        tenants[name] = grant
    if not document.content:
        wrong.append(" it names no tenant")
    if wrong:
        raise SandboxError("\n".join(f"{os.fspath(path)}:{one}" for one in wrong))
    return tenants


def _wrong(name: str, entry: Any, error: str) -> str:
    """Return what is wrong with one tenant, without the token."""
    keys = Grant.__struct_fields__
    given = entry if isinstance(entry, dict) else {"token": entry}
    key = next((str(key) for key in given if key not in keys), None)
    if key is not None:
        meant = suggestion(key, keys)
        shown = f" {one_line(key)!r}" if meant or len(key) < MIN_TOKEN else ""  # a token may stand in the wrong place
        return f"{name}: unknown key{shown}{meant or '; the keys are ' + ', '.join(keys)}"
    field = next((field for field in keys if f"`$.{field}" in error), "token")
    wanted = f"a token has {MIN_TOKEN} to {MAX_TOKEN} characters"
    if field == "token" and isinstance(given.get("token"), int | float):
        wanted = "the token is a number: write it in quotes"
    if field == "policies":
        wanted = "policies is a list of names, at least one"
    elif field != "token":
        wanted = f"{field} is a whole number of at least 1"
    return f"{name}: {wanted}" if name else wanted


def _document(path: str | os.PathLike[str]) -> YamlText:
    text = read_named(path, max_bytes=MAX_FILE).decode("utf-8", "replace")
    if not text.strip():
        raise SandboxError(f"{os.fspath(path)}: it is empty: write one word, the token, or names with a token each")
    if len(text.split()) == 1 and ":" not in text and text.isascii():
        return YamlText({"": text.strip()}, {}, [], True)
    document = read_yaml(text, "a token file")
    if document.problems:
        places = [f"{os.fspath(path)}:{one.mark.line}:{one.mark.column}: {one.text}" for one in document.problems]
        raise SandboxError("\n".join(places))
    return document


def read_token(path: str | os.PathLike[str]) -> str:
    """Return the token of a file for a server that has one tenant and no quotas. Raises as `read_tenants`."""
    (grant, *more) = read_tenants(path).values()
    if more or grant != Grant(token=grant.token):
        raise SandboxError(f"{os.fspath(path)}: this server has one tenant and no quotas: give a file with one token")
    return grant.token


class Tokens:
    """Finds whose a token is, in a time that says nothing of how much of it was right."""

    def __init__(self, entries: Iterable[tuple[str, Any]]) -> None:
        self._entries = [(_digest(token.encode()), owner) for token, owner in entries]

    def owner(self, token: bytes) -> Any:
        """Return whose `token` is, or None. One that is longer than any that counts is not looked at."""
        if len(token) > MAX_TOKEN:
            return None
        given, found = _digest(token), None
        for digest, owner in self._entries:
            if hmac.compare_digest(digest, given):
                found = owner
        return found


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


PERIODS = {"requests_per_minute": 60, "cpu_seconds_per_hour": 3600}
"""The quotas of a grant that are given evenly, each with its seconds."""


class Bucket:
    """So much per period, given evenly. What was used may exceed it once: the wait is then so much longer."""

    def __init__(self, amount: int, period: float, now: float) -> None:
        self.amount, self._rate = amount, amount / period
        self.level: float = amount
        self._at = now
        self.used = 0.0
        """All that was used here, ever."""

    def wait(self, now: float) -> float:
        """Return how many seconds it takes until one unit is there, 0 if one is."""
        self.level = min(self.amount, self.level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, 1 - self.level) / self._rate

    def use(self, amount: float) -> None:
        self.level -= amount
        self.used += amount


class Use(Struct, frozen=True):
    """A tenant's share of one replica."""

    sessions: int
    memory_mb: int
    used: Mapping[str, float]
    """All that was used there of each quota that is bounded, by the names of `PERIODS`."""
    left: Mapping[str, float]
    """The levels of its buckets, which know what was used anywhere."""
    wanted: frozenset[str]
    """Labels of sessions in the store that are asked for there, and that another replica has open."""


class UsedElsewhere:
    """A tenant's share of the other replicas, as they report it. What was used there is taken from the buckets here."""

    def __init__(self, buckets: Mapping[str, Bucket]) -> None:
        self._buckets = buckets
        self._counted: dict[str, Mapping[str, float]] = {}
        """Replica → what it had used when it reported last: the buckets have that."""
        self.sessions = self.memory_mb = 0

    def take(self, reports: Mapping[str, Use]) -> None:
        """Take in the reports, by the names of the replicas. Before the first one the lowest bucket level counts: what
        was used long ago is no longer missing from it.
        """
        for quota, bucket in self._buckets.items():
            uses = {replica: use for replica, use in reports.items() if quota in use.used}
            if not self._counted:
                bucket.level = min([bucket.level, *(use.left[quota] for use in uses.values())])
                continue
            for replica, use in uses.items():
                bucket.level -= use.used[quota] - self._counted.get(replica, {}).get(quota, 0)
        self._counted |= {replica: use.used for replica, use in reports.items()}
        self.sessions = sum(use.sessions for use in reports.values())
        self.memory_mb = sum(use.memory_mb for use in reports.values())
