"""What the kernel layer costs: to install, per mechanism, and while code runs, with and without in the same run.

    python -m benchmarks.confinement [--quick]

Installing is paid once per child, by a spare child before anybody waits for it. The mechanisms are those of the
`standard` profile on this machine.
"""

from __future__ import annotations

import os
import resource
import statistics
import struct
import time
from collections.abc import Callable
from functools import partial

from benchmarks.common import BareChild, Table, fork_and_wait, in_turn, one_core, options, timed
from safeexec import Policy, Sandbox
from safeexec.engine.host.startup import confinement
from safeexec.engine.linux import capabilities, landlock, namespaces, rlimits, seccomp
from safeexec.engine.linux.libc import make
from safeexec.engine.syscalls.table import rules_for

CALLS = 2000
ASK = f"import os\nfor _ in range({CALLS}): os.getppid()"
SOURCES = {
    "x = 1": "x = 1",
    "computing": "sum(i * i for i in range(100_000))",
    f"{CALLS} system calls": ASK,
    "500 files read": "for _ in range(500):\n    with open('numbers.txt') as file: file.read()",
}


def mechanisms() -> dict[str, Callable[[], object]]:
    """Name → what installs it in the calling process. What can be prepared is, as a zygote does."""
    plan = confinement.plan(Policy.load("standard")).child
    program = seccomp.prepare(seccomp.build(rules_for(plan)))
    paths = [os.open(path, os.O_PATH) for path in plan.read]
    limits = {resource.RLIMIT_AS: rlimits.address_space() + plan.memory_bytes, resource.RLIMIT_NOFILE: plan.open_files}

    def files() -> None:
        seccomp.set_no_new_privs()
        ruleset = landlock.Ruleset()
        for path in paths:
            ruleset.add_descriptor(
                path, landlock.READ & (~0 if os.path.isdir(f"/proc/self/fd/{path}") else landlock.FOR_FILES)
            )
        ruleset.restrict_self()

    def filtered() -> None:
        seccomp.set_no_new_privs()
        make([seccomp.installing(program)])

    return {
        "rlimits": lambda: rlimits.set_limits(limits),
        "user namespace": lambda: namespaces.unshare(("user",)),
        "no capabilities": capabilities.drop_all,
        "Landlock": files,
        "seccomp": filtered,
    }


def seconds_to_install(install: Callable[[], object], rounds: int) -> float:
    """Median over fresh forks. Raises OSError where the machine cannot do it."""
    times = []
    for _ in range(rounds):
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            start = time.perf_counter()
            try:
                install()
                os.write(theirs, struct.pack("d", time.perf_counter() - start))
            finally:
                os._exit(0)
        os.close(theirs)
        answer = os.read(ours, 8)
        os.close(ours)
        os.waitpid(pid, 0)
        if not answer:
            raise OSError("not available here")
        times.append(struct.unpack("d", answer)[0])
    return statistics.median(times)


def installing(rounds: int) -> None:
    table = Table("installing one mechanism in a forked child")
    fork = timed(fork_and_wait, rounds)
    for name, install in mechanisms().items():
        try:
            table.row(name, seconds_to_install(install, rounds), fork, "bare fork and wait")
        except OSError as error:
            table.skip(name, str(error))


def running(rounds: int) -> None:
    table = Table(f"{CALLS} system calls in a bare child with one mechanism")
    plain = BareChild()
    for name, install in mechanisms().items():
        child = BareChild(before=install)
        try:
            times = in_turn(partial(child.run, ASK), partial(plain.run, ASK), rounds=rounds)
            table.row(name, *times, "a bare child without it")
        except EOFError:
            table.skip(name, "not available here")
        finally:
            child.close()
    plain.close()


def sessions(rounds: int) -> None:
    """The same code in a session of `confined-python`, which has no language layer, and in a bare child."""
    table = Table("all mechanisms together: a session of confined-python")
    files = {"numbers.txt": b"1,2,3\n" * 100}
    with Sandbox("confined-python", files=files) as sandbox, sandbox.session(checkpoints="off") as session:
        plain = BareChild(before=lambda: os.chdir(str(session.workspace)))
        try:
            for what, source in SOURCES.items():
                session.run(source).check()
                times = in_turn(partial(session.run, source), partial(plain.run, source), rounds=rounds)
                table.row(what, *times, "bare forked child")
        finally:
            plain.close()


if __name__ == "__main__":
    quick = options(__doc__).quick
    with one_core():
        installing(30 if quick else 200)
        running(30 if quick else 200)
        sessions(20 if quick else 100)
