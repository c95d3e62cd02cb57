"""The sources that a session remembers are bounded."""

from __future__ import annotations

from safeexec.engine.host.session.supervisor import SOURCE_CHARACTERS, Sources


def test_the_oldest_sources_go_first_and_a_plugins_stay() -> None:
    sources, long = Sources(), "x" * (SOURCE_CHARACTERS // 4)
    sources["<plugin p>"] = "code"
    for step in range(1, 11):
        sources.add(step, long)
    assert list(sources) == ["<plugin p>", *(f"<step {step}>" for step in range(7, 11))]
    sources.add(11, long * 5)
    assert list(sources) == ["<plugin p>", "<step 11>"]
    copied = sources.copy()
    copied.add(12, "short")
    assert list(copied) == ["<plugin p>", "<step 12>"] and list(sources) == ["<plugin p>", "<step 11>"]
