"""How a file becomes a session, in the state that another one was saved in. `saving` has what the child does for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from safeexec.engine.host.files import state_file
from safeexec.engine.host.waiting import Core, Work, ending
from safeexec.errors import RecordingError, StateFileError

if TYPE_CHECKING:
    from safeexec.engine.host.session.session import SessionCore
    from safeexec.engine.policy.model import Policy


def from_file(
    policy: Policy,
    begin: Callable[[], Core[SessionCore]],
    path: str | os.PathLike[str],
    timeout: float | None,
    record: Callable[..., None] | None,
    namespace: Mapping[str, Any],
) -> Core[SessionCore]:
    """Return the session that `begin` opens, in the state of a file. `policy` is that of the sandbox; `record` is
    called with the session and its state, from which on it is to be recorded; the rest is told by
    `SandboxCore.restore`.
    """
    saved = yield Work(partial(state_file.read, path, policy.limits))
    try:
        state_file.check(saved.header, os.fsdecode(path))
        session = yield from begin()
        try:
            if session.processes.workspace is not None:
                yield Work(partial(state_file.put_back, session.processes.workspace, saved))
            if saved.header.waiting:
                try:
                    yield from session.waits.wait_again(saved.header.waiting)
                except RecordingError as error:
                    raise StateFileError(f"{os.fsdecode(path)} is damaged: {error}") from None
            yield from session.load(saved.payload, timeout)
            if record is not None:
                record(session, state=(yield Work(saved.whole)))
            if namespace:
                # After the state, which begins a recording: what is set before would be missing there.
                there = set((yield from session.variables.names()))
                for name, value in namespace.items():
                    if name not in there:
                        yield from session.variables.assign(name, value)
        except BaseException:
            yield from session.close()
            raise
    finally:
        yield from ending(saved.size(), saved.close)
    return session
