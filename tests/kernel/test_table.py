"""The filter of a child, judged for every system call of both machines: it answers what the table says."""

from __future__ import annotations

import errno
import itertools
from typing import Any

import pytest

from safeexec.engine.linux import seccomp
from safeexec.engine.syscalls.numbers import MACHINES, numbers
from safeexec.engine.syscalls.table import FORK_FLAGS, GROUPS, OWN_PID, THREAD_FLAGS, group_of, rules_for
from safeexec.protocol.confinement import ChildConfinement
from safeexec.protocol.printed import PYTHON_AT
from tests.engine.linux.bpf_machine import evaluate, seccomp_data

BASE: dict[str, Any] = {
    "memory_bytes": 1 << 28, "cpu_seconds": 60, "file_bytes": 1 << 20, "open_files": 64, "processes": 8, "landlock": 7
}  # fmt: skip
CLOSED = ChildConfinement(**BASE)
OPEN = ChildConfinement(
    **BASE, threads=4, event_loop=True, executable_memory=True, files="write", metadata=True, user_namespace=True
)
PLANS = {"closed": CLOSED, "open": OPEN}

ALLOWED = " ".join(
    (
        "alarm arch_prctl brk clock_getres clock_gettime clock_nanosleep clone close close_range dup dup2 dup3",
        "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 exit exit_group fcntl fstat futex",
        "get_robust_list getcpu getcwd getegid geteuid getgid getgroups getitimer getpeername getpgrp getpid",
        "getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsockname getsockopt gettid",
        "gettimeofday getuid ioctl kill lseek lstat madvise membarrier mmap mprotect mremap msync munmap",
        "nanosleep newfstatat pause pipe pipe2 poll ppoll prctl pread64 preadv prlimit64 pselect6 pwrite64",
        "pwritev read readv recvfrom recvmmsg recvmsg restart_syscall rseq rt_sigaction rt_sigpending",
        "rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min",
        "sched_getaffinity sched_getparam sched_getscheduler sched_yield select sendto set_robust_list",
        "set_tid_address setitimer setsockopt shutdown sigaltstack stat statx sysinfo tgkill time times umask",
        "uname wait4 waitid write writev",
    )
).split()
"""The calls that any child may make, some with few arguments only. One more is a decision about every sandbox."""
ALLOWED_WITH_FILES = " ".join(
    (
        "access chdir chmod copy_file_range faccessat faccessat2 fadvise64 fchdir fchmod fchmodat fdatasync flock",
        "fstatfs fsync ftruncate futimesat getdents getdents64 landlock_restrict_self mkdir mkdirat open openat",
        "readahead readlink readlinkat rename renameat renameat2 rmdir socketpair statfs truncate unlink unlinkat",
        "utime utimensat utimes",
    )
).split()
"""What comes to them where a plan opens files to write, their metadata, and an event loop."""


class Filter:
    def __init__(self, plan: ChildConfinement, machine: str = "x86_64") -> None:
        self.table = numbers(machine)
        self.arch = seccomp.ARCHITECTURES[machine]
        self.program = seccomp.build(rules_for(plan), machine)

    def __call__(self, name: str, *arguments: int) -> int:
        return evaluate(self.program, seccomp_data(self.table[name], self.arch, arguments))

    def allows(self, name: str, *arguments: int) -> bool:
        return self(name, *arguments) == seccomp.ALLOW

    def refuses(self, name: str, *arguments: int) -> bool:
        return self(name, *arguments) == seccomp.ERRNO | errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("plan", PLANS)
def test_a_call_is_allowed_if_the_table_has_it_and_else_refused_whatever_its_arguments(plan: str, machine: str) -> None:
    rules = rules_for(PLANS[plan])
    judge = Filter(PLANS[plan], machine)
    for name in judge.table:
        if judge.allows(name):
            assert rules[name].alternatives, name
        if name in rules and () in rules[name].alternatives:
            assert judge.allows(name, *(2**64 - 1,) * 6), name
        if name not in rules:
            for arguments in ((), (1,) * 6, (2**64 - 1,) * 6):
                assert judge.refuses(name, *arguments), name


@pytest.mark.parametrize(("plan", "names"), [("closed", ALLOWED), ("open", ALLOWED + ALLOWED_WITH_FILES)])
def test_no_call_is_allowed_beside_those_that_are_written_here(plan: str, names: list[str]) -> None:
    assert {name for name, rule in rules_for(PLANS[plan]).items() if rule.alternatives} == {*names}


def test_the_filter_is_small() -> None:
    """Its length is paid in every child: the kernel runs it for each number to find those it can wave through."""
    assert max(len(Filter(plan).program) for plan in PLANS.values()) < 740


@pytest.mark.parametrize("machine", MACHINES)
def test_clone_makes_forks_and_the_threads_of_a_plan(machine: str) -> None:
    closed, open_ = Filter(CLOSED, machine), Filter(OPEN, machine)
    assert closed.allows("clone", FORK_FLAGS) and open_.allows("clone", FORK_FLAGS)
    for flags in THREAD_FLAGS:
        assert closed.refuses("clone", flags) and open_.allows("clone", flags)
    for bit in range(32):
        assert open_.refuses("clone", FORK_FLAGS ^ 1 << bit), hex(1 << bit)
    assert open_("clone3") == seccomp.ERRNO | errno.ENOSYS


def test_threads_share_their_descriptors_and_no_byte_is_out_of_band() -> None:
    unshare, on_exec = 2, 4
    for judge in (Filter(CLOSED), Filter(OPEN)):
        assert judge.allows("close_range", 3, 9, 0) and judge.allows("close_range", 3, 9, on_exec)
        for flags in (unshare, unshare | on_exec, unshare | 1 << 40):
            assert judge("close_range", 3, 9, flags) == seccomp.ERRNO | errno.EINVAL
        for name in ("sendto", "recvfrom", "recvmmsg"):
            assert judge.allows(name, 3, 0, 1, 0x40) and judge.refuses(name, 3, 0, 1, 0x41)
        assert judge.allows("recvmsg", 3, 0, 0x40) and judge.refuses("recvmsg", 3, 0, 0x41)


def test_executable_memory() -> None:
    closed, open_ = Filter(CLOSED), Filter(OPEN)
    read, write, execute, shared, private, anonymous = 1, 2, 4, 1, 2, 0x20
    assert closed.allows("mmap", 0, 4096, read | write, private | anonymous)
    assert closed.refuses("mmap", 0, 4096, read | execute, private | anonymous)
    assert closed.refuses("mmap", 0, 4096, read | write | execute, private)
    assert open_.allows("mmap", 0, 4096, read | write | execute, private | anonymous)
    for judge in (closed, open_):
        assert judge.allows("mmap", 0, 4096, read | execute, private), "of a file"
        assert not judge.allows("mmap", 0, 4096, read | execute, shared | anonymous)
        assert not judge.allows("mmap", 0, 4096, read | execute, shared), "of a file, and shared"
        assert judge.allows("mprotect", 0, 4096, read)
        assert judge.refuses("pkey_mprotect", 0, 4096, read | execute, 0)
    for protection in (read | execute, execute | 1 << 40):
        assert closed.refuses("mprotect", 0, 4096, protection) and open_.allows("mprotect", 0, 4096, protection)


COMMAND = ChildConfinement(
    **BASE, threads=64, event_loop=True, executable_memory=True, files="write", metadata=True, programs=("/bin/sh",)
)
EVERY = [
    ChildConfinement(**BASE | {"landlock": abi}, files=files, event_loop=True)
    for abi in (0, 1, 7)
    for files in ("none", "read", "write")
] + [CLOSED, OPEN, COMMAND]
"""Plans of every kind of machine and policy, that of commands among them."""


@pytest.mark.parametrize("machine", MACHINES)
def test_copy_fail_cve_2026_31431_finds_no_socket_of_the_kernels_ciphers_and_no_splice(machine: str) -> None:
    """AF_ALG, whose operations were fed with pages of files by splice."""
    af_alg = 38
    for judge in (Filter(plan, machine) for plan in EVERY):
        for kind in (5, 5 | 0o2000000, 5 | 0o4000, 1, 2, 3):
            assert judge.refuses("socket", af_alg, kind, 0) and judge.refuses("socketpair", af_alg, kind, 0)
        for name in ("bind", "accept", "accept4", "connect", "splice", "vmsplice", "tee", "sendmsg"):
            assert judge.refuses(name, *(1,) * 6), name


@pytest.mark.parametrize("machine", MACHINES)
def test_dirty_frag_cve_2026_43284_lends_no_page_of_a_file_to_a_socket(machine: str) -> None:
    """By splice, by sendfile (a splice within the kernel), or by MSG_ZEROCOPY, which SO_ZEROCOPY switches on."""
    for judge in (Filter(plan, machine) for plan in EVERY):
        for name in ("splice", "vmsplice", "tee", "sendmsg", "sendmmsg", "io_uring_setup"):
            assert judge.refuses(name, *(1,) * 6), name
        assert not judge.allows("sendfile", 5, 6, 0, 4096)
        assert judge.refuses("setsockopt", 3, 1, 60, 0, 4), "SO_ZEROCOPY"


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_that_no_size_tells_of_is_refused(machine: str) -> None:
    shared, private, validated, anonymous, huge = 1, 2, 3, 0x20, 0x40000
    dontneed, mergeable, cold, out = 4, 12, 20, 21
    for plan in EVERY:
        judge = Filter(plan, machine)
        for kind in (shared, validated):
            assert judge("mmap", 0, 1 << 20, 3, kind | anonymous) == seccomp.ERRNO | errno.ENOMEM
        assert judge.allows("mmap", 0, 1 << 20, 3, private | anonymous)
        for size in (0, 21 << 26, 30 << 26):
            flags = private | anonymous | huge | size
            assert judge("mmap", 0, 2 << 20, 3, flags) == seccomp.ERRNO | errno.ENOMEM, "pages the machine has reserved"
        for advice in (mergeable, cold, out, out | 1 << 40):
            assert judge("madvise", 0, 4096, advice) == seccomp.ERRNO | errno.EINVAL
        for advice in (*range(5), *range(8, 12), *range(14, 20), 22, 23, 25, 102, 103, dontneed | 1 << 40):
            assert judge.allows("madvise", 0, 4096, advice)
        assert not judge.allows("fallocate", 1, 1, 300 << 20, 200 << 20)
        for option in (7, 8):
            assert judge("setsockopt", 3, 1, option, 0, 4) == seccomp.ERRNO, "SO_SNDBUF, SO_RCVBUF change nothing"
        for option in (32, 33):
            assert judge.refuses("setsockopt", 3, 1, option, 0, 4), "their forced kin"
        assert judge.allows("getsockopt", 3, 1, 7)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_file_is_mapped_shared_but_where_none_of_a_guests_has_anything(machine: str) -> None:
    """Be it for reading, which mprotect changes, or as code; programs of commands may."""
    shared, private, validated, fixed = 1, 2, 3, 0x10
    for plan in EVERY:
        judge = Filter(plan, machine)
        assert judge.allows("mmap", 0, 4096, 3, private, 5, 4096)
        for kind, protection in itertools.product((shared, validated, shared | fixed), range(4)):
            for offset in (0, 4096, PYTHON_AT - 4096, PYTHON_AT + 4096, PYTHON_AT << 1, PYTHON_AT | 1 << 63):
                answer = judge("mmap", 0, 4096, protection, kind, 5, offset)
                assert answer == (seccomp.ALLOW if plan.programs else seccomp.ERRNO | errno.ENODEV)
            assert judge.allows("mmap", 0, 4096, 5, kind, 5, 0) == bool(plan.programs)
        assert judge.allows("mmap", 1 << 20, 4096, 3, shared | fixed, 1, PYTHON_AT)
        assert judge.allows("mmap", 0, 4096, 3, validated, 1, PYTHON_AT) == bool(plan.programs)


def test_locks_are_for_those_who_have_files() -> None:
    for plan in EVERY:
        for command in (5, 6, 7):
            assert Filter(plan).allows("fcntl", 3, command) == (plan.files == "write")
        for command in (36, 37, 38):
            unknown = errno.EINVAL if plan.files == "write" else errno.EPERM
            assert Filter(plan)("fcntl", 3, command) == seccomp.ERRNO | unknown, "F_OFD_SETLK"
        assert Filter(plan).allows("flock", 3, 2) == (plan.files == "write")
        assert Filter(plan).allows("fcntl", 3, 4, 0) and Filter(plan).refuses("fcntl", 3, 4, 0o20000)


def test_sockets() -> None:
    closed, open_ = Filter(CLOSED), Filter(OPEN)
    unix, inet, stream, datagram, cloexec = 1, 2, 1, 2, 0o2000000
    assert closed.refuses("socketpair", unix, stream, 0)
    assert open_.allows("socketpair", unix, stream | cloexec, 0)
    assert open_.refuses("socketpair", unix, datagram, 0)
    assert open_.refuses("socketpair", inet, stream, 0) and open_.refuses("socketpair", unix, stream, 1)
    for family, kind in itertools.product(range(50), (stream, datagram, 3, 5, stream | cloexec)):
        assert open_.refuses("socket", family, kind), (family, kind)
    assert open_.refuses("setsockopt", 3, 1, 26), "SO_ATTACH_FILTER"
    assert open_.allows("setsockopt", 3, 1, 20) and open_.refuses("setsockopt", 3, 6, 20), "SO_RCVTIMEO, and one of TCP"
    for option in (17, 28, 31, 59, 77):  # who is at the other end, and SO_PEERPIDFD a pidfd of the host
        assert open_.refuses("getsockopt", 3, 1, option)
    assert open_.allows("getsockopt", 3, 1, 4) and open_.refuses("getsockopt", 3, 6, 4), "SO_ERROR, and that of TCP"


def test_paths() -> None:
    closed, open_ = Filter(CLOSED), Filter(OPEN)
    reading = Filter(ChildConfinement(**BASE, files="read"))
    create = 0o101  # O_CREAT | O_WRONLY
    assert closed.refuses("openat", -100, 0, 0) and closed.refuses("open", 0, 0)
    assert reading.allows("openat", -100, 0, 0) and reading.refuses("unlink", 0) and reading.refuses("chmod", 0, 0o600)
    assert open_.allows("unlink", 0)
    for name, before in (("open", (0,)), ("openat", (-100, 0))):
        assert open_.allows(name, *before, create, 0o644) and open_.refuses(name, *before, create, 0o4755)
        assert open_.allows(name, *before, 0, 0o7777), "without O_CREAT the mode is whatever the register held"
    for name, before in (("chmod", (0,)), ("fchmod", (0,)), ("fchmodat", (-100, 0))):
        assert open_.allows(name, *before, 0o600) and open_.refuses(name, *before, 0o2755)
    assert open_.allows("renameat2", -100, 0, -100, 0, 1)
    assert open_.refuses("renameat2", -100, 0, -100, 0, 4), "WHITEOUT"
    without_root = Filter(ChildConfinement(**BASE, files="write"))
    assert without_root.refuses("chmod", 0, 0o600) and without_root.refuses("utimensat", -100, 0, 0)
    assert open_.allows("landlock_restrict_self", 5, 0) and open_.refuses("landlock_restrict_self", 5, 1), "no flags"


def test_a_reader_cannot_truncate_where_landlock_does_not_see_it() -> None:
    """O_RDONLY | O_TRUNC, which ABI 1 and 2 take for reading."""
    old, new = Filter(ChildConfinement(**BASE | {"landlock": 2}, files="write")), Filter(OPEN)
    truncate, create = 0o1000, 0o100
    for name, before in (("open", (0,)), ("openat", (-100, 0))):
        assert old.refuses(name, *before, truncate) and new.allows(name, *before, truncate)
        for access in (1, 2):
            assert old.allows(name, *before, access | truncate | create, 0o644)
            assert old.allows(name, *before, access | truncate, 0o4644)
            assert old.refuses(name, *before, access | truncate | create, 0o4644)
        assert old.allows(name, *before, 0)
    assert old.refuses("truncate", 0, 0)


def test_arguments() -> None:
    judge = Filter(OPEN)
    assert judge.allows("prlimit64", 0, 7, 0, 1)
    assert judge.refuses("prlimit64", 0, 7, 1 << 32, 0), "a new limit, in the upper word of the pointer"
    assert judge.refuses("prlimit64", 1, 7, 0, 1)
    assert judge("prlimit64", 0, 3, 1 << 32, 0) == seccomp.ERRNO, "a new limit of the stack changes nothing"
    assert Filter(COMMAND).refuses("prlimit64", 0, 3, 1 << 32, 0), "a command's program has the usual stack"
    assert judge.refuses("prlimit64", 0, 3, 1 << 32, 1) and judge.refuses("prlimit64", 1, 3, 1 << 32, 0)
    assert judge.allows("ioctl", 0, 0x5401) and judge.refuses("ioctl", 0, 0x5412), "TIOCSTI"
    assert judge.allows("fcntl", 0, 4, 0o4000) and judge.refuses("fcntl", 0, 8, 1), "F_SETOWN"
    assert judge.refuses("fcntl", 0, 4, 0o20000), "O_ASYNC"
    assert judge.refuses("fcntl", 1, 4, 0o2002) and judge.allows("fcntl", 1, 4, 0o4002), "O_APPEND, O_NONBLOCK"
    assert all(judge.allows("fcntl", descriptor, 4, 0o6001) for descriptor in (4, 7, 100, 4095))
    assert judge.allows("prctl", 15) and judge.refuses("prctl", 4, 1) and judge.refuses("prctl", 1, 0)
    assert judge.allows("arch_prctl", 0x1022) and judge.refuses("arch_prctl", 0x1002), "ARCH_SET_FS"
    for name in ("kill", "tgkill"):
        assert judge.allows(name, OWN_PID, 9) and judge.refuses(name, 1, 9) and judge.refuses(name, 2**64 - 1, 9)
        assert Filter(ChildConfinement(**BASE | {"landlock": 5})).refuses(name, OWN_PID), "without a scope for signals"


def test_programs_stay_in_their_group_and_the_user_that_they_are() -> None:
    judge, nobody = Filter(COMMAND), 2**32 - 1  # -1: leave it as it is
    assert judge.refuses("setpgid", 0, 0) and judge.refuses("setsid")
    for name in ("setresuid", "setresgid"):
        assert judge.allows(name, nobody, 1000, nobody)
        assert judge.refuses(name, 0, 1000, nobody) and judge.refuses(name, nobody, 1000, 0)
        assert Filter(OPEN).refuses(name, nobody, 1000, nobody)
    assert judge.allows("arch_prctl", 0x1002) and judge.refuses("arch_prctl", 0x1001), "ARCH_SET_FS, and GS"


@pytest.mark.parametrize("machine", MACHINES)
def test_what_libraries_try_first_fails_so_that_they_fall_back(machine: str) -> None:
    """glibc, NumPy, shutil and asyncio go on after these errors, and after no other of a refusal."""
    new = "clone3 openat2 fchmodat2 futex_waitv epoll_pwait2 preadv2 pwritev2 get_mempolicy mbind sendfile"
    expected = dict.fromkeys(new.split(), errno.ENOSYS) | {"fallocate": errno.EOPNOTSUPP}
    for kind in ("", "l", "f"):
        expected |= {f"{kind}getxattr": errno.ENOTSUP, f"{kind}listxattr": errno.ENOTSUP}
    judge = Filter(OPEN, machine)
    for name, error in expected.items():
        assert judge(name, 3, 0, 0) == seccomp.ERRNO | error, name
    unix, stream, nonblocking, cloexec = 1, 1, 0o4000, 0o2000000
    assert judge("socket", unix, stream | nonblocking | cloexec, 0) == seccomp.ERRNO | errno.EACCES, "nscd's"


def test_every_group_names_real_calls() -> None:
    known = set(numbers("x86_64")) | set(numbers("aarch64"))
    for group, names in GROUPS.items():
        assert names <= known, group
    assert group_of("socket") == "network" and group_of("reboot") == "kernel"
