"""`safeexec challenge`: honest attempts fail, and a flag that does come out is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec import Sandbox
from safeexec.cli.challenge import flags, texts
from tests.conftest import Called

ATTEMPTS = """
import os, socket, sys

def attempt(read):
    try:
        print("read:", read())
    except Exception as error:
        print(type(error).__name__)

_, path, environment, memory, network, session = sys.argv
host = environment.rsplit(" ", 1)[1]
attempt(lambda: open(path).read())
attempt(lambda: os.environ["SAFEEXEC_FLAG"])
attempt(lambda: open(f"/proc/{host}/environ").read())
attempt(lambda: open(f"/proc/{host}/mem").read(1))
attempt(lambda: socket.create_connection(network.split(":")).recv(100))
attempt(lambda: os.listdir(os.path.dirname(path)))
"""


def test_attempts_fail_in_the_loosest_profile_and_a_refused_one_tries_nothing(tmp_path: Path, called: Called) -> None:
    path = tmp_path / "attack.py"
    path.write_text(ATTEMPTS)
    told = called("challenge", path, "--policy", "confined-python")
    assert told.status == 0 and "No flag came out of confined-python" in told.out
    assert "read: " not in told.out
    path = tmp_path / "attack.py"
    path.write_text("open('/etc/passwd')")
    told = called("challenge", path)
    assert told.status == 0 and "No flag came out of standard: no line of the program ran." in told.out


@pytest.mark.parametrize("how", ["print(flag)", "flag", "raise ValueError(flag)", "import sys; sys.stderr.write(flag)"])
def test_a_flag_that_comes_out_is_seen(sandbox: Sandbox, how: str) -> None:
    with flags(sandbox) as (places, found), sandbox.session() as session:
        assert places.keys() == found.keys()
        session.set("flag", found["file"])
        told = texts(session.run(how))
        assert any(found["file"] in text for text in told) and not any(found["memory"] in text for text in told)
