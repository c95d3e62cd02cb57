"""The two tenants of a module's `server`."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.servers.serving import BOB, EVE, Server


@pytest.fixture(scope="module")
def bob(server: Server) -> Iterator[httpx.Client]:
    with server.client(BOB) as client:
        yield client


@pytest.fixture(scope="module")
def eve(server: Server) -> Iterator[httpx.Client]:
    with server.client(EVE) as client:
        yield client
