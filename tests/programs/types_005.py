# domain: types
"""Dataclasses made from names."""

from dataclasses import make_dataclass

C = make_dataclass("a b", ["x"])
print(C, C(1), C.__name__)
D = make_dataclass("", [("x", int)])
print(D, D(1))
for args in [("C", ["x y"]), ("C", ["for"]), ("C", ["x", "x"]), ("C", [("x", int, 3), "y"]), ("C", [1])]:
    try:
        print(make_dataclass(*args))
    except Exception as e:
        print(type(e).__name__, e)
