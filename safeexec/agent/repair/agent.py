"""`RepairAgent`: the loop of reading, patching and verifying, on a copy of a repository."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from safeexec.agent.errors import RepairError
from safeexec.agent.loop import CodeAgent, ignore_event
from safeexec.agent.models.base import Model
from safeexec.agent.outcome import AgentResult, AgentStep, Event
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.patches import RepairCommit
from safeexec.agent.repair.tools import Approval, Bench
from safeexec.agent.repair.verification import Verification, Verifier

_INSTRUCTIONS = """\
You repair a Python repository. Your code calls these host tools and prints what they return; the sandbox itself has \
no files. Work like this: read the failing verification below, look at the code (list_files, search, read_file), say \
in one sentence what is wrong, make the smallest change that mends it (replace_text or apply_diff), call \
verify("what the change does"), and look at its verdict. A change that makes things better is committed; one that \
makes things worse is rolled back at once. Mend the code, not the tests. The verification has no network and starts no \
other program: what fails for that alone is not yours to mend.
When the verification passes, reply in plain text what was wrong and what you changed."""


class RepairResult:
    """The outcome of a repair. Truthy when the verification passes after the last commit. The original is untouched
    until `apply`.
    """

    def __init__(self, bench: Bench, run: AgentResult) -> None:
        self.run = run
        self.before: Verification = bench.first
        self.after: Verification = bench.last
        self.commits: tuple[RepairCommit, ...] = tuple(bench.commits)
        self.rolled_back: tuple[str, ...] = tuple(bench.rolled_back)
        self.diff = bench.copy.diff()
        self.files = tuple(bench.copy.changed)
        self.touched_tests: tuple[str, ...] = tuple(bench.touched_tests)
        """Tests that the patch itself edited or deleted."""
        self.warnings: tuple[str, ...] = tuple(bench.warnings())
        """What a person should look at before `apply`: changed tests and configuration, and lines of the patch that
        know of the test framework, end the program or change what counts as equal.
        """
        self._copy = bench.copy
        self._directory: Path | None = None
        self._cleanup: Callable[[], object] = _nothing

    @property
    def ok(self) -> bool:
        return self.after.ok

    def __bool__(self) -> bool:
        return self.after.ok

    @property
    def answer(self) -> Any:
        """What the run ended with: the value given to final_answer(), else the text of the answer, else None."""
        return self.run.answer

    @property
    def text(self) -> str:
        """What the model says it did."""
        return self.run.text

    @property
    def directory(self) -> Path:
        """The repaired copy as a directory, written when it is first asked for; it lives as long as this object.
        Version control is not part of it, and files stand in the place of links. `apply` does not need it.
        """
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="safeexec-repair-"))
            self._cleanup = weakref.finalize(self, shutil.rmtree, self._directory, True)
            self._copy.write_out(self._directory)
        return self._directory

    def apply(self) -> list[str]:
        """Write the changed files to the original tree; their paths. Raises RepairError, and writes nothing, if one
        was changed there meanwhile or cannot be written.
        """
        return self._copy.apply(self.files)

    def close(self) -> None:
        """Remove the directory."""
        self._cleanup()


def _nothing() -> None:
    """There is no directory to remove."""


class RepairAgent:
    """Repairs a repository until its verification passes.

        result = RepairAgent(MistralModel(), "project", verify=["pytest", "-q"]).run("The discount is wrong.")
        print(result.diff, *result.warnings)
        result.apply()

    `verify` is the only command that runs, `editable` the only paths that change. `approval(action, diff)` is asked
    before high-risk changes (deleting files, changing tests or what configures them, standing in for an installed
    module): True allows, a text is the reason why not; without it they are refused.
    `timeout` in seconds and `memory_mb` in MiB hold for one verification. Other keywords are those of `CodeAgent`.
    Raises RepairError for a repository or a command that cannot be worked with.
    """

    def __init__(
        self,
        model: Model,
        repository: str | Path,
        *,
        verify: Sequence[str] = ("pytest", "-q"),
        editable: Sequence[str] = ("src/",),
        approval: Approval | None = None,
        timeout: float = 120.0,
        memory_mb: int = 1024,
        on_event: Callable[[Event], None] = ignore_event,
        **options: Any,
    ) -> None:
        self._model = model
        self._repository = Path(repository)
        self._verifier = Verifier(verify, timeout=timeout, memory_mb=memory_mb)
        if isinstance(editable, str):
            raise RepairError("editable must be a list of paths")
        self._editable = tuple(editable)
        self._approval = approval
        self._timeout = timeout
        self._on_event = on_event
        self._options = {"max_steps": 30, **options}

    def run(self, task: str = "Repair the code, so that the verification passes.") -> RepairResult:
        """Work until the verification passes and the model says so, or a limit is reached."""
        from safeexec import Policy, Sandbox

        copy = WorkingCopy(self._repository.resolve(), self._editable)
        bench = Bench(copy, self._verifier, self._approval)
        # A verification has its own limit, and a person takes the time that it takes.
        policy = Policy.load("standard").replace(tools={"timeout_seconds": 86_400, "clock": "stops"})
        with Sandbox(policy, tools=bench.tools()) as sandbox:
            agent = CodeAgent(
                self._model, sandbox, instructions=_INSTRUCTIONS, on_event=self._on_event,
                review=_Review(bench).review, **self._options,
            )  # fmt: skip
            run = agent.run(self._task(task, bench))
        bench.finish()
        return RepairResult(bench, run)

    def _task(self, task: str, bench: Bench) -> str:
        return (
            f"{task}\n\nEditable: {', '.join(self._editable)}. Verification: {' '.join(self._verifier.argv)}\n"
            f"It {bench.first.summary()}. Its log:\n\n{bench.first.log}"
        )


class _Review:
    """An answer counts when the verification passes; a model that gives up may do so the second time."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._objected = False

    def review(self, answer: Any, steps: tuple[AgentStep, ...]) -> str | None:
        pending = self._bench.copy.pending
        if self._objected or (self._bench.last.ok and not pending):
            return None
        self._objected = True
        if pending:
            return f"There are changes that were not committed ({', '.join(pending)}): call verify() first, or undo()."
        last = self._bench.last
        advice = "Go on, or repeat your answer if it cannot be repaired."
        return f"The verification {last.summary()} still. {advice}\n\n{last.log}"
