"""A calculator that takes code: steps share variables, and whatever goes wrong is data, not an exception.

A step that is stopped leaves no trace: the session is as it was before. `evaluate` is the small sister: expressions
alone, in this process, in microseconds.

Prints:

    ok 1.4142135623730951
    ok 2.8284271247461903
    error ZeroDivisionError: division by zero
    rejected import of 'os' is refused
    timeout restored
    ok 1.4142135623730951
    14
"""

from safeexec import Sandbox, evaluate

STEPS = [
    "import math\nx = math.sqrt(2)\nx",
    "x * 2",
    "1 / 0",
    "import os",
    "x = 0\nwhile True: pass",
    "x",
]


def main() -> None:
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        for source in STEPS:
            result = session.run(source, timeout=0.5 if "while" in source else None)
            if result.ok:
                print(result.outcome, result.value)
            elif result.state != "kept":
                print(result.outcome, result.state)
            elif result.outcome == "rejected":
                print(result.outcome, result.error.message if result.error else "")
            else:
                print(result.outcome, f"{result.error.type}: {result.error.message}" if result.error else "")
    print(evaluate("2 * (3 + x)", {"x": 4}))


if __name__ == "__main__":
    main()
