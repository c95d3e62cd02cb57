# layer: kernel
# proves: partialmethod keeps the module builtins
# oracle: drop
# then: reach

import functools
class G:
    def __get__(self, o, c=None): return print
    def __call__(self): pass
p = functools.partialmethod(G()).__get__(1)
b = p.__dict__['__self__']
print(type(b), b)
tr = []
for n in ('eval', 'open', 'compile'):
    tr.append(getattr(b, n, None))
print(tr)
