"""A saved session as a file: a header that the host wrote, and a payload that only a child ever unpickles.

    magic · length of the header · header (msgpack) · files · payload · SHA-256 of all that comes before

Unpickling is running code: whoever restores a state runs it, under the policy of the sandbox that it is restored in,
and held by the kernel. The sum shows a damaged file. (Files of before 0.10 have a keyed one, which nobody checks any
more.)
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from struct import Struct
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from safeexec.common.text import one_line
from safeexec.engine.host.files.tree import held, is_too_deep
from safeexec.errors import StateFileError, WorkspaceError

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.policy.model import Limits, Policy
    from safeexec.protocol import messages as m

MAGIC = b"safeexec-state-2\n"
_KEYED = b"safeexec-state-1\n"
"""The beginning of files of before 0.10."""
NAMES = 10_000
"""The most names in a header."""
_LENGTH = Struct("<Q")
_HEADER_CAP = 16 << 20
_SUM = 32
_CHUNK = 1 << 20


_MANY = msgspec.Meta(max_length=100_000)


class Header(msgspec.Struct, kw_only=True):
    """The description of the file in itself. `failed`: names that could not be saved, with the reason."""

    policy: str
    digest: str
    python: str
    libraries: Annotated[dict[str, str], _MANY] = {}
    names: Annotated[list[str], _MANY] = []
    failed: Annotated[dict[str, str], _MANY] = {}
    step: int = 0
    payload_bytes: int = 0
    files: Annotated[list[tuple[str, int]], _MANY] = []
    """Path in the workspace and size in bytes; the contents follow the header in this order."""
    modes: Annotated[list[int], _MANY] = []
    """The permissions of the files, in the same order."""
    directories: Annotated[list[str], _MANY] = []
    """The workspace's directories, each before what is in it."""
    waiting: bytes = b""
    """A step that waits for an answer, as a line of a recording."""


def header_of(
    answer: m.Saved,
    size: int,
    files: dict[str, os.stat_result],
    policy: Policy,
    digest: str,
    step: int,
    waiting: bytes = b"",
) -> tuple[Header, dict[str, str]]:
    """Return what a state file says of itself, and the names that are not in it. `size`: bytes that the child has
    written; `files`: those of the workspace, which lose the ones that no file can name; `digest`: of the sandbox's
    policy. Raises `StateFileError`.
    """
    failed = {name[:200]: reason[:500] for name, reason in list(answer.failed.items())[:NAMES]}
    # No more is written than a restore would take in, of files no more than is counted here.
    if min(answer.size, size) > (limit := policy.limits.memory_mb) << 21:
        raise StateFileError(
            f"the session could not be saved: its variables take {size >> 20} MiB, more than fit into a session "
            f"(limits.memory_mb is {limit})"
        )
    # `os` shows bytes that are not UTF-8 as lone surrogates, which no message can carry.
    for name in [name for name in files if name.encode("utf-8", "replace").decode() != name]:
        del files[name]
        failed[ascii(name)[:200]] = "the name of this file is not UTF-8"
    regular = {name: info for name, info in files.items() if stat.S_ISREG(info.st_mode)}
    header = Header(
        policy=policy.name,
        digest=digest,
        python=python_version(),
        libraries=dict(list(answer.libraries.items())[:50]),
        names=[name for name in answer.names[:NAMES] if name.isidentifier()],
        failed=failed,
        step=step,
        waiting=waiting,
        payload_bytes=min(answer.size, size),
        files=[(name, info.st_size) for name, info in regular.items()],
        modes=[info.st_mode & 0o777 for info in regular.values()],
        directories=[name for name, info in files.items() if stat.S_ISDIR(info.st_mode)],
    )
    return header, failed


class SavedState(NamedTuple):
    """A state as it was read: whole, checked against its header, and out of reach of whoever writes the file now."""

    header: Header
    files: int
    """A descriptor of the contents of the files, one after the other."""
    payload: int
    """A descriptor of the pickle, for a child."""
    head: bytes
    """The beginning of the file, up to the contents of the files."""
    sum: bytes

    def whole(self) -> bytes:
        """Return the file again, as it was read."""
        parts = [self.head]
        for fd in (self.files, self.payload):
            parts += _chunks(fd, 0, os.fstat(fd).st_size)
        return b"".join([*parts, self.sum])

    def size(self) -> int:
        """Return how many bytes are behind both descriptors."""
        return os.fstat(self.files).st_size + os.fstat(self.payload).st_size

    def close(self) -> None:
        """Close both descriptors, which frees what is behind them."""
        os.close(self.files)
        os.close(self.payload)


def target(path: str | os.PathLike[str]) -> str:
    """Return the file that a state saved to `path` will be, links followed. Raises `StateFileError` where something
    else is in its place: to rename a file over a device would replace the device.
    """
    real = os.path.realpath(os.fsdecode(path))
    try:
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        return real
    if not stat.S_ISREG(mode):
        raise StateFileError(f"{os.fsdecode(path)!r} is no regular file: a state cannot be saved to it")
    return real


def new_payload() -> int:
    """Return a file in memory for what a child saves of its variables, to be given to `free_payload`."""
    return os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def free_payload(fd: int) -> None:
    """Empty it: the child may have kept it, and no limit counts what it holds."""
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    os.ftruncate(fd, 0)
    os.close(fd)


def pieces(header: Header, open_file: Callable[[str], int], payload: int) -> Iterator[bytes]:
    """Yield a state as the bytes of its file, a piece at a time. `open_file` opens a file of the workspace; `payload`
    is a descriptor with the pickle. Raises `StateFileError`, OSError.
    """
    checksum = hashlib.sha256()
    encoded = msgspec.msgpack.encode(header)
    for piece in chain([MAGIC + _LENGTH.pack(len(encoded)) + encoded], _parts(header, open_file, payload)):
        checksum.update(piece)
        yield piece
    yield checksum.digest()


def _parts(header: Header, open_file: Callable[[str], int], payload: int) -> Iterator[bytes]:
    for name, size in header.files:
        with held(open_file(name)) as fd:
            yield from _chunks(fd, 0, size, f"the file {name!r} became shorter while it was saved")
    yield from _chunks(payload, 0, header.payload_bytes, "the saved state was cut off while it was read from the child")


def write(real: str, state: Iterable[bytes]) -> None:
    """Write `pieces` of a state to a file of `target`: it appears whole or not. Raises `StateFileError`, OSError."""
    directory = os.path.dirname(real)
    temporary = os.path.join(directory, f".{secrets.token_hex(8)}.safeexec")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
            out.writelines(state)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, real)
        with held(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
            os.fsync(fd)  # the name, too, is to outlive a loss of power
    except OSError as error:
        raise OSError(error.errno, error.strerror, real) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _chunks(fd: int, start: int, size: int, short: str = "") -> Iterator[bytes]:
    """Yield `size` bytes of a file from `start` on, a part at a time, or as many as there are. Raises `StateFileError`,
    where it says what it is that they are fewer: `short`.
    """
    done = 0
    while done < size and (chunk := os.pread(fd, min(_CHUNK, size - done), start + done)):
        yield chunk
        done += len(chunk)
    if short and done < size:
        raise StateFileError(short)


def read(path: str | os.PathLike[str], limits: Limits) -> SavedState:
    """Return a state whose parts the policy's limits have room for. A header says how large they are, and what is
    larger than that is not read.

    Raises `StateFileError` for a file that is no state, is damaged, comes from a newer version, or is too large.
    """
    shown = os.fsdecode(path)
    try:
        # O_NONBLOCK: a FIFO must not make the host wait for its writer.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise StateFileError(f"there is no file {shown!r}") from None
    except (OSError, ValueError) as error:
        raise StateFileError(f"{shown!r} cannot be read: {getattr(error, 'strerror', error)}") from None
    try:
        with held(fd):
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise StateFileError(f"{shown} is no regular file, and so no saved state")
            return _read(fd, info.st_size, limits, shown)
    except OSError as error:
        raise StateFileError(f"{shown} cannot be read: {error.strerror}") from None


def read_pieces(state: Iterable[bytes], limits: Limits, shown: str) -> SavedState:
    """Return a saved state that comes in pieces, checked as `read` does."""
    most = ((limits.workspace_mb + 2 * limits.memory_mb) << 20) + _HEADER_CAP + _CHUNK
    with open(os.memfd_create("state", os.MFD_CLOEXEC), "wb") as file:
        size = 0
        for piece in state:
            if (size := size + len(piece)) > most:
                raise StateFileError(f"{shown} is larger than any session of this policy may be")
            file.write(piece)
        file.flush()
        return _read(file.fileno(), size, limits, shown)


def _read(fd: int, size: int, limits: Limits, shown: str) -> SavedState:
    """Return the state in an open file of so many bytes."""
    head = os.pread(fd, len(MAGIC) + _LENGTH.size, 0)
    if not head.startswith((MAGIC, _KEYED)):
        if head.startswith(MAGIC.rstrip(b"2\n")):
            raise StateFileError(f"{shown} was written by a newer version of safeexec")
        raise StateFileError(f"{shown} is not a saved state")
    if size < len(MAGIC) + _LENGTH.size + _SUM or len(head) < len(MAGIC) + _LENGTH.size:
        raise StateFileError(f"{shown} is damaged: it ends inside its header")
    (length,) = _LENGTH.unpack_from(head, len(MAGIC))
    if length > min(_HEADER_CAP, size - len(head) - _SUM):
        raise StateFileError(f"{shown} is damaged: its header does not fit into it")
    encoded = os.pread(fd, length, len(head))
    try:
        header = msgspec.msgpack.decode(encoded, type=Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StateFileError(f"{shown} is damaged: {error}") from None
    sizes = [size for _, size in header.files]
    parts = [sum(sizes), header.payload_bytes]
    if any(part < 0 for part in (*sizes, *parts)) or len(head) + length + sum(parts) != size - _SUM:
        raise StateFileError(f"{shown} is damaged: its parts do not add up to its size")
    _check_room(parts, len(sizes) + len(header.directories), limits, shown)
    # A directory is made for each part of a path: with 16 MB of them that takes minutes.
    if deep := next((name for name in (*header.directories, *dict(header.files)) if is_too_deep(name)), None):
        raise StateFileError(f"{shown} is damaged: the path {ascii(deep)[:200]} is deeper than a workspace's may be")
    checksum = hashlib.sha256(head + encoded)
    place = len(head) + length
    with contextlib.ExitStack() as made:
        files = _copy(fd, place, parts[0], checksum.update, shown)
        made.callback(os.close, files)
        payload = _copy(fd, place + parts[0], parts[1], checksum.update, shown)
        made.callback(os.close, payload)
        found = os.pread(fd, _SUM, place + sum(parts))
        if head.startswith(MAGIC) and found != checksum.digest():
            raise StateFileError(f"{shown} is damaged: its sum is another one")
        made.pop_all()
    return SavedState(header, files, payload, head + encoded, found)


def _check_room(parts: list[int], files: int, limits: Limits, shown: str) -> None:
    # Text of one byte a character takes two in a pickle; nothing takes less memory than half of its pickle.
    most = [limits.workspace_mb << 20, limits.memory_mb << 21]
    for part, limit, what, name in zip(parts, most, ("files", "variables"), ("workspace_mb", "memory_mb"), strict=True):
        if part > limit:
            raise StateFileError(
                f"{shown} holds {part >> 20} MiB of {what}, more than fit into a session: "
                f"limits.{name} is {getattr(limits, name)}"
            )
    if files > limits.workspace_files:
        raise StateFileError(f"{shown} holds {files} files; limits.workspace_files is {limits.workspace_files}")


def _copy(fd: int, start: int, size: int, use: Callable[[bytes], object], shown: str) -> int:
    """Return a sealed memory file with part of a file, which `use` has seen. Nobody can change it any more."""
    copy = os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for chunk in _chunks(fd, start, size, f"{shown} became shorter while it was read"):
            use(chunk)
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(copy, rest) :]
        os.lseek(copy, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(copy)
        raise
    return copy


def put_back(workspace: Workspace, saved: SavedState, *, alone: bool = False) -> None:
    """Write the files of a state, whose names a foreign one may have chosen; `alone`: others that are there go. Raises
    `StateFileError`.
    """
    header, name = saved.header, ""
    try:
        if alone:
            workspace.restore({})
        os.lseek(saved.files, 0, os.SEEK_SET)
        for name in header.directories:
            workspace.make_directories(name)
        for (name, size), mode in zip(header.files, chain(header.modes, repeat(0o600)), strict=False):
            workspace.put_part(name, saved.files, size, mode)
    except (OSError, ValueError, WorkspaceError) as error:
        raise StateFileError(f"the file {ascii(name)[:200]} cannot be restored: {error}") from None


def check(header: Header, path: object) -> None:
    """Raise `StateFileError`, which says why, where this state cannot be restored here."""
    if header.python != python_version():
        raise StateFileError(
            f"{path} was saved by Python {one_line(header.python, 20)}; "
            f"this is {python_version()}, whose bytecode differs"
        )


def python_version() -> str:
    """Return major and minor version: bytecode, and so a pickled function, holds for one minor version."""
    return ".".join(platform.python_version_tuple()[:2])
