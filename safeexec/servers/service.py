"""The sandboxes of one client by the name of their policy, and its sessions by ids.

A server has one `Service` per principal. What one opens, no other finds.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from contextvars import ContextVar
from itertools import count
from time import monotonic, strftime
from typing import Any, Literal, NamedTuple
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from safeexec import (
    AsyncSandbox,
    AsyncSession,
    CommandResult,
    Policy,
    PolicyError,
    RecordingError,
    RecordOptions,
    Result,
    SandboxError,
    SandboxStats,
    SessionClosed,
    StoreError,
    StoreOptions,
    ToolError,
    __version__,
)
from safeexec.common.text import printable, short_repr
from safeexec.recordings.format import ToolShape
from safeexec.remote.methods import MAX_MESSAGE, Brought
from safeexec.results.jsonable import to_base64
from safeexec.servers.account import ClientAccount, apart
from safeexec.servers.wire import Answer, parse
from safeexec.toolkit import RelayedAnswer, RelayedTools

Notify = Callable[[str, dict[str, Any]], object]
"""Sends a notification of a step that runs: a name and parameters of `methods.EVENTS`."""
RECORD_MB = 10240
"""MiB that all recordings of a server may take."""
REPLICA = re.compile(r"[A-Za-z0-9_-]{0,63}")
MAX_ARGUMENTS = (MAX_MESSAGE >> 2) * 3 - 1024
"""Bytes of the arguments of a tool's call, before base64."""
MAX_TOOLS = 8
"""Sets of tools that a client may have declared; each is a sandbox of its own."""


class ClientSession(msgspec.Struct, eq=False):
    """A session of a client, with its place in a quota. `opened` and `used` (its last call) are monotonic seconds;
    `calls`: how many are under way. `kept`: a sandbox of E2B's clients has it (`http/e2b_sandboxes.py`) and closes it,
    no sweep does. `untold`: CPU seconds that were counted beside its results.
    """

    session: AsyncSession
    place: ExitStack
    kept: bool
    opened: float = msgspec.field(default_factory=monotonic)
    used: float = msgspec.field(default_factory=monotonic)
    calls: int = 0
    untold: float = 0.0


class Target(NamedTuple):
    """The session that a call is about."""

    id: str
    session: AsyncSession
    notify: Notify | None


running: ContextVar[Target | None] = ContextVar("safeexec_running", default=None)
"""The session whose step this task runs: its tools are called here."""


class Service:
    """The sandboxes and sessions of one client.

    `policy` is the default: a profile's name, a file or a `Policy`. `allowed` are the others that clients may name, in
    the same ways; None: the shipped profiles. `record` is a directory: each session is recorded in a new file there.
    When all files there take `RECORD_MB` MiB, no session is opened, and those that are open go on without it.
    `replica` is the name of one server of several: the id of each session begins with it and a dot. In `store` are the
    sessions that clients open by a label, which is on the disk as `durable` says. `owned`: its one client has started
    it for itself, and brings its own policies. `sandbox_options` are arguments for every `AsyncSandbox`.
    """

    def __init__(
        self,
        policy: str | os.PathLike[str] | Policy = "standard",
        allowed: Iterable[str | os.PathLike[str] | Policy] | None = None,
        record: str | None = None,
        replica: str = "",
        store: StoreOptions | None = None,
        durable: Literal["step", "second", "close"] = "second",
        owned: bool = False,
        **sandbox_options: Any,
    ) -> None:
        """Raises `PolicyError` for a policy that cannot be read, `RecordingError` where `record` is no directory,
        `SandboxError` for a `replica` that no path of a request can hold.
        """
        if not REPLICA.fullmatch(replica):
            raise SandboxError("the name of a replica has letters, digits, - and _, and at most 63 of them")
        if record is not None and not os.path.isdir(record):
            raise RecordingError(f"{record} is no directory to record in")
        default = Policy.load(policy)
        given = map(str, Policy.profiles(shipped=True).values()) if allowed is None else allowed
        others = {found.name: found for found in map(Policy.load, given)}
        self.default = default.name
        self.policies: dict[str, Policy] = {**others, default.name: default}
        self.sessions: dict[str, ClientSession] = {}
        self.account = ClientAccount()
        self.record = record
        self.replica = replica
        self.store = store
        self.durable = durable
        self.owned = owned
        self.wanted: Counter[str] = Counter()
        """The labels of sessions that are waited for: another replica has them open."""
        self.sandbox_options = sandbox_options
        self._arguments = sandbox_options | ({} if store is None else {"store": store, "durable": durable})
        self._sandboxes: dict[str, AsyncSandbox] = {}
        self._tools: dict[str, list[ToolShape]] = {}
        """The tools that the client has declared, by the policy's name then. The newest ones are last."""
        self._options: dict[str, dict[str, Any]] = {}
        """How the sandboxes of policies are opened that the client has brought."""
        self._calls: dict[tuple[str, int], asyncio.Future[RelayedAnswer]] = {}
        """The tool calls that wait for the client, by session and number."""
        self._numbers = count(1)
        self._opening: dict[str, asyncio.Task[AsyncSandbox]] = {}
        """The task that opens the sandbox of each policy, or has: callers who leave do not end it for others."""
        self.ids_by_label: dict[tuple[AsyncSandbox, str], str] = {}
        """The ids of the sessions that are open by a label."""
        self.label_locks: WeakValueDictionary[tuple[AsyncSandbox, str], asyncio.Lock] = WeakValueDictionary()

    def reserve(self, policy: Policy, memory_mb: object = None) -> ExitStack:
        """Reserve quota for one session more; closing the stack returns it."""
        return ExitStack()

    def count(self, ran: Result | CommandResult) -> None:
        """Count what a step or a program has used, where somebody has a quota."""

    def count_untold(self, session: AsyncSession, counted: float = 0.0) -> float:
        """Count the CPU seconds that no result of a session reports, where somebody has a quota, but for those that
        were `counted`. Returns them all.
        """
        return counted

    async def close(self) -> None:
        """End every sandbox with all its sessions; steps that run are stopped."""
        for opening in self._opening.values():
            opening.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        held, self.sessions = self.sessions, {}
        # Side by side: the kernel ends a thousand of them while one is waited for.
        closed = await asyncio.gather(*(one.session.close() for one in held.values()), return_exceptions=True)
        for problem in filter(None, closed):
            log(problem)
        while self._sandboxes:
            _, sandbox = self._sandboxes.popitem()
            await sandbox.close()

    async def sandbox(self, policy: str | None = None) -> AsyncSandbox:
        """Return the open sandbox of a policy that the server offers, opened at its first use, and again after its
        zygote died. Raises `PolicyError` for another.
        """
        name = self.default if policy is None else policy
        self._policy(name)
        opening = self._opening.get(name)
        if opening is None or opening.done():
            if name not in self._sandboxes:
                self._sandboxes[name] = self._new_sandbox(name)
            opening = self._opening[name] = asyncio.create_task(self._sandboxes[name].open())
            opening.add_done_callback(lambda done: done.cancelled() or done.exception())  # perhaps nobody waits for it
        return await asyncio.shield(opening)

    def name_of(self, sandbox: AsyncSandbox) -> str:
        """Return the name by which clients ask for an open sandbox: with tools of a client it is not its policy's."""
        return next((name for name, one in self._sandboxes.items() if one is sandbox), sandbox.policy.name)

    def _policy(self, name: str) -> Policy:
        if name not in self.policies:
            offered = sorted(self.policies.keys() - self._tools.keys())
            raise PolicyError(f"no policy is called {name[:100]!r} here; there are {', '.join(offered)}")
        return self.policies[name]

    async def with_tools(self, tools: list[ToolShape], policy: str | None = None) -> Answer:
        """Answer the name of a policy with tools of the client. Raises `PolicyError`, `ToolError`, and `SandboxError`
        when sessions are open under `MAX_TOOLS` such names.
        """
        name = self.default if policy is None else policy
        found = self._policy(name)
        RelayedTools(tools, found, self._carry)
        if name in self._options:
            self._tools[name] = tools
            return {"policy": name}
        named = f"{name[:900]} with tools {hashlib.sha256(msgspec.json.encode(tools)).hexdigest()[:16]}"
        if named not in self._tools and len(self._tools) >= MAX_TOOLS:
            idle = (old for old in self._tools if old not in self._sandboxes or not self._sandboxes[old].stats().open)
            if (oldest := next(idle, None)) is None:
                raise SandboxError(f"sessions are open with {MAX_TOOLS} sets of tools, as many as there may be")
            await self.close_policy(oldest)
        self._tools.pop(named, None)
        self._tools[named], self.policies[named] = tools, found
        return {"policy": named}

    async def bring(self, version: str, brought: msgspec.Raw, **_: Any) -> Answer:
        """Answer the name of a policy that the client brings; none to a client of another version, whose policies may
        have what this one's have not.
        """
        if version != __version__:
            return {"policy": "", "version": __version__}
        one = await parse("sandbox.bring", brought, Brought)
        policy = Policy.from_yaml(one.yaml, name=one.name)
        key = f"{next(self._numbers)} {one.name}"[:1000]
        self.policies[key] = replace(policy, origins=one.origins)
        self._options[key] = one.options
        return {"policy": key, "version": __version__}

    async def drop(self, policy: str = "") -> Answer:
        """Close the sandbox of a policy that the client has brought."""
        if policy not in self._options:
            raise SandboxError(f"no policy {policy[:100]!r} was brought")
        await self.close_policy(policy)
        return {}

    async def close_policy(self, name: str) -> None:
        """Close the sandbox of a policy that the client has brought, or given tools."""
        for known in (self.policies, self._tools, self._options):
            known.pop(name, None)
        if (opening := self._opening.pop(name, None)) is not None:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
        if (sandbox := self._sandboxes.pop(name, None)) is not None:
            await sandbox.close()
            self.ids_by_label = {key: one for key, one in self.ids_by_label.items() if key[0] is not sandbox}

    async def _carry(self, step: int, call: Any, seconds: float | None, allowed: bool) -> RelayedAnswer:
        """Notify the client of a tool call of its step, and wait for its answer."""
        at = running.get()
        if at is None or at.notify is None:
            raise ToolError("tools are called where a step runs with `stream`")
        if (size := len(call.arguments)) > MAX_ARGUMENTS:
            raise ToolError(f"the arguments have {size} bytes, and {MAX_ARGUMENTS} are the most that is sent")
        key = at.id, next(self._numbers)
        answer: asyncio.Future[RelayedAnswer] = asyncio.get_running_loop().create_future()
        self._calls[key] = answer
        params = {"session": at.id, "call": key[1], "tool": call.tool, "step": step, "seconds": seconds}
        params["allowed"] = allowed
        try:
            sent = await apart(len(call.arguments), to_base64, call.arguments)
            at.notify("session.tool", params | {"arguments": sent})
            return await answer
        finally:
            del self._calls[key]

    def reply(self, session: str, call: int, answer: RelayedAnswer) -> bool:
        """Hand a step what the client answers. Returns whether it has waited for that."""
        waiting = self._calls.get((session, call))
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def stats(self) -> list[SandboxStats]:
        """Return what its sandboxes count."""
        return [sandbox.stats() for sandbox in self._sandboxes.values()]

    def _new_sandbox(self, name: str) -> AsyncSandbox:
        """Make the sandbox of a policy, with the tools that the client has declared with it, not open yet."""
        own = self._arguments | self._options.get(name, {})
        if name in self._tools:
            own |= {"tools": RelayedTools(self._tools[name], self.policies[name], self._carry), "approval": None}
        return AsyncSandbox(self.policies[name], **own)

    def recording(self) -> RecordOptions | None:
        """Name a new file for the recording of a session, by the hour."""
        if self.record is None:
            return None
        path = os.path.join(self.record, f"{strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.jsonl")
        return RecordOptions(path=path, total_mb=RECORD_MB)

    def find(self, identity: str) -> ClientSession:
        """Return an open session by its id. Raises `SessionClosed`."""
        held = self.sessions.get(identity)
        if held is None:
            there = identity.partition(".")[0] if "." in identity else ""
            if there != self.replica:
                raise SessionClosed(
                    f"there is no such session here: it was opened at the server {there[:63]!r}, this is "
                    f"{self.replica!r}, and a session ends with its server; open a new one"
                )
            raise SessionClosed("there is no such session; it may have been closed")
        return held

    def hold(self, session: AsyncSession, place: ExitStack, identity: str = "", kept: bool = False) -> str:
        """Keep a session, with its place, under an id: a new one where none is given."""
        identity = identity or (f"{self.replica}." if self.replica else "") + secrets.token_urlsafe(16)
        self.sessions[identity] = ClientSession(session, place.pop_all(), kept)
        return identity

    async def end(self, identity: str) -> None:
        """Close a session, and give its place back. One of the store stays there; `StoreError` where its last steps do
        not, which is logged, too.
        """
        if (held := self.sessions.pop(identity, None)) is not None:
            with held.place:
                try:
                    await held.session.close()
                except StoreError as problem:
                    log(problem)
                    raise
                finally:
                    self.count_untold(held.session, held.untold)


def log(error: BaseException) -> None:
    """Log a fault of ours for whoever runs the server."""
    print(f"safeexec: {type(error).__name__}: {printable(short_repr(str(error), 500))}", file=sys.stderr, flush=True)
