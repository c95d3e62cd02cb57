"""Which columns explain a target: a beam search over the features of a regression, each choice in a branch.

Each program adds one column to the model; the score is the error by cross-validation, with a price for each column. The
data is prepared once, however many models are tried.
"""

from safeexec import SearchState

COLUMNS = ["rooms", "age", "street", "garden", "colour", "agent"]
PREPARE = (
    f"COLUMNS = {COLUMNS}"
    + """
from random import Random
rolled = Random(7)
columns = {name: [rolled.uniform(0, 10) for _ in range(120)] for name in COLUMNS}
target = [
    30 * rooms - 4 * age + 2 * garden + rolled.gauss(0, 2)
    for rooms, age, garden in zip(columns["rooms"], columns["age"], columns["garden"])
]
def solve(rows, values):
    size = len(rows[0])
    table = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)] + [sum(r[i] * v for r, v in zip(rows, values))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(table[k][i]))
        table[i], table[pivot] = table[pivot], table[i]
        for k in range(size):
            if k != i:
                factor = table[k][i] / table[i][i]
                table[k] = [a - factor * b for a, b in zip(table[k], table[i])]
    return [table[i][size] / table[i][i] for i in range(size)]
def error(chosen):
    rows = [[1.0, *values] for values in zip(*(columns[name] for name in chosen))]
    total = 0.0
    for fold in range(4):
        kept = [n for n in range(len(rows)) if n % 4 != fold]
        weights = solve([rows[n] for n in kept], [target[n] for n in kept])
        total += sum(
            (target[n] - sum(w * x for w, x in zip(weights, rows[n]))) ** 2 for n in range(fold, len(rows), 4)
        )
    return (total / len(rows)) ** 0.5
chosen = []
"""
)
SCORE = "-error(chosen) - 0.05 * len(chosen)"


def propose(state: SearchState) -> list[str]:
    """Return one column more, each of those that are not in the model."""
    chosen = state.session.get("chosen")
    return [f"chosen = sorted([*chosen, {name!r}])" for name in COLUMNS if name not in chosen]
