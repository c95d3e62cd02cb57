"""What a release is made of; `.ci/build` and `.ci/try_wheel` make it and try it."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
POLICIES = "safeexec.policies"

pytestmark = pytest.mark.skipif(not (ROOT / "setup.cfg").is_file(), reason="needs the source tree")


@pytest.fixture
def setup():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return setup


def test_every_package_and_every_file_of_data_is_listed(setup):
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "safeexec").rglob("*.py")}
    assert found | {POLICIES} == set(setup["options"]["packages"].split())
    listed, found = set(), set[Path]()
    for package, patterns in setup["options.package_data"].items():
        folder = ROOT / "policies" if package == POLICIES else ROOT.joinpath(*package.split("."))
        listed |= {path for pattern in patterns.split(", ") for path in folder.glob(pattern)}
    for folder in ("safeexec", "policies"):
        found |= {path for path in (ROOT / folder).rglob("[!.]*.*") if path.suffix not in (".py", ".pyc")}
    assert found <= listed
    assert ROOT / "safeexec/py.typed" in listed and ROOT / "policies/resolved.json" in listed


def test_the_pythons_that_are_tried_are_those_that_setup_names():
    versions = re.findall(r":: Python :: (3\.\d+)\n", (ROOT / "setup.cfg").read_text(encoding="utf-8"))
    first, last = versions[0], versions[-1]
    for name, wanted in (
        (".github/workflows/tests.yml", str(versions).replace("'", '"')),
        (".github/workflows/release.yml", str(versions).replace("'", '"')),
        ("README.md", f"Python {first} to {last}, or newer"),
        ("safeexec/docs/guide.md", f"CPython {first} to {last} are tried"),
    ):
        assert wanted in (ROOT / name).read_text(encoding="utf-8"), name


def test_the_release_uses_commits_not_tags():
    """A tag of an action can be moved to other code; a commit can not."""
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    uses = re.findall(r"uses: (.*)", text)
    assert len(uses) >= 8
    assert not [line for line in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", line)]
