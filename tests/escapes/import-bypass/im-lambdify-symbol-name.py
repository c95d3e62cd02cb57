# id: im-lambdify-symbol-name
# class: import-bypass
# expect: blocked
# layer: language
# proves: prints ESCAPED pid; lambdify runs the printed expression, and a symbol may have any name
# severity: escape
# oracle: marker
# needs: sympy

import sympy
x = sympy.Symbol("x")
for text in ("__import__('os').getpid()", "builtins.eval('__import__(\\'os\\').getpid()')", "numpy.testing._private.utils.os.getpid()"):
    for expression in (sympy.Symbol(text), sympy.Function(text.removesuffix("()"))()):
        for modules in (None, "numpy", "math", "sympy"):
            try:
                found = sympy.lambdify(x, expression, modules=modules)(1)
                print("ESCAPED", found)
            except Exception:
                pass
