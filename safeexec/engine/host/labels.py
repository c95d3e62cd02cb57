"""Sessions that are asked for by a label alone: one for each, however many ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from safeexec.engine.host.waiting import BRIEF_SECONDS, Core, Wait
from safeexec.errors import PolicyError

if TYPE_CHECKING:
    from safeexec.engine.host.session.session import SessionCore


class Labels:
    """The sessions of one sandbox that were asked for so. From any thread."""

    __slots__ = ("_asked", "_beginning", "_lock", "_sessions")

    def __init__(self) -> None:
        self._sessions: dict[str, SessionCore] = {}
        self._asked: dict[str, Mapping[str, Any]] = {}
        """The keywords that each was opened with."""
        self._beginning: set[str] = set()
        """The labels for which one is being opened."""
        self._lock = threading.Lock()

    def session(
        self, label: str, asked: Mapping[str, Any], begin: Callable[[], Core[SessionCore]]
    ) -> Core[SessionCore]:
        """Return the open session of this label; else a new one, which `begin` opens for all who ask meanwhile.

        `asked`: what the policy is tightened by. Raises `PolicyError` where the open one was opened otherwise: a limit
        that is asked for must hold.
        """
        if not isinstance(label, str) or not label:
            raise ValueError(f"label={label!r}: a text that says whose session it is")
        while True:
            with self._lock:
                found = self._sessions.get(label)
                if found is not None and not found.closed:
                    if asked and asked != self._asked[label]:
                        raise PolicyError(_differs(label, asked, self._asked[label]))
                    return found
                if label not in self._beginning:
                    self._beginning.add(label)
                    break
            yield Wait((), monotonic() + BRIEF_SECONDS)
        try:
            session = yield from begin()
            self._sessions[label], self._asked[label] = session, asked
            return session
        finally:
            self._beginning.discard(label)

    def open_session(self, label: str) -> SessionCore | None:
        """Return the session of this label, if there is one."""
        return self._sessions.get(label)

    def lead_to(self, session: SessionCore) -> bool:
        """Tell whether whoever asks for the label of this session gets it."""
        return session.label is not None and self._sessions.get(session.label) is session

    def closed(self, session: SessionCore) -> None:
        """The next one who asks for its label gets another session."""
        if session.label is not None and self.lead_to(session):
            del self._sessions[session.label], self._asked[session.label]


def _differs(label: str, asked: Mapping[str, Any], opened: Mapping[str, Any]) -> str:
    def shown(keywords: Mapping[str, Any]) -> str:
        return ", ".join(f"{name}={value!r:.60}" for name, value in keywords.items()) or "none of its own"

    return (
        f"the session of {label!r} is open with other keywords than {shown(asked)}: {shown(opened)}; ask for it "
        "without keywords, or close it first"
    )
