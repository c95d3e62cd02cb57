# profile: confined-python
# limits: memory_mb=64
# timeout: 10
# holds: shared=300
# proves: space that is reserved in the files of the output is memory of nobody

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for fd in (1, 2):
    for mode in (0, 1):
        libc.fallocate(fd, mode, ctypes.c_long(300 << 20), ctypes.c_long(400 << 20))
# --- step ---
import os
for fd in (1, 2):
    try: os.posix_fallocate(fd, 300 << 20, 400 << 20)
    except OSError: pass
