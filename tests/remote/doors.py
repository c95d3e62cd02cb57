"""A server at either door, for tests of the client: the pipe, and HTTP as the table of methods says it is spoken."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from safeexec.servers.methods import METHODS
from safeexec.servers.service import Service, encoded, problem_of

TOKEN = "the token"


def command(policy: str = "calculator", *options: str) -> list[str]:
    return [sys.executable, "-m", "safeexec", "serve", "--stdio", "--policy", policy, *options]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service
    loop: asyncio.AbstractEventLoop

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.send(401, {"code": 401, "type": "Unauthorized", "message": "a token is needed"})
            return
        parts = self.path.split("/")[2:]
        params = json.loads(body)
        if parts[0] == "sessions" and len(parts) == 3:
            name, params = f"session.{parts[2]}", {**params, "session": parts[1]}
        else:
            name = "sandbox.session" if parts == ["sessions"] else f"sandbox.{parts[0]}"
        assert METHODS[name].path.replace("{session}", str(params.get("session"))) == self.path
        if params.get("stream"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                self.event("result", self.called(name, params, self.event))
            except Exception as error:
                self.event("error", problem_of(error)._asdict())
            return
        try:
            self.send(200, self.called(name, params, None))
        except Exception as error:
            self.send(400, problem_of(error)._asdict())

    def called(self, name: str, params: Any, tell: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(self.service.call(name, params, tell), self.loop).result()

    def event(self, name: str, data: Any) -> None:
        self.wfile.write(f"event: {name}\r\ndata: ".encode() + encoded(data) + b"\r\n\r\n")

    def send(self, status: int, data: Any) -> None:
        body = encoded(data)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def http_server(policy: str = "calculator") -> Iterator[str]:
    """The address of a server."""
    loop = asyncio.new_event_loop()
    turning = threading.Thread(target=loop.run_forever)
    turning.start()
    service = Service(policy, spare=0)
    handler = type("Handler", (_Handler,), {"service": service, "loop": loop})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    answering = threading.Thread(target=server.serve_forever, args=(0.01,))
    answering.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        answering.join()
        asyncio.run_coroutine_threadsafe(service.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        turning.join()
        loop.close()
        server.server_close()
