import sympy as sp

x, y, n = sp.symbols("x y n")
f = sp.Function("f")
print(sp.solve(x**2 - 5 * x + 6, x), sp.diff(sp.sin(x) * sp.exp(x), x), sp.integrate(x**2 * sp.log(x), x))
print(sp.dsolve(f(x).diff(x) - f(x), f(x)), sp.Matrix([[1, 2], [3, 4]]).inv())
print(sp.Matrix([[2, 0], [0, 3]]).eigenvals(), sp.Rational(1, 3) + sp.Rational(1, 6))
print(sp.summation(1 / n**2, (n, 1, sp.oo)), sp.nsolve(sp.cos(x) - x, 1), sp.pi.evalf(30), sp.latex(sp.sqrt(x) / 2))
print(sp.prime(10), sp.factorint(360), sp.primerange(10) and list(sp.primerange(10)))
print(sp.solve([x + y - 3, x - y - 1], [x, y]), sp.lambdify(x, x**2 + 1)(3), sp.Eq(x, 1).subs(x, 1))
sp.pprint(sp.Integral(x**2, x), use_unicode=True)
sp.Matrix([[1, 2], [2, 4]]).inv()
