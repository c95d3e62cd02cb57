"""A real child after lockdown, in every situation: what it cannot reach, and what it still can do."""

from __future__ import annotations

import json
import os
import signal
from functools import partial

import pytest

from safeexec.engine.child.process.lockdown import Lockdown
from safeexec.engine.linux import landlock, seccomp
from safeexec.engine.policy.kernel import SPARE_DESCRIPTORS
from safeexec.engine.policy.model import Policy
from safeexec.protocol.confinement import ChildConfinement
from tests.engine.linux.forked import exit_status
from tests.kernel.conftest import Run

SECRET = "5eaf00d5"

OUTSIDE = {
    # files to read
    "open": "print(open(SECRET).read())",
    "list": "import os; print(os.listdir(os.path.dirname(SECRET)), 'reached')",
    "o_path": "import os; h = os.open(SECRET, os.O_PATH); print(open(f'/proc/self/fd/{h}').read())",
    "symlink": "import os; os.symlink(SECRET, 'l'); print(open('l').read())",
    "hard link": "import os; os.link(SECRET, 'l'); print(open('l').read())",
    "passwd": "print(open('/etc/passwd').readline(), 'reached')",
    "shadow": "print(open('/etc/shadow').readline(), 'reached')",
    "host memory": "print(open(f'/proc/{HOST}/maps').readline(), 'reached')",
    "host environment": "print(open(f'/proc/{HOST}/environ', 'rb').read(), 'reached')",
    "zygote memory": "import os; print(open(f'/proc/{os.getppid()}/mem', 'r+b'), 'reached')",
    "shared memory": "import os; print(os.listdir('/dev/shm'), 'reached')",
    "kernel settings": "import os; os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY); print('reached')",
    # files to write
    "create": "open(SECRET + '.new', 'w'); print('reached')",
    "overwrite": "open(SECRET, 'w'); print('reached')",
    "truncate": "import os; os.truncate(SECRET, 0); print('reached')",
    "unlink": "import os; os.unlink(SECRET); print('reached')",
    "rename": "import os; os.rename(SECRET, 'here'); print('reached')",
    "mkdir": "import os; os.mkdir(SECRET + '.d'); print('reached')",
    "fifo": "import os; os.mkfifo(SECRET + '.f'); print('reached')",
    "chmod": "import os; os.chmod(SECRET, 0o600); print('reached')",
    "chown": "import os; os.chown(SECRET, -1, -1); print('reached')",
    "utime": "import os; os.utime(SECRET, (1, 1)); print('reached')",
    "utime of a device": "import os; os.utime('/dev/null'); print('reached')",
    "mode of a device": "import os; os.chmod('/dev/null', 0o666); print('reached')",
    "setxattr": "import os; os.setxattr(SECRET, 'user.x', b'1'); print('reached')",
    "libraries": "import os; os.open(os.path.dirname(os.__file__), os.O_TMPFILE | os.O_RDWR); print('reached')",
    "own memory": "open('/proc/self/mem', 'r+b'); print('reached')",
    # processes
    "kill": "import os; os.kill(HOST, 0); print('reached')",
    "kill the zygote": "import os; os.kill(os.getppid(), 9); print('reached')",
    "kill the group": "import os; os.kill(0, 0); print('reached')",
    "kill everything": "import os; os.kill(-1, 9); print('reached')",
    "pidfd": "import os; os.pidfd_open(os.getppid()); print('reached')",
    "priority": "import os; os.setpriority(os.PRIO_PROCESS, HOST, 19); print('reached')",
    "affinity": "import os; os.sched_setaffinity(os.getppid(), {0}); print('reached')",
    "limits of another": "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_CORE); print('reached')",
    "raise a limit": "import resource as r; r.setrlimit(r.RLIMIT_AS, (-1, -1)); print('reached')",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "loader": "import os; os.execv('/lib64/ld-linux-x86-64.so.2', ['ld', '/bin/true'])",
    "subprocess": "import subprocess; subprocess.run(['true']); print('reached')",
    "spawn": "import os; os.posix_spawn('/bin/true', ['true'], {}); print('reached')",
    "new session": "import os; os.setsid(); print('reached')",
    "own group": "import os; os.setpgid(0, 0); print('reached')",
    "another group": "import os; os.setpgid(0, os.getppid()); print('reached')",
    "user": "import os; os.setresuid(0, 0, 0); print('reached')",
    # sockets
    "tcp": "import socket; socket.socket(); print('reached')",
    "udp": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print('reached')",
    "unix": "import socket; socket.socket(socket.AF_UNIX); print('reached')",
    "netlink": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print('reached')",
    "datagram pair": "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print('reached')",
}

CALLS = {
    "ptrace": "101, 0x4206, HOST, 0, 0",
    "process_vm_readv": "310, HOST, 0, 0, 0, 0",
    "unshare": "272, 0x10000000",
    "setns": "308, 0, 0",
    "mount": "165, 0, 0, 0, 0, 0",
    "io_uring_setup": "425, 4, 0",
    "bpf": "321, 0, 0, 0",
    "perf_event_open": "298, 0, 0, -1, -1, 0",
    "keyctl": "250, 0, 0",
    "userfaultfd": "323, 0",
    "pidfd_getfd": "438, 0, 0, 0",
    "open_by_handle_at": "304, 0, 0, 0",
    "memfd_create": "319, 0, 0",
    "shmget": "29, 1, 4096, 0o1666",
    "msgget": "68, 1, 0o1666",
    "mq_open": "240, 0, 0, 0, 0",
    "inotify_init1": "294, 0",
    "vmsplice": "278, 1, 0, 0, 0",
    "personality": "135, 0x0400000",
    "clone into namespaces": "56, 0x10000000 | 17, 0, 0, 0, 0",
    "clone sharing memory": "56, 0x100 | 17, 0, 0, 0, 0",
    "tgkill": "234, HOST, HOST, 0",
    "seccomp": "317, 0, 0, 0",
    "x32": "39 | 0x40000000,",
}


def _attempt(source: str) -> str:
    """The source, its refusal told as one line."""
    body = "\n".join("    " + line for line in source.splitlines())
    return f"try:\n{body}\nexcept (OSError, ValueError) as error:\n    print('refused', error)\n"


def _many(sources: dict[str, str]) -> str:
    """All attempts in one child: each prints its name first."""
    return "".join(f"print('@', {name!r})\n{_attempt(source)}" for name, source in sources.items())


def _sections(output: str) -> dict[str, str]:
    return {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in output.split("@")[1:]}


def test_the_hosts_network_and_mounts_are_not_told(run: Run, situation: str) -> None:
    """Each thread has a view of them in /proc. In namespaces it is the guest's own: empty tables, planned paths."""
    names = ("net/route", "net/tcp", "net/unix", "net/dev", "mounts", "mountinfo", "mountstats", "root", "cwd/..")
    places = [f"/proc/{who}/{name}" for who in ("self", "thread-self", "self/task/{me}") for name in names]
    source = f"""
import os, threading
for place in {places!r}:
    try:
        place = place.replace('{{me}}', str(threading.get_native_id()))
        print(place, open(place).read() if not place.endswith(('.', 'root')) else os.listdir(place))
    except OSError:
        pass
print(len(open('/proc/self/maps').readlines()) > 10, len(os.listdir('/proc/self/fd')) > 3)
"""
    lines = run(source).output.splitlines()
    assert lines[-1] == "True True"
    if situation.endswith("without-namespaces"):
        assert len(lines) == 1, lines
    else:
        assert "/etc/hosts" not in "".join(lines) and "eth" not in "".join(lines), lines


IN_VIEW = """
import json, os
python = os.path.dirname(os.__file__)
places = {'/': '/', 'python': python, 'device': '/dev/null', 'workspace': WORKSPACE}
kinds = os.ST_RDONLY, os.ST_NOSUID, os.ST_NODEV
print(json.dumps({
    'mounts': {name: [bool(os.statvfs(place).f_flag & kind) for kind in kinds] for name, place in places.items()},
    'there': [path for path in (SECRET, '/.old', '/etc/shadow', '/boot') if os.path.lexists(path)],
    'processes': [name for name in os.listdir('/proc') if name.isdigit()],
    'own': str(os.getpid()),
    'groups': open('/proc/self/setgroups').read().strip(),
    'users': [line.split()[2] for line in open('/proc/self/uid_map')],
}))
"""


@pytest.mark.parametrize("situation", ["root", "ordinary"], indirect=True)
def test_a_new_root_shows_what_is_planned_and_lets_the_workspace_alone_be_written(run: Run) -> None:
    told = json.loads(run(IN_VIEW).output)
    assert told["mounts"] == {
        "/": [True, True, True], "python": [True, True, True], "device": [True, True, False],
        "workspace": [False, True, True],
    }  # fmt: skip
    assert told["there"] == [] and told["processes"] == [told["own"]], "not even the zygote, which is process 1"
    assert told["groups"] == "deny" and told["users"] == ["1"]


def test_every_attempt_to_get_out_is_refused(run: Run) -> None:
    outcome = run(_many(OUTSIDE), secret=SECRET)
    sections = _sections(outcome.output)
    assert set(sections) == set(OUTSIDE), outcome.output
    for name, text in sections.items():
        assert "refused" in text, (name, text)
        assert "reached" not in text and SECRET not in text, (name, text)


GIVEN_UP = """
import ctypes, json, os, resource
L = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
opened = [int(name) for name in os.listdir('/proc/self/fd')]
sent = ctypes.c_int()
L.prctl(2, ctypes.byref(sent), 0, 0, 0)  # PR_GET_PDEATHSIG
print(json.dumps({
    'rights': [int(status[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb')],
    'to gain': int(status['CapBnd'], 16),
    'no new ones': int(status['NoNewPrivs']), 'filtered': int(status['Seccomp']),
    'looked into': L.prctl(3, 0, 0, 0, 0),  # PR_GET_DUMPABLE
    'ends with its parent': sent.value,
    'limits': {name: resource.getrlimit(getattr(resource, 'RLIMIT_' + name)) for name in LIMITS},
    'user': os.getuid(),
    'group': os.getgid(),
    'groups': os.getgroups(),
    'policy': os.sched_getscheduler(0),
    'descriptors': sorted(number for number in opened if os.path.lexists(f'/proc/self/fd/{number}')),
}))
"""
LIMITS = {"CORE": 0, "MEMLOCK": 0, "MSGQUEUE": 0, "RTPRIO": 0, "NICE": 0, "SIGPENDING": 256, "STACK": 120 << 20}


@pytest.mark.parametrize("profile", ["confined-python", "standard"])
def test_each_right_is_given_up(run: Run, situation: str, profile: str) -> None:
    outcome = run(GIVEN_UP.replace("LIMITS", repr([*LIMITS, "CPU", "FSIZE", "NOFILE"])), profile)
    told = json.loads(outcome.output)
    assert told["rights"] == [0] * 4 and told["no new ones"] == 1 and told["filtered"] == 2
    assert told["to gain"] == 0 or situation != "root-without-namespaces", "a new user namespace has its own bound"
    assert told["looked into"] == 0 and told["ends with its parent"] == signal.SIGKILL
    limits = told["limits"]
    most = LIMITS | {"NOFILE": Policy.load(profile).limits.open_files + SPARE_DESCRIPTORS}
    for name, (soft, hard) in limits.items():
        assert soft == hard and 0 <= hard <= most.get(name, 1 << 50), name
    writes = profile == "confined-python"
    counted = not situation.endswith("without-namespaces")
    if os.getuid() != 65534:  # whose own number is that of a user without a name
        assert (told["user"] == 65534) == (counted and not writes), "only who makes files has a name in its namespace"
    assert told["policy"] == os.SCHED_OTHER and told["descriptors"] == [0, 1, 2]
    if outcome.mechanisms.get("unprivileged-user"):  # who stays root keeps its groups
        assert told["group"] and not told["groups"]


def test_a_child_whose_parent_has_gone_ends_before_it_runs_anything() -> None:
    """Of its end no signal came, if it was before the child had asked for one."""

    def act(parent: int) -> None:
        seccomp.set_no_new_privs()
        plan = ChildConfinement(memory_bytes=1 << 28, cpu_seconds=60, file_bytes=1 << 20, open_files=64, processes=None)
        lockdown = Lockdown(plan)
        lockdown.parent = parent
        lockdown.apply()
        os._exit(7)

    assert [exit_status(partial(act, parent)) for parent in (os.getpid(), os.getpid() + 1)] == [7, 0]


@pytest.mark.skipif("os.uname().machine != 'x86_64'")
def test_system_calls_that_are_never_legitimate_fail(run: Run) -> None:
    source = "import ctypes\nL = ctypes.CDLL(None, use_errno=True)\n"
    source += "".join(f"print({name!r}, L.syscall({call}), ctypes.get_errno())\n" for name, call in CALLS.items())
    lines = run(source).output.splitlines()
    assert len(lines) == len(CALLS), lines
    for line in lines:
        assert line.split()[-2] == "-1", line


def test_no_secret_is_in_memory_or_environment(run: Run) -> None:
    """The environment that the interpreter was started with lies on its stack, whatever `os.environ` says later."""
    source = """
import ctypes, os
found = {}
for line in open('/proc/self/maps'):
    place, rights = line.split()[:2]
    name = line.split()[-1]
    if rights.startswith('r') and name in ('[stack]', '[heap]'):
        first, last = (int(x, 16) for x in place.split('-'))
        found[name] = ('SAFEEXEC' + '_SECRET=').encode() in ctypes.string_at(first, last - first)
print(found, [value for value in os.environ.values() if value not in ('C.UTF-8', WORKSPACE)])
"""
    assert run(source).output == "{'[heap]': False, '[stack]': False} []\n"


def test_only_a_policy_of_native_libraries_makes_code_in_memory(run: Run) -> None:
    """Parts of Python's own library are loaded late under any policy."""
    source = """
import ctypes, mmap
import _lsprof
rwx = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
try:
    mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=rwx)
    print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x + 1)(1))
except PermissionError:
    print('refused')
"""
    assert run(source).output == "2\n"
    assert run(source, "extends: standard\nfilesystem: {workspace: read-write}\n").output == "refused\n"


def test_the_workspace_can_be_used(run: Run) -> None:
    source = """
import os, shutil, pathlib, tempfile, zipfile
open('a.txt', 'w').write('hello'); os.makedirs('d/e'); os.rename('a.txt', 'd/a.txt')
print(pathlib.Path('d/a.txt').read_text(), sorted(os.listdir('d')), os.getcwd() == WORKSPACE)
with open('d/a.txt', 'r+') as f:
    f.truncate(2)
TRUNCATE
with zipfile.ZipFile('z.zip', 'w') as z:
    z.write('d/a.txt')
with tempfile.TemporaryDirectory() as t:
    pathlib.Path(t, 'x').write_bytes(b'1')
shutil.copyfile('d/a.txt', 'b.txt'); shutil.rmtree('d'); print(sorted(os.listdir()))
"""
    by_path = "os.truncate('d/a.txt', 1)" if landlock.abi() >= 3 else ""  # before, a reader could (Linux 6.2)
    assert run(source.replace("TRUNCATE", by_path)).output == "hello ['a.txt', 'e'] True\n['b.txt', 'z.zip']\n"


def test_what_python_needs_still_works(run: Run) -> None:
    source = """
import asyncio, threading, zoneinfo, datetime, os, select, signal, time, warnings
warnings.simplefilter('ignore')  # 3.12 warns of a fork while the pool's thread is ending
async def main():
    return await asyncio.to_thread(lambda: 5)
print(asyncio.run(main()), zoneinfo.ZoneInfo('Europe/Paris'), datetime.datetime.strptime('2020', '%Y').year)
t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()
print('x'.encode('cp1252'), len(os.urandom(3)), time.localtime().tm_year > 2000)
pid = os.fork()
if pid == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
os.abort()
"""
    outcome = run(source)
    assert outcome.output == "5 Europe/Paris 2020\nthread\nb'x' 3 True\n7\n"
    # Before Landlock keeps signals in (Linux 6.12) none is sent: abort then takes an instruction that no processor has.
    assert outcome.status == -6 if landlock.abi() >= 6 else outcome.status < 0


def test_memory_descriptors_and_processes_are_bounded_and_the_report_is_honest(run: Run, situation: str) -> None:
    """Processes are counted per session where there is a user namespace; the kernel counts nothing for root without
    one, and the report says so.
    """
    source = """
import os, time
try:
    bytearray(8 << 30)
except MemoryError:
    print('memory')
made = 0
while made < COUNTED:
    try:
        if os.fork() == 0: time.sleep(3600)
        made += 1
    except BlockingIOError:
        print('processes', made < 2000)
        break
try:
    while True:
        os.dup(1)
except OSError as error:
    print(error.errno)
"""
    counted = situation != "root-without-namespaces"
    told = "memory\nprocesses True\n24\n" if counted else "memory\n24\n"
    outcome = run(source.replace("COUNTED", "5000" if counted else "0"))
    assert outcome.output == told
    active = outcome.mechanisms
    assert active["seccomp"] and active["landlock"] and active["rlimits"] and active["no-new-privs"]
    for name in ("user", "mount", "pid", "network", "ipc", "uts"):
        assert active[f"{name}-namespace"] is (not situation.endswith("without-namespaces")), active
