"""The nodes of a recording: each record becomes a row, or tells more of the row of its step."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from functools import singledispatchmethod

from safeexec.common.text import head_and_tail, one_line
from safeexec.playback.page.nodes import TEXT_CHARACTERS, Kind, Node, RunPage, ToolUse, chains_of, title_of
from safeexec.recordings import format as f
from safeexec.results.mimebundle import in_page, of_display
from safeexec.results.outcomes import Display, is_text

DISPLAYS_BYTES = 64 << 20
"""Of the displays of one page."""
MAX_ROWS = 100_000
LEVELS = 1000
"""Branches of branches through which a state is looked for."""


def of_recording(records: Iterable[f.AnyRecord]) -> RunPage:
    """Return the page of a recording, whose records come in order, the heading first."""
    rows = _Rows()
    for record in records:
        if len(rows.nodes) >= MAX_ROWS:
            rows.nodes.append(Node(kind="end", title=f"no more than {MAX_ROWS} rows are shown"))
            break
        rows.take(record)
    rows.mark_undone()
    chains = chains_of([node.parent for node in rows.nodes])
    return RunPage(title=rows.title, facts=rows.facts, nodes=rows.nodes, chains=chains)


class _Session:
    """The position of one session in the tree."""

    __slots__ = ("names", "now", "origin", "states")

    def __init__(self, now: int, origin: _Session | None) -> None:
        self.now = now
        """The node of its state."""
        self.origin = origin
        self.states: dict[int, int] = {}
        """Step → the node of the state after it, as the host has changed it."""
        self.names: dict[str, int] = {}

    def state(self, step: int) -> int | None:
        """Return the node of the state after `step`, also of the sessions that this one comes from."""
        session: _Session | None = self
        for _ in range(LEVELS):
            if session is None:
                break
            if step in session.states:
                return session.states[step]
            session = session.origin
        return None

    def go_to(self, step: int, node: int) -> None:
        """Note that the session is in `node` now, the state after `step`."""
        self.now = self.states[step] = node


class _Rows:
    def __init__(self) -> None:
        self.title = "A recording"
        self.facts: list[tuple[str, str]] = []
        self.nodes: list[Node] = []
        self._sessions: dict[int, _Session] = {}
        self._open: dict[int, int] = {}
        """Session → the node of the step that runs."""
        self._calls: dict[int, tuple[int, f.Called]] = {}
        self._displays = DISPLAYS_BYTES

    def _add(self, record: f.OfSession, kind: Kind, title: str) -> Node:
        node = Node(
            kind=kind,
            title=one_line(title, 160),
            parent=self._session(record.session).now,
            session=record.session,
            step=record.step,
            at=record.at,
        )
        self.nodes.append(node)
        return node

    def _session(self, number: int) -> _Session:
        return self._sessions.setdefault(number, _Session(-1, None))

    def _operation(self, record: f.Operation, kind: Kind, title: str) -> Node:
        """Add a row for what the host did. The session goes on from there."""
        node = self._add(record, kind, title)
        if record.problem:
            node.outcome, node.text = "error", record.problem
        self._session(record.session).go_to(record.now, len(self.nodes) - 1)
        return node

    def mark_undone(self) -> None:
        """Say of each node whether no session has come to stand on it in the end."""
        kept: set[int] = set()
        for session in self._sessions.values():
            node = session.now
            while node >= 0 and node not in kept:
                kept.add(node)
                node = self.nodes[node].parent
        for index, row in enumerate(self.nodes):
            row.undone = index not in kept

    @singledispatchmethod
    def take(self, record: f.Record) -> None:
        """Take a record of a kind that has a row of its own, or none."""

    @take.register
    def _(self, record: f.Heading) -> None:
        self.title = record.label or f"A recording of {record.policy}"
        self.facts = [
            (name, text)
            for name, text in (
                ("policy", record.policy),
                ("started", record.started[:16].replace("T", " ")),
                ("redacted", ", ".join(record.redacted)),
            )
            if text
        ]
        facts = (
            ("Python", record.python),
            ("safeexec", record.safeexec),
            ("machine", record.machine),
            ("libraries", ", ".join(f"{name} {version}" for name, version in record.libraries.items())),
            ("tools", ", ".join(tool.name for tool in record.tools)),
            ("goes on from a saved state", "" if record.state is None else f"{record.state.size} bytes"),
        )
        self._sessions[1] = _Session(0, None)
        self._sessions[1].states[0] = 0
        notes = [f"{name}: {text}" for name, text in facts if text]
        self.nodes.append(Node(kind="start", title="the session begins", files=[*record.files], notes=notes))

    @take.register
    def _(self, record: f.Begun) -> None:
        title = f"load {record.name}" if isinstance(record, f.Installed) else title_of(record.text)
        node = self._add(record, "query" if isinstance(record, f.Queried) else "step", title)
        node.source = cut(record.text)
        if isinstance(record, f.Run):
            node.notes = [f"{name} = {value.text}" for name, value in record.namespace.items()]
        self._open[record.session] = len(self.nodes) - 1

    @take.register
    def _(self, record: f.Opened) -> None:
        self._sessions[record.session] = opened = _Session(len(self.nodes), None)
        opened.states[0] = opened.now
        title = f"session {record.session} begins: the plugin is loaded again"
        self.nodes.append(Node(kind="start", title=title, session=record.session, at=record.at))

    @take.register
    def _(self, record: f.FromTemplate) -> None:
        node = self._operation(record, "checkpoint", f"the template {record.name} is prepared: the session begins here")
        node.labels = [record.name]
        session = self._session(record.session)
        session.names[record.name] = session.now

    @take.register
    def _(self, record: f.StateSaved) -> None:
        failed = [f"{name} is not in it: {why}" for name, why in record.failed.items()]
        self._operation(record, "words", "the session is saved to a file").notes = failed

    @take.register
    def _(self, record: f.Ended) -> None:
        index = self._open.pop(record.session, None)
        if index is None:
            return
        node, session = self.nodes[index], self._session(record.session)
        node.outcome = "cancelled" if record.problem else record.outcome
        node.text, node.state = record.problem, record.state
        node.ms, node.cpu_ms = record.usage.wall_ms, record.usage.cpu_ms
        node.peak_mb = record.usage.peak_memory_mb
        node.stdout, node.stderr, node.value = cut(record.stdout), cut(record.stderr), cut(record.text)
        node.error, node.refusals, node.notes = record.error, record.refusals, [*node.notes, *record.notes]
        node.created, node.changed = [*record.changes.created], [*record.changes.changed]
        node.deleted, node.described = [*record.changes.deleted], dict(record.changes.descriptions)
        node.files = [f"{file.name} ({file.change})" for file in record.files]
        node.displays = [self._display(display) for display in record.displays]
        if record.problem or record.state != "kept":
            session.now = state if (state := session.state(record.now)) is not None else node.parent
        else:
            session.go_to(record.now, index)

    def _display(self, display: f.DisplayText) -> str:
        shown = display_html(display)
        self._displays -= len(shown)
        return shown if self._displays >= 0 else "<p>Left out: the page has no room for more displays.</p>"

    @take.register
    def _(self, record: f.Called) -> None:
        if record.session in self._open:
            self._calls[record.call] = (self._open[record.session], record)

    @take.register
    def _(self, record: f.Answered) -> None:
        index, called = self._calls.pop(record.call, (None, None))
        if index is not None and called is not None:
            answer = record.value.text if record.value is not None else f"{record.error_type}: {record.error}"
            call = ToolUse(called.tool, record.outcome, cut(called.arguments.text), cut(answer), record.wall_ms)
            self.nodes[index].calls.append(call)

    @take.register
    def _(self, record: f.WaitOver) -> None:
        if record.became != "answered":
            why = "it is given up" if record.became == "cancelled" else "nobody answered in time"
            self._add(record, "words", f"step {record.step} waits no more: {why}")

    @take.register
    def _(self, record: f.Effect) -> None:
        self._add(record, "words", f"effect of {record.tool}: {record.became}").text = record.message

    @take.register
    def _(self, record: f.Set) -> None:
        node = self._operation(record, "change", f"set {record.name} = {record.value.text}")
        node.changed, node.described = [record.name], {record.name: record.value.text[:200]}

    @take.register
    def _(self, record: f.Deleted) -> None:
        self._operation(record, "change", f"delete {record.name}").deleted = [record.name]

    @take.register
    def _(self, record: f.Written) -> None:
        self._operation(record, "change", f"write {record.name}").files = [
            f"{record.name} ({record.content.size} bytes)"
        ]

    @take.register
    def _(self, record: f.Command) -> None:
        node = self._operation(record, "command", " ".join(record.argv))
        node.stdout, node.stderr = cut(record.stdout), cut(record.stderr)
        if not record.problem:
            node.outcome = "ok" if record.status == 0 else "error"
            node.text = f"exit status {record.status}"

    @take.register
    def _(self, record: f.Named) -> None:
        node = self._operation(record, "checkpoint", f"checkpoint {record.name}")
        node.labels = [record.name]
        if not record.problem:
            session = self._session(record.session)
            session.names[record.name] = session.now

    @take.register
    def _(self, record: f.Dropped) -> None:
        self._operation(record, "checkpoint", f"drop {record.name}")

    @take.register
    def _(self, record: f.RolledBack) -> None:
        session = self._session(record.session)
        if not record.problem:
            named = session.names.get(record.name) if record.name is not None else None
            target = named if named is not None else session.state(record.now)
            session.now = target if target is not None else session.now
        where = f"to {record.name}" if record.name is not None else f"to the state after step {record.now}"
        self._operation(record, "rollback", f"roll back {where}")

    @take.register
    def _(self, record: f.Branched) -> None:
        numbers = ", ".join(map(str, record.branches[:20]))
        self._operation(record, "branch", f"branch: session{'s'[: len(record.branches) > 1]} {numbers}")
        if not record.problem:
            origin = self._session(record.session)
            for number in record.branches:
                self._sessions[number] = _Session(origin.now, origin)

    @take.register
    def _(self, record: f.Note) -> None:
        node = self._add(record, "words", record.text or "a score")
        node.score, node.text = record.score, cut(record.text)
        self._session(record.session).go_to(record.step, len(self.nodes) - 1)

    @take.register
    def _(self, record: f.Stop) -> None:
        last = max(self._sessions, default=1)
        if record.reason == "full":
            self.nodes.append(Node(kind="end", title="the recording was full", session=last, at=record.at))


def cut(text: str) -> str:
    """Return head and tail of a long text."""
    return head_and_tail(text, TEXT_CHARACTERS)[0]


def display_html(display: f.DisplayText) -> str:
    """Return what the page may show of a display."""
    data: dict[str, str | bytes] = {}
    for mime, text in display.data.items():
        if is_text(mime):
            data[mime] = text
            continue
        try:
            data[mime] = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            continue
    return in_page(of_display(Display(data)))
