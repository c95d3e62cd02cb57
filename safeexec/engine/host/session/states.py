"""The states of a session, and what may follow each: one table, as `protocol.conversation` has one for messages.

A call moves the session from `IDLE` to `ASKING` or `STEPPING` and back. A call that is cut off in between (Ctrl-C, a
cancelled task) leaves the state as it stands; the next one sees by it what has to be put in order first.
"""

from __future__ import annotations

from typing import Final

NEW: Final = "new"
"""It has had no process yet."""
IDLE: Final = "idle"
"""Its process waits for a request."""
ASKING: Final = "asking"
"""Its process was asked something, or told of a change: the answer has to be taken in."""
STEPPING: Final = "stepping"
"""Its process was given a step that is neither part of the session yet nor undone."""
RESTING: Final = "resting"
"""It needs no process until its next use: a new one will be in the same state."""
LOST: Final = "lost"
"""It has no process: the state that it is in has to be brought back."""
CLOSED: Final = "closed"
"""Nothing is held any more."""

FOLLOWS: Final[dict[str, frozenset[str]]] = {
    NEW: frozenset({IDLE, CLOSED}),
    IDLE: frozenset({ASKING, STEPPING, LOST, CLOSED}),
    ASKING: frozenset({IDLE, LOST, CLOSED}),
    STEPPING: frozenset({IDLE, LOST, CLOSED}),
    LOST: frozenset({IDLE, RESTING, LOST, CLOSED}),
    RESTING: frozenset({LOST, CLOSED}),
    CLOSED: frozenset(),
}
