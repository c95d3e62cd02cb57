"""What a search costs with checkpoints, and without: four tasks, each with 1, 10 and 100 MB of prepared data.

    python -m benchmarks.search [--quick] [--plot FILE]

Without checkpoints every candidate begins in a new session, which prepares the data and runs the programs that lead to
the candidate's state. The search is the same: what it finds, and how many programs it tries, must be equal. `--plot`
draws the figures with matplotlib.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import feature_choice, four_patches
from benchmarks.common import Table, options
from safeexec import Budget, Policy, Result, Sandbox, SearchResult, search
from safeexec.examples import game_of_24

DATA = "data = [[number] for number in range({} * 1_000_000 // 104)]\n"
"""So many MB of small objects, as a table of rows is, that the programs do not touch."""


class Task(NamedTuple):
    """A search, with the data that it prepares."""

    prepare: str
    propose: Any
    score: str
    options: dict[str, Any]


BEAM = {"method": "beam", "width": 4, "depth": 3, "goal": 90, "budget": Budget(200)}
TASKS = {
    "game of 24": Task(game_of_24.PREPARE, game_of_24.propose, game_of_24.SCORE, BEAM),
    "feature choice": Task(
        feature_choice.PREPARE,
        feature_choice.propose,
        feature_choice.SCORE,
        {"method": "beam", "width": 2, "depth": 4},
    ),
    "four patches": Task(
        four_patches.PREPARE, list(four_patches.PATCHES.values()), four_patches.SCORE, {"timeout": 0.2}
    ),
}


class FromTheStart:
    """A session without checkpoints, as a search sees one: a branch is a new session in which all is run once more."""

    def __init__(self, sandbox: Sandbox, programs: list[str], count: Callable[[], None]) -> None:
        self._session = sandbox.session(checkpoints="off")
        self._sandbox = sandbox
        self._programs = list(programs)
        self._count = count
        self.policy = self._session.policy
        for program in programs:
            count()
            self._session.run(program, timeout=60).check()

    def branch(self, n: int = 1, *, checkpoints: str | None = None) -> list[FromTheStart]:
        return [FromTheStart(self._sandbox, self._programs, self._count) for _ in range(n)]

    def run(self, source: str, timeout: float | None = None) -> Result:
        self._programs.append(source)
        self._count()
        return self._session.run(source, timeout=timeout)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class Figures(NamedTuple):
    """What one search came to: seconds, programs run, score, the programs that led there."""

    seconds: float
    steps: int
    score: float | None
    sources: list[str]


def with_checkpoints(task: Task, megabytes: int) -> Figures:
    with Sandbox(policy(), spare=0) as sandbox:
        began = time.perf_counter()
        with sandbox.session() as session:
            session.run(DATA.format(megabytes) + task.prepare, timeout=60).check()
            with search(session, task.propose, task.score, **task.options) as found:
                return figures(found, began, 1 + found.spent.steps + found.spent.replayed)


def without(task: Task, megabytes: int) -> Figures:
    runs: list[None] = []
    with Sandbox(policy(), spare=0) as sandbox:
        began = time.perf_counter()
        session = FromTheStart(sandbox, [DATA.format(megabytes) + task.prepare], lambda: runs.append(None))
        with search(session, task.propose, task.score, **task.options) as found:
            told = figures(found, began, len(runs) - found.spent.steps)  # each score was counted as a program, too
        session.close()
        return told


def figures(found: SearchResult[Any], began: float, steps: int) -> Figures:
    return Figures(time.perf_counter() - began, steps, found.score, found.sources)


def policy() -> Policy:
    return Policy.load("calculator").replace(memory_mb=1024, checkpoint_memory_mb=8192, branches=8)


def main(quick: bool) -> dict[str, dict[int, tuple[Figures, Figures]]]:
    measured: dict[str, dict[int, tuple[Figures, Figures]]] = {}
    table = Table("a search with checkpoints, and with every candidate from the start")
    for name, task in TASKS.items():
        for megabytes in (1, 10) if quick else (1, 10, 100):
            ours, theirs = with_checkpoints(task, megabytes), without(task, megabytes)
            same = (ours.score, ours.sources) == (theirs.score, theirs.sources)
            found = f"the same found ({ours.score:.3g})" if same else f"found {ours.score}, {theirs.score}"
            told = f"{name}, {megabytes} MB: {ours.steps} programs, {theirs.steps} without"
            table.row(told, ours.seconds, theirs.seconds, found)
            measured.setdefault(name, {})[megabytes] = ours, theirs
    return measured


def plot(measured: dict[str, dict[int, tuple[Figures, Figures]]], path: str) -> None:
    """Seconds by the size of the data, with checkpoints and without."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(measured), figsize=(3 * len(measured), 3.2), sharey=True, layout="constrained"
    )
    for axis, (name, sizes) in zip(axes, measured.items(), strict=True):
        for place, what in enumerate(("with checkpoints", "every candidate from the start")):
            axis.plot(list(sizes), [pair[place].seconds for pair in sizes.values()], "o-", label=what)
        axis.set(title=name, xlabel="MB of prepared data", xscale="log", yscale="log")
    axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    picture = arguments[arguments.index("--plot") + 1] if "--plot" in arguments else None
    if picture is not None:
        arguments = [word for word in arguments if word not in ("--plot", picture)]
    found = main(options(__doc__, arguments).quick)
    if picture is not None:
        plot(found, picture)
