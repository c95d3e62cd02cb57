"""The core of a session elsewhere, which the API drives as one here: each method is one call of the server's table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Literal, NoReturn, TypeVar

from msgspec.structs import replace

from safeexec.common.identity import weight
from safeexec.common.text import as_bytes
from safeexec.engine.approvals import Allow, Deny
from safeexec.engine.host.session.listeners import NOBODY, Callbacks, listening
from safeexec.engine.host.session.standard_input import Given, checked_arguments
from safeexec.engine.host.waiting import Core, Work, apart, drive
from safeexec.engine.policy.model import Policy
from safeexec.errors import RecordingError, SandboxClosed, SandboxError, SessionClosed
from safeexec.protocol.confinement import Mechanism
from safeexec.remote.calls import PolicyCalls, RemoteCaller, method_of
from safeexec.remote.crossing import (
    converted,
    field_of,
    fitting,
    input_of,
    mechanisms_of,
    result_of,
    source_of,
    value_of,
    write_file,
)
from safeexec.results import CommandResult, Result, WaitingCall
from safeexec.results.marked import marked

R = TypeVar("R")
UNRECORDED = (
    "sessions are recorded where they run: a server does so with `safeexec serve --record DIR`, a container does not"
)
_numbers = count(1)


def check_unrecorded(record: object) -> None:
    """Raise `RecordingError` where a recording is asked for."""
    if record is not None and record is not False:
        raise RecordingError(UNRECORDED)


class RemoteSessionCore:
    """A session of a server."""

    turns = supervisor = steps = variables = files = way_back = waits = property(lambda self: self)
    """The parts by which the APIs reach what they call (`SessionCore`). A session elsewhere has none: each of them is
    the session itself, by a property, as an attribute would keep it when nobody has it any more.
    """
    workspace = None
    """Its files are the server's: `read_file`, `write_file` and `list_files` reach them."""

    def __init__(self, calls: PolicyCalls, identity: str, label: str | None = None) -> None:
        self._calls = calls
        self.identity = identity
        self.number = next(_numbers)
        self.label = label
        self._waits: WaitingCall | None = None
        """The call that the caller was shown last that it waits for."""

    def _call(self, verb: str, params: Mapping[str, Any], **how: Any) -> Core[Any]:
        """Return the answer to a call about this session. `how`: as for `PolicyCalls.call`."""
        return self._calls.call(f"session.{verb}", {"session": self.identity, **params}, **how)

    def call_for_field(self, verb: str, /, **params: Any) -> Core[Any]:
        """Return the one field of the answer to a call about this session."""
        return field_of((yield from self._call(verb, params)))

    @property
    def summary(self) -> str:
        """The session in a few words."""
        return f"of {self._calls.policy.name!r}, over a connection"

    @property
    def untold_cpu(self) -> float:
        raise SandboxError("over a connection only the server knows what a session uses between its steps")

    def take(self) -> None:
        """Count no callers: the server closes what nobody uses."""

    abandon = take

    def close(self) -> Core[None]:
        if self._calls.alive:
            try:
                yield from self.call_for_field("close")
            except (SessionClosed, SandboxClosed):
                pass

    # Steps

    def run(
        self,
        source: str,
        *,
        timeout: float | None,
        atomic: bool,
        callbacks: Callbacks,
        stdin: Given | None = None,
        argv: Sequence[str] | None = None,
        namespace: Mapping[str, Any] | None = None,
        wait: float | None = None,
    ) -> Core[Result]:
        caller = RemoteCaller(self.identity) if self._calls.toolbox.tools else None
        params = {
            "source": source_of(source),
            "timeout": timeout,
            "atomic": atomic,
            "stdin": input_of(stdin),
            "argv": None if argv is None else checked_arguments(argv),
            "namespace": self._calls.values(namespace),
        }
        result = yield from self._step("run", params, callbacks, caller, wait)
        if caller is not None and caller.later is None:
            result = replace(result, tool_calls=caller.tool_records.since(0))
        return self._reported(source, result)

    def _step(
        self, verb: str, params: dict[str, Any], callbacks: Callbacks, caller: RemoteCaller | None, wait: float | None
    ) -> Core[Result]:
        """Run a step, or go on with one. `wait`: for how long until it begins."""
        listeners = listening(callbacks) if any(callbacks) else NOBODY  # most steps have none: those cost nothing
        params |= {"wait": wait, "stream": listeners is not NOBODY or caller is not None, "exact": True}
        answer = yield from self._call(
            verb, params, listeners=listeners, caller=caller, seconds=wait or 0.0, stop=self._stop
        )
        result = yield from apart(weight(answer), partial(result_of, answer))
        self._waits = result.waiting_for
        return result

    def _reported(self, source: str, result: Result) -> Result:
        """Return the result of a step, after the observer here has seen it."""
        if (observer := self._calls.observer) is not None:
            observer.step_done(self, source.encode("utf-8", "surrogatepass"), result)
        return result

    def answer(self, answer: object, callbacks: Callbacks, wait: float | None = None) -> Core[Result]:
        caller = None
        if self._calls.toolbox.tools:
            waits = self._waits or (yield from self.shown())
            allows = Allow() if answer is True else answer if isinstance(answer, Allow) else None
            caller = RemoteCaller(self.identity, allows, waits)
        if isinstance(answer, Allow):
            params = {"allow": True, "arguments": self._calls.values(answer.arguments)}
        elif isinstance(answer, Deny):
            params = {"allow": False, "reason": answer.reason}
        else:
            params = {"value": self._calls.values({"value": answer})["value"]}
        return (yield from self._step("answer", params, callbacks, caller, wait))

    def shown(self) -> Core[WaitingCall | None]:
        self._waits = yield from self.call_for_field("waiting_for")
        return self._waits

    cancel_waiting = method_of("cancel_waiting")

    def check_free(self) -> None:
        """Check nothing: the server says so when the step begins."""

    def patiently(self, seconds: float, operation: Callable[..., Core[R]]) -> Core[R]:
        """Leave it to the server to wait until the session is free."""
        return operation(wait=seconds)

    def sql(self, query: str, name: str | None, timeout: float | None) -> Core[Result]:
        params = {"query": query, "name": name, "timeout": timeout, "exact": True}
        return self._reported(query, result_of((yield from self._call("sql", params, stop=self._stop))))

    def check(self, source: str, stdin: bool) -> Core[Result]:
        return self._calls.check(source, stdin)

    def _stop(self) -> Core[bool]:
        try:
            return bool((yield from self.call_for_field("cancel")))
        except (SessionClosed, SandboxClosed):
            return False

    def cancel(self) -> bool:
        return drive(self._stop())

    # State

    @property
    def policy(self) -> Policy:
        found: Policy = converted(drive(self.call_for_field("policy")), Policy)
        return found

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        return self.policy.card(format, tools=self._calls.toolbox.tools.values())

    def fetch(self, name: str, *, arrays: bool = False) -> Core[tuple[bool, Any]]:
        answer = yield from self._call("get", {"name": name, "exact": True})
        return answer.found, (yield from apart(weight(answer.value), partial(value_of, answer.value)))

    def assign(self, name: str, value: Any) -> Core[None]:
        yield from self.call_for_field("set", name=name, value=self._calls.values({name: value})[name])

    remove = method_of("remove", "name")
    names = method_of("names")
    described = method_of("variables")

    # Checkpoints

    checkpoint = method_of("checkpoint", "name")
    rollback = method_of("rollback", "name", "steps")
    rows = method_of("checkpoints", at_once=True)
    drop = method_of("drop", "name")

    def note(self, text: str, score: float | None) -> None:
        """Record nothing over a connection."""

    def pending(self) -> NoReturn:
        raise SandboxError("deferred calls are carried out where the tools are: over a connection that is the server")

    def carry_out(self) -> Core[NoReturn]:
        yield from ()
        self.pending()

    def history(self) -> NoReturn:
        raise RecordingError(UNRECORDED)

    def branch(self, count: int, checkpoints: str | None = None) -> Core[list[RemoteSessionCore]]:
        def undo(answer: Any) -> Core[None]:
            for identity in answer.sessions:
                yield from RemoteSessionCore(self._calls, identity).close()

        answer = yield from self._call("branch", {"n": count, "checkpoints": checkpoints}, undo=undo)
        return [RemoteSessionCore(self._calls, identity, self.label) for identity in answer.sessions]

    def save(
        self, path: str | os.PathLike[str], timeout: float | None, *, wait: float | None = None
    ) -> Core[dict[str, str]]:
        params = {"timeout": timeout, "wait": wait}
        answer = yield from self._call("save", params, seconds=wait or 0.0, stop=self._stop)
        yield Work(partial(write_file, path, answer.state.base64))
        return dict(answer.unsaved)

    # Files and protection

    def command(self, argv: Sequence[str], directory: str, timeout: float | None) -> Core[CommandResult]:
        return self.call_for_field("command", argv=list(argv), cwd=directory, timeout=timeout)

    def read_file(self, name: str, max_bytes: int | None = None) -> bytes:
        return bytes(drive(self.call_for_field("read_file", name=name, max_bytes=max_bytes)).base64)

    def write_file(self, name: str, data: bytes | str) -> None:
        drive(self.put(name, as_bytes(data)))

    def put(self, name: str, data: bytes) -> Core[None]:
        """Put a file as `write_file` does, for a loop."""
        yield from self.call_for_field("write_file", name=name, data=marked(fitting(data)))

    list_files = method_of("list_files", at_once=True)

    def protection(self) -> Core[tuple[Mechanism, ...]]:
        return tuple(mechanisms_of((yield from self.call_for_field("protection"))))
