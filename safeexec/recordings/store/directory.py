"""A directory as a store: one directory a session, with a file for each part, and a lock that the kernel frees.

    <directory>/<tenant>/<label>/lock  000001.jsonl  000002.state  000002.jsonl

Who has the lock owns the session. The kernel frees it when its process is dead, however it died, and not before: a host
that is only slow, or stopped, keeps its sessions, and an error names its process. End that process to take
them over. On a file system of a network that gives a lock to another machine all the same, the number in the lock file,
which each owner counts up and each append looks at, refuses the old owner.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from time import time_ns
from urllib.parse import quote, unquote

from msgspec import Struct

from safeexec.common.text import one_line
from safeexec.errors import SessionTaken, StoreError
from safeexec.recordings.store.interface import (
    WAITS,
    WAITS_BYTES,
    Claim,
    StoredSession,
    StoreOptions,
    TenantRoom,
    check_label,
)

PIECE = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MARK = 20
"""Digits of the number of an owner."""


class _Handle(Struct, eq=False):
    """The open files of one session."""

    directory: int
    lock: int
    mark: bytes


class DirectoryStore:
    """Sessions in a directory of this machine."""

    def __init__(self, options: StoreOptions) -> None:
        self.options = options
        self._lock = threading.Lock()
        self._handles: set[_Handle] = set()
        self._room = TenantRoom(self)
        path = os.path.join(os.path.abspath(os.fspath(options.at)), _name_of(options.tenant))
        try:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            self._top = os.open(path, _DIRECTORY)
        except OSError as error:
            raise StoreError(f"{path!r} can be no store: {error.strerror}") from None
        self.path = path

    def claim(self, label: str) -> Claim:
        check_label(label)
        name = _name_of(label)
        handle: _Handle | None = None
        try:
            while handle is None:  # it was removed meanwhile: a new one takes its place
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=self._top)
                directory = os.open(name, _DIRECTORY, dir_fd=self._top)
                try:
                    handle = self._owned(label, directory)
                finally:
                    if handle is None:
                        os.close(directory)
        except OSError as error:
            raise self._failed(label, error) from None
        with self._lock:
            self._handles.add(handle)
        parts = {}
        with os.scandir(directory) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                if entry.name != "lock" and stat.S_ISREG(info.st_mode):
                    parts[entry.name] = info.st_size
        return Claim(label, int(handle.mark), parts, handle)

    def _owned(self, label: str, directory: int) -> _Handle | None:
        """Take the lock, and count its owners. None where the directory is no longer the session's."""
        lock = _opened("lock", os.O_RDWR | os.O_CREAT, directory)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _, _, who = os.pread(lock, 300, 0).decode("utf-8", "replace").strip().partition(" ")
                raise SessionTaken(
                    f"the session {label!r} is open elsewhere: {one_line(who, 200)}; "
                    "close it there, or end that process"
                ) from None
            if os.fstat(lock).st_nlink == 0:  # opened before its owner removed the session: a lock on no name
                os.close(lock)
                return None
            before = os.pread(lock, _MARK, 0).strip()
            # Zeros, where the machine has lost its power: then a number that no owner before has had.
            number = int(before or b"0") if before.isdigit() or not before else time_ns()
            mark = b"%0*d" % (_MARK, (number + 1) % 10**_MARK)
            os.pwrite(lock, mark + f" process {os.getpid()} of {socket.gethostname()}\n".encode(), 0)
            return _Handle(directory, lock, mark)
        except BaseException:
            os.close(lock)
            raise

    def release(self, claim: Claim) -> None:
        handle: _Handle = claim.handle
        with self._lock:
            if handle not in self._handles:
                return
            self._handles.discard(handle)
        _close(handle)

    def append(self, claim: Claim, part: str, at: int, data: bytes, *, sync: bool = False) -> None:
        if data:
            self._room.check()
        try:
            self._check_owner(claim)
            _append(claim.handle.directory, part, at, data, sync)
            self._check_owner(claim)  # a file system of a network may have given the lock away meanwhile
        except OSError as error:
            raise self._failed(claim.label, error) from None

    def _check_owner(self, claim: Claim) -> None:
        handle: _Handle = claim.handle
        if handle.lock < 0 or os.pread(handle.lock, _MARK, 0) != handle.mark:
            raise SessionTaken(f"another process has taken over the session {claim.label!r}")

    def read(self, claim: Claim, part: str) -> Iterator[bytes]:
        handle: _Handle = claim.handle
        try:
            fd = _opened(part, os.O_RDONLY, handle.directory)
            try:
                while piece := os.read(fd, PIECE):
                    yield piece
            finally:
                os.close(fd)
        except OSError as error:
            raise self._failed(claim.label, error) from None

    def list(self) -> Iterator[StoredSession]:
        with os.scandir(self._top) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False) or _name_of(unquote(entry.name)) != entry.name:
                    continue
                with suppress(OSError):  # removed meanwhile
                    ones = list(os.scandir(os.path.join(self.path, entry.name)))
                    infos = [one.stat(follow_symlinks=False) for one in ones]
                    used = max((info.st_mtime for info in infos), default=0.0)
                    waits = self._waits(entry.name) if any(one.name == WAITS for one in ones) else b""
                    yield StoredSession(unquote(entry.name), sum(info.st_size for info in infos), used, waits)

    def _waits(self, name: str) -> bytes:
        try:
            fd = _opened(os.path.join(self.path, name, WAITS), os.O_RDONLY)
        except OSError:
            return b""
        try:
            return os.read(fd, WAITS_BYTES)
        finally:
            os.close(fd)

    def remove(self, claim: Claim, part: str | None = None) -> None:
        handle: _Handle = claim.handle
        try:
            if part is not None:
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=handle.directory)
                return
            # The lock goes last, and with it the last name that leads here: whoever waits for it begins anew.
            name = _name_of(claim.label)
            for one in os.listdir(handle.directory):
                if one == "lock":
                    continue
                if stat.S_ISDIR(os.lstat(one, dir_fd=handle.directory).st_mode):
                    shutil.rmtree(one, dir_fd=handle.directory)
                else:
                    os.unlink(one, dir_fd=handle.directory)
            os.unlink("lock", dir_fd=handle.directory)
            with suppress(OSError):  # somebody has begun anew in it already
                os.rmdir(name, dir_fd=self._top)
        except OSError as error:
            raise self._failed(claim.label, error) from None
        self.release(claim)

    def close(self) -> None:
        with self._lock:
            handles, self._handles = self._handles, set()
            top, self._top = self._top, -1
        for handle in handles:
            _close(handle)
        if top >= 0:
            os.close(top)

    forget = close
    """A lock is its file's, which the other process has open, too: to close it here frees nothing."""

    @staticmethod
    def _failed(label: str, error: OSError) -> StoreError:
        return StoreError(f"the session {label!r} cannot be stored: {error.strerror or error}")


def _opened(name: str, flags: int, directory: int | None = None) -> int:
    """Open a regular file, and nothing else. Raises OSError."""
    fd = os.open(name, flags | _FILE, 0o600, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(0, f"{name!r} is no regular file")
    return fd


def _append(directory: int, part: str, at: int, data: bytes, sync: bool) -> None:
    fd = _opened(part, os.O_WRONLY | os.O_CREAT, directory)
    try:
        if not (size := os.fstat(fd).st_size):
            os.fsync(directory)  # the name, too, is to outlive a loss of power
        if size > at:
            os.ftruncate(fd, at)  # what the owner before wrote in part
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.pwrite(fd, rest, at + len(data) - len(rest)) :]
        except OSError:
            os.ftruncate(fd, at)
            raise
        if sync:
            os.fdatasync(fd)  # with the size, without which the bytes could not be read, and no times
    finally:
        os.close(fd)


def _close(handle: _Handle) -> None:
    lock, handle.lock = handle.lock, -1
    os.close(lock)
    os.close(handle.directory)


def _name_of(label: str) -> str:
    """Return a directory's name for a label, which `unquote` gives back: nothing in it but letters, digits and `%`."""
    name = quote(label, safe="").replace(".", "%2E")
    if len(name) > os.pathconf("/", "PC_NAME_MAX"):
        raise ValueError(f"label={label[:40]!r}: as the name of a directory it has {len(name)} bytes, and 255 can be")
    return name
