# domain: calculator
# Polynomials that are called, and vectors: operators of one's own
from math import acos, degrees, sqrt


class Polynomial:
    def __init__(self, *coeffs):
        # lowest degree first
        self.coeffs = list(coeffs)
        while len(self.coeffs) > 1 and self.coeffs[-1] == 0:
            self.coeffs.pop()

    def __call__(self, x):
        result = 0
        for c in reversed(self.coeffs):
            result = result * x + c
        return result

    def __str__(self):
        terms = [f"{c}" if i == 0 else f"{c}x^{i}" for i, c in enumerate(self.coeffs) if c]
        return " + ".join(reversed(terms)) or "0"


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vector(self.x - o.x, self.y - o.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __abs__(self):
        return sqrt(self @ self)

    def __iter__(self):
        return iter((self.x, self.y))

    def __eq__(self, o):
        return tuple(self) == tuple(o)

    def __repr__(self):
        return f"Vector({self.x}, {self.y})"


p = Polynomial(-6, 11, -6, 1, 0)
print("p(x) =", p, "degree", len(p.coeffs) - 1, "roots:", [x for x in range(-10, 11) if p(x) == 0])
a, b = Vector(1, 2), Vector(4, -5)
print(a + b, a - b, 2 * a, a @ b, abs(Vector(3, 4)), a == Vector(1, 2), a != b)
print("angle: %.3f degrees" % degrees(acos((a @ b) / (abs(a) * abs(b)))))
x, *rest = a
print(x, rest)
