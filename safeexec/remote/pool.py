"""Several servers as one: each session lives on one of them, and a new one goes where there is most room.

A call that no server has begun is made again elsewhere, or later where all are full; one that may have begun is made
again nowhere but there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any

from safeexec.errors import ProtocolError, SandboxClosed
from safeexec.remote.calls import WAIT_SECONDS, Asked
from safeexec.remote.http import HttpWire


class Pool:
    """Servers of the same policies and one token, by address. A session's identity begins with its server's number."""

    def __init__(self, urls: Sequence[str], token: str | None) -> None:
        """Raises ValueError for what is no address of a server, and for none at all. Nothing is sent yet."""
        if not urls:
            raise ValueError("connect needs the address of a server, and the list has none")
        self._token = token
        self._urls = list(urls)
        self._wires = [HttpWire(url, token) for url in urls]
        self._numbers = {str(number): number for number in range(len(urls))}
        self._loads = [0] * len(urls)
        """Sessions and calls of ours at each server."""
        self._sessions: set[str] = set()
        """Those that are counted there, by their identities: a session may be closed twice."""
        self._lock = threading.Lock()
        self._closed = False
        self._owner = os.getpid()

    @property
    def alive(self) -> bool:
        return not self._closed and os.getpid() == self._owner

    def ask(self, method: str, params: dict[str, Any]) -> Asked:
        if not self.alive:
            raise SandboxClosed("the connection is closed")
        identity = params.get("session")
        if identity is None:
            asked = Asked()
            worker = threading.Thread(target=self._anywhere, args=(asked, method, params), daemon=True)
            worker.start()
            return asked
        server, _, own = str(identity).partition("-")
        number = self._numbers[server]
        if method == "session.close":
            self._left(number, str(identity))
        return self._wires[number].ask(method, {**params, "session": own}, partial(_AtServer, self, number))

    def _anywhere(self, asked: Asked, method: str, params: dict[str, Any]) -> None:
        """Make the call at the servers in turn, the one with most room first, until one has begun it."""
        deadline = monotonic() + WAIT_SECONDS
        while True:
            pauses = []
            for number in sorted(range(len(self._wires)), key=lambda index: self._loads[index]):
                tried = _AtServer(self, number)
                self._count(number, 1)
                try:
                    self._wires[number].call(tried, method, params)
                finally:
                    self._count(number, -1)
                    tried.close()
                if tried.again is None:
                    asked.take(tried)
                    return
                pauses.append(tried.again)
            # Where none can be reached that is the answer at once; a full one may have room later.
            pause = max(pauses)
            if not pause or monotonic() + pause > deadline or not asked.waits(pause, self):
                asked.take(tried)
                return

    def named(self, number: int, answer: Any) -> Any:
        """An answer of server `number`, with its new sessions under the names that they have here."""
        if not isinstance(answer, dict):
            return answer
        if isinstance(own := answer.get("session"), str):
            return {**answer, "session": self._entered(number, own)}
        if isinstance(sessions := answer.get("sessions"), list):
            return {**answer, "sessions": [self._entered(number, own) for own in sessions]}
        return answer

    def _entered(self, number: int, own: Any) -> str:
        """The identity here of a session of server `number`, which is counted from now on."""
        identity = f"{number}-{own}"
        with self._lock:
            if identity not in self._sessions:
                self._sessions.add(identity)
                self._loads[number] += 1
        return identity

    def _left(self, number: int, identity: str) -> None:
        with self._lock:
            if identity in self._sessions:
                self._sessions.remove(identity)
                self._loads[number] -= 1

    def _count(self, number: int, more: int) -> None:
        with self._lock:
            self._loads[number] += more

    def lose(self, error: Exception, asked: Asked | None = None) -> None:
        """The server of `asked` cannot be relied on: what is under way there fails, later calls reach it anew."""
        if not isinstance(asked, _AtServer):
            raise ProtocolError(f"no server has answered in time: {error}")
        lost, self._wires[asked.number] = self._wires[asked.number], HttpWire(self._urls[asked.number], self._token)
        lost.lose(error)

    def close(self) -> None:
        self._closed = True
        for wire in self._wires:
            wire.close()


class _AtServer(Asked):
    """A call at one server of a pool."""

    def __init__(self, pool: Pool, number: int) -> None:
        super().__init__()
        self.number = number
        self._pool = pool

    def finish(self, answer: Any) -> None:
        super().finish(self._pool.named(self.number, answer))
