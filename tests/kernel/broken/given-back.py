# profile: calculator
# limits: memory_mb=128 processes=8
# timeout: 15
# holds: shared=400
# proves: shared memory that was given back stays, and is in no resident size

import mmap, os, time
for i in range(8):
    if os.fork() == 0:
        m = mmap.mmap(-1, 110 << 20)
        one = b'x' * (1 << 20)
        for k in range(110):
            m[k << 20:(k + 1) << 20] = one
            m.madvise(mmap.MADV_DONTNEED, k << 20, 1 << 20)
        time.sleep(6); os._exit(0)
time.sleep(6)
