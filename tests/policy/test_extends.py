"""What `extends` means: sections merge, plain lists replace, add and remove change."""

from __future__ import annotations

import pytest

from safeexec import Policy, PolicyError
from safeexec.policy.settings import Selection

BASE = """
builtins: [print, len, sum]
imports:
  math: all
  statistics: [mean, median, stdev]
  random: {except: [seed]}
limits: {wall_seconds: 2, memory_mb: 64}
hints: {random: roll dice}
"""


def extend(tmp_path, text: str) -> Policy:
    """`text` as a profile that extends `BASE`."""
    (tmp_path / "base.yaml").write_text(BASE)
    child = tmp_path / "child.yaml"
    child.write_text(f"extends: ./base.yaml\n{text}")
    return Policy.load(child)


@pytest.mark.parametrize(
    ("text", "builtins"),
    [
        ("description: x", ("print", "len", "sum")),
        ("builtins: [max]", ("max",)),
        ("builtins: {add: [max]}", ("print", "len", "sum", "max")),
        ("builtins: {remove: [len]}", ("print", "sum")),
        ("builtins: {add: [max], remove: [print]}", ("len", "sum", "max")),
        ("builtins: []", ()),
    ],
)
def test_a_list(tmp_path, text, builtins):
    assert extend(tmp_path, text).builtins == builtins


@pytest.mark.parametrize(
    ("entry", "chosen"),
    [
        ("statistics: all", Selection()),
        ("statistics: [fmean]", Selection(names=("fmean",))),
        ("statistics: {add: [fmean]}", Selection(names=("mean", "median", "stdev", "fmean"))),
        ("statistics: {remove: [mean]}", Selection(names=("median", "stdev"))),
        ("statistics: {except: [mode]}", Selection(refused=("mode",))),
        ("math: {remove: [comb]}", Selection(refused=("comb",))),
        ("random: {add: [seed]}", Selection()),
        ("random: {remove: [choice]}", Selection(refused=("seed", "choice"))),
        ("json: {except: [load]}", Selection(refused=("load",))),
        ("json: {add: [loads]}", Selection(names=("loads",))),
    ],
)
def test_a_module(tmp_path, entry, chosen):
    policy = extend(tmp_path, f"imports: {{{entry}}}")
    assert policy.imports[entry.partition(":")[0]] == chosen
    assert set(policy.imports) >= {"math", "statistics", "random"}


def test_none_takes_a_module_away_with_its_submodules(tmp_path):
    policy = extend(tmp_path, "imports: {html: all, html.parser: all}")
    assert {"html", "html.parser"} <= set(policy.imports)
    again = policy.replace(imports={"html": "none"})
    assert not {"html", "html.parser"} & set(again.imports)


def test_sections_and_mappings_merge(tmp_path):
    policy = extend(tmp_path, "limits: {memory_mb: 128}\nhints: {open: no files}")
    assert (policy.limits.wall_seconds, policy.limits.memory_mb) == (2.0, 128)
    assert dict(policy.hints) == {"random": "roll dice", "open": "no files"}


def test_every_setting_knows_its_line(tmp_path):
    policy = extend(tmp_path, "imports: {random: none}\nbuiltins:\n  remove: [len]\n")
    assert policy.origin("imports.math") == "base.yaml:4"
    assert policy.origin("imports.random") == "child.yaml:2"
    assert policy.origin("builtins.len") == "child.yaml:4"
    assert policy.origin("builtins.print") == "base.yaml:2"
    assert policy.language_plan().rules["imports.random"] == "child.yaml:2"


def test_extends_that_go_in_a_circle(tmp_path):
    for name, parent in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"extends: ./{parent}.yaml\n")
    with pytest.raises(PolicyError, match=r"c.yaml:1:1: extends: .* circle: a.yaml → b.yaml → c.yaml → a.yaml"):
        Policy.load(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_text("extends: a.yaml\nlimit: {}\n")
    with pytest.raises(PolicyError, match=r"(?s)2 mistakes.*circle: a.yaml → a.yaml.*a.yaml:2:1: limit: unknown"):
        Policy.load(tmp_path / "a.yaml")


def test_a_long_line_of_profiles_is_no_circle(tmp_path):
    (tmp_path / "p0.yaml").write_text("limits: {threads: 1}\n")
    for number in range(1, 20):
        (tmp_path / f"p{number}.yaml").write_text(f"extends: ./p{number - 1}.yaml\n")
    assert Policy.load(tmp_path / "p15.yaml").limits.threads == 1
    with pytest.raises(PolicyError, match=r"p4.yaml:1:1: extends: more than 16 profiles extend one another"):
        Policy.load(tmp_path / "p19.yaml")


def test_three_levels_of_lists(tmp_path):
    extend(tmp_path, "builtins: {add: [max, min], remove: [print]}")
    (tmp_path / "third.yaml").write_text("extends: ./child.yaml\nbuiltins: {add: [print], remove: [max, len]}\n")
    policy = Policy.load(tmp_path / "third.yaml")
    assert policy.builtins == ("sum", "min", "print")
    assert [policy.origin(f"builtins.{name}") for name in ("sum", "min", "print", "max")] == [
        "base.yaml:2",
        "child.yaml:2",
        "third.yaml:2",
        "third.yaml:2",
    ]
    (tmp_path / "fourth.yaml").write_text("extends: ./third.yaml\nbuiltins: [abs]\n")
    policy = Policy.load(tmp_path / "fourth.yaml")
    assert (policy.builtins, policy.origin("builtins.print")) == (("abs",), "fourth.yaml:2")


def test_a_profile_of_its_own_takes_under_ten_lines():
    text = """\
description: Normal distributions, nothing random.
extends: calculator
imports:
  statistics: [NormalDist]
  random: none
limits: {memory_mb: 512}
hints: {random: Use NormalDist().inv_cdf with fixed probabilities.}
"""
    policy = Policy.from_yaml(text, name="normal", filename="normal.yaml")
    assert text.count("\n") < 10
    assert policy.limits.memory_mb == 512
    assert policy.why("statistics.NormalDist").allowed
    assert not policy.why("statistics.mean").allowed
    refused = policy.why("random")
    assert (refused.allowed, refused.rule) == (False, "normal.yaml:5")
    assert refused.instead == "Use NormalDist().inv_cdf with fixed probabilities."
    assert policy.why("math").through == ("normal.yaml", "calculator.yaml")
