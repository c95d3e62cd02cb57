"""A child goes on to answer, whatever its steps have left it."""

from __future__ import annotations

from safeexec import Policy, Sandbox

FILLED = """
held = []
for size in (10 << 20, 1 << 20, 200_000, 100_000, 10_000, 2000):
    try:
        while True:
            held.append(bytes(size))
    except MemoryError:
        pass
"""
"""Takes all address space there is; the pages stay untouched, so that no look of the host finds them."""


def test_a_session_whose_memory_is_full_says_so_and_goes_on() -> None:
    with Sandbox(Policy.load("confined-python").replace(limits={"memory_mb": 64})) as sandbox:
        for checkpoints in ("idle", "off"):
            with sandbox.session(checkpoints=checkpoints) as session:
                session.run(FILLED).check()
                for source in ("x = 1", "'a' * 400_000"):
                    result = session.run(source)
                    assert (result.outcome, result.state, result.error.type) == ("memory", "kept", "MemoryError")
                    assert "memory is full" in result.error.message
                assert session.run("1 / 0").error.type == "ZeroDivisionError"
                session.run("del held").check()
                assert session.run("x").value == 1
