# profile: confined-python
# limits: processes=64
# timeout: 1
# ends: timeout memory cpu violation
# proves: a storm of forks outlives the kill of its step

import os, time
end = time.monotonic() + 12
while time.monotonic() < end:
    try: os.fork()
    except OSError: pass
os._exit(0)
