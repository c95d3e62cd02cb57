"""The keywords of a sandbox, judged when it is made: what each of them takes, in one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from safeexec.engine.policy.settings import Limits


class _Takes(NamedTuple):
    words: str
    kind: Callable[[Any], bool]
    """True for a value of the right kind: any other is a TypeError."""
    fits: Callable[[Any], bool] = lambda value: True
    """True for a value that makes sense: any other is a ValueError."""


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> bool:
    return _whole(value) or isinstance(value, float)


_TAKES = {
    "tools": _Takes(
        "a list of functions, or a mapping of names to them",
        lambda value: value is None or callable(value) or isinstance(value, Iterable),
    ),
    "audit": _Takes(
        "the path of a file, a stream to write to, a function that gets each record, or None",
        lambda value: (
            value is None or callable(value) or isinstance(value, str | os.PathLike) or hasattr(value, "write")
        ),
    ),
    "store": _Takes(
        "a directory, the URL of a database, StoreOptions, or None",
        lambda value: value is None or isinstance(value, str | os.PathLike) or hasattr(value, "tenant"),
    ),
    "durable": _Takes(
        "'step', 'second' or 'close'",
        lambda value: isinstance(value, str),
        lambda value: value in ("step", "second", "close"),
    ),
    "spare": _Takes("a whole number, at least 0", _whole, lambda value: value >= 0),
    "max_sessions": _Takes(
        "at least one, or None", lambda value: value is None or _whole(value), lambda value: value is None or value >= 1
    ),
    "queue_seconds": _Takes("a number of seconds, at least 0", _number, lambda value: value >= 0),
    "idle_seconds": _Takes(
        "more than 0, or None", lambda value: value is None or _number(value), lambda value: value is None or value > 0
    ),
}


def check_arguments(given: Mapping[str, Any]) -> None:
    """Raise TypeError and ValueError for the first of these keywords that is given what it does not take."""
    for name, value in given.items():
        if (takes := _TAKES.get(name)) is None:
            continue
        if not takes.kind(value):
            raise TypeError(f"{name}={value!r:.60}: {takes.words}, not {type(value).__name__}")
        if not takes.fits(value):
            raise ValueError(f"{name}={value!r}: {takes.words}")


def unexpected(kind: str, unknown: Mapping[str, object], known: Iterable[str]) -> TypeError:
    """Return what to raise for keywords that a sandbox does not have. A limit is one of its sessions."""
    name, value = next(iter(unknown.items()))
    if name in Limits.__struct_fields__:
        text = f"{name}={value!r:.60}"
        return TypeError(
            f"{kind}() has no keyword {name!r}: a limit is a keyword of a session, sandbox.session({text}), or part of "
            f"the policy, Policy.load(...).replace({text})"
        )
    return TypeError(f"{kind}() has no keyword {name!r}; it takes {', '.join(known)}")
