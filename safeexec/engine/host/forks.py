"""What becomes of open sandboxes when the host forks: in the new process they are lost, and say so.

Two processes that speak to one zygote would take each other's answers; and closing one's copy must not end the other's
children. gunicorn, uvicorn with workers, Celery and multiprocessing fork like this.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgets(Protocol):
    """Something that belongs to the process that made it."""

    def forget(self) -> None:
        """Close this process's copies of all descriptors, and no more. For a process that was just forked."""
        ...


_open: weakref.WeakSet[Forgets] = weakref.WeakSet()


def forget_in_forks(thing: Forgets) -> None:
    """Have `thing` forget itself in processes that are forked from now on."""
    _open.add(thing)


def _forget_all() -> None:
    for thing in list(_open):
        thing.forget()
    _open.clear()


os.register_at_fork(after_in_child=_forget_all)
