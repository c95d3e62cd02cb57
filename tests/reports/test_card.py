"""The card: short, and never at odds with what is enforced."""

from __future__ import annotations

import functools
import json

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
        assert module_access(named, plan).allowed or named in ("the", "every"), (
            entry
        )  # the standard library, every module
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


@pytest.mark.modules("pandas")
def test_sql_is_named_where_there_are_tables():
    assert "sql(" in json.loads(Policy.load("data-analysis").card("json"))["sql"]
    assert json.loads(Policy.load("standard").card("json"))["sql"] == ""
    assert "SQL" not in Policy.load("standard").card()


def test_determinism_is_one_line_where_it_is_on():
    card = Policy.load("deterministic").card()
    assert "two runs print the same: random numbers are seeded with 0, and the clock stands at 2025-01-01" in card
    assert "two runs print the same" not in Policy.load("data-analysis").card()
    assert "clock" not in Policy.load("calculator").replace(determinism={"seed": 7}).card()


def test_the_hosts_tools():
    policy = Policy.load("calculator")
    for tools in ([price], {"price": price}):
        card = policy.card(tools=tools)
        assert "  price(symbol: str, day: str = ...) -> float  The price of a share.\n" in card
        assert "More that" not in card
    assert "price" not in policy.replace(tools={"allow": "none"}).card(tools=[price])


def test_the_card_says_which_tools_need_approval():
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


def test_tools_of_every_kind_have_the_name_they_are_called_by():
    card = Policy.load("calculator").card(tools=[Rates(), functools.partial(price, day="now")])
    assert "  Rates(currency: str) -> float  Rates of a bank.\n" in card
    assert "  partial(symbol: str, *, day: str = ...) -> float  The price of a share.\n" in card
    assert "  type(...)  " in Policy.load("calculator").card(tools=[type]), "it has no signature to read"
    assert Policy.load("calculator").card(tools=None) == Policy.load("calculator").card()


def test_what_a_tool_says_of_itself_is_one_short_line():
    def noisy(text: str = "a\n" * 3000) -> None: ...

    noisy.__doc__ = "Red \x1b[31mlight\x07 \u202e" + "and more " * 3000
    for format in ("text", "markdown"):
        *_, line = Policy.load("calculator").card(format, tools=[noisy]).splitlines()
        assert line.lstrip(" -`").startswith("noisy(text: str = ")
        assert "Red light\u2407 \\u202e" in line
        assert len(line) < 1100


def test_a_profile_without_imports_does_not_recommend_them():
    card = Policy.load("expression").card()
    assert "Imports:" not in card
    assert "Modules: math, statistics (" in card
    assert "without an import, which is refused" in card


def test_the_policys_own_hints_are_shown():
    policy = Policy.load("calculator").replace(imports={"random": "none"}, hints={"random": "Use fixed numbers."})
    assert "Instead of random: Use fixed numbers." in policy.card()


def test_restricted_modules_are_shown_with_their_names():
    policy = Policy.load("calculator").replace(imports={"statistics": ["NormalDist"], "json": {"except": ["dump"]}})
    assert "statistics (NormalDist)" in policy.card()
    assert "json (not dump)" in policy.card()


def test_the_state_and_the_files():
    assert "Files: none." in Policy.load("standard").card()
    assert "by relative name, at most 512 MB" in Policy.load("data-analysis").card()
    read_only = Policy.load("data-analysis").replace(filesystem={"workspace": "read-only"})
    assert "Files: in the current directory, read only, by relative name" in read_only.card()
    assert "a step that fails is undone" in Policy.load("plugin").card()


def test_an_unknown_format():
    with pytest.raises(ValueError, match="text, markdown or json"):
        Policy.load("standard").card("html")  # type: ignore[arg-type]


def test_a_policy_of_few_constructs_says_which():
    few = {"constructs": ["assignment", "for", "function", "f-string"]}
    assert (
        "of the language only assignment, f-string, for, function."
        in Policy.load("calculator").replace(language=few).card()
    )
    assert "expressions only" in Policy.load("expression").card()
