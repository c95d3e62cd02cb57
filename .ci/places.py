"""Where people run it, emulated: each place's filter, mounts and limits, and what the shipped profiles do in it.

python .ci/places.py [PLACE…]            as root, by an ordinary user; without it those with mounts are left out
python .ci/places.py PLACE -- COMMAND…   one command under the filter of a place

In each, the profiles take steps, undo a killed step, roll back, branch, refuse, and keep the files of two sessions
apart; where nothing can hold guest code, opening a sandbox must fail and name what is missing.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from safeexec import Sandbox, SandboxError
from safeexec.engine.linux import seccomp
from safeexec.engine.linux.namespaces import KINDS
from safeexec.engine.syscalls import Check, Rule, allow, allow_if, refuse
from safeexec.engine.syscalls.numbers import numbers

USER = 65533
SECONDS = 300
INT = 0xFFFFFFFF
Rules = dict[str, Rule]
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
CAPABLE = (
    "mount umount2 pivot_root mount_setattr fsopen fsconfig fsmount fspick move_mount open_tree setns sethostname "
    "setdomainname bpf perf_event_open userfaultfd open_by_handle_at keyctl add_key request_key kexec_load init_module "
    "finit_module delete_module reboot swapon swapoff acct quotactl syslog vhangup chroot clock_settime settimeofday"
)
"""What the default profile of Docker and Podman allows to holders of a capability alone, or not at all."""


def other_than(index: int, value: int) -> list[tuple[Check, ...]]:
    """Checks of which one holds where an argument is not `value`: a bit of it differs."""
    return [(Check(index, 1 << bit, (value ^ 1 << bit) & 1 << bit),) for bit in range(32)]


def no_namespaces(rules: Rules, error: int = errno.EPERM) -> None:
    rules["unshare"] = refuse(error)
    rules["clone3"] = refuse(errno.ENOSYS)
    rules["clone"] = allow_if((Check(0, sum(KINDS.values()), 0),), error=error)


def default_container(rules: Rules) -> None:
    no_namespaces(rules)
    rules |= {name: refuse(errno.EPERM) for name in CAPABLE.split()}


def no_landlock(rules: Rules) -> None:
    rules |= dict.fromkeys(LANDLOCK, refuse(errno.ENOSYS))


def old_container(rules: Rules) -> None:
    default_container(rules)
    no_landlock(rules)


def gvisor(rules: Rules) -> None:
    """Neither Landlock nor notifications: operation 3 asks for their size, flag 8 for a listener."""
    no_landlock(rules)
    plain = [(Check(0, INT, operation), Check(1, 8, 0)) for operation in (0, 1, 2)]
    rules["seccomp"] = allow_if(*plain, error=errno.EINVAL)


def gvisor_without_namespaces(rules: Rules) -> None:
    gvisor(rules)
    no_namespaces(rules)


def apparmor(rules: Rules) -> None:
    no_namespaces(rules, errno.EACCES)


def apparmor_inside(rules: Rules) -> None:
    """As on Ubuntu 24.04: the namespace opens, and what one would do in it is refused."""
    rules |= dict.fromkeys(("mount", "umount2", "pivot_root", "sethostname"), refuse(errno.EACCES))


def function_service(rules: Rules) -> None:
    no_landlock(rules)
    no_namespaces(rules)
    rules["seccomp"] = refuse(errno.EPERM)
    rules["prctl"] = allow_if(*other_than(0, 22), error=errno.EPERM)


def no_scheduler(rules: Rules) -> None:
    rules["sched_getscheduler"] = refuse(errno.ENOSYS)


class Place(NamedTuple):
    """`mounts`: lines of a shell that root runs first. `refusal`: what an error there must name."""

    rules: Callable[[Rules], None] | None = None
    mounts: str = ""
    refusal: str | None = None
    descriptors: int | None = None


READ_ONLY = "mount -o remount,bind,ro /"
PLACES = {
    "plain": Place(),
    "default-container": Place(default_container),
    "default-container-without-landlock": Place(old_container, refusal=r"[Ll]andlock|namespace"),
    "apparmor": Place(apparmor),
    "apparmor-inside": Place(apparmor_inside),
    "gvisor": Place(gvisor),
    "gvisor-without-namespaces": Place(gvisor_without_namespaces, refusal=r"[Ll]andlock|namespace"),
    "function-service": Place(function_service, refusal="seccomp"),
    "no-scheduler": Place(no_scheduler),
    "read-only-root": Place(default_container, f"mount --bind /tmp /tmp; {READ_ONLY}"),
    "nothing-writable": Place(default_container, READ_ONLY, r"TMPDIR|writable|read-only|temporary directory"),
    "hidepid": Place(default_container, "mount -t proc -o hidepid=2 proc /proc"),
    "few-descriptors": Place(default_container, descriptors=256),
}


def enter(place: Place) -> None:
    """Put this process under the limits and the filter of a place."""
    if place.descriptors is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (place.descriptors, place.descriptors))
    if place.rules is not None:
        rules = dict.fromkeys(numbers(), allow())
        place.rules(rules)
        seccomp.install(rules)


def problems() -> Iterator[str]:
    """What does not work here, a line each; a refusal to open a sandbox begins with `refused`."""
    pandas = ["data-analysis"] if find_spec("pandas") else []
    for profile in ("calculator", "standard", "plugin", "deterministic", *pandas, "confined-python"):
        try:
            with Sandbox(profile) as sandbox, sandbox.session() as session, sandbox.session() as other:
                yield from (f"{profile}: {problem}" for problem in used(session, other))
        except SandboxError as error:
            yield f"refused: {profile}: {type(error).__name__}: {error}"


def used(session: Any, other: Any) -> Iterator[str]:
    """What is wrong with two sessions of a sandbox."""
    session.run("x = [1, 2, 3]").check()
    killed = session.run("x.append(4)\nwhile True: pass", timeout=0.5)
    if (killed.outcome, session.get("x")) != ("timeout", [1, 2, 3]):
        yield f"after a kill ({killed.outcome}, {killed.state}) x is {session.get('x')}"
    session.checkpoint("here")
    session.run("x = 0").check()
    session.rollback("here")
    branches = session.branch(2)
    if any(one.get("x") != [1, 2, 3] for one in (session, *branches)):
        yield "a rollback or a branch has not the state that it goes back to"
    for branch in branches:
        branch.close()
    if session.run("open('/etc/passwd').read()").ok:
        yield "a file of the system was read"
    if session.policy.filesystem.workspace != "none":
        yield from apart(session, other)


def apart(session: Any, other: Any) -> Iterator[str]:
    session.run("open('own.txt', 'w').write('mine')").check()
    path = os.path.join(session.workspace, "own.txt")
    if other.run(f"open({path!r}).read()").value == "mine":
        yield "a session reads another's file"
    other.run(f"with open({path!r}, 'w') as file: file.write('theirs')")
    if session.run("open('own.txt').read()").value != "mine":
        yield "a session writes another's file"


def tried(name: str) -> str:
    """The output of `problems` in a place, which is entered by an ordinary user where this one is root."""
    place, command = PLACES[name], [sys.executable, "-B", __file__, "--inside", name]
    if os.geteuid() == 0:
        user = f"setpriv --reuid {USER} --regid {USER} --clear-groups --bounding-set=-all --inh-caps=-all"
        lines = f'set -e\n{place.mounts}\nexec {user} -- "$@"'
        command = ["unshare", "--mount", "--propagation", "private", "bash", "-c", lines, "place", *command]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=SECONDS)
    failed = f"it ended with {done.returncode}: {done.stderr.strip()[-300:]}\n" if done.returncode else ""
    return done.stdout + failed


def main(arguments: list[str]) -> int:
    """0 where every place is as it should be."""
    if "--" in arguments:
        name, _, *command = arguments
        enter(PLACES[name])
        os.execvp(command[0], command)
    if arguments[:1] == ["--inside"]:
        enter(PLACES[arguments[1]])
        print("\n".join(" ".join(problem.split()) for problem in problems()))
        return 0
    bad = 0
    for name in arguments or PLACES:
        place = PLACES[name]
        if place.mounts and (os.geteuid() != 0 or shutil.which("setpriv") is None):
            print(f"left out {name}: it takes root", flush=True)
            continue
        lines = tried(name).split("\n")
        refused = [line for line in lines if line.startswith("refused") and re.search(place.refusal or "$^", line)]
        wrong = [line for line in lines if line and line not in refused]
        bad += bool(wrong)
        print(
            f"{'MISSED' if wrong else 'ok'} {name}{' (says why not)' if refused else ''}",
            *wrong,
            sep="\n  ",
            flush=True,
        )
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
