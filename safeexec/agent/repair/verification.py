"""Run the verification on a throw-away copy of the tree, confined, and read what came of it.

A command that is Python (`pytest …`, `python -m package …`, `python script.py …`) runs inside a session of its own:
no program is started at all. Other commands go through `Sandbox.command`, which starts exactly the program that the
policy names. Either way: no network, the copy alone is writable, time and memory end.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safeexec.agent.errors import RepairError

if TYPE_CHECKING:
    from safeexec.agent.repair.copies import WorkingCopy

_ARCHIVE = "tree.tar"
_TREE = "tree"

_PROGRAM = """\
import os, runpy, sys, tarfile
with tarfile.open({archive!r}) as archive:
    archive.extractall({tree!r}, filter="data")
os.remove({archive!r})
os.chdir({tree!r})
os.environ.update(HOME=os.getcwd(), NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1")
sys.dont_write_bytecode = True
sys.argv = {argv!r}
sys.path[:0] = [path for path in map(os.path.abspath, {paths!r}) if os.path.isdir(path)]
try:
    {run}
    status = 0
except SystemExit as end:
    status = end.code if isinstance(end.code, int) else int(end.code is not None)
sys.stdout.flush()
sys.stderr.flush()
int(status)
"""

_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?: - .*)?$", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+ \(\S+\))", re.MULTILINE)
_COUNTS = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")
_TELLING = re.compile(
    r"^(?:E  |>  |FAILED|ERROR|FAIL:|\w+Error\b|\w+Exception\b|_{4,} .* _{4,}|\S+:\d+: |Traceback|  File )"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification said. `failing` names tests where the log names them; `passed` counts them, None where it
    is not said.
    """

    ok: bool
    log: str
    failing: frozenset[str] = frozenset()
    passed: int | None = None
    ended: str = "exit"
    """`exit`, or the outcome that ended it: `timeout`, `memory`, `crashed` …"""

    def worse_than(self, before: Verdict) -> str:
        """Why this is worse than `before`; empty where it is not."""
        if before.ok and not self.ok:
            return "the verification passed before and fails now"
        if before.ended == "exit" and self.ended != "exit":
            return f"the verification does not come to its end any more ({self.ended})"
        known = before.passed is not None or bool(before.failing)
        if known and (new := sorted(test for test in self.failing if not before.fails(test))):
            return f"tests fail that did not before: {', '.join(new[:10])}"
        if before.passed is not None and self.passed is None:
            return "the verification does not say any more how many tests pass"
        if before.passed is not None and self.passed is not None and self.passed < before.passed:
            return f"{self.passed} tests pass, {before.passed} did before"
        return ""

    def fails(self, test: str) -> bool:
        """Whether a test failed here, or its whole file did, as when it cannot be imported."""
        return test in self.failing or test.partition("::")[0] in self.failing

    def better_than(self, before: Verdict) -> bool:
        if self.ok != before.ok:
            return self.ok
        return len(self.failing) < len(before.failing) or (self.passed or 0) > (before.passed or 0)

    def summary(self) -> str:
        if self.ended != "exit":
            return f"ended by {self.ended}"
        passed = f", {self.passed} passed" if self.passed is not None else ""
        return ("passes" if self.ok else f"fails, {len(self.failing) or 'unknown'} failing") + passed


class Verifier:
    """Runs one command on copies of a tree. Open it with `with`; `timeout` in seconds, `memory_mb` in MiB."""

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
            "max_wall_seconds": max(timeout, 1.0),
            "wall_seconds": timeout,
        }

    def run(self, copy: WorkingCopy) -> Verdict:
        """One run. What the code under test does wrong is in the verdict."""
        from safeexec import Policy, Sandbox

        policy = Policy.load("confined-python").replace(checkpoints="off", **self._limits)
        program = _python_program(self.argv)
        if program is None:
            return self._command(policy, copy)
        with Sandbox(policy, files={_ARCHIVE: _archive(copy)}, spare=0) as sandbox:
            result = sandbox.run(program, timeout=self._timeout)
        log = result.stdout + result.stderr
        if result.ok:
            return _read_log(result.value == 0, log, self._log_characters)
        error = result.error
        if result.outcome == "error":
            log += f"\n{error.traceback if error else ''}"
            return _read_log(False, log, self._log_characters)
        log += f"\n{error.type}: {error.message}" if error else ""
        return Verdict(False, digest(log, self._log_characters), ended=result.outcome)

    def _command(self, policy: Any, copy: WorkingCopy) -> Verdict:
        import tempfile

        from safeexec import Sandbox

        with tempfile.TemporaryDirectory(prefix="safeexec-verify-") as directory:
            with tarfile.open(fileobj=io.BytesIO(_archive(copy))) as archive:
                archive.extractall(directory, filter="data")
            with Sandbox(policy.replace(danger_allow_commands=[self.argv[0]])) as sandbox:
                command: Any = getattr(sandbox, "command", None)
                if command is None:
                    raise RepairError(
                        f"{self.argv[0]}: only Python commands can be verified here "
                        "(pytest …, python -m …, python script.py)"
                    )
                done = command(self.argv, cwd=directory, timeout=self._timeout)
        log = f"{done.stdout}{done.stderr}"
        if getattr(done, "outcome", "ok") not in ("ok", "error"):
            return Verdict(False, digest(log, self._log_characters), ended=done.outcome)
        return _read_log(done.returncode == 0, log, self._log_characters)


def _python_program(argv: list[str]) -> str | None:
    """The step that runs a Python command in its own session; None for another program."""
    name = Path(argv[0]).name if argv[0] == Path(argv[0]).name else argv[0]
    rest = argv[1:]
    paths = [".", "src"]  # an editable install points to the original tree, which is not there for the verification
    if name in ("pytest", "py.test"):
        run, shown = "runpy.run_module('pytest', run_name='__main__', alter_sys=True)", ["pytest", *rest]
    elif name in ("python", "python3") and len(rest) >= 2 and rest[0] == "-m":
        run, shown = f"runpy.run_module({rest[1]!r}, run_name='__main__', alter_sys=True)", rest[1:]
    elif name in ("python", "python3") and rest and not rest[0].startswith("-"):
        run, shown = f"runpy.run_path({rest[0]!r}, run_name='__main__')", rest
        paths.insert(0, str(Path(rest[0]).parent))
    else:
        return None
    if shown[0] == "pytest":
        shown = [*shown, "-p", "no:cacheprovider"]
    return _PROGRAM.format(archive=_ARCHIVE, tree=_TREE, argv=shown, run=run, paths=paths)


def _archive(copy: WorkingCopy) -> bytes:
    """The tree without its version control, as a tar: the verification gets a copy, so that it cannot change what it
    judges.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in copy.files():
            source = copy.root / path
            info = tarfile.TarInfo(path)
            data = source.read_bytes()
            info.size, info.mode, info.mtime = (
                len(data),
                0o755 if source.stat().st_mode & 0o100 else 0o644,
                int(source.stat().st_mtime),
            )
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _read_log(ok: bool, log: str, characters: int) -> Verdict:
    failing = frozenset(_FAILED_TEST.findall(log)) | frozenset(_UNITTEST.findall(log))
    last = next((line for line in reversed(log.splitlines()) if _COUNTS.search(line)), "")
    counts = {word: int(number) for number, word in _COUNTS.findall(last)}
    return Verdict(ok, digest(log, characters), failing, counts.get("passed", 0) if counts else None)


def digest(log: str, characters: int) -> str:
    """The log cut to what matters: failing tests and the lines that say why; where that is little, head and tail of
    all of it.
    """
    log = log.strip()
    if len(log) <= characters:
        return log
    lines = log.splitlines()
    keep = {number for number, line in enumerate(lines) if _TELLING.match(line)} | set(
        range(max(0, len(lines) - 5), len(lines))
    )
    parts, size, previous = [], 0, -1
    for number in sorted(keep):
        line = lines[number][:400]
        size += len(line) + 1
        if size > characters * 3 // 4 and number < len(lines) - 5:
            continue
        if number > previous + 1:
            parts.append("…")
        parts.append(line)
        previous = number
    short = "\n".join(parts)
    return short if len(short) <= characters else f"{short[: characters // 2]}\n…\n{short[-characters // 2 :]}"
