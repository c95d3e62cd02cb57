"""The table of the system calls that a locked-down child may make; and for each one refused, the group that says why.

What is not in the table is refused with EPERM (`linux.seccomp`). Another errno stands only where the C library or a
library tolerates nothing else; the comment beside it says who.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from safeexec.engine.syscalls import Check, Rule, allow, allow_if, refuse

if TYPE_CHECKING:
    from safeexec.protocol.confinement import ChildConfinement

OWN_PID = 0x7FFFFFFE
"""Stands for the child's own pid, which is known after the fork. No pid is that large (PID_MAX_LIMIT is 2**22)."""

_INT = 0xFFFFFFFF  # the kernel reads a C int or unsigned int: the upper word is anything
_LONG = 0xFFFFFFFFFFFFFFFF


def _names(*lines: str) -> tuple[str, ...]:
    return tuple(" ".join(lines).split())


_ALWAYS = _names(
    # descriptors that are open
    "read write readv writev pread64 pwrite64 preadv pwritev close dup dup2 dup3 lseek fstat pipe pipe2",
    "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2",
    "shutdown getsockname getpeername",
    # memory; mmap, mprotect and madvise have rules of their own
    "brk munmap mremap msync",
    # time
    "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times alarm setitimer getitimer",
    # signals within the process
    "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause",
    # threads and the end
    "futex set_robust_list get_robust_list set_tid_address rseq membarrier sched_yield restart_syscall exit exit_group",
    "wait4 waitid",
    # who and where am I
    "getpid gettid getppid getpgrp getuid geteuid getgid getegid getgroups getresuid getresgid getrlimit getrusage",
    "getpriority getcpu sysinfo uname getrandom sched_getaffinity sched_getparam sched_getscheduler",
    "sched_get_priority_max sched_get_priority_min getcwd umask",
)

# stat reveals that a path exists, and Landlock does not govern it: no path leads out of the new root
_STAT = _names("newfstatat stat lstat statx")

_READ_FILES = _names(
    "getdents64 getdents access faccessat faccessat2 readlink readlinkat chdir fchdir fadvise64 readahead"
)

_WRITE_FILES = _names(
    "mkdir mkdirat rmdir unlink unlinkat rename renameat ftruncate fsync fdatasync flock copy_file_range statfs",
    "fstatfs",
)

_METADATA = {"chmod": 1, "fchmod": 1, "fchmodat": 2}
"""Calls that change a mode → the index of the mode."""

_SETID_BITS = 0o6000
_RENAME_WHITEOUT = 4
_CLOSE_RANGE_UNSHARE = 2
_CREATES = 0o20000100  # O_CREAT, __O_TMPFILE: without them nobody passes a mode (jemalloc leaves the register as it is)
_O_ASYNC, _O_APPEND, _O_TRUNC, _O_ACCMODE = 0o20000, 0o2000, 0o1000, 3
_DESCRIPTOR_BITS = 12
"""`limits.open_files` is 4096 at most."""
_PROT_WRITE, _PROT_EXEC = 2, 4
_RLIMIT_STACK = 3
_MAP_TYPE, _MAP_SHARED, _MAP_PRIVATE, _MAP_ANONYMOUS, _MAP_HUGETLB = 0xF, 1, 2, 0x20, 0x40000
_MADV_DONTNEED, _MADV_GUARD = 4, 102
_AF_UNIX, _SOCK_STREAM, _SOCK_FLAGS = 1, 1, 0o2004000
_SOL_SOCKET, _MSG_OOB = 1, 1
# SO_PASSCRED SO_RCVTIMEO SO_SNDTIMEO; not SO_ATTACH_FILTER, which takes a BPF program
_SOCKET_OPTIONS = (16, 20, 21)
# SO_SNDBUF SO_RCVBUF: what lies in a buffer is in nobody's resident size, and they raise it from 208 KiB to what the
# machine allows. Linux itself cuts a size to its limits without a word: trio sets a small buffer.
_BUFFER_OPTIONS = (7, 8)
# SO_TYPE SO_ERROR SO_SNDBUF SO_RCVBUF SO_ACCEPTCONN SO_PROTOCOL SO_DOMAIN, and the above; not SO_PEERPIDFD (6.5), a
# pidfd of the host
_ASKED_OPTIONS = (3, 4, 30, 38, 39, *_BUFFER_OPTIONS, *_SOCKET_OPTIONS)
# TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX TCGETS2: isatty, non-blocking and close-on-exec
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
# F_DUPFD F_GETFD F_SETFD F_GETFL F_DUPFD_CLOEXEC F_GETPIPE_SZ; no owner, lease, notify
_FCNTLS = (0, 1, 2, 3, 1030, 1032)
# F_GETLK F_SETLK F_SETLKW: each lock is a record in the kernel, which the look counts (`watch.room`)
_LOCKS = (5, 6, 7)
# F_OFD_*: such a lock is a file's, also of one that is only mapped, and nothing shows who holds it
_LOCKS_OF_FILES = (36, 37, 38)
_F_SETFL = 4
# PR_GET_PDEATHSIG GET_DUMPABLE SET_NAME GET_NAME GET_SECCOMP CAPBSET_READ GET_NO_NEW_PRIVS
_PRCTLS = (2, 3, 15, 16, 21, 23, 39)
# ARCH_GET_XCOMP_SUPP GET_XCOMP_PERM REQ_XCOMP_PERM: OpenBLAS requests AMX on Sapphire Rapids
_ARCH_SET_FS = 0x1002
_ARCH_PRCTLS = (0x1021, 0x1022, 0x1023)

FORK_FLAGS = 0x01200011
"""CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD: the flags of fork() in glibc and musl."""
SPAWN_FLAGS = (0x00004111, 0x00000011)
"""CLONE_VM | CLONE_VFORK | SIGCHLD of posix_spawn and of Python's subprocess, and the plain SIGCHLD of a shell."""
THREAD_FLAGS = (0x003D0F00, 0x007D0F00)
"""The flags of pthread_create in glibc and in musl (with the long ignored CLONE_DETACHED)."""


def _equal(index: int, value: int, mask: int = _INT) -> Check:
    return Check(index, mask, value)


def _in_band(flags: int) -> Rule:
    """Allow a call without out-of-band bytes, which nobody needs: they led from a browser's sandbox into the kernel
    (AF_UNIX, CVE-2025-38236).
    """
    return allow_if((Check(flags, _MSG_OOB, 0),))


def _one_of(index: int, values: tuple[int, ...]) -> Rule:
    return allow_if(*((_equal(index, value),) for value in values))


def _options(options: tuple[int, ...]) -> tuple[tuple[Check, ...], ...]:
    return tuple((_equal(1, _SOL_SOCKET), _equal(2, option)) for option in options)


def rules_for(plan: ChildConfinement) -> dict[str, Rule]:
    """Return the table for one plan: system call name → rule."""
    rules: dict[str, Rule] = {name: allow() for name in (*_ALWAYS, *_STAT)}
    rules |= _LIMITED_BY_ARGUMENT
    rules |= _FALLBACKS
    clones = [(_equal(0, FORK_FLAGS),)]
    if plan.threads:
        clones += [(_equal(0, flags),) for flags in THREAD_FLAGS]
    rules["clone"] = allow_if(*clones)
    rules |= _memory(plan)
    if plan.event_loop:
        rules["socketpair"] = allow_if((_equal(0, _AF_UNIX), Check(1, _INT & ~_SOCK_FLAGS, _SOCK_STREAM), _equal(2, 0)))
    if plan.landlock >= 6:
        # A fork of this child carries its pid on; Landlock's scope keeps the signal inside the session even then.
        rules["tgkill"] = allow_if((_equal(0, OWN_PID),))
        rules["kill"] = allow_if((_equal(0, OWN_PID),))
    if plan.files != "none":
        rules |= _files(plan)
        if plan.landlock:
            # A branch enters a layer that the host has made. It only takes rights away, and no child can make one.
            rules["landlock_restrict_self"] = allow_if((_equal(1, 0),))
    if plan.programs:
        rules |= _programs(plan)
    else:
        # Programs of contests raise the limit of their stack before they recurse. A child has room already: it stays.
        more_stack = _equal(0, 0), _equal(1, _RLIMIT_STACK), _equal(3, 0, _LONG)
        rules["prlimit64"] = Rule((_ASKED_LIMIT,), fallbacks=((more_stack, 0),))
    return rules


def _programs(plan: ChildConfinement) -> dict[str, Rule]:
    """Return what starting other programs takes. Landlock says which; its scope (ABI 6) keeps signals among them."""
    rules = {name: allow() for name in ("execve", "vfork", "getpgid", "getsid")}
    # One process group, which the host ends in one call. timeout(1) and shells go on after the errno that POSIX knows.
    rules["setpgid"] = refuse(errno.EPERM)
    if plan.landlock >= 6:
        rules |= {name: allow() for name in ("kill", "tgkill", "tkill")}
    flags = (FORK_FLAGS, *THREAD_FLAGS, *SPAWN_FLAGS)
    rules["clone"] = allow_if(*((_equal(0, value),) for value in flags))
    # make starts each program as the user that it is (POSIX_SPAWN_RESETIDS): without capabilities there is no other.
    rules |= dict.fromkeys(("setresuid", "setresgid"), allow_if((_equal(0, _INT), _equal(2, _INT))))
    # A program's own start-up sets its thread pointer, which this process has long done.
    rules["arch_prctl"] = _one_of(0, (*_ARCH_PRCTLS, _ARCH_SET_FS))
    rules |= {name: allow() for name in ("symlink", "symlinkat", "link", "linkat", "mlock", "munlock", "setrlimit")}
    return rules


def _memory(plan: ChildConfinement) -> dict[str, Rule]:
    """Return the rules of memory. What a file holds may be executed, and never written as well; memory without a file
    only where the plan says so: code of native libraries is in the process there already. No shared memory without a
    file: what a process has given back of it (MADV_DONTNEED) stays, and is in nobody's resident size. Nor are huge
    pages that the machine has reserved: they are refused, too, as if there were none left.

    No file is shared either, be it for reading, which mprotect would change: no size and no time of a file shows a
    store into it, which so could not be undone, and a branch would write into its parent's file. What shows the printed
    text is, at an offset where no other file has anything. Programs of commands may: none outlives its command.
    """
    plain = Check(2, _PROT_EXEC, 0)
    of_file = Check(3, _MAP_ANONYMOUS, 0)
    private = Check(3, _MAP_TYPE | _MAP_HUGETLB, _MAP_PRIVATE)
    code = Check(2, _PROT_EXEC | _PROT_WRITE, _PROT_EXEC)
    printed = (plain, of_file, Check(3, _MAP_TYPE, _MAP_SHARED), Check(5, _LONG, plan.printed_at))
    allowed: list[tuple[Check, ...]] = [(plain, of_file), (code, of_file)] if plan.programs else [printed]
    allowed += [(private,)] if plan.executable_memory else [(plain, private), (code, of_file, private)]
    # ENODEV is the answer of file systems that know no shared mappings: libraries map privately then, or read.
    fallbacks = (((plain, Check(3, _MAP_ANONYMOUS, _MAP_ANONYMOUS)), errno.ENOMEM), ((plain,), errno.ENODEV))
    return {
        "mmap": Rule(tuple(allowed), fallbacks=fallbacks),
        "mprotect": allow() if plan.executable_memory else allow_if((plain,)),
    }


def _files(plan: ChildConfinement) -> dict[str, Rule]:
    """Return the rules of calls on paths: Landlock judges the path. No mode makes a set-uid file, for any path."""
    rules = {name: allow() for name in _READ_FILES}
    rules["open"] = _opening(1, plan.landlock)
    rules["openat"] = _opening(2, plan.landlock)
    if plan.files == "write":
        rules |= {name: allow() for name in _WRITE_FILES}
        unknown = tuple(((_equal(1, command),), errno.EINVAL) for command in _LOCKS_OF_FILES)
        rules["fcntl"] = _controls((*_FCNTLS, *_LOCKS))._replace(fallbacks=unknown)
        rules |= _FALL_BACK_ON_WRITING
        # Leaves a device (0:0) where the file was, for which Landlock needs no right to make one (seen on 6.18).
        rules["renameat2"] = allow_if((Check(4, _RENAME_WHITEOUT, 0),))
        if plan.landlock >= 3:
            rules["truncate"] = allow()
        if plan.metadata:
            rules |= {name: allow_if((Check(index, _SETID_BITS, 0),)) for name, index in _METADATA.items()}
            rules |= {name: allow() for name in ("utime", "utimes", "utimensat", "futimesat")}
    return rules


def _controls(commands: tuple[int, ...]) -> Rule:
    """Allow fcntl with these commands, and with F_SETFL short of signals, and short of O_APPEND on descriptors below 4.

    The files of the output have their full size (`engine/host/session/output.py`): who appends there prints nothing any
    more. make sets O_APPEND where it can.
    """
    flags = _equal(1, _F_SETFL), Check(2, _O_ASYNC, 0)
    # A check knows equality alone: a descriptor is 4 or more where one of these bits is set.
    others = ((*flags, Check(0, 1 << bit, 1 << bit)) for bit in range(2, _DESCRIPTOR_BITS))
    return allow_if(*((_equal(1, command),) for command in commands), (*flags, Check(2, _O_APPEND, 0)), *others)


def _opening(flags: int, abi: int) -> Rule:
    """Allow opening that makes no set-uid file. Before ABI 3 Landlock lets a reader truncate, by O_RDONLY | O_TRUNC."""
    modes = [(Check(flags, _CREATES, 0),), (Check(flags + 1, _SETID_BITS, 0),)]
    if abi >= 3:
        return allow_if(*modes)
    writing = [Check(flags, _O_TRUNC, 0), Check(flags, _O_ACCMODE, 1), Check(flags, _O_ACCMODE, 2)]
    return allow_if(*((*mode, check) for mode in modes for check in writing))


_ASKED_LIMIT = _equal(0, 0), _equal(2, 0, _LONG)
_LIMITED_BY_ARGUMENT: dict[str, Rule] = {
    # No thread has descriptors of its own, which the limit of a process would count anew and the look not find. GLib
    # asks for them before it starts a program, and goes on after EINVAL.
    "close_range": allow_if((Check(2, _CLOSE_RANGE_UNSHARE, 0),), error=errno.EINVAL),
    "ioctl": _one_of(1, _IOCTLS),
    # Not MADV_COLD and PAGEOUT (20, 21): what is swapped out is in no resident size. Not MERGEABLE (12): how long a
    # write takes then shows what other processes hold. Allowed are, one check each: 0 to 3, 8 to 11, 16 to 19 and 24 to
    # 27; 6, 7, 14, 15, 22 and 23; and guards of stacks. EINVAL is the answer of kernels that do not know an advice.
    "madvise": allow_if(
        (Check(2, _INT & ~0b11011, 0),),
        (Check(2, _INT & ~0b11001, 0b110),),
        (_equal(2, _MADV_DONTNEED),),
        (Check(2, _INT & ~1, _MADV_GUARD),),
        error=errno.EINVAL,
    ),
    "fcntl": _controls(_FCNTLS),
    "prctl": _one_of(0, _PRCTLS),
    "arch_prctl": _one_of(0, _ARCH_PRCTLS),
    # The control socket; without socket() and connect() there is no other. No sendmsg and sendmmsg: a descriptor that
    # lies in a socket, and the file behind it, belong to no process that anybody could look at.
    "recvmsg": _in_band(2),
    "sendto": _in_band(3),
    "recvfrom": _in_band(3),
    "recvmmsg": _in_band(3),
    "prlimit64": allow_if(_ASKED_LIMIT),
    "getsockopt": allow_if(*_options(_ASKED_OPTIONS)),
    "setsockopt": Rule(_options(_SOCKET_OPTIONS), fallbacks=tuple((sizes, 0) for sizes in _options(_BUFFER_OPTIONS))),
}

_FALL_BACK_ON_WRITING: dict[str, Rule] = {
    # What it reserves beyond the end of a file is in no size: glibc's posix_fallocate writes instead.
    "fallocate": refuse(errno.EOPNOTSUPP),
    # It lends the pages of a file to a socket or pipe (CVE-2026-43284): shutil and asyncio read and write instead.
    "sendfile": refuse(errno.ENOSYS),
}

_FALLBACKS: dict[str, Rule] = {
    # glibc tries these first and falls back, from 2.34 on from clone3 to clone; of clone3 and openat2 the flags lie in
    # memory that a filter cannot read. NumPy and OpenBLAS ask where memory lies and go on without an answer.
    **dict.fromkeys(
        _names("clone3 openat2 fchmodat2 futex_waitv epoll_pwait2 preadv2 pwritev2 get_mempolicy mbind"),
        refuse(errno.ENOSYS),
    ),
    # getpwuid (expanduser, tarfile) tries nscd first, non-blocking, and then reads /etc/passwd
    "socket": Rule(fallbacks=(((_equal(0, _AF_UNIX), _equal(1, _SOCK_STREAM | _SOCK_FLAGS)), errno.EACCES),)),
    # shutil.copystat goes on after ENOTSUP, after no other errno of a refusal
    **dict.fromkeys(_names("getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"), refuse(errno.ENOTSUP)),
}

GROUPS: dict[str, frozenset[str]] = {
    group: frozenset(names)
    for group, names in {
        "network": _names(
            "socket socketpair connect bind listen accept accept4 getsockopt setsockopt sendmsg sendmmsg"
        ),
        "files": (
            *(*_READ_FILES, *_WRITE_FILES, *_FALL_BACK_ON_WRITING),
            *_names("renameat2 open openat openat2 creat truncate"),
        ),
        "metadata": _names(
            "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat",
            "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
        ),
        "links": _names("link linkat symlink symlinkat mknod mknodat"),
        "programs": _names("execve execveat vfork fork"),
        "processes": _names(
            "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal pidfd_getfd ptrace",
            "process_vm_readv process_vm_writev process_madvise kcmp setsid setpgid getpgid getsid setpriority",
            "sched_setaffinity sched_setscheduler sched_setparam sched_setattr ioprio_set",
        ),
        "threads": _names("clone clone3"),
        "executable-mappings": _names("mmap mprotect pkey_mprotect"),
        "limits": _names("prlimit64 setrlimit"),
        "shared-memory": _names(
            "shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl",
            "memfd_create mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
        ),
    }.items()
}
"""Part of the policy → the calls that are refused because of it. A call in no group is never legitimate here."""


def group_of(name: str) -> str:
    """Return the group of a refused system call, or ``kernel``."""
    return next((group for group, names in GROUPS.items() if name in names), "kernel")
