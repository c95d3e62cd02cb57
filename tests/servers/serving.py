"""`safeexec serve` as a process of its own, for tests: started, called, stopped with SIGTERM."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import IO, Any, NamedTuple

import httpx
import pytest
from hypothesis import strategies as st

from tests.alone import importing

ANNOUNCED = re.compile(r"safeexec serves (http://\S+) token=(\S+)\n")
STOP_SECONDS = 60
BOB, EVE = "bob-has-a-token-of-his-own", "eve-has-a-token-of-her-own"
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Reads no certificates, which take each new client 0.1 s: nothing here is encrypted."""
needs_server = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("starlette", "uvicorn", "prometheus_client")),
    reason="the libraries of a server are not installed (pip install 'safeexec[server]')",
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
"""Any JSON, as strangers send it."""


class Server(NamedTuple):
    """One that accepts requests."""

    url: str
    token: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, token: str | None = None, **options: object) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, verify=PLAIN, **options)  # type: ignore[arg-type]


def start(*arguments: str, command: str = "serve", stderr: int | IO[str] = subprocess.PIPE, **options: Any) -> Server:
    """A server that has announced itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", "safeexec", command, "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=importing(),
        **options,
    )
    assert process.stdout is not None
    found = ANNOUNCED.fullmatch(process.stdout.readline())
    if found is None:
        process.kill()
        raise AssertionError(process.communicate()[1])
    return Server(found[1], found[2], process)


def stop(server: Server) -> None:
    """Told to stop, it ends with 0 in time, and has complained of nothing."""
    server.process.terminate()
    try:
        _, complaints = server.process.communicate(timeout=STOP_SECONDS)
    except BaseException:
        server.process.kill()
        server.process.communicate()
        raise
    assert (server.process.returncode, complaints) == (0, "")


@contextmanager
def serving(*arguments: str, **options: Any) -> Iterator[Server]:
    server = start(*arguments, **options)
    try:
        yield server
    except BaseException:
        server.process.kill()
        server.process.communicate()
        raise
    stop(server)


@contextmanager
def serving_two(policy: str, eve: str) -> Iterator[Server]:
    """A server of two tenants: bob, who has no quotas, and eve with hers."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as tokens:
        tokens.write(f"bob: {BOB}\neve: {{token: {EVE}, sessions: 2, {eve}}}\n")
        tokens.flush()
        with serving("--policy", policy, "--token-file", tokens.name) as server:
            yield server


def clients() -> str:
    """The interpreter that has the clients of others, or a skip."""
    found = os.environ.get("SAFEEXEC_TESTS_CLIENTS", sys.executable)
    wanted = "import requests, e2b_code_interpreter, importlib.util as u; assert u.find_spec('verl')"
    if subprocess.run([found, "-c", wanted], capture_output=True).returncode:
        pytest.skip("no interpreter has verl and e2b-code-interpreter (SAFEEXEC_TESTS_CLIENTS names one)")
    return found
