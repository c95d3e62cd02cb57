"""The core of a sandbox elsewhere, which the API drives as one here: each method is one call of the server's table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from safeexec.engine.approvals import Approval
from safeexec.engine.host.tools.tool import tools_from
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import Core, Work, drive
from safeexec.engine.policy.model import Policy
from safeexec.errors import SandboxError, ToolError
from safeexec.protocol.confinement import Mechanism
from safeexec.recordings.forms import shapes_of
from safeexec.recordings.store.interface import StoredSession
from safeexec.remote.calls import PolicyCalls, method_of
from safeexec.remote.crossing import contents_of, converted, mechanisms_of, read_file
from safeexec.remote.session import RemoteSessionCore, check_unrecorded
from safeexec.remote.wire import Wire
from safeexec.results import CommandResult, TemplateInfo
from safeexec.results.marked import marked
from safeexec.results.stats import SandboxStats, SessionCounts

if TYPE_CHECKING:
    from safeexec.engine.host.children import Files
    from safeexec.engine.host.sandbox import Tools

EFFECTS = "a tool whose effect follows the steps of a session (safeexec.tool) is called where the session is, alone"


class RemoteSandboxCore(PolicyCalls):
    """One policy of a server."""

    without_plugins = (
        "plugins are not offered over a connection or in a container: run the source as a step of a session, and then "
        "its functions, as session.run('transform(value)', namespace={'value': 3})"
    )
    begun = False
    """True once it was opened, be it in vain: who opens the sandbox once more makes another core."""
    queue_seconds = 0.0
    """Time until there must be room for a session, where its opening does not say."""
    protection: Sequence[Mechanism] = ()

    def __init__(self, wire: Wire, policy: str | None, tools: Tools = None, approval: Approval | None = None) -> None:
        self._wire = wire
        if policy is not None:
            self._which = {"policy": policy}
        self.policy = Policy()
        self._given = tools, approval
        self.toolbox = Toolbox({}, self.policy, None)

    def open(self, launched: None = None) -> Core[None]:
        """Ask what the server's policy says, and what holds its sessions."""
        self.begun = True
        try:
            self.policy = converted((yield from self.call_for_field("policy")), Policy)
            self.toolbox = toolbox_of(*self._given, self.policy)
            yield from self.declare()
        except BaseException:
            yield from self.close()
            raise

    def declare(self) -> Core[None]:
        """Name the host tools to the server, and get what holds its sessions."""
        if self.toolbox.tools:
            declared = msgspec.to_builtins(shapes_of(self.toolbox.signatures()))
            self._which = {"policy": (yield from self.call_for_field("tools", tools=declared))}
        self.protection = mechanisms_of((yield from self.call_for_field("protection")))

    def close(self) -> Core[None]:
        self.toolbox.close()
        yield Work(self._wire.close)

    def new_session(self, **given: Any) -> Core[RemoteSessionCore]:
        params = self.beginning(**given)
        return (yield from self._opened("session", params, params.get("queue_seconds", self.queue_seconds)))

    def beginning(
        self, namespace: Mapping[str, Any] | None = None, record: object = None, **others: Any
    ) -> dict[str, Any]:
        """Return the keywords of a new session, as the server takes them."""
        check_unrecorded(record)
        if "files" in others:
            raise SandboxError("over a connection files are put into a session that is open: session.write_file()")
        params = {name: value for name, value in others.items() if value is not None}
        if namespace:
            params["namespace"] = self.values(namespace)
        return params

    def session_for(
        self, label: str, state: object, keywords: dict[str, Any], new: bool = True
    ) -> Core[RemoteSessionCore]:
        """Return the session of that label in the server's store. Raises `SandboxError` where it has none."""
        if not new:
            raise SandboxError("over a connection session_for() takes no `new`: stored() says which sessions there are")
        if state is not None:
            raise SandboxError("over a connection a session begins with a state by restore(), and not by its label")
        return self.new_session(**keywords, stored=label)

    remove_stored = method_of("forget", "label")
    waiting = method_of("waiting")
    templates = method_of("templates", at_once=True)
    drop_template = method_of("drop_template", "name")

    def stored(self) -> Core[list[StoredSession]]:
        return [StoredSession(row.label, row.bytes, row.used) for row in (yield from self.call_for_field("stored"))]

    def stats(self) -> SandboxStats:
        """Return what the server counts. Raises `SandboxError` over HTTP."""
        answer = drive(self._call("stats"))
        counted: SandboxStats = converted(answer.stats, SandboxStats)
        labels = converted(answer.labels, list[tuple[str | None, SessionCounts]])
        return replace(counted, by_label=dict(labels))

    def new_template(
        self,
        name: str,
        prepare: object,
        files: Files | None,
        timeout: float | None,
        tightened: Mapping[str, Any],
        api: object,
    ) -> Core[TemplateInfo]:
        if not isinstance(prepare, str | None):
            raise SandboxError("a template elsewhere is prepared by a program: prepare= is its text")
        held = {path: marked(data) for path, data in (yield Work(partial(contents_of, files or {})))}
        given = {"name": name, "prepare": prepare, "files": held, "timeout": timeout, **tightened}
        row: TemplateInfo = yield from self.call_for_field("template", **given)
        return row

    def restore(
        self, path: str | os.PathLike[str], timeout: float | None, record: object = None
    ) -> Core[RemoteSessionCore]:
        check_unrecorded(record)
        state = marked((yield Work(partial(read_file, path))))
        return (yield from self._opened("restore", {"state": state, "timeout": timeout}))

    def _opened(self, verb: str, params: dict[str, Any], seconds: float = 0.0) -> Core[RemoteSessionCore]:
        def undo(answer: Any) -> Core[None]:
            yield from RemoteSessionCore(self, answer.session).close()

        answer = yield from self._call(verb, params, seconds=seconds, undo=undo)
        return RemoteSessionCore(self, answer.session, params.get("label"))

    def command(self, argv: object, directory: object, timeout: object) -> Core[CommandResult]:
        yield from ()
        raise SandboxError("over a connection, programs run in the workspace of a session: session.command()")


def toolbox_of(tools: Tools, approval: Approval | None, policy: Policy) -> Toolbox:
    """Return the host tools for a sandbox elsewhere. Raises `ToolError`."""
    toolbox = Toolbox(tools_from(tools), policy, approval)
    if toolbox.has_effects:
        raise ToolError(EFFECTS)
    return toolbox
