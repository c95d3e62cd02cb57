"""Templates: a prepared state of a sandbox, by name, from which sessions begin at the cost of a fork.

A template is an idle session: it has prepared the state, given that a name, and let its process go. Each session that
begins there is a branch of it. So what holds for branches holds for them: `limits.branches` counts them, and all of
them share what forks share.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from safeexec.engine.host.queue import OneAtATime
from safeexec.engine.host.session.copy import Copy, own_bytes
from safeexec.engine.host.session.supervisor import LOST
from safeexec.engine.host.session.tightened import own_limits, tightened
from safeexec.engine.host.waiting import CallTool, Core
from safeexec.errors import CheckpointError, PolicyError, SandboxBusy, SandboxError
from safeexec.results import StepFailed, TemplateInfo

if TYPE_CHECKING:
    import os

    from safeexec.engine.host.session.channel import Channel
    from safeexec.engine.host.session.history import State
    from safeexec.engine.host.session.interfaces import SandboxInterface
    from safeexec.engine.host.session.output import SessionOutput
    from safeexec.engine.host.session.session import SessionCore
    from safeexec.engine.policy.model import Policy

    Prepare = str | Callable[[Any], Any] | None


R = TypeVar("R")

TURN_SECONDS = 3600.0
"""How long to wait while somebody else prepares the template."""


class FrozenState(Struct, eq=False):
    """A named state of `core` that is kept without a process: that of a template, and a fresh plugin as it was loaded.
    Processes go on in it from `copy`.
    """

    _core: SessionCore
    state: State
    copy: Copy

    def leave(self) -> Channel | None:
        """Go back to this state, without a process. Returns the one that there was, for the caller to end."""
        core, processes = self._core, self._core.processes
        runner, processes.runner = processes.runner, None
        if core.supervisor.state is not LOST:
            core.supervisor.transition(LOST)
        processes.release(processes.history.arrive(self.state))
        return runner.channel if runner is not None else None

    def end(self, channel: Channel) -> Core[None]:
        """End a process that was left, and whatever it left behind."""
        yield from self._core.processes.lineage.end_runner(channel, self._core.processes)
        channel.close()

    def adopt(self, channel: Channel, output: SessionOutput) -> None:
        """Go on in a process that was resumed from the copy, and writes to `output`."""
        self._core.processes.adopt(channel, self.copy, output)
        self._core.supervisor.take_in_process()


def freeze(core: SessionCore, name: str) -> Core[FrozenState]:
    """Return the state as it is now, under a name. The process goes on until it is left."""
    yield from core.way_back.checkpoint(name)
    return FrozenState(core, *core.processes.history.find(name))


class Preparation(NamedTuple):
    """How a template is prepared."""

    prepare: Prepare
    files: Mapping[str, str | bytes | os.PathLike[str]]
    timeout: float | None
    policy: Policy


class TemplateCore:
    """One template of a sandbox, without its I/O. Many may ask for sessions at once: it is prepared once."""

    def __init__(
        self, sandbox: SandboxInterface, name: str, definition: Preparation, api: Callable[[SessionCore], object]
    ) -> None:
        """`api` makes, of a session, what the function that prepares it is called with."""
        self._sandbox = sandbox
        self.name = name
        self.definition = definition
        self._api = api
        self._turn = OneAtATime()
        self.session: SessionCore | None = None
        """The one that holds the state, or prepares it."""
        self._given: object = None
        """The argument of the function that prepared it: a session is closed when what its caller held has gone."""
        self._copy: Copy | None = None
        self.recorded: Any = None
        """How it was prepared, in the words of the sandbox, for recordings of its sessions."""
        self._prepared = 0
        self._seconds = 0.0

    def policy_of(self, changes: Mapping[str, Any]) -> Policy:
        """Return the policy of a session that begins here and asks for `changes`. Raises `PolicyError`, also for a
        limit that the host does not enforce itself: it was set in the template's process before that ran guest code,
        and a fork of it cannot lower it.
        """
        given = self.definition.policy
        wanted = tightened(given, changes)
        if not own_limits(given.limits, wanted.limits):
            return wanted
        alone = {name: replace(given.limits, **{name: value}) for name, value in asdict(wanted.limits).items()}
        name = next(name for name, limits in alone.items() if own_limits(given.limits, limits))
        raise PolicyError(
            f"limits.{name} holds for all sessions of the template {self.name!r} from its first process on: "
            f"lower it there, with sandbox.template({self.name!r}, ..., {name}={getattr(wanted.limits, name)})"
        )

    def ready(self) -> Core[None]:
        """Prepare it, unless that was done and it lives. Raises `StepFailed` where its program fails, and whatever its
        function raises.
        """
        yield from self._in_turn(self._living())

    def begin(self, policy: Policy, label: str | None) -> Core[SessionCore]:
        """Return a session that begins there; prepare it anew if it died. Raises `CheckpointError`, and as `ready`."""
        branch, copy = yield from self._in_turn(self._begun(policy, label))
        try:
            yield from branch.arrive(copy)
        except BaseException:
            yield from branch.close()
            raise
        return branch

    def close(self) -> Core[None]:
        """Give it up. The sessions that began there go on."""
        self._copy = None
        session, self.session = self.session, None
        if session is not None:
            yield from session.close()

    def row(self) -> TemplateInfo:
        """Return what it is and takes."""
        copy, session = self._copy, self.session
        pid = copy.pid() if copy is not None else None
        return TemplateInfo(
            self.name,
            len(session.processes.lineage.sessions) - 1 if session is not None and copy is not None else 0,
            own_bytes(pid) / (1 << 20) if pid is not None else 0.0,
            monotonic() - copy.created if copy is not None else 0.0,
            self._seconds,
            self._prepared,
        )

    def _in_turn(self, work: Core[R]) -> Core[R]:
        if self._turn.would_wait_for_itself:
            raise SandboxError(f"the template {self.name!r} is asked for by the function that prepares it")
        if not (yield from self._turn.enter(TURN_SECONDS)):
            raise SandboxBusy(f"the template {self.name!r} is still being prepared after {TURN_SECONDS:g} s")
        try:
            return (yield from work)
        finally:
            self._turn.leave()

    def _begun(self, policy: Policy, label: str | None) -> Core[tuple[SessionCore, Copy]]:
        """Return a branch whose process was asked for, and the copy that it comes from."""
        copy = yield from self._living()
        session = self.session
        assert session is not None
        session.processes.check_branches(1)
        return (yield from session.begin_branch(policy, label, copy, self.name)), copy

    def _living(self) -> Core[Copy]:
        """Return the copy of its state."""
        copy = self._copy
        if copy is None or not (yield from copy.wait_until_frozen(monotonic())):
            yield from self.close()
            copy = yield from self._prepare()
        return copy

    def _prepare(self) -> Core[Copy]:
        began = monotonic()
        session = self.session = yield from self._sandbox.begin_session(self.definition.policy, f"template {self.name}")
        try:
            session.template = self.name
            self._sandbox.sessions.set_apart(session)
            written = self._sandbox.preparing(session, self.name)
            if self.definition.files:
                yield from session.files.put_files(self.definition.files)
            yield from self._run(session)
            self.recorded = written()
            kept = yield from freeze(session, self.name)
            if (channel := kept.leave()) is not None:
                yield from kept.end(channel)
        except BaseException:
            yield from self.close()
            raise
        self._copy, self._seconds = kept.copy, monotonic() - began
        self._prepared += 1
        return kept.copy

    def _run(self, session: SessionCore) -> Core[None]:
        prepare, timeout = self.definition.prepare, self.definition.timeout
        if callable(prepare):
            is_async = inspect.iscoroutinefunction(prepare)
            self._given = self._api(session)
            yield CallTool(partial(prepare, self._given), None, is_async=is_async, owner=self._sandbox.toolbox)
        elif prepare is not None:
            result = yield from session.steps.run(prepare, timeout=timeout, atomic=False)
            try:
                result.check()
            except StepFailed as error:
                raise StepFailed(f"the template {self.name!r} could not be prepared: {error}", result) from None


class Templates:
    """The templates of one sandbox, by name."""

    def __init__(self, sandbox: SandboxInterface) -> None:
        self._sandbox = sandbox
        self._by_name: dict[str, TemplateCore] = {}

    def define(self, name: str, definition: Preparation, api: Callable[[SessionCore], object]) -> Core[TemplateInfo]:
        """Prepare a template. One that is defined in the same way is taken as it is; any other of that name is given up
        when this one is ready.
        """
        template = TemplateCore(self._sandbox, name, definition, api)
        # One call of C code: of many that ask at once, all get the same.
        old = self._by_name.setdefault(name, template)
        template = old if old.definition == definition else template
        try:
            yield from template.ready()
        except BaseException:
            if template.session is None and self._by_name.get(name) is template:
                del self._by_name[name]
            raise
        before, self._by_name[name] = self._by_name.get(name), template
        if before is not None and before is not template:
            yield from before.close()
        return template.row()

    def find(self, name: str) -> TemplateCore:
        """Return the template of that name. Raises `CheckpointError`."""
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            known = ", ".join(self._by_name) or "none"
            raise CheckpointError(f"no template {name!r}; templates of this sandbox: {known}") from None

    def drop(self, name: str) -> Core[None]:
        """Give up a template. Raises `CheckpointError`."""
        template = self.find(name)
        self._by_name.pop(name, None)
        yield from template.close()

    def rows(self) -> list[TemplateInfo]:
        return [template.row() for template in list(self._by_name.values())]
