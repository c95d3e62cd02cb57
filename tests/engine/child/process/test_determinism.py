"""With `determinism`, a program prints the same bytes in every sandbox, session, branch and restore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from safeexec import Policy, Sandbox
from safeexec.engine.policy.settings import Determinism

INSTANT = "2025-01-01T12:30:00.123456+00:00"

RANDOM = """
import random, secrets, uuid
print(random.random(), random.Random().random(), random.SystemRandom().random())
random.seed()
print(random.random(), uuid.uuid4(), secrets.token_hex(), secrets.choice(range(10**9)))
"""
# Of sets of objects nothing is promised: they lie where they lie.
SETS = "print({'one', 'two', 'three', 'four', b'five', ('six', 7)})"
NUMPY = """
import numpy as np
print(np.random.rand(2), np.random.default_rng().random(2), np.random.RandomState().rand(2))
np.random.seed()
print(np.random.permutation(100))
"""
LIBRARIES = """
import pandas as pd
from sklearn.cluster import KMeans
frame = pd.DataFrame({'a': range(100)})
print(frame.sample(5).index.tolist(), KMeans(3, n_init=1).fit(frame).labels_.tolist())
"""
CLOCK = """
import datetime, time
print(time.time(), time.ctime(), time.strftime('%c'), time.asctime(), tuple(time.localtime()), tuple(time.gmtime()))
print(datetime.datetime.now(), datetime.datetime.today(), datetime.date.today(), datetime.datetime.now(datetime.UTC))
started = time.perf_counter()
time.sleep(0.001)
print(1 / (time.perf_counter() - started), time.monotonic(), time.process_time())
"""
PROGRAMS = {"random": RANDOM, "sets": SETS, "clock": CLOCK, "numpy": NUMPY, "libraries": LIBRARIES}


def deterministic(profile: str, seed: int = 7, clock: str = INSTANT) -> Policy:
    return Policy.load(profile).replace(determinism=Determinism(seed=seed, clock=clock))


def outputs(policy: Policy, *sources: str) -> list[str]:
    """What each source prints, in a session of its own and in a sandbox that is new."""
    with Sandbox(policy) as sandbox:
        return [sandbox.run(source).check().stdout for source in sources]


@pytest.mark.modules("numpy", "pandas", "sklearn")
@pytest.mark.parametrize("profile", ["data-analysis", "confined-python"])
def test_two_runs_print_the_same_bytes(profile: str) -> None:
    first = outputs(deterministic(profile), *PROGRAMS.values())
    assert outputs(deterministic(profile), *PROGRAMS.values()) == first
    assert all(first)


@pytest.mark.modules("numpy")
def test_each_session_begins_with_numbers_of_its_own() -> None:
    """Those that a child inherits from its zygote are made anew, one generator after the other."""
    first = "import random, numpy as np\nprint(random.random(), np.random.rand(), np.random.randn())"
    printed = outputs(Policy.load("data-analysis"), first, first, first)
    assert [len(set(numbers)) for numbers in zip(*map(str.split, printed), strict=True)] == [3, 3, 3]


def test_the_seed_is_that_of_ordinary_python_and_a_real_clock_stays_real() -> None:
    """A program that would call `random.seed(7)` gets the same numbers without the call."""
    source = "import random, time; print(random.random(), time.time() > 1.7e9)"
    (printed,) = outputs(deterministic("standard", clock="real"), source)
    (seeded,) = outputs(Policy.load("standard"), f"import random; random.seed(7); {source}")
    assert printed == seeded and "True" in printed


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(deterministic("standard")) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("time.time()", "1735734600.123456"),
        ("time.strftime('%H', time.gmtime(0))", "'00'"),
        ("datetime.datetime.now()", "datetime.datetime(2025, 1, 1, 12, 30, 0, 123456)"),
        ("datetime.date.today()", "datetime.date(2025, 1, 1)"),
        ("datetime.datetime.now(zoneinfo.ZoneInfo('Asia/Tokyo')).isoformat()", "'2025-01-01T21:30:00.123456+09:00'"),
        ("type('Own', (datetime.datetime,), {}).now()", "Own(2025, 1, 1, 12, 30, 0, 123456)"),
    ],
)
def test_the_clock_stands_where_the_policy_says(sandbox: Sandbox, expression: str, expected: str) -> None:
    result = sandbox.run(f"import datetime, time, zoneinfo\n{expression}")
    assert result.check().text == expected


def test_sleeping_moves_the_clock(sandbox: Sandbox) -> None:
    source = "import time\nbefore = time.time_ns(), time.monotonic_ns()\ntime.sleep(0.25)\n"
    source += "time.time_ns() - before[0], time.monotonic_ns() - before[1]"
    assert sandbox.run(source).check().value == (250_000_000, 250_001_000)


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\nasyncio.run(asyncio.wait_for(work(), 60))",
        "import queue\ntry:\n    queue.Queue().get(timeout=0.01)\nexcept queue.Empty:\n    pass",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool:\n    list(pool.map(abs, [1], timeout=60))",
        "import sched, time\nplan = sched.scheduler()\nplan.enter(0.01, 1, print)\nplan.run()",
    ],
)
def test_waiting_ends_although_the_clock_stands(sandbox: Sandbox, source: str) -> None:
    assert sandbox.run(source).check()


def test_a_restored_step_and_a_branch_draw_the_same_numbers_again(sandbox: Sandbox) -> None:
    draw = "time.sleep(0.001); (random.random(), uuid.uuid4(), time.time())"
    with sandbox.session() as session:
        session.run("import random, uuid, time").check()
        first = session.run(draw).check().value
        session.rollback()
        (branch,) = session.branch()
        assert [one.run(draw).check().value for one in (session, branch)] == [first, first]


def test_a_save_draws_none_of_the_programs_numbers(sandbox: Sandbox, tmp_path: Path) -> None:
    drawn = []
    for saved in (False, True):
        with sandbox.session() as session:
            session.run("class Point: pass\npoint = Point()").check()
            if saved:
                session.save(tmp_path / "state")
            drawn.append(session.run("import secrets\nsecrets.token_hex()").check().value)
    assert drawn[0] == drawn[1]
