"""An executor with the interface of OpenEnv's own."""

from __future__ import annotations

import pytest

pytest.importorskip("openenv", reason="openenv is not installed")

from safeexec.adapters.openenv import SafePyExecutor


def test_actions_share_their_state_until_the_episode_ends() -> None:
    with SafePyExecutor("standard") as executor:
        first = executor.run("x = 1\nprint('a')\nx + 1")
        assert (first.stdout, first.stderr, first.exit_code) == ("a\n2\n", "", 0)
        assert executor.run("x").stdout == "1\n"
        executor.reset()
        assert "NameError" in executor.run("x").stderr


@pytest.mark.parametrize(
    ("source", "told", "status"),
    [("1 / 0", "ZeroDivisionError", 1), ("exit(3)", "SystemExit", 3), ("import subprocess", "refused", 1)],
)
def test_what_went_wrong_is_on_standard_error(source: str, told: str, status: int) -> None:
    with SafePyExecutor("standard") as executor:
        done = executor.run(source)
    assert told in done.stderr and done.exit_code == status
