# domain: tests
"""The collector, as programs that are in a hurry put it off, and benchmarks."""

import gc
import timeit
import weakref

gc.disable()
print(gc.isenabled())


class Node:
    pass


node = Node()
node.own = node
seen = weakref.ref(node)
del node
print(seen() is None, gc.collect() > 0, seen() is None)
gc.enable()
print(gc.isenabled(), len(gc.get_threshold()))
before = gc.get_threshold()
gc.set_threshold(1000, 20, 20)
print(gc.get_threshold())
gc.set_threshold(*before)
print(timeit.timeit("pass", setup="import gc; gc.enable()", number=1) >= 0)
