# expect: contained
# layer: kernel
# proves: proxies and descriptors that read for a program
# severity: primitive
# oracle: drop
# then: reach

import weakref, typing, functools, enum, types, dataclasses, copy
def tryit(label, f):
    try: print(label, '->', repr(f())[:150])
    except BaseException as e: print(label, 'x', type(e).__name__, str(e)[:110])
def f(): pass
# 1 typing alias proxy for guarded names on library objects
t = typing.List[int]
def alias(o, name):
    t.__origin__ = o
    return getattr(t, name)
tryit('alias __self__', lambda: alias(print, '__self__'))
class P:
    def __init__(self, o): self.o = o
    def __getattr__(self, n): return getattr(self.o, n)
tryit('proxy __self__', lambda: P(print).__self__)
# 2 __getattribute__ of type via metaclass
class M(type): pass
tryit('super type __dict__', lambda: super(M, M('a',(),{})).__dict__)
# 3 functools.partialmethod __get__ result.__self__
class G:
    def __get__(self, o, c=None): return print
    def __call__(self): pass
pm = functools.partialmethod(G())
p = pm.__get__(1)
tryit('partialmethod.__self__ guarded', lambda: p.__self__)
tryit('partial vars', lambda: vars(p))
tryit('partial __dict__', lambda: p.__dict__['__self__'].open)
tryit('partial __getstate__', lambda: p.__getstate__())
tryit('partial copy reduce', lambda: copy.copy(p))
