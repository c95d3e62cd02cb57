"""Run the verification on a throw-away copy of the tree, confined, and read what came of it.

A command that is Python (`pytest …`, `python -m package …`, `python script.py …`) runs inside a session of its own:
no program is started at all. Other commands go through `Sandbox.command`, which starts exactly the program that the
policy names. Either way: no network, the copy alone is writable, time and memory end.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from safeexec.agent.errors import RepairError
from safeexec.agent.repair.witness import MAX_CALLS, SOURCE, Witness
from safeexec.text import printable

if TYPE_CHECKING:
    from safeexec import Policy
    from safeexec.agent.repair.copies import WorkingCopy

_ARCHIVE = "tree.tar"
_TREE = "tree"

_PROGRAM = """\
import importlib.util, os, runpy, sys, tarfile, traceback
__file__ = sys._getframe().f_code.co_filename
with tarfile.open({archive!r}) as archive:
    archive.extractall({tree!r}, filter="data")
os.remove({archive!r})
os.chdir({tree!r})
os.environ.update(HOME=os.getcwd(), NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1")
sys.dont_write_bytecode = True
sys.argv = {argv!r}
{witness}sys.path[:0] = [path for path in map(os.path.abspath, {paths!r}) if os.path.isdir(path)]
try:
    status, place = {missing!r}, ""
    if {known}:
        {run}
        status = 0
except SystemExit as end:
    status = end.code if isinstance(end.code, int) else int(end.code is not None)
    if end.code is not None and not isinstance(end.code, int):
        print(end.code, file=sys.stderr)
    frame = end.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    place = os.path.relpath(frame.tb_frame.f_code.co_filename)
except MemoryError:
    raise
except BaseException as error:
    status, frame = 1, error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        frame = frame.tb_next
    traceback.print_exception(error.with_traceback(frame))
sys.stdout.flush()
sys.stderr.flush()
[status if isinstance(status, str) else int(status), place]
"""

_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (\S{1,500}+)(?: - .*)?$", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S{1,300}+ \([^()\s]{1,300}+\))", re.MULTILINE)
_REFUSED = re.compile(r"Unknown error 3\d{3}")
_COUNTS = re.compile(r"(?<![0-9])([0-9]{1,9}) (passed|failed|errors?|skipped|xfailed|xpassed)")
MAX_LOG = 4 << 20
"""Characters of a log that are looked at: its end says how it went."""
_MAX_LINE = 400
_PROCESSES = 64
"""Tests may fork."""
_TELLING = re.compile(
    r"^(?:E  |>  |FAILED|ERROR|FAIL:|\w+Error\b|\w+Exception\b|_{4,} .* _{4,}|\S+:\d+: |Traceback|  File )"
)


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification said. `failing` names tests, and `passed` counts them, None where it is not said."""

    ok: bool
    log: str
    failing: frozenset[str] = frozenset()
    passed: int | None = None
    ended: str = "exit"
    """`exit`, or the outcome that ended it: `timeout`, `memory`, `crashed` …; `missing`: there is no such command."""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Tests by name: `passed`, `failed`, `skipped`, `xfailed`. Empty where no witness told of them."""
    exit_at: str = ""
    """The file that ended the program by SystemExit, if one did."""

    def worse_than(self, before: Verification, *, may_lose_failing: bool = False) -> str:
        """Why this is worse than `before`; empty where it is not. `may_lose_failing`: tests that failed need not run
        any more.
        """
        if before.ok and not self.ok:
            return "the verification passed before and fails now"
        if before.ended == "exit" and self.ended != "exit":
            return f"the verification does not come to its end any more ({self.ended})"
        if before.outcomes and not self.outcomes:
            return "the verification does not say any more which tests ran"
        if new := sorted(self._newly_failing(before)):
            return f"tests fail that did not before: {', '.join(new[:10])}"
        if self.ended != "exit":
            return ""  # neither came to its end: how far they came says nothing
        if lost := sorted(self._lost(before, may_lose_failing)):
            return f"tests that ran before do not run to their end any more: {', '.join(lost[:10])}"
        if before.passed is not None and self.passed is None:
            return "the verification does not say any more how many tests pass"
        if before.passed is not None and self.passed is not None and self.passed < before.passed:
            return f"{self.passed} tests pass, {before.passed} did before"
        return ""

    def _newly_failing(self, before: Verification) -> set[str]:
        if before.outcomes:
            good = _Tests(test for test, outcome in before.outcomes.items() if outcome != "failed")
            return {test for test in self.failing if test not in before.failing and good.hold(test)}
        if before.passed is None and not before.failing:
            return set()
        return {test for test in self.failing if before.failing.isdisjoint(_wholes(test))}

    def _lost(self, before: Verification, may_lose_failing: bool) -> set[str]:
        """Tests that passed or failed before, and now are skipped, expected to fail, or gone."""
        ran = {test for test, outcome in self.outcomes.items() if outcome in _RAN}
        there = _Tests(ran)
        return {
            test
            for test, outcome in before.outcomes.items()
            if outcome in _RAN[:1 if may_lose_failing else 2] and test not in ran
            # A case of a parametrized test may have another name now, a file that could not be imported has tests.
            and (test in self.outcomes or not (there.hold(test) or there.hold(test.partition("[")[0])))
        }  # fmt: skip

    def better_than(self, before: Verification) -> bool:
        if self.ok != before.ok:
            return self.ok
        return len(self.failing) < len(before.failing) or (self.passed or 0) > (before.passed or 0)

    def summary(self) -> str:
        if self.ended != "exit":
            return f"ended by {self.ended}"
        passed = f", {self.passed} passed" if self.passed is not None else ""
        return ("passes" if self.ok else f"fails, {len(self.failing) or 'unknown'} failing") + passed


_RAN = ("passed", "failed")


class _Tests:
    """Names of tests, and of what they are part of: function, class, module, file. Sorted, as a name may have many
    parts.
    """

    def __init__(self, tests: Iterable[str]) -> None:
        self._exact = frozenset(tests)
        self._names = sorted(self._exact)

    def hold(self, whole: str) -> bool:
        """Whether `whole` is one of the tests, or what one of them is part of."""
        return whole in self._exact or any(self._begins(start) for start in (f"{whole}[", f"{whole}::", f"{whole}."))

    def _begins(self, start: str) -> bool:
        place = bisect_left(self._names, start)
        return place < len(self._names) and self._names[place].startswith(start)


def _wholes(test: str) -> Iterator[str]:
    """A test, and what it is part of. The names of a log are cut at 500 characters."""
    yield test
    name = test.partition("[")[0]
    separator = "::" if "::" in name else "."
    while name and separator in name:
        yield name
        name = name.rpartition(separator)[0]
    yield name


class Verifier:
    """Runs one command on copies of a tree. `timeout` in seconds, `memory_mb` in MiB."""

    def __init__(
        self, argv: Sequence[str], *, timeout: float = 120.0, memory_mb: int = 1024, log_characters: int = 6000
    ) -> None:
        if not argv or isinstance(argv, str):
            raise RepairError("verify must be a list: the command and its arguments")
        self.argv = [str(part) for part in argv]
        self._timeout = timeout
        self._log_characters = log_characters
        self._limits = {
            "memory_mb": memory_mb,
            "workspace_files": 20_000,
            "processes": _PROCESSES,
            "max_wall_seconds": max(timeout, 1.0),
            "wall_seconds": timeout,
        }

    def run(self, copy: WorkingCopy) -> Verification:
        """One run. What the code under test does wrong is in the verdict."""
        from safeexec import Policy, Sandbox

        policy = Policy.load("confined-python").replace(
            checkpoints="off", tools={"max_calls": MAX_CALLS}, limits=self._limits
        )
        program = _python_program(self.argv)
        if program is None:
            return self._command(policy, copy)
        witness = Witness()
        with Sandbox(policy, files={_ARCHIVE: _archive(copy)}, tools=[witness.witness], spare=0) as sandbox:
            result = sandbox.run(program, timeout=self._timeout)
        log, error = result.stdout + result.stderr, result.error
        if result.ok and isinstance(result.value, list):
            status, place = result.value
            if isinstance(status, str):
                return Verification(False, status, ended="missing")
            return self._read(status == 0, log, witness.outcomes, exit_at=str(place))
        if result.outcome == "error":
            return self._read(False, f"{log}\n{error.traceback if error else ''}", witness.outcomes)
        running = f"The last test that began is {witness.running}." if witness.running else ""
        log += f"\n{error.type}: {error.message}\n{running}" if error else ""
        return self._read(False, log, witness.outcomes, ended=result.outcome)

    def _command(self, policy: Policy, copy: WorkingCopy) -> Verification:
        from safeexec import PolicyError, Sandbox

        program = self.argv[0]
        if "/" in program and not program.startswith("/"):
            raise RepairError(f"verify: {program} is a file of the repository; name the program that runs it before it")
        with tempfile.TemporaryDirectory(prefix="safeexec-verify-") as directory:
            copy.write_out(Path(directory))
            try:
                with Sandbox(policy.replace(danger_allow_commands=[program])) as sandbox:
                    done = sandbox.command(self.argv, cwd=directory, timeout=self._timeout)
            except PolicyError as error:
                raise RepairError(f"verify: {error}") from error
        log = f"{done.stdout}{done.stderr}"
        if done.outcome in ("ok", "error"):
            return self._read(done.ok, log, {})
        return self._read(False, f"{log}\n{done.message}", {}, ended=done.outcome)

    def _read(
        self, ok: bool, log: str, outcomes: Mapping[str, str], *, ended: str = "exit", exit_at: str = ""
    ) -> Verification:
        """The verdict of a run, from what the witness told; without one from the log."""
        log = printable(log[-MAX_LOG:])
        log = _REFUSED.sub("refused by the sandbox: no network, no other program, no signals", log)
        if ok and not outcomes and _runs_tests(self.argv):
            ok = False
            log += "\nNo test ran."
        short = digest(log, self._log_characters)
        if outcomes:
            failing = frozenset(test for test, outcome in outcomes.items() if outcome == "failed")
            passed: int | None = sum(outcome == "passed" for outcome in outcomes.values())
        elif ended == "exit":
            failing = frozenset(_FAILED_TEST.findall(log)) | frozenset(_UNITTEST.findall(log))
            last = next((line for line in reversed(log.splitlines()) if _COUNTS.search(line)), "")
            counts = {word: int(number) for number, word in _COUNTS.findall(last)}
            passed = counts.get("passed", 0) if counts else None
        else:
            failing, passed = frozenset(), None
        return Verification(ok, short, failing, passed, ended, outcomes, exit_at)


def _python_command(argv: list[str]) -> list[str] | None:
    """The arguments behind `python`; None for another program."""
    name, rest = Path(argv[0]).name, argv[1:]
    if argv[0] not in (name, sys.executable):
        return None
    if name in ("pytest", "py.test"):
        return ["-m", "pytest", *rest]
    return rest if re.fullmatch(r"python(3(\.\d+)?)?", name) else None


def _runs_tests(argv: list[str]) -> bool:
    command = _python_command(argv) or []
    return command[:1] == ["-m"] and command[1:2] in (["pytest"], ["unittest"])


def _python_program(argv: list[str]) -> str | None:
    """The step that runs a Python command in its own session; None for another program, or another use of Python."""
    command = _python_command(argv)
    paths = [".", "src"]  # an editable install points to the original tree, which is not there for the verification
    if command is None or len(command) < (2 if command[:1] in (["-m"], ["-c"]) else 1):
        return None
    match command:
        case ["-m", module, *rest]:
            run = f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
            known = f"importlib.util.find_spec({module.partition('.')[0]!r})"
            missing = f"there is no module {module!r}, neither in the repository nor installed"
            # Before the caller's own arguments: behind "--" it would be a file.
            shown = [module, "-p", "no:cacheprovider", *rest] if module == "pytest" else [module, *rest]
        case ["-c", source, *rest]:
            run = f"exec(compile({source!r}, '<string>', 'exec'), {{'__name__': '__main__'}})"
            known, missing = "True", ""
            shown = ["-c", *rest]
        case [script, *_] if not script.startswith("-"):
            run = f"runpy.run_path({script!r}, run_name='__main__')"
            known = f"os.path.exists({script!r})"
            missing = f"there is no file {script!r} in the repository"
            shown = command
            paths.insert(0, str(Path(script).parent))
        case _:
            return None
    return _PROGRAM.format(
        archive=_ARCHIVE, tree=_TREE, argv=shown, witness=SOURCE, run=run, known=known, missing=missing, paths=paths
    )


def _archive(copy: WorkingCopy) -> bytes:
    """The tree as a tar: the verification gets a copy, so that it cannot change what it judges."""
    buffer, now = io.BytesIO(), int(time.time())
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, data, mode in copy.visible():  # guests make no links
            info = tarfile.TarInfo(path)
            info.size, info.mode, info.mtime = len(data), mode, now
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def digest(log: str, characters: int) -> str:
    """The log cut to what matters: failing tests and the lines that say why; where that is little, head and tail of
    all of it.
    """
    log = log.strip()
    if len(log) <= characters:
        return log
    lines = log.splitlines()
    keep = {number for number, line in enumerate(lines) if _TELLING.match(line[:_MAX_LINE])} | set(
        range(max(0, len(lines) - 5), len(lines))
    )
    parts, size, previous = [], 0, -1
    for number in sorted(keep):
        line = lines[number][:_MAX_LINE]
        size += len(line) + 1
        if size > characters * 3 // 4 and number < len(lines) - 5:
            continue
        if number > previous + 1:
            parts.append("…")
        parts.append(line)
        previous = number
    short = "\n".join(parts)
    return short if len(short) <= characters else f"{short[: characters // 2]}\n…\n{short[-characters // 2 :]}"
