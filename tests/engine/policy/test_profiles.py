"""Where profiles come from, and that the shipped files agree with one another."""

from __future__ import annotations

import builtins
import os
import re
from pathlib import Path

import pytest

from safeexec import Policy, PolicyError
from safeexec.engine.policy import schema
from safeexec.engine.policy.extends import read_profile
from safeexec.engine.policy.places import shipped_directory
from safeexec.engine.policy.profiles import prepared, resolved
from safeexec.reports import reference
from tests.alone import alone
from tests.shipped import PINNED, PROFILES

SHIPPED = {*PROFILES, *PINNED}


def test_the_profiles_of_the_installation_are_no_others(tmp_path, monkeypatch):
    for name in ("calculator", "own"):
        (tmp_path / f"{name}.yaml").write_text("extends: standard\nlimits: {threads: 3}\n")
    monkeypatch.setenv("SAFEEXEC_POLICY_PATH", os.pathsep.join(["/nowhere", str(tmp_path)]))
    assert Policy.load("own").limits.threads == 3
    assert {"own", *SHIPPED} == Policy.profiles().keys()
    assert Policy.profiles()["calculator"].parent == tmp_path
    shipped = Policy.profiles(shipped=True)
    assert (shipped.keys(), shipped["calculator"].parent) == (SHIPPED, Path(shipped_directory()))


def test_the_shipped_profiles_as_they_are_resolved_in_advance_and_read():
    assert {path.stem for path in Path(shipped_directory()).glob("*.yaml")} == SHIPPED
    for name in SHIPPED:
        policy = Policy.load(name)
        assert policy.name == name
        assert policy.description
        held = {"rlimits", "no-new-privs", "seccomp", "landlock", "separate-files"}
        assert policy.missing_protection(held) == ()
        assert not [finding for finding in policy.check() if not finding.harmless]
        prepared, read = Policy.load(name), read_profile(f"{shipped_directory()}/{name}.yaml", Policy)
        assert prepared == read
        assert prepared.origins == read.origins
        assert prepared.files == read.files


def test_the_generated_files_are_current_and_the_schema_describes_every_setting():
    directory = Path(shipped_directory())
    shipped = (directory / "schema.json").read_text()
    newer = "|".join(name for name in dir(builtins) if f'"{name}"' not in shipped)
    generated = re.sub(rf'^ *"(?:{newer})",\n', "", schema.text(), flags=re.MULTILINE) if newer else schema.text()
    assert generated == shipped, "less the builtins that this Python has, and none had when it was written"
    assert (directory / "resolved.json").read_text() == prepared()
    assert reference.BEGIN + reference.text() + reference.END in (directory / "README.md").read_text()
    whole = schema.schema()
    for name, part in [("", whole), *whole["$defs"].items()]:
        for key, setting in part["properties"].items():
            assert setting.get("description") or "$ref" in setting, f"{name}.{key}"


def test_a_shipped_profile_that_was_edited_is_read_again(tmp_path, monkeypatch):
    for path in Path(shipped_directory()).iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    profile = tmp_path / "calculator.yaml"
    assert resolved(str(tmp_path), "calculator", Policy) is not None
    assert resolved(str(tmp_path), "standard", Policy) is not None
    profile.write_text(profile.read_text().replace("memory_mb: 256", "memory_mb: 300"))
    assert resolved(str(tmp_path), "calculator", Policy) is None
    assert resolved(str(tmp_path), "standard", Policy) is None
    (tmp_path / "resolved.json").unlink()
    assert resolved(str(tmp_path), "deterministic", Policy) is None


def test_loading_a_shipped_profile_needs_no_yaml():
    code = "import sys, safeexec; safeexec.Policy.load('data-analysis').language_plan(); print('yaml' in sys.modules)"
    done = alone(code, check=True)
    assert done.stdout == "False\n"


def test_a_changed_file_is_loaded_again(tmp_path):
    base, child = tmp_path / "base.yaml", tmp_path / "child.yaml"
    base.write_text("limits: {threads: 1}\n")
    child.write_text("extends: ./base.yaml\n")
    assert Policy.load(child).limits.threads == 1
    base.write_text("limits: {threads: 2}\n")  # at once, and as long as before
    assert Policy.load(child).limits.threads == 2
    for path in (base, child, shipped_directory()):
        os.utime(path, (0, 0))
    assert Policy.load(child) is Policy.load(child)
    base.write_text("limits: {threads: 12}\n")
    assert Policy.load(child).limits.threads == 12
    base.unlink()
    with pytest.raises(PolicyError, match=r"base\.yaml"):
        Policy.load(child)


def test_a_profile_that_hides_one_of_its_name_may_extend_it(tmp_path, monkeypatch):
    (tmp_path / "calculator.yaml").write_text("extends: calculator\nlimits: {threads: 3}\n")
    monkeypatch.setenv("SAFEEXEC_POLICY_PATH", str(tmp_path))
    policy = Policy.load("calculator")
    assert policy.limits.threads == 3
    assert policy.files == (str(tmp_path / "calculator.yaml"), f"{shipped_directory()}/calculator.yaml")
    assert Policy.from_yaml("extends: calculator").limits.threads == 3
    # What is shipped extends what is shipped, resolved in advance or not.
    for standard in (Policy.load("standard"), read_profile(f"{shipped_directory()}/standard.yaml", Policy)):
        assert standard.limits.threads == 16
        assert standard.files[1] == f"{shipped_directory()}/calculator.yaml"


def test_a_profile_that_comes_into_the_search_is_seen(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        directory.mkdir()
        os.utime(directory, (0, 0))
    child = second / "child.yaml"
    (second / "base.yaml").write_text("limits: {threads: 1}\n")
    child.write_text("extends: base\n")
    for path in (second / "base.yaml", child, second, shipped_directory()):
        os.utime(path, (0, 0))
    monkeypatch.setenv("SAFEEXEC_POLICY_PATH", f"{first}{os.pathsep}{second}")
    assert Policy.load("child").limits.threads == 1
    (first / "base.yaml").write_text("limits: {threads: 2}\n")
    assert Policy.load("child").limits.threads == 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("standart", "did you mean standard"),
        ("/nowhere/x.yaml", "there is no policy file /nowhere/x.yaml"),
        ("./standard.yaml", "/standard.yaml; the profile is called standard"),
        ("/", "/ is no file"),
        ("mine", "no policy is called 'mine'; the file here is ./mine.yaml"),
        ("mine.json", "mine.json here is no policy: a policy is a file whose name ends in .yaml or .yml"),
        ("yours", "SAFEEXEC_POLICY_PATH names /nowhere, which is no directory"),
    ],
)
def test_a_name_that_is_not_found_says_where_it_may_be(tmp_path, monkeypatch, name, told):
    """The current directory is never searched."""
    for file in ("mine.yaml", "mine.json"):
        (tmp_path / file).write_text("extends: calculator\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAFEEXEC_POLICY_PATH", "/nowhere")
    with pytest.raises(PolicyError, match=re.escape(told)):
        Policy.load(name)
    assert Policy.load("./mine.yaml").limits.memory_mb == 256


def test_text_extends_a_name_and_no_path(tmp_path):
    """An error about another file quotes it, and whoever wrote the text may not be one who may read that file."""
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: hunter2\n")
    for path in (secret, f"./{secret.name}", "secret.yaml"):
        with pytest.raises(PolicyError, match="extends a profile by its name") as refusal:
            Policy.from_yaml(f"extends: {path}\n")
        assert "hunter2" not in str(refusal.value)
