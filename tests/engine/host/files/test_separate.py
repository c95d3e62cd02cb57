"""Sessions of one sandbox keep their files apart, also where the kernel has no Landlock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from safeexec import Policy, ProtectionError, Sandbox, SandboxBusy, Session
from safeexec.engine.linux import probe
from tests.engine.host.startup.machines import lacking

pytestmark = pytest.mark.skipif(
    not (probe.probe().mount.works and probe.probe().own_mount.works), reason="without Landlock it takes namespaces"
)
NAMESPACES = ("user", "mount", "pid", "net", "ipc", "uts", "cgroup", "own_mount")


@pytest.fixture(
    scope="module",
    params=[(), ("landlock",), NAMESPACES, (*NAMESPACES, "root")],
    ids=["Landlock", "mount namespaces", "Landlock alone", "Landlock alone, one user"],
)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if "landlock" not in request.param and not probe.probe().landlock.works:
        pytest.skip("no Landlock here")
    with pytest.MonkeyPatch.context() as patch:
        lacking(patch, *request.param)
        opened = Sandbox("confined-python").open()
    with opened:
        yield opened


def _secret(session: Session) -> str:
    where = session.run("import os\nopen('mine.txt', 'w').write('mine')\nos.path.abspath('mine.txt')").check().value
    assert isinstance(where, str)
    return where


_ATTEMPTS = """
import os, shutil
where = {where!r}
region, root = os.path.dirname(os.path.dirname(where)), os.path.dirname(os.path.dirname(os.path.dirname(where)))
up = "/".join([".."] * 40) + where
near = os.path.join("..", "..", os.path.relpath(where, root))
acts = [lambda path=path, mode=mode: open(path, mode).close() for path in (where, up, near) for mode in "rwax"]
acts += [lambda: os.listdir(region), lambda: os.unlink(where)]
acts += [lambda: os.rename(where, "got"), lambda: os.link(where, "got")]
acts += [lambda: (os.symlink(where, "link"), open("link").read()), lambda: os.mkdir(region + "/more")]
acts += [lambda: shutil.copytree(region, "copy"), lambda: os.truncate(where, 0)]
done = []
for number, act in enumerate(acts):
    try:
        act()
    except OSError:
        continue
    done.append(number)
try:
    others = os.listdir(root)
except OSError:
    others = []
done, os.path.basename(region) in others
"""


def test_who_knows_the_path_reaches_no_file_of_another_session(sandbox: Sandbox) -> None:
    with sandbox.session() as alice, sandbox.session() as bob:
        where = _secret(alice)
        assert bob.run(_ATTEMPTS.format(where=where)).check().value == ([], False)
        assert alice.run("open('mine.txt').read()").value == "mine"
        assert bob.run("open('own.txt', 'w').write('of bob'); open('own.txt').read()").check().value == "of bob"
        bob.write_file("given.txt", "by the host")
        assert bob.run("import os\nopen(os.path.abspath('given.txt')).read()").value == "by the host"


_BY_PATH = """
import os
where, done = {where!r}, []
for number, act in enumerate((os.stat, lambda path: os.chmod(path, 0o600), os.utime)):
    try:
        act(where)
    except OSError:
        continue
    done.append(number)
done
"""


def test_the_protection_says_what_keeps_them_apart_and_what_a_path_that_is_known_gives(sandbox: Sandbox) -> None:
    """Landlock has no say over a look, a mode and times."""
    with sandbox.session() as alice, sandbox.session() as bob:
        done = bob.run(_BY_PATH.format(where=_secret(alice))).check().value
        told = " ".join(row.detail for row in bob.protection if row.active)
        assert bool(done) == ("what they know by path can be looked up" in told)
        assert ({1, 2} <= set(done)) == ("its mode and times changed" in told)
        assert alice.run("open('mine.txt').read()").value == "mine"
    (row,) = (row for row in sandbox.protection if row.name == "separate-files")
    assert row.active
    assert ("each branch" in row.detail) != ("branches of one session can" in row.detail)


_BY_PROCESS = """
import os, signal
where, alice = {where!r}, {pid}
own, done = os.getpid(), []
for pid in {{alice, os.getppid(), *range(1, 100)}} - {{own, 0}}:
    proc = f"/proc/{{pid}}"
    ways = [f"{{proc}}/root{{where}}", f"{{proc}}/cwd/mine.txt", f"{{proc}}/mem", f"{{proc}}/environ"]
    acts = [lambda path=path: open(path, "rb").read(1) for path in ways]
    acts += [lambda: os.listdir(f"{{proc}}/fd"), lambda: os.kill(pid, signal.SIGSTOP), lambda: os.pidfd_open(pid)]
    for number, act in enumerate(acts):
        try:
            act()
        except OSError:
            continue
        done.append((pid, number))
for fd in range(3, 256):
    for path in ("mine.txt", "../w/mine.txt", "/".join([".."] * 40) + where):
        try:
            done.append((fd, os.open(path, os.O_RDONLY, dir_fd=fd)))
        except OSError:
            continue
done
"""


def test_no_other_process_leads_to_a_file_of_another_session(sandbox: Sandbox) -> None:
    with sandbox.session() as alice, sandbox.session() as bob:
        where, pid = _secret(alice), alice.run("import os\nos.getpid()").value
        assert bob.run(_BY_PROCESS.format(where=where, pid=pid)).check().value == []
        assert alice.run("open('mine.txt').read()").value == "mine"


def test_where_nothing_keeps_them_apart_sessions_take_turns_unless_a_policy_accepts_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking(monkeypatch, "landlock", "own_mount")
    with Sandbox("confined-python") as sandbox:
        with sandbox.session() as first:
            _secret(first)
            (branch,) = first.branch(1)
            branch.close()
            with pytest.raises(SandboxBusy, match="one session with files at a time"):
                sandbox.session()
            assert first.run("open('mine.txt').read()").value == "mine"
        assert sandbox.run("import os\nos.listdir()").value == []
        assert sandbox.run("1 + 1").value == 2
    with Sandbox("calculator") as sandbox, sandbox.session() as one, sandbox.session() as two:
        assert (one.run("1").value, two.run("2").value) == (1, 2)
    policy = Policy.load("confined-python").replace(require=["seccomp"])
    with Sandbox(policy) as sandbox, sandbox.session() as one, sandbox.session() as two:
        assert two.run(f"open({_secret(one)!r}).read()").value == "mine"
        rows = {row.name: row for row in sandbox.protection}
        assert not rows["separate-files"].active
    policy = policy.replace(require=["seccomp", "landlock"])
    with pytest.raises(ProtectionError, match="landlock"), Sandbox(policy):
        pass
