# domain: data
"""Values that are pickled, and text and functions that are timed."""

import pickle, io, datetime, collections, decimal, enum, dataclasses, timeit


class P:
    def __init__(self, x):
        self.x = x

    def __eq__(self, o):
        return self.x == o.x


class S:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, 2


class R:
    def __init__(self, v):
        self.v = v

    def __reduce__(self):
        return (R, (self.v,))


class G:
    def __getstate__(self):
        return {"k": 1}

    def __setstate__(self, s):
        self.__dict__.update(s, extra=True)


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class D:
    x: int
    y: list


N = collections.namedtuple("N", "a b")


def f(x):
    return x + 1


class L(list):
    pass


objs = [
    1, "a", b"x", [1, {2: (3,)}], {1, 2}, 1j, P(3).x, None, True, 10**30, range(5), ValueError("x", 1),
    datetime.datetime(2020, 1, 2), decimal.Decimal("1.5"), collections.Counter("aab"),
    collections.OrderedDict(a=1), collections.deque([1, 2]), Color.RED, D(1, [2]), N(1, 2), L([1, 2]),
]
for o in objs:
    for p in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(o, p))
        assert type(back) is type(o) and (back == o or isinstance(o, ValueError)), (o, back)
    print(repr(back))
p, s, r, g, h = (pickle.loads(pickle.dumps(o)) for o in (P(3), S(), R(4), G(), f))
print(p == P(3), s.b, r.v, vars(g), h(1))
b = io.BytesIO()
for o in [1], P(1), "z":
    pickle.dump(o, b)
b.seek(0)
print(pickle.load(b), pickle.load(b).x, pickle.load(b))
try:
    pickle.load(b)
except EOFError as e:
    print("EOF", e)
print(timeit.timeit("x + 1", setup="x = 1", number=10) >= 0, timeit.timeit(lambda: 1, number=5) > 0)
y = 5
print(timeit.timeit("y + 1", globals=globals(), number=3) > 0, timeit.Timer("pass").autorange()[0] > 1)
try:
    timeit.timeit("nope", number=1)
except NameError as e:
    print(e)
