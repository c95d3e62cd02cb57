"""Paths, and files where the policy has a workspace."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import FILES, INTERPRETER, MACHINE, PROCESS

TABLES = {
    "os": Table(
        """
            altsep cpu_count curdir devnull error extsep F_OK fsdecode fsencode fspath linesep name pardir PathLike
            pathsep process_cpu_count R_OK SEEK_CUR SEEK_END SEEK_SET sep stat_result strerror urandom W_OK X_OK
        """,
        files="""
            access DirEntry get_terminal_size getcwd listdir lstat makedirs mkdir remove removedirs rename renames
            replace rmdir scandir stat terminal_size truncate unlink utime walk
        """,
        replaced="environ fstat getenv isatty read write",
        refuse={
            "chmod chown fchmod fchown fwalk getcwdb getxattr lchown link listxattr mkfifo mknod pathconf "
            "pathconf_names readlink removexattr setxattr statvfs statvfs_result symlink sync": FILES,
            "chdir chroot fchdir umask": INTERPRETER,
            "confstr confstr_names ctermid defpath environb get_exec_path getegid getenvb "
            "geteuid getgid getgrouplist getgroups getloadavg getlogin getpgid getpgrp getpid getppid "
            "getpriority getresgid getresuid getsid getuid putenv supports_bytes_environ sysconf sysconf_names "
            "times times_result ttyname uname uname_result unsetenv": MACHINE,
            "_exit abort CLD_CONTINUED CLD_DUMPED CLD_EXITED CLD_KILLED CLD_STOPPED CLD_TRAPPED CLONE_FILES "
            "CLONE_FS CLONE_NEWCGROUP CLONE_NEWIPC CLONE_NEWNET CLONE_NEWNS CLONE_NEWPID CLONE_NEWTIME "
            "CLONE_NEWUSER CLONE_NEWUTS CLONE_SIGHAND CLONE_SYSVSEM CLONE_THREAD CLONE_VM close closerange "
            "copy_file_range device_encoding dup dup2 EFD_CLOEXEC EFD_NONBLOCK EFD_SEMAPHORE eventfd "
            "eventfd_read eventfd_write EX_CANTCREAT EX_CONFIG EX_DATAERR EX_IOERR EX_NOHOST EX_NOINPUT "
            "EX_NOPERM EX_NOUSER EX_OK EX_OSERR EX_OSFILE EX_PROTOCOL EX_SOFTWARE EX_TEMPFAIL EX_UNAVAILABLE "
            "EX_USAGE execl execle execlp execlpe execv execve execvp execvpe F_LOCK F_TEST F_TLOCK F_ULOCK "
            "fdatasync fdopen fork forkpty fpathconf fstatvfs fsync ftruncate get_blocking "
            "get_inheritable getrandom grantpt GRND_NONBLOCK GRND_RANDOM initgroups kill killpg lockf "
            "login_tty lseek major makedev memfd_create MFD_ALLOW_SEALING MFD_CLOEXEC MFD_HUGE_16GB "
            "MFD_HUGE_16MB MFD_HUGE_1GB MFD_HUGE_1MB MFD_HUGE_256MB MFD_HUGE_2GB MFD_HUGE_2MB MFD_HUGE_32MB "
            "MFD_HUGE_512KB MFD_HUGE_512MB MFD_HUGE_64KB MFD_HUGE_8MB MFD_HUGE_MASK MFD_HUGE_SHIFT MFD_HUGETLB "
            "minor NGROUPS_MAX nice O_ACCMODE O_APPEND O_ASYNC O_CLOEXEC O_CREAT O_DIRECT O_DIRECTORY O_DSYNC "
            "O_EXCL O_FSYNC O_LARGEFILE O_NDELAY O_NOATIME O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH O_RDONLY "
            "O_RDWR O_RSYNC O_SYNC O_TMPFILE O_TRUNC O_WRONLY open openpty P_ALL P_NOWAIT P_NOWAITO P_PGID "
            "P_PID P_PIDFD P_WAIT pidfd_open pipe pipe2 popen POSIX_FADV_DONTNEED POSIX_FADV_NOREUSE "
            "POSIX_FADV_NORMAL POSIX_FADV_RANDOM POSIX_FADV_SEQUENTIAL POSIX_FADV_WILLNEED posix_fadvise "
            "posix_fallocate posix_openpt posix_spawn POSIX_SPAWN_CLOSE POSIX_SPAWN_CLOSEFROM POSIX_SPAWN_DUP2 "
            "POSIX_SPAWN_OPEN posix_spawnp pread preadv PRIO_PGRP PRIO_PROCESS PRIO_USER ptsname pwrite pwritev "
            "readv register_at_fork RTLD_DEEPBIND RTLD_GLOBAL RTLD_LAZY RTLD_LOCAL RTLD_NODELETE "
            "RTLD_NOLOAD RTLD_NOW RWF_APPEND RWF_DSYNC RWF_HIPRI RWF_NOWAIT RWF_SYNC SCHED_BATCH SCHED_FIFO "
            "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler "
            "SCHED_IDLE SCHED_OTHER sched_param SCHED_RESET_ON_FORK SCHED_RR sched_rr_get_interval "
            "sched_setaffinity sched_setparam sched_setscheduler sched_yield SEEK_DATA SEEK_HOLE sendfile "
            "set_blocking set_inheritable setegid seteuid setgid setgroups setns setpgid setpgrp setpriority "
            "setregid setresgid setresuid setreuid setsid setuid spawnl spawnle spawnlp spawnlpe spawnv spawnve "
            "spawnvp spawnvpe splice SPLICE_F_MORE SPLICE_F_MOVE SPLICE_F_NONBLOCK ST_APPEND ST_MANDLOCK "
            "ST_NOATIME ST_NODEV ST_NODIRATIME ST_NOEXEC ST_NOSUID ST_RDONLY ST_RELATIME ST_SYNCHRONOUS "
            "ST_WRITE system tcgetpgrp tcsetpgrp TFD_CLOEXEC TFD_NONBLOCK TFD_TIMER_ABSTIME "
            "TFD_TIMER_CANCEL_ON_SET timerfd_create timerfd_gettime timerfd_gettime_ns timerfd_settime "
            "timerfd_settime_ns TMP_MAX unlockpt unshare wait wait3 wait4 waitid waitid_result waitpid "
            "waitstatus_to_exitcode WCONTINUED WCOREDUMP WEXITED WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED "
            "WIFSTOPPED WNOHANG WNOWAIT writev WSTOPPED WSTOPSIG WTERMSIG WUNTRACED XATTR_CREATE "
            "XATTR_REPLACE XATTR_SIZE_MAX": PROCESS,
        },
        note=(
            "everything on processes, users and scheduling is refused. environ is a mapping of the guest's own, empty "
            "at first. read, write, fstat and isatty know the step's descriptors 0, 1 and 2 and no other."
        ),
    ),
    "os.path": Table(
        """
            altsep basename commonpath commonprefix curdir defpath devnull dirname extsep isabs join normcase normpath
            pardir pathsep sep split splitdrive splitext splitroot supports_unicode_filenames
        """,
        files="""
            abspath exists expanduser getatime getctime getmtime getsize isdevdrive isdir isfile isjunction islink
            ismount lexists realpath relpath samefile
        """,
        refuse={"expandvars sameopenfile samestat": MACHINE},
    ),
    "pathlib": Table(
        "PurePath PurePosixPath PureWindowsPath UnsupportedOperation",
        files="Path PosixPath",
        refuse={"WindowsPath": FILES},
    ),
    "glob": Table("escape translate", files="glob iglob"),
    "shutil": Table(
        "Error ExecError get_archive_formats get_terminal_size get_unpack_formats ignore_patterns ReadError "
        "SameFileError SpecialFileError",
        files="""
            copy copy2 copyfile copyfileobj copymode copystat copytree disk_usage make_archive move rmtree
            unpack_archive
        """,
        replaced="rmtree",
        refuse={
            "register_archive_format register_unpack_format unregister_archive_format unregister_unpack_format": FILES,
            "chown which": MACHINE,
        },
        note="the real rmtree gives os.open and its like to error handlers; the replacement, functions that refuse.",
    ),
    "tempfile": Table(
        files="gettempdir mkdtemp mktemp NamedTemporaryFile SpooledTemporaryFile TemporaryDirectory TemporaryFile",
        refuse={"gettempdirb gettempprefix gettempprefixb mkstemp tempdir TMP_MAX": FILES},
    ),
    "tarfile": Table(
        """
            AbsoluteLinkError AbsolutePathError AREGTYPE BLKTYPE CHRTYPE CompressionError CONTTYPE data_filter
            DEFAULT_FORMAT DIRTYPE ENCODING ExtractError FIFOTYPE FilterError fully_trusted_filter GNU_FORMAT
            GNUTYPE_SPARSE HeaderError LinkOutsideDestinationError LNKTYPE OutsideDestinationError PAX_FORMAT ReadError
            REGTYPE SpecialFileError StreamError SYMTYPE tar_filter TarError TarInfo USTAR_FORMAT
        """,
        files="open is_tarfile TarFile",
        note="opens the files of the workspace; links and devices are the kernel's to refuse.",
    ),
}
