"""Messages between the replicas of one server, so that quotas, health and counters hold over all of them.

Each reports to a ledger, twice a second, what it holds and has used, and gets the reports of the others. Between two
reports each counts for itself: a quota may be exceeded by what the others use in that half second.
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
from safeexec.servers.labels import leave

if TYPE_CHECKING:
    from safeexec.servers.http.tenancy import Tenancy

BEAT_SECONDS = 0.5
"""How often a replica reports to the ledger."""
REPORT_SECONDS = 5.0
"""How long the ledger may take to answer, and how long a report counts."""


class ReplicaState(Struct, frozen=True):
    """The state of a replica, as it reports it to the ledger."""

    ready: bool
    metrics: bytes
    uses: Mapping[str, Use]
    """By the name of the tenant."""


Report = Callable[[str, ReplicaState], Awaitable[Mapping[str, ReplicaState]]]


class Ledger:
    """The reports of all replicas. One for them all."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[float, ReplicaState]] = {}

    def report(self, replica: str, state: ReplicaState) -> Mapping[str, ReplicaState]:
        """Keep the report of a replica, and return the recent ones of the others."""
        now = monotonic()
        self._states[replica] = now, state
        self._states = {name: one for name, one in self._states.items() if now - one[0] <= REPORT_SECONDS}
        return {name: one for name, (_, one) in self._states.items() if name != replica}


class Peers:
    """The other replicas, as one of them knows them."""

    def __init__(self, name: str, tenancy: Tenancy, report: Report) -> None:
        """`report` calls `Ledger.report`. It raises `SandboxError` where that fails, and is called again."""
        self.name = name
        self._tenancy, self._report = tenancy, report
        self._beating: asyncio.Task[None] | None = None
        self.others: Mapping[str, ReplicaState] = {}

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
        """Report once, and read the other reports; leave to the store what others wait for. Raises `SandboxError`."""
        tenants = self._tenancy.tenants
        state = ReplicaState(
            self._tenancy.ready,
            self._tenancy.metrics.text(),
            {tenant.name: tenant.use() for tenant in tenants},
        )
        try:
            async with asyncio.timeout(REPORT_SECONDS):
                self.others = await self._report(self.name, state)
        except TimeoutError as error:
            raise SandboxError(f"the other replicas cannot be reached: {error}") from None
        for tenant in tenants:
            uses = {name: one.uses[tenant.name] for name, one in self.others.items() if tenant.name in one.uses}
            tenant.elsewhere.take(uses)
            await leave(tenant, frozenset().union(*(use.wanted for use in uses.values())))
