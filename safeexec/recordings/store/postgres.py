"""A PostgreSQL database as a store, by psycopg: two tables, made where they are not there.

Who owns a session is a number in its row, counted up by each claim, and each append writes only where the number is its
own, in one statement. A claim runs out by itself when its host says nothing for `LEASE_SECONDS`: a thread says so for
all sessions that are open here. A host that was stopped for longer finds its sessions taken over, and gets
`SessionTaken`.

One connection serves all sessions of a sandbox. What takes longer than `PATIENCE_SECONDS` is given up: the thread that
renews the claims ends the connection, and the next use makes another one.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from time import monotonic
from typing import Any, TypeVar

from safeexec.common.text import one_line
from safeexec.errors import SessionTaken, StoreError
from safeexec.recordings.store.interface import (
    WAITS,
    WAITS_BYTES,
    Claim,
    StoredSession,
    StoreOptions,
    TenantRoom,
    check_label,
)

R = TypeVar("R")

LEASE_SECONDS = 30.0
PATIENCE_SECONDS = 5.0
LOOK_SECONDS = 0.5
"""Seconds between two looks of the thread whether the database answers."""
_TABLES = """
CREATE TABLE IF NOT EXISTS safeexec_sessions (
    tenant text, label text, generation bigint NOT NULL, owner text NOT NULL, until timestamptz NOT NULL,
    PRIMARY KEY (tenant, label));
CREATE TABLE IF NOT EXISTS safeexec_parts (
    tenant text, label text, part text, at bigint, data bytea NOT NULL, written timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, label, part, at),
    FOREIGN KEY (tenant, label) REFERENCES safeexec_sessions ON DELETE CASCADE)
"""
_SESSION = "tenant = %(tenant)s AND label = %(label)s"
_OWNED = f"SELECT 1 FROM safeexec_sessions WHERE {_SESSION} AND generation = %(generation)s"
_CLAIM = """
INSERT INTO safeexec_sessions
VALUES (%(tenant)s, %(label)s, 1, %(owner)s, now() + %(seconds)s * interval '1 second')
ON CONFLICT (tenant, label) DO UPDATE
SET generation = safeexec_sessions.generation + 1, owner = excluded.owner, until = excluded.until
WHERE safeexec_sessions.until < now() OR safeexec_sessions.generation = %(own)s RETURNING generation
"""
_RELEASE = f"""
UPDATE safeexec_sessions SET until = now() - interval '1 second' WHERE {_SESSION} AND generation = %(generation)s
"""
_CUT = f"DELETE FROM safeexec_parts WHERE {_SESSION} AND part = %(part)s AND at >= %(at)s AND EXISTS ({_OWNED})"
"""Removes what another owner, or an append that was given up, has left from there on."""
_APPEND = f"""
WITH mine AS ({_OWNED} FOR SHARE)
INSERT INTO safeexec_parts (tenant, label, part, at, data)
SELECT %(tenant)s, %(label)s, %(part)s, %(at)s, %(data)s FROM mine
WHERE %(at)s = coalesce((SELECT at + length(data) FROM safeexec_parts WHERE {_SESSION} AND part = %(part)s
                         ORDER BY at DESC LIMIT 1), 0)
"""
"""Only where the part ends: a server that was killed has lost what it had not written to its disk. `FOR SHARE` holds
back a claim, which changes the row, until the bytes are there.
"""
_RENEW = """
UPDATE safeexec_sessions SET until = now() + %(seconds)s * interval '1 second'
FROM unnest(%(labels)s::text[], %(generations)s::bigint[]) AS mine (label, generation)
WHERE tenant = %(tenant)s AND safeexec_sessions.label = mine.label AND safeexec_sessions.generation = mine.generation
"""
_LIST = """
SELECT label, coalesce(sum(length(data)), 0)::bigint, coalesce(extract(epoch FROM max(written)), 0)::float,
    (SELECT substr(w.data, 1, %(most)s) FROM safeexec_parts w
     WHERE w.tenant = s.tenant AND w.label = s.label AND w.part = %(part)s AND w.at = 0)
FROM safeexec_sessions s LEFT JOIN safeexec_parts USING (tenant, label) WHERE tenant = %(tenant)s
GROUP BY tenant, label
"""
Run = Callable[..., Any]
"""Runs a statement with these values, and that of the tenant."""


class PostgresStore:
    """Sessions in a database, which many machines may share."""

    def __init__(self, options: StoreOptions) -> None:
        try:
            self._psycopg: Any = import_module("psycopg")
        except ImportError:
            raise StoreError("a PostgreSQL store needs psycopg: pip install 'safeexec[postgres]'") from None
        self.options = options
        self._connection: Any = None
        self._use = threading.RLock()
        """Held by who uses the connection."""
        self._busy: tuple[float, int] | None = None
        """Monotonic time since which the connection is used, and its descriptor."""
        self._claims: dict[str, Claim] = {}
        self._own: dict[str, int] = {}
        """The numbers of the claims that could not be given back."""
        self._room = TenantRoom(self)
        self._pid = os.getpid()
        self._ended = threading.Event()
        self._do(lambda run: [run(table) for table in _TABLES.split(";")], sync=True)
        threading.Thread(target=self._watch, name="safeexec-store", daemon=True).start()

    # The connection

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            # A host that is stopped in a transaction would keep its locks, and nobody could take over.
            late = int(PATIENCE_SECONDS * 1000)
            self._connection = self._psycopg.connect(
                os.fspath(self.options.at),
                autocommit=True,
                connect_timeout=int(PATIENCE_SECONDS),
                options=f"-c statement_timeout={late} -c idle_in_transaction_session_timeout={late}",
            )
        return self._connection

    def _do(self, use: Callable[[Run], R], *, sync: bool = False) -> R:
        """Use the connection in one transaction, which is on the disk at its end where `sync`."""
        if self._pid != os.getpid():
            raise StoreError("the store was opened before the process forked: open the sandbox in each worker")
        try:
            with self._use:
                connection = self._connected()
                self._busy = monotonic(), connection.fileno()
                try:
                    with connection.transaction(), connection.cursor() as cursor:
                        cursor.execute(f"SET LOCAL synchronous_commit = {'on' if sync else 'off'}")

                        def run(query: str, **values: Any) -> Any:
                            return cursor.execute(query, {"tenant": self.options.tenant, **values})

                        return use(run)
                finally:
                    self._busy = None
        except (self._psycopg.Error, OSError) as error:
            raise StoreError(f"the database does not do it: {one_line(str(error), 300)}") from None

    def _watch(self) -> None:
        """Give up what the database does not answer, and renew the claims."""
        renewed = monotonic()
        while not self._ended.wait(LOOK_SECONDS):
            busy = self._busy
            if busy is not None and monotonic() - busy[0] > PATIENCE_SECONDS + 1:
                # Of a copy, as closing it leaves psycopg its own; who waits in libpq finds the connection at its end.
                with suppress(OSError), socket.socket(fileno=os.dup(busy[1])) as other:
                    other.shutdown(socket.SHUT_RDWR)
            elif monotonic() - renewed > LEASE_SECONDS / 3 and self._claims:
                renewed = monotonic()
                with suppress(StoreError):  # the next append says so
                    self._renew()

    def _renew(self) -> None:
        claims = list(self._claims.values())
        labels, generations = [one.label for one in claims], [one.generation for one in claims]
        self._do(lambda run: run(_RENEW, seconds=LEASE_SECONDS, labels=labels, generations=generations))

    # The methods of a store

    def claim(self, label: str) -> Claim:
        check_label(label)
        owner = f"process {os.getpid()} of {socket.gethostname()}"

        def claimed(run: Run) -> Claim:
            own = self._own.pop(label, 0)
            row = run(_CLAIM, label=label, owner=owner, seconds=LEASE_SECONDS, own=own).fetchone()
            if row is None:
                found = run(f"SELECT owner FROM safeexec_sessions WHERE {_SESSION}", label=label).fetchone()
                (who,) = found or ("a process",)
                raise SessionTaken(
                    f"the session {label!r} is open elsewhere: {one_line(who, 200)}; close it there, or wait "
                    f"{LEASE_SECONDS:g} s after its end"
                )
            sizes = f"SELECT part, max(at + length(data)) FROM safeexec_parts WHERE {_SESSION} GROUP BY part"
            return Claim(label, row[0], dict(run(sizes, label=label).fetchall()), None)

        claim = self._do(claimed, sync=True)
        self._claims[label] = claim
        return claim

    def release(self, claim: Claim) -> None:
        if self._claims.get(claim.label) is not claim:
            return
        del self._claims[claim.label]
        try:
            self._do(lambda run: run(_RELEASE, **_of(claim)))
        except StoreError:  # it runs out, or is taken again here
            self._own[claim.label] = claim.generation

    def append(self, claim: Claim, part: str, at: int, data: bytes, *, sync: bool = False) -> None:
        if data:
            self._room.check()
        values = {**_of(claim), "part": part, "at": at}

        def write(run: Run) -> None:
            run(_CUT, **values)
            if run(_APPEND, **values, data=data).rowcount:
                return
            if run(_OWNED, **_of(claim)).fetchone() is None:
                raise SessionTaken(f"another process has taken over the session {claim.label!r}")
            raise StoreError(f"the database has lost the end of {claim.label!r}/{part}: its server was killed")

        self._do(write, sync=sync)

    def read(self, claim: Claim, part: str) -> Iterator[bytes]:
        at = 0
        pieces = (
            f"SELECT at, data FROM safeexec_parts WHERE {_SESSION} AND part = %(part)s AND at >= %(at)s "
            "AND length(data) > 0 ORDER BY at LIMIT 64"
        )
        while rows := self._do(
            lambda run, at=at: run(pieces, label=claim.label, part=part, at=at).fetchall()  # type: ignore[misc]
        ):
            for start, data in rows:
                if start != at:
                    raise StoreError(f"the part {part!r} of the session {claim.label!r} is damaged at byte {at}")
                at += len(data)
                yield bytes(data)

    def list(self) -> Iterator[StoredSession]:
        rows = self._do(lambda run: run(_LIST, most=WAITS_BYTES, part=WAITS).fetchall())
        for label, size, used, waits in rows:
            yield StoredSession(label, size, used, bytes(waits or b""))

    def remove(self, claim: Claim, part: str | None = None) -> None:
        if part is not None:
            query = f"DELETE FROM safeexec_parts WHERE {_SESSION} AND part = %(part)s AND EXISTS ({_OWNED} FOR SHARE)"
            self._do(lambda run: run(query, **_of(claim), part=part))
            return
        self._claims.pop(claim.label, None)
        query = f"DELETE FROM safeexec_sessions WHERE {_SESSION} AND generation = %(generation)s"
        self._do(lambda run: run(query, **_of(claim)), sync=True)

    def close(self) -> None:
        if self._pid != os.getpid() or self._ended.is_set():
            return
        for claim in list(self._claims.values()):
            self.release(claim)
        self._ended.set()
        with self._use:
            if self._connection is not None:
                with suppress(self._psycopg.Error):
                    self._connection.close()

    def forget(self) -> None:
        """Leave the connection as it is: to close it here would end that of the other process."""


def _of(claim: Claim) -> dict[str, Any]:
    return {"label": claim.label, "generation": claim.generation}
