"""Retry rules: after which failures a model is asked again, and after how long. No clock, sleep or network."""

from __future__ import annotations

import random
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from safeexec.agent.errors import ModelUnavailable

TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


_MAX_HEADER = 100
"""Characters of a header that are read: a date has thirty."""


class Transient(Exception):
    """An attempt failed in a way that another one may mend. `retry_after` is the wait that the server asks for, in
    seconds. After one that does not count the next is made at once: the cause is gone.
    """

    def __init__(self, reason: str, retry_after: float | None = None, *, counts: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        self.counts = counts


@dataclass(frozen=True, slots=True)
class RetryRules:
    """`attempts` in all; waits double from `first_wait` up to `longest_wait` seconds, with a quarter of jitter.

    A server that asks for a longer wait than `longest_wait` ends the attempts: it would not answer earlier.
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def wait(self, failure: Transient, attempt: int, model: str) -> float:
        """Return the seconds until the attempt after number `attempt`, from 1. Raises ModelUnavailable at the last."""
        if attempt >= self.attempts:
            times = "once" if attempt == 1 else f"{attempt} times"
            raise ModelUnavailable(f"{model}: {failure.reason} (tried {times})", attempts=attempt)
        if failure.retry_after is not None:
            if failure.retry_after > self.longest_wait:
                raise ModelUnavailable(
                    f"{model}: {failure.reason}; the server asks to wait {failure.retry_after:.0f} s, "
                    f"more than the {self.longest_wait:.0f} s that are allowed",
                    attempts=attempt,
                )
            return max(0.0, failure.retry_after)
        wait = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        return wait * random.uniform(0.75, 1.0)


DEFAULT_RULES = RetryRules()


def retry_after_seconds(milliseconds: str | None, seconds: str | None, now: float) -> float | None:
    """Return the wait that the headers `retry-after-ms` and `Retry-After` (number or HTTP date) ask for."""
    for value, scale in ((milliseconds, 0.001), (seconds, 1.0)):
        if value is None:
            continue
        value = value[:_MAX_HEADER]
        try:
            wait = float(value) * scale
        except ValueError:
            try:
                wait = parsedate_to_datetime(value).timestamp() - now
            except (TypeError, ValueError, IndexError, OverflowError):
                continue
        if wait == wait:  # not NaN
            return max(0.0, wait)
    return None
