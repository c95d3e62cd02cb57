"""A saved session as a file: a header that the host wrote and signed, and a payload that only a child ever unpickles.

    magic · length of the header · header (msgpack) · files · payload · HMAC-SHA256 of all that comes before

Unpickling is running code. A signature says that this host's own children wrote the payload; without it the payload is
taken only by a policy that does not rely on the language layer, and only when the caller says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import platform
import secrets
from struct import Struct
from typing import TYPE_CHECKING, Annotated

import msgspec

from safeexec.errors import StateFileError, WorkspaceError

if TYPE_CHECKING:
    from safeexec.host.workspace import Workspace

MAGIC = b"safeexec-state-1\n"
_LENGTH = Struct("<Q")
_HEADER_CAP = 16 << 20
_SIGNATURE = 32
_CHUNK = 1 << 20


_MANY = msgspec.Meta(max_length=100_000)


class Header(msgspec.Struct, kw_only=True):
    """What the file says of itself. `failed`: names that could not be saved, with the reason."""

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


def signing_key() -> bytes:
    """The host's key: `SAFEEXEC_STATE_KEY` (hex), or one made at first use and kept where only the user can read it."""
    given = os.environ.get("SAFEEXEC_STATE_KEY")
    if given:
        try:
            key = bytes.fromhex(given)
        except ValueError:
            raise StateFileError("SAFEEXEC_STATE_KEY is not a hexadecimal number") from None
        if len(key) < 16:
            raise StateFileError("SAFEEXEC_STATE_KEY is too short: 32 hexadecimal digits at least")
        return key
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    path = os.path.join(base, "safeexec", "state.key")
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        pass
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fresh = secrets.token_bytes(32)
    temporary = f"{path}.{os.getpid()}.{secrets.token_hex(4)}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file:
        file.write(fresh)
    try:
        # link and not rename: of two processes that start at once, both use the key of the first.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)
    with open(path, "rb") as file:
        return file.read()


def write(path: str | os.PathLike[str], header: Header, files: list[bytes], payload: int, key: bytes) -> None:
    """Write a state file. `payload` is a descriptor with the pickle. The file appears whole or not at all. Raises
    OSError.
    """
    mac = hmac.new(key, digestmod=hashlib.sha256)
    encoded = msgspec.msgpack.encode(header)
    temporary = f"{os.fspath(path)}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:

            def put(data: bytes) -> None:
                mac.update(data)
                out.write(data)

            put(MAGIC + _LENGTH.pack(len(encoded)) + encoded)
            for content in files:
                put(content)
            done = 0
            while done < header.payload_bytes:
                chunk = os.pread(payload, min(_CHUNK, header.payload_bytes - done), done)
                if not chunk:
                    raise StateFileError("the saved state was cut off while it was read from the child")
                put(chunk)
                done += len(chunk)
            out.write(mac.digest())
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str], key: bytes) -> tuple[Header, list[bytes], int, bool]:
    """Header, contents of the workspace's files, a memfd with the payload, and whether the signature is this host's.

    Raises `StateFileError` for a file that is no state, is damaged, or comes from a newer version.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise StateFileError(f"there is no file {os.fspath(path)}") from None
    start = len(MAGIC) + _LENGTH.size
    if not data.startswith(MAGIC):
        if data.startswith(MAGIC.rstrip(b"1\n")):
            raise StateFileError(f"{os.fspath(path)} was written by a newer version of safeexec")
        raise StateFileError(f"{os.fspath(path)} is not a saved state")
    if len(data) < start + _SIGNATURE:
        raise StateFileError(f"{os.fspath(path)} is damaged: it ends inside its header")
    (length,) = _LENGTH.unpack_from(data, len(MAGIC))
    if length > min(_HEADER_CAP, len(data) - start - _SIGNATURE):
        raise StateFileError(f"{os.fspath(path)} is damaged: its header does not fit into it")
    try:
        header = msgspec.msgpack.decode(data[start : start + length], type=Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StateFileError(f"{os.fspath(path)} is damaged: {error}") from None
    body = start + length
    sizes = [size for _, size in header.files]
    if (
        any(size < 0 for size in (*sizes, header.payload_bytes))
        or body + sum(sizes) + header.payload_bytes != len(data) - _SIGNATURE
    ):
        raise StateFileError(f"{os.fspath(path)} is damaged: its parts do not add up to its size")
    view = memoryview(data)
    signed = hmac.compare_digest(hmac.new(key, view[:-_SIGNATURE], hashlib.sha256).digest(), view[-_SIGNATURE:])
    contents = []
    for size in sizes:
        contents.append(data[body : body + size])
        body += size
    fd = os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    rest = view[body : body + header.payload_bytes]
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return header, contents, fd, signed


def put_back(workspace: Workspace, header: Header, contents: list[bytes]) -> None:
    """Write the files of a state, whose names a foreign one may have chosen. Raises `StateFileError`."""
    for (name, _), content in zip(header.files, contents, strict=True):
        try:
            workspace.put(name, content)
        except (OSError, ValueError, WorkspaceError) as error:
            raise StateFileError(f"the file {ascii(name)[:200]} cannot be restored: {error}") from None


def check(header: Header, policy: str, digest: str, signed: bool, trust: str, mode: str, path: object) -> None:
    """Whether this state may be restored here. Raises `StateFileError` that says what to do instead."""
    if trust not in ("signed", "kernel-only"):
        raise ValueError(f"trust={trust!r}: it is 'signed' or 'kernel-only'")
    if not signed:
        if trust == "signed":
            raise StateFileError(
                f"{path} was not signed by this host (or was changed since): unpickling it is running its code. "
                'If you must, open it with trust="kernel-only", under a policy without a language layer'
            )
        if mode != "python":
            raise StateFileError(
                f"{path} is foreign, and the policy {policy!r} relies on its language layer, "
                "which a foreign state can undo; "
                "use a policy with `language: {mode: python}`, such as confined-python"
            )
    elif header.digest != digest and trust != "kernel-only":
        raise StateFileError(
            f"{path} was saved under another policy ({header.policy}, {header.digest[:12]}); "
            f"this is {policy} ({digest[:12]})"
        )
    if header.python != python_version():
        raise StateFileError(
            f"{path} was saved by Python {header.python}; this is {python_version()}, whose bytecode differs"
        )


def python_version() -> str:
    """Major and minor version: bytecode, and so a pickled function, holds for one minor version."""
    return ".".join(platform.python_version_tuple()[:2])
