"""A service without a server: opened in this process, and called by the names of its methods."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from safeexec.servers import acts
from safeexec.servers.service import Service
from safeexec.servers.wire import CallProblem, problem_of


@asynccontextmanager
async def opened(*arguments: Any, **options: Any) -> AsyncIterator[Service]:
    """Give a `Service`, closed at the end. Its sandboxes keep no spare child."""
    service = Service(*arguments, **{"spare": 0, **options})
    try:
        yield service
    finally:
        await service.close()


async def call(service: Service, name: str, parameters: object) -> dict[str, Any]:
    return await acts.call(service, name, json.dumps(parameters).encode())


async def problem(service: Service, name: str, parameters: object) -> CallProblem:
    """What a client is told of a call that fails."""
    with pytest.raises(BaseException) as raised:
        await call(service, name, parameters)
    return problem_of(raised.value)
