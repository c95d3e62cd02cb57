# profile: calculator
# limits: memory_mb=64 processes=16
# timeout: 5
# rests: 20
# holds: memory=450
# proves: what appears between steps and then sleeps is counted by nobody

import os, time, signal
def grow(*_):
    if os.fork() == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        b = bytearray(40 << 20); b[::4096] = b'x' * len(b[::4096])
        time.sleep(60); os._exit(0)
signal.signal(signal.SIGALRM, grow)
signal.setitimer(signal.ITIMER_REAL, 1, 1.07)
