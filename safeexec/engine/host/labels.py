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

    __slots__ = ("_beginning", "_lock", "_open")

    def __init__(self) -> None:
        self._open: dict[str, tuple[SessionCore, Mapping[str, Any]]] = {}
        """Each with the keywords that it was opened with."""
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
                session, opened = self._open.get(label, (None, {}))
                if session is not None and not session.closed:
                    if asked and asked != opened:
                        raise PolicyError(
                            f"the session of {label!r} is open with other keywords than {_shown(asked)}: "
                            f"{_shown(opened)}; ask for it without keywords, or close it first"
                        )
                    return session
                if label not in self._beginning:
                    self._beginning.add(label)
                    break
            yield Wait((), monotonic() + BRIEF_SECONDS)
        try:
            session = yield from begin()
            self._open[label] = session, asked
            return session
        finally:
            self._beginning.discard(label)

    def open_session(self, label: str | None) -> SessionCore | None:
        """Return the session of this label, if there is one: whoever asks for the label gets it."""
        return self._open.get(label or "", (None, {}))[0]

    def closed(self, session: SessionCore) -> None:
        """Take the label from a session that was closed: the next caller for it gets another one."""
        if session.label is not None and self.open_session(session.label) is session:
            del self._open[session.label]


def _shown(keywords: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r:.60}" for name, value in keywords.items()) or "none of its own"
