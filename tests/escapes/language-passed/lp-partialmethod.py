# expect: contained
# layer: kernel
# proves: partialmethod keeps the module builtins
# severity: primitive
# oracle: drop
# then: reach

import functools
class G:
    def __get__(self, o, c=None): return len          # a builtin: its __self__ is the module builtins
    def __call__(self): pass
p = functools.partialmethod(G()).__get__(1)           # functools does result.__self__ = new_func.__self__
b = vars(p)['__self__']                               # guard of __dict__ hands out the instance's dict
print(b)

g = b.getattr
import dataclasses
print(g(dataclasses.field, "__globals__")["sys"].modules["os"])
try: print(getattr(b, 'open')('/etc/passwd').read(20))
except BaseException as x: print(type(x).__name__, x)
