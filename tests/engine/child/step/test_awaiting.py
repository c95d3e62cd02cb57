"""Steps that await at their top level run on one event loop, which leaves nothing open between them."""

from __future__ import annotations

import pytest

from safeexec import Session
from tests.conftest import OpenSession


@pytest.fixture(params=["standard", "confined-python"])
def session(request: pytest.FixtureRequest, open_session: OpenSession) -> Session:
    opened = open_session(profile=request.param)
    opened.run("import asyncio\nasync def f(x=3): return x\nasync def g():\n    for i in range(3): yield i")
    return opened


def test_a_top_level_may_await_and_what_is_not_done_goes_on_with_the_next_step_that_awaits(session: Session) -> None:
    assert session.run("await f()").value == 3
    assert session.run("x = await f(4)\nx + 1").value == 5
    assert session.run("out = []\nasync for i in g():\n    out.append(i)\nout").value == [0, 1, 2]
    assert session.run("async with asyncio.Lock():\n    x = 'held'\nx").value == "held"
    assert session.run("await f(1)\nasyncio.run(f(2))").value == 2  # the last line awaits nothing
    assert session.run("asyncio.run(f())").value == 3
    assert session.run("queue = asyncio.Queue()\ntask = asyncio.create_task(queue.get())\nawait f()").ok
    assert session.run("task.done()").value is False
    assert session.run("queue.put_nowait('late')\nawait task").value == "late"


def test_copies_have_a_loop_of_their_own(session: Session) -> None:
    assert session.run("await asyncio.to_thread(int)").notes == ()
    session.checkpoint("here")
    (branch,) = session.branch()
    with branch:
        assert branch.run("await asyncio.to_thread(lambda: 1)").value == 1
        assert session.run("await asyncio.to_thread(lambda: 2)").value == 2
    session.rollback("here")
    assert session.run("await asyncio.to_thread(lambda: 3)").value == 3


def test_how_such_a_step_ends(session: Session) -> None:
    failed = session.run("await f()\nawait asyncio.gather(f(), 1 / 0)")
    assert failed.error is not None and (failed.error.type, failed.error.line) == ("ZeroDivisionError", 2)
    assert "base_events" not in failed.error.traceback
    assert session.run("import sys\nawait f()\nsys.exit(3)").exit_status == 3
    stopped = session.run("await asyncio.sleep(60)", timeout=0.5)
    assert stopped.outcome == "timeout" and session.run("await f()").value == 3
    session.run("try:\n    await asyncio.sleep(0)\nfinally:\n    asyncio.get_running_loop().stop()")
    session.run("asyncio.create_task(f()).get_loop().close()\nawait f()")
    assert session.run("await f()").value == 3


def test_without_asyncio_it_is_refused_with_a_hint(open_session: OpenSession) -> None:
    error = open_session(profile="calculator").run("async def f(): pass\nawait f()").error
    assert error is not None and error.line == 2 and "no event loop here" in (error.hint or "")
