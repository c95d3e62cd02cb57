"""The variables of a session behave as a dict does."""

from __future__ import annotations

from safeexec import Sandbox


def test_a_namespace_compares_copies_and_merges() -> None:
    with Sandbox("calculator") as sandbox, sandbox.session(namespace={"x": 1, "y": [2]}) as session:
        names = session.namespace
        assert names == {"x": 1, "y": [2]} and names != {"x": 1}
        copied = names.copy()
        assert type(copied) is dict and copied == {"x": 1, "y": [2]}
        assert names | {"x": 5} == {"x": 5, "y": [2]}
        assert {"x": 5, "z": 0} | names == {"x": 1, "y": [2], "z": 0}
        names |= {"z": 3}
        assert session.run("x + z").value == 4
