"""Sessions that are opened at once have the descriptors that they need, or are refused by name."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator

import pytest

from safeexec import AsyncSandbox, Sandbox, SandboxBusy
from safeexec.engine.host import descriptors
from safeexec.engine.linux import processes

SESSIONS = 40


@pytest.fixture
def few() -> Iterator[int]:
    """Descriptors for some 20 sessions."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = processes.open_descriptors() + 20 * descriptors.SESSION_DESCRIPTORS
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield most
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_of_many_at_once_those_that_open_work_and_the_others_are_refused(few: int) -> None:
    async def main() -> tuple[int, int]:
        async with AsyncSandbox("calculator", spare=0) as sandbox:
            opened = await asyncio.gather(
                *(sandbox.session_for(f"user {number}") for number in range(SESSIONS)), return_exceptions=True
            )
            refused = [one for one in opened if isinstance(one, BaseException)]
            assert refused and all(type(one) is SandboxBusy and "ulimit -n" in str(one) for one in refused), refused
            sessions = [one for one in opened if not isinstance(one, BaseException)]
            for step in ("x = 1", "x += 1", "x"):
                results = await asyncio.gather(*(session.run(step) for session in sessions))
                assert all(result.ok and not result.notes for result in results)
            assert [result.value for result in results] == [2] * len(sessions)
            return len(sessions), len(refused)

    opened, refused = asyncio.run(main())
    assert opened > 5 and opened + refused == SESSIONS


def test_stats_say_how_many_more_there_is_room_for(few: int) -> None:
    with Sandbox("calculator", spare=0) as sandbox:
        before = sandbox.stats().room
        assert before is not None and 5 < before < 20
        with sandbox.session():
            during = sandbox.stats().room
            assert during is not None and during < before
        assert sandbox.stats().to_dict()["room"] == before
