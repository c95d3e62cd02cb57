"""A formula that fits the data: terms are tried in branches, and a tree search goes on from the most promising sum.

Each program adds a term with its best factor to what is there; the score is the error that is left, with a price for
each term. A term that is undefined for a point (a logarithm of zero) fails, and is undone.

Prints:

    goal after 20 terms
    y = 2.0 * x**2 + 3.0 * sin(x)
    largest error: 0.0
"""

from safeexec import Sandbox, search

TERMS = ["1", "x", "x**2", "x**3", "sin(x)", "cos(x)", "exp(-x)", "sqrt(x)", "log(x)", "1/x"]
PREPARE = """
from math import cos, exp, log, sin, sqrt
xs = [n / 4 for n in range(41)]
ys = [2 * x**2 + 3 * sin(x) for x in xs]
terms = {}
def fit(name, values):
    # One factor after the other, each as good as the others leave it: they come to rest soon.
    terms[name] = (0.0, values)
    for _ in range(200):
        for one, (_, ours) in list(terms.items()):
            rest = [y - sum(f * v[n] for other, (f, v) in terms.items() if other != one) for n, y in enumerate(ys)]
            terms[one] = (sum(a * b for a, b in zip(ours, rest)) / sum(a * a for a in ours), ours)
def error():
    return max(abs(y - sum(f * v[n] for f, v in terms.values())) for n, y in enumerate(ys))
"""
SCORE = "-error() - 0.1 * len(terms)"
PROGRAMS = [f"fit({term!r}, [{term} for x in xs])" for term in TERMS]


def main() -> None:
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        session.run(PREPARE).check()
        with search(session, PROGRAMS, SCORE, method="tree", width=10, depth=3, goal=-0.21) as found:
            print(f"{found.why} after {found.spent.steps} terms")
            if found.best is not None:
                sums = "' + '.join(f'{round(factor, 2)} * {name}' for name, (factor, _) in sorted(terms.items())[::-1])"
                print("y =", found.best.run(sums).value)
                print("largest error:", found.best.run("round(error(), 2)").value)


if __name__ == "__main__":
    main()
