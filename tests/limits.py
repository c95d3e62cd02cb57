"""Limits of this process, lowered or raised for as long as a block runs."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def limited(what: int, most: int) -> Iterator[None]:
    """With this soft limit, such as `resource.RLIMIT_FSIZE`; afterwards it is as before."""
    before = resource.getrlimit(what)
    resource.setrlimit(what, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)


@contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """No more than so many files can be opened."""
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    with limited(resource.RLIMIT_NOFILE, free + count):
        yield
