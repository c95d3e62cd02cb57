"""A step that is stopped is asked where it is, on a stream that the guest writes to as well."""

from __future__ import annotations

import pytest

from safeexec import Session
from safeexec.engine.host.watch.clock import Place
from tests.untrusted.doubling import SLACK, growth

LINE = "line = '  File \"<step 2>\", line ' + '9' * 5000 + ' in <module>\\n'\n"
HANDLER = f"""\
import os, signal
{LINE}
dump = b'Current thread 0x01 (most recent call first):\\n' + line.encode() * 10
signal.signal(signal.SIGUSR1, lambda *_: os.write(2, dump))
while True:
    pass
"""


@pytest.mark.profile("confined-python")
def test_a_handler_that_forges_the_whole_dump_is_given_no_place(session: Session) -> None:
    session.run("x = 41")
    result = session.run(HANDLER, timeout=0.4)
    assert (result.outcome, result.state) == ("timeout", "restored")
    assert result.error is not None and result.error.line is None
    assert session.run("x + 1").value == 42


def test_a_traceback_cuts_each_source_into_lines_once_and_shortens_a_long_one() -> None:
    def traceback(source: str) -> str:
        return Place((("<step 1>", 10**8, "f"),) * 100).traceback({"<step 1>": source})

    assert growth(traceback, lambda n: "x\n" * (n // 2), large=1 << 18) < SLACK
    told = Place((("<step 1>", 1, "f"),) * 100).traceback({"<step 1>": "x" * 10**6})
    assert len(told) < 50_000
