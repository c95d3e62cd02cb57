"""The state of one server: tenants with their sandboxes and quotas, the work that runs, and how all of it ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from safeexec import AsyncSession, CommandResult, Policy, PolicyError, Result, SandboxError
from safeexec.common.matching import suggestion
from safeexec.servers.account import MAX_UNTAKEN, ClientAccount
from safeexec.servers.http.grants import PERIODS, Bucket, Grant, Tokens, Use, UsedElsewhere
from safeexec.servers.http.idempotency import Answers
from safeexec.servers.http.metrics import Metrics
from safeexec.servers.http.requests import MAX_UNDER_WAY, RefusedRequest, full
from safeexec.servers.readiness import Findings, examine
from safeexec.servers.service import ClientSession, Service, log

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

PROGRAMS = 2 * (os.cpu_count() or 1)
"""Programs of one tenant that run at once; the others wait for their turn."""
SPARE = min(4, PROGRAMS)
"""Children that are kept ready in each sandbox."""
MAX_WAITING = 1000
"""Programs of one tenant that may wait."""
QUEUE_SECONDS = 60.0
"""How long a program waits for its turn at most."""
GRACE_SECONDS = 5.0
"""How long the work that runs may go on after the signal to stop."""


class Tenant(Service):
    """One tenant of a running server. A sandbox of its own for each policy: no two tenants share a zygote."""

    def __init__(self, grant: Grant, offers: Service, metrics: Metrics, name: str = "") -> None:
        """Raises `PolicyError` for a policy that the server does not offer."""
        self.grant, self.name = grant, name
        allowed = [offers.default, *offers.policies] if grant.policies is None else grant.policies
        default, *others = [_offered(offers, policy, name) for policy in allowed]
        store = offers.store
        if store is not None:
            store = replace(store, tenant=name or store.tenant, tenant_mb=grant.store_mb or store.tenant_mb)
        super().__init__(
            default,
            others,
            record=offers.record,
            replica=offers.replica,
            store=store,
            durable=offers.durable,
            **{"spare": SPARE, **offers.sandbox_options},
        )
        self.metrics = metrics
        self.answers = Answers()
        self.boxes: dict[str, Any] = {}
        """The sandboxes of E2B's clients (`safeexec.servers.http.e2b_sandboxes`), by their ids."""
        self.body_bytes = 0
        """Bytes of the bodies that arrive, or of which what they ask for is being done."""
        self.account = ClientAccount(self.use_cpu)
        self.places = self.memory_mb = 0
        """How many sessions have a place, and their memory limits together."""
        now = monotonic()
        amounts = {quota: getattr(grant, quota) for quota in PERIODS}
        self._buckets = {quota: Bucket(amount, PERIODS[quota], now) for quota, amount in amounts.items() if amount}
        self.elsewhere = UsedElsewhere(self._buckets)
        self._turns = asyncio.Semaphore(PROGRAMS)
        self._waiting = 0

    def take_body(self, size: int) -> None:
        """Reserve room for a body of so many bytes. Raises `RefusedRequest` where there is none."""
        if self.body_bytes + size > MAX_UNDER_WAY:
            raise full(f"the bodies of your requests under way would have more than {MAX_UNDER_WAY} bytes together")
        self.body_bytes += size

    def count_request(self) -> None:
        """Count a request. Raises `RefusedRequest` when there were too many of late, or their answers are not taken."""
        if self.account.full:
            raise full(f"answers of yours have more than {MAX_UNTAKEN} bytes that are not taken yet: read them first")
        self._check("requests_per_minute")
        self._use("requests_per_minute", 1)

    def check_cpu(self) -> None:
        """Raise `RefusedRequest` when the CPU time of the hour is used up."""
        self._check("cpu_seconds_per_hour")

    def use_cpu(self, seconds: float) -> None:
        """Count CPU time."""
        self._use("cpu_seconds_per_hour", seconds)

    def _use(self, quota: str, amount: float) -> None:
        if quota in self._buckets:
            self._buckets[quota].use(amount)

    def _check(self, quota: str) -> None:
        bucket = self._buckets.get(quota)
        if bucket is not None and (wait := bucket.wait(monotonic())):
            what = quota.replace("_", " ").replace("cpu", "CPU")
            raise RefusedRequest(429, f"{bucket.amount} {what} are allowed; the next in {wait:.0f} s", "Quota", wait)

    def count(self, ran: Result | CommandResult) -> None:
        """Count the CPU time of a step or a program; a step is one of the server's counters, too."""
        if isinstance(ran, Result):
            self.metrics.step(ran)
        self.use_cpu(ran.usage.cpu_ms / 1000)

    def count_untold(self, session: AsyncSession, counted: float = 0.0) -> float:
        """Count the CPU seconds that no result of a session reports, but for those that were `counted`. Returns them
        all. Those of a step whose client has left are among them: it has no result.
        """
        untold = max(counted, session.untold_cpu)
        self.use_cpu(untold - counted)
        return untold

    def reserve(self, policy: Policy, memory_mb: object = None) -> ExitStack:
        """Reserve quota for one session more; closing the stack returns it. Raises `RefusedRequest` when there
        is none.
        """
        self.check_cpu()
        needed = policy.limits.memory_mb
        if isinstance(memory_mb, int) and 0 < memory_mb < needed:
            needed = memory_mb
        count, memory = self.places + self.elsewhere.sessions, self.memory_mb + self.elsewhere.memory_mb
        if self.grant.sessions is not None and count >= self.grant.sessions:
            raise full(f"{self.grant.sessions} sessions are open, as many as are allowed")
        if self.grant.memory_mb is not None and memory + needed > self.grant.memory_mb:
            raise full(
                f"a session more may need {needed} MiB, and those that are open may need {memory} of the "
                f"{self.grant.memory_mb} MiB that are allowed"
            )
        self.places += 1
        self.memory_mb += needed
        place = ExitStack()

        @place.callback
        def give_back() -> None:
            self.places -= 1
            self.memory_mb -= needed

        return place

    def use(self) -> Use:
        """Return what it has open here, and has used."""
        used = {quota: bucket.used for quota, bucket in self._buckets.items()}
        left = {quota: bucket.level for quota, bucket in self._buckets.items()}
        return Use(self.places, self.memory_mb, used, left, frozenset(self.wanted))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until one program more may run: its result is held until answers that were made before it are taken.
        Raises `RefusedRequest` when too many wait, or it takes too long.
        """
        if self._waiting >= MAX_WAITING:
            raise full(f"{MAX_WAITING} programs wait for their turn")
        self._waiting += 1
        with ExitStack() as turn:
            try:
                async with asyncio.timeout(QUEUE_SECONDS):
                    await self._turns.acquire()
                    turn.callback(self._turns.release)
                    await self.account.drain()
            except TimeoutError:
                raise full(f"no turn came within {QUEUE_SECONDS:g} s") from None
            finally:
                self._waiting -= 1
            yield

    async def sweep(self, idle_seconds: float, most_seconds: float) -> None:
        """Count what its sessions have used beside what their results say (threads that a step has left running), and
        close for ever those that nobody has used for long, or that are too old. What fails about one holds up no other.
        """
        for identity, held in [*self.sessions.items()]:
            try:
                await self._sweep(identity, held, idle_seconds, most_seconds)
            except Exception as error:
                log(error)
        swept = await asyncio.gather(*(box.sweep() for box in [*self.boxes.values()]), return_exceptions=True)
        for problem in swept:
            if isinstance(problem, Exception) and not isinstance(problem, SandboxError):
                log(problem)

    async def _sweep(self, identity: str, held: ClientSession, idle_seconds: float, most_seconds: float) -> None:
        now = monotonic()
        held.untold = self.count_untold(held.session, held.untold)
        old = now - held.opened > most_seconds
        idle = not held.calls and now - held.used > idle_seconds
        if not held.kept and (old or (idle and (await held.session.waiting_for) is None)):
            with suppress(SandboxError):
                await self.end(identity)


def _offered(offers: Service, name: str, tenant: str) -> Policy:
    if name not in offers.policies:
        meant = suggestion(name, offers.policies) or f"; there are {', '.join(offers.policies)}"
        raise PolicyError(f"{tenant or 'a tenant'} may use {name!r}, which is not offered{meant}")
    return offers.policies[name]


class Tenancy:
    """A running server, whatever it speaks."""

    def __init__(self, offers: Service, grants: Mapping[str, Grant]) -> None:
        self.metrics = Metrics(
            lambda: sum(tenant.places for tenant in self.tenants),
            lambda: [stats for tenant in self.tenants for stats in tenant.stats()],
        )
        self.offers = offers
        self.tenants = [Tenant(grant, offers, self.metrics, name) for name, grant in grants.items()]
        self.tokens = Tokens((tenant.grant.token, tenant) for tenant in self.tenants)
        self.stopping = False
        self.findings: Findings | None = None
        """The findings of `doctor` about the default policy, once they are known."""
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def ready(self) -> bool:
        """Return whether programs can be run."""
        return self.findings is not None and self.findings.held and not self.stopping

    async def open(self) -> None:
        """Find out what holds a session of the default policy. A single tenant's sandbox is opened with it."""
        self.findings = await asyncio.to_thread(examine, self.offers.policies[self.offers.default])
        if self.findings.held and len(self.tenants) == 1:
            await self.tenants[0].sandbox()

    async def close(self) -> None:
        await asyncio.gather(*(tenant.close() for tenant in self.tenants))

    async def stop(self) -> None:
        """Take no new work, and end what still runs after `GRACE_SECONDS`."""
        self.stopping = True
        deadline = monotonic() + GRACE_SECONDS
        while (running := self._work()) and (left := deadline - monotonic()) > 0:
            await asyncio.wait(running, timeout=left)
        for task in self._work():
            task.cancel()

    def _work(self) -> set[asyncio.Task[Any]]:
        return {*self._running, *(task for tenant in self.tenants for task in tenant.answers.tasks())}

    async def while_there(self, request: Request, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` gives; it is cancelled when the client leaves or the server stops. The body was read."""
        task = asyncio.create_task(work)
        gone = asyncio.create_task(_gone(request))
        self._running.add(task)
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                return task.result()
        finally:
            self._running.discard(task)
            gone.cancel()
            task.cancel()
        if self.stopping:
            raise RefusedRequest(503, "the server stops", "Stopping", GRACE_SECONDS)
        raise RefusedRequest(499, "the client left")


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
