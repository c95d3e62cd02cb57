# expect: contained
# layer: kernel
# proves: an alias of typing stands for an exception that hands out its object
# severity: primitive
# oracle: drop
# then: reach

import typing
t = typing.List[int]
class E2: pass
try:
    (1).foo
except AttributeError as e:
    t.__origin__ = e
    print(t.obj)
