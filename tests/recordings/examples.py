"""Makes the recordings in `data/` by running sessions: ``python -m tests.recordings.examples``.

They are what readers, the replay and whatever shows a recording are tested on. `analysis` needs numpy, pandas and
matplotlib.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from safeexec import Policy, Sandbox, Session

DATA = Path(__file__).parent / "data"
FIXED: dict[str, Any] = {"determinism": {"seed": 7, "clock": "2025-01-01T00:00:00+00:00"}}
"""Two runs of it print the same."""


def price(item: str, n: int = 1) -> float:
    """What `n` pieces of an item cost."""
    if item == "gold":
        raise ValueError("gold is not for sale")
    return {"tea": 2.5, "milk": 1.25}[item] * n


def errand(session: Session) -> None:
    """Tools, errors with hints, refusals, a stop, values of the host, a checkpoint, a rollback and two branches."""
    session.run("basket = {'tea': 3, 'milk': 2}\ntotal = sum(price(item, n=n) for item, n in basket.items())\ntotal")
    session.set("rate", 0.08)
    session.checkpoint("before tax")
    session.run("total *= 1 + rate\nprint(f'{total:.2f} with tax <b>&</b>')\ntotal")
    session.run("basket['gold'] = price('gold')")
    session.run("def share(of, among):\n    each = of / among\n    return each\n\nshare(total, among=0)")
    session.run("import os\nos.system('true')")
    session.run("while True:\n    pass", timeout=0.3)
    session.run("names = [input() for _ in range(2)]\nnames", stdin="Ada\nGrace\n")
    left, right = session.branch(2)
    left.run("total = round(total)\ntotal")
    right.run("import math\ntotal = math.ceil(total)\ntotal")
    left.note("rounded to the nearest", score=0.4)
    right.note("rounded up", score=0.9)
    left.close()
    right.run("import random\nrandom.random()")
    session.rollback("before tax")
    session.run("sorted(basket), total, rate")
    session.run("del rate\nrate", atomic=True)
    right.close()


def analysis(session: Session) -> None:
    """Files, frames, a plot, a table, SQL."""
    session.write_file("more.csv", b"city,month,rain\nRome,3,58\nOslo,3,47\n")
    session.run(
        "import pandas as pd\nrain = pd.concat([pd.read_csv('rain.csv'), pd.read_csv('more.csv')], ignore_index=True)\n"
        "rain.groupby('city').rain.mean()"
    )
    session.run("rain['rainn'].mean()")
    session.run(
        "import matplotlib.pyplot as plt\nfor city, part in rain.groupby('city'):\n"
        "    plt.plot(part.month, part.rain, label=city)\nplt.legend()\nplt.title('Rain, mm')\nplt.show()"
    )
    session.run("rain.to_csv('all.csv', index=False)\nrain")
    session.run("open('/etc/passwd').read()")


def search(session: Session) -> None:
    """A tree of attempts, each with its score."""
    session.run("target = 1764\nguess = 20.0")
    grown = [(session, 1.0)]
    for depth in range(3):
        best, _ = min(grown, key=lambda pair: pair[1])
        for number, branch in enumerate(best.branch(3)):
            factor = (0.5, 0.9, 1.1)[number]
            result = branch.run(
                f"guess = (guess + {factor} * target / guess) / 2\nabs(guess * guess - target) / target"
            )
            branch.note(f"depth {depth + 1}, factor {factor}", score=round(1 - min(1.0, result.value), 4))
            grown.append((branch, result.value))
    for branch, _ in grown:
        branch.close()


def cuts(data: bytes) -> list[int]:
    """Where lines may be cut: at their ends, just before and behind these, and in the middle."""
    ends = [0, *(place + 1 for place, byte in enumerate(data) if byte == 10)]
    middles = [(first + last) // 2 for first, last in pairwise(ends)]
    return sorted({*middles, *(end + more for end in ends for more in (-2, -1, 0, 1) if 0 <= end + more <= len(data))})


RAIN = b"city,month,rain\nRome,1,80\nRome,2,66\nOslo,1,55\nOslo,2,42\n"
EXAMPLES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "errand": ("standard", errand, {"tools": [price]}),
    "analysis": ("data-analysis", analysis, {"files": {"rain.csv": RAIN}}),
    "search": ("calculator", search, {}),
}
"""Name → profile, what is done, what the sandbox is given."""


def make(name: str, path: Path) -> None:
    """Record one of them."""
    profile, act, given = EXAMPLES[name]
    policy = Policy.load(profile).replace(**FIXED)
    with Sandbox(policy, **given) as sandbox, sandbox.session(record=path, label=name) as session:
        act(session)


if __name__ == "__main__":
    for example in EXAMPLES:
        (DATA / f"{example}.jsonl").unlink(missing_ok=True)
        make(example, DATA / f"{example}.jsonl")
