"""Memory and files that no look at a process would tell of: a broken-out guest cannot hold any."""

from __future__ import annotations

import pytest

from safeexec import Session

pytestmark = pytest.mark.profile("confined-python")


def test_a_standard_stream_reserves_no_memory_beyond_its_end(session: Session) -> None:
    session.run("import ctypes; libc = ctypes.CDLL(None, use_errno=True)").check()
    reserve = "[libc.fallocate(fd, 1, ctypes.c_long(300 << 20), ctypes.c_long(200 << 20)) for fd in (1, 2)]"
    assert session.run(reserve).value == [-1, -1]


def test_memory_without_a_file_is_private(session: Session) -> None:
    """What was given back of it is gone, and not kept by the kernel for those who might share it."""
    result = session.run(
        "import mmap\n"
        "m = mmap.mmap(-1, 1 << 20)\n"
        "m[:4] = b'data'\n"
        "before = m[:4]\n"
        "m.madvise(mmap.MADV_DONTNEED)\n"
        "before, m[:4], isinstance(m, mmap.mmap), mmap.mmap(-1, 4096, access=mmap.ACCESS_READ)[:1]"
    )
    assert result.value == (b"data", bytes(4), True, b"\0")


def test_shared_memory_without_a_file_is_refused_as_if_there_were_none_left(session: Session) -> None:
    session.run("import ctypes, errno; libc = ctypes.CDLL(None, use_errno=True); libc.mmap.restype = ctypes.c_long")
    ask = "libc.mmap(0, 4096, 3, 0x21, -1, 0), errno.errorcode[ctypes.get_errno()]"
    assert session.run(ask).value == (-1, "ENOMEM")
    opened = session.run("open('/dev/zero', 'r+b')").outcome  # which mapped shared is the same
    assert opened in ("error", "violation"), "absent from a root of its own, refused in the host's"


def test_a_file_is_mapped_shared_as_everywhere(session: Session) -> None:
    result = session.run(
        "import mmap\n"
        "with open('f', 'w+b') as file:\n"
        "    file.truncate(4096)\n"
        "    with mmap.mmap(file.fileno(), 4096) as m: m[:2] = b'ok'\n"
        "open('f', 'rb').read(2)"
    )
    assert result.value == b"ok"


@pytest.mark.parametrize(
    ("call", "source"),
    [
        ("sendmsg", "socket.send_fds(a, [b'x'], [0])"),
        ("setsockopt", "a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)"),
        ("setsockopt", "a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)"),
    ],
)
def test_what_a_socket_holds_stays_small(session: Session, call: str, source: str) -> None:
    result = session.run(f"import socket\na, b = socket.socketpair()\n{source}")
    assert result.outcome == "violation" and result.error is not None
    assert call in result.error.message


def test_libraries_go_other_ways_round_what_is_refused(session: Session) -> None:
    result = session.run(
        "import asyncio, os, shutil, socket\n"
        "with open('a', 'wb') as file: os.posix_fallocate(file.fileno(), 0, 100_000)\n"
        "shutil.copyfile('a', 'b')\n"
        "async def talk():\n"
        "    one, other = socket.socketpair()\n"
        "    reader, held = await asyncio.open_connection(sock=one)\n"
        "    unread, writer = await asyncio.open_connection(sock=other)\n"
        "    writer.writelines([b'one', b'two'])\n"
        "    return await reader.readexactly(6)\n"
        "os.path.getsize('b'), asyncio.run(talk())"
    )
    assert result.value == (100_000, b"onetwo"), result.error
    assert not result.refusals
