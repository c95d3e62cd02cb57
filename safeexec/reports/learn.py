"""Writes the smallest policy under which recorded steps run, for a person to read.

It opens what the sources of the steps use beyond the profile that it extends, and no more. What could harm (`danger_`
settings, files of the host, tools) is never in it: it is listed beside it, with what used it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.json import schema

from safeexec.common.text import one_line
from safeexec.engine.policy.edit import beyond, document, written
from safeexec.engine.policy.settings import Limits, P
from safeexec.errors import PolicyError
from safeexec.recordings import format as form
from safeexec.recordings.reader import Recording
from safeexec.reports.needs import as_extended, needs
from safeexec.untrusted.yaml_text import read_yaml

ROOM = 2
"""A limit allows so many times what was used."""
LONGEST_KB = 16384
"""The most KiB of a source that is looked at: what a policy may allow at most."""


class Learnt(Struct, frozen=True):
    """`policy` (of the class that was given), what is not in it, and the file that says it, which extends a profile."""

    policy: Any
    left_out: tuple[str, ...]
    yaml: str


def learn(base: P, recordings: Iterable[str | os.PathLike[str]]) -> Learnt:
    """Return what the steps of some recordings need beyond `base`. Raises `RecordingError`."""
    learning = _Learning(base)
    for path in recordings:
        learning.take(str(path), Recording(path))
    return learning.learnt()


class _Learning:
    def __init__(self, base: Any) -> None:
        self.base = base
        self.policy = base.replace(name="learnt", step_source_kb=LONGEST_KB)
        self.left_out: dict[str, None] = {}
        self._most: dict[str, float] = {}
        self._sources: set[str] = set()

    def take(self, name: str, records: Iterable[form.Record]) -> None:
        begun: dict[int, form.Run] = {}
        for record in records:
            if isinstance(record, form.Heading):
                if record.files:
                    self._workspace()
            elif isinstance(record, form.Run):
                begun[record.session] = record
            elif isinstance(record, form.Called):
                self._leave(f"the tool {one_line(record.tool, 100)} (tools.allow)")
            elif isinstance(record, form.Command):
                self._leave(f"the program {one_line(record.argv[0] if record.argv else '', 100)} of Session.command")
            elif isinstance(record, form.Queried):
                self._leave(f"{name}, step {record.step}: its SQL, which takes duckdb under `imports`")
            elif isinstance(record, form.Written):
                self._workspace()
            elif isinstance(record, form.Named):
                self._most["checkpoints"] = self._most.get("checkpoints", 0) + 1
            elif isinstance(record, form.Branched):
                self._most["branches"] = self._most.get("branches", 0) + len(record.branches)
            elif isinstance(record, form.Ended) and (run := begun.pop(record.session, None)) is not None:
                self._step(f"{name}, step {record.step}", run.source, record)

    def _leave(self, reason: str) -> None:
        self.left_out[reason] = None

    def _workspace(self) -> None:
        if self.policy.filesystem.workspace == "none":
            self.policy = self.policy.replace(filesystem={"workspace": "read-write"})

    def _step(self, place: str, source: str, ended: form.Ended) -> None:
        if ended.outcome in ("rejected", "violation"):
            self._leave(f"{place}: it was refused when it was recorded")
            return
        if ended.error is not None and ended.error.type == "SyntaxError":
            return
        usage = ended.usage
        if ended.outcome not in form.STOPPED:
            for key, used in (
                ("wall_seconds", usage.wall_ms / 1e3),
                ("cpu_seconds", usage.cpu_ms / 1e3),
                ("memory_mb", usage.peak_memory_mb),
                ("output_kb", usage.output_bytes / 1024),
                ("step_source_kb", len(source.encode("utf-8", "surrogatepass")) / 1024),
            ):
                self._most[key] = max(self._most.get(key, 0), used)
        if source not in self._sources:
            self._sources.add(source)
            self._open(place, source)

    def _open(self, place: str, source: str) -> None:
        """Allow what a source uses."""
        try:
            found = needs(self.policy, source)
        except PolicyError as error:
            self._leave(f"{place}: {error}")
            return
        for need in found.impossible:
            self._leave(f"{place}: {need.answer.name}: {need.answer.reason}")
        if found.grant:
            changes = read_yaml(found.grant, "what a step needs").content
            del changes["description"], changes["extends"]
            for name in changes.pop("attributes", {}).get("danger_allow", {}).get("add", ()):
                self._leave(f"{place}: .{name} (attributes.danger_allow)")
            self.policy = self.policy.replace(**changes)

    def learnt(self) -> Learnt:
        limits = {"step_source_kb": self.base.limits.step_source_kb} | _limits(self._most)
        policy = self.policy.replace(limits=limits, tools={"allow": "none"})
        text = written({"extends": as_extended(self.base)} | beyond(document(self.base), document(policy)))
        return Learnt(policy, tuple(self.left_out), text)


def _limits(most: dict[str, float]) -> dict[str, Any]:
    """Return whole limits with room above what was used, none below a session's need or above what a policy may say."""
    least = {"memory_mb": 64, "wall_seconds": 1, "cpu_seconds": 1, "output_kb": 16, "step_source_kb": 16}
    known = schema(Limits)["$defs"]["Limits"]["properties"]
    found = {
        name: max(least.get(name, 0), math.ceil(min(ROOM * used, known[name]["maximum"])))
        for name, used in most.items()
    }
    whole = {"checkpoints": 0, "branches": 0} | found
    if "wall_seconds" in whole:
        whole["max_wall_seconds"] = whole["wall_seconds"]
    return whole
