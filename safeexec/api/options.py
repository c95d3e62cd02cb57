"""The typed keywords by which a session is opened and a program run: only type checkers read this file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from safeexec.engine.host.session.listeners import OnDisplay, OnProgress
from safeexec.engine.host.session.output import OnOutput
from safeexec.engine.host.session.standard_input import Given
from safeexec.engine.policy.keywords import PluginChanges
from safeexec.recordings.writer import RecordOptions


class RunOptions(TypedDict, total=False):
    """The keywords of `Session.run`."""

    timeout: float | None
    atomic: bool
    stdin: Given | None
    argv: Sequence[str] | None
    namespace: Mapping[str, Any] | None
    wait: float | None
    on_output: OnOutput | None
    on_stdout: OnOutput | None
    on_stderr: OnOutput | None
    on_display: OnDisplay | None
    on_progress: OnProgress | None


class Program(TypedDict):
    """One program of `Sandbox.map`."""

    source: str
    stdin: NotRequired[Given | None]
    argv: NotRequired[Sequence[str] | None]


class SessionChanges(PluginChanges, total=False):
    """The keywords of `Sandbox.session`: a policy's, which may only tighten it, and those of the session itself."""

    label: str | None
    namespace: Mapping[str, Any] | None
    record: str | os.PathLike[str] | RecordOptions | bool | None
    template: str | None
    queue_seconds: float | None
