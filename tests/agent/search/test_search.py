"""Searches in real sessions: branches, files, what dies, and what is left."""

from __future__ import annotations

import psutil
import pytest

from safeexec import AsyncSandbox, Budget, Policy, Sandbox, SearchTree, Session, async_search, search
from tests.footprint import pause, until
from tests.interrupting import interrupting

OPS = ["x = x + 3", "x = x * 2", "x = x - 1", "1 / 0"]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_way_to_a_number(session: Session, workers: int) -> None:
    session.run("x = 1").check()
    budget = Budget(steps=60)
    with search(session, OPS, "-abs(x - 11)", method="beam", depth=6, goal=0, budget=budget, workers=workers) as found:
        assert found.why == "goal" and found.best is not None
        assert found.best.policy.checkpoints == session.policy.checkpoints
        assert found.best.run("x = x + 1\nx").check().value == 12
        found.best.rollback()
        assert found.best.run("x").value == 11
        assert found.sources == ["x = x + 3", "x = x * 2", "x = x + 3"]
    assert session.run("x").value == 1


def test_a_process_that_is_killed_costs_one_program(session: Session) -> None:
    def score(session: Session) -> float:
        value = session.get("x")
        if value == 2:
            return float(session.run("import os\nos._exit(3)").check().value)
        return float(value)

    options = ["x = 1", "x = 2", "import os\nos._exit(3)", "while True: pass"]
    with search(session, options, score, timeout=0.5) as found:
        assert found.why == "exhausted" and found.best is not None
        assert found.best.run("x").value == found.score
        assert [node.status for node in found.tree.nodes[1:]][-2:] == ["failed", "failed"]


def test_a_dead_zygote_ends_the_search_with_what_it_has() -> None:
    before = set(psutil.Process().children())
    with Sandbox("calculator", spare=0) as sandbox:
        (zygote,) = set(psutil.Process().children()) - before
        session = sandbox.session()

        def score(session: Session) -> float:
            if session.get("x") == 3:
                zygote.kill()
                zygote.wait(60)
            return float(session.get("x"))

        found = search(session, [f"x = {number}" for number in range(1, 9)], score, budget=Budget(steps=None))
        assert found.why == "lost" and found.best is None and "zygote" in found.message
        assert found.tree.best is not None and found.tree.best.score in (1.0, 2.0)


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_the_search_with_its_best_so_far(sandbox: Sandbox, session: Session, workers: int) -> None:
    """While its steps run: they do not end by themselves."""

    def begun() -> None:
        for _ in range(15):  # more than once: the first steps and the branches are busy, too
            until(lambda: sandbox.stats().busy >= workers)
            pause()

    options = ["x = 1", "x = 2", *[f"n = {number}\nwhile True: pass" for number in range(30)]]
    tree = SearchTree()
    with interrupting(begun):
        found = search(session, options, "x", budget=Budget(None), workers=workers, resume=tree, timeout=60)
    with found:
        assert found.why == "interrupted"
        if found.best is not None:
            assert found.best.run("x").value == found.score
    with search(session, [], "x", budget=Budget(steps=tree.spent.steps + 2), resume=tree, timeout=0.3) as found:
        assert found.tree is tree and found.why == "steps"
    assert session.run("1").value == 1


async def test_on_an_event_loop(profile: str) -> None:
    async with AsyncSandbox(Policy.load(profile), spare=0) as sandbox, sandbox.session() as session:
        await session.run("x = 1")
        found = await async_search(session, OPS, "-abs(x - 37)", method="beam", depth=4, workers=2)
        async with found:
            assert found.best is not None and (await found.best.run("x")).value == 37 + (found.score or 0)
        assert repr(sandbox).endswith("1 session>")
