"""The conversation between host and child: which message may be sent by whom, and when.

`Conversation` is the host's place in it, one for each child and each frozen checkpoint. A message that the tables do
not allow is a `ProtocolError`, whoever sent it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.framing import HEADER, FrameReader, encode

STARTING: Final = "starting"
"""The process is new, or was told to wake: it will say `Ready`."""
IDLE: Final = "idle"
"""It waits for a request."""
RUNNING: Final = "running"
"""It runs a step."""
CALLING: Final = "calling"
"""Its step waits for a host tool."""
DELIVERING: Final = "delivering"
"""Its step waits for a host tool, and was asked for the arguments of the call."""
ANSWERING: Final = "answering"
"""It was asked something that is no step."""
FREEZING: Final = "freezing"
"""A copy that is still to be made, or to say `Frozen`."""
FROZEN: Final = "frozen"
"""A copy that waits: it can be resumed."""
RESUMED: Final = "resumed"
"""A process that a copy has forked: it waits for `Wake`."""
ENDED: Final = "ended"
"""A command that has ended."""

FROM_HOST: Final[dict[tuple[str, type], str]] = {
    (IDLE, m.Execute): RUNNING,
    (IDLE, m.Invoke): RUNNING,
    (IDLE, m.Install): RUNNING,
    (IDLE, m.Proceed): RUNNING,
    (IDLE, m.Query): RUNNING,
    (IDLE, m.Compile): RUNNING,
    (CALLING, m.ToolReply): RUNNING,
    (CALLING, m.Deliver): DELIVERING,
    (IDLE, m.Fetch): ANSWERING,
    (IDLE, m.Assign): ANSWERING,
    (IDLE, m.Remove): ANSWERING,
    (IDLE, m.Repeat): ANSWERING,
    (IDLE, m.ListNames): ANSWERING,
    (IDLE, m.Describe): ANSWERING,
    (IDLE, m.Freeze): ANSWERING,
    (IDLE, m.Deliver): ANSWERING,
    (IDLE, m.Save): ANSWERING,
    (IDLE, m.Load): ANSWERING,
    (IDLE, m.SelfTest): ANSWERING,
    (FROZEN, m.Resume): FROZEN,
    (RESUMED, m.Wake): STARTING,
}
FROM_CHILD: Final[dict[tuple[str, type], str]] = {
    (STARTING, m.Ready): IDLE,
    (IDLE, m.Exited): ENDED,
    (RUNNING, m.StepDone): IDLE,
    (RUNNING, m.ToolRequest): CALLING,
    (RUNNING, m.Progress): RUNNING,
    (RUNNING, m.Shown): RUNNING,
    (DELIVERING, m.Done): CALLING,
    (ANSWERING, m.Fetched): IDLE,
    (ANSWERING, m.Names): IDLE,
    (ANSWERING, m.Described): IDLE,
    (ANSWERING, m.Saved): IDLE,
    (ANSWERING, m.Tested): IDLE,
    (ANSWERING, m.Done): IDLE,
    (FREEZING, m.Frozen): FROZEN,
}

_from_child = msgspec.msgpack.Decoder(m.FromChild)


class Conversation:
    """The host's place in the conversation with one child, and the bytes not yet read from it."""

    __slots__ = ("_reader", "state")

    def __init__(self, state: str = STARTING, cap: int = m.CHILD_FRAME_BYTES, token: bytes = b"") -> None:
        self.state = state
        self._reader = FrameReader(cap, token)

    def send(self, message: msgspec.Struct) -> bytes:
        """Return the frame for `message`. Raises `ProtocolError` if it is not the host's turn to send it."""
        try:
            self.state = FROM_HOST[self.state, type(message)]
        except KeyError:
            raise ProtocolError(f"{type(message).__name__} may not be sent while the child is {self.state}") from None
        payload = encode(message)
        return HEADER.pack(len(payload)) + payload  # as `frame` without a token: a call less in each step

    def receive(self, data: bytes) -> list[m.FromChild]:
        """Return the messages that `data` completes, each checked against schema and table. Raises `ProtocolError`."""
        received: list[m.FromChild] = []
        for payload in self._reader.feed(data):
            try:
                message = _from_child.decode(payload)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ProtocolError(f"a message that cannot be read: {error}") from None
            try:
                self.state = FROM_CHILD[self.state, type(message)]
            except KeyError:
                raise ProtocolError(f"{type(message).__name__} came while the child was {self.state}") from None
            received.append(message)
        return received
