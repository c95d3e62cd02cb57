import sympy as s

x = s.symbols("x")
print(
    s.integrate(s.sin(x) ** 2, x),
    s.solve(x**3 - 2, x),
    s.limit(s.sin(x) / x, x, 0),
    s.dsolve(s.Function("f")(x).diff(x) - s.Function("f")(x)),
)
f = s.lambdify(x, x**2, "numpy")
f(3)
s.factorint(2**67 - 1)
s.pprint(s.Matrix([[1, x], [x, 2]]).inv())
s.latex(x**2)
print("done")
