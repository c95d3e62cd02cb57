"""The declaration of `run_python`, of whatever has a card."""

from __future__ import annotations

from safeexec import Policy, Sandbox
from safeexec.adapters import functions


def price(symbol: str) -> float:
    """The price of a share."""
    return 1.0


def test_the_schema_takes_whatever_has_a_card() -> None:
    plain = functions.schema(Policy.load("calculator"))
    assert functions.schema("calculator") == plain
    with Sandbox("calculator", tools=[price]) as sandbox, sandbox.session() as session:
        told = functions.schema(session)["function"]["description"]
        assert "price(symbol: str)" in told
        assert functions.schema(sandbox)["function"]["description"] == told
        assert functions.schema("calculator", tools=[price])["function"]["description"] == told
