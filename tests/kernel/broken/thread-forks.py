# profile: confined-python
# limits: memory_mb=128 cpu_seconds=2 processes=16
# timeout: 20
# ends: memory cpu
# holds: memory=700
# proves: forks of a thread are counted by nobody

import os, threading, time
def hog():
    for i in range(16):
        time.sleep(0.2)  # a look comes every 50 ms
        if os.fork() == 0:
            b = bytearray(90 << 20)
            for k in range(0, len(b), 4096): b[k] = 1
            end = time.monotonic() + 60
            while time.monotonic() < end: pass
            os._exit(0)
    time.sleep(60)
threading.Thread(target=hog, daemon=True).start()
time.sleep(15)
