from collections import namedtuple
from dataclasses import field, make_dataclass
Point = make_dataclass("Point", [("x", int), ("y", int, field(default=0))], namespace={"norm": lambda s: abs(s.x) + abs(s.y)})
print(Point(3), Point(1, -2).norm(), make_dataclass("a b", ["x"])(1))
Pair = namedtuple("Pair", "first second", defaults=[0])
print(Pair(1), Pair(1)._replace(second=5), Pair._fields)
for names in (["x", "x"], ["class"], ["a b"]):
    try:
        make_dataclass("C", names)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
