"""The game of 24 as a beam search: each move is a program in a branch of the game, and the best games go on.

A hand of four numbers is combined, two at a time, until one is left. Of all games after a move those four go on that
are nearest to 24; a move that divides by zero is undone.

Prints:

    5 6 7 8: goal after 124 moves
    hand, how = move(hand, how, …
    hand, how = move(hand, how, …
    hand, how = move(hand, how, …
    24 = (6 * (7 - (8 - 5)))
    the game itself has still 4 numbers
"""

from collections.abc import Iterator
from itertools import permutations

from safeexec import Budget, Sandbox, SearchState, search

PREPARE = """
from fractions import Fraction
def move(hand, how, first, sign, second):
    a, b = hand[first], hand[second]
    value = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[sign]()
    rest = [number for number in range(len(hand)) if number not in (first, second)]
    return [*(hand[n] for n in rest), value], [*(how[n] for n in rest), f"({how[first]} {sign} {how[second]})"]
def nearest(hand):
    done = 100 if hand == [24] else 0
    pairs = [(a, b) for n, a in enumerate(hand) for b in hand[n + 1:]]
    values = [*hand, *(a + b for a, b in pairs), *(a * b for a, b in pairs), *(a - b for a, b in pairs)]
    return done - float(min(abs(value - 24) for value in values)) - len(hand)
hand = [Fraction(number) for number in (5, 6, 7, 8)]
how = ["5", "6", "7", "8"]
"""
SCORE = "nearest(hand)"
BUDGET = Budget(steps=200)


def propose(state: SearchState) -> Iterator[str]:
    """Yield every two numbers of the hand with every sign."""
    for first, second in permutations(range(4 - state.depth), 2):
        for sign in "+-*/" if first < second else "-/":
            yield f"hand, how = move(hand, how, {first}, {sign!r}, {second})"


def main() -> None:
    with Sandbox("calculator") as sandbox, sandbox.session() as game:
        game.run(PREPARE).check()
        with search(game, propose, SCORE, method="beam", width=4, depth=3, goal=90, budget=BUDGET) as found:
            print(f"5 6 7 8: {found.why} after {found.spent.steps} moves")
            print("\n".join(found.sources))
            if found.best is not None:
                print("24 =", found.best.run("how[0]").value)
        print("the game itself has still", game.run("len(hand)").value, "numbers")


if __name__ == "__main__":
    main()
