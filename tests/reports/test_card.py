"""The card: short, and never at odds with what is enforced."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from safeexec import Policy
from safeexec.engine.policy.access import module_access
from tests.shipped import PROFILES


def price(symbol: str, day: str = "today") -> float:
    """The price of a share.

    More that a model need not read.
    """
    return 1.0


def tokens(text: str) -> float:
    """The usual estimate."""
    return len(text) / 4


@pytest.mark.parametrize(
    ("profile", "most"),
    [("expression", 400), ("calculator", 400), ("standard", 600), ("data-analysis", 1000), ("confined-python", 250)],
)
def test_a_card_fits_into_a_system_prompt(profile, most):
    policy = Policy.load(profile)
    assert tokens(policy.card()) < most
    assert tokens(policy.card("markdown")) < most


@pytest.mark.parametrize("profile", PROFILES)
def test_a_card_names_what_is_enforced(profile):
    policy = Policy.load(profile)
    plan = policy.language_plan()
    content = json.loads(policy.card("json"))
    for entry in content["imports"]:
        named = entry.partition(" ")[0]
        # "the standard library", "every module"
        assert module_access(named, plan).allowed or named in ("the", "every"), entry
    for name in [*content["refused"], *content["instead"]]:
        assert not policy.why(name).allowed
    text = policy.card()
    assert f"{policy.limits.wall_seconds:g} s" in text
    assert f"{policy.limits.memory_mb} MB" in text
    assert profile in text


def test_a_description_is_that_of_the_file_that_it_stands_in(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("extends: standard\nfilesystem: {workspace: read-write}\n")
    assert Policy.load(path).card().splitlines()[0] == "Python sandbox, profile mine."
    path.write_text("extends: standard\ndescription: Files for all.\n")
    assert Policy.load(path).card().splitlines()[0] == "Python sandbox, profile mine: Files for all."


def test_the_hosts_tools_by_the_name_they_are_called_by_and_which_need_approval():
    policy = Policy.load("calculator")
    for tools in ([price], {"price": price}):
        card = policy.card(tools=tools)
        assert "  price(symbol: str, day: str = ...) -> float  The price of a share.\n" in card
        assert "More that" not in card
    assert "price" not in policy.replace(tools={"allow": "none"}).card(tools=[price])
    policy = Policy.load("calculator").replace(tools={"approval": ["price"]})
    text = policy.card(tools={"price": price, "free": price})
    assert ") -> float  Needs approval. The price of a share.\n" in text
    assert text.count("Needs approval") == 1
    assert "`: Needs approval. The price" in policy.card("markdown", tools=[price])
    assert json.loads(policy.card("json", tools=[price]))["tools"][0]["needs_approval"] is True


class Rates:
    """Rates of a bank."""

    def __call__(self, currency: str) -> float:
        return 1.0


def test_what_a_tool_of_any_kind_says_of_itself_is_one_short_line():
    card = Policy.load("calculator").card(tools=[Rates(), functools.partial(price, day="now")])
    assert "  Rates(currency: str) -> float  Rates of a bank.\n" in card
    assert "  partial(symbol: str, *, day: str = ...) -> float  The price of a share.\n" in card
    assert "  type(...)  " in Policy.load("calculator").card(tools=[type]), "it has no signature to read"
    assert Policy.load("calculator").card(tools=None) == Policy.load("calculator").card()

    def noisy(text: str = "a\n" * 3000) -> None: ...

    noisy.__doc__ = "Red \x1b[31mlight\x07 \u202e" + "and more " * 3000
    for format in ("text", "markdown"):
        *_, line = Policy.load("calculator").card(format, tools=[noisy]).splitlines()
        assert line.lstrip(" -`").startswith("noisy(text: str = ")
        assert "Red light\u2407 \\u202e" in line
        assert len(line) < 1100


def test_an_unknown_format():
    with pytest.raises(ValueError, match="text, markdown or json"):
        Policy.load("standard").card("html")  # type: ignore[arg-type]


FEW = {"language": {"constructs": ["assignment", "for", "function", "f-string"]}}
NO_RANDOM = {"imports": {"random": "none"}, "hints": {"random": "Use 4."}}
READ_BY_OPEN = {"filesystem": {"read": ["/a"]}, "builtins": {"add": ["open"]}}
CHOSEN = {"imports": {"statistics": ["NormalDist"], "json": {"except": ["dump"]}}}


@pytest.mark.parametrize(
    ("profile", "changes", "said", "unsaid"),
    [
        ("standard", {}, ["Files: none."], ["SQL", "Instead of random"]),
        pytest.param("data-analysis", {}, ["SQL: sql("], [], marks=pytest.mark.modules("pandas")),
        ("data-analysis", {}, ["by relative name, at most 512 MB"], ["two runs print the same"]),
        ("data-analysis", {"filesystem": {"workspace": "read-only"}}, ["directory, read only, by relative name"], []),
        ("standard", {"filesystem": {"read": ["/a", "/b"]}}, ["Files: `open` is refused: the policy lacks"], ["none"]),
        ("standard", READ_BY_OPEN, ["Files: /a (read only)."], ["none;"]),
        ("deterministic", {}, ["random numbers are seeded with 0, and the clock stands at 2025-01-01"], []),
        ("calculator", {"determinism": {"seed": 7}}, ["random numbers are seeded with 7."], ["clock"]),
        ("expression", {}, ["Modules: math, statistics (", "without an import, which is refused"], ["Imports:"]),
        ("expression", {}, ["expressions only"], []),
        ("calculator", FEW, ["of the language only assignment, f-string, for, function."], []),
        ("calculator", CHOSEN, ["statistics (NormalDist)", "json (not dump)"], []),
        ("calculator", NO_RANDOM, ["Instead of random: Use 4."], []),
        ("plugin", {}, ["a step that fails is undone"], []),
    ],
)
def test_what_a_card_says(profile: str, changes: dict[str, Any], said: list[str], unsaid: list[str]) -> None:
    card = Policy.load(profile).replace(**changes).card()
    assert all(text in card for text in said) and not any(text in card for text in unsaid), card
