"""Does what the table of methods says for one client: its sandboxes by the name of their policy, its sessions by ids.

A server has one `Service` per principal. What one opens, no other finds.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from codecs import utf_8_decode
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from itertools import count
from math import isfinite
from pathlib import Path
from time import monotonic, strftime
from typing import Any, Literal, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from safeexec import (
    Allow,
    AsyncSandbox,
    AsyncSession,
    CommandResult,
    Deny,
    Display,
    Policy,
    PolicyError,
    RecordingError,
    RecordOptions,
    Result,
    SandboxError,
    SandboxStats,
    SessionClosed,
    SessionTaken,
    StoreOptions,
    ToolError,
    __version__,
)
from safeexec.recordings.format import ToolShape
from safeexec.results.jsonable import display_to_dict, jsonable, pieces_of, size_of, to_base64, waiting_to_dict
from safeexec.results.marked import exact as exactly
from safeexec.results.marked import marked, unmarked
from safeexec.servers.methods import (
    EVERY,
    INTERNAL,
    LABELLED,
    MAX_FILE,
    MAX_MESSAGE,
    METHOD,
    OURS,
    OWNED,
    PARAMETERS,
    TIGHTENED,
    Brought,
    Bytes,
    Method,
    Values,
    about_label,
)
from safeexec.toolkit import RelayedAnswer, RelayedTools
from safeexec.untrusted.json_shapes import check_parts, shaped
from safeexec.untrusted.json_text import loads

T = TypeVar("T")
Notify = Callable[[str, dict[str, Any]], object]
"""Sends a notification of a step that runs: a name and parameters of `methods.EVENTS`."""
Answer = dict[str, Any]
RECORD_MB = 10240
"""MiB that all recordings of a server may take."""
REPLICA = re.compile(r"[A-Za-z0-9_-]{0,63}")
MAX_VALUE = MAX_MESSAGE // 2
"""Bytes of one value in an answer, before base64."""
MOVE_SECONDS, MOVE_LOOK_SECONDS = 45.0, 0.1
"""How long a replica may take to leave a session that another one needs (the claim of a dead one in a database runs out
after 30 s), and how often it is asked for.
"""
SMALL = 32 << 10
"""Bytes of JSON that are read or written at once; more of it in a thread, for it may take long."""
MAX_ITEMS = 100_000
"""Lists, dicts, items and keys in the JSON of one call, beside values of guests."""
MAX_TOOLS = 8
"""Sets of tools that a client may have declared; each is a sandbox of its own."""
MAX_SPELLED = 8
"""Bytes of JSON for one byte of a value as it crosses: `false, ` is one."""
MAX_PARTS = 400_000
"""Parts of a message with values of guests. Larger ones come as `safeexec.results.marked` writes them, which `remote`
asks for.
"""


class CallProblem(NamedTuple):
    """Why a call failed: a code of JSON-RPC, the name of the exception's class, and what it says."""

    code: int
    type: str
    message: str


class BadCall(Exception):
    """The call itself is wrong; `code` is one of JSON-RPC's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def problem_of(error: BaseException) -> CallProblem:
    """Return what a client is told. Of an error that is not ours, nothing but that there was one."""
    name, text = type(error).__name__, str(error)
    if isinstance(error, BadCall):
        return CallProblem(error.code, "InvalidRequest", text)
    if isinstance(error, SandboxError):
        return CallProblem(OURS, name, text)
    if isinstance(error, KeyError):
        return CallProblem(PARAMETERS, name, str(error.args[0]) if error.args else "")
    if isinstance(error, ValueError | TypeError):
        return CallProblem(PARAMETERS, name, text)
    return CallProblem(INTERNAL, "InternalError", "internal error")


async def apart(size: int, read: Callable[..., T], *arguments: Any) -> T:
    """Return what `read` makes of the arguments, which are `size` large: in a thread where that may hold the loop."""
    return read(*arguments) if size <= SMALL else await asyncio.to_thread(read, *arguments)


async def fitted(name: str, data: bytes | bytearray | msgspec.Raw, shape: type[T]) -> T:
    """Return JSON as `shape`. Raises `BadCall`, which says what `name` takes."""
    return await apart(memoryview(data).nbytes, _fitted, name, data, shape)


def _fitted(name: str, data: bytes | bytearray | msgspec.Raw, shape: type[T]) -> T:
    try:
        holds_values = {msgspec.Raw, Values} & {*shape.__annotations__.values()}
        check_parts(
            data if isinstance(data, bytes | bytearray) else bytes(data), MAX_PARTS if holds_values else MAX_ITEMS
        )
        return shaped(data, shape)
    except ValueError as error:
        takes = ", ".join(getattr(shape, "__struct_fields__", ()))
        raise BadCall(PARAMETERS, f"{name}: {error}; it takes {takes}") from None


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


class ClientSession:
    """A session of a client, with its place in a quota. `opened` and `used` (its last call) are monotonic seconds;
    `calls`: how many are under way. `kept`: it lives as long as somebody else says. `untold`: CPU seconds that were
    counted beside its results.
    """

    __slots__ = ("calls", "kept", "opened", "place", "session", "untold", "used")

    def __init__(self, session: AsyncSession, place: ExitStack, kept: bool) -> None:
        self.session = session
        self.place = place
        self.kept = kept
        self.opened = self.used = monotonic()
        self.calls = 0
        self.untold = 0.0


class Service:
    """The sandboxes and sessions of one client.

    `policy` is the default: a profile's name, a file or a `Policy`. `allowed` are the others that clients may name, in
    the same ways; None: the shipped profiles. `record` is a directory: each session is recorded in a new file there.
    When all files there take `RECORD_MB` MiB, no session is opened, and those that are open go on without it.
    `replica` is the name of one server of several: the id of each session begins with it and a dot. In `store` are the
    sessions that clients open by a label, which is on the disk as `durable` says. `owned`: its one client has started
    it for itself, and brings its own policies. `sandbox` are arguments for every `AsyncSandbox`.
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
        **sandbox: Any,
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
        self.record = record
        self.replica = replica
        self.store = store
        self.durable = durable
        self.owned = owned
        self.wanted: Counter[str] = Counter()
        """The labels of sessions that are waited for: another replica has them open."""
        self.given = sandbox
        self._arguments = sandbox | ({} if store is None else {"store": store, "durable": durable})
        self._sandboxes: dict[str, AsyncSandbox] = {}
        self._tools: dict[str, list[ToolShape]] = {}
        """The tools that the client has declared, by the policy's name then. The newest ones are last."""
        self._options: dict[str, dict[str, Any]] = {}
        """How the sandboxes of policies are opened that the client has brought."""
        self._calls: dict[tuple[str, int], asyncio.Future[RelayedAnswer]] = {}
        """The tool calls that wait for the client, by session and number."""
        self._numbers = count(1)
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._labelled: dict[tuple[AsyncSandbox, str], str] = {}
        """The ids of the sessions that are open by a label."""
        self._beginning: WeakValueDictionary[tuple[AsyncSandbox, str], asyncio.Lock] = WeakValueDictionary()

    def place(self, policy: Policy, memory_mb: object = None) -> ExitStack:
        """Take room for a session more, which to close gives back."""
        return ExitStack()

    def count(self, ran: Result | CommandResult) -> None:
        """Count what a step or a program has used, where somebody has a quota."""

    async def close(self) -> None:
        """End every sandbox with all its sessions; steps that run are stopped."""
        held, self.sessions = self.sessions, {}
        # Side by side: the kernel ends a thousand of them while one is waited for.
        await asyncio.gather(*(one.session.close() for one in held.values()), return_exceptions=True)
        while self._sandboxes:
            _, sandbox = self._sandboxes.popitem()
            await sandbox.close()

    async def call(self, name: str, parameters: bytes | msgspec.Raw, notify: Notify | None = None) -> Answer:
        """Return the answer to one call, whose parameters are JSON. Raises and answers as `do`."""
        method = EVERY.get(name)
        if method is None or (name in OWNED and not self.owned):
            raise BadCall(METHOD, f"there is no method {name[:100]!r}")
        given = await fitted(name, parameters, method.parameters)
        return await self.do(method, msgspec.structs.asdict(given), notify)

    async def do(self, method: Method, given: dict[str, Any], notify: Notify | None = None) -> Answer:
        """Return the answer to a call with the parameters `given`, as what `json.dumps` takes.

        Raises what `problem_of` explains. To cancel the task stops a step that runs, and restores its state.
        """
        given = {name: value for name, value in given.items() if value is not None}
        if act := _OF_SERVER.get(method.name):
            return await act(self, **given)
        if "session" not in given:
            sandbox = await self.sandbox(given.pop("policy", None))
            return await self._done(method, sandbox, sandbox, given)
        held = await self.reached(identity := given.pop("session"))
        held.calls += 1
        try:
            return await self._done(method, Target(identity, held.session, notify), held.session, given)
        finally:
            held.calls -= 1
            held.used = monotonic()

    async def _done(
        self, method: Method, at: AsyncSandbox | Target, target: AsyncSandbox | AsyncSession, given: dict[str, Any]
    ) -> Answer:
        """Do what a method says, and return its answer: a function of `ACTS`, else what `target` has of that name."""
        exact = method.answer is Result and given.pop("exact", False)
        given = await received(given, target.policy)
        if act := ACTS.get(method.name):
            returned = await act(self, at, **given)
        else:
            found = getattr(target, method.name.partition(".")[2])
            returned = found(**given) if callable(found) else found
            returned = await returned if isinstance(returned, Awaitable) else returned
        if isinstance(returned, Result | CommandResult):
            self.count(returned)
        if isinstance(returned, Result):
            return await answer_of(returned, exact)
        fields = method.answer.__struct_fields__
        if act is not None or not fields:
            return returned or {}
        return {fields[0]: _plain(returned)}

    async def sandbox(self, policy: str | None = None) -> AsyncSandbox:
        """Return the open sandbox of a policy that the server offers, opened at its first use, and again after its
        zygote died. Raises `PolicyError` for another.
        """
        name = self.default if policy is None else policy
        self._policy(name)
        async with self._opening[name]:
            if name not in self._sandboxes:
                self._sandboxes[name] = self._new_sandbox(name)
            return await self._sandboxes[name].open()

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
            await self.forget(oldest)
        self._tools.pop(named, None)
        self._tools[named], self.policies[named] = tools, found
        return {"policy": named}

    async def bring(self, version: str, brought: msgspec.Raw, **_: Any) -> Answer:
        """Answer the name of a policy that the client brings; none to a client of another version, whose policies may
        have what this one's have not.
        """
        if version != __version__:
            return {"policy": "", "version": __version__}
        one = await fitted("sandbox.bring", brought, Brought)
        policy = Policy.from_yaml(one.yaml, name=one.name)
        key = f"{next(self._numbers)} {one.name}"[:1000]
        self.policies[key] = replace(policy, origins=one.origins)
        self._options[key] = one.options
        return {"policy": key, "version": __version__}

    async def drop(self, policy: str = "") -> Answer:
        """Close the sandbox of a policy that the client has brought."""
        if policy not in self._options:
            raise SandboxError(f"no policy {policy[:100]!r} was brought")
        await self.forget(policy)
        return {}

    async def forget(self, name: str) -> None:
        """Close the sandbox of a policy that the client has brought, or given tools."""
        for known in (self.policies, self._tools, self._options):
            known.pop(name, None)
        if (sandbox := self._sandboxes.pop(name, None)) is not None:
            await sandbox.close()
            self._labelled = {key: one for key, one in self._labelled.items() if key[0] is not sandbox}

    async def _carry(self, step: int, call: Any, seconds: float | None, allowed: bool) -> RelayedAnswer:
        """Notify the client of a tool call of its step, and wait for its answer."""
        at = _running.get()
        if at is None or at.notify is None:
            raise ToolError("tools are called where a step runs with `stream`")
        key = at.id, next(self._numbers)
        answer: asyncio.Future[RelayedAnswer] = asyncio.get_running_loop().create_future()
        self._calls[key] = answer
        told = {"session": at.id, "call": key[1], "tool": call.tool, "step": step, "seconds": seconds}
        told["allowed"] = allowed
        at.notify("session.tool", {**told, "arguments": to_base64(call.arguments)})
        try:
            return await answer
        finally:
            del self._calls[key]

    def reply(self, session: str, call: int, answer: RelayedAnswer) -> bool:
        """Hand a step what the client answers. Whether it has waited for that."""
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

    def held(self, identity: str) -> ClientSession:
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

    async def open_stored(self, named: StoredName, **beginning: Any) -> str:
        """Open a session of the store, or go on with the one that is open. Its id says what it takes to open it again.

        Raises `SessionTaken` where another process has it open, and no replica that leaves it in time.
        """
        sandbox = await self.sandbox(named.policy)
        key = sandbox, named.label
        has_place = self._labelled.get(key) in self.sessions
        with ExitStack() if has_place else self.place(sandbox.policy, named.tightened.get("memory_mb")) as place:
            session = await self._from_store(sandbox, named, beginning)
            identity = self._labelled.get(key)
            if identity is None or identity not in self.sessions:
                identity = self._labelled[key] = self.hold(session, place, named.identity())
        return identity

    async def _from_store(self, sandbox: AsyncSandbox, named: StoredName, beginning: dict[str, Any]) -> AsyncSession:
        """Open a session of the store as soon as no other replica has it open."""
        deadline = monotonic() + MOVE_SECONDS
        self.wanted[named.label] += 1
        try:
            while True:
                try:
                    return await sandbox.session_for(named.label, **named.tightened, **beginning)
                except SessionTaken:
                    if not self.replica or monotonic() > deadline:
                        raise
                await asyncio.sleep(MOVE_LOOK_SECONDS)
        finally:
            self.wanted -= Counter([named.label])

    async def labelled(
        self, sandbox: AsyncSandbox, label: str, begin: Callable[[], Awaitable[AsyncSession]], **tightened: Any
    ) -> str:
        """Return the id of the open session of a label; where there is none, of what `begin` opens for all who ask
        meanwhile. A sandbox without a store has it.
        """
        key = sandbox, label
        async with self._beginning.setdefault(key, asyncio.Lock()):
            try:
                await sandbox.session_for(label, new=False, **tightened)
            except SessionClosed:
                self.sessions.pop(self._labelled.pop(key, ""), None)
                self._labelled[key] = self.hold(await begin(), ExitStack())
            return self._labelled[key]

    async def reached(self, identity: str) -> ClientSession:
        """Return a session by its id, from the store where it is not open. Raises `SessionClosed`."""
        is_stored = self.store is not None and identity not in self.sessions
        if is_stored and (named := StoredName.of(identity)) is not None:
            await self.open_stored(named, new=False)
        return self.held(identity)

    async def leave(self, labels: Collection[str]) -> None:
        """Leave the sessions of these labels to the store, but for those that a call uses."""
        for (_, label), identity in [*self._labelled.items()]:
            held = self.sessions.get(identity)
            if label in labels and held is not None and not held.calls:
                with suppress(SandboxError):
                    await self.end(identity)

    def hold(self, session: AsyncSession, place: ExitStack, identity: str = "", kept: bool = False) -> str:
        """Keep a session, with its place, under an id: a new one where none is given."""
        identity = identity or (f"{self.replica}." if self.replica else "") + secrets.token_urlsafe(16)
        self.sessions[identity] = ClientSession(session, place.pop_all(), kept)
        return identity

    async def end(self, identity: str) -> None:
        """Close a session, and give its place back. One of the store stays there."""
        if (held := self.sessions.pop(identity, None)) is not None:
            with held.place:
                await held.session.close()


class Target(NamedTuple):
    """The session that a call is about."""

    id: str
    session: AsyncSession
    notify: Notify | None


def strictly(text: str) -> bytes:
    """Return JSON of `json.dumps` as every reader takes it: half of a character, which a guest can print, is a question
    mark.

    It is escaped like all that is not ASCII. Strict readers refuse the whole answer for it.
    """
    if "\\ud" in text:  # also of whole characters beyond U+FFFF, which are two halves
        text = _ESCAPES.sub(lambda found: found[0] if found[1] or len(found[0]) == 2 else "?", text)
    return text.encode("ascii")


_ESCAPES = re.compile(r"(\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..|\\.")


def encoded(message: Any) -> bytes:
    """Return JSON on one line, in ASCII. Raises SandboxError for more than `MAX_MESSAGE` bytes."""
    data = bytearray()
    for piece in pieces_of(message):
        data += strictly(piece)
        if len(data) > MAX_MESSAGE:
            raise SandboxError(f"the answer is larger than {MAX_MESSAGE} bytes, which are the most that is sent")
    return bytes(data)


async def encoded_apart(message: Any) -> bytes:
    """Return `encoded`, in a thread where that may hold the event loop."""
    return await apart(size_of(message, SMALL), encoded, message)


def _plain(value: Any) -> Any:
    if isinstance(value, Policy):
        return value.content()
    if isinstance(value, msgspec.Struct):
        return {name: _plain(item) for name, item in msgspec.structs.asdict(value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return jsonable(value)


def _answer_of(result: Result, exact: bool) -> Answer:
    """Return a result as JSON; with `exact` its value keeps its types (`safeexec.results.marked`)."""
    answer = replace(result, value=None).to_dict() if exact else result.to_dict()
    if exact:
        answer["value"] = exactly(result.value, MAX_VALUE)
    return answer


async def answer_of(result: Result, exact: bool = False) -> Answer:
    """Return a result as a client gets it (`_answer_of`), made in a thread where that may hold the event loop."""
    shown = sum(len(data) for display in result.displays for data in display.values())
    return await apart(shown + size_of(result.value, SMALL), _answer_of, result, exact)


async def received(given: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return parameters as a session takes them: bytes, texts and values in the place of their forms in JSON. Raises as
    `_values`.
    """
    taken: dict[str, Any] = {}
    for name, value in given.items():
        if name == "source" and isinstance(value, Bytes):
            # The session refuses a source that is too long, whatever its end: a MB of half characters takes 0.1 s.
            begin = value.base64[: (policy.limits.step_source_kb << 10) + 8]
            taken[name], _ = utf_8_decode(begin, "surrogatepass", len(begin) == len(value.base64))
        elif isinstance(value, Bytes):
            taken[name] = value.base64
        elif name == "files":
            # Bytes alone: a text would be the path of a file of this machine, to whom files of the host may be named.
            taken[name] = {path: one.base64 if isinstance(one, Bytes) else one.encode() for path, one in value.items()}
        elif name in ("namespace", "arguments"):
            taken[name] = await _values(value, policy)
        elif not isinstance(value, msgspec.Raw):
            taken[name] = value
        elif memoryview(value).nbytes:  # none where it was left out
            key = given.get("name", name)
            taken[name] = (await _values({key: value}, policy))[key]
    return taken


async def _values(sent: Mapping[str, msgspec.Raw], policy: Policy) -> dict[str, Any]:
    """Return names with the values that a client sent for them. Raises ValueError, and TypeError for one that the
    policy does not let in.
    """
    return await apart(sum(memoryview(value).nbytes for value in sent.values()), _read, sent, policy)


def _read(sent: Mapping[str, msgspec.Raw], policy: Policy) -> dict[str, Any]:
    """Read values. None is built before it is weighed, nor of more parts than the whole call may have."""
    most = policy.limits.value_kb << 10
    texts = {name: bytes(value) for name, value in sent.items()}
    for name, text in texts.items():
        parts = sum(map(text.count, (b",", b"[", b"{")))  # each is at least one byte of the value that crosses
        if len(text) > MAX_SPELLED * most or parts > most:
            raise TypeError(
                f"the value for {name!r} cannot cross into the sandbox: it is larger than limits.value_kb "
                f"({policy.limits.value_kb} KiB)"
            )
    values = unmarked([loads(text.decode()) for text in texts.values()])
    return dict(zip(texts, values, strict=True))


# Of sandboxes


async def _opened(
    service: Service, sandbox: AsyncSandbox, files: Mapping[str, bytes], **tightened: Any
) -> AsyncSession:
    """Open a session with `files` in its workspace."""
    return await _with_files(await sandbox.session(**tightened, record=service.recording()), files)


async def _with_files(session: AsyncSession, files: Mapping[str, bytes]) -> AsyncSession:
    """Put files into the workspace of a new session, which is closed where that fails."""
    try:
        for name, data in files.items():
            await session.write_file(name, data)
    except BaseException:
        await session.close()
        raise
    return session


async def _run_program(
    service: Service, sandbox: AsyncSandbox, *, files: Mapping[str, bytes], label: str | None = None, **given: Any
) -> Result:
    with service.place(sandbox.policy):
        async with await _opened(service, sandbox, files, label=label, checkpoints="off") as session:
            return await session.run(**given)


async def _check(service: Service, sandbox: AsyncSandbox, **given: Any) -> Result:
    with service.place(sandbox.policy):
        return await sandbox.check(**given)


async def _open_session(
    service: Service,
    sandbox: AsyncSandbox,
    *,
    files: Mapping[str, bytes],
    stored: str | None = None,
    **given: Any,
) -> Answer:
    if stored is None:
        with service.place(sandbox.policy, given.get("memory_mb")) as place:
            return {"session": service.hold(await _opened(service, sandbox, files, **given), place)}
    if service.store is None:
        raise SandboxError("this server has no store: safeexec serve --store DIRECTORY")
    beginning = {name: given[name] for name in ("namespace", "queue_seconds", "template") if given.get(name)}
    tightened = {name: value for name, value in given.items() if name in TIGHTENED}
    name = StoredName(stored, None if sandbox.policy.name == service.default else sandbox.policy.name, tightened)
    identity = await service.open_stored(name, **beginning)
    for path, data in files.items():
        await service.held(identity).session.write_file(path, data)
    return {"session": identity}


async def _restore(service: Service, sandbox: AsyncSandbox, *, state: bytes, trust: str = "", **how: Any) -> Answer:
    with service.place(sandbox.policy) as place:
        async with _file_of(state) as path:
            session = await sandbox.restore(path, **how, record=service.recording())
        return {"session": service.hold(session, place)}


@asynccontextmanager
async def _file_of(state: bytes) -> AsyncIterator[Path]:
    """Give a saved state as a file. What is raised about that speaks of what was sent."""
    with tempfile.TemporaryDirectory(prefix="safeexec-state-") as directory:
        path = Path(directory, "state")
        await apart(len(state), path.write_bytes, state)
        try:
            yield path
        except SandboxError as error:
            raise type(error)(str(error).replace(str(path), "what was sent")) from None


async def _session_for(
    service: Service,
    sandbox: AsyncSandbox,
    *,
    label: str,
    new: bool,
    files: Mapping[str, bytes],
    namespace: dict[str, Any],
    state: bytes | None = None,
    **tightened: Any,
) -> Answer:
    async def begin() -> AsyncSession:
        if not new:
            raise SessionClosed(f"there is no session of {label!r}")
        if state is not None:
            async with _file_of(state) as path:
                return await sandbox.session_for(label, restore=path, namespace=namespace, **tightened)
        return await _with_files(await sandbox.session_for(label, namespace=namespace, **tightened), files)

    return {"session": await service.labelled(sandbox, label, begin, **tightened)}


async def _stats(service: Service, sandbox: AsyncSandbox) -> Answer:
    counted = sandbox.stats()
    labels = [[label, _plain(row)] for label, row in counted.by_label.items()]
    return {"stats": _plain(replace(counted, by_label={})), "labels": labels}


async def _stored(service: Service, sandbox: AsyncSandbox) -> Answer:
    return {"sessions": [{"label": row.label, "bytes": row.bytes, "used": row.used} for row in await sandbox.stored()]}


async def _waiting(service: Service, sandbox: AsyncSandbox) -> Answer:
    mine = [(identity, held.session) for identity, held in service.sessions.items()]
    told = [await _told(identity, one) for identity, one in mine if one.policy.name == sandbox.policy.name]
    return {"waiting": [call for call in told if call is not None]}


# Of sessions


async def _run(service: Service, at: Target, *, stream: bool, **given: Any) -> Result:
    _running.set(at)
    return await at.session.run(**given, **_listeners(at, stream))


async def _answer(
    service: Service,
    at: Target,
    *,
    arguments: dict[str, Any],
    reason: str,
    stream: bool,
    allow: bool | None = None,
    wait: float | None = None,
    **given: Any,
) -> Result:
    if (allow is None) is not ("value" in given):
        raise ValueError("an answer is `allow`, true or false, or a `value`")
    denied = Deny(reason) if reason else Deny()
    said = given.get("value") if allow is None else Allow(arguments=arguments) if allow else denied
    _running.set(at)
    return await at.session.answer(said, wait=wait, **_listeners(at, stream))


async def _waiting_for(service: Service, at: Target) -> Answer:
    return {"waiting_for": await _told(at.id, at.session)}


async def _told(identity: str, session: AsyncSession) -> Answer | None:
    """Return what a session waits for. It may be large."""
    call = await session.waiting_for
    return None if call is None else (await asyncio.to_thread(waiting_to_dict, call)) | {"session": identity}


def _listeners(at: Target, stream: bool) -> dict[str, Any]:
    """Return options of `run` that tell a client of its step while it runs."""
    notify, session = at.notify, {"session": at.id}
    if notify is None or not stream:
        return {}

    def heard(stream: str) -> Callable[[str], object]:
        return lambda text: notify("session.output", {**session, "stream": stream, "text": text})

    def seen(display: Display) -> None:
        notify("session.display", session | display_to_dict(display))

    def moved(description: str, done: float, total: float | None) -> None:
        known = total if total is not None and isfinite(total) else None
        numbers = {"done": done if isfinite(done) else 0.0, "total": known}
        notify("session.progress", {**session, "description": description, **numbers})

    return {"on_stdout": heard("stdout"), "on_stderr": heard("stderr"), "on_display": seen, "on_progress": moved}


async def _reply(service: Service, at: Target, *, call: int, value: bytes | None = None, **given: Any) -> Answer:
    return {"taken": service.reply(at.id, call, RelayedAnswer(value=value, **given))}


async def _get(service: Service, at: Target, *, name: str, exact: bool) -> Answer:
    value = await at.session.get(name, _NONE)
    if value is _NONE:
        return {"found": False, "value": None}
    size = size_of(value, SMALL)
    told = await (apart(size, exactly, value, MAX_VALUE) if exact else apart(size, jsonable, value))
    return {"found": True, "value": told}


async def _branch(service: Service, at: Target, *, n: int, **how: Any) -> Answer:
    policy = at.session.policy
    with ExitStack() as places:
        taken = n if 0 < n <= policy.limits.branches else 0  # other numbers the session refuses
        kept = [places.enter_context(service.place(policy)) for _ in range(taken)]
        branches = await at.session.branch(n, **how)
        return {"sessions": [service.hold(branch, place) for branch, place in zip(branches, kept, strict=True)]}


async def _read_file(service: Service, at: Target, *, name: str, max_bytes: int = MAX_FILE) -> Answer:
    data = await at.session.read_file(name, max_bytes=min(max_bytes, MAX_FILE))
    return {"data": await apart(len(data), jsonable, data)}


async def _save(service: Service, at: Target, **how: Any) -> Answer:
    with tempfile.TemporaryDirectory(prefix="safeexec-state-") as directory:
        path = Path(directory, "state")
        unsaved = await at.session.save(path, **how)
        if path.stat().st_size > MAX_VALUE:
            raise SandboxError(f"the state has {path.stat().st_size} bytes, and {MAX_VALUE} are the most that is sent")
        return {"state": marked(path.read_bytes()), "unsaved": unsaved}


async def _close(service: Service, at: Target) -> None:
    await service.end(at.id)


_NONE = object()
_running: ContextVar[Target | None] = ContextVar("safeexec_running", default=None)
"""The session whose step this task runs: its tools are called here."""
ACTS: dict[str, Callable[..., Awaitable[Answer | Result | None]]] = {
    "sandbox.run": _run_program,
    "sandbox.check": _check,
    "sandbox.session": _open_session,
    "sandbox.restore": _restore,
    "sandbox.stored": _stored,
    "sandbox.waiting": _waiting,
    "sandbox.session_for": _session_for,
    "sandbox.stats": _stats,
    "session.run": _run,
    "session.answer": _answer,
    "session.waiting_for": _waiting_for,
    "session.reply": _reply,
    "session.get": _get,
    "session.branch": _branch,
    "session.read_file": _read_file,
    "session.save": _save,
    "session.close": _close,
}
"""The methods that need more than the method or the property of their name."""
_OF_SERVER: dict[str, Callable[..., Awaitable[Answer]]] = {
    "sandbox.tools": Service.with_tools,
    "sandbox.bring": Service.bring,
    "sandbox.drop": Service.drop,
}
"""The methods that open no sandbox."""
