"""Stores, in which sessions outlive the host: each keeps the parts of a session, lines and saved states, and its owner.

A store does five things: `claim` a session for this process, `append` to a part of it, `read` one, `list` the sessions,
and `remove` them. There are two: a directory (`directory.py`) and a PostgreSQL database (`postgres.py`).
"""

from __future__ import annotations

import os

from safeexec.recordings.store.interface import Store, StoredSession, StoreOptions, check_label

__all__ = ["Store", "StoreOptions", "StoredSession", "open_store"]
SCHEMES = ("postgresql://", "postgres://")


def open_store(store: str | os.PathLike[str] | StoreOptions) -> Store:
    """Return the store at a place. Raises `StoreError`."""
    options = store if isinstance(store, StoreOptions) else StoreOptions(at=store)
    check_label(options.tenant, "tenant")
    if isinstance(options.at, str) and options.at.startswith(SCHEMES):
        from safeexec.recordings.store.postgres import PostgresStore  # with psycopg, an extra

        return PostgresStore(options)
    from safeexec.recordings.store.directory import DirectoryStore

    return DirectoryStore(options)
