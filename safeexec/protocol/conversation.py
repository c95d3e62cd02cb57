"""The conversation between host and child: which message may be sent by whom, and when; and its bytes, cut into frames.
No sockets here.

`Conversation` is the host's place in it, one for each child and each frozen checkpoint. A message that the tables do
not allow is a `ProtocolError`, whoever sent it.

A frame is a four-byte little-endian length, the token, then that many bytes of one msgpack message. The length is
checked against a cap before anything is allocated for it. Only the messages of a child have a token: random bytes that
the host has sent to its process. Guest code can make C code of a library write to the control socket (``image.save`` to
an object whose `fileno` is 3), but it does not know the token.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Final

import msgspec

from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m

_encoder = msgspec.msgpack.Encoder()
encode = _encoder.encode

HEADER = Struct("<I")
MAX_FRAME = 64 << 20
"""Bytes of the largest frame either side accepts. Larger values travel through a memfd."""


class TooMuch(ProtocolError):
    """A stranger sent more than may be read: bytes, items, or what takes too long to read."""


def frame(payload: bytes, token: bytes = b"") -> bytes:
    """Return one frame around `payload`."""
    return HEADER.pack(len(payload)) + token + payload


class FrameReader:
    """Cuts a byte stream into payloads. `feed` returns the complete ones; the rest waits for more bytes."""

    __slots__ = ("_buffer", "_cap", "_head", "_token")

    def __init__(self, cap: int = MAX_FRAME, token: bytes = b"") -> None:
        self._buffer = bytearray()
        self._cap = cap
        self._token = token
        self._head = HEADER.size + len(token)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads that `data` completes.

        Raises `ProtocolError` as soon as a header announces more than the cap, or has another token.
        """
        head = self._head
        if not self._buffer and len(data) >= head:
            # The usual case: one whole frame in one read; nothing is copied twice.
            (size,) = HEADER.unpack_from(data)
            if size == len(data) - head and size <= self._cap and data[HEADER.size : head] == self._token:
                return [data[head:]]
        self._buffer += data
        payloads = []
        while len(self._buffer) >= HEADER.size:
            (size,) = HEADER.unpack_from(self._buffer)
            # As much of it as has come: a wrong magic fails at its first byte, not at a whole head.
            if not self._token.startswith(self._buffer[HEADER.size : head]):
                raise ProtocolError("bytes came on its socket that are none of the sandbox's messages")
            if size > self._cap:
                raise TooMuch(f"a frame of {size} bytes was announced; {self._cap} are allowed")
            if len(self._buffer) < head + size:
                break
            with memoryview(self._buffer) as whole, whole[head : head + size] as part:
                payloads.append(bytes(part))
            del self._buffer[: head + size]
        return payloads


STARTING: Final = "starting"
"""The process is new, or resumes: it will say `Ready`."""
IDLE: Final = "idle"
"""It waits for a request."""
RUNNING: Final = "running"
"""It runs a step."""
CALLING: Final = "calling"
"""Its step waits for a host tool."""
DELIVERING: Final = "delivering"
"""Its step waits for a host tool, and was asked for the arguments of the call."""
ANSWERING: Final = "answering"
"""It was sent a command that is no step."""
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


@cache
def _decoder() -> msgspec.msgpack.Decoder[m.FromChild]:
    """Return the decoder of what a child says. Made for the first conversation: 3 ms, which no zygote needs."""
    return msgspec.msgpack.Decoder(m.FromChild)


class Conversation:
    """The host's place in the conversation with one child, and the bytes not yet read from it."""

    __slots__ = ("_decoder", "_reader", "state")

    def __init__(self, state: str = STARTING, cap: int = m.CHILD_FRAME_BYTES, token: bytes = b"") -> None:
        self.state = state
        self._reader = FrameReader(cap, token)
        self._decoder = _decoder()

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
                message = self._decoder.decode(payload)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ProtocolError(f"a message that cannot be read: {error}") from None
            try:
                self.state = FROM_CHILD[self.state, type(message)]
            except KeyError:
                raise ProtocolError(f"{type(message).__name__} came while the child was {self.state}") from None
            received.append(message)
        return received
