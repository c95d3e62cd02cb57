"""A PostgreSQL database as a store, by psycopg: two tables, made where they are not there.

Who owns a session is a number in its row, counted up by each claim, and each append writes only where the number is its
own, in one statement. A claim runs out by itself when its host says nothing for `LEASE_SECONDS`: a thread says so for
all sessions that are open here. A host that was stopped for longer finds its sessions taken over, and is told.

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
    Held,
    StoredSession,
    StoreOptions,
    TenantRoom,
    check_label,
)

R = TypeVar("R")

LEASE_SECONDS = 30.0
PATIENCE_SECONDS = 5.0
LOOK_SECONDS = 0.5
"""How often the thread looks whether the database answers."""
_TABLES = """
CREATE TABLE IF NOT EXISTS safeexec_sessions (
    tenant text, label text, generation bigint NOT NULL, owner text NOT NULL, until timestamptz NOT NULL,
    PRIMARY KEY (tenant, label));
CREATE TABLE IF NOT EXISTS safeexec_parts (
    tenant text, label text, part text, at bigint, data bytea NOT NULL, written timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, label, part, at),
    FOREIGN KEY (tenant, label) REFERENCES safeexec_sessions ON DELETE CASCADE)
"""
_CLAIM = """
INSERT INTO safeexec_sessions VALUES (%s, %s, 1, %s, now() + %s * interval '1 second')
ON CONFLICT (tenant, label) DO UPDATE
SET generation = safeexec_sessions.generation + 1, owner = excluded.owner, until = excluded.until
WHERE safeexec_sessions.until < now() OR safeexec_sessions.generation = %s RETURNING generation
"""
_APPEND = """
WITH mine AS (SELECT 1 FROM safeexec_sessions WHERE tenant = %s AND label = %s AND generation = %s FOR SHARE)
INSERT INTO safeexec_parts (tenant, label, part, at, data) SELECT %s, %s, %s, %s, %s FROM mine
WHERE %s = coalesce((SELECT at + length(data) FROM safeexec_parts WHERE tenant = %s AND label = %s AND part = %s
                     ORDER BY at DESC LIMIT 1), 0)
"""
"""Only where the part ends: a server that was killed has lost what it had not written to its disk."""


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
        """Since when it is used, and its descriptor."""
        self._held: dict[str, Held] = {}
        self._own: dict[str, int] = {}
        """The numbers of the claims that could not be given back."""
        self._room = TenantRoom(self)
        self._pid = os.getpid()
        self._ended = threading.Event()
        self._do(lambda run: run(_TABLES), sync=True)
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

    def _do(self, use: Callable[[Callable[..., Any]], R], *, sync: bool = False) -> R:
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

                        def run(query: str, *values: Any) -> Any:
                            return cursor.execute(query, values or None)

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
                with suppress(OSError), socket.socket(fileno=os.dup(busy[1])) as other:
                    other.shutdown(socket.SHUT_RDWR)
            elif monotonic() - renewed > LEASE_SECONDS / 3 and self._held:
                renewed = monotonic()
                with suppress(StoreError):  # the next append says so
                    self._renew()

    def _renew(self) -> None:
        held = [(one.label, one.generation) for one in list(self._held.values())]
        labels, generations = [label for label, _ in held], [generation for _, generation in held]
        self._do(
            lambda run: run(
                "UPDATE safeexec_sessions SET until = now() + %s * interval '1 second' "
                "FROM unnest(%s::text[], %s::bigint[]) AS mine (label, generation) WHERE tenant = %s "
                "AND safeexec_sessions.label = mine.label AND safeexec_sessions.generation = mine.generation",
                *(LEASE_SECONDS, labels, generations, self.options.tenant),
            )
        )

    # The five

    def claim(self, label: str) -> Held:
        check_label(label)
        tenant, owner = self.options.tenant, f"process {os.getpid()} of {socket.gethostname()}"

        def claimed(run: Callable[..., Any]) -> Held:
            row = run(_CLAIM, tenant, label, owner, LEASE_SECONDS, self._own.pop(label, 0)).fetchone()
            if row is None:
                (who,) = run(
                    "SELECT owner FROM safeexec_sessions WHERE tenant = %s AND label = %s", tenant, label
                ).fetchone() or ("a process",)
                raise SessionTaken(
                    f"the session {label!r} is open elsewhere: {one_line(who, 200)}; close it there, or wait "
                    f"{LEASE_SECONDS:g} s after its end"
                )
            parts = run(
                "SELECT part, max(at + length(data)) FROM safeexec_parts WHERE tenant = %s AND label = %s "
                "GROUP BY part",
                *(tenant, label),
            ).fetchall()
            return Held(label, row[0], dict(parts), None)

        held = self._do(claimed, sync=True)
        self._held[label] = held
        return held

    def release(self, held: Held) -> None:
        if self._held.get(held.label) is not held:
            return
        del self._held[held.label]
        try:
            self._do(
                lambda run: run(
                    "UPDATE safeexec_sessions SET until = now() - interval '1 second' "
                    "WHERE tenant = %s AND label = %s AND generation = %s",
                    *(self.options.tenant, held.label, held.generation),
                )
            )
        except StoreError:  # it runs out, or is taken again here
            self._own[held.label] = held.generation

    def append(self, held: Held, part: str, at: int, data: bytes, *, sync: bool = False) -> None:
        if data:
            self._room.check()
        mine = self.options.tenant, held.label

        def write(run: Callable[..., Any]) -> None:
            # What another owner, or an append that was given up, has left from there on.
            run("DELETE FROM safeexec_parts WHERE tenant = %s AND label = %s AND part = %s AND at >= %s "
                "AND EXISTS (SELECT 1 FROM safeexec_sessions WHERE tenant = %s AND label = %s AND generation = %s)",
                *(*mine, part, at, *mine, held.generation))  # fmt: skip
            if run(_APPEND, *mine, held.generation, *mine, part, at, data, at, *mine, part).rowcount:
                return
            owned = "SELECT 1 FROM safeexec_sessions WHERE tenant = %s AND label = %s AND generation = %s"
            if run(owned, *mine, held.generation).fetchone() is None:
                raise SessionTaken(f"another process has taken over the session {held.label!r}")
            raise StoreError(f"the database has lost the end of {held.label!r}/{part}: its server was killed")

        self._do(write, sync=sync)

    def read(self, held: Held, part: str) -> Iterator[bytes]:
        at = 0
        where = self.options.tenant, held.label, part
        while True:
            rows = self._do(
                lambda run, at=at: run(  # type: ignore[misc]
                    "SELECT at, data FROM safeexec_parts WHERE tenant = %s AND label = %s AND part = %s AND at >= %s "
                    "AND length(data) > 0 ORDER BY at LIMIT 64",
                    *(*where, at),
                ).fetchall()
            )
            if not rows:
                return
            for start, data in rows:
                if start != at:
                    raise StoreError(f"the part {part!r} of the session {held.label!r} is damaged at byte {at}")
                at += len(data)
                yield bytes(data)

    def list(self) -> Iterator[StoredSession]:
        yield from self._do(
            lambda run: [
                StoredSession(label, size, used, bytes(waits or b""))
                for label, size, used, waits in run(
                    "SELECT label, coalesce(sum(length(data)), 0)::bigint, "
                    "coalesce(extract(epoch FROM max(written)), 0)::float, "
                    "(SELECT substr(w.data, 1, %s) FROM safeexec_parts w WHERE w.tenant = s.tenant "
                    "AND w.label = s.label AND w.part = %s AND w.at = 0) FROM safeexec_sessions s "
                    "LEFT JOIN safeexec_parts USING (tenant, label) WHERE tenant = %s GROUP BY tenant, label",
                    *(WAITS_BYTES, WAITS, self.options.tenant),
                )
            ]
        )

    def remove(self, held: Held, part: str | None = None) -> None:
        mine = self.options.tenant, held.label, held.generation
        owned = "(SELECT 1 FROM safeexec_sessions WHERE tenant = %s AND label = %s AND generation = %s FOR SHARE)"
        if part is not None:
            self._do(
                lambda run: run(
                    f"DELETE FROM safeexec_parts WHERE tenant = %s AND label = %s AND part = %s AND EXISTS {owned}",
                    *(*mine[:2], part, *mine),
                )
            )
            return
        self._held.pop(held.label, None)
        self._do(
            lambda run: run(
                "DELETE FROM safeexec_sessions WHERE tenant = %s AND label = %s AND generation = %s", *mine
            ),
            sync=True,
        )

    def close(self) -> None:
        if self._pid != os.getpid() or self._ended.is_set():
            return
        for held in list(self._held.values()):
            self.release(held)
        self._ended.set()
        with self._use:
            if self._connection is not None:
                with suppress(self._psycopg.Error):
                    self._connection.close()

    def forget(self) -> None:
        """To close the connection here would end that of the other process: it stays as it is."""
