"""Packages on request: wheels of a folder that the tests build by hand, as a user with a mirror has one."""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from safeexec import AsyncSandbox, Policy, PolicyError, Sandbox
from safeexec.api import packages
from safeexec.engine.policy.requirements import of_lock
from tests.alone import ran
from tests.footprint import pause

GADGET = """
import os

PTH, SITE = os.environ.get("PTH"), os.environ.get("SITE")
try:
    os.listdir("/etc")
    LOCKED = False
except OSError:
    LOCKED = True

def spin(times):
    import cog
    return cog.turn() * times
"""
FETCH = """
import sys
from safeexec import Sandbox
with Sandbox("standard", requirements=sys.argv[1:]) as sandbox:
    print(sandbox.run("import gadget; gadget.spin(2)").value)
"""


def wheel(folder: Path, name: str, files: dict[str, str], *, version: str = "1.0", needs: tuple[str, ...] = ()) -> Path:
    """A wheel of these files."""
    info = f"{name}-{version}.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        **files,
        f"{info}/METADATA": head + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join((*lines, f"{info}/RECORD,,", ""))
    place = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(place, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    with (folder / "index.html").open("a") as index:  # pip computes the hash of a file without one from 23.1 on
        index.write(
            f'<a href="{place.name}#sha256={hashlib.sha256(place.read_bytes()).hexdigest()}">{place.name}</a>\n'
        )
    return place


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels and nothing else, and a cache of this test's own."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder / "index.html"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wheel(folder, "cog", {"cog.py": "def turn(): return 21\n"})
    files = {
        "gadget/__init__.py": GADGET,
        "gadget/parts.py": "SIZE = 3\n",
        "gadget.pth": "import os; os.environ['PTH'] = 'read'\n",
        "sitecustomize.py": "import os; os.environ['SITE'] = 'read'\n",
        "json/__init__.py": "def loads(text): return 'not that of Python'\n",
    }
    wheel(folder, "gadget", files, needs=("cog>=1",))
    return folder


def test_a_package_is_fetched_and_imported_in_the_child_alone(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox("standard", requirements=["gadget==1.0"]) as sandbox, sandbox.session() as session:
        run = session.run
        assert run("import gadget\ngadget.spin(2)").value == 42
        assert run("from gadget.parts import SIZE\nSIZE").value == 3
        assert run("(gadget.LOCKED, gadget.PTH, gadget.SITE)").value == (True, None, None)
        assert run("import json\njson.loads('[1]')").value == [1]
        for closed in ("import cog", "import sitecustomize", "gadget.__builtins__"):
            assert not run(closed).ok, closed
        assert "gadget" in session.card()
        (branch,) = session.branch(1)
        assert branch.run("gadget.spin(1)").value == 21
    assert not {"gadget", "cog"} & sys.modules.keys()
    cache = mirror.parent / "cache" / "safeexec" / "packages"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert [name for name in os.listdir(cache) if name.startswith("fetching-")] == []

    monkeypatch.setenv("PIP_FIND_LINKS", str(mirror / "nowhere"))

    async def again() -> object:
        async with AsyncSandbox("confined-python", requirements=["gadget==1.0"]) as other:
            return (await other.run("import gadget, cog\ngadget.spin(1)")).value

    assert asyncio.run(again()) == 21, "what was fetched once needs no index"
    policy = Policy.load("standard").replace(requirements=["gadget==1.0"])
    _, place = packages.fetched(policy)
    assert Path(place, "cog.py").is_file()
    (Path(place).parent / "modules.json").write_bytes(b'{"cog": 1')
    with pytest.raises(PolicyError, match="is damaged: remove it"):
        packages.fetched(policy)
    with pytest.raises(PolicyError, match=r"gadget==1\.1 cannot be had as wheels.*PIP_FIND_LINKS"):
        Sandbox("standard", requirements=["gadget==1.1"]).open()


def test_what_a_policy_says_of_its_requirements_and_lists_that_contradict_themselves() -> None:
    policy = Policy.from_yaml("extends: standard\nrequirements: [gadget>=1, networkx]")
    answer = policy.why("gadget.parts")
    assert answer.allowed and "fetched when a sandbox starts" in answer.reason
    assert answer.rule == "<policy>:2"
    assert policy.why("requirements").value == "gadget>=1, networkx"
    card = json.loads(policy.card("json"))
    assert {"gadget", "networkx"} <= {*card["imports"]}
    assert Policy.from_yaml(policy.to_yaml()).digest == policy.digest != Policy.load("standard").digest
    with pytest.raises(PolicyError, match="required twice"):
        Policy().replace(requirements=["Ruamel.YAML", "ruamel-yaml==1"])
    with pytest.raises(PolicyError, match="all need one"):
        Policy().replace(requirements=["a==1 --hash=sha256:" + "0" * 64, "b==1"])
    with pytest.raises(PolicyError, match="at most 500"):
        Policy().replace(requirements=[f"a{number}" for number in range(501)])
    with pytest.raises(PolicyError):
        Policy().replace(requirements="gadget")  # type: ignore[arg-type]
    with Sandbox("standard") as sandbox, pytest.raises(PolicyError, match="cannot be changed for one session"):
        sandbox.session(requirements=["gadget"])


@pytest.mark.parametrize("line", ["gadget", "gadget==4.9.0", "zope.interface==1"])
def test_a_requirement_that_a_policy_adds_to_another_is_told_like_any(line: str) -> None:
    policy = Policy.from_yaml(f"extends: data-analysis\nrequirements:\n  add: [{line}]")
    module = "gadget" if line.startswith("gadget") else "zope_interface"
    answer = policy.why(module)
    assert answer.allowed and answer.rule == "<policy>:3"


@pytest.mark.parametrize(
    "line",
    [
        *("--index-url=https://example.invalid/simple", "-r other.txt", "../x", "./x.whl", "a @ file:///etc/passwd"),
        *("a@https://example.invalid/a.whl", "git+https://example.invalid/a", "https://example.invalid/a.whl"),
        *("a\n--index-url=https://example.invalid", "a==1\r\nb", "a\0b", "a; python_version > '3'"),
        *("a==1 --global-option=x", "a==1 --hash=md5:" + "0" * 32, "a --hash=sha256:" + "0" * 64 + "\n-r x"),
        *("a[b;c]", "a[", "a==../x", "a==1,,b", "", "-", "ä", "a" * 101),
        *("a" * 10_000_000, "[" * 10_000_000, "a" + "==1," * 2_000_000),
    ],
    ids=lambda line: line[:20].encode("unicode_escape").decode() or "empty",
)
def test_what_is_no_name_is_refused(line: str) -> None:
    with pytest.raises(PolicyError, match="requirements") as told:
        Policy().replace(requirements=[line])
    assert len(str(told.value)) < 1000
    with pytest.raises(PolicyError):
        _ = Sandbox("standard", requirements=[line]).policy


def test_a_lock_file_says_which_bytes(mirror: Path, tmp_path: Path) -> None:
    hashes = {file.name.split("-")[0]: hashlib.sha256(file.read_bytes()).hexdigest() for file in mirror.glob("*.whl")}
    lock = tmp_path / "requirements.lock"
    text = "# made by hand\n" + "".join(
        f"{name}==1.0 \\\n    --hash=sha256:{'0' * 64} \\\n    --hash=sha256:{digest}\n    # via nothing\n"
        for name, digest in hashes.items()
    )
    lock.write_text(text)
    assert len(of_lock(text)) == 2
    with Sandbox("standard", requirements=lock) as sandbox:
        assert sandbox.run("import gadget, cog\ngadget.spin(1) == cog.turn()").value is True
    lock.write_text(text.replace(hashes["cog"], "1" * 64))
    with pytest.raises(PolicyError, match="cannot be had as wheels"):
        Sandbox("standard", requirements=lock).open()
    with pytest.raises(PolicyError, match="no lock file can be read"):
        Sandbox("standard", requirements=tmp_path / "missing.lock").open()


def test_nothing_is_built_whatever_the_metadata_says(mirror: Path, tmp_path: Path) -> None:
    """A source release of a mirror, and a wheel that names one by its address: both would run their setup.py."""
    mark = tmp_path / "built"
    script = f"open({str(mark)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='evil', version='1.0')\n"
    (tmp_path / "setup.py").write_text(script)
    archive = mirror / "evil-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "setup.py", "evil-1.0/setup.py")
    wheel(mirror, "lure", {"lure.py": ""}, needs=(f"evil @ {archive.as_uri()}",))
    good = wheel(mirror, "plain", {"plain.py": ""})
    wheel(mirror, "address", {"address.py": ""}, needs=(f"plain @ {good.as_uri()}",))
    for name in ("evil", "lure"):
        with pytest.raises(PolicyError, match="cannot be had as wheels"):
            Sandbox("standard", requirements=[name]).open()
        assert not mark.exists()
    with pytest.raises(PolicyError, match="asked for by its address"):
        Sandbox("standard", requirements=["address"]).open()


def test_what_the_host_has_is_not_fetched() -> None:
    pytest.importorskip("mpmath", reason="mpmath is not installed: pip install '.[data]'")
    with Sandbox("calculator", requirements=["mpmath", "pluggy"]) as sandbox:
        assert sandbox.run("import mpmath\nint(mpmath.mpf(2) * 21)").value == 42
        assert sandbox.run("import pluggy\npluggy.PluginManager('x').project_name").value == "x"


def test_two_fetch_at_once_and_one_is_killed(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = mirror.parent / "cache" / "safeexec" / "packages"
    command = [sys.executable, "-c", FETCH, "gadget"]
    killed = subprocess.Popen(command)
    try:
        while killed.poll() is None and not (cache.is_dir() and os.listdir(cache)):
            pause()
        left = os.listdir(cache)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert len(left) == 1 and left[0].startswith("fetching-")
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in both] == ["42\n", "42\n"]
    (place,) = [name for name in os.listdir(cache) if name not in left]
    assert re.fullmatch(r"[0-9a-f]{32}", place)
    os.utime(cache / left[0], (0, 0))
    monkeypatch.setattr(packages, "FETCH_SECONDS", 0.01)
    with pytest.raises(PolicyError, match=r"no answer for 0\.01 s"):
        Sandbox("standard", requirements=["missing"]).open()
    assert left[0] not in os.listdir(cache), "the next fetch sweeps what a killed one has left"


def test_a_cache_that_others_may_write_is_refused(mirror: Path) -> None:
    cache = mirror.parent / "cache" / "safeexec" / "packages"
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    with pytest.raises(PolicyError, match="others may write there"):
        Sandbox("standard", requirements=["gadget"]).open()


def test_a_cache_that_cannot_be_made_names_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the variable names no absolute path, it is the user's own directory of caches."""
    (tmp_path / ".cache").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    with pytest.raises(PolicyError, match=f"{tmp_path}/.cache/safeexec/packages cannot be made .*XDG_CACHE_HOME"):
        Sandbox("standard", requirements=["gadget"]).open()


def test_without_a_pip_it_is_the_one_that_python_brings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "import_path", lambda: [str(tmp_path)])
    if (Path(os.__file__).parent / "ensurepip" / "_bundled").is_dir():
        first, pip = packages._pip_path()
        assert first == str(tmp_path) and zipfile.is_zipfile(pip)
    bundled = tmp_path / "brought" / "ensurepip" / "_bundled"
    bundled.mkdir(parents=True)
    for name in ("a.txt", "setuptools-65-py3-none-any.whl", "pip-9-py3-none-any.whl", "z.whl"):
        (bundled / name).touch()
    monkeypatch.setattr(os, "__file__", str(tmp_path / "brought" / "os.py"))
    assert packages._pip_path() == [str(tmp_path), str(bundled / "pip-9-py3-none-any.whl")]
    monkeypatch.setattr(os, "__file__", str(tmp_path / "os.py"))
    with pytest.raises(PolicyError, match=r"fetched by pip, and .* has none"):
        packages._pip_path()


@pytest.mark.slow
def test_the_real_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    download = [sys.executable, "-m", "pip", "download", "--no-deps", "--retries=0", "-qd", str(tmp_path)]
    if ran([*download, "humanize==4.9.0"]).returncode:
        pytest.skip("no package index is in reach")
    with Sandbox("standard", requirements=["humanize==4.9.0"]) as sandbox:
        assert sandbox.run("import humanize\nhumanize.naturalsize(10**9)").value == "1.0 GB"


def reported(name: str, hashes: dict[str, str]) -> object:
    """What pip says that it would install."""
    found = {"metadata": {"name": name, "version": "1"}, "download_info": {"archive_info": {"hashes": hashes}}}
    return {"install": [found]}


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (None, "what pip reports cannot be read"),
        ({"install": [{}]}, "what pip reports cannot be read"),
        (reported("a", {}), "the index gives no version and hash for 'a'"),
        (reported("a -r /x", {"sha256": "0" * 64}), "the index gives no version and hash for 'a -r /x'"),
        (reported("a", {"sha256": "0" * 60 + "\n -r"}), "the index gives no version and hash for 'a'"),
    ],
)
def test_what_an_index_says_is_read(mirror: Path, monkeypatch: pytest.MonkeyPatch, report: object, told: str) -> None:
    """Names, versions and hashes become lines for pip."""

    def answers(fresh: str, arguments: tuple[str, ...], _: object) -> None:
        assert "--dry-run" in arguments, "nothing is fetched"
        if report is not None:
            Path(fresh, "report.json").write_text(json.dumps(report))

    monkeypatch.setattr(packages, "_pip", answers)
    with pytest.raises(PolicyError, match=f"requirements: {told}"):
        packages.fetched(Policy.load("standard").replace(requirements=["gadget"]))
    assert os.listdir(mirror.parent / "cache" / "safeexec" / "packages") == []


@pytest.mark.parametrize("call", ["tempfile.mkdtemp", "os.chmod"])
def test_a_full_cache_is_told_and_keeps_nothing(mirror: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A file system that is full, or was made read-only with the cache in it."""
    cache = packages._cache()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(packages, "_pip", lambda *_: None)
    monkeypatch.setattr(packages, "_resolve", lambda *_: [])
    monkeypatch.setattr(call, refuse)
    with pytest.raises(PolicyError, match=f"cannot be fetched into {cache}: .*Read-only"):
        packages.fetched(Policy.load("standard").replace(requirements=["gadget"]))
    assert os.listdir(cache) == []


def test_a_release_without_a_list_of_its_files_brings_nothing(tmp_path: Path) -> None:
    assert packages._modules(str(tmp_path)) == []
