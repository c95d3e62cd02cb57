"""Policies as values: frozen, comparable, editable, and back to YAML."""

from __future__ import annotations

import copy
import pickle
from types import MappingProxyType

import pytest

from safeexec import Policy, PolicyError
from safeexec.engine.policy.settings import Filesystem, Selection
from tests.alone import alone, importing
from tests.shipped import PROFILES


@pytest.fixture(params=PROFILES)
def policy(request) -> Policy:
    """Each shipped profile."""
    return Policy.load(request.param)


def test_a_policy_comes_back_from_yaml_and_copies_as_it_was_and_cannot_be_changed(policy):
    again = Policy.from_yaml(policy.to_yaml(), name=policy.name)
    assert again == policy
    assert again.diff(policy) == []
    for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy), policy.replace()):
        assert other == policy
        assert hash(other) == hash(policy)
        assert other.digest == policy.digest
        assert other.origins == policy.origins
    for of, name in ((policy, "limits"), (policy.limits, "threads")):
        with pytest.raises(AttributeError):
            setattr(of, name, getattr(of, name))
    with pytest.raises(TypeError):
        policy.imports["os"] = None


@pytest.mark.parametrize(
    "changes",
    [
        {"imports": {"math": [], "json": {"except": []}, "statistics": {"except": ["mean"]}}},
        {"hints": {"on": "yes", "null": "~", "e1": "1_000"}},
        {"description": "a: b # c\n\ttab 'single' \"double\" é 😀\n"},
        {"tools": {"allow": "none", "approval": ["*"]}},
        {"tools": {"allow": ["on", "1e3", "true", "08", "+.5", ".5e1"]}, "description": "1e3"},
        {"determinism": {"seed": 2**63 - 1, "clock": "2025-01-01"}},
        {"wall_seconds": 1e-06, "builtins": [], "language": {"constructs": "none"}},
        {"filesystem": {"read": ["/a b: #c", "/'q'"]}, "danger_allow_commands": ["-x", "&y"]},
    ],
)
def test_odd_settings_come_back_as_they_were(changes):
    policy = Policy().replace(**changes)
    assert Policy.from_yaml(policy.to_yaml()) == policy
    assert policy.diff(Policy.from_yaml(policy.to_yaml())) == []
    assert Policy().diff(policy)


def test_a_policy_is_the_same_wherever_it_is_written_and_keeps_its_digest_when_a_setting_is_new():
    """Stored sessions and recordings know it by that: a younger setting is left out while it has its default."""
    one, other = Policy.from_yaml("# a comment\n\nlimits: {threads: 2}"), Policy.from_yaml("limits:\n  threads: 2")
    assert (one == other, one != other) == (True, False), "each is a method of its own"
    assert Policy.from_yaml("builtins: [len, sum]").digest == Policy.from_yaml("builtins: [sum, len]").digest
    digest = "613ec8820dcd0ee8bfc4bb9e573f86b8578769ff06bb72ab13ce70fee67f0439"
    assert Policy.from_yaml("limits: {threads: 2}").digest == digest


def test_what_it_was_made_of_is_not_kept():
    names, imports = ["print"], {"math": Selection()}
    policy = Policy(builtins=names, imports=MappingProxyType(imports))
    before = hash(policy)
    names.append("open")
    imports["os"] = Selection()
    assert (policy.builtins, dict(policy.imports), hash(policy)) == (("print",), {"math": Selection()}, before)


def test_the_digest_is_the_same_in_every_process():
    code = f"from safeexec import Policy; print([Policy.load(name).digest for name in {PROFILES}])"
    digests = {alone(code, env=importing(PYTHONHASHSEED=seed), check=True).stdout for seed in ("0", "1", "random")}
    assert digests == {f"{[Policy.load(name).digest for name in PROFILES]}\n"}


def test_replace():
    policy = Policy.load("calculator")
    changed = policy.replace(
        memory_mb=512,
        limits={"threads": 2},
        filesystem=Filesystem(workspace="read-only"),
        checkpoints="off",
        imports={"random": "none", "statistics": ["mean"]},
        builtins={"remove": ["print"]},
        name="mine",
    )
    assert changed.name == "mine"
    assert [str(difference) for difference in policy.diff(changed)] == [
        "builtins: -print   [narrower]   (replace())",
        "imports.statistics: all → [mean]   [narrower]   (replace())",
        "imports.random: all → nothing   [narrower]   (replace())",
        "limits.memory_mb: 256 → 512   [wider]   (replace())",
        "limits.threads: 0 → 2   [wider]   (replace())",
        "filesystem.workspace: none → read-only   [wider]   (replace())",
        "checkpoints: idle → off   (replace())",
    ]
    assert policy == Policy.load("calculator")
    assert changed.origin("limits.memory_mb") == "replace()"
    assert changed.origin("limits.branches") == policy.origin("limits.branches") != "replace()"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"filesystem": {"workspac": "none"}}, "filesystem.workspac: unknown key; did you mean workspace?"),
        ({"imports": {5: "all"}}, "imports: expected names as keys; found 5"),
        ({"memory_mb": object()}, "expected a whole number of MiB; found a value of type object"),
        ({"name": "two\nlines"}, "a text on one line"),
        ({"description": "half of a character: \ud800"}, "description: expected text; found"),
        ({"origins": {}}, "a policy has no setting 'origins'"),
        ({"hints": {"a[b": ""}}, r"hints.a\[b: expected a refused name"),
    ],
)
def test_replace_refuses(changes, message):
    with pytest.raises(PolicyError, match=message):
        Policy.load("standard").replace(**changes)


def test_required_protection():
    policy = Policy.from_yaml("require: [seccomp, landlock or mount-namespace]")
    for one in ("landlock", "mount-namespace"):
        assert policy.missing_protection({"seccomp", one}) == ()
    assert policy.missing_protection({"rlimits"}) == ("seccomp", "landlock or mount-namespace")
