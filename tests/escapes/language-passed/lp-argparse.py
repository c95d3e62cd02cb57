# expect: contained
# layer: kernel
# proves: argparse reads a name of a function by its dest
# severity: primitive
# oracle: drop
# then: reach

import argparse, typing, dataclasses
p = argparse.ArgumentParser()
p.add_argument('--x', dest='__globals__', action='append')
try:
    p.parse_args(['--x', '1'], namespace=dataclasses.field)      # getattr(namespace, dest) -> dict.append
except AttributeError as e:
    t = typing.List[int]
    t.__origin__ = e                                              # a proxy whose type is not AttributeError
    print(t.obj['sys'].modules['os'])
