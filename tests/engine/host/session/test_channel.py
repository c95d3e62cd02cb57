"""One process's socket as the host reads it: a message that comes byte by byte still meets its deadline."""

from __future__ import annotations

import os
from time import monotonic

import pytest

from safeexec.engine.host.session.channel import SEAL, Channel, Gone, new_control
from safeexec.engine.host.waiting import Wait, drive
from safeexec.errors import ProtocolError


def test_a_message_that_trickles_meets_its_deadline() -> None:
    channel, theirs = Channel.pair()
    with theirs:
        receiving = channel.receive(monotonic() - 1)
        assert isinstance(next(receiving), Wait)
        theirs.send(b"\x01")
        with pytest.raises(StopIteration) as end:
            receiving.send(True)
        assert end.value.value is None
        assert channel.pid == os.getpid(), "who sent it is the kernel's word"
    channel.close()


@pytest.mark.parametrize(
    ("size", "sealed", "payload"),
    [(b"\xff\xff\xff\xff", True, b""), (b"\x03\x00\x00\x00", True, b"abc"), (b"\x01\x00\x00\x00", True, b"\x91"),
     (b"\x03\x00\x00\x00", False, b"abc")],
)  # fmt: skip
def test_what_is_no_message_is_an_error_of_the_protocol(size: bytes, sealed: bool, payload: bytes) -> None:
    channel, theirs = Channel.pair()
    with theirs:
        theirs.send(size + (SEAL if sealed else b"") + payload)
        with pytest.raises(ProtocolError):
            drive(channel.receive(monotonic() + 30))
    channel.close()


def test_an_end_that_is_closed_is_gone() -> None:
    channel, theirs = Channel.pair()
    theirs.close()
    with pytest.raises(Gone):
        drive(channel.receive(monotonic() + 30))
    channel.close()


def test_a_channel_that_is_dropped_leaves_no_descriptor() -> None:
    """Out of memory, or interrupted, its owner may never come to close it."""
    channel, theirs = Channel.pair()
    with theirs:
        theirs.send(b"\x01")
        channel.read_if_ready()
        pidfd = channel.pidfd
        assert os.readlink(f"/proc/self/fd/{pidfd}") == "anon_inode:[pidfd]"
        channel.socket.close()
        del channel
        assert not os.path.exists(f"/proc/self/fd/{pidfd}")


def test_a_channel_that_is_dropped_leaves_the_socket_to_who_has_it() -> None:
    """Whoever made it for a socket of their own was interrupted before it was kept, and makes another."""
    ours, theirs = new_control()
    with ours, theirs:
        Channel(ours)
        theirs.send(b"\x01")
        channel = Channel(ours)
        channel.read_if_ready()
        assert channel.pid == os.getpid()
        channel.close()
