# profile: calculator
# limits: cpu_seconds=1 processes=8
# timeout: 20
# ends: cpu
# proves: what a chain of forks has used is forgotten with each that ends

import os, time
end = time.monotonic() + 15
if os.fork() == 0:
    while time.monotonic() < end:
        c = time.process_time()
        while time.process_time() - c < 0.5: pass
        if os.fork(): os._exit(0)
    os._exit(0)
time.sleep(14)
