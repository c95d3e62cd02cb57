"""The ready-made tools: what a guest names is judged before anything is opened, and opened as judged."""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from safeexec import Sandbox, ToolError, toolkit
from tests.alone import answering

httpx = pytest.importorskip("httpx", reason="httpx is not installed")


MARKS = "\u0301" * 8_000 + "\u0316" * 8_000
MOVED = {
    "/elsewhere": "http://example.com/",
    "/other-port": "http://127.0.0.1:1/",
    "/moved": "/here",
    "/loop": "/loop",
    "/marked": f"http://{MARKS}@localhost/".encode().decode("latin-1"),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.partition("?")[0]
        if name == "/big":
            self.answer(200, b"x" * 100_000, "text/plain")
        elif name == "/bytes":
            self.answer(200, b"\x00\xff", "application/octet-stream")
        elif name in MOVED:
            self.answer(302, b"", location=MOVED[name])
        elif name == "/named":
            self.answer(200, b"caf\xe9-kva", f"text/plain; {unquote(self.path.partition('?')[2])}")
        elif name == "/packed":
            self.answer(200, gzip.compress(bytes(10_000)), content_encoding="gzip")
        elif name.startswith("/drip"):
            self.drip(name)
        elif name == "/slow":
            self.server.release.wait(60)  # type: ignore[attr-defined]
            self.answer(200, b"late")
        else:
            sent = self.headers.get("X-Key", "none")
            self.answer(200, f'{{"path": "{self.path}", "host": "{self.headers["Host"]}", "key": "{sent}"}}'.encode())

    def drip(self, name: str) -> None:
        """A byte now and then, for ever: of the headers, or of a body that is promised to end."""
        release: threading.Event = self.server.release  # type: ignore[attr-defined]
        length = "" if name == "/drip-headers" else "content-length: 1000000\r\n\r\n"
        with contextlib.suppress(ConnectionError):
            self.wfile.write(f"HTTP/1.1 200 OK\r\n{length}".encode())
            while not release.wait(0.05):
                self.wfile.write(b"x")

    def answer(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        length = str(len(body))
        for name, value in ({"content_type": kind, "content_length": length} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the tool stops to read what is too large
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.release = threading.Event()  # type: ignore[attr-defined]
    with answering(served):
        yield f"localhost:{served.server_port}"
        served.release.set()  # type: ignore[attr-defined]


def test_http_get_fetches_from_guest_code(server: str) -> None:
    tool = toolkit.http_get(allow=[server], private=True, headers={"X-Key": "secret"})
    with Sandbox("standard", tools=[tool], spare=0) as sandbox, sandbox.session() as session:
        source = f"import json\njson.loads(http_get('http://{server}/a?b=1')['text'])"
        assert session.run(source).check().value == {"path": "/a?b=1", "host": server, "key": "secret"}
        assert session.run(f"http_get('http://{server}/moved')['url']").check().value.endswith("/here")
        assert session.run(f"http_get('http://{server}/bytes')['content']").check().value == b"\x00\xff"
        result = session.run("http_get('http://example.com/')")
        assert result.error.type == "PermissionError"
        assert "secret" not in str(result.to_dict())


@pytest.mark.modules("httpx")
def test_a_client_that_is_awaited_fetches_by_the_tool_too(server: str) -> None:
    tool = toolkit.http_get(allow=[server], private=True)
    step = f"import httpx\nasync with httpx.AsyncClient() as client: found = await client.get('http://{server}/bytes')"
    with Sandbox("confined-python", tools=[tool], spare=0) as sandbox:
        assert sandbox.run(f"{step}\nfound.content").check().value == b"\x00\xff"
    with Sandbox("confined-python", spare=0) as sandbox:
        alone = sandbox.run(step.replace(server, "example.com"))
        assert alone.error is not None and "the host has given no tool that fetches" in str(alone.error.hint)


def test_a_tool_that_fetches_and_gives_something_else_is_told() -> None:
    def http_get(url: str) -> dict[str, Any]:
        """Fetch."""
        return {"body": "a,b", "url": url}

    with Sandbox("standard", tools=[http_get], spare=0) as sandbox:
        result = sandbox.run("from urllib.request import urlopen\nurlopen('http://example.com/')")
        assert result.error is not None and "a dict with `text` or `content`" in result.error.message


def test_libraries_fetch_by_the_tool_of_the_host(server: str) -> None:
    tool = toolkit.http_get(allow=[server], private=True)
    with Sandbox("standard", tools=[tool], spare=0) as sandbox, sandbox.session() as session:
        session.run("from urllib.request import Request, urlopen").check()
        step = f"with urlopen('http://{server}/named?charset=koi8-r') as answer: found = answer.status, answer.read()"
        assert session.run(f"{step}\nfound").check().value == (200, b"caf\xe9-kva")
        posted = session.run(f"urlopen(Request('http://{server}/', data=b'x'))")
        assert posted.error is not None and "fetches with GET alone" in posted.error.message
        elsewhere = session.run("urlopen('https://example.com/')")
        assert "may not be reached from here; allowed: localhost" in elsewhere.error.message
    with Sandbox("standard", spare=0) as sandbox:
        alone = sandbox.run("from urllib.request import urlopen")
        assert alone.error is not None and "the host has given no tool that fetches" in str(alone.error.hint)


@pytest.mark.modules("pandas")
def test_a_table_is_read_from_an_address_by_the_tool_of_the_host(server: str) -> None:
    tool = toolkit.http_get(allow=[server], private=True)
    with Sandbox("data-analysis", tools=[tool], spare=0) as sandbox:
        read = sandbox.run(f"import pandas as pd\npd.read_json('http://{server}/a', typ='series')['path']")
        assert read.check().value == "/a"
        fetched = sandbox.run(f"import httpx\nhttpx.get('http://{server}/b').json()['path']")
        assert fetched.check().value == "/b"
    with Sandbox("data-analysis", spare=0) as sandbox:
        alone = sandbox.run("import pandas as pd\npd.read_csv('http://localhost:1/a.csv')")
        assert alone.error is not None and "the host has given no tool that fetches" in str(alone.error.hint)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("/elsewhere", PermissionError, "a redirect from .* to http://example.com is not followed"),
        ("/other-port", PermissionError, "is not followed"),
        ("/marked", ValueError, "not a URL, or too long"),
        ("/loop", ConnectionError, "more than 5 redirects"),
        ("/big", ValueError, "more than 50000 bytes"),
        ("/slow", TimeoutError, "did not answer in time"),
        ("/drip-headers", TimeoutError, "did not answer in time"),
        ("/drip-body", TimeoutError, "did not answer in time"),
        ("/packed", ValueError, r"the answer is packed \(gzip\)"),
    ],
)
def test_what_http_get_refuses_of_an_answer(server: str, path: str, error: type[Exception], message: str) -> None:
    get = toolkit.http_get(allow=[server], private=True, max_bytes=50_000, timeout=0.3 if error is TimeoutError else 10)
    with pytest.raises(error, match=message):
        get(f"http://{server}{path}")


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("charset=ISO-8859-1", "café-kva"),
        ('charset="windows-1252"; x=y', "café-kva"),
        ("charset=punycode", "caf\ufffd-kva"),
        ("charset*=punycode''x-kva", "caf\ufffd-kva"),
        ("charset=unheard-of", "caf\ufffd-kva"),
        ("charset=utf-8", "caf\ufffd-kva"),
    ],
)
def test_a_text_is_read_as_a_charset_or_as_utf_8(server: str, named: str, text: str) -> None:
    """As punycode, a megabyte took half a minute, whatever the timeout."""
    get = toolkit.http_get(allow=[server], private=True)
    assert get(f"http://{server}/named?{quote(named)}")["text"] == text


ELSEWHERE = (
    *("http://api.example.com.evil.com/", "http://evilexample.com/", "http://example.com:8080/"),
    *("http://user:password@example.com/", "http://example.com@evil.com/"),
)
NO_URLS = (
    *("http://evil.com\\@example.com/", "http://evil.com/\r\nHost: example.com", "http://evil.com\t.example.com/"),
    *("ftp://example.com/", "file:///etc/passwd", "//example.com/", "", "http://" + "a" * 300 + "é.com/"),
)


@pytest.mark.parametrize(
    ("url", "error"), [(url, PermissionError) for url in ELSEWHERE] + [(url, ValueError) for url in NO_URLS]
)
def test_urls_that_lead_elsewhere(url: str, error: type[Exception]) -> None:
    """Refused before any name is resolved."""
    with pytest.raises(error):
        toolkit.http_get(allow=["example.com", "*.example.com", "*.example.org"])(url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"http://a{MARKS}/", "not a URL, or too long"),
        (f"http://a{MARKS[6_000:-6_000]}/", "not a URL, or too long"),
        ("http://example.com/" + "a" * 10_000, "not a URL, or too long"),
        ("http://" + "".join(map(chr, range(0x4E00, 0x5E00))) + ".com/", "not an http or https URL"),
    ],
    ids=["marks", "marks in a short URL", "a long path", "a long host"],
)
def test_urls_that_take_long_to_read(url: str, message: str) -> None:
    """40,000 marks took 5 s, whatever the timeout: names of hosts are normalised, and no other thread runs."""
    with pytest.raises(ValueError, match=message):
        toolkit.http_get(allow=["example.com"])(url)


@pytest.mark.parametrize("url", ["http://example.com/", "https://example.com:443/x", "http://A.Example.ORG./"])
def test_urls_that_are_allowed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(host: str, *_: object, **__: object) -> None:
        raise OSError(f"no {host} here")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConnectionError, match=r"no (example\.com|a\.example\.org) here"):
        toolkit.http_get(allow=["example.com", "*.example.org"])(url)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1"),
        *("fd00::1", "fe80::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::"),
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    literal = f"[{address}]" if ":" in address else address
    get = toolkit.http_get(allow=[literal])
    with pytest.raises((PermissionError, ConnectionError)):
        get(f"http://{literal}/")


def test_a_name_is_resolved_once(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second answer of a hostile name server, which would lead to another address, is never asked for."""
    asked: list[str] = []
    port = int(server.rpartition(":")[2])

    def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host == "rebind.test":
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1" if len(asked) == 1 else "10.0.0.1", port))]
        return real(host, *args, **kwargs)

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    answer = toolkit.http_get(allow=[f"rebind.test:{port}"], private=True)(f"http://rebind.test:{port}/")
    assert answer["status"] == 200
    assert asked == ["rebind.test"]
    assert f'"host": "rebind.test:{port}"' in answer["text"]


@pytest.mark.parametrize("allow", [[], "example.com", ["http://example.com"], ["example.com/path"], ["a@b"]])
def test_hosts_that_are_none(allow: Any) -> None:
    with pytest.raises(ToolError):
        toolkit.http_get(allow=allow)


def test_ask_human_shows_no_control_characters() -> None:
    seen: list[str] = []

    def person(question: str) -> str:
        seen.append(question)
        return "yes"

    with Sandbox("standard", tools=[toolkit.ask_human(input=person)], spare=0) as sandbox:
        assert sandbox.run("ask_human('really\\x1b[2J?')").check().value == "yes"
    assert "\x1b" not in seen[0]


def test_read_host_file_stays_below_its_root(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "sub" / "text").write_text("text é")
    (root / "data").write_bytes(b"\xff\x00")
    (root / "big").write_bytes(b"x" * 2000)
    (root / "inner").symlink_to(root / "sub" / "text")
    (root / "outer").symlink_to(outside / "secret")
    (root / "up").symlink_to("..")
    os.mkfifo(root / "fifo")
    read = toolkit.read_host_file(root=root, max_bytes=1000)
    assert read("sub/text") == read("inner") == read("./sub/../sub/text") == "text é"
    assert read("data") == b"\xff\x00"
    for path in ("../outside/secret", "outer", "up/outside/secret", str(outside / "secret"), "fifo", "sub", "", "a\0b"):
        with pytest.raises((PermissionError, IsADirectoryError)):
            read(path)
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        read("big")
    with pytest.raises(PermissionError, match="too long"):
        read("sub/../" * 100_000 + "sub/text")
    with pytest.raises(FileNotFoundError, match="missing") as caught:
        read("missing")
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(ToolError, match="not a directory"):
        toolkit.read_host_file(root=root / "data")


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_deadline_that_is_none(timeout: float) -> None:
    with pytest.raises(ToolError, match="more than 0 s"):
        toolkit.limited(len, timeout=timeout)
