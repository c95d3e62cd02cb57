"""Fetches what a program asks of urllib, pandas, requests or httpx by the tool `http_get` of the host instead, where
the host has given one: the kernel lets no program reach a network.

The tool judges the address and fetches with GET. Its refusals are raised as they are, in place of a failed connection.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, NamedTuple

from safeexec.engine.child.on_import import replace_after_import
from safeexec.engine.policy.refusals import FETCHES
from safeexec.protocol import messages as m

Fetch = Callable[[str, str], "HttpAnswer"]


class HttpAnswer(NamedTuple):
    """The answer to one request."""

    status: int
    headers: dict[str, str]
    body: bytes


def install(call: Callable[[str, tuple[Any, ...], dict[str, Any]], Any], tools: Sequence[m.ToolSignature]) -> None:
    """Have the libraries ask the tool, each when it is imported. In the zygote: its children inherit it."""
    tool = next((tool for tool in tools if tool.name == FETCHES), None)
    if tool is None:
        return
    options = {"as_bytes": True} if any(name == "as_bytes" for name, *_ in tool.parameters) else {}

    def fetch(method: str, url: str) -> HttpAnswer:
        if method != "GET":
            raise PermissionError(f"{method} {url} is refused: the host's {FETCHES}() fetches with GET alone")
        return _answer(call(FETCHES, (url,), options))

    replace_after_import("urllib.request", _by_urllib(fetch))
    replace_after_import("requests.adapters", _by_requests(fetch))
    replace_after_import("httpx", _by_httpx(fetch))


def _answer(given: Any) -> HttpAnswer:
    """Return what the tool of `safeexec.toolkit` gives, or another of its name: a dict, a text or bytes."""
    found = given if isinstance(given, dict) else {"content" if isinstance(given, bytes) else "text": given}
    if not any(isinstance(found.get(name), (str, bytes)) for name in ("content", "text")):
        raise TypeError(f"the host's {FETCHES}() gave neither text nor bytes, nor a dict with `text` or `content`")
    content, kind = found.get("content"), str(found.get("content_type", ""))
    if not isinstance(content, bytes):
        content = str(found.get("text", "") if content is None else content).encode()
        kind = f"{kind.partition(';')[0]}; charset=utf-8"
    headers = {"Content-Type": kind, "Content-Length": str(len(content))}
    return HttpAnswer(int(found.get("status", 200)), headers, content)


def _by_urllib(fetch: Fetch) -> dict[str, Any]:
    def opened(_handler: Any, request: Any) -> Any:
        from email.message import Message
        from http.client import responses
        from urllib.error import URLError
        from urllib.response import addinfourl

        try:
            answer = fetch(request.get_method(), request.full_url)
        except (TimeoutError, ConnectionError) as error:
            raise URLError(error) from error
        headers = Message()
        for name, value in answer.headers.items():
            headers[name] = value
        response: Any = addinfourl(BytesIO(answer.body), headers, request.full_url, answer.status)
        response.msg = response.reason = responses.get(answer.status, "")
        return response

    return {"HTTPHandler.http_open": opened, "HTTPSHandler.https_open": opened}


def _by_requests(fetch: Fetch) -> dict[str, Any]:
    def send(adapter: Any, request: Any, *_: Any, **__: Any) -> Any:
        requests: Any = sys.modules["requests"]
        try:
            answer = fetch(request.method, request.url)
        except TimeoutError as error:
            raise requests.Timeout(error, request=request) from error
        except ConnectionError as error:
            raise requests.ConnectionError(error, request=request) from error
        raw = sys.modules["urllib3"].HTTPResponse(
            BytesIO(answer.body), answer.headers, answer.status, preload_content=False
        )
        return adapter.build_response(request, raw)

    return {"HTTPAdapter.send": send}


def _by_httpx(fetch: Fetch) -> dict[str, Any]:
    def handle_request(_transport: Any, request: Any) -> Any:
        module: Any = sys.modules["httpx"]
        try:
            answer = fetch(request.method, str(request.url))
        except TimeoutError as error:
            raise module.ReadTimeout(str(error), request=request) from error
        except ConnectionError as error:
            raise module.ConnectError(str(error), request=request) from error
        return module.Response(answer.status, headers=answer.headers, content=answer.body, request=request)

    async def handle_async_request(transport: Any, request: Any) -> Any:
        return handle_request(transport, request)

    return {
        "HTTPTransport.handle_request": handle_request,
        "AsyncHTTPTransport.handle_async_request": handle_async_request,
    }
