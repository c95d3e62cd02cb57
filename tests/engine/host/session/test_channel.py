"""Channels that nobody closes: whoever had one was interrupted, or out of memory."""

from __future__ import annotations

import os

from safeexec.engine.host.session.channel import Channel, new_control


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
