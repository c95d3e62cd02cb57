# domain: tests
"""The program's own module, as benchmarks at the end of a file name it."""

import __main__
from __main__ import __name__ as own_name
from timeit import repeat, timeit

DATA = [3, 1, 2]


def ordered():
    return sorted(DATA)


print(own_name, __main__.__name__, __main__.ordered is ordered, __main__)
print(timeit("ordered()", setup="from __main__ import ordered", number=3) > 0)
print(len(repeat(stmt="m.ordered()", setup="import __main__ as m", number=2, repeat=4)))
__main__.DATA = [9, 8]
print(DATA, ordered(), getattr(__main__, "DATA"), "DATA" in vars(__main__), hasattr(__main__, "nothing"))
del __main__.own_name
print("own_name" in globals())

from __main__ import *
from __main__ import DATA as data

print(data is DATA, sorted(name for name in dir(__main__) if name[0] != "_"))
for text in ("from __main__ import nothing", "__main__.nothing"):
    try:
        exec(text)
    except (ImportError, AttributeError) as error:
        print(type(error).__name__, error.name)

print(__import__("math").sqrt(16.0), __import__("json").dumps([1]), __import__("collections.abc").__name__)
__import__("doctest").testmod()
