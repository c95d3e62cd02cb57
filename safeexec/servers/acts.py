"""Does what the table of methods says: a function of `ACTS`, else what the sandbox or session has under that name."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import replace

from safeexec import (
    Allow,
    AsyncSandbox,
    AsyncSession,
    CommandResult,
    Deny,
    Display,
    Result,
    SandboxClosed,
    SandboxError,
    SessionClosed,
)
from safeexec.common.identity import LARGE, weight
from safeexec.remote.methods import EVERY, MAX_FILE, METHOD, OWNED, TIGHTENED, Method
from safeexec.results.jsonable import display_to_dict, jsonable, waiting_to_dict
from safeexec.results.marked import exact as exactly
from safeexec.results.marked import marked
from safeexec.servers.account import apart, count_untaken, own_thread, room
from safeexec.servers.labels import StoredName, leave, open_labelled, open_stored, reach
from safeexec.servers.service import Notify, Service, Target, running
from safeexec.servers.wire import MAX_VALUE, Answer, BadCall, answer_of, decode, parse, plain
from safeexec.toolkit import RelayedAnswer


async def call(service: Service, name: str, parameters: bytes | msgspec.Raw, notify: Notify | None = None) -> Answer:
    """Return the answer to one call, whose parameters are JSON. Raises and answers as `do`."""
    method = EVERY.get(name)
    if method is None or (name in OWNED and not service.owned):
        raise BadCall(METHOD, f"there is no method {name[:100]!r}")
    given = await parse(name, parameters, method.parameters)
    return await do(service, method, msgspec.structs.asdict(given), notify)


async def do(service: Service, method: Method, given: dict[str, Any], notify: Notify | None = None) -> Answer:
    """Return the answer to a call with the parameters `given`, as what `json.dumps` takes.

    Raises what `problem_of` explains. To cancel the task stops a step that runs, and restores its state.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if act := _OF_SERVER.get(method.name):
        return await act(service, **given)
    if "session" not in given:
        return await _act(service, method, await service.sandbox(given.pop("policy", None)), given)
    held = await reach(service, identity := given.pop("session"))
    held.calls += 1
    try:
        return await _act(service, method, Target(identity, held.session, notify), given)
    except (SessionClosed, SandboxClosed):
        if service.sessions.get(identity) is held:  # it went with its zygote, or from the store: its place is free
            await service.end(identity)
        raise
    finally:
        held.calls -= 1
        held.used = monotonic()


async def _act(service: Service, method: Method, target: AsyncSandbox | Target, given: dict[str, Any]) -> Answer:
    """Do what a method says, and return its answer: a function of `ACTS`, else what the sandbox or the session has of
    that name.
    """
    owner = target.session if isinstance(target, Target) else target
    exact = method.answer is Result and given.pop("exact", False)
    given = await decode(given, owner.policy)
    if act := ACTS.get(method.name):
        returned = await act(service, target, **given)
    else:
        # Safe: a name of the table, not of the client.
        found = getattr(owner, method.name.partition(".")[2])
        returned = found(**given) if callable(found) else found
        returned = await returned if isinstance(returned, Awaitable) else returned
    if isinstance(returned, Result | CommandResult):
        service.count(returned)
    if isinstance(returned, Result):
        return await answer_of(returned, exact)
    fields = method.answer.__struct_fields__
    if act is not None or not fields:
        return returned or {}
    return {fields[0]: await apart(weight(returned), plain, returned)}


# Of sandboxes


async def _open(service: Service, sandbox: AsyncSandbox, files: Mapping[str, bytes], **tightened: Any) -> AsyncSession:
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
    with service.reserve(sandbox.policy):
        async with await _open(service, sandbox, files, label=label, checkpoints="off") as session:
            try:
                return await session.run(**given)
            finally:
                service.count_untold(session)


async def _check(service: Service, sandbox: AsyncSandbox, **given: Any) -> Result:
    with service.reserve(sandbox.policy):
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
        with service.reserve(sandbox.policy, given.get("memory_mb")) as place:
            return {"session": service.hold(await _open(service, sandbox, files, **given), place)}
    if service.store is None:
        raise SandboxError("this server has no store: safeexec serve --store DIRECTORY")
    names = "namespace", "queue_seconds", "template"
    beginning = {name: given[name] for name in names if name in given}
    tightened = {name: value for name, value in given.items() if name in TIGHTENED}
    policy = service.name_of(sandbox)
    name = StoredName(stored, None if policy == service.default else policy, tightened)
    identity = await open_stored(service, name, **beginning)
    for path, data in files.items():
        await service.find(identity).session.write_file(path, data)
    return {"session": identity}


async def _restore(service: Service, sandbox: AsyncSandbox, *, state: bytes, trust: str = "", **how: Any) -> Answer:
    with service.reserve(sandbox.policy) as place:
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

    return {"session": await open_labelled(service, sandbox, label, begin, **tightened)}


async def _stats(service: Service, sandbox: AsyncSandbox) -> Answer:
    counted = sandbox.stats()
    labels = [[label, plain(row)] for label, row in counted.by_label.items()]
    return {"stats": plain(replace(counted, by_label={})), "labels": labels}


async def _stored(service: Service, sandbox: AsyncSandbox) -> Answer:
    async with own_thread():  # 50 lists of 4,000 sessions had all threads: another tenant's step waited for 9 s
        rows = await sandbox.stored()
    return {"sessions": [{"label": row.label, "bytes": row.bytes, "used": row.used} for row in rows]}


async def _forget(service: Service, sandbox: AsyncSandbox, *, label: str) -> None:
    if service.store is not None:
        await leave(service, {label})  # under whatever policy it is open, and its place is free
    await sandbox.forget(label)


async def _waiting(service: Service, sandbox: AsyncSandbox) -> Answer:
    mine = [(identity, held.session) for identity, held in service.sessions.items()]
    described = [
        await _describe_waiting(identity, one) for identity, one in mine if one.policy.name == sandbox.policy.name
    ]
    return {"waiting": [call for call in described if call is not None]}


# Of sessions


async def _run(service: Service, target: Target, *, stream: bool, **given: Any) -> Result:
    running.set(target)
    return await target.session.run(**given, **_listeners(target, stream))


async def _answer(
    service: Service,
    target: Target,
    *,
    arguments: dict[str, Any],
    reason: str,
    stream: bool,
    allow: bool | None = None,
    wait: float | None = None,
    **given: Any,
) -> Result:
    if (allow is None) != ("value" in given):
        raise ValueError("an answer is `allow`, true or false, or a `value`")
    denied = Deny(reason) if reason else Deny()
    said = given.get("value") if allow is None else Allow(arguments=arguments) if allow else denied
    running.set(target)
    return await target.session.answer(said, wait=wait, **_listeners(target, stream))


async def _waiting_for(service: Service, target: Target) -> Answer:
    return {"waiting_for": await _describe_waiting(target.id, target.session)}


async def _describe_waiting(identity: str, session: AsyncSession) -> Answer | None:
    """Return what a session waits for. It may be large."""
    call = await session.waiting_for
    return None if call is None else (await apart(LARGE, waiting_to_dict, call)) | {"session": identity}


def _listeners(target: Target, stream: bool) -> dict[str, Any]:
    """Return options of `run` by which a client hears of its step while it runs."""
    notify, session = target.notify, {"session": target.id}
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


async def _reply(service: Service, target: Target, *, call: int, value: bytes | None = None, **given: Any) -> Answer:
    return {"taken": service.reply(target.id, call, RelayedAnswer(value=value, **given))}


async def _get(service: Service, target: Target, *, name: str, exact: bool) -> Answer:
    value = await target.session.get(name, _NONE)
    if value is _NONE:
        return {"found": False, "value": None}
    write = partial(exactly, max_bytes=MAX_VALUE) if exact else jsonable
    return {"found": True, "value": await apart(weight(value), write, value)}


async def _branch(service: Service, target: Target, *, n: int, **how: Any) -> Answer:
    policy = target.session.policy
    with ExitStack() as places:
        taken = n if 0 < n <= policy.limits.branches else 0  # other numbers the session refuses
        kept = [places.enter_context(service.reserve(policy)) for _ in range(taken)]
        branches = await target.session.branch(n, **how)
        return {"sessions": [service.hold(branch, place) for branch, place in zip(branches, kept, strict=True)]}


async def _read_file(service: Service, target: Target, *, name: str, max_bytes: int = MAX_FILE) -> Answer:
    async with room():
        data = await target.session.read_file(name, max_bytes=min(max_bytes, MAX_FILE))
        count_untaken(len(data))
    return {"data": await apart(len(data), jsonable, data)}


async def _save(service: Service, target: Target, **how: Any) -> Answer:
    with tempfile.TemporaryDirectory(prefix="safeexec-state-") as directory:
        path = Path(directory, "state")
        unsaved = await target.session.save(path, **how)
        if path.stat().st_size > MAX_VALUE:
            raise SandboxError(f"the state has {path.stat().st_size} bytes, and {MAX_VALUE} are the most that is sent")
        async with room():
            count_untaken(path.stat().st_size)
            return {"state": await apart(LARGE, lambda: marked(path.read_bytes())), "unsaved": unsaved}


async def _card(service: Service, target: Target, **how: Any) -> Answer:
    return {"card": await apart(LARGE, target.session.card, **how)}  # the first one takes 40 ms


async def _close(service: Service, target: Target) -> None:
    await service.end(target.id)


_NONE = object()
ACTS: dict[str, Callable[..., Awaitable[Answer | Result | None]]] = {
    "sandbox.run": _run_program,
    "sandbox.check": _check,
    "sandbox.session": _open_session,
    "sandbox.restore": _restore,
    "sandbox.stored": _stored,
    "sandbox.forget": _forget,
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
    "session.card": _card,
    "session.close": _close,
}
"""The methods that need more than the method or the property of their name."""
_OF_SERVER: dict[str, Callable[..., Awaitable[Answer]]] = {
    "sandbox.tools": Service.with_tools,
    "sandbox.bring": Service.bring,
    "sandbox.drop": Service.drop,
}
"""The methods that open no sandbox."""
