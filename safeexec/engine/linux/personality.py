"""Address randomisation of a process: a flag of its execution domain, which an exec takes along."""

from __future__ import annotations

from safeexec.engine.linux.libc import syscall

_ADDR_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFFFFFF


def stop_randomizing() -> bool:
    """Ask for fixed addresses from the next exec on. False if they are fixed already, or the kernel refuses.

    Docker's default seccomp profile refuses it (EPERM): it lets five values of personality(2) pass, not this flag.
    """
    try:
        current = syscall("personality", _ASK)
        if not current & _ADDR_NO_RANDOMIZE:
            syscall("personality", current | _ADDR_NO_RANDOMIZE)
            return True
    except OSError:
        pass
    return False
