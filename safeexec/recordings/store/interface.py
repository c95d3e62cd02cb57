"""The interface of a store, and its options."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import monotonic
from typing import Any, Protocol

from msgspec import Struct

from safeexec.errors import StoreError

LABEL_BYTES = 200
"""The most bytes of the label of a stored session, or of a tenant, as UTF-8."""
SUM_SECONDS = 5.0
"""Seconds after which the bytes of all sessions of a tenant are added up again."""


_Line = bytes  # `StoredSession` has a field of the name `bytes`
WAITS_BYTES = 64 << 10
"""The most bytes that a list shows of one session."""
WAITS = "waits"
"""The part that says what a session waits for, where it does: a list shows it."""


class StoreOptions(Struct, frozen=True, kw_only=True):
    """Place, tenant and limits of stored sessions."""

    at: str | os.PathLike[str]
    """A directory, which is made, or the URL of a PostgreSQL database (``postgresql://…``)."""
    tenant: str = "default"
    """The owner of these sessions: the labels of one tenant are not those of another."""
    session_mb: int = 256
    """The most MiB of one session. Its older parts go first; a step that has no room then is not done."""
    tenant_mb: int | None = None
    """The most MiB of all sessions of the tenant."""
    keep_days: float | None = None
    """Days after which a session that nobody uses is removed; None: never."""


class Claim(Struct, eq=False):
    """The ownership of one session, which this process has: from `claim` to `release`."""

    label: str
    generation: int
    """Number of this owner: each claim counts it up."""
    parts: dict[str, int]
    """The names of the session's parts → their bytes when it was claimed. A part is a text or a saved state that the
    store keeps under a name of its own: a file of a directory, rows of a table.
    """
    handle: Any = None
    """The store's own."""


class StoredSession(Struct, frozen=True):
    """One row of a list."""

    label: str
    bytes: int
    used: float
    """Time of the last write, seconds since 1970."""
    waits: _Line = b""
    """The step of it that waits, as a line of its recording."""


class Store(Protocol):
    """Keeps the sessions of one tenant. Methods may be called from any thread; all raise `StoreError`."""

    options: StoreOptions

    def claim(self, label: str) -> Claim:
        """Own a session from now on; it need not be there yet. Raises `SessionTaken`."""

    def release(self, claim: Claim) -> None:
        """Give up the ownership of a session."""

    def append(self, claim: Claim, part: str, at: int, data: bytes, *, sync: bool = False) -> None:
        """Write to a part from the byte `at` on, which is where it ends from then on; whole or not at all. `sync`: it
        is on the disk then, with all that was written before. Raises `SessionTaken` where another one owns it.
        """

    def read(self, claim: Claim, part: str) -> Iterator[bytes]:
        """Return the bytes of a part, piece by piece."""

    def list(self) -> Iterator[StoredSession]:
        """Return the sessions of the tenant."""

    def remove(self, claim: Claim, part: str | None = None) -> None:
        """Remove a part of a session; None: all of it, which is released."""

    def close(self) -> None:
        """Release every claim."""

    def forget(self) -> None:
        """Let go of it, in a fork of the process that opened it, without ending anything."""


def check_label(label: str, what: str = "label") -> None:
    """Raise ValueError for a text by which nothing can be stored."""
    try:
        size = len(label.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= LABEL_BYTES or "\0" in label:
        raise ValueError(f"{what}={label[:40]!r}: in a store it is a text of 1 to {LABEL_BYTES} bytes of UTF-8")


class TenantRoom:
    """Holds the sessions of a tenant to `tenant_mb`: their bytes are added up every few seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sum = (float("-inf"), 0)
        """Monotonic time of the last sum, and the bytes."""

    def check(self) -> None:
        """Raise `StoreError` where nothing more may be written."""
        options, (at, used) = self._store.options, self._sum
        if options.tenant_mb is None:
            return
        if monotonic() - at > SUM_SECONDS:
            used = sum(row.bytes for row in self._store.list())
            self._sum = monotonic(), used
        if used >= options.tenant_mb << 20:
            raise StoreError(
                f"the sessions of {options.tenant!r} take {used >> 20} MiB, and tenant_mb allows "
                f"{options.tenant_mb}: remove some (`Sandbox.forget`)"
            )
