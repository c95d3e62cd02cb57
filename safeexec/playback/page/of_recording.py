"""The nodes of a recording: each record becomes a row, or adds to the row of its step."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

from safeexec.common.text import head_and_tail, one_line
from safeexec.playback.page.nodes import TEXT_CHARACTERS, Kind, Node, RunPage, ToolUse, title_of
from safeexec.recordings import format as f
from safeexec.recordings.timeline import SessionStates
from safeexec.results.mimebundle import in_page, of_display
from safeexec.results.outcomes import Display, is_text

DISPLAYS_BYTES = 64 << 20
"""The most bytes of the displays of one page."""
MAX_ROWS = 100_000


def of_recording(records: Iterable[f.Record]) -> RunPage:
    """Return the page of a recording, whose records come in order, the heading first."""
    rows = _Rows()
    for record in records:
        if len(rows.nodes) >= MAX_ROWS:
            rows.nodes.append(Node(kind="end", title=f"no more than {MAX_ROWS} rows are shown"))
            break
        rows.take(record)
    rows.mark_undone()
    return RunPage(title=rows.title, facts=rows.facts, nodes=rows.nodes)


class _Rows:
    def __init__(self) -> None:
        self.title = "A recording"
        self.facts: list[tuple[str, str]] = []
        self.nodes: list[Node] = []
        self._sessions: dict[int, SessionStates[int]] = {}
        """Session → the nodes of its states."""
        self._open: dict[int, int] = {}
        """Session → the node of the step that runs."""
        self._calls: dict[int, tuple[int, f.Called]] = {}
        self._displays = DISPLAYS_BYTES

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

    def take(self, record: f.Record) -> None:
        """Take a record: it has a row of its own, adds to one, or is passed over."""
        match record:
            case f.Heading():
                self._begin(record)
            case f.Begun():
                node = self._add(record, "query" if isinstance(record, f.Queried) else "step", title_of(record.source))
                node.source = cut(record.source)
                if isinstance(record, f.Run):
                    node.notes = [f"{name} = {value.text}" for name, value in record.namespace.items()]
                self._open[record.session] = len(self.nodes) - 1
            case f.Ended():
                self._end(record)
            case f.Called() if record.session in self._open:
                self._calls[record.call] = (self._open[record.session], record)
            case f.Answered():
                self._answer(record)
            case f.Operation():
                self._operate(record)
            case f.WaitOver() if record.became != "answered":
                why = "it is given up" if record.became == "cancelled" else "nobody answered in time"
                self._add(record, "words", f"step {record.step} waits no more: {why}")
            case f.Effect():
                self._add(record, "words", f"effect of {record.tool}: {record.became}").text = record.message
            case f.Note():
                node = self._add(record, "words", record.text or "a score")
                node.score, node.text = record.score, cut(record.text)
                self._session(record.session).go_to(record.step, len(self.nodes) - 1)
            case f.Stop(reason="full"):
                last = max(self._sessions, default=1)
                self.nodes.append(Node(kind="end", title="the recording was full", session=last, at=record.at))

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

    def _session(self, number: int) -> SessionStates[int]:
        return self._sessions.setdefault(number, SessionStates(-1))

    def _begin(self, heading: f.Heading) -> None:
        self.title = heading.label or f"A recording of {heading.policy}"
        facts = (
            ("policy", heading.policy),
            ("started", heading.started[:16].replace("T", " ")),
            ("redacted", ", ".join(heading.redacted)),
        )
        self.facts = [(name, text) for name, text in facts if text]
        notes = (
            ("Python", heading.python),
            ("safeexec", heading.safeexec),
            ("machine", heading.machine),
            ("libraries", ", ".join(f"{name} {version}" for name, version in heading.libraries.items())),
            ("tools", ", ".join(tool.name for tool in heading.tools)),
            ("goes on from a saved state", "" if heading.state is None else f"{heading.state.size} bytes"),
        )
        lines = [f"{name}: {text}" for name, text in notes if text]
        self._sessions[1] = SessionStates(len(self.nodes))
        self.nodes.append(Node(kind="start", title="the session begins", files=[*heading.files], notes=lines))

    def _end(self, record: f.Ended) -> None:
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
            session.now = session.state(record.now)
        else:
            session.go_to(record.now, index)

    def _display(self, display: f.DisplayText) -> str:
        shown = display_html(display)
        self._displays -= len(shown)
        return shown if self._displays >= 0 else "<p>Left out: the page has no room for more displays.</p>"

    def _answer(self, record: f.Answered) -> None:
        index, called = self._calls.pop(record.call, (None, None))
        if index is not None and called is not None:
            answer = record.value.text if record.value is not None else f"{record.error_type}: {record.error}"
            call = ToolUse(called.tool, record.outcome, cut(called.arguments.text), cut(answer), record.wall_ms)
            self.nodes[index].calls.append(call)

    def _operate(self, record: f.Operation) -> None:
        """Add a row for what the host did. The session goes on from there."""
        session = self._session(record.session)
        if isinstance(record, f.RolledBack) and not record.problem:
            known = session.names.get(record.name) if record.name is not None else None
            session.now = known if known is not None else session.state(record.now)
        match record:
            case f.Set(name=name, value=value):
                node = self._add(record, "change", f"set {name} = {value.text}")
                node.changed, node.described = [name], {name: value.text[:200]}
            case f.Deleted(name=name):
                node = self._add(record, "change", f"delete {name}")
                node.deleted = [name]
            case f.Written(name=name, content=content):
                node = self._add(record, "change", f"write {name}")
                node.files = [f"{name} ({content.size} bytes)"]
            case f.Command():
                node = self._add(record, "command", " ".join(record.argv))
                node.stdout, node.stderr = cut(record.stdout), cut(record.stderr)
                node.outcome, node.text = "ok" if record.status == 0 else "error", f"exit status {record.status}"
            case f.StateSaved(failed=failed):
                node = self._add(record, "words", "the session is saved to a file")
                node.notes = [f"{name} is not in it: {why}" for name, why in failed.items()]
            case f.Named(name=name) | f.FromTemplate(name=name):
                of_template = f"the template {name} is prepared: the session begins here"
                title = f"checkpoint {name}" if isinstance(record, f.Named) else of_template
                node = self._add(record, "checkpoint", title)
                node.labels = [name]
                if not record.problem:
                    session.names[name] = len(self.nodes) - 1
            case f.Dropped(name=name):
                node = self._add(record, "checkpoint", f"drop {name}")
            case f.RolledBack(name=name, now=now):
                title = f"roll back to the state after step {now}" if name is None else f"roll back to {name}"
                node = self._add(record, "rollback", title)
            case f.Branched(branches=branches):
                numbers = ", ".join(map(str, branches[:20]))
                node = self._add(record, "branch", f"branch: session{'s'[: len(branches) > 1]} {numbers}")
            case _:
                return
        if record.problem:
            node.outcome, node.text = "error", record.problem
        session.go_to(record.now, len(self.nodes) - 1)
        if isinstance(record, f.Branched) and not record.problem:
            self._sessions.update((number, SessionStates(session.now, session)) for number in record.branches)


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
