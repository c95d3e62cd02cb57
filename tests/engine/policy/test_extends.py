"""What `extends` means: sections merge, plain lists replace, add and remove change."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec import Policy, PolicyError
from safeexec.engine.policy.settings import Selection

BASE = """
builtins: [print, len, sum]
imports:
  math: all
  statistics: [mean, median, stdev]
  random: {except: [seed]}
limits: {wall_seconds: 2, memory_mb: 64}
hints: {random: roll dice}
"""


def load(tmp_path: Path, **texts: str) -> Policy:
    """The last one of these profiles."""
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return Policy.load(tmp_path / f"{name}.yaml")


def extend(tmp_path: Path, text: str) -> Policy:
    """`text` as a profile that extends `BASE`."""
    return load(tmp_path, base=BASE, child=f"extends: ./base.yaml\n{text}")


@pytest.mark.parametrize(
    ("text", "wider"),
    [
        ("builtins: {remove: [len]}\nlimits: {memory_mb: 32}\nimports: {random: none}\ndescription: Less.", ()),
        ("imports: {statistics: [mean]}\ntools: {allow: none}\nattributes: {refuse: [real]}", ()),
        ("limits: {memory_mb: 65, wall_seconds: 1}", ("limits.memory_mb",)),
        ("imports: {csv: all}\nbuiltins: {add: [open]}", ("builtins", "imports.csv")),
        ("imports: {random: all}\nrequire: []", ("imports.random", "require")),
    ],
)
def test_what_only_narrows_may_allow_no_more(tmp_path: Path, text: str, wider: tuple[str, ...]) -> None:
    assert extend(tmp_path, text)
    if not wider:
        assert extend(tmp_path, f"only_narrower: true\n{text}") == extend(tmp_path, text)
        return
    with pytest.raises(PolicyError) as caught:
        extend(tmp_path, f"only_narrower: true\n{text}")
    assert tuple(sorted(mistake.path for mistake in caught.value.mistakes)) == wider
    assert all("base.yaml" in str(mistake) for mistake in caught.value.mistakes)


def test_a_language_layer_over_none_only_narrows(tmp_path: Path) -> None:
    text = "extends: confined-python\nonly_narrower: true\nlanguage: {mode: restricted}\nbuiltins: [print]\n"
    assert load(tmp_path, mine=f"{text}imports: {{math: all}}").builtins == ("print",)


def test_a_file_speaks_for_itself_when_it_says_that_it_narrows(tmp_path: Path) -> None:
    """What extends it may be wider, and what it extends is as it is."""
    extend(tmp_path, "only_narrower: true\nlimits: {memory_mb: 32}")
    wider = "extends: ./child.yaml\nlimits: {memory_mb: 64}\n"
    assert load(tmp_path, grandchild=wider).limits.memory_mb == 64
    with pytest.raises(PolicyError, match=r"limits\.memory_mb: is wider than child\.yaml"):
        load(tmp_path, grandchild=f"{wider}only_narrower: true\n")


@pytest.mark.parametrize(
    ("entry", "chosen"),
    [
        ("statistics: [fmean]", Selection(names=("fmean",))),
        ("statistics: {add: [fmean]}", Selection(names=("mean", "median", "stdev", "fmean"))),
        ("statistics: {remove: [mean]}", Selection(names=("median", "stdev"))),
        ("statistics: {except: [mode]}", Selection(refused=("mode",))),
        ("math: {remove: [comb]}", Selection(refused=("comb",))),
        ("random: {remove: [choice]}", Selection(refused=("seed", "choice"))),
        ("json: {add: [loads]}", Selection(names=("loads",))),
    ],
)
def test_a_module(tmp_path, entry, chosen):
    policy = extend(tmp_path, f"imports: {{{entry}}}")
    assert policy.imports[entry.partition(":")[0]] == chosen
    assert set(policy.imports) >= {"math", "statistics", "random"}


def test_none_takes_a_module_away_with_its_submodules_and_may_name_one_that_nothing_opens(tmp_path):
    policy = extend(tmp_path, "imports: {html: all, html.parser: all}")
    assert {"html", "html.parser"} <= set(policy.imports)
    again = policy.replace(imports={"html": "none"})
    assert not {"html", "html.parser"} & set(again.imports)
    policy = Policy.load("calculator")
    # `codecs` is inherited, and `code` is a module, too: no slip.
    assert policy.replace(imports={"code": "none"}) == policy


@pytest.mark.parametrize("module", ["code", "stat", "html.parser"])
def test_none_takes_from_what_a_word_opens(module):
    """`stdlib: all` opens them, without naming them."""
    policy = Policy.load("standard")
    assert policy.why(module).allowed
    assert not policy.replace(imports={module: "none"}).why(module).allowed


def test_sections_and_mappings_merge_and_every_setting_knows_its_line(tmp_path):
    policy = extend(
        tmp_path,
        "limits: {memory_mb: 128}\nhints: {open: no files}\nimports: {random: none}\nbuiltins:\n  remove: [len]",
    )
    assert (policy.limits.wall_seconds, policy.limits.memory_mb) == (2.0, 128)
    assert dict(policy.hints) == {"random": "roll dice", "open": "no files"}
    origins = {"imports.math": "base.yaml:4", "imports.random": "child.yaml:4"}
    origins |= {"builtins.print": "base.yaml:2", "builtins.len": "child.yaml:6"}
    assert {path: policy.origin(path) for path in origins} == origins
    assert policy.language_plan().rules["imports.random"] == "child.yaml:4"


def test_three_levels_of_lists(tmp_path):
    extend(tmp_path, "builtins: {add: [max, min], remove: [print]}")
    policy = load(tmp_path, third="extends: ./child.yaml\nbuiltins: {add: [print], remove: [max, len]}\n")
    assert policy.builtins == ("sum", "min", "print")
    origins = {"sum": "base.yaml:2", "min": "child.yaml:2", "print": "third.yaml:2", "max": "third.yaml:2"}
    assert {name: policy.origin(f"builtins.{name}") for name in origins} == origins
    policy = load(tmp_path, fourth="extends: ./third.yaml\nbuiltins: [abs]\n")
    assert (policy.builtins, policy.origin("builtins.print")) == (("abs",), "fourth.yaml:2")


def test_extends_that_go_in_a_circle_and_a_long_line_of_profiles_that_is_none(tmp_path):
    with pytest.raises(PolicyError, match=r"c.yaml:1:1: extends: .* circle: a.yaml → b.yaml → c.yaml → a.yaml"):
        load(tmp_path, b="extends: ./c.yaml\n", c="extends: ./a.yaml\n", a="extends: ./b.yaml\n")
    with pytest.raises(PolicyError, match=r"(?s)2 mistakes.*circle: a.yaml → a.yaml.*a.yaml:2:1: limit: unknown"):
        load(tmp_path, a="extends: a.yaml\nlimit: {}\n")
    line = {f"p{number}": f"extends: ./p{number - 1}.yaml\n" for number in range(1, 20)}
    with pytest.raises(PolicyError, match=r"p4.yaml:1:1: extends: more than 16 profiles extend one another"):
        load(tmp_path, p0="limits: {threads: 1}\n", **line)
    assert Policy.load(tmp_path / "p15.yaml").limits.threads == 1


@pytest.mark.modules("numpy", "scipy")
@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("imports: {numpy.linalg: none}", {"numpy": Selection(refused=("linalg",))}),
        ("imports: {numpy.random.mtrand: none}", {"numpy": Selection(refused=("random.mtrand",))}),
        ("imports: {scipy.stats: none}", {"scipy": Selection(names=("linalg",))}),
        (
            "imports: {scipy.linalg.blas: none}",
            {"scipy": Selection(names=("linalg", "stats")), "scipy.linalg": Selection(refused=("blas",))},
        ),
    ],
)
def test_none_takes_a_part_out_of_its_package(tmp_path, text, imports):
    """The entry of a package covers its parts, so it has to leave this one out."""
    base = "imports: {numpy: all, os: all, os.path: all, scipy: [linalg, stats]}"
    policy = load(tmp_path, base=base, child=f"extends: ./base.yaml\n{text}")
    assert {name: policy.imports[name] for name in imports} == imports
    part = text.partition("{")[2].partition(":")[0]
    assert part not in policy.imports
    answer = policy.why(part)
    assert not answer.allowed and answer.rule == "child.yaml:2"
    assert part != "numpy.linalg" or "what is left of `numpy` can be used" in answer.instead
    assert Policy.from_yaml(policy.to_yaml()) == policy.replace(name="policy")
    assert {one.rule for one in Policy.load(tmp_path / "base.yaml").diff(policy)} == {"child.yaml:2"}
    assert part in policy.replace(imports={part: "all"}).imports


LAYERS = "imports: {os: none}\nbuiltins: {remove: [open]}\nattributes: {refuse: [x]}\nlanguage: {constructs: [while]}\n"


@pytest.mark.parametrize("base", ["confined-python", "./mine.yaml"])
def test_a_language_layer_that_the_mode_switches_off_is_a_mistake(tmp_path, base):
    with pytest.raises(PolicyError) as raised:
        load(tmp_path, mine="extends: standard\nlanguage: {mode: python}", child=f"extends: {base}\n{LAYERS}")
    told = {one.path: one.text for one in raised.value.mistakes if "no effect" in one.text}
    assert told.keys() == {"imports", "builtins", "attributes", "language.constructs"}
    with pytest.raises(PolicyError, match=r"imports: has no effect with `language.mode: python`"):
        Policy.load("confined-python").replace(imports={"os": "none"})


def test_mode_python_says_nothing_of_the_layer_that_it_inherits(tmp_path):
    """Nobody reads of a diff or a card that it held."""
    policy = load(tmp_path, mine="extends: standard\nlanguage: {mode: python}")
    assert not policy.imports and not policy.builtins
    assert Policy.from_yaml(policy.to_yaml()) == policy.replace(name="policy")
    again = load(tmp_path, again="extends: ./mine.yaml\nlanguage: {mode: restricted}\nimports: {math: all}")
    assert [*again.imports] == ["math"]


@pytest.mark.parametrize("text", ["root:SECRET:20228:0\n", "SECRET\n", "[default]\nkey = SECRET\n", "SECRET: 1\n"])
@pytest.mark.parametrize("kind", ["absolute", "relative", "a link"])
def test_nothing_is_told_of_a_file_elsewhere_that_is_no_policy(tmp_path: Path, text: str, kind: str) -> None:
    """Whoever wrote the policy may be a stranger, and any file of the machine can be named in it."""
    away, folder = tmp_path / "away" / "credentials.yaml", tmp_path / "here"
    away.parent.mkdir()
    folder.mkdir()
    away.write_text(text)
    (folder / "link.yaml").symlink_to(away)
    target = {"absolute": str(away), "relative": "../away/credentials.yaml", "a link": "./link.yaml"}[kind]
    with pytest.raises(PolicyError, match="is no policy that can be read") as told:
        load(folder, p=f"extends: {target}\n")
    assert "SECRET" not in str(told.value)
    with pytest.raises(PolicyError, match="wall_secs"):
        load(folder, beside="limits: {wall_secs: 1}\n", q="extends: ./beside.yaml\n")
