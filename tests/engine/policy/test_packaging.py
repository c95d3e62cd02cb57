"""The wheel and the sdist hold the package and the profiles, and an unpacked wheel finds them."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.alone import alone
from tests.shipped import PROFILES

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(not (ROOT / "setup.cfg").is_file(), reason="needs the source tree")


def test_every_package_is_listed():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "safeexec").rglob("*.py")}
    assert found | {"safeexec.policies"} == listed


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


@pytest.mark.slow
def test_the_wheel_is_built_to_the_same_bytes(tree, tmp_path, monkeypatch):
    """Whenever it is built, from files of whatever date."""
    pytest.importorskip("build")
    pytest.importorskip("wheel")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    wheels = []
    for name, date in (("one", 1_600_000_000), ("two", 1_650_000_000)):
        copy(tree, tmp_path / name)
        for path in (tmp_path / name).rglob("*"):
            os.utime(path, (date, date))
        build("--wheel", "--outdir", str(tmp_path / f"{name}-dist"), str(tmp_path / name))
        (wheel,) = (tmp_path / f"{name}-dist").glob("*.whl")
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]


def build(*arguments: str) -> None:
    """Without the network."""
    command = [sys.executable, "-m", "build", "--no-isolation", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def built(tmp_path_factory, tree) -> Path:
    """A directory with a wheel and an sdist of this tree."""
    out = tmp_path_factory.mktemp("dist")
    pytest.importorskip("build")
    pytest.importorskip("wheel")
    build("--outdir", str(out), str(tree))
    return out


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """The files a release is made of."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("safeexec", "policies"):
        copy(ROOT / name, tree / name)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).is_file():
            (tree / name).write_bytes((ROOT / name).read_bytes())
    return tree


def copy(source: Path, target: Path) -> None:
    """Source files only."""
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())


@pytest.mark.slow
def test_the_wheel(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"safeexec/policies/{name}.yaml" for name in PROFILES} <= names
    others = ("py.typed", "README.md", "policies/schema.json", "policies/resolved.json")
    assert {f"safeexec/{name}" for name in others} <= names
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "safeexec").rglob("*.py")} <= names
    assert not [name for name in names if not name.startswith(("safeexec/", "safeexec-"))]
    entry_points = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("entry_points.txt")))
    assert b"safeexec = safeexec.cli:main" in entry_points

    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = "from safeexec import Policy; print(Policy.load('data-analysis').files[0])"
    done = alone(code, cwd=tmp_path)
    assert done.stdout.strip() == str(tmp_path / "safeexec/policies/data-analysis.yaml"), done.stderr


@pytest.mark.slow
def test_the_sdist(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"policies/{name}.yaml" for name in PROFILES} <= names
    assert {"setup.cfg", "pyproject.toml", "safeexec/py.typed", "policies/schema.json"} <= names


@pytest.mark.slow
def test_an_editable_install_finds_the_profiles(tree, tmp_path):
    pytest.importorskip("wheel")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [*pip, "--ignore-installed", "--prefix", str(tmp_path), "--editable", str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (packages,) = tmp_path.glob("lib*/python*/site-packages")
    # Without the start of `site`: an editable install of this environment has a finder of the same name. And first: a
    # copy that is installed here would be found before it.
    code = f"""
import site, sys; site.addsitedir({str(packages)!r}); sys.meta_path.insert(0, sys.meta_path.pop()); site.main()
import safeexec.policies
from safeexec import Policy
print(Policy.load("standard").files[0])
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout.strip() == str(tree / "policies/standard.yaml"), done.stderr
