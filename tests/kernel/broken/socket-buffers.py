# profile: standard
# limits: memory_mb=64 processes=8
# timeout: 15
# holds: kernel=300
# proves: what lies in the buffers of sockets is in nobody's resident size

import os, socket, time
def fill():
    keep, blob = [], b'x' * 65536
    try:
        while True:
            a, b = socket.socketpair()
            keep.append((a, b))
            for s in (a, b):
                try: s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
                except OSError: pass
                s.setblocking(False)
                try:
                    while True: s.send(blob)
                except OSError: pass
    except OSError: pass
    return keep
for i in range(8):
    if os.fork() == 0:
        k = fill(); time.sleep(8); os._exit(0)
k = fill()
time.sleep(4)
