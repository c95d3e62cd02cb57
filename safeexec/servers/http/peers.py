"""Messages between the replicas of one server, so that quotas, health and counters hold over all of them.

Each tells a ledger, twice a second, what it holds and has used since, and hears what the others hold and what is left.
Between two times each counts for itself: a quota may be exceeded by what the others use in that half second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from safeexec import SandboxError
from safeexec.servers.http.grants import PERIODS, Bucket, Share, Use

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


class Heard(Struct, frozen=True):
    """The answer of the ledger to a replica."""

    others: Mapping[str, Told]
    shares: Mapping[str, Share]


class Ledger:
    """Knows what all replicas have told. One for them all; a new one begins with full quotas."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str, int], Bucket] = {}
        """By tenant, quota and amount: while a server is replaced some replicas may still have other quotas."""
        self._told: dict[str, tuple[float, Told]] = {}

    def tell(self, replica: str, told: Told) -> Heard:
        """Note what a replica tells; what it is to hear."""
        now = monotonic()
        self._told[replica] = now, told
        for name, (at, _) in [*self._told.items()]:
            if now - at > TELL_SECONDS:
                del self._told[name]
        others = {name: one for name, (_, one) in self._told.items() if name != replica}
        shares = {}
        for tenant, use in told.uses.items():
            there = [one.uses[tenant] for one in others.values() if tenant in one.uses]
            shares[tenant] = Share(
                sum(one.sessions for one in there),
                sum(one.memory_mb for one in there),
                {name: self._left(tenant, name, amount, use.used[name], now) for name, amount in use.allowed.items()},
            )
        return Heard(others, shares)

    def _left(self, tenant: str, quota: str, amount: int, used: float, now: float) -> float:
        bucket = self._buckets.setdefault((tenant, quota, amount), Bucket(amount, PERIODS[quota], now))
        return bucket.left_after(used, now)


class Peers:
    """The other replicas, as one of them knows them."""

    def __init__(self, name: str, tenancy: Tenancy, tell: Callable[[str, Told], Awaitable[Heard]]) -> None:
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
                heard = await self._tell(self.name, told)
        except (SandboxError, TimeoutError) as error:
            for tenant in tenants:
                tenant.untold(told.uses[tenant.name])
            raise SandboxError(f"the other replicas cannot be reached: {error}") from None
        self.others = heard.others
        for tenant in tenants:
            tenant.hear(heard.shares[tenant.name])
        for tenant in tenants:
            uses = [one.uses[tenant.name] for one in heard.others.values() if tenant.name in one.uses]
            for identity in tenant.service.open_of(frozenset().union(*(use.wanted for use in uses))):
                if not tenant.service.sessions[identity].calls:
                    with suppress(SandboxError):
                        await tenant.service.end(identity)
