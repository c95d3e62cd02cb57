import ast
import operator
import sys
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow}
def value(node):
    if isinstance(node, ast.Expression):
        return value(node.body)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](value(node.left), value(node.right))
    raise ValueError(f"not arithmetic: {ast.dump(node)}")
for line in sys.stdin:
    try:
        print(value(ast.parse(line.strip(), mode="eval")))
    except (SyntaxError, ValueError, ZeroDivisionError) as error:
        print(type(error).__name__)
