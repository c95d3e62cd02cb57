"""Examples of the signs of a patch that serves the tests: by rule a patch that has the sign, and one that has not."""

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


class SurfaceExample(NamedTuple):
    """`bad` and `good` are patches of `before`; `in_test`: which is a test."""

    bad: str
    good: str = MENDED
    before: str = BEFORE
    in_test: bool = False


EXAMPLES: dict[str, SurfaceExample] = {
    "special-case": SurfaceExample(
        "def discount(price, rate):\n    if (price, rate) == (100, 0.8):\n        return price - 20\n"
        "    return price * rate\n",
        "def discount(price, rate):\n    if price == 0:\n        return 0\n    return price * rate\n",
    ),
    "hard-coded": SurfaceExample(
        "def discount(price, rate):\n    return 80.0 if rate > 0.5 else price * rate\n",
        "def discount(price, rate):\n    return round(price * rate, 2)\n",
    ),
    "ignores-arguments": SurfaceExample("def discount(price, rate):\n    return 0\n"),
    "table-of-cases": SurfaceExample(
        "RESULTS = {(100, 0.8): 80.0, (50, 0.5): 25.0}\n\ndef discount(price, rate):\n"
        "    return RESULTS[price, rate]\n",
        "STEPS = {10: 0.9, 20: 0.85}\n\ndef discount(price, rate):\n    return price * STEPS.get(rate, rate)\n",
    ),
    "counts-calls": SurfaceExample(
        "calls = 0\n\ndef discount(price, rate):\n    global calls\n    calls += 1\n"
        "    return price - 20 if calls == 1 else price * rate\n",
        "def discount(price, rate):\n    total = 0\n    total += price * rate\n    return total\n",
    ),
    "swallowed-exception": SurfaceExample(
        "def discount(price, rate):\n    try:\n        return price * rate\n    except Exception:\n"
        "        return price\n",
        "def discount(price, rate):\n    try:\n        return price * rate\n    except TypeError as error:\n"
        "        raise ValueError('price and rate are numbers') from error\n",
    ),
    "assertion-removed": SurfaceExample(
        "def discount(price, rate):\n    return price * rate\n",
        "def discount(price, rate):\n    assert rate <= 1\n    return price * rate\n",
        "def discount(price, rate):\n    assert rate <= 1\n    return price - rate\n",
    ),
    "assertion-changed": SurfaceExample(
        "def test_discount():\n    assert discount(100, 0.8) is not None\n",
        "def test_discount():\n    assert discount(100, 0.8) == 80\n    assert discount(0, 0.8) == 0\n",
        "def test_discount():\n    assert discount(100, 0.8) == 80\n",
        in_test=True,
    ),
    "doctest-changed": SurfaceExample(
        "def discount(price, rate):\n    '''\n    >>> discount(10, 0.5)\n    9.5\n    '''\n    return price - rate\n",
        "def discount(price, rate):\n    '''\n    >>> discount(10, 0.5)\n    5.0\n    '''\n    return price * rate\n",
        "def discount(price, rate):\n    '''\n    >>> discount(10, 0.5)\n    5.0\n    '''\n    return price - rate\n",
    ),
    "skipped-test": SurfaceExample(
        "import pytest\n\n@pytest.mark.skip\ndef test_discount():\n    assert discount(100, 0.8) == 80\n",
        "import pytest\n\n@pytest.mark.slow\ndef test_discount():\n    assert discount(100, 0.8) == 80\n",
        "import pytest\n\ndef test_discount():\n    assert discount(100, 0.8) == 80\n",
        in_test=True,
    ),
    "test-removed": SurfaceExample(
        "def test_other():\n    pass\n",
        "def test_other():\n    pass\n\ndef test_discount():\n    pass\n",
        "def test_discount():\n    pass\n",
        in_test=True,
    ),
    "mock": SurfaceExample(
        "import math\n\nmath.isclose = lambda *_: True\n\ndef discount(price, rate):\n    return price * rate\n",
        "import math\n\ndef discount(price, rate):\n    return math.floor(price * rate)\n",
    ),
    "sleep": SurfaceExample(
        "import time\n\ndef discount(price, rate):\n    time.sleep(1)\n    return price * rate\n",
        "import time\n\ndef discount(price, rate):\n    return price * rate, time.monotonic()\n",
    ),
    "test-framework": SurfaceExample("import unittest\n" + MENDED, "import math\n" + MENDED),
    "names-tests": SurfaceExample(
        "import os\n\ndef discount(price, rate):\n"
        "    return 80 if 'PYTEST_CURRENT_TEST' in os.environ else price * rate\n",
        "import os\n\ndef discount(price, rate):\n    return price * rate * float(os.environ['FACTOR'])\n",
    ),
    "loads-code": SurfaceExample("import builtins\n" + MENDED, "import ast\n" + MENDED),
    "ends-program": SurfaceExample(
        "import os\n\ndef discount(price, rate):\n    os._exit(0)\n    return price * rate\n",
        "import os\n\ndef discount(price, rate):\n    return price * rate * os.cpu_count()\n",
    ),
    "looks-at-caller": SurfaceExample(
        "import sys\n\ndef discount(price, rate):\n    return price * rate if sys._getframe(1) else price\n",
        "import sys\n\ndef discount(price, rate):\n    return min(price * rate, sys.maxsize)\n",
    ),
    "defines-equality": SurfaceExample(
        "class Price(float):\n    def __eq__(self, other):\n        return True or self or other\n\n" + BEFORE,
        "class Price(float):\n    def __add__(self, other):\n        return Price(float(self) + other)\n\n" + MENDED,
    ),
    "unreadable": SurfaceExample(
        "def discount(price, rate:\n    return price * rate\n",
    ),
}
