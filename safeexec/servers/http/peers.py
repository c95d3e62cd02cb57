"""Messages between the replicas of one server, so that quotas, health and counters hold over all of them.

Each tells a ledger, twice a second, what it holds and has used, and hears that of the others. Between two times each
counts for itself: a quota may be exceeded by what the others use in that half second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from safeexec import SandboxError
from safeexec.servers.http.grants import Use

if TYPE_CHECKING:
    from safeexec.servers.http.tenancy import Tenancy

BEAT_SECONDS = 0.5
"""How often a replica tells the ledger."""
TELL_SECONDS = 5.0
"""How long the ledger may take to answer, and how long what a replica has told counts."""


class Told(Struct, frozen=True):
    """The state of a replica, as it tells the ledger."""

    ready: bool
    metrics: bytes
    uses: Mapping[str, Use]
    """By the name of the tenant."""


class Ledger:
    """Knows what all replicas have told. One for them all."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[float, Told]] = {}

    def tell(self, replica: str, told: Told) -> Mapping[str, Told]:
        """Note what a replica tells, and return what the others have told of late."""
        now = monotonic()
        self._told[replica] = now, told
        self._told = {name: one for name, one in self._told.items() if now - one[0] <= TELL_SECONDS}
        return {name: one for name, (_, one) in self._told.items() if name != replica}


class Peers:
    """The other replicas, as one of them knows them."""

    def __init__(self, name: str, tenancy: Tenancy, tell: Callable[[str, Told], Awaitable[Mapping[str, Told]]]) -> None:
        """`tell` reaches `Ledger.tell`. It raises `SandboxError` where that cannot be reached, and is called again."""
        self.name = name
        self._tenancy, self._tell = tenancy, tell
        self._beating: asyncio.Task[None] | None = None
        self.others: Mapping[str, Told] = {}

    def start(self) -> None:
        self._beating = asyncio.create_task(self._keep())

    def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()

    async def _keep(self) -> None:
        while True:
            with suppress(SandboxError):  # each goes on with what it knows
                await self.beat()
            await asyncio.sleep(BEAT_SECONDS)

    async def beat(self) -> None:
        """Tell the ledger and hear it once; leave to the store what is asked for elsewhere. Raises `SandboxError`."""
        tenants = self._tenancy.tenants
        told = Told(
            self._tenancy.ready,
            self._tenancy.metrics.text(),
            {tenant.name: tenant.use() for tenant in tenants},
        )
        try:
            async with asyncio.timeout(TELL_SECONDS):
                self.others = await self._tell(self.name, told)
        except TimeoutError as error:
            raise SandboxError(f"the other replicas cannot be reached: {error}") from None
        for tenant in tenants:
            uses = {name: one.uses[tenant.name] for name, one in self.others.items() if tenant.name in one.uses}
            tenant.hear(uses)
            await tenant.leave(frozenset().union(*(use.wanted for use in uses.values())))
