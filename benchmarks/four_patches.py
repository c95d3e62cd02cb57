"""A repair with three wrong patches and a right one: each is tried on a branch of the same prepared tests.

What a model might propose is a list here. A patch that hangs, or calls what is not there, costs its branch alone, and
the tests of the next one begin as they were prepared.

Prints:

    range(1, n): 3 of 5 tests
    a loop that does not end: timeout
    a name that is not there: 1 of 5 tests
    the right one: 5 of 5 tests
    best: the right one
    largest(3) = [9, 8, 7]
"""

from safeexec import Sandbox, search

PREPARE = """
rows = [3, 9, 1, 7, 8, 2]
def largest(n):
    return [sorted(rows)[-i] for i in range(n)]
CASES = [(0, []), (1, [9]), (2, [9, 8]), (3, [9, 8, 7]), (6, [9, 8, 7, 3, 2, 1])]
def passed(function):
    count = 0
    for n, expected in CASES:
        try:
            count += function(n) == expected
        except Exception:
            pass
    return count
"""
PATCHES = {
    "range(1, n)": "def largest(n):\n    top = sorted(rows)[::-1]\n    return top[:n] if n < 3 else top[: n - 1]",
    "a loop that does not end": "def largest(n):\n    found = []\n    while len(found) < n: pass\nlargest(3)",
    "a name that is not there": "def largest(n):\n    return sorted(data, reverse=True)[:n] if n else []",
    "the right one": "def largest(n):\n    return sorted(rows, reverse=True)[:n]",
}
SCORE = "passed(largest)"


def main() -> None:
    names = {source: name for name, source in PATCHES.items()}
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        session.run(PREPARE).check()
        with search(session, list(PATCHES.values()), SCORE, timeout=0.5) as found:
            for node in found.tree.nodes[1:]:
                outcome = node.result.outcome if node.result is not None else node.problem
                print(f"{names[node.source]}:", outcome if node.score is None else f"{node.score:.0f} of 5 tests")
            print("best:", names[found.sources[0]])
            if found.best is not None:
                print("largest(3) =", found.best.run("largest(3)").value)


if __name__ == "__main__":
    main()
