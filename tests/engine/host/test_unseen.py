"""Memory and files that no look at a process would tell of: a broken-out guest cannot hold any."""

from __future__ import annotations

import pytest

from safeexec import Session
from safeexec.protocol.printed import PYTHON_AT

pytestmark = pytest.mark.profile("confined-python")


def test_memory_without_a_file_is_private_and_a_file_is_mapped_for_reading_alone(session: Session) -> None:
    """What was given back of memory is gone, and not kept by the kernel for those who might share it."""
    session.run("import mmap\nm = mmap.mmap(-1, 1 << 20)\nm[:4] = b'data'").check()
    assert session.run("m[:4], m.madvise(mmap.MADV_DONTNEED), m[:4]").value == (b"data", None, bytes(4))
    kinds = "isinstance(m, mmap.mmap), mmap.mmap(-1, 4096, access=mmap.ACCESS_READ)[:1]"
    assert session.run(kinds).value == (True, b"\0")
    # A store into shared memory changes no time of the file, by which the host would know what to undo.
    assert session.run(MAPS).check().value == ([b"ok\0\0"] * 3 + [b"\0\0my"], b"ok\0\0")
    for how in ("", ", access=mmap.ACCESS_WRITE", ", access=mmap.ACCESS_DEFAULT", ", mmap.MAP_SHARED, mmap.PROT_WRITE"):
        refused = session.run(f"mmap.mmap(f, 0{how})").error
        assert refused is not None and refused.type == "OSError"
        assert "no file is written to through memory here" in refused.message
    far = session.run(f"file.truncate({PYTHON_AT} + 1)")
    assert "File too large" in str(far.error), "where a file may be shared, no file of a guest begins"
    opened = session.run("open('/dev/zero', 'r+b')").outcome  # which mapped shared is memory without a file, too
    assert opened in ("error", "violation"), "absent from a root of its own, refused in the host's"


MAPS = """
import mmap
file = open('f', 'w+b', buffering=0)
file.write(bytes(4096))
f = file.fileno()
seen = [mmap.mmap(f, 0, access=mmap.ACCESS_READ), mmap.mmap(f, 0, prot=mmap.PROT_READ)]
seen.append(mmap.mmap(f, 4096, mmap.MAP_SHARED, mmap.PROT_READ))
own = [mmap.mmap(f, 0, access=mmap.ACCESS_COPY), mmap.mmap(f, 0, mmap.MAP_PRIVATE)]
for memory in own: memory[2:4] = b'my'
file.seek(0); file.write(b'ok')
[memory[:4] for memory in seen + own[:1]], open('f', 'rb').read(4)
"""


SIZES = """
for option in socket.SO_SNDBUF, socket.SO_RCVBUF:
    size = a.getsockopt(socket.SOL_SOCKET, option)
    for asked in 1, 4 << 20:
        a.setsockopt(socket.SOL_SOCKET, option, asked)
        assert a.getsockopt(socket.SOL_SOCKET, option) == size
"""


def test_what_a_socket_holds_stays_small(session: Session) -> None:
    """A descriptor that is sent is refused; the size of a buffer, for which trio asks, stays."""
    session.run(f"import socket\na, b = socket.socketpair()\n{SIZES}").check()
    result = session.run("socket.send_fds(a, [b'x'], [0])")
    assert result.outcome == "violation" and result.error is not None
    assert "send_fds" in result.error.message


AROUND = """
import asyncio, os, shutil, socket
with open('a', 'wb') as file: os.posix_fallocate(file.fileno(), 0, 100_000)
shutil.copyfile('a', 'b')
async def talk():
    one, other = socket.socketpair()
    reader, held = await asyncio.open_connection(sock=one)
    unread, writer = await asyncio.open_connection(sock=other)
    writer.writelines([b'one', b'two'])
    return await reader.readexactly(6)
os.path.getsize('b'), asyncio.run(talk())
"""


def test_libraries_go_other_ways_round_what_is_refused(session: Session) -> None:
    result = session.run(AROUND).check()
    assert result.value == (100_000, b"onetwo") and not result.refusals


def test_record_locks_are_bounded_and_those_of_which_nobody_tells_the_holder_are_unknown_here(session: Session) -> None:
    """Each is memory of the kernel. What honest programs hold is far below."""
    session.run("import fcntl\nfiles = [open(f'f{number}', 'w+') for number in range(8)]").check()
    locks = "for file in files: fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * at)"
    session.run(f"def lock(count):\n    for at in range(count):\n        {locks}").check()
    assert session.run("lock(10)").ok
    result = session.run("while True: lock(4000)", timeout=120)
    assert result.outcome == "violation" and result.error is not None
    assert "10,000 locks" in result.error.message
    # One of a file (F_OFD_SETLK) stays as long as the file is mapped, and names no process.
    session.run("import fcntl, struct\nfile = open('f', 'w+')").check()
    whole = "struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)"
    result = session.run(f"fcntl.fcntl(file, fcntl.F_OFD_SETLK, {whole})")
    assert result.error is not None and "Invalid argument" in result.error.message
    assert session.run(f"len(fcntl.fcntl(file, fcntl.F_SETLK, {whole}))").value == 32
