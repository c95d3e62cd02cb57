# expect: contained
# layer: kernel
# proves: prints ESCAPED when ctypes.memmove rewrites an immutable object of the guest's own process; nothing outside it is touched
# severity: primitive

import ctypes
b = b"immutable-AAAA"
ctypes.memmove(id(b) + bytes.__basicsize__ - 1, b"ESCAPED", 7)
print(b.decode())
