"""`RepairAgent`: the loop of reading, patching and verifying, on a copy of a repository."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

from safeexec import Policy
from safeexec.agent.errors import RepairError
from safeexec.agent.loop import CodeAgent, ignore_event
from safeexec.agent.models.base import Model
from safeexec.agent.outcome import AgentResult, Event
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.judges import held_out_paths, is_named, likely_code
from safeexec.agent.repair.result import RepairResult
from safeexec.agent.repair.tools import Approval, Bench
from safeexec.agent.repair.verification import Command, Verifier

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

    Other keywords are those of `CodeAgent`. An agent does one repair at a time. Raises RepairError for a repository or
    a command that cannot be worked with.
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
        self._verifier = Verifier(verify, held_out=held_out, policy=policy, timeout=timeout, memory_mb=memory_mb)
        if isinstance(editable, str):
            raise RepairError("editable must be a list of paths")
        self._editable = None if editable is None else tuple(editable)
        self._approval = approval

        self._on_event = on_event
        self._options = {"max_steps": 30, **options}

    def _copy(self) -> WorkingCopy:
        return WorkingCopy(self._repository.resolve(), self._editable, guess=self._guess, hide=self._hide)

    def _guess(self, paths: Collection[str]) -> list[str]:
        """Return the code of the repository, without the files that decide about it."""
        return [path for path in likely_code(paths) if not is_named(path, self._verifier.words)]

    def run(self, task: str = _TASK) -> RepairResult:
        """Work until the verification passes and the model says so, or a limit is reached."""
        with self._verifier:
            bench = self._bench()
            return self._end(bench, self._agent(bench).run(self._task(task, bench)))

    async def run_async(self, task: str = _TASK) -> RepairResult:
        """As `run`; verifications get a thread."""
        async with AsyncExitStack() as stack:
            blocking = ExitStack()
            stack.push_async_callback(asyncio.to_thread, blocking.close)
            await asyncio.to_thread(blocking.enter_context, self._verifier)
            bench = await asyncio.to_thread(self._bench)
            run = await self._agent(bench).run_async(self._task(task, bench))
            return await asyncio.to_thread(self._end, bench, run)

    def _bench(self) -> Bench:
        """Return the copy of the repository, verified once."""
        return Bench(self._copy(), self._verifier, self._approval)

    def _end(self, bench: Bench, run: AgentResult) -> RepairResult:
        bench.finish()
        return RepairResult(bench, run)

    def _hide(self, paths: Collection[str], editable: Sequence[str]) -> list[str]:
        """Return the files of the held-out commands. Raises RepairError where a command has none to hold out."""
        hidden: list[str] = []
        for command in self._verifier.held_out:
            files = held_out_paths(paths, editable, command, self._verifier.words)
            if not files and "-c" not in command:
                raise RepairError(
                    f"held_out: {shlex.join(command)} names no file of the repository, so that there is nothing to "
                    "hide from the model: name the tests that it must not see"
                )
            hidden += files
        return hidden

    def _agent(self, bench: Bench) -> CodeAgent:
        # A verification has its own limit, and a person takes the time that it takes.
        policy = Policy.load("standard").replace(
            tools={"timeout_seconds": 86_400, "clock": "stops"}, hints=dict.fromkeys(_NO_FILES, _TOOLS)
        )
        agent = CodeAgent(
            self._model, policy, tools=bench.tools(), instructions=_INSTRUCTIONS, on_event=self._on_event,
            review=bench.review, **self._options,
        )  # fmt: skip
        agent.verdict = bench.verdict
        return agent

    def _task(self, task: str, bench: Bench) -> str:
        commands = " and ".join(map(shlex.join, self._verifier.commands))
        return (
            f"{task}\n\nEditable: {', '.join(bench.copy.editable)}. Verification: {commands}\n"
            f"It {bench.first.summary()}. Its log:\n\n{bench.first.log}"
        )
