# profile: confined-python
# limits: workspace_mb=16
# timeout: 15
# holds: disk=700
# proves: removed files that lie in a socket belong to no process that anybody looks at

import os, socket, time
a, b = socket.socketpair()
for i in range(80):
    fd = os.open('f', os.O_RDWR | os.O_CREAT)
    os.unlink('f')
    os.posix_fallocate(fd, 0, 16 << 20)
    socket.send_fds(a, [b'x'], [fd])
    os.close(fd)
time.sleep(1)
