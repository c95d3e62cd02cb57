# profile: confined-python
# limits: workspace_mb=16 processes=8
# timeout: 10
# rests: 2
# holds: disk=400
# proves: files that grow after the step has ended are copied without a limit

import os, resource, time
limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
os.mkdir('d')
names = ['d/f%03d' % i for i in range(100)]
for name in names: open(name, 'wb').close()
if os.fork() == 0:
    for delay in (0.001, 0.002, 0.003, 0.004, 0.01):
        time.sleep(delay)
        for name in names: os.truncate(name, limit)
    time.sleep(3)
    os._exit(0)
