"""Opens sessions by their label: those of a server's store, which outlive it, and those of the client of a pipe."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from contextlib import ExitStack, suppress
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from safeexec import AsyncSandbox, AsyncSession, SandboxError, SessionClosed, SessionTaken
from safeexec.remote.methods import LABELLED, TIGHTENED, about_label
from safeexec.servers.service import ClientSession, Service

MOVE_SECONDS, MOVE_LOOK_SECONDS = 45.0, 0.1
"""How long a replica may take to leave a session that another one needs, where the call does not say (the claim of a
dead one in a database runs out after 30 s), and how often it is asked for.
"""


class StoredName(NamedTuple):
    """A session of the store, as its id names it: whoever has the id can open it again, with what it was opened with.

    What stands before several servers sends the same label to the same one: it is the first part of the id.
    """

    label: str
    policy: str | None = None
    tightened: dict[str, Any] = {}

    def identity(self) -> str:
        how = msgspec.json.encode((self.policy, self.tightened)) if self.policy or self.tightened else b""
        return about_label(self.label) + (f".{urlsafe_b64encode(how).decode().rstrip('=')}" if how else "")

    @classmethod
    def of(cls, identity: str) -> StoredName | None:
        """Return what an id says, or None where it names no label. A client may have written it."""
        label, _, how = identity.partition(".")
        if not label.startswith(LABELLED):
            return None
        try:
            policy, tightened = msgspec.json.decode(_unspelt(how), type=_Opening) if how else (None, {})
            named = cls(_unspelt(label.removeprefix(LABELLED)).decode(), policy, tightened)
        except ValueError:
            return None
        return named if named.tightened.keys() <= {*TIGHTENED} else None


_Opening = tuple[str | None, dict[str, int | float | str]]


def _unspelt(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


async def open_stored(service: Service, named: StoredName, **beginning: Any) -> str:
    """Open a session of the store, or go on with the one that is open; one that is open under another policy, or with
    other tools of a client, is left to the store first. Its id says what it takes to open it again.

    Raises `SessionTaken` where another process has it open, and no replica that leaves it in time.
    """
    sandbox = await service.sandbox(named.policy)
    await leave(service, {named.label}, but=sandbox)
    key = sandbox, named.label
    has_place = service.ids_by_label.get(key) in service.sessions
    with ExitStack() if has_place else service.reserve(sandbox.policy, named.tightened.get("memory_mb")) as place:
        session = await _from_store(service, sandbox, named, beginning)
        identity = service.ids_by_label.get(key)
        if identity is None or identity not in service.sessions:
            identity = service.ids_by_label[key] = service.hold(session, place, named.identity())
    return identity


async def _from_store(
    service: Service, sandbox: AsyncSandbox, named: StoredName, beginning: dict[str, Any]
) -> AsyncSession:
    """Open a session of the store as soon as no other replica has it open, or wait `queue_seconds` for that."""
    deadline = monotonic() + beginning.get("queue_seconds", MOVE_SECONDS)
    service.wanted[named.label] += 1
    try:
        while True:
            try:
                return await sandbox.session_for(named.label, **named.tightened, **beginning)
            except SessionTaken:
                if not service.replica or monotonic() >= deadline:
                    raise
            await asyncio.sleep(MOVE_LOOK_SECONDS)
    finally:
        service.wanted -= Counter([named.label])


async def open_labelled(
    service: Service, sandbox: AsyncSandbox, label: str, begin: Callable[[], Awaitable[AsyncSession]], **tightened: Any
) -> str:
    """Return the id of the open session of a label; where there is none, of what `begin` opens for all callers of
    that time. A sandbox without a store has it.
    """
    key = sandbox, label
    async with service.label_locks.setdefault(key, asyncio.Lock()):
        try:
            await sandbox.session_for(label, new=False, **tightened)
        except SessionClosed:
            service.sessions.pop(service.ids_by_label.pop(key, ""), None)
            service.ids_by_label[key] = service.hold(await begin(), ExitStack())
        return service.ids_by_label[key]


async def reach(service: Service, identity: str) -> ClientSession:
    """Return a session by its id, from the store where it is not open. Raises `SessionClosed`."""
    is_stored = service.store is not None and identity not in service.sessions
    if is_stored and (named := StoredName.of(identity)) is not None:
        await open_stored(service, named, new=False)
    return service.find(identity)


async def leave(service: Service, labels: Collection[str], but: AsyncSandbox | None = None) -> None:
    """Leave the sessions of these labels to the store, but for those that a call uses, and those of one sandbox."""
    for (sandbox, label), identity in [*service.ids_by_label.items()]:
        held = service.sessions.get(identity)
        if label in labels and sandbox is not but and held is not None and not held.calls:
            with suppress(SandboxError):
                await service.end(identity)
