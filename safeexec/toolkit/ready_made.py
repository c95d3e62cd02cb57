"""Ready-made tools. Each is a function of the host, so it is the host's network, files and people that it reaches.

What guest code names (a URL, a path) is hostile input: it is judged before anything is opened, and opened as judged.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import os
import socket
import stat
import threading
from collections.abc import Callable, Collection, Iterable
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from safeexec.common.text import printable
from safeexec.engine.host.tools.tool import TIMEOUT_ATTRIBUTE
from safeexec.errors import ToolError
from safeexec.untrusted.source_text import charset_of, has_many_marks

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_REDIRECTING = frozenset({301, 302, 303, 307, 308})
_REDIRECTS = 5
"""That are followed."""
_LONGEST_URL = 8192
_LONGEST_HOST = 300
"""Characters of a host and its port: 253 are a name's."""
_READ_OF_TYPE = 200
"""Characters of a content type that are looked at."""


def limited(function: Callable[..., Any], *, timeout: float) -> Callable[..., Any]:
    """Return `function` as a tool with a deadline of its own in seconds, beside the policy's `tools.timeout_seconds`.

    A function that blocks runs in a thread, so that the step goes on (with a TimeoutError in guest code) although the
    function does not return; the thread ends when it does.
    """
    if not timeout > 0:
        raise ToolError(f"a tool's timeout must be more than 0 s, not {timeout!r}")
    tool = functools.update_wrapper(functools.partial(function), function)
    setattr(tool, TIMEOUT_ATTRIBUTE, float(timeout))
    return tool


# The network


def http_get(
    *,
    allow: Collection[str],
    max_bytes: int = 1 << 20,
    timeout: float = 10.0,
    headers: dict[str, str] | None = None,
    private: bool = False,
) -> Callable[..., dict[str, Any]]:
    """Return a tool ``http_get(url)`` that fetches from the hosts in `allow` and from nowhere else.

    `allow` holds host names (``api.example.com``), with a port where it is not 80 or 443 (``localhost:8080``), or
    ``*.example.com`` for every name below one. At most `max_bytes` of a body are read, in at most `timeout` seconds.
    `headers` (a key, for instance) are sent along, unseen by guest code, to https and to allowed hosts only. A name is
    resolved once and that address is connected to; addresses that are not public are refused unless `private`. A
    redirect leads at most to the same host. Environment proxies are not used. Needs httpx.
    """
    if isinstance(allow, str) or not allow:
        raise ToolError("http_get(allow=[...]) needs the names of the hosts that may be reached")
    rules = _Hosts(allow)
    sent = dict(headers or {})

    def http_get(url: str, as_bytes: bool = False) -> dict[str, Any]:
        """Fetch a URL with GET: a dict with `status`, `url`, `content_type`, and `text` or, for what is no text and
        with `as_bytes`, `content` (bytes). `pd.read_csv(url)`, urllib and requests fetch by it, too.

        Only the hosts that the application allows can be reached. Raises PermissionError for another one, ValueError
        for a body that is too large, ConnectionError and TimeoutError.
        """
        deadline = monotonic() + timeout
        for _ in range(_REDIRECTS + 1):
            target = rules.check(url)
            answer = _fetch(target, sent, max_bytes, deadline, private, as_bytes)
            if answer["status"] not in _REDIRECTING or not answer.get("location"):
                return answer
            url = _redirected(url, answer["location"])
        raise ConnectionError(f"more than {_REDIRECTS} redirects")

    return http_get


class _Target(NamedTuple):
    """One URL, judged: where to connect, and what to ask for."""

    url: str
    scheme: str
    host: str
    port: int


class _Hosts:
    """The hosts that may be reached."""

    def __init__(self, allow: Iterable[str]) -> None:
        self._rules: set[tuple[str, int | None]] = set()
        """Names, some for all below them (``*.example.com``), and ports; None: that of the scheme."""
        for entry in allow:
            parts = urlsplit(f"//{entry}")
            if not parts.hostname or parts.path or parts.query or "@" in entry:
                raise ToolError(f"http_get(allow=…): {entry!r} is not a host, nor host:port")
            self._rules.add((parts.hostname, parts.port))

    def check(self, url: str) -> _Target:
        """Return the parts of an allowed URL. Raises ValueError for no URL, PermissionError for another host."""
        _check_length(url)
        if any(ord(character) <= 32 or ord(character) == 127 for character in url) or "\\" in url:
            raise ValueError(f"not a URL: {url[:200]!r}")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or len(parts.netloc) > _LONGEST_HOST:
            raise ValueError(f"not an http or https URL: {url[:200]!r}")
        if parts.username is not None or parts.password is not None:
            raise PermissionError("a URL with a user or a password is refused")
        host = parts.hostname
        try:
            host = (host if host.isascii() else host.encode("idna").decode("ascii")).rstrip(".")
        except UnicodeError:
            raise ValueError(f"not a host name: {host[:200]!r}") from None
        usual = 443 if parts.scheme == "https" else 80
        port = parts.port or usual
        if not any(
            (host == name or (name.startswith("*.") and host.endswith(name[1:])))
            and port == (usual if allowed is None else allowed)
            for name, allowed in self._rules
        ):
            raise PermissionError(f"{host}:{port} may not be reached from here; allowed: {self}")
        return _Target(url, parts.scheme, host, port)

    def __str__(self) -> str:
        return ", ".join(sorted(name if port is None else f"{name}:{port}" for name, port in self._rules))


def _check_length(url: str) -> None:
    """Raise ValueError for a URL that takes long to read, before anything reads it: no deadline would end that."""
    if len(url) > _LONGEST_URL or has_many_marks(url):
        raise ValueError(f"not a URL, or too long: {url[:200]!r}")


def _redirected(url: str, location: str) -> str:
    """Return where a redirect leads. Raises PermissionError when that is another host, or from https to http."""
    from urllib.parse import urljoin

    _check_length(location)
    target = urljoin(url, location)
    before, after = urlsplit(url), urlsplit(target)
    if (before.hostname, before.port) != (after.hostname, after.port) or (before.scheme, after.scheme) == (
        "https",
        "http",
    ):
        raise PermissionError(f"a redirect from {before.netloc} to {after.scheme}://{after.netloc} is not followed")
    return target


def _address(host: str, port: int, private: bool, deadline: float) -> str:
    """Return the address to connect to: resolved once, so that a second answer of the name server cannot lead
    elsewhere. In a thread, for the resolver has a patience of its own.
    """
    from ipaddress import ip_address

    from safeexec.engine.host.tools.blocking_tools import run_in_thread

    resolve = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        found = run_in_thread(resolve, max(0.0, deadline - monotonic()))
    except TimeoutError:
        raise TimeoutError(f"{host} was not resolved in time") from None
    except OSError as error:
        raise ConnectionError(f"{host} cannot be resolved: {error.strerror or error}") from None
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if private or _is_public(ip_address(address.partition("%")[0])):
            return address
    raise PermissionError(f"{host} leads to an address that is not public ({addresses[0]})")


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is of the Internet: not of this machine, its network, a cloud's metadata service."""
    from ipaddress import IPv6Address, ip_address

    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address.teredo is not None:
            inner = address.teredo[1]
        if address.packed[:12] == bytes.fromhex("0064ff9b0000000000000000"):  # NAT64
            inner = ip_address(address.packed[12:])  # type: ignore[assignment]
        if inner is not None and not _is_public(inner):
            return False
    return address.is_global and not address.is_multicast


def _fetch(
    target: _Target, headers: dict[str, str], max_bytes: int, deadline: float, private: bool, as_bytes: bool
) -> dict[str, Any]:
    """Make one request, to exactly the address that was judged, and return the response."""
    try:
        import httpx
    except ImportError:
        raise RuntimeError("http_get needs httpx: pip install httpx") from None

    address = _address(target.host, target.port, private, deadline)
    parts = urlsplit(target.url)
    literal = f"[{address}]" if ":" in address else address
    url = parts._replace(netloc=f"{literal}:{target.port}", fragment="").geturl()
    usual = target.port == (443 if target.scheme == "https" else 80)
    sent = {"accept-encoding": "identity", **headers, "host": target.host if usual else f"{target.host}:{target.port}"}
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("the request took too long")
    try:
        with (
            _Deadline(left) as end,
            # Certificates are checked against the name, although the address is connected to.
            httpx.Client(timeout=left, follow_redirects=False, trust_env=False) as client,
            client.stream(
                "GET", url, headers=sent, extensions={"sni_hostname": target.host, "trace": end.watch}
            ) as response,
        ):
            coding = response.headers.get("content-encoding", "identity")
            if coding != "identity":
                # A few KiB can be gigabytes, and httpx unpacks a whole piece before anybody can look at its size.
                raise ValueError(f"the answer is packed ({coding[:50]}), although that was not asked for")
            body = bytearray()
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > max_bytes:
                    raise ValueError(f"the answer has more than {max_bytes} bytes")
            if end.passed:
                raise TimeoutError("the request took too long")
            return _answer(target.url, response, bytes(body), as_bytes)
    except httpx.TimeoutException:
        raise TimeoutError(f"{target.host} did not answer in time") from None
    except httpx.HTTPError as error:
        if end.passed:
            raise TimeoutError(f"{target.host} did not answer in time") from None
        raise ConnectionError(f"{target.host}: {error}") from None


class _Deadline:
    """Ends the connection of one request after so many seconds, whatever goes on in it.

    httpx's own timeouts are per read: a server that sends a byte of a header now and then would hold the caller for as
    long as it likes.
    """

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def watch(self, event: str, info: dict[str, Any]) -> None:
        """Learn which socket the request uses (httpx's trace extension); TLS wraps it into another one."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
            if self.passed:
                self._end()

    def _end(self) -> None:
        with self._lock:
            self.passed = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)


def _answer(url: str, response: Any, body: bytes, as_bytes: bool) -> dict[str, Any]:
    kind = response.headers.get("content-type", "")
    answer: dict[str, Any] = {"status": response.status_code, "url": url, "content_type": kind}
    media = kind.partition(";")[0].strip().lower()
    is_text = media.startswith("text/") or media.endswith(("json", "xml", "javascript")) or not media
    if is_text and not as_bytes:
        # httpx would have any codec that the server names, and reads a header of many parts in quadratic time.
        named = kind[:_READ_OF_TYPE].lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
        answer["text"] = body.decode(charset_of(named) or "utf-8", "replace")
    else:
        answer["content"] = body
    if response.status_code in _REDIRECTING:
        answer["location"] = response.headers.get("location", "")
    return answer


# People


def ask_human(*, input: Callable[[str], str] | None = None, timeout: float = 600.0) -> Callable[[str], str]:
    """Return a tool ``ask_human(question)``: the question goes to `input` (default: the terminal), its answer to guest
    code.

    Control characters of the question are taken out: they could move the cursor of a terminal, or pretend to be the
    host.
    """

    def ask_human(question: str) -> str:
        """Ask the person at the keyboard a question and wait for the answer."""
        shown = printable(question)[:2000]
        return builtins.input(f"The program asks: {shown}\n> ") if input is None else input(shown)

    return limited(ask_human, timeout=timeout)


# Files


def read_host_file(*, root: str | os.PathLike[str], max_bytes: int = 1 << 20) -> Callable[[str], str | bytes]:
    """Return a tool ``read_host_file(path)`` that reads regular files below `root`, by relative path; text where it is
    UTF-8.

    Symbolic links are followed as long as they stay below `root`; sockets, devices and FIFOs are refused. At most
    `max_bytes` are read. Raises `ToolError` now if `root` is not a directory.
    """
    base = os.path.realpath(root)
    if not os.path.isdir(base):
        raise ToolError(f"read_host_file(root={str(root)!r}): not a directory")

    def read_host_file(path: str) -> str | bytes:
        """Read a file of the application, by its relative path. Text comes as str, anything else as bytes.

        Raises PermissionError outside of the application's directory, FileNotFoundError, ValueError for a file too
        large.
        """
        with _open_below(base, path) as file:
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise ValueError(f"{path} has more than {max_bytes} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    return read_host_file


_MAX_PATH = 4095
"""Characters of a path (PATH_MAX). `realpath` takes quadratic time: ten seconds for 640,000."""


def _open_below(base: str, path: str) -> IO[bytes]:
    """Open a regular file that lies below `base`, its links followed, and check that it is the one that was opened."""
    if "\0" in path or os.path.isabs(path):
        raise PermissionError(f"{path!r} is not a path relative to the application's directory")
    if len(path) > _MAX_PATH:
        raise PermissionError(f"a path of {len(path)} characters is too long: the most is {_MAX_PATH}")
    real = os.path.realpath(os.path.join(base, path))
    if not real.startswith(base + os.sep):
        raise PermissionError(f"{path!r} leads out of the application's directory")
    try:
        # Non-blocking: opening a FIFO would wait for its writer.
        fd = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise type(error)(f"{path}: {error.strerror}") from None
    opened = os.path.realpath(f"/proc/self/fd/{fd}")
    if not stat.S_ISREG(os.fstat(fd).st_mode) or not opened.startswith(base + os.sep):
        os.close(fd)
        raise PermissionError(f"{path!r} is not a regular file of the application")
    return os.fdopen(fd, "rb")
