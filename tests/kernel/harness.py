"""A sandbox without a host: plan, zygote, one locked-down child that runs one source, and what came of it.

`run` starts a process of its own for each case. That may first become an ordinary user, or lose the right to make
namespaces by a filter like Docker's, before anything is probed or planned.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tests.engine.linux.bpf_machine import decode

ORDINARY = 61234
_BOOT = "import sys; sys.path[:] = {path!r}; from tests.kernel.harness import main; main()"
_ROOT = Path(__file__).resolve().parents[2]


class Outcome(NamedTuple):
    """`status` is the child's exit code, negative for a signal; `mechanisms` maps a name to whether it is active."""

    output: str
    status: int
    mechanisms: dict[str, bool]
    workspace: str


def run(source: str, profile: str = "confined-python", *, secret: str = "", **situation: bool) -> Outcome:
    """Run `source` in a child of `profile`, a name or YAML.

    It sees `WORKSPACE`, `SECRET` (a path outside) and `HOST` (a pid). `situation` is as for `start`.
    """
    with tempfile.TemporaryDirectory(prefix="safeexec-kernel-") as base:
        Path(base, "secret").write_text(secret)
        host = start(source, profile, base, **situation)
        output, errors = host.communicate(timeout=60)
        assert host.returncode == 0, errors
        return Outcome(**json.loads(output.splitlines()[-1]))


def start(
    source: str, profile: str, base: str, *, ordinary: bool = False, namespaces: bool = True, strict: bool = False
) -> subprocess.Popen[str]:
    """The host of one case as a process; `base` is a directory that it may use.

    With `strict` the first refused call kills the child (status -31): a program that ends made none.
    """
    os.chmod(base, 0o755)
    if ordinary and os.geteuid() == 0:
        os.chown(base, ORDINARY, ORDINARY)
    job = {"source": source, "profile": profile, "base": base}
    job |= {"ordinary": ordinary, "namespaces": namespaces, "strict": strict}
    path = [str(_ROOT), *(os.path.abspath(entry) for entry in sys.path if entry)]
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT.format(path=path)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    host = subprocess.Popen(command, **pipes, env={}, text=True)
    host.stdin.write(json.dumps(job) + "\n")
    host.stdin.flush()
    return host


def main() -> None:
    """The host of one case."""
    job = json.loads(sys.stdin.readline())
    from safeexec.engine.host.startup.library_paths import library_paths

    if job["ordinary"] and os.geteuid() == 0:
        _become_ordinary(job["base"], library_paths((str(_ROOT),)))
    elif os.geteuid() == 0:
        os.setgroups([os.getgid()])  # as most have that became root by a login
    if not job["namespaces"]:
        refuse_namespaces()
    from safeexec.engine.host.startup import confinement
    from safeexec.engine.policy.model import Policy

    confinement._SHARED_PROCESSES = 64  # to fork a thousand times is all the same, and takes longer

    workspaces = os.path.join(job["base"], "workspaces")
    workspace = os.path.join(workspaces, "one")
    os.makedirs(workspace, 0o700)
    profile = job["profile"]
    policy = Policy.from_yaml(profile) if ":" in profile else Policy.load(profile)
    decided = confinement.plan(policy, workspaces=workspaces)
    if decided.user:
        os.chown(workspaces, *decided.user)
        os.chown(workspace, *decided.user)
    output, report = os.memfd_create("output"), os.memfd_create("report")
    os.write(output, b"")
    pid = os.fork()
    if pid == 0:
        _zygote(job, decided, workspace, output, report)
    os.waitpid(pid, 0)
    told = json.loads(os.pread(report, 1 << 20, 0) or b"{}")
    text = os.pread(output, 1 << 20, 0).decode("utf-8", "replace")
    print(json.dumps({"output": text, "workspace": workspace, "status": 1, "mechanisms": {}} | told))


def _become_ordinary(base: str, libraries: Any) -> None:
    """Without rights, and with an interpreter that such a user can read, wherever the tests found it."""
    from safeexec.engine.linux import namespaces, processes
    from safeexec.engine.linux.libc import make

    make([namespaces.unsharing("mount")])
    namespaces.enter_new_root()
    for path in (*libraries[0], "/proc"):
        namespaces.bind(path, devices=True, writable=path == "/proc")
    for device in ("/dev/null", "/dev/urandom"):
        namespaces.bind(device, devices=True)
    os.makedirs("/tmp", 0o755, exist_ok=True)
    namespaces.bind(base, writable=True)
    for place, target in libraries[1]:
        if not os.path.lexists(place):
            os.makedirs(os.path.dirname(place), 0o755, exist_ok=True)
            os.symlink(target, place)
    namespaces.leave_old_root()
    os.setgroups([])
    os.setresgid(ORDINARY, ORDINARY, ORDINARY)
    os.setresuid(ORDINARY, ORDINARY, ORDINARY)
    make([processes.setting_dumpable(True)])


def refuse_namespaces() -> None:
    """What Docker's default filter does: no unshare, no clone into namespaces, no mount."""
    from safeexec.engine.linux import seccomp
    from safeexec.engine.linux.namespaces import KINDS
    from safeexec.engine.syscalls import Check, allow, allow_if, refuse
    from safeexec.engine.syscalls.numbers import numbers

    bits = 0
    for bit in KINDS.values():
        bits |= bit
    rules = dict.fromkeys(numbers(), allow())
    rules |= dict.fromkeys(("unshare", "mount", "setns", "pivot_root", "mount_setattr"), refuse(1))
    rules["clone3"] = refuse(38)
    rules["clone"] = allow_if((Check(0, bits, 0),), error=1)
    seccomp.install(rules)


def _zygote(job: dict[str, Any], decided: Any, workspace: str, output: int, report: int) -> None:
    host = os.getppid()
    try:
        from safeexec.engine.zygote.confine import enter

        mechanisms = enter(decided.zygote)
        from safeexec.engine.child.process import substitutes
        from safeexec.engine.child.process.lockdown import Lockdown

        substitutes.install()
        lockdown = Lockdown(decided.child)
        if job["strict"]:
            _kill_instead_of_refusing(lockdown)
        lockdown.limit()
        mechanisms += lockdown.mechanisms
        pid = os.fork()
        if pid == 0:
            own = workspace if decided.child.files == "write" else None
            _child(job, lockdown, own, output, host)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        told = {"status": status, "mechanisms": {m.name: m.active for m in mechanisms}}
        os.write(report, json.dumps(told).encode())
    except BaseException as error:
        os.write(output, f"zygote: {type(error).__name__}: {error}".encode())
    finally:
        os._exit(0)


def _kill_instead_of_refusing(lockdown: Any) -> None:
    from safeexec.engine.linux import bpf, seccomp

    program = decode(lockdown._filter.data.raw)
    killing = [
        bpf.Instruction(bpf.RETURN, 0, 0, seccomp.KILL_PROCESS)
        if one.code == bpf.RETURN and one.k == seccomp.ERRNO | errno.EPERM
        else one
        for one in program
    ]
    lockdown._filter = seccomp.prepare(killing)
    lockdown.measure()


def _child(job: dict[str, Any], lockdown: Any, workspace: str | None, output: int, host: int) -> None:
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(workspace or "/")
    if workspace is not None:
        os.environ["HOME"] = workspace
    lockdown.apply(workspace=workspace)
    import traceback

    names = {"__name__": "__main__", "WORKSPACE": workspace, "HOST": host}
    names["SECRET"] = os.path.join(job["base"], "secret")
    status = 0
    try:
        exec(compile(job["source"], "<guest>", "exec"), names)
    except BaseException:
        traceback.print_exc()
        status = 3
    sys.stdout.flush()
    os._exit(status)
