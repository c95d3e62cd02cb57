"""More than one machine, by Ray: `map` runs programs on its workers, `serve` is one server over replicas of Ray Serve.

A session lives at the replica that opened it, and its id says at which: Ray Serve sends each call there by the header
`x-session-id`. With a store it goes on elsewhere when its replica is gone, or replaced.

Each program of `map` is run once. A program that a lost worker was running may have begun: its result is `crashed`,
with an error of the type `WorkerLost`. The caller decides whether to run it again.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from safeexec import ErrorInfo, Policy, ProtectionError, Result, Sandbox, SandboxError, StoreOptions
from safeexec.api.many import each_of, parts_of
from safeexec.servers.access import hosts_for
from safeexec.servers.http.grants import Grant, read_tenants
from safeexec.servers.service import Service

try:
    import ray

    from safeexec.servers.http.app import Lifetimes, application
    from safeexec.servers.http.peers import Ledger, Peers, ReplicaState
    from safeexec.servers.http.tenancy import Tenancy
except ImportError as error:
    raise SandboxError(f"this needs Ray: pip install 'safeexec[cluster]' ({error})") from None

if TYPE_CHECKING:
    from safeexec.api.options import Program

Durability = Literal["step", "second", "close"]
CHUNK_SECONDS, CHUNK = 0.2, 256
"""A worker gets as many programs at once as take about so long, and never more than so many."""
AHEAD = 4
"""The number of chunks of each worker that may be under way, or wait for an earlier one."""
START_SECONDS = 120.0
"""Time for a worker to start, for instance to wait for a free core."""
LOOK_SECONDS = 1.0
"""Time between two looks for workers that are late."""
SLACK_SECONDS = 30.0
"""Time for a chunk beyond the limits of its programs."""
GRACE_SECONDS = 30.0
"""Time for a replica that is to end beyond the longest step."""
QUIET_FORKS = {"GRPC_ENABLE_FORK_SUPPORT": "0"}
"""The kernel is probed by a fork, in which gRPC, which Ray Serve imports, tries for 10 s to start threads."""
IDLE_SECONDS, MOST_SECONDS = 1800.0, 86400.0
"""Time that a session is kept that nobody uses, and any at most."""
ALONE_SECONDS = 60.0
"""Time after which the ledger of an application ends to which no replica reports."""
LOST = "its worker was lost ({}); it may have begun, and was not run again"


class Grader:
    """One core of the cluster, as an actor: a sandbox that runs one program at a time."""

    def __init__(self, policy: Policy, timeout: float | None) -> None:
        self._sandbox, self._timeout = Sandbox(policy), timeout

    def start(self) -> None:
        """Open the sandbox. Raises what `Sandbox.open` raises."""
        self._sandbox.open()

    def run(self, programs: list[str | Program]) -> list[Result]:
        """Run them here, and not by `Sandbox.map`: its threads cost a small program a tenth of its time."""
        return [self._sandbox.run(source, **how) for source, how in (parts_of(one, self._timeout) for one in programs)]


class _Chunk:
    """Programs that one worker runs, and by when it has. None at all: it starts."""

    def __init__(self, programs: list[str | Program], seconds: float) -> None:
        self.programs = programs
        self.results: list[Result] | None = None
        self.began = monotonic()
        self.deadline = self.began + seconds


class _Crew:
    """The workers of one `map`. One that is lost, or late, is replaced; one that does not start is given up."""

    def __init__(self, count: int, policy: Policy, timeout: float | None) -> None:
        self._policy, self._timeout = policy, timeout
        self._seconds = policy.limits.wall_seconds if timeout is None else timeout
        self._free: list[Any] = []
        self._busy: dict[Any, tuple[Any, _Chunk]] = {}
        self.size = 1
        """The number of programs to give to a worker at once."""
        for _ in range(count):
            self._hire()

    def _hire(self) -> None:
        worker = ray.remote(Grader).options(num_cpus=1).remote(self._policy, self._timeout)
        self._busy[worker.start.remote()] = (worker, _Chunk([], START_SECONDS))

    @property
    def free(self) -> bool:
        return bool(self._free)

    def give(self, programs: list[str | Program]) -> _Chunk:
        """Give programs to a worker that is free."""
        chunk = _Chunk(programs, self._seconds * len(programs) + SLACK_SECONDS)
        worker = self._free.pop()
        self._busy[worker.run.remote(programs)] = (worker, chunk)
        return chunk

    def wait(self) -> None:
        """Wait until a worker has something to say, or for a second. Raises `SandboxError` when none is left, what
        keeps a sandbox from starting, and ValueError or TypeError for a program that cannot be one.
        """
        if not self._busy:
            raise SandboxError(f"no worker of the cluster has started within {START_SECONDS:g} s: is a core free?")
        done, _ = ray.wait([*self._busy], timeout=LOOK_SECONDS)
        for call in done:
            worker, chunk = self._busy.pop(call)
            try:
                chunk.results = ray.get(call) or []
            except ray.exceptions.RayError as error:
                ray.kill(worker)
                if isinstance(error, ray.exceptions.RayTaskError):  # the worker lived, and raised it
                    if not chunk.programs:
                        raise
                    if isinstance(error.cause, ValueError | TypeError):  # what the caller asks for cannot be
                        raise error.cause from None
                if chunk.programs:
                    died = ErrorInfo(type="WorkerLost", message=LOST.format(str(error).partition("\n")[0]))
                    chunk.results = [Result(outcome="crashed", error=died)] * len(chunk.programs)
                    self._hire()
            else:
                self._free.append(worker)
                if chunk.programs:
                    each = (monotonic() - chunk.began) / len(chunk.programs)
                    self.size = max(1, min(CHUNK, 2 * self.size, round(CHUNK_SECONDS / each)))
        for worker, chunk in self._busy.values():
            if monotonic() > chunk.deadline:
                ray.kill(worker)  # which ends its call with an error

    def end(self) -> None:
        for worker in [*self._free, *(worker for worker, _ in self._busy.values())]:
            ray.kill(worker)


def map(
    programs: Iterable[str | Program],
    policy: str | Policy = "standard",
    *,
    workers: int | None = None,
    timeout: float | None = None,
) -> Iterator[Result]:
    """Yield the results of all programs, in their order, as `Sandbox.map` does, over a cluster of Ray.

    `workers`: how many cores to use (default: all that the cluster has now). A few programs ahead are read, so that
    memory stays bounded. A worker that is lost is replaced. To leave the loop, or `close` the iterator, ends them all.
    """
    rest = iter(each_of(programs))
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    count = workers or round(ray.cluster_resources().get("CPU", 1))
    waiting: deque[_Chunk] = deque()
    crew = _Crew(count, policy if isinstance(policy, Policy) else Policy.load(policy), timeout)
    try:
        more = True
        while more or waiting:
            while more and crew.free and len(waiting) < AHEAD * count:
                chosen = list(islice(rest, crew.size))
                for program in chosen:
                    parts_of(program, timeout)
                more = len(chosen) == crew.size
                if chosen:
                    waiting.append(crew.give(chosen))
            if waiting and (results := waiting[0].results) is not None:
                waiting.popleft()
                yield from results
            elif waiting or more:
                crew.wait()
    finally:
        crew.end()


def serve(
    token: str | Mapping[str, Grant],
    policy: str = "standard",
    allow_policy: Sequence[str] | None = None,
    *,
    store: str | os.PathLike[str] | StoreOptions | None = None,
    durable: Durability = "second",
    replicas: int = 1,
    autoscaling: Mapping[str, Any] | None = None,
    hosts: Sequence[str] = (),
    idle_seconds: float = IDLE_SECONDS,
    name: str = "safeexec",
    path: str = "/",
) -> str:
    """Run what `safeexec serve` does as one application of Ray Serve, with so many replicas; its path, for `connect`.

    `token` has 16 characters or more; or give the tenants of a token file (`read_tenants`), whose quotas hold over all
    replicas. `store` is where sessions of `session_for` outlive their replica: a place that all machines reach; after
    a kill they are as `durable` says (`Sandbox`). `autoscaling` is what
    Ray Serve takes (`min_replicas`, `max_replicas` …) in place of `replicas`; it needs a store, since a replica that
    is taken away ends its sessions. `hosts` are names by which clients call the cluster, beside its addresses and
    localhost. A session that nobody uses for `idle_seconds` is closed, or left to the store until it is used again.

    Called again with the same `name` it replaces the replicas one after the other. Raises what Ray Serve raises where
    a replica does not start, ValueError for what cannot be asked for. `ray.serve.delete(name)` ends it.
    """
    from ray import serve as behind  # with all that an HTTP server needs: for this alone

    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    server = _bound(token, policy, allow_policy, store, durable, replicas, autoscaling, hosts, idle_seconds)
    behind.run(server, name=name, route_prefix=path)
    return path


def build(arguments: Mapping[str, Any]) -> Any:
    """Return the same application for a configuration of Ray Serve, which names it as ``safeexec.cluster:build``.

    `arguments` are those of `serve`, with the path of a token file as `token_file` in place of `token`; name and path
    are the configuration's. Raises as `serve`, and as `read_tenants`.
    """
    given: dict[str, Any] = {"policy": "standard", "allow_policy": None, "store": None, "durable": "second"}
    given |= {"replicas": 1, "autoscaling": None, "hosts": (), "idle_seconds": IDLE_SECONDS}
    if unknown := sorted(arguments.keys() - given.keys() - {"token_file"}):
        raise ValueError(f"a server of a cluster takes no {unknown[0]!r}; it takes token_file, {', '.join(given)}")
    if "token_file" not in arguments:
        raise ValueError("a server of a cluster needs a token_file")
    given |= arguments
    return _bound(read_tenants(given.pop("token_file")), **given)


def _bound(
    token: str | Mapping[str, Grant],
    policy: str,
    allow_policy: Sequence[str] | None,
    store: str | os.PathLike[str] | StoreOptions | None,
    durable: Durability,
    replicas: int,
    autoscaling: Mapping[str, Any] | None,
    hosts: Sequence[str],
    idle_seconds: float,
) -> Any:
    from ray import serve as behind
    from ray.serve.config import RequestRouterConfig

    if autoscaling is not None and store is None:
        raise ValueError("autoscaling takes replicas away, and their sessions with them: give a store=")
    grants = {"": Grant(token=token)} if isinstance(token, str) else dict(token)
    longest = max(Policy.load(one).limits.max_wall_seconds for one in [policy, *(allow_policy or ())])
    at = StoreOptions(at=store) if isinstance(store, str | os.PathLike) else store
    count = {"num_replicas": replicas} if autoscaling is None else {"autoscaling_config": dict(autoscaling)}
    server = behind.deployment(
        behind.ingress()(_Replica),
        name="safeexec",
        max_ongoing_requests=1000,  # how many it takes is for the tenant
        ray_actor_options={"runtime_env": {"env_vars": QUIET_FORKS}},
        request_router_config=RequestRouterConfig(request_router_class="safeexec.cluster.router:SessionRouter"),
        health_check_period_s=5,
        graceful_shutdown_wait_loop_s=0.5,
        graceful_shutdown_timeout_s=longest + GRACE_SECONDS,
        **count,
    )
    return server.bind(policy, allow_policy, at, durable, grants, tuple(hosts), idle_seconds)


class _Replica:
    """One replica."""

    def __init__(
        self,
        policy: str,
        allowed: Sequence[str] | None,
        store: StoreOptions | None,
        durable: Durability,
        grants: dict[str, Grant],
        hosts: tuple[str, ...],
        idle_seconds: float,
    ) -> None:
        from ray import serve as behind

        here = behind.get_replica_context()
        offers = Service(policy, allowed, replica=here.replica_id.unique_id, store=store, durable=durable)
        self._tenancy = Tenancy(offers, grants)
        self._app = application(self._tenancy, hosts_for("0.0.0.0", hosts), Lifetimes(idle_seconds, MOST_SECONDS))
        self._app.peers = Peers(offers.replica, self._tenancy, partial(_report, here.app_name))

    def __serve_build_asgi_app__(self) -> _Served:
        return _Served(self._app)

    def check_health(self) -> None:
        """Raise where this replica cannot hold guests: Ray Serve then replaces it."""
        if (found := self._tenancy.findings) is not None and not found.held:
            raise ProtectionError(found.problem)


class _Served:
    """The server as an application with a life of its own, below a path."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            below = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))
            await self._app({**scope, "path": below, "root_path": ""}, receive, send)
        elif scope["type"] == "lifespan":
            await receive()
            await self._app.open()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._app.stop()
            await self._app.close()
            await send({"type": "lifespan.shutdown.complete"})


class _SharedLedger(Ledger):
    """The ledger of an application, as an actor that no replica owns. It ends when no replica reports to it."""

    async def report(self, replica: str, state: ReplicaState) -> Mapping[str, ReplicaState]:  # type: ignore[override]
        others, self._last = super().report(replica, state), asyncio.get_running_loop().time()
        asyncio.get_running_loop().call_later(ALONE_SECONDS, self._end_alone)
        return others

    def _end_alone(self) -> None:
        if asyncio.get_running_loop().time() - self._last >= ALONE_SECONDS:
            os._exit(0)


async def _report(name: str, replica: str, state: ReplicaState) -> Mapping[str, ReplicaState]:
    """Report to the ledger of an application, which the first replica starts. Raises `SandboxError`."""
    how: Any = {"name": f"{name} ledger", "namespace": "safeexec", "get_if_exists": True, "lifetime": "detached"}
    try:
        ledger = ray.remote(_SharedLedger).options(num_cpus=0, **how).remote()
        return await ledger.report.remote(replica, state)  # type: ignore[no-any-return]
    except ray.exceptions.RayError as error:
        raise SandboxError(str(error).partition("\n")[0]) from None
