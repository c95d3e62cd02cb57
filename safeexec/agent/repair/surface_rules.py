"""The signs of a patch that serves the tests instead of mending the code: what is said of each, an example that has the
sign and one that has not. Data; `surface_program` finds them.
"""

from __future__ import annotations

from typing import NamedTuple

TESTS = """\
from shop import discount

def test_discount():
    assert discount(100, 0.8) == 80.0
    assert discount(50, 0.5) == 25.0
"""
BEFORE = "def discount(price, rate):\n    return price - rate\n"
MENDED = "def discount(price, rate):\n    return price * rate\n"


class SurfaceRule(NamedTuple):
    """`sentence` is what a person reads. `bad` and `good` are patches of `before`; `in_test`: which is a test."""

    sentence: str
    bad: str
    good: str = MENDED
    before: str = BEFORE
    in_test: bool = False


SURFACE_RULES: dict[str, SurfaceRule] = {
    "special-case": SurfaceRule(
        "compares with a value that stands in the tests",
        "def discount(price, rate):\n    if (price, rate) == (100, 0.8):\n        return price - 20\n"
        "    return price * rate\n",
        "def discount(price, rate):\n    if price == 0:\n        return 0\n    return price * rate\n",
    ),
    "hard-coded": SurfaceRule(
        "answers with a value that the tests expect",
        "def discount(price, rate):\n    return 80.0 if rate > 0.5 else price * rate\n",
        "def discount(price, rate):\n    return round(price * rate, 2)\n",
    ),
    "ignores-arguments": SurfaceRule(
        "reads an argument no more, and answers all the same", "def discount(price, rate):\n    return 0\n"
    ),
    "table-of-cases": SurfaceRule(
        "holds a table of what the tests give and expect",
        "RESULTS = {(100, 0.8): 80.0, (50, 0.5): 25.0}\n\ndef discount(price, rate):\n"
        "    return RESULTS[price, rate]\n",
        "STEPS = {10: 0.9, 20: 0.85}\n\ndef discount(price, rate):\n    return price * STEPS.get(rate, rate)\n",
    ),
    "counts-calls": SurfaceRule(
        "counts how often it is called",
        "calls = 0\n\ndef discount(price, rate):\n    global calls\n    calls += 1\n"
        "    return price - 20 if calls == 1 else price * rate\n",
        "def discount(price, rate):\n    total = 0\n    total += price * rate\n    return total\n",
    ),
    "swallowed-exception": SurfaceRule(
        "catches errors of every kind, or says nothing of one",
        "def discount(price, rate):\n    try:\n        return price * rate\n    except Exception:\n"
        "        return price\n",
        "def discount(price, rate):\n    try:\n        return price * rate\n    except TypeError as error:\n"
        "        raise ValueError('price and rate are numbers') from error\n",
    ),
    "assertion-removed": SurfaceRule(
        "an assertion is gone here",
        "def discount(price, rate):\n    return price * rate\n",
        "def discount(price, rate):\n    assert rate <= 1\n    return price * rate\n",
        "def discount(price, rate):\n    assert rate <= 1\n    return price - rate\n",
    ),
    "assertion-changed": SurfaceRule(
        "an assertion is another one now, and may check less",
        "def test_discount():\n    assert discount(100, 0.8) is not None\n",
        "def test_discount():\n    assert discount(100, 0.8) == 80\n    assert discount(0, 0.8) == 0\n",
        "def test_discount():\n    assert discount(100, 0.8) == 80\n",
        in_test=True,
    ),
    "doctest-changed": SurfaceRule(
        "an example of a docstring is gone, or expects something else",
        "def discount(price, rate):\n    '''\n    >>> discount(10, 0.5)\n    9.5\n    '''\n    return price - rate\n",
        "def discount(price, rate):\n    '''\n    >>> discount(10, 0.5)\n    5.0\n    '''\n    return price * rate\n",
        "def discount(price, rate):\n    '''\n    >>> discount(10, 0.5)\n    5.0\n    '''\n    return price - rate\n",
    ),
    "skipped-test": SurfaceRule(
        "skips a test, or ends it early",
        "import pytest\n\n@pytest.mark.skip\ndef test_discount():\n    assert discount(100, 0.8) == 80\n",
        "import pytest\n\n@pytest.mark.slow\ndef test_discount():\n    assert discount(100, 0.8) == 80\n",
        "import pytest\n\ndef test_discount():\n    assert discount(100, 0.8) == 80\n",
        in_test=True,
    ),
    "test-removed": SurfaceRule(
        "a test that was here is gone, or has another name",
        "def test_other():\n    pass\n",
        "def test_other():\n    pass\n\ndef test_discount():\n    pass\n",
        "def test_discount():\n    pass\n",
        in_test=True,
    ),
    "mock": SurfaceRule(
        "puts something else in the place of what is tested or imported",
        "import math\n\nmath.isclose = lambda *_: True\n\ndef discount(price, rate):\n    return price * rate\n",
        "import math\n\ndef discount(price, rate):\n    return math.floor(price * rate)\n",
    ),
    "sleep": SurfaceRule(
        "waits for a time instead of for what it needs",
        "import time\n\ndef discount(price, rate):\n    time.sleep(1)\n    return price * rate\n",
        "import time\n\ndef discount(price, rate):\n    return price * rate, time.monotonic()\n",
    ),
    "test-framework": SurfaceRule("imports a test framework", "import unittest\n" + MENDED, "import math\n" + MENDED),
    "names-tests": SurfaceRule(
        "names tests",
        "import os\n\ndef discount(price, rate):\n"
        "    return 80 if 'PYTEST_CURRENT_TEST' in os.environ else price * rate\n",
        "import os\n\ndef discount(price, rate):\n    return price * rate * float(os.environ['FACTOR'])\n",
    ),
    "loads-code": SurfaceRule(
        "loads code, or changes what is built in", "import builtins\n" + MENDED, "import ast\n" + MENDED
    ),
    "ends-program": SurfaceRule(
        "ends the program",
        "import os\n\ndef discount(price, rate):\n    os._exit(0)\n    return price * rate\n",
        "import os\n\ndef discount(price, rate):\n    return price * rate * os.cpu_count()\n",
    ),
    "looks-at-caller": SurfaceRule(
        "looks at who calls it",
        "import sys\n\ndef discount(price, rate):\n    return price * rate if sys._getframe(1) else price\n",
        "import sys\n\ndef discount(price, rate):\n    return min(price * rate, sys.maxsize)\n",
    ),
    "defines-equality": SurfaceRule(
        "defines what counts as equal or true",
        "class Price(float):\n    def __eq__(self, other):\n        return True or self or other\n\n" + BEFORE,
        "class Price(float):\n    def __add__(self, other):\n        return Price(float(self) + other)\n\n" + MENDED,
    ),
    "unreadable": SurfaceRule(
        "cannot be read as Python, so that nothing is known of it",
        "def discount(price, rate:\n    return price * rate\n",
    ),
}
