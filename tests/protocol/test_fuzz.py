"""Two hundred thousand damaged messages and values: each is read, or is one ProtocolError, in bounded time and memory.

`SAFEEXEC_FUZZ_FRAMES` and `SAFEEXEC_FUZZ_SEED` make longer and different runs.
"""

from __future__ import annotations

import os
import random

from safeexec.errors import ProtocolError
from safeexec.protocol.conversation import ANSWERING, IDLE, PARKING, RUNNING, STARTING, Conversation, FrameReader, frame
from safeexec.protocol.values import decode, encode
from tests.protocol.damage import INTERESTING, damaged, seeds_of_messages, seeds_of_values

FRAMES = int(os.environ.get("SAFEEXEC_FUZZ_FRAMES", "200000"))
SEED = int(os.environ.get("SAFEEXEC_FUZZ_SEED", "20240229"))
CAP = 1 << 16
SEAL = bytes(range(8))


def test_damaged_values() -> None:
    random_ = random.Random(SEED)
    seeds = seeds_of_values()
    read = refused = 0
    for number in range(FRAMES // 2):
        data = damaged(random_, seeds)
        try:
            value = decode(data, arrays=number % 2 == 0)
        except ProtocolError:
            refused += 1
            continue
        read += 1
        if number % 8 == 0:
            # What was read is an ordinary value: it can be shown and sent again.
            encode(value, max_bytes=1 << 20, max_depth=200, arrays=True)
    assert read and refused and read + refused == FRAMES // 2


def test_damaged_messages() -> None:
    """Whatever a child sends, the host's side of the conversation hears messages or raises ProtocolError."""
    random_ = random.Random(SEED + 1)
    seeds = seeds_of_messages()
    states = (STARTING, IDLE, RUNNING, ANSWERING, PARKING)
    heard = refused = 0
    for _ in range(FRAMES // 4):
        conversation = Conversation(random_.choice(states), CAP, SEAL)
        try:
            heard += len(conversation.receive(frame(damaged(random_, seeds), SEAL)))
        except ProtocolError:
            refused += 1
    assert heard and refused


def test_damaged_streams() -> None:
    """Frames in pieces of any size: the reader gives back what was framed, or refuses an announced length."""
    random_ = random.Random(SEED + 2)
    seeds = seeds_of_messages()
    for _ in range(FRAMES // 4 // 10):
        payloads = [random_.choice(seeds) for _ in range(10)]
        stream = bytearray(b"".join(frame(payload, SEAL) for payload in payloads))
        broken = random_.random() < 0.5
        if broken:
            stream[random_.randrange(len(stream))] = random_.choice(INTERESTING)
        reader, got, at = FrameReader(CAP, SEAL), [], 0
        try:
            while at < len(stream):
                size = random_.choice((1, 3, 4, 50, len(stream)))
                got += reader.feed(bytes(stream[at : at + size]))
                at += size
        except ProtocolError:
            assert broken
            continue
        assert broken or got == payloads
