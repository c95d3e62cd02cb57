"""Acts on a few sessions of one sandbox, with faults around them, each answer compared with the model.

An act is an index of the table, a number that chooses the session, and a seed for all else that it decides: a list of
acts does the same each time but for timing, and a part of it is a list of acts, too.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, NamedTuple

from safeexec import CheckpointError, Recording, Sandbox, SandboxError, Session
from safeexec.engine.host.waiting import Wait, wait
from tests.alone import together
from tests.chaos.faults import FAULTS, send, zygote_of
from tests.chaos.model import Model, State, statements
from tests.footprint import footprint, leaks
from tests.shortening import shortened

DEADLINE_SECONDS = 120.0
"""How long an act may take on a busy machine. After that the stacks are printed and the process ends: a hang."""
PATIENCE = 30.0
"""Seconds that a step may take which does little."""
MOST_SESSIONS = 4
PROFILE = "confined-python"
TOLD = (SandboxError, OSError, MemoryError)
"""How a host that is short of something says so."""

ENDINGS = ("while True: pass", "import time\ntime.sleep(60)", "import os\nos._exit(3)", "import os\nos.abort()")
"""How a step ends that does not come to its end."""


class Act(NamedTuple):
    """One thing that is done: its name in `ACTS`, which session, and a seed."""

    name: str
    which: int
    seed: int


class Wrong(AssertionError):
    """An answer that the model does not give."""


class Line:
    """A session beside its model."""

    def __init__(self, session: Session, model: Model, recorded: Path | None = None) -> None:
        self.session = session
        self.model = model
        self.recorded = recorded
        self.shaken = False
        """Whether something was done to its processes, and they may not all have been made anew."""
        self.quiet = 0
        """Steps that went well since then."""
        self.closed = False


Do = Callable[["Chaos", Line, Random], bool | None]
"""What is done to a session. Returns whether it said that a state was lost."""


class Chaos:
    """A sandbox, its sessions, and what is done to them."""

    def __init__(self) -> None:
        self.calls = 0
        self.sandbox = Sandbox(PROFILE, tools=[self.double]).open()
        self.zygote = zygote_of(self.sandbox)
        self.lines: list[Line] = []
        self.done: Counter[str] = Counter()
        self.lost = 0
        self.shaken = False
        """Whether children that wait for their session may be dead."""
        self.numbers = iter(range(1 << 30))

    def double(self, number: int) -> int:
        """Twice the number."""
        self.calls += 1
        return number * 2

    def close(self) -> None:
        for line in self.lines:
            self._close(line)
        self.sandbox.close()

    def act(self, act: Act) -> None:
        """Do it, then compare every session with its model."""
        random = Random(act.seed)
        self.done[act.name] += 1
        if not self.lines:
            self._open()
        line = self.lines[act.which % len(self.lines)]
        if act.name in FAULTS:
            self._under(act.name, random, line)
        elif act.name == "killed zygote":
            self._kill_zygote()
        elif act.name in ELSEWHERE:
            ELSEWHERE[act.name](self, random)
        else:
            self.done_with(ACTS[act.name], line, random)
        for other in list(self.lines):
            self._compare(other, told=False)

    # Faults

    def _under(self, name: str, random: Random, line: Line) -> None:
        """An act while something is wrong. Whatever it loses it says, at once or when next asked."""
        if name != "another time":
            self.shaken = True
            for each in self.lines:
                each.shaken, each.quiet = True, 0
        chosen = random.choice(sorted(ACTS))
        self.done[chosen] += 1
        with FAULTS[name](random, self.zygote):
            told = self._tried(ACTS[chosen], line, random)
        if not line.closed:
            self._compare(line, told=told)

    def _kill_zygote(self) -> None:
        """Its sessions are over, or go on as they were: each says which. A new sandbox takes its place."""
        send([self.zygote], signal.SIGKILL)
        for line in self.lines:
            line.shaken = True
            with contextlib.suppress(*TOLD):
                result = line.session.run("1 + 1", timeout=PATIENCE)
                if result.ok and not result.value == 2:
                    raise Wrong(f"1 + 1 is {result.value!r} after the zygote was killed")
            self._close(line)
        self.lines.clear()
        self.shaken = False
        self.sandbox.close()
        self.sandbox = Sandbox(PROFILE, tools=[self.double]).open()
        self.zygote = zygote_of(self.sandbox)

    def done_with(self, do: Do, line: Line, random: Random) -> None:
        """An act, and what came of it."""
        told = self._tried(do, line, random)
        if not line.closed:
            self._compare(line, told=told)

    def _tried(self, do: Do, line: Line, random: Random) -> bool:
        """Whether it said that a state was lost."""
        before = line.model.now
        try:
            return bool(do(self, line, random))
        except TOLD as error:
            if not line.shaken:
                raise Wrong(f"{type(error).__name__}: {error}") from error
            line.model.ever.append(before)
            return True

    def calmed(self, line: Line) -> None:
        """After some steps each copy of a session is one that was made since; but for those with a name."""
        line.quiet += 1
        if line.shaken and line.quiet > 3:
            line.shaken = False
            line.model.named.clear()

    # The model

    def _open(self) -> None:
        try:
            number = next(self.numbers)
            path = Path(tempfile.gettempdir(), f"{number}.jsonl") if number % 3 == 0 else None
            session = self.sandbox.session(checkpoints=("idle", "before-step")[number % 2], record=path)
        except TOLD as error:
            if not self.shaken:
                raise Wrong(f"no session could be opened: {error}") from error
            return
        self.enter(Line(session, Model(), path), shaken=self.shaken)

    def enter(self, line: Line, *, shaken: bool) -> None:
        """One session more; the oldest is closed when they are too many."""
        line.shaken = shaken
        self.lines.append(line)
        if len(self.lines) > MOST_SESSIONS:
            self._close(self.lines.pop(0))

    def _close(self, line: Line) -> None:
        line.closed = True
        try:
            line.session.close()
        except TOLD as error:
            if not line.shaken:
                raise Wrong(f"close: {error}") from error
        if line.recorded is not None and not line.shaken:
            for _ in Recording(line.recorded):
                pass
        if line.recorded is not None:
            line.recorded.unlink(missing_ok=True)

    def _compare(self, line: Line, *, told: bool) -> None:
        """The session holds what the model says; or, after a fault and if it was told, something older."""
        for _ in range(4):
            try:
                found = seen(line.session)
                break
            except TOLD as error:
                if not line.shaken:
                    raise Wrong(f"{type(error).__name__}: {error}") from error
                told = True
        else:
            self.lost += 1
            self._close(line)
            if line in self.lines:
                self.lines.remove(line)
            return
        if found != line.model.now:
            if not line.shaken:
                raise Wrong(f"the session holds {found}, and should hold {line.model.now}")
            if not told:
                told = told_by_the_next_step(line.session)
            if not told:
                raise Wrong(f"a loss was not told: {found} instead of {line.model.now}")
            if not line.model.may_be_lost_to(found):
                raise Wrong(f"it was never {found}; it was {line.model.now}, and before {line.model.ever[-6:]}")
            self.lost += 1
            line.model.arrive(found)
        elif told and line.shaken:
            line.model.arrive(found)


def told_by_the_next_step(session: Session) -> bool:
    """Whether a step says what nobody has asked since it was lost."""
    try:
        return bool(session.run("None", timeout=PATIENCE).notes)
    except SandboxError:
        return True


def seen(session: Session) -> State:
    """All that a session holds, files too."""
    state: State = {name: session.get(name) for name in session.namespace}
    for name in session.list_files():
        state[f"file:{name}"] = session.read_file(name)
    return state


def lost(result: Any, line: Line, *outcomes: str) -> bool:
    """Whether a result says that a state was lost; `Wrong` for an outcome that only a fault could explain."""
    if result.outcome not in outcomes and not line.shaken:
        raise Wrong(f"{result.outcome} instead of {outcomes}: {result.error} {result.notes}")
    return bool(result.notes)


def _step(chaos: Chaos, line: Line, random: Random) -> bool:
    source, after = statements(random, line.model.now)
    atomic = random.random() < 0.2
    result = line.session.run(source, timeout=PATIENCE, atomic=atomic)
    told = lost(result, line, "ok")
    if result.ok:
        line.model.step(after)
        chaos.calmed(line)
    elif result.state == "kept":
        _ran_in_part(line, after)
    return told


def _ran_in_part(line: Line, after: State) -> None:
    """Some lines of a step ran, as a full disk or a limit let them."""
    line.model.ever += [line.model.now, after]
    line.model.now = seen(line.session)


def _error(chaos: Chaos, line: Line, random: Random) -> bool:
    source, after = statements(random, line.model.now)
    atomic = random.random() < 0.5
    result = line.session.run(f"{source}\n1 / 0", timeout=PATIENCE, atomic=atomic)
    told = lost(result, line, "error")
    if result.state == "kept" and result.outcome == "error":
        if atomic and not line.shaken and line.model.past:
            raise Wrong(f"an atomic step was kept: {result.notes}")
        if result.error is not None and result.error.type == "ZeroDivisionError":
            line.model.step(after)
        else:
            _ran_in_part(line, after)
    return told


def _stopped(chaos: Chaos, line: Line, random: Random) -> bool:
    source, after = statements(random, line.model.now)
    result = line.session.run(f"{source}\n{random.choice(ENDINGS)}", timeout=0.3)
    return _ended(result, line, after, "timeout", "crashed")


def _cancelled(chaos: Chaos, line: Line, random: Random) -> bool:
    source, after = statements(random, line.model.now)
    over = threading.Event()

    def cancel() -> None:
        while not over.is_set():
            line.session.cancel()
            wait(Wait((), monotonic() + 0.02))

    canceller = threading.Thread(target=cancel)
    try:
        canceller.start()
    except RuntimeError as error:  # no memory for a thread
        raise MemoryError from error
    try:
        result = line.session.run(f"{source}\nimport time\ntime.sleep(60)", timeout=PATIENCE)
    finally:
        over.set()
        canceller.join()
    return _ended(result, line, after, "cancelled")


def _ended(result: Any, line: Line, after: State, *outcomes: str) -> bool:
    """A step that was to be ended; one that a full disk ended with an error before has run in part."""
    told = lost(result, line, *outcomes)
    if result.state == "kept" and result.outcome == "error":
        _ran_in_part(line, after)
    return told


def _checkpoint(chaos: Chaos, line: Line, random: Random) -> None:
    name = random.choice("pq")
    line.session.checkpoint(name)
    line.model.checkpoint(name)


def _rollback(chaos: Chaos, line: Line, random: Random) -> bool:
    try:
        line.session.rollback()
    except CheckpointError:
        return line.shaken  # the state before may not be kept; the state now is as it was
    if line.model.past:
        line.model.go_back()
    elif line.model.arrived:
        line.model.arrive(seen(line.session))
    elif not line.shaken:
        raise Wrong("a rollback went to where the session never was")
    return line.shaken


def _rollback_named(chaos: Chaos, line: Line, random: Random) -> None:
    if line.model.named:
        name = random.choice(sorted(line.model.named))
        line.session.rollback(name)
        line.model.go_to(name)


def _by_the_host(line: Line, change: Callable[[str, Any], object], name: str, value: Any, *, prefix: str = "") -> None:
    after = line.model.now | {prefix + name: value}
    line.model.ever.append(after)
    change(name, value)
    line.model.change(after)


def _set(chaos: Chaos, line: Line, random: Random) -> None:
    _by_the_host(line, line.session.set, random.choice("ab"), random.randrange(1000))


def _write(chaos: Chaos, line: Line, random: Random) -> None:
    data = os.urandom(4) * random.choice((1, 3000))
    _by_the_host(line, line.session.write_file, "one.txt", data, prefix="file:")


def _tool(chaos: Chaos, line: Line, random: Random) -> bool:
    number, before = random.randrange(1000), chaos.calls
    after = line.model.now | {"a": number * 2}
    result = line.session.run(f"a = double({number})\na", timeout=PATIENCE)
    if result.ok:
        if (result.value, chaos.calls - before, len(result.tool_calls)) != (number * 2, 1, 1):
            raise Wrong(f"double({number}) is {result.value}, called {chaos.calls - before} times")
        line.model.step(after)
    elif result.state == "kept":
        line.model.now = seen(line.session)
    return lost(result, line, "ok")


def _printed(chaos: Chaos, line: Line, random: Random) -> bool:
    """Much output, and a listener that is slow."""
    lines, got = random.choice((10, 4000)), []

    def slow(text: str) -> None:
        if len(got) < 5:
            wait(Wait((), monotonic() + 0.02))
        got.append(text)

    result = line.session.run(f"for _ in range({lines}): print('row', _)\ndel _", timeout=PATIENCE, on_output=slow)
    wanted = "".join(f"row {number}\n" for number in range(lines))
    if result.ok:
        if result.stdout != wanted or "".join(got) != wanted:
            raise Wrong(f"of {len(wanted)} characters {len(result.stdout)} came, {sum(map(len, got))} on the way")
        line.model.step(line.model.now)
    return lost(result, line, "ok")


def _branch(chaos: Chaos, line: Line, random: Random) -> None:
    (session,) = line.session.branch()
    chaos.enter(Line(session, line.model.branch()), shaken=line.shaken)


def _saved(chaos: Chaos, line: Line, random: Random) -> None:
    """Saved, and brought back as another session; it is closed again."""
    path = Path(tempfile.gettempdir(), "state")
    try:
        line.session.save(path)
        with chaos.sandbox.restore(path) as session:
            if (found := seen(session)) != line.model.now and not line.shaken:
                raise Wrong(f"a saved state came back as {found}; it was {line.model.now}")
    finally:
        path.unlink(missing_ok=True)


def _rest(chaos: Chaos, line: Line, random: Random) -> None:
    wait(Wait((), monotonic() + random.choice((0.05, 0.4))))


def _mapped(chaos: Chaos, random: Random) -> None:
    """Programs from several threads, each in a session of its own."""
    numbers = [random.randrange(1000) for _ in range(6)]
    results = list(chaos.sandbox.map([f"{number} * 3" for number in numbers], timeout=PATIENCE))
    if [result.value for result in results] != [number * 3 for number in numbers]:
        raise Wrong(f"map gave {results}")


def _threads(chaos: Chaos, random: Random) -> None:
    """A step on each session at once."""
    problems: list[BaseException] = []

    def one(line: Line, seed: int) -> None:
        try:
            chaos.done_with(_step, line, Random(seed))
        except BaseException as error:
            problems.append(error)

    together([threading.Thread(target=one, args=(line, random.random())) for line in list(chaos.lines)])
    if problems:
        raise problems[0]


ACTS: dict[str, Do] = {
    "step": _step,
    "error": _error,
    "stopped": _stopped,
    "cancelled": _cancelled,
    "checkpoint": _checkpoint,
    "rollback": _rollback,
    "rollback to a name": _rollback_named,
    "set": _set,
    "write": _write,
    "tool": _tool,
    "printed": _printed,
    "branch": _branch,
    "saved": _saved,
    "another session": lambda chaos, line, random: chaos._open(),
    "rest": _rest,
}
ELSEWHERE: dict[str, Callable[[Chaos, Random], None]] = {"map": _mapped, "threads": _threads}
WEIGHTS = {
    **dict.fromkeys(ACTS, 4),
    "step": 16,
    "rest": 6,
    "stopped": 4,
    "error": 5,
    "branch": 3,
    "saved": 2,
    "another session": 3,
    **dict.fromkeys(ELSEWHERE, 1),
    **dict.fromkeys(FAULTS, 2),
    "killed children": 5,
    "killed zygote": 0.5,
}


def acts(seed: int, count: int) -> list[Act]:
    """So many acts, always the same for a seed."""
    random = Random(seed)
    names = random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=count)
    return [Act(name, random.randrange(100), random.randrange(1 << 32)) for name in names]


class Outcome(NamedTuple):
    """How it went: what was done, losses that were told, and what was wrong with which act."""

    done: Counter[str]
    lost: int
    wrong: str
    at: int


def play(given: list[Act]) -> Outcome:
    """Do the acts one after the other. Nothing is left at the end: no process, descriptor, thread or directory."""
    before = footprint()
    chaos = Chaos()
    wrong, at = "", 0
    try:
        for act in given:
            faulthandler.dump_traceback_later(DEADLINE_SECONDS, exit=True)
            try:
                chaos.act(act)
                at += 1
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
                if not isinstance(error, Wrong):
                    traceback.print_exc()
                break
    finally:
        faulthandler.dump_traceback_later(DEADLINE_SECONDS, exit=True)
        chaos.close()
        faulthandler.cancel_dump_traceback_later()
    left = leaks(before)
    if left and not wrong:
        wrong = f"left behind: {left}"
    return Outcome(chaos.done, chaos.lost, wrong, at)


def shortest(given: list[Act], seconds: float) -> list[Act]:
    """As few of the acts as still go wrong."""
    deadline = monotonic() + seconds
    return shortened(given, lambda shorter: bool(shorter and play(shorter).wrong), lambda: monotonic() < deadline)
