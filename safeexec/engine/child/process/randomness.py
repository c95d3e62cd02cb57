"""The seeds of a child's generators of random numbers. Another child with the same entropy has the same numbers."""

from __future__ import annotations

import os
import sys
from typing import Any

from safeexec.engine.child.process import determinism
from safeexec.protocol.messages import ENTROPY_BYTES

_MT_WORDS = 624
"""The state of a Mersenne Twister."""


def begin(fixed: int | None) -> bytes:
    """Give every loaded generator a seed of this session's own; with `fixed`, the same one in every session. Returns
    the entropy that it came from, if any.

    The zygote forks without the hook with which `random` would have seeded itself (`linux.fork`).
    """
    if fixed is not None:
        determinism.begin(fixed)
        return b""
    entropy = os.urandom(ENTROPY_BYTES)
    seed(entropy)
    return entropy


def seed(entropy: bytes) -> None:
    """Seed every loaded generator."""
    python: Any = sys.modules.get("random")
    if python is None:
        return
    python.seed(entropy)
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is not None:
        # Its `seed()` makes this state of fewer bytes, which costs a child another 50 pages.
        words = memoryview(python.Random(entropy + b"numpy").randbytes(4 * _MT_WORDS)).cast("I")
        numpy.set_state(("MT19937", words, _MT_WORDS))
    sympy: Any = sys.modules.get("sympy.core.random")
    if sympy is not None:
        sympy.seed(entropy + b"sympy")
