"""Repair of a repository: the model reads, patches and verifies a copy; the original changes only with `apply()`.

The first patch breaks another test and is rolled back, the second one is kept. A held-out test, which the model never
sees, decides too. The tests run confined: no network, no file outside the copy. With MISTRAL_API_KEY set a real model
is asked.

Needs: pytest

Prints:

    before: 1 passed, 2 failing
    rolled back: 1, committed: 1
    after: 3 passed, 0 failing
    held out: passes, 1 passed
    -    return price - rate
    +    return price * rate
    warnings: none
    applied: src/shop/pricing.py
"""

import os
import tempfile
from pathlib import Path

from safeexec.agent import MistralModel, RepairAgent, ScriptedModel

REPOSITORY = {
    "src/shop/__init__.py": "",
    "src/shop/pricing.py": '''\
def buggy_discount(price, rate):
    """The price at a rate: 80 % of the price for a rate of 0.8."""
    return price - rate


def double(amount):
    return 2 * amount
''',
    "tests/test_pricing.py": """\
from shop.pricing import buggy_discount, double


def test_discount():
    assert buggy_discount(100.0, 0.8) == 80.0


def test_no_discount():
    assert buggy_discount(50.0, 1.0) == 50.0


def test_double():
    assert double(2) == 4
""",
    "held_out/test_rates.py": """\
from shop.pricing import buggy_discount


def test_other_prices():
    assert [buggy_discount(price, 0.25) for price in (8.0, 12.0)] == [2.0, 3.0]
""",
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
}
PATCH = "replace_text('src/shop/pricing.py', {!r}, {!r})\nprint(verify({!r}))"
STEPS = [
    "print(read_file('src/shop/pricing.py'))",
    PATCH.format("return 2 * amount", "return 3 * amount", "Triple"),
    PATCH.format("return price - rate", "return price * rate", "Multiply by the rate"),
]
ANSWER = "It subtracted the rate instead of multiplying by it."


def main() -> None:
    replies = [f"<execute_python>\n{source}\n</execute_python>" for source in STEPS]
    model = MistralModel() if os.environ.get("MISTRAL_API_KEY") else ScriptedModel([*replies, ANSWER])
    with tempfile.TemporaryDirectory() as directory:
        for name, text in REPOSITORY.items():
            Path(directory, name).parent.mkdir(parents=True, exist_ok=True)
            Path(directory, name).write_text(text, encoding="utf-8")
        agent = RepairAgent(model, directory, verify=["pytest", "-q"], held_out=["pytest", "-q", "held_out"])
        result = agent.run("buggy_discount gives wrong prices.")
        print(f"before: {result.before.passed} passed, {len(result.before.failing)} failing")
        print(f"rolled back: {len(result.rolled_back)}, committed: {len(result.commits)}")
        print(f"after: {result.after.passed} passed, {len(result.after.failing)} failing")
        print(f"held out: {result.held_out.summary()}" if result.held_out else "nothing was held out")
        print(*[line for line in result.diff.splitlines() if line[:5] in ("-    ", "+    ")], sep="\n")
        print("warnings:", "; ".join(map(str, result.warnings)) or "none")
        if result.ok:
            print("applied:", *result.apply())


if __name__ == "__main__":
    main()
