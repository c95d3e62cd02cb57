"""A grader: many programs of strangers against hidden test cases, several at once, each in a session of its own.

A program reads standard input and prints its answer. Wrong answers, crashes, programs without end and those that
look for the answers are verdicts; none of them touches the next one.

Prints:

    ada       3/3
    bob       1/3  wrong answer: '9' for '4 5'
    carol     0/3  timeout
    dave      0/3  rejected: import of 'os' is refused
    erin      0/3  error: ValueError: invalid literal for int() with base 10: ' '
"""

from safeexec import Result, Sandbox

CASES = [("2 2", "4"), ("2 3", "6"), ("4 5", "20")]
PROGRAMS = {
    "ada": "a, b = map(int, input().split())\nprint(a * b)",
    "bob": "a, b = map(int, input().split())\nprint(a + b)",
    "carol": "import time\ntime.sleep(3600)",
    "dave": "import os\nprint(os.listdir('/'))",
    "erin": "a, b = map(int, input())\nprint(int(a) * int(b))",
}


def verdict(result: Result, given: str, expected: str) -> str:
    """Return an empty text for a right answer, else what is wrong."""
    if result.ok:
        answer = result.stdout.strip()
        return "" if answer == expected else f"wrong answer: {answer[:40]!r} for {given!r}"
    if result.error is None or result.outcome == "timeout":
        return result.outcome
    if result.outcome == "rejected":
        return f"rejected: {result.error.message}"
    return f"{result.outcome}: {result.error.type}: {result.error.message}"


def main() -> None:
    runs = [(name, given, expected) for name in PROGRAMS for given, expected in CASES]
    verdicts: dict[str, list[str]] = {name: [] for name in PROGRAMS}
    with Sandbox("calculator") as sandbox:
        results = sandbox.map(
            ({"source": PROGRAMS[name], "stdin": given} for name, given, _ in runs), workers=4, timeout=2
        )
        for (name, given, expected), result in zip(runs, results, strict=True):
            verdicts[name].append(verdict(result, given, expected))
    for name, rows in verdicts.items():
        wrong = [text for text in rows if text]
        print(f"{name:8}  {len(rows) - len(wrong)}/{len(rows)}  {wrong[-1] if wrong else ''}".rstrip())


if __name__ == "__main__":
    main()
