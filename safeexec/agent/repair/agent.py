"""`RepairAgent`: the loop of reading, patching and verifying, on a copy of a repository; and what it came to."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from safeexec import Policy
from safeexec.agent.errors import RepairError
from safeexec.agent.loop import CodeAgent, ignore_event
from safeexec.agent.models.base import Model
from safeexec.agent.outcome import AgentResult, Event, OfRun
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.tools import Approval, Bench, RepairCommit, RepairWarning
from safeexec.agent.repair.verdicts import Verification
from safeexec.agent.repair.verification import Command, Verifier
from safeexec.common.text import printable

_INSTRUCTIONS = """\
You repair a Python repository. Your code calls these host tools and prints what they return; the sandbox itself has \
no files. Work like this: read the failing verification below, look at the code (list_files, search, read_file), say \
in one sentence what is wrong, make the smallest change that mends it (replace_text), call \
verify("what the change does"), and look at its verdict. A change that makes things better is committed; one that \
makes things worse is rolled back at once. Mend the code, not the tests. The verification has no network and starts no \
program but Python: what fails for that alone is not yours to mend.
When the verification passes, reply in plain text what was wrong and what you changed."""
_TOOLS = (
    "The repository is reached by tools: read_file(path), list_files(), search(text); replace_text(path, old, new), "
    "write_file(path, text); verify(message) runs its checks."
)
_NO_FILES = ("open", "pathlib.Path", "os", "subprocess")
_TASK = "Repair the code, so that the verification passes."


class RepairAgent:
    """Repairs a repository until its verification passes.

        result = RepairAgent(MistralModel(), "project", verify=["pytest", "-q"]).run("The discount is wrong.")
        print(result.diff, *result.warnings)
        result.apply()

    verify      the command that decides, or a list of them; nothing else runs
    held_out    the same, run at the end: the model sees neither the files that it names nor what it says, and a
                repair is `ok` only if it passes too
    editable    the only paths that change; without them what looks like the code of the repository
    policy      commands run under it; they start Python, and the programs that it lists (`danger_allow_commands`): what
                `bash -c` calls
    approval    `approval(action, diff)` is asked before high-risk changes: deleting files, changing tests or what
                configures them. True allows, a text says why not. Without it they are refused

    timeout     seconds of one verification, as `memory_mb` is its memory in MiB

    Other keywords are those of `CodeAgent`. Raises RepairError for a repository or a command that cannot be worked
    with.
    """

    def __init__(
        self,
        model: Model,
        repository: str | Path,
        *,
        verify: Command | Sequence[Command] = ("pytest", "-q"),
        held_out: Command | Sequence[Command] = (),
        editable: Sequence[str] | None = None,
        policy: Policy | str = "confined-python",
        approval: Approval | None = None,
        timeout: float = 120.0,
        memory_mb: int = 1024,
        on_event: Callable[[Event], None] = ignore_event,
        **options: Any,
    ) -> None:
        self._model = model
        self._repository = Path(repository)
        self._verifier = partial(
            Verifier, verify, held_out=held_out, policy=policy, timeout=timeout, memory_mb=memory_mb
        )
        self._verifier()  # raises for commands that are none
        if isinstance(editable, str):
            raise RepairError("editable must be a list of paths")
        self._editable = None if editable is None else tuple(editable)
        self._approval = approval

        self._on_event = on_event
        self._options = {"max_steps": 30, **options}

    def run(self, task: str = _TASK) -> RepairResult:
        """Work until the verification passes and the model says so, or a limit is reached."""
        with self._verifier() as verifier:
            bench = self._bench(verifier)
            return _result_of(bench, self._agent(bench).run(_prompt(task, bench, verifier)))

    async def run_async(self, task: str = _TASK) -> RepairResult:
        """As `run`; verifications get a thread."""
        async with AsyncExitStack() as stack:
            blocking = ExitStack()
            stack.push_async_callback(asyncio.to_thread, blocking.close)
            verifier = blocking.enter_context(self._verifier())
            bench = await asyncio.to_thread(self._bench, verifier)
            run = await self._agent(bench).run_async(_prompt(task, bench, verifier))
            return await asyncio.to_thread(_result_of, bench, run)

    def _bench(self, verifier: Verifier) -> Bench:
        """Return the copy of the repository, verified once."""
        root = self._repository.resolve()
        copy = WorkingCopy(root, self._editable, shown=verifier.commands, held_out=verifier.held_out)
        return Bench(copy, verifier, self._approval)

    def _agent(self, bench: Bench) -> CodeAgent:
        # A verification has its own limit, and a person takes the time that it takes.
        policy = Policy.load("standard").replace(
            tools={"timeout_seconds": 86_400, "clock": "stops"}, hints=dict.fromkeys(_NO_FILES, _TOOLS)
        )
        agent = CodeAgent(
            self._model, policy, tools=bench.tools(), instructions=_INSTRUCTIONS, on_event=self._on_event,
            review=bench.review, **self._options,
        )  # fmt: skip
        agent.outside_effect = bench.verdict
        return agent


def _prompt(task: str, bench: Bench, verifier: Verifier) -> str:
    """Return the task as the model reads it."""
    commands = " and ".join(map(shlex.join, verifier.commands))
    return (
        f"{task}\n\nEditable: {', '.join(bench.copy.editable)}. Verification: {commands}\n"
        f"It {bench.first.summary()}. Its log:\n\n{bench.first.log}"
    )


def _result_of(bench: Bench, run: AgentResult) -> RepairResult:
    bench.finish()
    return RepairResult(bench, run)


class RepairResult(OfRun):
    """The outcome of a repair. Truthy when its last commit passes. The original is untouched until `apply`."""

    def __init__(self, bench: Bench, run: AgentResult) -> None:
        self.run = run
        self.before: Verification = bench.first
        self.after: Verification = bench.last
        self.held_out: Verification | None = bench.held_out
        """The verdict of the held-out commands on the last commit; None without any. The model never sees it."""
        self.editable: tuple[str, ...] = bench.copy.editable
        self.commits: tuple[RepairCommit, ...] = tuple(bench.commits)
        self.rolled_back: tuple[str, ...] = tuple(bench.rolled_back)
        self.diff = bench.copy.diff()
        self.files = tuple(bench.copy.changed)
        self.warnings: tuple[RepairWarning, ...] = tuple(bench.warnings())
        """Remarks for a person to read before `apply`: changed tests and configuration, a program that ended itself.
        Nothing here reads the code: whether a patch serves the tests alone is for `held_out` to find. `str(warning)` is
        a line for a person.
        """

        self._applied = False
        self._copy = bench.copy

    @property
    def ok(self) -> bool:
        """Return True if the verification passes, and the held-out one."""
        held_out = self.held_out is None or self.held_out.ok
        return self.after.ok and held_out

    def __repr__(self) -> str:
        held_out = "" if self.held_out is None else f", held out {self.held_out.summary()}"
        files = f"{len(self.files)} files" if len(self.files) != 1 else "1 file"
        verdict = "ok" if self.ok else "not ok"
        text = f"{files} changed, {len(self.warnings)} warnings; {self.after.summary()}{held_out}"
        return f"<RepairResult {verdict}: {text}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data, which `json.dumps` takes."""
        return {
            "ok": self.ok,
            "text": self.text,
            **{name: _as_dict(getattr(self, name)) for name in ("before", "after", "held_out")},
            "editable": list(self.editable),
            "files": list(self.files),
            "commits": [{"message": commit.message, "files": list(commit.files)} for commit in self.commits],
            "rolled_back": list(self.rolled_back),
            "warnings": [asdict(warning) for warning in self.warnings],
            "diff": printable(self.diff),
            "stopped": self.run.stop,
        }

    def apply(self) -> list[str]:
        """Write the changed files to the original tree; their paths. Raises RepairError, and writes nothing, if one
        was changed there meanwhile or cannot be written. Nothing is committed, and no program of the repository runs.
        """
        if self._applied:
            raise RepairError("applied already")
        if not self.files:
            raise RepairError("nothing was changed, so there is nothing to apply")
        self._copy.apply()
        self._applied = True
        return list(self.files)


def _as_dict(verdict: Verification | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    plain = {name: getattr(verdict, name) for name in ("ok", "ended", "passed", "log")}
    return plain | {"failing": sorted(verdict.failing)}
