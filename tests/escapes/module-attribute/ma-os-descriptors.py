# proves: prints ESCAPED and what a descriptor that is not the step's own gave

import os
import signal


def interrupt(*_):
    raise OSError


signal.signal(signal.SIGALRM, interrupt)  # a read may wait
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)


class Number(int):
    def __index__(self):
        return 0

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


for fd in [*range(3, 64), -1, 1 << 31, 1 << 32, 3 + (1 << 32), Number(3), Number(4)]:
    for attempt in (lambda: os.fstat(fd), lambda: os.read(fd, 1), lambda: os.write(fd, b"\0" * 64)):
        try:
            print("ESCAPED", fd, attempt())
        except (OSError, OverflowError):
            pass
for size in (1 << 62, 1 << 70, -1):
    try:
        print("ESCAPED" if os.read(0, size) else "nothing")
    except (OSError, OverflowError):
        pass
