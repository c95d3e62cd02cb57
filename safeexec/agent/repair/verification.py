"""Run verifications on throw-away copies of the tree, confined, and read what came of them.

The tree is unpacked once, in a session that imports nothing of it; each run is a branch of that session, with the
changes of the attempt written into it. So every attempt begins with the same files.

A verification is a program of that branch: Python, or what the command or the policy names, and no other program. There
is no network, the copy alone is writable, time and memory end.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safeexec import Policy, PolicyError, Sandbox, SandboxError, Session, WorkspaceError
from safeexec.agent.errors import RepairError
from safeexec.agent.repair.tree import MAX_BYTES, MAX_FILES
from safeexec.agent.repair.verdicts import Verification, together
from safeexec.agent.repair.witness import SOURCE, Report, read_report
from safeexec.common.text import head_and_tail, printable

if TYPE_CHECKING:
    from safeexec.agent.repair.copies import WorkingCopy

_TREE = "tree"
_ARCHIVE = "changes.tar"
_SCRIPT = "verify.py"
_REPORT = "report.jsonl"
_BEGIN = """\
import os, tarfile
os.environ.update(NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1")
"""
_CHANGE = f"""\
for path in gone:
    os.remove(os.path.join({_TREE!r}, path))
    try:
        os.removedirs(os.path.join({_TREE!r}, os.path.dirname(path)))
    except OSError:
        pass
os.makedirs({_TREE!r}, exist_ok=True)
with tarfile.open({_ARCHIVE!r}) as archive:
    archive.extraction_filter = getattr(tarfile, "data_filter", None)  # before 3.11.4 there is none
    archive.extractall({_TREE!r})
os.remove({_ARCHIVE!r})
"""
_PROGRAM = """\
import importlib.util, json, os, runpy, sys, traceback
_report = open(os.path.join("..", {report!r}), "a", buffering=1)
del sys.path[0]
os.environ.update(HOME=os.path.dirname(os.getcwd()), NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1")
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
_report.write(json.dumps({{"status": status if isinstance(status, str) else int(status), "place": place}}) + "\\n")
sys.exit(status if isinstance(status, int) else 1)
"""

_THREADS = 128
"""Tests that look for races start a hundred."""
PROGRAMS = (
    "A check may start Python, and the programs that the policy names: danger_allow_commands, --program of "
    "`safeexec repair` (for `bash -c`, each program that it calls; for `shell=True`, `sh`)."
)
_REFUSALS = [
    (re.compile(pattern), words)
    for pattern, words in (
        (
            "Operation not permitted",
            "`Operation not permitted` is what the sandbox answers to network and signals: there are none.",
        ),
        (
            r"multiprocessing/synchronize\.py",
            "`multiprocessing` gets no semaphores in the sandbox: its pools, locks and queues fail.",
        ),
        ("can't start new thread", f"A check may have {_THREADS} threads at once."),
        (
            r"subprocess\.py(?::[0-9]{1,6}: |\", line )(?:[^\n]{0,400}\n){0,3}(?:E +)?(?:FileNotFound|Permission)Error"
            r"|(?:bad interpreter|: line [0-9]{1,6}: [^\n:]{1,400}+): Permission denied",
            PROGRAMS,
        ),
    )
]
"""Patterns of what the sandbox refused, as a log shows it, and what to say of each."""
_TO_LEAVE_OUT = "Whoever gives the command leaves out tests that need it: --deselect."
MAX_LOG = 4 << 20
"""Characters of a log that are looked at: its end says how it went."""
_MAX_LINE = 400
MAX_REPORT = 32 << 20
"""Bytes of what a program reports of its tests; of more nothing is read."""
_PYTEST = ("pytest", "py.test")
_LOG_CHARACTERS = 6000
"""The most characters that a model gets of what the commands print."""
_PREPARE_SECONDS = 120.0
"""Limit for unpacking a tree. `timeout` is for the command; a busy machine is slow."""
_PROCESSES = 64
"""Tests may fork."""
_TELLING = re.compile(
    r"^(?:E  |>  |FAILED|ERROR|FAIL:|\w+Error\b|\w+Exception\b|_{4,} .* _{4,}|\S+:\d+: |Traceback|  File )"
)


Command = Sequence[str]


def commands_of(given: Command | Sequence[Command], name: str) -> list[list[str]]:
    """Return one command, or a list of several, as a list of commands. Raises RepairError that names the option."""
    if isinstance(given, (str, bytes)) or not given:
        raise RepairError(f"{name} must be a list: the command and its arguments, or a list of such lists")
    if all(isinstance(word, (str, PathLike)) for word in given):
        return [[str(word) for word in given]]
    if any(isinstance(command, (str, bytes)) or not command for command in given):
        raise RepairError(f"{name} must be one command as a list of words, or a list of such lists")
    return [[str(word) for word in command] for command in given]


class Verifier:
    """Runs commands on copies of a tree, each on its own. `timeout` in seconds and `memory_mb` in MiB hold for one
    command. `policy` is what commands run under; programs that it lists may be started, by tests too. The first run
    prepares the tree for all; leaving the context ends the processes.
    """

    def __init__(
        self,
        verify: Command | Sequence[Command],
        *,
        held_out: Command | Sequence[Command] = (),
        policy: Policy | str = "confined-python",
        timeout: float = 120.0,
        memory_mb: int = 1024,
    ) -> None:
        self.commands = commands_of(verify, "verify")
        self.held_out = commands_of(held_out, "held_out") if held_out else []
        """Commands that decide too, on the files that the model does not see."""
        self._given = policy
        self._timeout = timeout
        self._limits: Any = {
            "memory_mb": memory_mb,
            "workspace_mb": 3 * MAX_BYTES >> 20,  # the tree, its archive, and what tests write
            "workspace_files": 2 * MAX_FILES,
            "processes": _PROCESSES,
            "threads": _THREADS,
            "max_wall_seconds": max(timeout, _PREPARE_SECONDS),
            "wall_seconds": timeout,
        }
        self._sandbox: Sandbox | None = None
        self._prepared: Session | None = None
        self._tree: dict[str, tuple[bytes, int]] = {}

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        if self._sandbox is not None:
            self._sandbox.close()

    def run(self, copy: WorkingCopy, *, held_out: bool = False) -> Verification:
        """Run the commands, or those that are held out. What the code under test does wrong is in the verdict."""
        files = {path: (data, mode) for path, data, mode in copy.visible(hidden=held_out)}
        commands = self.held_out if held_out else self.commands
        room = _LOG_CHARACTERS // len(commands)
        return together([self._verdict(argv, files, room) for argv in commands], [*map(shlex.join, commands)])

    def _opened(self) -> Sandbox:
        if self._sandbox is not None:
            return self._sandbox
        needed = {argv[0] for argv in (*self.commands, *self.held_out) if _python_command(argv) is None}
        policy = Policy.load(self._given) if isinstance(self._given, str) else self._given
        if policy.language.mode != "python":
            raise RepairError(f"policy: {policy.name!r} is for guest code; a verification needs language.mode: python")
        for program in needed:
            if "/" in program and not program.startswith("/"):
                raise RepairError(
                    f"verify: {program} is a file of the repository; name the program that runs it before it"
                )
        programs = sorted({*policy.danger_allow_commands, *needed, sys.executable})
        policy = policy.replace(checkpoints="off", limits=self._limits, danger_allow_commands=programs)
        try:
            self._sandbox = Sandbox(policy, spare=0).open()
        except PolicyError as error:
            raise RepairError(f"verify: {error}") from error
        return self._sandbox

    @contextmanager
    def _attempt(self, files: dict[str, tuple[bytes, int]]) -> Iterator[Session]:
        """Yield a branch of the prepared session, with the files of the attempt. The first attempt prepares it, as does
        one after a run that has ended it.
        """
        session = None
        if self._prepared is not None:
            with suppress(SandboxError):
                (session,) = self._prepared.branch()
        if session is None:
            prepared = self._opened().session()
            prepared.run(_BEGIN, timeout=_PREPARE_SECONDS).check()
            _change(prepared, [], files)
            self._prepared, self._tree = prepared, files
            (session,) = prepared.branch()
        with session:
            gone = [path for path in self._tree if path not in files]
            changed = {path: entry for path, entry in files.items() if self._tree.get(path) != entry}
            if gone or changed:
                _change(session, gone, changed)
            yield session

    def _verdict(self, argv: list[str], files: dict[str, tuple[bytes, int]], room: int) -> Verification:
        with self._attempt(files) as session:
            program = _python_program(argv)
            words = argv
            if program is not None:
                session.write_file(_SCRIPT, program.encode())
                words = [sys.executable, f"../{_SCRIPT}"]
            done = session.command(words, cwd=_TREE, timeout=self._timeout)
            report = Report()
            if program is not None:
                with suppress(WorkspaceError):  # there may be none, or a link, or too much of it
                    report = read_report(session.read_file(_REPORT, max_bytes=MAX_REPORT))
        log, status = f"{done.stdout}{done.stderr}", report.status
        if done.outcome not in ("ok", "error") and not isinstance(status, str):
            running = f"\nThe last test that began is {report.running}." if report.running else ""
            return read_log(argv, room, 1, f"{log}\n{done.message}{running}", report.outcomes, ended=done.outcome)
        if program is not None and status is None:
            return read_log(argv, room, 1, f"{log}\nThe program did not say how it ended.", report.outcomes)
        if not isinstance(status, str):
            status = int(not done.ok or bool(status))
        return read_log(argv, room, status, log, report.outcomes, exit_at=report.place)


def read_log(
    argv: list[str],
    room: int,
    status: int | str,
    log: str,
    outcomes: Mapping[str, str],
    *,
    ended: str = "exit",
    exit_at: str = "",
) -> Verification:
    """Return the verdict of a run. The log is for readers, and decides nothing. A `status` of text names what lacks."""
    if isinstance(status, str):
        return Verification(False, head_and_tail(printable(status), room)[0], ended="missing")
    ok = status == 0
    log = printable(log[-MAX_LOG:])
    if not ok and (refused := [words for pattern, words in _REFUSALS if pattern.search(log)]):
        log += "\n".join(["", *refused, _TO_LEAVE_OUT])
    command = _python_command(argv) or []
    if ok and not outcomes and command[:1] == ["-m"] and command[1:2] in (["pytest"], ["unittest"]):
        ok = False
        log += "\nNo test ran."
    return Verification(ok, digest(log, room), ended, outcomes, exit_at)


def _python_command(argv: list[str]) -> list[str] | None:
    """Return the arguments behind `python`; None for another program."""
    name, rest = Path(argv[0]).name, argv[1:]
    if argv[0] not in (name, sys.executable):
        return None
    if name in _PYTEST:
        return ["-m", "pytest", *rest]
    return rest if re.fullmatch(r"python(3(\.\d+)?)?", name) else None


def _python_program(argv: list[str]) -> str | None:
    """Return the program that carries out a Python command; None for another command, or another use of Python."""
    command = _python_command(argv)
    paths = [".", "src"]  # an editable install points to the original tree, which is not there for the verification
    if command is None or len(command) < (2 if command[:1] in (["-m"], ["-c"]) else 1):
        return None
    match command:
        case ["-m", module, *rest]:
            run = f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
            known = f"importlib.util.find_spec({module.partition('.')[0]!r})"
            missing = f"there is no module {module!r}, neither in the repository nor installed"
            shown = [module, *rest]
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
        report=_REPORT, argv=shown, witness=SOURCE, run=run, known=known, missing=missing, paths=paths
    )


def _change(session: Session, gone: Sequence[str], files: Mapping[str, tuple[bytes, int]]) -> None:
    """Change the tree of a session. It gets copies: a verification cannot change what it judges."""
    buffer, now = io.BytesIO(), int(time.time())
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, (data, mode) in files.items():  # guests make no links
            info = tarfile.TarInfo(path)
            info.size, info.mode, info.mtime = len(data), mode, now
            archive.addfile(info, io.BytesIO(data))
    session.write_file(_ARCHIVE, buffer.getvalue())
    session.run(_CHANGE, namespace={"gone": gone}, timeout=_PREPARE_SECONDS).check()


def digest(log: str, characters: int) -> str:
    """Return the log cut to failing tests and the lines that say why; where that is little, head and tail of it all."""
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
    return head_and_tail("\n".join(parts), characters)[0]
