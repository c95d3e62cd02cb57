"""Programs for a cluster: `map` over workers of Ray, and `serve`, the HTTP door behind Ray Serve.

Each program is run once. A program that a lost worker was running may have begun: its result is `crashed`, with an
error of the type `WorkerLost`. The caller decides whether to run it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from safeexec import ErrorInfo, Policy, Result, Sandbox, SandboxError
from safeexec.engine.host.faces.many import each_of, parts_of
from safeexec.servers.access import hosts_for
from safeexec.servers.http.grants import Grant
from safeexec.servers.service import Service

try:
    import ray

    from safeexec.servers.http.app import Ages, application
    from safeexec.servers.http.tenancy import Tenancy
except ImportError as error:
    raise SandboxError(f"this needs Ray: pip install 'safeexec[cluster]' ({error})") from None

if TYPE_CHECKING:
    from safeexec.engine.host.session.options import Program

CHUNK_SECONDS, CHUNK = 0.1, 64
"""A worker gets as many programs at once as take about so long, and never more than so many."""
AHEAD = 4
"""How many chunks of each worker may be under way, or wait for an earlier one."""
START_SECONDS = 120.0
"""How long a worker may take to start, for instance to wait for a free core."""
LOOK_SECONDS = 1.0
"""How often workers are looked for that are late."""
SLACK_SECONDS = 30.0
"""What a chunk may take beyond the limits of its programs."""
LOST = "its worker was lost ({}); it may have begun, and was not run again"


class Grader:
    """One core of the cluster, as an actor: a sandbox that runs one program at a time."""

    def __init__(self, policy: Policy, timeout: float | None) -> None:
        self._sandbox, self._timeout = Sandbox(policy), timeout

    def start(self) -> None:
        """Raises what `Sandbox.open` raises."""
        self._sandbox.open()

    def run(self, programs: list[str | Program]) -> list[Result]:
        return list(self._sandbox.map(programs, workers=1, timeout=self._timeout))


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
        """How many programs to give to a worker at once."""
        for _ in range(count):
            self._hire()

    def _hire(self) -> None:
        worker = ray.remote(Grader).options(num_cpus=1).remote(self._policy, self._timeout)
        self._busy[worker.start.remote()] = (worker, _Chunk([], START_SECONDS))

    @property
    def free(self) -> bool:
        return bool(self._free)

    def give(self, programs: list[str | Program]) -> _Chunk:
        """To a worker that is free."""
        chunk = _Chunk(programs, self._seconds * len(programs) + SLACK_SECONDS)
        worker = self._free.pop()
        self._busy[worker.run.remote(programs)] = (worker, chunk)
        return chunk

    def wait(self) -> None:
        """Until a worker has something to say, or for a second. Raises `SandboxError` when none is left, what keeps a
        sandbox from starting, and ValueError or TypeError for a program that cannot be one.
        """
        if not self._busy:
            raise SandboxError(f"no worker of the cluster has started within {START_SECONDS:g} s: is a core free?")
        done, _ = ray.wait([*self._busy], timeout=LOOK_SECONDS)
        for call in done:
            worker, chunk = self._busy.pop(call)
            try:
                chunk.results = ray.get(call) or []
            except ray.exceptions.RayError as error:
                if isinstance(error, ray.exceptions.RayTaskError):  # the worker lives, and raised it
                    if not chunk.programs:
                        raise
                    if isinstance(error.cause, ValueError | TypeError):  # what the caller asks for cannot be
                        raise error.cause from None
                ray.kill(worker)
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
    """As `Sandbox.map`, over a cluster of Ray: the results of all programs, in their order.

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
    token: str,
    policy: str = "standard",
    allow_policy: Sequence[str] | None = None,
    *,
    replicas: int = 1,
    hosts: Sequence[str] = (),
) -> list[str]:
    """Run what `safeexec serve` does so many times behind Ray Serve; the paths of the servers, for `connect`.

    Each is an application of its own, because a session lives at one. `token` has 16 characters or more; `hosts` are
    names by which clients call the cluster, beside its addresses and localhost. Raises what Ray Serve raises where a
    server does not start; `ray.serve.shutdown()` ends them.
    """
    from ray import serve as behind  # with all that an HTTP server needs: for this alone

    def door() -> _Door:
        tenancy = Tenancy(Service(policy, allow_policy), {"": Grant(token=token)})
        return _Door(application(tenancy, hosts_for("0.0.0.0", hosts), Ages(1800, 86400)))

    server = behind.deployment(behind.ingress(door)(), max_ongoing_requests=1000)  # how many it takes is for the tenant
    paths = [f"/safeexec-{number}" for number in range(replicas)]
    for path in paths:
        behind.run(server.bind(), name=path.strip("/"), route_prefix=path)
    return paths


class _Door:
    """The door as an application with a life of its own, below a path."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            below = scope["path"].removeprefix(scope.get("root_path", ""))
            await self._app({**scope, "path": below, "root_path": ""}, receive, send)
        elif scope["type"] == "lifespan":
            await receive()
            await self._app.open()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._app.stop()
            await self._app.close()
            await send({"type": "lifespan.shutdown.complete"})
