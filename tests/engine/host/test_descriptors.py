"""Sessions that are opened at once have the descriptors that they need, or are refused by name."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator

import pytest

from safeexec import AsyncSandbox, Sandbox, SandboxBusy
from safeexec.engine.host import descriptors
from safeexec.engine.linux import processes
from tests.limits import limited

SESSIONS = 40


@pytest.fixture
def few() -> Iterator[None]:
    """Descriptors for some 20 sessions."""
    with limited(resource.RLIMIT_NOFILE, processes.open_descriptors() + 20 * descriptors.SESSION_DESCRIPTORS):
        yield


async def test_of_many_at_once_those_that_open_work_and_the_others_are_refused(few: None) -> None:
    async with AsyncSandbox("calculator", spare=0) as sandbox:
        asked = (sandbox.session_for(f"user {number}") for number in range(SESSIONS))
        opened = await asyncio.gather(*asked, return_exceptions=True)
        refused = [one for one in opened if isinstance(one, BaseException)]
        assert refused and all(type(one) is SandboxBusy and "ulimit -n" in str(one) for one in refused), refused
        sessions = [one for one in opened if not isinstance(one, BaseException)]
        for step in ("x = 1", "x += 1", "x"):
            results = await asyncio.gather(*(session.run(step) for session in sessions))
            assert all(result.ok and not result.notes for result in results)
        assert [result.value for result in results] == [2] * len(sessions)
        assert len(sessions) > 5
        for session in sessions:  # none has taken what another one needs to go back
            assert (await session.run("while True: pass", timeout=0.05)).state == "restored"
            await session.rollback(steps=2)
            assert (await session.run("x")).value == 1
        await sessions[0].close()
        assert (await (await sandbox.session()).run("1")).ok


def test_stats_say_how_many_more_there_is_room_for(few: None) -> None:
    with Sandbox("calculator", spare=0) as sandbox:
        before = sandbox.stats().room
        assert before is not None and 5 < before < 20
        with sandbox.session():
            assert sandbox.stats().room < before
        assert sandbox.stats().to_dict()["room"] == before
