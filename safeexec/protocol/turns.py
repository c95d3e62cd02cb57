"""Which message may be sent by whom, and when: one table for the conversation between host and child, and the object
that holds a place in it.

No sockets here. `Conversation` turns messages into frames and bytes into messages; a message that the table does not
allow is a `ProtocolError`, whoever sent it. The host drives one `Conversation` per child and per parked checkpoint.
"""

from __future__ import annotations

from typing import Final

import msgspec

from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.framing import FrameReader, frame

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
PARKING: Final = "parking"
"""A copy that is still to be made, or to say `Parked`."""
PARKED: Final = "parked"
"""A copy that waits: it can be thawed."""
THAWED: Final = "thawed"
"""A process that a copy has forked: it waits for `Wake`."""
ENDED: Final = "ended"
"""A command that has ended."""

HOST_SAYS: Final[dict[tuple[str, type], str]] = {
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
    (PARKED, m.Thaw): PARKED,
    (THAWED, m.Wake): STARTING,
}
CHILD_SAYS: Final[dict[tuple[str, type], str]] = {
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
    (PARKING, m.Parked): PARKED,
}

_encoder = msgspec.msgpack.Encoder()
encode = _encoder.encode
_from_child = msgspec.msgpack.Decoder(m.FromChild)


class Conversation:
    """The host's place in the conversation with one child, and the bytes not yet read from it."""

    __slots__ = ("_reader", "state")

    def __init__(self, state: str = STARTING, cap: int = m.CHILD_FRAME_BYTES, seal: bytes = b"") -> None:
        self.state = state
        self._reader = FrameReader(cap, seal)

    def say(self, message: msgspec.Struct) -> bytes:
        """The frame for `message`. Raises `ProtocolError` if it is not the host's turn to say it."""
        try:
            self.state = HOST_SAYS[self.state, type(message)]
        except KeyError:
            raise ProtocolError(f"{type(message).__name__} may not be sent while the child is {self.state}") from None
        return frame(encode(message))

    def hear(self, data: bytes) -> list[m.FromChild]:
        """The messages that `data` completes, each checked against schema and table. Raises `ProtocolError`."""
        heard: list[m.FromChild] = []
        for payload in self._reader.feed(data):
            try:
                message = _from_child.decode(payload)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ProtocolError(f"a message that cannot be read: {error}") from None
            try:
                self.state = CHILD_SAYS[self.state, type(message)]
            except KeyError:
                raise ProtocolError(f"{type(message).__name__} came while the child was {self.state}") from None
            heard.append(message)
        return heard
